/* run: operations on runs of pipelines: start, follow, list, show and stop them, and run recorded
 * jobs again. */
#ifndef APP_RUN_RUN_H
#define APP_RUN_RUN_H

#include "app/core/operation.h"
#include "app/job/values.h"
#include "broker/core/runs.h"
#include "broker/machine/bill.h"

/* clang-format off */
#define RUN_OPERATIONS(X)                                                                          \
    X(run_start) X(run_simulate) X(run_list) X(run_compare) X(run_get) X(run_follow) X(run_stop)                  \
    X(replay_start) X(rerun_start) X(replay_get)
/* clang-format on */
RUN_OPERATIONS(OPERATION_DECLARE)

/* ---- the record of a run ---- */

/* The words for enum run_state and enum run_stage_state. */
extern const char *const app_run_state_choices[5], *const app_run_stage_choices[8];

/* What run.get tells of a stage. */
struct app_run_stage {
    const char *name, *reason, *location, *instance_type, *note;
    unsigned state; /* enum run_stage_state */
    int64_t job;    /* FIELD_NONE = none yet */
    bool spot, is_simulated, is_elastic;
    double planned_s, runtime_s, cpus;
    int64_t planned_microusd;
    int64_t cost_microusd; /* FIELD_NONE: simulated, where only machines have a cost */
    const char *output;    /* NULL = none */
    int64_t nodes, attempts;
    int64_t servers;                   /* parameter servers among the nodes */
    int64_t resumed_job, repeated_job; /* FIELD_NONE = none */
    const void *offer;                 /* struct app_offer, on a cloud */
};
extern const struct record app_run_stage_record;

/* A machine of a simulated run. */
struct app_run_machine {
    const char *stage, *provider, *region, *zone, *instance_type, *reason;
    bool spot;
    bool follows_prices;
    int64_t launched_ms, ended_ms; /* ended_ms FIELD_NONE = not yet */
    double price_usd_per_hour, used_s;
    int64_t cost_microusd, data_microusd;
};
extern const struct record app_run_machine_record;

/* What run.list tells of a run, and run.get besides its stages and machines. */
struct app_run {
    const char *event; /* "run" */
    int64_t id;
    const char *name, *file, *on, *reason;
    unsigned state;               /* enum run_state */
    int64_t created_ms, ended_ms; /* ended_ms FIELD_NONE = not yet */
    double planned_s;
    int64_t planned_microusd, max_microusd; /* max_microusd FIELD_NONE = no limit */
    int64_t cost_microusd;
    /* Of run.get alone. */
    struct field_records stages;   /* struct app_run_stage */
    struct field_records machines; /* struct app_run_machine, of a simulated run */
    struct field_records refusals; /* struct app_refusal: launches that clouds refused */
    double busy_s;                 /* of all jobs together, those that were lost included */
    struct app_values values;      /* of run.get: params, series; of run.list: metrics besides */
};

extern const struct record app_run_record, app_run_listed_record;
/* The members that the run itself tells; texts are borrowed from r. */
struct app_run app_run_head(const struct run *r);
/* Cost of simulated machines and their data, by the clock of the simulation. */
int app_run_simulated_cost(struct app *app, int64_t run, int64_t *microusd_out, struct err *e);
/* Cost until now of its jobs, or of its simulated machines. */
int app_run_cost(struct app *app,
                 const struct open_bills *open,
                 const struct run *r,
                 int64_t *microusd_out,
                 struct err *e);
/* Parameters and metrics of its jobs, those of reused stages included. */
int app_run_values(
    struct app *app, const struct run *r, bool with_points, struct app_values *out, struct err *e);

/* Item of run.compare. */
struct app_run_compared {
    int64_t id;
    const char *name;
    unsigned state; /* enum run_state */
    int64_t created_ms;
    double runtime_s; /* from start to end, or until now */
    int64_t cost_microusd;
    struct app_values values;
};
extern const struct record app_run_compared_record;
bool app_run_is_simulated(const struct run *r);

/* The request of run.get, run.follow and replay.get. */
struct app_run_get_request {
    int64_t run;
    bool progress, logs; /* of run.follow */
};
extern const struct record app_run_get_record;
/* clang-format off */
#define APP_RUN_FIELD(type, member)                                                                \
    {"run", FIELD(INT, type, member), .help = "Number of the run.", .required = true, .least = 1,  \
     .most = 9e15, .operand = true, .value = "RUN"}
/* clang-format on */

/* Everything that run.get answers with, about a run that the caller has read and keeps. */
int app_run_read(
    struct app *app, const struct run *r, struct arena *a, struct app_run *out, struct err *e);

/* The run as it is stored; the caller clears *out. ERR_NOTFOUND. */
int app_run_load(struct app *app, int64_t id, struct run *out, struct err *e);

/* Reads the run ten times per second and hands it to look until the run is over; starts a broker
 * again that has ended. look: 1 = end now, -1 = e. *out is the run as it was read last; the caller
 * clears it. */
int app_run_wait(struct app *app,
                 int64_t id,
                 int (*look)(void *context, const struct run *r, struct err *e),
                 void *context,
                 struct run *out,
                 struct err *e);

