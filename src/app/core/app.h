/* app: the context in which an operation runs: who asks, for which project, and the opened home.
 * There is no terminal, no HTTP and no global in it. */
#ifndef APP_CORE_APP_H
#define APP_CORE_APP_H

#include "base/auto.h"
#include "base/err.h"
#include "lake/core/lake.h"

#include <stdbool.h>
#include <stdint.h>

struct broker_client;
struct config;
struct machines;
struct runs;

/* Each may do what those before it may. */
enum app_role { APP_VIEWER = 1, APP_MEMBER, APP_ADMIN, APP_PLATFORM_ADMIN };
const char *app_role_text(enum app_role role); /* "viewer" ... */

/* What the front end wants to hear while an operation lasts. Every member may be NULL.
 * An operation calls them from one thread at a time. */
struct app_listener {
    /* One line for people: a warning about the request, not an error. */
    void (*notice)(void *context, const char *text);
    /* How far long work is; verb: "storing". 0 of all = not known. */
    void (*progress)(void *context,
                     const char *verb,
                     uint64_t files,
                     uint64_t bytes,
                     uint64_t all_files,
                     uint64_t all_bytes);
    /* One line on how far long work is, replaced by the next one. */
    void (*status)(void *context, const char *text);
    /* Whether the caller wants the operation to stop where nothing is left half done. */
    bool (*cancelled)(void *context);
    void *context;
};

struct app_options {
    const char *home;    /* NULL = $TRADEWIND_HOME or ~/.tradewind */
    const char *project; /* NULL = "default" */
    const char *user;    /* NULL = the user of this process */
    /* Started as `PROGRAM broker`; NULL = the running executable, and only by what needs a broker:
     * then app_refresh does nothing. */
    const char *program;
    enum app_role role;
    /* The caller's environment: values that a request leaves out. NULL = there is none. */
    const char *(*variable)(const char *name);
    struct app_listener listener;
};

struct app;

/* Opens nothing yet: the parts of the home below are opened at first use, and stay open. Texts of
 * options are copied. */
/* The running executable, as options.program. */
#define APP_PROGRAM_SELF "/proc/self/exe"
struct app *app_new(const struct app_options *options);
void app_free(struct app *app);
AUTO_DEFINE(app)

enum app_role app_role(const struct app *app);
const char *app_user(const struct app *app);
/* A variable of the caller's environment; NULL = it has no such variable. */
const char *app_variable(const struct app *app, const char *name);
/* The same where it is not empty, else `otherwise`, such as a setting of the configuration. */
const char *app_variable_or(const struct app *app, const char *name, const char *otherwise);
/* The date from which the age of prices counts, "2026-11-18": $TRADEWIND_TODAY, else today (UTC).
 * ERR_USAGE when the variable is no date. */
int app_today(const struct app *app, char out[static 32], struct err *e);

/* Parts of the home, borrowed until app_free; NULL: e. */
const struct config *app_config(struct app *app, struct err *e);
const char *app_home(struct app *app, struct err *e); /* absolute */
struct lake *app_lake(struct app *app, struct err *e);
struct runs *app_runs(struct app *app, struct err *e);
struct machines *app_machines(struct app *app, struct err *e);
/* Whether http:// may lead to other machines: by the request, or by the configuration. */
#define APP_INSECURE_HELP                                                                          \
    "Also use http:// to other machines, where others can read and change what is sent."
void app_allow_insecure(struct app *app);
bool app_is_insecure(struct app *app);
/* The background broker of the home, started when there is none. */
struct broker_client *app_broker(struct app *app, struct err *e);
const char *app_program(const struct app *app); /* NULL = options named none */
/* Starts a broker if none runs and there are jobs or runs that are not over, and waits until their
 * records have caught up. */
void app_refresh(struct app *app);
/* For answer_leave and answer_take: at most one thing, which `release` frees unless it is taken. */
void app_leave(struct app *app, const char *request, void *thing, void (*release)(void *thing));
/* The thing left for this request, now the caller's; NULL = there is none. */
void *app_take(struct app *app, const char *request);
/* Tells the broker that the lake or the runs have work for it. */
int app_wake_broker(struct app *app, struct err *e);

/* ---- telling the front end ---- */

void app_notice(const struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void app_status(const struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool app_cancelled(const struct app *app);
/* ERR_RETRY "interrupted" once the caller wants to stop; for loops over many things. */
int app_check_cancelled(const struct app *app, struct err *e);
/* For calls of the lake that last: *verb_context must live as long as the result. */
struct app_progress {
    const struct app *app;
    const char *verb;
};
struct lake_progress app_lake_progress(struct app_progress *verb_context);

#endif
