/* run: the operation geo.run, which plans a training, starts it and follows it to its end.
 * `tradewind geo run` calls it. */
#include "app/geo/internal.h"
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "app/run/location.h"
#include "base/mem.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)64 << 20)

static void app_geo_run_free(struct app_geo_run *g)
{
    if (!g)
        return;
    geo_events_clear(&g->events);
    run_clear(&g->ended);
    app_geo_clear(&g->geo);
    arena_free(g->arena);
    free(g);
}
AUTO_DEFINE(app_geo_run)

static void release_run(void *g)
{
    app_geo_run_free(g);
}

/* ---- the request ---- */

struct run_request {
    struct app_geo_request training; /* its workers, size, times and quorum do not count */
    const char *on;                  /* NULL = local */
    bool events, insecure, dry_run;
};

/* clang-format off */
static const struct field request_fields[] = {
    GEO_FILE_FIELDS(struct run_request, training.),
    {"on", FIELD(TEXT, struct run_request, on), .value = "local|ssh|GROUP|cloud|aws|azure|gcp",
     .help = "Where workers and functions run that the file's sites do not mention: locally (the "
             "default), on hosts, or on machines that are launched for the workers in the regions "
             "of their sites (cloud, aws), while functions run locally."},
    GEO_PLACEMENT_FIELDS(struct run_request, training.),
    {"log", FIELD(BOOL, struct run_request, events), .is_remote_only = true,
     .help = "Answer with the lines of the event log at the end."},
    {"insecure", FIELD(BOOL, struct run_request, insecure), .help = APP_INSECURE_HELP},
    APP_DRY_RUN_FIELD(struct run_request, dry_run),
};

#define EVENT(TYPE, member) FIELD(TYPE, struct app_geo_run_event, member), .omit_none = true
static const struct field event_fields[] = {
    {"event", EVENT(TEXT, event), .help = "One of started, round, log."},
    {"run", EVENT(INT, run), .help = "Number of the run."},
    {"round", EVENT(INT, round), .help = "Number of the round, from 0."},
    {"rounds", EVENT(INT, rounds), .help = "Number of rounds of the training."},
    {"time_s", EVENT(DURATION, time_s), .unit = "s", .help = "Time of the round."},
    {"detail", EVENT(JSON, detail), .help = "A line of the event log."},
};
/* clang-format on */
static const struct record event_record =
    RECORD("geo_run_event", struct app_geo_run_event, event_fields);

/* ---- planning ---- */

static int plan(struct app_geo_run *g, const struct app_geo_request *q, struct err *e)
{
    const struct geo_question question = app_geo_question(&g->geo, q);
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};

    if (geo_plan(g->geo.problem, &question, &plan, e) < 0)
        return -1;
    g->at = plan.placements[0];
    return geo_total(g->geo.problem, &g->at, &g->total, e);
}

static int find_clouds(struct app_geo_run *g, const struct answer *answer, struct err *e)
{
    struct app_run_location location;
    char option[64];

    if (app_run_location_find(g->geo.config, g->on, answer_spell(answer, "on", option), &location,
                              e) < 0)
        return -1;
    g->is_cloud = location.is_cloud;
    return 0;
}

static int prepare(struct app *app,
                   const struct run_request *q,
                   const struct answer *answer,
                   struct app_geo_run *g,
                   struct err *e)
{
    struct app_geo_request training = q->training;

    g->arena = arena_new(ARENA_BYTES);
    /* Of the file alone. */
    training.connections = FIELD_NONE;
    training.train_s = training.quorum = (double)NAN;
    if (q->insecure)
        app_allow_insecure(app);
    g->is_insecure = app_is_insecure(app);
    g->on = arena_dup(g->arena, q->on ? q->on : "local");
    snprintf(g->token, sizeof g->token, "%" PRIx64 "-%x", (uint64_t)time_epoch_ms(),
             (unsigned)getpid());
    return !g->on || app_geo_open(&g->geo, app, &training, true, answer, e) < 0 ||
                   find_clouds(g, answer, e) < 0 || plan(g, &training, e) < 0 ||
                   app_geo_run_layout(g, e) < 0 || app_geo_run_list(g, app, e) < 0
               ? -1
               : 0;
}