/* ---- jobs of one stage ---- */

/* Zeros where the stage has no job. */
struct app_run_job {
    double runtime_s;
    double busy_s; /* of all its jobs: the nodes of a gang, and those that were lost before */
    int64_t cost_microusd;
    char state[16];
    char output_set[256];
};
/* As the lake has recorded it. */
int app_run_job_recorded(
    struct lake *l, int64_t run, const struct run_stage *s, struct app_run_job *out, struct err *e);
/* The same, and a running job counts with what it has taken until now. */
int app_run_job_so_far(struct app *app,
                       const struct open_bills *open,
                       int64_t run,
                       const struct run_stage *s,
                       struct app_run_job *out,
                       struct err *e);
/* The open bills of the home, for app_run_job_so_far. The caller clears *out. */
int app_run_open_bills(struct app *app, struct open_bills *out, struct err *e);

/* ---- run.follow ---- */

/* A stage while its run is followed. */
struct app_run_progress {
    const char *stage, *reason;
    unsigned state;                          /* enum run_stage_state */
    const char *job_state;                   /* "queued"; "" = it has no job */
    int64_t job;                             /* 0 = none */
    double runtime_s, planned_s;             /* planned_s NAN = not planned, */
    int64_t cost_microusd, planned_microusd; /* and planned_microusd FIELD_NONE */
};

/* The latest usage of a node of a training cluster. */
struct app_run_usage {
    int64_t rank;
    const char *role; /* "server" or "worker" */
    double cpus, memory_mb, received_mbps, sent_mbps;
    double gpu_percent; /* NAN = no GPU */
};

/* Members of other events are none. */
struct app_run_event {
    /* "stage": a stage changed its state; "log"; "note": where it runs instead; "progress" */
    const char *event;
    int64_t run;
    struct app_run_progress change; /* of a stage that changed its state */
    /* A line that a stage printed, change.stage, or a node of a training cluster, which has a role.
     */
    int64_t rank;
    const char *role, *text;
    /* Progress, ten times per second. */
    struct field_records stages; /* struct app_run_progress */
    struct field_records nodes;  /* struct app_run_usage */
};

/* ---- run.stop ---- */

struct app_run_stopped {
    int64_t run;
    unsigned state;     /* enum run_state, before */
    bool was_over, now; /* now: at once, not by SIGTERM */
};

/* ---- starting a run ---- */

/* Whether a stage would be run again, and what changed. */
struct app_run_why {
    const char *stage;
    bool is_reused;
    int64_t job;               /* whose output would be reused; else the last that finished */
    struct field_list changes; /* since that job: "train.py changed" */
    const char *code;          /* what of its code counts; NULL = it has none */
    struct field_list used;    /* the files whose content does, as far as they were learned */
};
extern const struct record app_run_why_record;

/* A dry run answers "planned" and the members below; a start answers "started", the number of the
 * run, and none of them; the question why a stage is run answers "why" and the answer. */
struct app_run_started {
    const char *event;
    int64_t run;                /* FIELD_NONE unless started */
    const void *plan;           /* struct app_plan_report */
    const void *location;       /* struct app_run_where */
    const void *why;            /* struct app_run_why */
    struct field_records lacks; /* struct app_run_lack: stages whose accelerators are not there */
    struct field_records reads; /* struct app_run_read_source */
};

/* What a stage reads from outside the directory of the pipeline file: a local file or directory, or
 * a URI. */
struct app_run_read_source {
    const char *stage, *source;
    const char *target; /* of file_mounts; NULL: an input */
};
extern const struct record app_run_read_source_record;

/* Stores a composed run, whose id is filled in, and wakes the broker. ERR_NOFIT when the month's
 * spending cap is used up. */
int app_run_begin(struct app *app, struct run *run, struct err *e);

/* The user that runs are recorded for: $USER of the caller; "" = none. */
const char *app_run_user(const struct app *app);

/* ---- replay.start and rerun.start ---- */

/* One job that is run again. */
struct app_replay_job {
    const char *name, *input, *makes;
    int64_t job;
    double took_s;
    int64_t cost_microusd;
};
/* The records differ in their headings. */
extern const struct record app_replay_job_record, app_rerun_job_record;

struct app_replay_started {
    const char *event; /* "started"; "planned": a dry run; "nothing": no job is to be run */
    int64_t run;       /* FIELD_NONE unless started */
    /* Of a dry run. */
    struct field_records jobs; /* struct app_replay_job */
    double took_s;             /* of all jobs, the last time; NAN otherwise */
    int64_t cost_microusd;     /* FIELD_NONE */
};

/* What a replay made of a set version. */
struct app_replayed_set {
    const char *stage;
    int64_t job; /* that was repeated */
    const char *recorded;
    const char *output; /* NULL = nothing */
    bool same;
};
struct app_replayed {
    const char *event; /* "replay" */
    int64_t run;
    struct field_records sets; /* struct app_replayed_set */
};

/* The first of these references to a set whose content was removed and can be made again by its
 * jobs: "@S:3". New string; NULL: there is none. */
char *app_replay_find(struct app *app, const char *const *refs, size_t n);

#endif
