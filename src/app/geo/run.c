/* run: the operation geo.run, and its parts for `tradewind geo run`, which asks between planning
 * and starting. */
#include "app/run/run.h"
#include "app/geo/internal.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/cap.h"
#include "spec/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)64 << 20)

void app_geo_run_free(struct app_geo_run *g)
{
    if (!g)
        return;
    geo_events_clear(&g->events);
    run_clear(&g->ended);
    app_geo_clear(&g->geo);
    arena_free(g->arena);
    free(g);
}

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

struct app_geo_run *app_geo_run_new(struct app *app,
                                    const struct app_geo_run_request *q,
                                    struct err *e)
{
    AUTO(app_geo_run) struct app_geo_run *g = mem_zero(1, sizeof *g);
    struct app_geo_request training = q->training;

    g->arena = arena_new(ARENA_BYTES);
    /* Of the file alone. */
    training.connections = FIELD_NONE;
    training.train_s = training.quorum = (double)NAN;
    g->on = arena_dup(g->arena, q->on ? q->on : "local");
    snprintf(g->token, sizeof g->token, "%" PRIx64 "-%x", (uint64_t)time_epoch_ms(),
             (unsigned)getpid());
    if (!g->on || app_geo_open(&g->geo, app, &training, true, e) < 0 || plan(g, &training, e) < 0 ||
        app_geo_run_layout(g, e) < 0 || app_geo_run_list(g, e) < 0)
        return NULL;
    return TAKE(g);
}

int app_geo_run_plan(const struct app_geo_run *g,
                     struct arena *arena,
                     struct app_geo_run_planned *out,
                     struct err *e)
{
    const struct geo_site *sites = g->geo.problem->sites;
    struct app_geo_run_stage *stages = arena_alloc(arena, g->n_parties, sizeof *stages);
    char text[128];

    if (!stages)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    for (size_t i = 0; i < g->n_parties; i++) {
        const struct app_geo_party *p = &g->parties[i];
        stages[i] = (struct app_geo_run_stage){
            p->stage, arena_dup(arena, app_geo_site_text(&sites[p->site], text)),
            app_geo_run_on(g, p->site, p->worker == GEO_EVENT_NO_WORKER)};
    }
    *out = (struct app_geo_run_planned){
        .name = g->geo.spec->name,
        .workers = g->geo.problem->n_workers,
        .rounds = g->geo.spec->rounds,
        .topology = spec_geo_topology_text(g->at.topology),
        .function = arena_dup(arena, app_geo_site_text(&sites[g->at.function], text)),
        .store = arena_dup(arena, app_geo_site_text(&sites[g->at.store], text)),
        .total = &g->total,
        .round_usd = geo_bill_usd(&g->at.bill),
        .round_s = g->at.round_s,
        .stages = stages,
        .n_stages = g->n_parties,
    };
    return 0;
}

/* ---- starting ---- */

int app_geo_start(struct app *app, struct app_geo_run *g, int64_t *id_out, struct err *e)
{
    struct lake *l = app_lake(app, e);

    g->run.user = app_run_user(app);
    if (!l || cap_check_month(g->geo.config, l, e) < 0 || app_geo_run_compose(g, app, e) < 0 ||
        app_run_begin(app, &g->run, e) < 0)
        return -1;
    *id_out = g->run.id;
    return 0;
}

size_t app_geo_run_n_events(const struct app_geo_run *g)
{
    return g->events.n;
}

json_t *app_geo_run_event(const struct app_geo_run *g, size_t i)
{
    return geo_event_json(g->geo.problem, &g->events.all[i]);
}

/* ---- the operation ---- */

/* clang-format off */
static const struct field request_fields[] = {
    GEO_FILE_FIELDS(struct app_geo_run_request, training.),
    {"on", FIELD(TEXT, struct app_geo_run_request, on), .value = "local|ssh|GROUP",
     .help = "Where workers and functions run that the file's sites do not mention; default "
             "local."},
    GEO_PLACEMENT_FIELDS(struct app_geo_run_request, training.),
};
/* clang-format on */
static const struct record request_record =
    RECORD("geo_run", struct app_geo_run_request, request_fields);

static int run_training(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO(app_geo_run) struct app_geo_run *g = app_geo_run_new(app, request, e);
    struct app_geo_report report;
    int64_t id;

    if (!g || app_geo_start(app, g, &id, e) < 0 || app_geo_follow(app, g, NULL, e) < 0 ||
        app_geo_report(app, g, out->arena, &report, e) < 0)
        return -1;
    return answer_head(out, &report, e);
}

const struct operation geo_run_operation = {
    .name = "geo.run",
    .summary = "Run a geo-distributed training to its end, and report its bill.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &request_record,
    .answer = &app_geo_report_record,
    .run = run_training,
};
