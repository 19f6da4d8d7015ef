/* run: operations on runs of pipelines: list them, show one with its bill, stop one. */
#ifndef APP_RUN_RUN_H
#define APP_RUN_RUN_H

#include "app/core/operation.h"
#include "broker/core/runs.h"
#include "broker/machine/bill.h"

extern const struct operation *const run_operations[]; /* ends with NULL */

extern const struct operation run_list_operation, run_get_operation, run_stop_operation,
    replay_start_operation, rerun_start_operation;

/* ---- the record of a run ---- */

/* What run.get tells of a stage. */
struct app_run_stage {
    const struct run_stage *of; /* the stage as it is stored */
    const char *name, *state, *reason, *location, *instance_type, *note;
    int64_t job; /* FIELD_NONE = none yet */
    bool spot, is_simulated;
    double planned_s, runtime_s, cpus;
    int64_t planned_microusd;
    int64_t cost_microusd; /* FIELD_NONE: simulated, where only machines have a cost */
    const char *output;    /* NULL = none */
    int64_t nodes, attempts;
};
extern const struct record app_run_stage_record;

/* A machine of a simulated run. */
struct app_run_machine {
    const char *stage, *provider, *region, *zone, *instance_type, *reason;
    bool spot;
    bool followed_prices;
    int64_t launched_ms, ended_ms; /* ended_ms FIELD_NONE = not yet */
    double price_usd_per_hour, used_s;
    int64_t cost_microusd, data_microusd;
};
extern const struct record app_run_machine_record;

/* What run.list tells of a run, and run.get besides its stages and machines. */
struct app_run {
    const struct run *of; /* as it is stored; run.list: without its stages */
    const char *event;    /* "run" */
    int64_t id;
    const char *name, *file, *on, *state, *reason;
    int64_t created_ms, ended_ms; /* ended_ms FIELD_NONE = not yet */
    double planned_s;
    int64_t planned_microusd, max_microusd; /* max_microusd FIELD_NONE = no limit */
    int64_t cost_microusd;
    /* Of run.get alone. */
    struct field_records stages;   /* struct app_run_stage */
    struct field_records machines; /* struct app_run_machine, of a simulated run */
    double busy_s;                 /* of all jobs together, those that were lost included */
};
extern const struct record app_run_record;

/* A state for people: "running" where records say "going". */
const char *app_run_state_words(const char *state);
bool app_run_is_simulated(const struct run *r);

/* Everything that run.get answers with, about a run that the caller has read and keeps. */
int app_run_read(
    struct app *app, const struct run *r, struct arena *a, struct app_run *out, struct err *e);

/* The run as it is stored; the caller clears *out. ERR_NOTFOUND. */
int app_run_load(struct app *app, int64_t id, struct run *out, struct err *e);
/* Asks a run to stop: running jobs get SIGTERM, or are killed at once. */
int app_run_stop(struct app *app, int64_t id, bool at_once, struct err *e);

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

/* ---- events of a run, one JSON object a line ---- */

/* A run was started, and continues without the command. */
struct app_run_started {
    const char *event; /* "started"; "nothing": there was nothing to run */
    int64_t run;       /* FIELD_NONE = nothing */
};
extern const struct record app_run_started_record;

/* A stage changed its state. */
struct app_run_change {
    const char *event; /* "stage" */
    int64_t run;
    const char *stage, *state, *reason;
    int64_t job;
    double runtime_s;
    int64_t cost_microusd;
};
extern const struct record app_run_change_record;

/* A node of a training cluster printed a line. */
struct app_run_log {
    const char *event; /* "log" */
    int64_t rank;
    const char *role; /* "server" or "worker" */
    const char *text;
};
extern const struct record app_run_log_record;

/* ---- run.stop ---- */

struct app_run_stopped {
    int64_t run;
    const char *state;  /* before */
    bool was_over, now; /* now: at once, not by SIGTERM */
};

/* ---- starting a run ---- */

/* Stores a composed run, whose id is filled in, and wakes the broker. */
int app_run_begin(struct app *app, struct run *run, struct err *e);

/* The user that runs are recorded for: $USER of the caller; "" = none. */
const char *app_run_user(const struct app *app);

/* ---- replay.start and rerun.start ---- */

enum app_replay_kind {
    APP_REPLAY = 1, /* the jobs that make ref, a set version, again */
    APP_RERUN,      /* the jobs that used older versions of the set ref, on this one */
};
/* The recorded jobs as a run, in the arena. No stages: there is nothing to run. */
int app_replay_compose(struct app *app,
                       enum app_replay_kind kind,
                       const char *ref,
                       struct arena *a,
                       struct run *out,
                       struct err *e);
/* ERR_NOFIT when the month's spending cap is used up. */
int app_replay_begin(struct app *app, struct run *run, struct err *e);

/* One job of a replay, for people, before it starts. */
struct app_replay_stage {
    const char *name, *input, *makes;
    int64_t job;
    double took_s;
    int64_t cost_microusd;
};
struct app_replay_stage app_replay_stage_of(const struct run_stage_plan *p, struct arena *a);
extern const struct record app_replay_record, app_rerun_record;

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
extern const struct record app_replayed_record;
/* Compares the outputs of a replay that is over with the recorded ones. */
int app_replay_compare(
    struct app *app, int64_t run, struct arena *a, struct app_replayed *out, struct err *e);

/* The first of these references to a set whose content was removed and can be made again by its
 * jobs: "@S:3". New string; NULL: there is none. */
char *app_replay_find(struct app *app, const char *const *refs, size_t n);

#endif
