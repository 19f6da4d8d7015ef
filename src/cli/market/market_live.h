/* market_live: replays in mode market: to the second, with all that moving and losing machines
 * costs. */
#ifndef CLI_MARKET_MARKET_LIVE_H
#define CLI_MARKET_MARKET_LIVE_H

#include "app/market/live.h"
#include "base/json.h"
#include "cli/core/command.h"

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
/* How a job follows prices: of replays, and of runs on paper. */
#define CLI_MARKET_POLICY_OPTIONS                                                                  \
    {.name = "--policy",                                                                           \
     .value = "greedy|margin|threshold",                                                           \
     .help = "When a job moves: to the cheapest always; when it saves more than it costs "         \
             "(default); or it works only while work is worth its price."},                        \
    {.name = "--margin",                                                                           \
     .value = "N",                                                                                 \
     .help = "Savings must be so many times what moving costs (default: 1)."},                     \
    {.name = "--worth",                                                                            \
     .value = "USD",                                                                               \
     .help = "What a V100-hour of work is worth to threshold (default: what was usual in the "     \
             "week before)."},                                                                     \
    {.name = "--restart",                                                                          \
     .value = "TIME",                                                                              \
     .help = "From renting a machine until the job works (default: 5m)."},                         \
    {.name = "--checkpoint",                                                                       \
     .value = "TIME",                                                                              \
     .help = "Between two checkpoints (default: by how often machines are preempted)."},           \
    {.name = "--checkpoint-gb",                                                                    \
     .value = "GB",                                                                                \
     .help = "Size of a checkpoint (default: the model's, else 0.4)."},                            \
    {.name = "--preemptions",                                                                      \
     .value = "measured|RATE|FILE",                                                                \
     .help = "Preemptions per machine and hour: by the lives on record (default), a number, or "   \
             "CSV: cloud,region,zone,instance_type,per_hour."},                                    \
    {.name = "--clouds",                                                                           \
     .value = "LIST",                                                                              \
     .help = "Clouds it may go to (default: all whose histories cover half of the starts)."},      \
    {.name = "--gpu-use",                                                                          \
     .value = "share|whole|alone",                                                                 \
     .help = "Of machines with several GPUs a job takes and pays one (default), takes all and is " \
             "as much faster, or takes one and pays all."}

/* What `market replay` and `market sweep` take in this mode, and --mode itself. */
#define CLI_MARKET_LIVE_OPTIONS                                                                    \
    {.name = "--mode",                                                                             \
     .value = "paper|market",                                                                      \
     .help = "Rules: the published evaluation's (default), or those you would meet: to the "       \
             "second, no hindsight, all costs."},                                                  \
    CLI_MARKET_POLICY_OPTIONS,                                                                     \
    {.name = "--deadline",                                                                         \
     .value = "TIME",                                                                              \
     .help = "How long after its start the job must be done, e.g. 10d."},                          \
    {.name = "--gap",                                                                              \
     .value = "PERCENT",                                                                           \
     .help = "How far from the optimum in hindsight its figure may be (default: 0.1)."},           \
    {.name = "--seed", .value = "N", .help = "Of the preemptions (default: 1)."}
/* clang-format on */

/* True when --mode market was given; ERR_USAGE for another mode, or options of this one without it.
 */
int cli_market_is_live(const struct command_args *args, bool *out, struct err *e);

int cli_market_live_replay(const struct command_args *args, struct err *e);
int cli_market_live_sweep(const struct command_args *args, struct err *e);

/* The options of this mode as a request; *out borrows from the result and from the arena. New
 * reference; NULL: e. */
json_t *cli_market_replay_request(const struct command_args *args,
                                  struct arena *arena,
                                  struct market_replay_request *out,
                                  struct err *e);
/* The same of how a job follows prices alone. */
json_t *cli_market_follow(const struct command_args *args,
                          struct arena *arena,
                          struct market_follow *out,
                          struct err *e);

/* ---- showing ---- */

struct cli_live_shown {
    const struct app_live *c;
    const char *model, *work_text;
    double work_days; /* of the reference */
    const struct market_live_answer *answer;
    const bool *wanted; /* an entry a strategy */
};
int cli_live_print_json(const struct cli_live_shown *s, struct err *e);
/* Which clouds take part, and which do not. */
void cli_live_put_clouds(const struct app_live *c, json_t *root);
void cli_live_print(const struct cli_live_shown *s);
/* The ladder of costs; with trace, how the costs of one start grow beside the optimum's. */
int cli_live_save_chart(const struct cli_live_shown *s, const char *path, struct err *e);
int cli_live_save_trace(struct app_live *c,
                        const struct cli_live_shown *s,
                        const char *path,
                        struct err *e);

const char *cli_live_row_text(size_t row);

#endif
