/* internal: what the files of src/app/policy share. */
#ifndef APP_POLICY_INTERNAL_H
#define APP_POLICY_INTERNAL_H

#include "app/policy/policy.h"
#include "policy/read.h"
#include "policy/rounds.h"

/* ---- solve.c ---- */

/* Names of enum policy_kind + 1. */
extern const char *const app_policy_kinds[POLICY_KINDS + 1];

/* clang-format off */
#define POLICY_KIND_FIELD(type)                                                                    \
    {"policy", FIELD(ENUM, type, policy), FIELD_CHOICES(app_policy_kinds), .required = true,       \
     .help = "Objective: most iterations per hour; most iterations per dollar; least cost "        \
             "without deadlines; least cost with deadlines; least time within the budget."}
/* clang-format on */

/* A text of a request, or the content of its file. */
struct app_policy_text {
    const char *name;  /* in messages */
    const char *bytes; /* not NULL */
    size_t len;
    char *read; /* bytes, if they were read */
};
/* Takes the text, else reads path, plain or gzip; "-" = standard input. ERR_USAGE without both
 * names the field of the text. */
int app_policy_read(const char *text,
                    const char *path,
                    const char *field,
                    const struct answer *out,
                    struct app_policy_text *t,
                    struct err *e);
void app_policy_text_clear(struct app_policy_text *t);

/* {name: value, ...} of records with a field "name"; values that omit_none leaves out are not in
 * it. New reference. */
json_t *app_policy_map(const struct record *r, const struct field_records *list, const char *value);

/* ---- history.c ---- */

/* Replaces the prices of a trace by those of the imported histories from start_s on: for each type,
 * an instance type or a GPU by its name, the price of the cheapest offer. region: "aws:us-east-1",
 * "aws"; NULL = any. *end_h_out: the hour up to which the histories hold all prices. */
int app_policy_take_history(struct app *app,
                            const char *region,
                            double start_s,
                            struct policy_file *file,
                            double *end_h_out,
                            struct err *e);

/* ---- watch.c ---- */

/* An observer of a simulation: its events as items of the answer, and its story for charts. */
struct app_policy_watch {
    struct app *app;
    const struct rounds_ask *ask;
    struct answer *events; /* NULL = not requested */
    struct err failed;     /* the first event that could not be told */
    bool wants_story;
    struct app_policy_span *spans;
    size_t n_spans, cap_spans;
    struct app_policy_sample *samples; /* one per round */
    size_t n_samples, cap_samples;
    size_t *last_span; /* per job, one more than its number */
    int64_t *arrivals; /* ascending */
    size_t n_arrived, n_done;
    int64_t cost_microusd;
};
void app_policy_watch_init(struct app_policy_watch *w,
                           struct app *app,
                           const struct rounds_ask *ask,
                           struct answer *events,
                           bool wants_story);
void app_policy_watch_clear(struct app_policy_watch *w);
/* The functions to give to rounds_simulate, with w as context. */
struct rounds_watch app_policy_watch_functions(struct app_policy_watch *w);

#endif
