/* replay: operations that run recorded jobs again: those that made a set version, or those that
 * used older versions of a set. `tradewind replay` and `rerun` call them. */
#include "broker/pipeline/replay.h"
#include "app/job/gpus.h"
#include "app/job/job.h"
#include "app/run/run.h"
#include "base/mem.h"
#include "lake/set/set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)

char *app_replay_find(struct app *app, const char *const *refs, size_t n)
{
    struct lake *l = app_lake(app, NULL);

    for (size_t i = 0; l && i < n; i++) {
        AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        struct lake_gone gone;
        struct run run;
        if (lake_resolve(l, refs[i], LAKE_READ, &ref, NULL) < 0 || ref.kind != LAKE_REF_SET ||
            lake_set_gone(l, &ref, &gone, NULL) < 0 || gone.files == 0)
            continue;
        AUTO_MEM char *whole = lake_ref_of_set(ref.set_name, ref.number);
        if (replay_compose(l, whole, arena, &run, NULL) == 0)
            return TAKE(whole);
    }
    return NULL;
}

/* ---- records ---- */

/* clang-format off */
#define JOB_FIELDS(input_heading, makes_heading)                                                   \
    {"stage", FIELD(TEXT, struct app_replay_job, name), .help = "Name of the stage.",              \
     .heading = "stage", .cut_rank = 1, .least_width = 8},                                         \
    {"job", FIELD(INT, struct app_replay_job, job), .help = "Job that is run again.",              \
     .heading = "as job"},                                                                         \
    {"input", FIELD(TEXT, struct app_replay_job, input), .help = "Recorded input.",                \
     .heading = (input_heading), .cut_rank = 2, .least_width = 8},                                 \
    {"makes", FIELD(TEXT, struct app_replay_job, makes), .help = "Set that it makes.",             \
     .heading = (makes_heading), .cut_rank = 3, .least_width = 8},                                 \
    {"took_s", FIELD(DURATION, struct app_replay_job, took_s), .unit = "s",                        \
     .help = "Recorded run time.", .heading = "took"},                                             \
    {"cost_usd", FIELD(MONEY, struct app_replay_job, cost_microusd), .unit = "USD",                \
     .help = "Recorded cost.", .heading = "cost"}

static const struct field replay_fields[] = {JOB_FIELDS("input", "makes")};
static const struct field rerun_fields[] = {JOB_FIELDS("worked on", "next version of")};
/* clang-format on */
const struct record app_replay_job_record =
    RECORD("replay_job", struct app_replay_job, replay_fields);
const struct record app_rerun_job_record = RECORD("rerun_job", struct app_replay_job, rerun_fields);

/* clang-format off */
static const struct field started_fields[] = {
    {"event", FIELD(TEXT, struct app_replay_started, event),
     .help = "One of started, planned (a dry run), nothing (no job is to be run)."},
    {"run", FIELD(INT, struct app_replay_started, run), .help = "Number of the run.",
     .omit_none = true},
    {"jobs", FIELD(RECORDS, struct app_replay_started, jobs), .record = &app_replay_job_record,
     .omit_none = true, .help = "Jobs that a dry run would run again."},
    {"took_s", FIELD(DURATION, struct app_replay_started, took_s), .unit = "s", .omit_none = true,
     .help = "Recorded run time of these jobs."},
    {"cost_usd", FIELD(MONEY, struct app_replay_started, cost_microusd), .unit = "USD",
     .omit_none = true, .help = "Recorded cost of these jobs."},
};
static const struct record started_record =
    RECORD("replay_started", struct app_replay_started, started_fields);

static const struct field set_fields[] = {
    {"stage", FIELD(TEXT, struct app_replayed_set, stage), .help = "Name of the stage."},
    {"job", FIELD(INT, struct app_replayed_set, job), .help = "Job that was run again."},
    {"recorded", FIELD(TEXT, struct app_replayed_set, recorded), .help = "Recorded set version."},
    {"output", FIELD(TEXT, struct app_replayed_set, output), .help = "Set version made now."},
    {"same", FIELD(BOOL, struct app_replayed_set, same),
     .help = "Whether files and contents are as recorded."},
};
static const struct record set_record =
    RECORD("replayed_set", struct app_replayed_set, set_fields);

static const struct field replayed_fields[] = {
    {"event", FIELD(TEXT, struct app_replayed, event), .help = "Always replay."},
    {"run", FIELD(INT, struct app_replayed, run), .help = "Number of the run."},
    {"sets", FIELD(RECORDS, struct app_replayed, sets), .record = &set_record,
     .help = "Sets that were made again."},
};
/* clang-format on */

/* ---- replay.start and rerun.start ---- */

struct request {
    const char *ref;
    bool without_gpus, dry_run;
};

static int answer_planned(const struct run *run, struct answer *out, struct err *e)
{
    struct app_replay_job *jobs = answer_alloc(out, run->n_stages, sizeof *jobs, e);

    if (!jobs)
        return -1;
    for (size_t i = 0; i < run->n_stages; i++) {
        const struct run_stage_plan *p = &run->stages[i].plan;
        jobs[i] = (struct app_replay_job){
            .name = p->name,
            .job = p->repeats,
            .input = p->input ? p->input : "",
            .makes = p->restores ? p->restores : arena_printf(out->arena, "@%s", p->output),
            .took_s = p->planned_s,
            .cost_microusd = p->planned_microusd,
        };
    }
    return answer_head(out,
                       &(struct app_replay_started){.event = "planned",
                                                    .run = FIELD_NONE,
                                                    .jobs = {jobs, run->n_stages},
                                                    .took_s = run->planned_s,
                                                    .cost_microusd = run->planned_microusd},
                       e);
}

