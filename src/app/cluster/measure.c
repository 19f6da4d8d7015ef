/* measure: the operation cluster.measure: rates of one worker beside one server, for
 * cluster.recommend. `tradewind cluster measure` calls it. */
#include "app/cluster/cluster.h"
#include "base/time.h"
#include "broker/learn/cluster_learn.h"
#include "broker/learn/usage.h"
#include "spec/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Time before the first iteration, for compiling and reading data. */
#define WARM_UP_S 120.0
/* After this time more the nodes end by themselves: the measuring process may have died. */
#define MARGIN_S 60.0

/* ---- the request and the answer ---- */

/* clang-format off */
#define RUN(TYPE, member) FIELD(TYPE, struct app_cluster_run_request, member)
static const struct field request_fields[] = {
    CLUSTER_FILE_FIELDS(struct app_cluster_run_request, cluster.),
    {"on", RUN(TEXT, on), .value = "ssh|GROUP",
     .help = "Hosts to measure on: all of the configuration, or those of a group."},
    {"server_on", RUN(TEXT, server_on), .value = "GROUP",
     .help = "Run the server on a host of this group, and the worker on one of --on."},
    {"type", RUN(TEXT, cluster.type), .value = "TYPE",
     .help = "Type that the worker's host counts as; default: the file's only type of worker, "
             "else the name of its group."},
    {"seconds", RUN(DURATION, seconds), .value = "S", .unit = "s", .preset = "20", .least = 3,
     .most = 3600, .help = "Measure for this time from the first iteration on; default 20."},
    {"again", RUN(BOOL, again), .help = "Measure even when there is a measurement."},
    CLUSTER_NODE_FIELDS,
};

#define MEASUREMENT(TYPE, member) FIELD(TYPE, struct app_cluster_measurement, member)
static const struct field measurement_fields[] = {
    {"command", MEASUREMENT(TEXT, command), .help = "Command of the workers."},
    {"batch", MEASUREMENT(REAL, batch), .help = "Batch size; null = the file has none."},
    {"type", MEASUREMENT(TEXT, type), .help = "Type of the worker."},
    {"mbps", MEASUREMENT(REAL, mbps), .unit = "Mbit/s",
     .help = "Mbit/s through the network interfaces of the worker, both ways together."},
    {"per_s", MEASUREMENT(REAL, per_s), .help = "Iterations per second."},
    {"seconds", MEASUREMENT(REAL, seconds), .unit = "s",
     .help = "Duration of the measurement; null = measured before."},
    {"run", MEASUREMENT(INT, run), .help = "Run that was measured; null = measured before."},
    {"again", MEASUREMENT(BOOL, again), .help = "Whether it was measured now."},
    {"name", MEASUREMENT(TEXT, name), .help = "Name of the training."},
    {"on", MEASUREMENT(TEXT, on), .help = "Hosts that are measured on."},
    {"file", MEASUREMENT(TEXT, file), .help = "File that has the measurements."},
};
/* clang-format on */

/* ---- before ---- */

static int prepare(struct app *app,
                   const struct app_cluster_run_request *q,
                   const struct answer *answer,
                   struct app_cluster_prepared *out,
                   struct err *e)
{
    struct app_cluster_run_request one = *q;
    char option[64];

    if (!q->on || !strcmp(q->on, "local"))
        return err_set(e, ERR_USAGE,
                       "a worker is measured on a machine of its own, by the traffic of its "
                       "network interfaces: %s GROUP names hosts of the configuration",
                       answer_spell(answer, "on", option));
    one.workers = 1;
    one.max_microusd = FIELD_NONE;
    one.cluster.work = (double)NAN;
    if (app_cluster_prepare(app, &one, answer, out, e) < 0)
        return -1;
    out->measures = true;
    out->limit_s = q->seconds + WARM_UP_S + MARGIN_S;
    return 0;
}

/* The measurement of an earlier run, or none. Texts are borrowed from p. */
static struct app_cluster_measurement measured_before(const struct app_cluster_prepared *p,
                                                      struct arena *a)
{
    const struct spec_cluster *s = p->cluster.spec;
    const struct cluster_measured_row *row =
        cluster_measured_of(p->cluster.measured, p->worker_type);
    bool is_known = row && row->workers <= 1;

    return (struct app_cluster_measurement){
        .command = s->run,
        .batch = s->batch > 0 ? s->batch : (double)NAN,
        .type = p->worker_type,
        .mbps = is_known ? row->mbps : (double)NAN,
        .per_s = is_known ? row->per_s : (double)NAN,
        .seconds = (double)NAN,
        .run = FIELD_NONE,
        .name = s->name,
        .on = p->location.on,
        .file = arena_printf(a, "%s/%s", p->cluster.config->home, CLUSTER_MEASURED_FILE)};
}

/* ---- a run that is measured ---- */