static int answer_planned(const struct app_geo_run *g, struct answer *out, struct err *e)
{
    const struct geo_site *sites = g->geo.problem->sites;
    struct app_geo_run_stage *stages = answer_alloc(out, g->n_parties, sizeof *stages, e);
    struct app_geo_report planned;
    char text[128];

    if (!stages)
        return -1;
    for (size_t i = 0; i < g->n_parties; i++) {
        const struct app_geo_party *p = &g->parties[i];
        stages[i] = (struct app_geo_run_stage){
            p->stage, arena_dup(out->arena, app_geo_site_text(&sites[p->site], text)),
            app_geo_run_on(g, p->site, p->worker == GEO_EVENT_NO_WORKER), NULL};
        if (app_offer_show(&g->run.stages[i].plan.offer, out->arena, &stages[i].offer, e) < 0)
            return -1;
    }
    const struct app_geo_run_plan plan = {
        .name = g->geo.spec->name,
        .workers = g->geo.problem->n_workers,
        .rounds = g->geo.spec->rounds,
        .topology = spec_geo_topology_text(g->at.topology),
        .function = arena_dup(out->arena, app_geo_site_text(&sites[g->at.function], text)),
        .store = arena_dup(out->arena, app_geo_site_text(&sites[g->at.store], text)),
        .cost_microusd = g->total.total_microusd,
        .time_s = g->total.time_s,
        .round_usd = geo_bill_usd(&g->at.bill),
        .round_s = g->at.round_s,
        .stages = {stages, g->n_parties},
    };
    record_set_none(&app_geo_report_record, &planned);
    planned.event = "planned";
    planned.plan = &plan;
    return answer_head(out, &planned, e);
}

/* ---- running ---- */

static struct app_geo_run_event event_of(const struct app_geo_run *g, const char *kind)
{
    struct app_geo_run_event event;

    record_set_none(&event_record, &event);
    event.event = kind;
    event.run = g->run.id;
    return event;
}

static int start(struct app *app, struct app_geo_run *g, struct answer *out, struct err *e)
{
    g->run.user = app_run_user(app);
    if (app_job_check_month(app, e) < 0 || app_geo_run_compose(g, app, e) < 0 ||
        app_run_begin(app, &g->run, e) < 0)
        return -1;
    const struct app_geo_run_event started = event_of(g, "started");
    return answer_item(out, &started, e);
}

static int answer_log(const struct app_geo_run *g, struct answer *out, struct err *e)
{
    struct app_geo_run_event event = event_of(g, "log");

    for (size_t i = 0; i < g->events.n; i++) {
        AUTO_JSON json_t *detail = geo_event_json(g->geo.problem, &g->events.all[i]);
        event.detail = detail;
        if (answer_item(out, &event, e) < 0)
            return -1;
    }
    return 0;
}

static int run_training(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct run_request *q = request;
    AUTO(app_geo_run) struct app_geo_run *g = answer_take(out, app, q);
    struct app_geo_report report;

    if (!g) {
        g = mem_zero(1, sizeof *g);
        if (prepare(app, q, out, g, e) < 0)
            return -1;
    }
    if (q->dry_run) {
        if (answer_planned(g, out, e) < 0)
            return -1;
        answer_leave(out, app, q, TAKE(g), release_run);
        return 0;
    }
    if (start(app, g, out, e) < 0 || app_geo_run_follow(app, g, out, e) < 0 ||
        (q->events && answer_log(g, out, e) < 0) ||
        app_geo_run_report(app, g, out->arena, &report, e) < 0)
        return -1;
    return answer_head(out, &report, e);
}

const struct operation geo_run_operation = {
    .name = "geo.run",
    .summary = "Run a geo-distributed training to its end, and report its bill.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct run_request, request_fields),
    .answer = &app_geo_report_record,
    .item = &event_record,
    .is_feed = true,
    .bills = true,
    .run = run_training,
};
