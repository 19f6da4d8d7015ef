/* policy_parts: what the files of the policy commands share. */
#ifndef CLI_POLICY_POLICY_PARTS_H
#define CLI_POLICY_POLICY_PARTS_H

#include "base/buf.h"
#include "cli/core/command.h"
#include "policy/read.h"
#include "policy/rounds.h"

/* clang-format off */
#define POLICY_OPTION                                                                              \
    {.name = "--policy",                                                                           \
     .value = "max-throughput|throughput-per-dollar|min-cost|min-cost-slo|min-makespan",           \
     .help = "What is wanted: most iterations an hour; most of them for the money; fewest "        \
             "dollars without deadlines; fewest dollars by the deadlines; least time within the "  \
             "budget."}
/* clang-format on */

int policy_take_kind(const struct command_args *args, enum policy_kind *out, struct err *e);
/* Appends what the file holds, up to the buffer's maximum of POLICY_FILE_BYTES_MAX; "-" is standard
 * input. */
int policy_read_bytes(const char *path, struct buf *out, struct err *e);

/* An answer and what it answers. */
struct policy_report {
    const struct policy_problem *problem;
    const struct policy_answer *answer;
    enum policy_kind kind;
    double elapsed_ms;
};

int policy_print_json(const struct policy_report *r, struct err *e);
/* Tables for people; what is infeasible, too. */
void policy_print(const struct policy_report *r);

/* ---- policy simulate ---- */

/* The cheapest offer of each type, a machine or a GPU by its name, from a time on. */
struct policy_history_ask {
    const char *place; /* "aws:us-east-1", "aws"; NULL = any */
    double start_s;
};
/* In place of the prices that the file has. *end_h_out: up to which hour the imported histories
 * tell all prices. */
int policy_take_history(const struct policy_history_ask *ask,
                        struct policy_file *file,
                        double *end_h_out,
                        struct err *e);

/* What a picture of a simulation is drawn from. */
struct policy_span {
    uint32_t job, type;
    int64_t from_ms, to_ms;
};
struct policy_sample {
    int64_t from_ms, to_ms;
    size_t running, waiting;
    int64_t cost_microusd; /* up to to_ms */
};
struct policy_story {
    struct policy_span *spans;
    size_t n_spans, cap_spans;
    struct policy_sample *samples; /* one a round */
    size_t n_samples, cap_samples;
};

/* A simulation and what was simulated. */
struct policy_simulation {
    const struct rounds_ask *ask;
    const struct rounds_result *result;
    const char *prices; /* where steps of prices come from; NULL = there are none */
    const struct policy_price_notes *price_notes;
    double elapsed_ms;
};

int policy_simulation_json(const struct policy_simulation *s, struct err *e);
void policy_simulation_print(const struct policy_simulation *s);
int policy_simulation_svg(const char *path,
                          const struct policy_simulation *s,
                          const struct policy_story *story,
                          struct err *e);

#endif
