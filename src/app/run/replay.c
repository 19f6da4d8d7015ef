/* replay: operations that run recorded jobs again: those that made a set version, or those that
 * used older versions of a set. `tradewind replay` and `rerun` call them. */
#include "broker/pipeline/replay.h"
#include "app/run/run.h"
#include "base/mem.h"
#include "broker/machine/cap.h"
#include "lake/set/set.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)

int app_replay_compose(struct app *app,
                       enum app_replay_kind kind,
                       const char *ref,
                       struct arena *a,
                       struct run *out,
                       struct err *e)
{
    struct lake *l = app_lake(app, e);

    if (!l)
        return -1;
    return kind == APP_RERUN ? rerun_compose(l, ref, a, out, e) : replay_compose(l, ref, a, out, e);
}

int app_replay_begin(struct app *app, struct run *run, struct err *e)
{
    const struct config *c = app_config(app, e);
    struct lake *l = c ? app_lake(app, e) : NULL;

    run->user = app_run_user(app);
    return l && cap_check_month(c, l, e) == 0 ? app_run_begin(app, run, e) : -1;
}

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

struct app_replay_stage app_replay_stage_of(const struct run_stage_plan *p, struct arena *a)
{
    return (struct app_replay_stage){
        .name = p->name,
        .job = p->repeats,
        .input = p->input ? p->input : "",
        .makes = p->restores ? p->restores : arena_printf(a, "@%s", p->output),
        .took_s = p->planned_s,
        .cost_microusd = p->planned_microusd,
    };
}

/* clang-format off */
#define STAGE_FIELDS(input_heading, makes_heading)                                                 \
    {"stage", FIELD(TEXT, struct app_replay_stage, name), .help = "Name of the stage.",            \
     .heading = "stage", .cut_rank = 1, .least_width = 8},                                         \
    {"job", FIELD(INT, struct app_replay_stage, job), .help = "Job that is run again.",            \
     .heading = "as job"},                                                                         \
    {"input", FIELD(TEXT, struct app_replay_stage, input), .help = "Recorded input.",              \
     .heading = (input_heading), .cut_rank = 2, .least_width = 8},                                 \
    {"makes", FIELD(TEXT, struct app_replay_stage, makes), .help = "Set that it makes.",           \
     .heading = (makes_heading), .cut_rank = 3, .least_width = 8},                                 \
    {"took_s", FIELD(DURATION, struct app_replay_stage, took_s), .unit = "s",                      \
     .help = "Recorded run time.", .heading = "took"},                                             \
    {"cost_usd", FIELD(MONEY, struct app_replay_stage, cost_microusd), .unit = "USD",              \
     .help = "Recorded cost.", .heading = "cost"}

static const struct field replay_fields[] = {STAGE_FIELDS("input", "makes")};
static const struct field rerun_fields[] = {STAGE_FIELDS("worked on", "next version of")};

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
const struct record app_replay_record =
    RECORD("replay_stage", struct app_replay_stage, replay_fields);
const struct record app_rerun_record = RECORD("rerun_stage", struct app_replay_stage, rerun_fields);
const struct record app_replayed_record = RECORD("replayed", struct app_replayed, replayed_fields);

int app_replay_compare(
    struct app *app, int64_t run, struct arena *a, struct app_replayed *out, struct err *e)
{
    struct lake *l = app_lake(app, e);
    AUTO_CLEAR(run) struct run r = {0};

    if (!l || app_run_load(app, run, &r, e) < 0)
        return -1;
    struct app_replayed_set *sets = arena_alloc(a, r.n_stages + 1, sizeof *sets);
    size_t n = 0;
    for (size_t i = 0; sets && i < r.n_stages; i++) {
        const struct run_stage *s = &r.stages[i];
        struct app_run_job job;
        if (s->state != STAGE_FINISHED || !s->plan.restores)
            continue;
        if (app_run_job_recorded(l, run, s, &job, e) < 0)
            return -1;
        sets[n++] = (struct app_replayed_set){
            .stage = arena_dup(a, s->plan.name),
            .job = s->plan.repeats,
            .recorded = arena_dup(a, s->plan.restores),
            .output = job.output_set[0] ? arena_dup(a, job.output_set) : NULL,
            .same = strcmp(job.output_set, s->plan.restores) == 0,
        };
    }
    *out = (struct app_replayed){.event = "replay", .run = run, .sets = {sets, n}};
    return sets ? 0 : err_set(e, ERR_NOFIT, "the answer is too large");
}

/* ---- the operations ---- */

struct request {
    const char *ref;
};

static int start(struct app *app,
                 enum app_replay_kind kind,
                 const struct request *q,
                 struct answer *out,
                 struct err *e)
{
    struct run run;

    if (app_replay_compose(app, kind, q->ref, out->arena, &run, e) < 0 ||
        (run.n_stages && app_replay_begin(app, &run, e) < 0))
        return -1;
    struct app_run_started started = {.event = run.n_stages ? "started" : "nothing",
                                      .run = run.n_stages ? run.id : FIELD_NONE};
    return answer_head(out, &started, e);
}

static int start_replay(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return start(app, APP_REPLAY, request, out, e);
}

static int start_rerun(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return start(app, APP_RERUN, request, out, e);
}

/* clang-format off */
static const struct field replay_request_fields[] = {
    {"set", FIELD(TEXT, struct request, ref), .help = "Set version to make again, as in @S:3.",
     .required = true, .operand = true, .value = "SET"},
};
static const struct field rerun_request_fields[] = {
    {"from", FIELD(TEXT, struct request, ref), .required = true, .value = "SET",
     .help = "The newer version: @S:2, or @S for the latest."},
};
/* clang-format on */
static const struct record replay_request =
    RECORD("replay_start", struct request, replay_request_fields);
static const struct record rerun_request =
    RECORD("rerun_start", struct request, rerun_request_fields);

const struct operation replay_start_operation = {
    .name = "replay.start",
    .summary = "Run the recorded jobs that make a set version again.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &replay_request,
    .answer = &app_run_started_record,
    .run = start_replay,
};

const struct operation rerun_start_operation = {
    .name = "rerun.start",
    .summary = "Run the jobs that used older versions of a set again, on a newer version.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &rerun_request,
    .answer = &app_run_started_record,
    .run = start_rerun,
};
