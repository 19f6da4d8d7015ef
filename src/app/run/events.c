/* events: the operation run.follow: the events of a run as they happen, and its bill at the end.
 * `tradewind run`, `cluster run`, `replay`, `rerun` and `run show --follow` call it. */
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "app/run/nodes.h"
#include "app/run/run.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* One look at a run has its stages and the usage of its nodes. */
#define LOOK_MAX_BYTES ((size_t)64 << 20)

/* clang-format off */
/* job_state, planned_s and planned_usd are for people: what a stage does beside what was planned. */
#define PROGRESS_FIELDS(type, at, none)                                                            \
    {"stage", FIELD(TEXT, type, at stage), .omit_none = none, .help = "Name of the stage."},       \
    {"state", FIELD(ENUM, type, at state), FIELD_CHOICES(app_run_stage_choices),                   \
     .omit_none = none, .help = "Its state."},                                                     \
    {"job", FIELD(INT, type, at job), .omit_none = none, .help = "Its job; 0 = none."},            \
    {"job_state", FIELD(TEXT, type, at job_state), .omit_none = none,                              \
     .help = "State of its job; empty = it has none."},                                            \
    {"reason", FIELD(TEXT, type, at reason), .omit_none = none,                                    \
     .help = "Why it is in that state."},                                                          \
    {"runtime_s", FIELD(DURATION, type, at runtime_s), .unit = "s", .omit_none = none,             \
     .help = "Run time of its job until now."},                                                    \
    {"planned_s", FIELD(DURATION, type, at planned_s), .unit = "s", .omit_none = true,             \
     .help = "Planned time."},                                                                     \
    {"cost_usd", FIELD(MONEY, type, at cost_microusd), .unit = "USD", .omit_none = none,           \
     .help = "Cost of its jobs until now."},                                                       \
    {"planned_usd", FIELD(MONEY, type, at planned_microusd), .unit = "USD", .omit_none = true,     \
     .help = "Planned cost."}

static const struct field progress_fields[] = {
    PROGRESS_FIELDS(struct app_run_progress, , false),
};
static const struct record progress_record =
    RECORD("run_progress", struct app_run_progress, progress_fields);

#define USAGE(TYPE, member) FIELD(TYPE, struct app_run_usage, member)
static const struct field usage_fields[] = {
    {"rank", USAGE(INT, rank), .help = "Rank of the node."},
    {"role", USAGE(TEXT, role), .help = "Role of the node: server or worker."},
    {"cpus", USAGE(REAL, cpus), .help = "CPUs in use."},
    {"memory_mb", USAGE(REAL, memory_mb), .unit = "MB", .help = "Memory in use."},
    {"received_mbps", USAGE(REAL, received_mbps), .unit = "Mbit/s", .help = "Rate received."},
    {"sent_mbps", USAGE(REAL, sent_mbps), .unit = "Mbit/s", .help = "Rate sent."},
    {"gpu_percent", USAGE(REAL, gpu_percent), .unit = "%", .help = "GPU in use."},
};
static const struct record usage_record = RECORD("run_usage", struct app_run_usage, usage_fields);

#define EVENT(TYPE, member) FIELD(TYPE, struct app_run_event, member)
static const struct field event_fields[] = {
    {"event", EVENT(TEXT, event), .help = "One of stage, log, note, progress."},
    {"run", EVENT(INT, run), .help = "Number of the run."},
    PROGRESS_FIELDS(struct app_run_event, change., true),
    {"rank", EVENT(INT, rank), .omit_none = true, 
     .help = "Rank of the node that printed, of several."},
    {"role", EVENT(TEXT, role), .omit_none = true, .help = "Role of the node: server or worker."},
    {"text", EVENT(TEXT, text), .omit_none = true,
     .help = "Line that the stage printed; of a note, where the stage runs instead, and why."},
    {"stages", EVENT(RECORDS, stages), .record = &progress_record, .omit_none = true,
     .help = "All stages as they are now."},
    {"nodes", EVENT(RECORDS, nodes), .record = &usage_record, .omit_none = true,
     .help = "Usage of the nodes of a training cluster."},
};
static const struct record event_record = RECORD("run_event", struct app_run_event, event_fields);

static const struct field request_fields[] = {
    APP_RUN_FIELD(struct app_run_get_request, run),
    {"progress", FIELD(BOOL, struct app_run_get_request, progress),
     .help = "Answer with progress events as well."},
    {"logs", FIELD(BOOL, struct app_run_get_request, logs),
     .help = "Answer with the lines that stages print, as log events; those of training clusters "
             "come in any case."},
};
/* clang-format on */