/* The recorded jobs get GPUs as the machine has them now. */
static int give_gpus(struct app *app,
                     struct run_stage_plan *p,
                     const struct request *q,
                     struct answer *out,
                     struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct app_job_gpus gpus = {0};
    struct err why = {0};
    struct lake_job job;
    char option[64];

    if (lake_job_load(app_lake(app, e), p->repeats, out->arena, &job, e) < 0)
        return -1;
    app_job_read_details(&job, &details);
    if (app_job_gpus_again(app, &details, out->arena, &gpus, &why) < 0) {
        if (!q->without_gpus)
            return err_set(e, why.kind, "stage %s asks for %s; %s runs it without", p->name,
                           why.text, answer_spell(out, "without_gpus", option));
        app_notice(app, "stage %s runs without %s", p->name, why.text);
        gpus = (struct app_job_gpus){0};
    }
    p->gpus = gpus.gpus;
    p->gpu_type = gpus.gpu_type ? arena_dup(out->arena, gpus.gpu_type) : NULL;
    p->devices = gpus.devices;
    p->n_devices = gpus.n_devices;
    return 0;
}

typedef int composer(
    struct lake *l, const char *ref, struct arena *a, struct run *out, struct err *e);

static int start(
    struct app *app, composer *compose, const struct request *q, struct answer *out, struct err *e)
{
    struct app_replay_started started = {
        .event = "nothing", .run = FIELD_NONE, .took_s = (double)NAN, .cost_microusd = FIELD_NONE};
    struct lake *l = app_lake(app, e);
    struct run run;

    if (!l || compose(l, q->ref, out->arena, &run, e) < 0)
        return -1;
    if (run.n_stages == 0)
        return answer_head(out, &started, e);
    for (size_t i = 0; i < run.n_stages; i++)
        if (run.stages[i].plan.repeats && give_gpus(app, &run.stages[i].plan, q, out, e) < 0)
            return -1;
    if (q->dry_run)
        return answer_planned(&run, out, e);
    run.user = app_run_user(app);
    if (app_job_check_month(app, e) < 0 || app_run_begin(app, &run, e) < 0)
        return -1;
    started.event = "started";
    started.run = run.id;
    return answer_head(out, &started, e);
}

static int start_replay(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return start(app, replay_compose, request, out, e);
}

static int start_rerun(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return start(app, rerun_compose, request, out, e);
}

/* clang-format off */
#define WITHOUT_GPUS_FIELD                                                                         \
    {"without_gpus", FIELD(BOOL, struct request, without_gpus),                                    \
     .help = "Run jobs without the GPUs that they had and that are not there now."}
static const struct field replay_request_fields[] = {
    {"set", FIELD(TEXT, struct request, ref), .help = "Set version to make again, as in @S:3.",
     .required = true, .operand = true, .value = "SET"},
    WITHOUT_GPUS_FIELD,
    APP_DRY_RUN_FIELD(struct request, dry_run),
};
static const struct field rerun_request_fields[] = {
    {"from", FIELD(TEXT, struct request, ref), .required = true, .value = "SET",
     .help = "The newer version: @S:2, or @S for the latest."},
    WITHOUT_GPUS_FIELD,
    APP_DRY_RUN_FIELD(struct request, dry_run),
};
/* clang-format on */

const struct operation replay_start_operation = {
    .name = "replay.start",
    .summary = "Run the recorded jobs that make a set version again.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct request, replay_request_fields),
    .answer = &started_record,
    .bills = true,
    .run = start_replay,
};

const struct operation rerun_start_operation = {
    .name = "rerun.start",
    .summary = "Run the jobs that used older versions of a set again, on a newer version.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct request, rerun_request_fields),
    .answer = &started_record,
    .bills = true,
    .run = start_rerun,
};

/* ---- replay.get ---- */

static int get_replay(struct app *app, const void *request, struct answer *out, struct err *e)
{
    int64_t id = ((const struct app_run_get_request *)request)->run;
    struct arena *a = out->arena;
    struct lake *l = app_lake(app, e);
    AUTO_CLEAR(run) struct run r = {0};

    if (!l || app_run_load(app, id, &r, e) < 0)
        return -1;
    struct app_replayed_set *sets = answer_alloc(out, r.n_stages + 1, sizeof *sets, e);
    size_t n = 0;
    for (size_t i = 0; sets && i < r.n_stages; i++) {
        const struct run_stage *s = &r.stages[i];
        struct app_run_job job;
        if (s->state != STAGE_FINISHED || !s->plan.restores)
            continue;
        if (app_run_job_recorded(l, id, s, &job, e) < 0)
            return -1;
        sets[n++] = (struct app_replayed_set){
            .stage = s->plan.name,
            .job = s->plan.repeats,
            .recorded = s->plan.restores,
            .output = job.output_set[0] ? arena_dup(a, job.output_set) : NULL,
            .same = strcmp(job.output_set, s->plan.restores) == 0,
        };
    }
    if (!sets)
        return -1;
    const struct app_replayed replayed = {.event = "replay", .run = id, .sets = {sets, n}};
    return answer_head(out, &replayed, e);
}

const struct operation replay_get_operation = {
    .name = "replay.get",
    .summary = "Compare the outputs of a replay that is over with the recorded ones.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &app_run_get_record,
    .answer = RECORD_AT("replayed", struct app_replayed, replayed_fields),
    .run = get_replay,
};