struct measuring {
    struct app *app;
    struct lake *lake;
    const char *home;
    double seconds;
    int64_t run;
    bool is_stopped;   /* by this process */
    bool is_cancelled; /* by the caller */
};

/* Whether the worker was measured for long enough, or begins too late. */
static bool is_enough(const struct measuring *m, const struct run_stage *s, double *seen_s)
{
    struct usage_rates rates = {0};
    int64_t worker = s->job + s->plan.servers;
    struct lake_job job;

    *seen_s = 0;
    if (!s->job || lake_job_load(m->lake, worker, NULL, &job, NULL) < 0 || !job.started_ms)
        return false;
    if (usage_rates(m->home, worker, &rates, NULL) == 0)
        *seen_s = rates.seconds;
    return *seen_s >= m->seconds ||
           (double)(time_epoch_ms() - job.started_ms) / 1000 >= m->seconds + WARM_UP_S;
}

/* Stops the run when it was measured for long enough, or the caller cancels. */
static int look(void *context, const struct run *r, struct err *e)
{
    struct measuring *m = context;
    double seen_s;

    if (r->state != RUN_GOING)
        return 0;
    bool is_done = is_enough(m, &r->stages[0], &seen_s);
    app_status(m->app, "measuring: %.0f of %.0f s", seen_s, m->seconds);
    m->is_cancelled = m->is_cancelled || (!is_done && app_cancelled(m->app));
    if (m->is_stopped || (!is_done && !m->is_cancelled))
        return 0;
    m->is_stopped = true;
    return runs_ask_stop_for(app_runs(m->app, e), m->run,
                             is_done ? "it was measured" : "interrupted", e) < 0
               ? -1
               : app_wake_broker(m->app, e);
}

static int read_rates(const struct measuring *m,
                      const struct run *r,
                      struct usage_rates *out,
                      struct err *e)
{
    const struct run_stage *s = &r->stages[0];
    struct err why = {0};

    /* After a stop, the server may notice that its worker is gone, and fail. */
    if (r->state == RUN_FAILED && !m->is_stopped)
        return err_set(e, ERR_IO, "run %" PRId64 " failed: %.300s", m->run, s->reason);
    if (usage_rates(m->home, s->job + s->plan.servers, out, &why) < 0)
        return err_set(e, ERR_USAGE, "run %" PRId64 ", its worker: %s", m->run, why.text);
    if (out->mbps <= 0)
        return err_set(e, ERR_USAGE, "run %" PRId64 ": its worker sent and received nothing",
                       m->run);
    return 0;
}

/* Runs the cluster for a while. */
static int measure(struct app *app,
                   const struct app_cluster_prepared *p,
                   const struct answer *answer,
                   struct app_cluster_measurement *out,
                   struct err *e)
{
    AUTO_CLEAR(run) struct run r = {0};
    struct measuring m = {.app = app,
                          .lake = app_lake(app, e),
                          .home = p->cluster.config->home,
                          .seconds = p->request.seconds};
    const struct spec_cluster *spec = p->cluster.spec;
    struct usage_rates rates;

    if (!m.lake || app_cluster_start(app, p, answer, &m.run, e) < 0 ||
        app_run_wait(app, m.run, look, &m, &r, e) < 0)
        return -1;
    if (m.is_cancelled)
        return app_check_cancelled(app, e);
    if (read_rates(&m, &r, &rates, e) < 0)
        return -1;
    const struct cluster_measurement whole = {
        spec->run,
        spec->batch,
        {.type = p->worker_type, .mbps = rates.mbps, .per_s = rates.per_s, .workers = 1}};
    /* The broker has recorded a run that ended by itself. */
    if (r.state != RUN_FINISHED && broker_cluster_learn_add(m.home, &whole, e) < 0)
        return -1;
    out->mbps = rates.mbps;
    out->per_s = rates.per_s;
    out->seconds = rates.seconds;
    out->run = m.run;
    out->again = true;
    return 0;
}

/* ---- the operation ---- */

static int run_measure(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct app_cluster_run_request *q = request;
    AUTO_CLEAR(app_cluster_prepared) struct app_cluster_prepared p = {0};

    if (prepare(app, q, out, &p, e) < 0)
        return -1;
    struct app_cluster_measurement m = measured_before(&p, out->arena);
    bool is_wanted = q->again || isnan(m.mbps);
    if (is_wanted)
        m.mbps = m.per_s = (double)NAN;
    if (is_wanted && !q->dry_run && measure(app, &p, out, &m, e) < 0)
        return -1;
    return answer_head(out, &m, e);
}

const struct operation cluster_measure_operation = {
    .name = "cluster.measure",
    .summary = "Measure the network traffic and iterations per second of one worker.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct app_cluster_run_request, request_fields),
    .answer = RECORD_AT("cluster_measurement", struct app_cluster_measurement, measurement_fields),
    .bills = true,
    .run = run_measure,
};