struct following {
    struct app *app;
    const struct app_run_get_request *request;
    struct answer *out;
    struct told {
        enum run_stage_state state;
        int64_t job;
        struct job_offer offer;
    } * told;                     /* of each stage, as answered last */
    struct open_bills open;       /* read once per look */
    struct app_run_nodes **nodes; /* of each stage whose lines are told; NULL = none yet */
    size_t n_nodes;
};

static struct app_run_event event_of(const struct following *f, const char *kind)
{
    struct app_run_event event;

    record_set_none(&event_record, &event);
    event.event = kind;
    event.run = f->request->run;
    return event;
}

/* ---- stages ---- */

static int read_stage(const struct following *f,
                      const struct run_stage *s,
                      struct arena *a,
                      struct app_run_progress *out,
                      struct err *e)
{
    bool is_planned = s->plan.planned_s > 0;
    struct app_run_job job;

    if (app_run_job_so_far(f->app, &f->open, f->request->run, s, &job, e) < 0)
        return -1;
    *out = (struct app_run_progress){
        .stage = s->plan.name,
        .state = s->state,
        .job = s->job,
        .job_state = arena_dup(a, job.state),
        .reason = s->reason,
        .runtime_s = job.runtime_s,
        .planned_s = is_planned ? s->plan.planned_s : (double)NAN,
        .cost_microusd = job.cost_microusd,
        .planned_microusd = is_planned ? s->plan.planned_microusd : FIELD_NONE,
    };
    return 0;
}

static int tell_stage(const struct following *f, const struct run_stage *s, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LOOK_MAX_BYTES);
    struct app_run_event event = event_of(f, "stage");

    return read_stage(f, s, arena, &event.change, e) < 0 ? -1 : answer_item(f->out, &event, e);
}

/* What changed since the stage last finished, as its job knows it. New string. */
static char *because_of(const struct following *f, int64_t job)
{
    AUTO_CLEAR(app_job) struct app_job record = {0};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job found;
    struct err ignored = {0};

    if (app_job_load(f->app, job, arena, &found, &ignored) < 0)
        return NULL;
    app_job_fill(&record, &found);
    return record.because ? mem_dup(record.because) : NULL;
}

/* ---- logs ---- */

/* Training clusters always tell their lines. */
static bool tells_log(const struct following *f, const struct run_stage *s)
{
    return s->job && s->state != STAGE_REUSED && (f->request->logs || s->plan.servers);
}

/* last: the stage is over. */
static int tell_log(
    struct following *f, size_t i, const struct run_stage *s, bool last, struct err *e)
{
    struct app_run_event event = event_of(f, "log");

    if (!tells_log(f, s))
        return 0;
    if (!f->nodes[i])
        f->nodes[i] = app_run_nodes_new(app_home(f->app, NULL));
    if (!s->plan.servers)
        event.change.stage = s->plan.name;
    app_run_nodes_look(f->nodes[i], s);
    while (app_run_nodes_next(f->nodes[i], s, last, &event))
        if (answer_item(f->out, &event, e) < 0)
            return -1;
    if (last && !s->plan.servers) {
        app_run_nodes_free(f->nodes[i]);
        f->nodes[i] = NULL;
    }
    return 0;
}

static int tell_logs(struct following *f, const struct run *r, struct err *e)
{
    for (size_t i = 0; i < r->n_stages; i++)
        if (!run_stage_state_final(r->stages[i].state) &&
            tell_log(f, i, &r->stages[i], false, e) < 0)
            return -1;
    return 0;
}

/* ---- machines of clouds ---- */

/* The last refusal of the run, in words; "" = there is none. */
static const char *last_refusal(const struct following *f, struct arena *a)
{
    struct field_records all = {0};
    struct err ignored = {0};

    if (app_job_refusals(f->app, 0, f->request->run, a, &all, &ignored) < 0 || !all.n)
        return "";
    const struct app_refusal *last = (const struct app_refusal *)all.items + all.n - 1;
    return arena_printf(a, ": %s %s, %s, refused: %s", last->location, last->instance_type,
                        last->market, last->reason);
}

/* A cloud refused an offer, and the stage is planned on another one. */
static int tell_move(struct following *f, size_t i, const struct run_stage *s, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LOOK_MAX_BYTES);
    struct app_run_event event = event_of(f, "note");
    struct job_offer *told = &f->told[i].offer;
    bool is_news = told->provider[0] && !job_offer_same(told, &s->plan.offer);
    char offer[256];

    *told = s->plan.offer;
    if (!is_news)
        return 0;
    job_offer_text(told, offer);
    event.change.stage = s->plan.name;
    event.text = arena_printf(arena, "moves to %s, $%.4g per hour%s", offer,
                              told->price_usd_per_hour, last_refusal(f, arena));
    return event.text ? answer_item(f->out, &event, e) : 0;
}

