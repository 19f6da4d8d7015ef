/* live: replays in mode market: to the second, with the cost of every move and preemption. Requests
 * that follow prices share the fields below. */
#ifndef APP_MARKET_LIVE_H
#define APP_MARKET_LIVE_H

#include "app/core/operation.h"
#include "estimate/throughput.h"
#include "market/live.h"
#include <stdbool.h>
#include <stddef.h>

/* How a job follows prices: of replays, and of simulated runs. None values mean the default. */
struct market_follow {
    enum market_policy_kind policy; /* MARKET_STATIC = none */
    double margin;
    double worth_usd_per_hour;
    double restart_s, checkpoint_s, checkpoint_gb;
    const char *preemptions; /* "measured", a rate per hour, or a file */
    const char *clouds;      /* joined by commas */
    unsigned gpu_use;        /* enum market_gpu_use + 1 */
};
extern const char *const market_follow_policies[4], *const market_follow_uses[4];

/* Fields of a request that holds a struct market_follow; `at` leads to it: "follow.". */
/* clang-format off */
#define MARKET_FOLLOW_FIELDS(type, at)                                                             \
    {"policy", FIELD(ENUM, type, at policy), .choices = market_follow_policies, .n_choices = 4,    \
     .help = "When a job moves. greedy: always to the cheapest offer; margin (default): when the " \
             "move saves more than it costs; threshold: run only while work is worth its price."},   \
    {"margin", FIELD(REAL, type, at margin), .value = "N", .least = 1e-9, .most = 1e6,             \
     .help = "Savings must be this many times the cost of moving (default: 1)."},                  \
    {"worth_usd_per_hour", FIELD(REAL, type, at worth_usd_per_hour), .option = "--worth",          \
     .value = "USD", .unit = "USD", .least = 1e-9, .most = 1e6,                                    \
     .help = "Value of a V100-hour of work to threshold (default: the usual price of the week "    \
             "before)."},                                                                          \
    {"restart_s", FIELD(DURATION, type, at restart_s), .option = "--restart", .unit = "s",         \
     .most = 86400,                                                                                \
     .help = "Time from the launch of a machine until the job works (default: 5m)."},              \
    {"checkpoint_s", FIELD(DURATION, type, at checkpoint_s), .option = "--checkpoint",             \
     .unit = "s", .least = 1e-3, .most = 1e9,                                                      \
     .help = "Time between two checkpoints (default: by how often machines are preempted)."},      \
    {"checkpoint_gb", FIELD(REAL, type, at checkpoint_gb), .value = "GB", .least = 1e-9,           \
     .most = 1e6, .help = "Size of a checkpoint (default: the model's, else 0.4)."},               \
    {"preemptions", FIELD(TEXT, type, at preemptions), .value = "measured|RATE|FILE",              \
     .help = "Preemptions per machine and hour: from recorded lifetimes (default), a number, or "  \
             "CSV: cloud,region,zone,instance_type,per_hour."},                                    \
    {"clouds", FIELD(TEXT, type, at clouds), .value = "LIST",                                      \
     .help = "Clouds that a job may use (default: all whose histories cover half of the starts)."}, \
    {"gpu_use", FIELD(ENUM, type, at gpu_use), .choices = market_follow_uses, .n_choices = 4,      \
     .help = "On machines with several GPUs: use and pay for one (share, default), use and pay "   \
             "for all (whole), or use one and pay for all (alone)."}
/* clang-format on */

/* Besides the job, requests of replays say by which rules and in which market. */
struct market_replay_request {
    enum market_replay_mode { MARKET_REPLAY_PAPER = 1, MARKET_REPLAY_MARKET } mode;
    struct market_follow follow;
    double deadline_s;  /* after the start; NAN = none */
    double gap_percent; /* NAN = the default */
    int64_t seed;       /* FIELD_NONE = the default */
    const char *region, *throughputs, *starts;
};
extern const char *const market_replay_modes[3];

/* clang-format off */
#define MARKET_REPLAY_FIELDS(type, at)                                                             \
    {"mode", FIELD(ENUM, type, at mode), .choices = market_replay_modes, .n_choices = 3,           \
     .preset = "paper",                                                                            \
     .help = "Rules: paper, those of the published evaluation (default); market, those of real "   \
             "spot markets: to the second, no hindsight, all costs."},                             \
    MARKET_FOLLOW_FIELDS(type, at follow.),                                                        \
    {"deadline_s", FIELD(DURATION, type, at deadline_s), .option = "--deadline", .unit = "s",      \
     .bare_unit_s = 86400, .least = 1e-3, .most = 1e12,                                            \
     .help = "Time from the start of the job to its deadline, e.g. 10d."},           \
    {"gap_percent", FIELD(REAL, type, at gap_percent), .option = "--gap", .value = "PERCENT",      \
     .least = 0, .most = 50,                                                                       \
     .help = "Greatest distance of the optimum in hindsight from its bound (default: 0.1)."},      \
    {"seed", FIELD(INT, type, at seed), .least = 0, .most = 9007199254740992, .value = "N",        \
     .help = "Seed of the preemptions (default: 1)."},                                             \
    {"throughputs", FIELD(TEXT, type, at throughputs), .value = "FILE", .is_local = true,          \
     .help = "Iterations per second (CSV: model,batch_size,GPU...), before the built-in ones."},   \
    {"region", FIELD(TEXT, type, at region), .value = "LOCATION", .preset = "us-east-1",           \
     .help = "Region of the strategies that use one region (default: aws:us-east-1; mode paper: "  \
             "of aws)."},                                                                          \
    {"starts", FIELD(TEXT, type, at starts), .value = "STARTS", .preset = "30",                    \
     .help = "Days on which the job starts: how many (default: 30), a day, or DAY..DAY."}
/* clang-format on */

struct app_live {
    struct market *market;
    struct throughputs *speeds;
    struct market_tables *tables;
    const char *cloud, *region; /* of the strategies that stay in one region; borrowed */
    char *clouds;               /* of the request, which live borrows */
    struct market_live *live;
    enum market_gpu_use use;
    struct market_live_question question;          /* all but job and work */
    double restart_s, checkpoint_s, checkpoint_gb; /* NaN = not given */
    double *starts_s;
    size_t n_starts;
};
void app_live_clear(struct app_live *c);
/* Everything but the job. */
int app_live_open(struct app *app,
                  struct app_live *c,
                  const struct market_replay_request *q,
                  const struct answer *out, /* whose errors spell the fields */
                  struct err *e);
/* The same for one start of a run, which has its speeds elsewhere. */
struct app_live_start {
    const char *cloud, *region;    /* live as long as the struct app_live */
    double at_s, deadline_after_s; /* INFINITY = none */
    int64_t seed;                  /* FIELD_NONE = the default */
};
int app_live_open_at(struct app *app,
                     struct app_live *c,
                     const struct market_follow *follow,
                     const struct app_live_start *start,
                     const struct answer *out,
                     struct err *e);
/* A job with these speeds, one entry per GPU of the scene. model: the model whose checkpoint the
 * job writes; "" = a checkpoint of the usual size. */
struct market_job *app_live_job_of(const struct app_live *c,
                                   const char *model,
                                   const double *speed_of_gpu,
                                   double checkpoint_s);
/* The job of a model; what it takes to run somewhere. ERR_NOFIT without a speed on the reference.
 */
struct market_job *app_live_job(const struct app_live *c, const char *model, struct err *e);

#endif