static int tell_changes(struct following *f, const struct run *r, struct err *e)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        struct run_stage s = r->stages[i];
        if (s.plan.offer.provider[0] && tell_move(f, i, &s, e) < 0)
            return -1;
        struct told before = f->told[i];
        /* A stage that waits for its next attempt is told when the attempt starts. */
        if ((s.state == before.state && s.job == before.job) || s.state == STAGE_WAITING)
            continue;
        f->told[i].state = s.state;
        f->told[i].job = s.job;
        /* A stage may start and end between two looks. */
        bool ran = s.job && s.state != STAGE_REUSED && s.state != STAGE_GOING;
        struct run_stage began = s;
        AUTO_MEM char *because = ran && before.job != s.job ? because_of(f, s.job) : NULL;
        began.state = STAGE_GOING;
        began.reason = because ? because : "";
        if (before.job != s.job && ran && tell_stage(f, &began, e) < 0)
            return -1;
        /* Its last lines come before its end. */
        if (run_stage_state_final(s.state) && tell_log(f, i, &s, true, e) < 0)
            return -1;
        if (tell_stage(f, &s, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- nodes ---- */

/* The stage of a training cluster; NULL = the run is none. */
static const struct run_stage *cluster_of(const struct run *r)
{
    return r->n_stages && r->stages[0].plan.servers ? &r->stages[0] : NULL;
}

static int read_usage(const struct following *f,
                      const struct run *r,
                      struct arena *a,
                      struct field_records *out,
                      struct err *e)
{
    const struct run_stage *s = cluster_of(r);

    if (!s || !f->nodes[0] || s->state != STAGE_GOING)
        return 0;
    struct app_run_usage *nodes = arena_alloc(a, s->plan.nodes, sizeof *nodes);
    if (!nodes)
        return err_set(e, ERR_NOFIT, "the cluster has too many nodes");
    for (unsigned rank = 0; rank < s->plan.nodes; rank++)
        out->n += app_run_nodes_usage(f->nodes[0], s, rank, &nodes[out->n]);
    out->items = nodes;
    return 0;
}

static int tell_progress(const struct following *f, const struct run *r, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LOOK_MAX_BYTES);
    struct app_run_progress *stages = arena_alloc(arena, r->n_stages + 1, sizeof *stages);
    struct app_run_event event = event_of(f, "progress");

    if (!stages)
        return err_set(e, ERR_NOFIT, "the run has too many stages");
    for (size_t i = 0; i < r->n_stages; i++)
        if (read_stage(f, &r->stages[i], arena, &stages[i], e) < 0)
            return -1;
    event.stages = (struct field_records){stages, r->n_stages};
    return read_usage(f, r, arena, &event.nodes, e) < 0 ? -1 : answer_item(f->out, &event, e);
}

/* ---- the operation ---- */

static int look(void *context, const struct run *r, struct err *e)
{
    struct following *f = context;
    bool is_over = r->state != RUN_GOING;

    open_bills_clear(&f->open);
    if (app_run_open_bills(f->app, &f->open, e) < 0)
        return -1;
    if (!f->told) {
        f->told = mem_zero(r->n_stages + 1, sizeof *f->told);
        f->nodes = mem_zero(r->n_stages + 1, sizeof *f->nodes);
        f->n_nodes = r->n_stages;
        for (size_t i = 0; i < r->n_stages; i++)
            f->told[i].state = STAGE_WAITING;
    }
    /* The start of a stage comes before its lines. */
    if (tell_changes(f, r, e) < 0 || tell_logs(f, r, e) < 0 ||
        (f->request->progress && tell_progress(f, r, e) < 0))
        return -1;
    return is_over ? 0 : app_check_cancelled(f->app, e);
}

static int run_follow(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct following f = {.app = app, .request = request, .out = out};
    AUTO_CLEAR(run) struct run r = {0};
    struct app_run bill;

    int result = app_run_wait(app, f.request->run, look, &f, &r, e);
    free(f.told);
    open_bills_clear(&f.open);
    for (size_t i = 0; i < f.n_nodes; i++)
        app_run_nodes_free(f.nodes[i]);
    free(f.nodes);
    if (result < 0 || app_run_read(app, &r, out->arena, &bill, e) < 0)
        return -1;
    return answer_head(out, &bill, e);
}

const struct operation run_follow_operation = {
    .name = "run.follow",
    .summary = "Answer with the events of a run until it is over, last with its bill.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct app_run_get_request, request_fields),
    .answer = &app_run_record,
    .item = &event_record,
    .is_feed = true,
    .is_live = true,
    .run = run_follow,
};
