/* show: the operation that shows a run with its bill. `tradewind run show` calls it; what lists and
 * watches runs reads them here. */
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "app/run/run.h"
#include "base/buf.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/machine/machines.h"
#include "lake/job/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 100000
/* Every tenth look wakes the broker, or starts another one. */
#define WAKE_LOOKS 10

bool app_run_is_simulated(const struct run *r)
{
    return !strcmp(r->on, "sim");
}

const char *const app_run_state_choices[5] = {[RUN_GOING] = "running",
                                              [RUN_FINISHED] = "finished",
                                              [RUN_FAILED] = "failed",
                                              [RUN_STOPPED] = "stopped"};
const char *const app_run_stage_choices[8] = {
    [STAGE_WAITING] = "waiting", [STAGE_GOING] = "running", [STAGE_FINISHED] = "finished",
    [STAGE_REUSED] = "reused",   [STAGE_FAILED] = "failed", [STAGE_SKIPPED] = "skipped",
    [STAGE_STOPPED] = "stopped"};

int app_run_load(struct app *app, int64_t id, struct run *out, struct err *e)
{
    struct runs *runs = app_runs(app, e);

    return runs ? runs_get(runs, id, out, e) : -1;
}

/* ---- jobs of a stage ---- */

struct adding {
    const struct config *config; /* NULL = by the records alone */
    const struct open_bills *open;
    const struct run_stage *stage;
    struct app_run_job *out;
};

static double runtime_of(const struct adding *a, const struct lake_job *job)
{
    return a->config ? fmax(app_job_runtime_s(job), 0) : job->runtime_s;
}

static int64_t cost_of(const struct adding *a, const struct lake_job *job)
{
    return a->config ? bill_microusd(a->config, a->open, job, time_epoch_ms()) : job->cost_microusd;
}

/* A job of the same stage that is not its last: another node of a gang, or an earlier attempt. */
static int add_other(void *context, const struct lake_job *job, struct err *e)
{
    const struct adding *a = context;

    (void)e;
    if (job->id != a->stage->job && !strcmp(job->asked.name, a->stage->plan.name)) {
        a->out->cost_microusd += cost_of(a, job);
        a->out->busy_s += runtime_of(a, job);
    }
    return 0;
}

static int read_jobs(struct lake *l, int64_t run, const struct adding *a, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    const struct lake_job_filter filter = {.run = run};
    struct adding others = *a;
    struct app_run_job *out = a->out;
    struct lake_job job;

    *out = (struct app_run_job){0};
    if (!a->stage->job)
        return 0;
    struct err why = {0};
    /* The records of a run outlive those of a job that was removed. */
    if (lake_job_load(l, a->stage->job, arena, &job, &why) < 0)
        return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    out->runtime_s = out->busy_s = runtime_of(a, &job);
    out->cost_microusd = cost_of(a, &job);
    snprintf(out->state, sizeof out->state, "%s", lake_job_state_text(job.state));
    snprintf(out->output_set, sizeof out->output_set, "%s", job.output_set);
    bool is_alone = a->stage->attempts <= 1 && a->stage->plan.nodes <= 1;
    return is_alone || a->stage->state == STAGE_REUSED
               ? 0
               : lake_job_list(l, &filter, add_other, &others, e);
}

int app_run_job_recorded(
    struct lake *l, int64_t run, const struct run_stage *s, struct app_run_job *out, struct err *e)
{
    return read_jobs(l, run, &(struct adding){.stage = s, .out = out}, e);
}

int app_run_job_so_far(struct app *app,
                       const struct open_bills *open,
                       int64_t run,
                       const struct run_stage *s,
                       struct app_run_job *out,
                       struct err *e)
{
    struct adding a = {.config = app_config(app, e), .open = open, .stage = s, .out = out};
    struct lake *l = app_lake(app, e);

    return l ? read_jobs(l, run, &a, e) : -1;
}

int app_run_open_bills(struct app *app, struct open_bills *out, struct err *e)
{
    const char *home = app_home(app, e);
    struct machines *m = home && machines_exist(home) ? app_machines(app, e) : NULL;

    *out = (struct open_bills){0};
    if (!home || (machines_exist(home) && !m))
        return -1;
    return m ? open_bills_read_from(m, time_epoch_ms(), out, e) : 0;
}

/* ---- fields ---- */

static bool is_not_simulated(const void *record)
{
    return strcmp(((const struct app_run *)record)->on, "sim") != 0;
}

/* A simulated stage has no run time of its own. */
static void took_cell(const void *record, struct buf *out)
{
    const struct app_run_stage *s = record;
    char text[32];

    if (!s->is_simulated)
        buf_puts(out, time_text(s->runtime_s, text));
}

/* clang-format off */
#define STAGE(TYPE, member) FIELD(TYPE, struct app_run_stage, member)
static const struct field stage_fields[] = {
    {"stage", STAGE(TEXT, name), .help = "Name of the stage.",
     .heading = "stage", .cut_rank = 2, .least_width = 8},
    {"state", STAGE(ENUM, state), FIELD_CHOICES(app_run_stage_choices),
     .heading = "state", .help = "Its state."},
    {"job", STAGE(INT, job), .heading = "job", .help = "Its job; of a gang, the first."},
    {"reason", STAGE(TEXT, reason), .help = "Why it is in that state."},
    {"location", STAGE(TEXT, location), .help = "Planned location."},
    {"instance_type", STAGE(TEXT, instance_type),
     .help = "Planned instance type.", .heading = "planned on", .cut_rank = 1, .least_width = 4},
    {"spot", STAGE(BOOL, spot), .help = "Whether it is planned on spot."},
    {"offer", STAGE(RECORD, offer), .record = &app_offer_record, .omit_none = true,
     .help = "Machine of a cloud that it is planned for, after refusals the next one."},
    {"planned_s", STAGE(DURATION, planned_s), .unit = "s",
     .help = "Planned time.", .heading = "planned"},
    {"runtime_s", STAGE(DURATION, runtime_s), .unit = "s",
     .help = "Run time of its job until now.", .heading = "took", .cell = took_cell},
    {"planned_usd", STAGE(MONEY, planned_microusd), .unit = "USD",
     .help = "Planned cost.", .heading = "planned"},
    {"cost_usd", STAGE(MONEY, cost_microusd), .unit = "USD",
     .help = "Cost of its jobs until now; none of a simulated stage.", .heading = "cost"},
    {"cpus", STAGE(REAL, cpus), .help = "CPUs of each node."},
    {"output", STAGE(TEXT, output), .help = "Set version of its output.",
     .heading = "output", .cut_rank = 3, .least_width = 12},
    {"note", STAGE(TEXT, note), .help = "How the stage differs from its plan."},
    {"nodes", STAGE(INT, nodes), .help = "Number of its nodes."},
    {"attempts", STAGE(INT, attempts), .help = "Number of attempts: jobs, or gangs of jobs."},
    {"servers", STAGE(INT, servers), .help = "Number of parameter servers among its nodes."},
    {"elastic", STAGE(BOOL, is_elastic), .help = "Whether its nodes continue when a worker fails."},
    {"resumed_job", STAGE(INT, resumed_job),
     .help = "Job of an earlier run whose checkpoint it resumed from."},
    {"repeated_job", STAGE(INT, repeated_job), .help = "Recorded job that it runs again."},
};
/* clang-format on */
const struct record app_run_stage_record = RECORD("run_stage", struct app_run_stage, stage_fields);

/* "2020-03-01 06:00" */
static void from_cell(const void *record, struct buf *out)
{
    char text[32];

    time_iso(((const struct app_run_machine *)record)->launched_ms, text);
    buf_printf(out, "%.10s %.5s", text, text + 11);
}

static void where_cell(const void *record, struct buf *out)
{
    const struct app_run_machine *m = record;

    buf_printf(out, "%s/%s", m->provider, *m->zone ? m->zone : m->region);
}

static void machine_cost_cell(const void *record, struct buf *out)
{
    const struct app_run_machine *m = record;
    char text[32];

    buf_puts(out, money_text(m->cost_microusd + m->data_microusd, text));
}

/* clang-format off */
static const struct field machine_fields[] = {
    {"stage", FIELD(TEXT, struct app_run_machine, stage), .help = "Stage that it ran."},
    {"from", FIELD(TIME, struct app_run_machine, launched_ms), .help = "Time of its launch.",
     .heading = "from (UTC)", .cell = from_cell},
    {"to", FIELD(TIME, struct app_run_machine, ended_ms), .help = "Time of its end."},
    {"instance_type", FIELD(TEXT, struct app_run_machine, instance_type),
     .help = "Instance type.", .heading = "machine", .cut_rank = 2, .least_width = 8},
    {"provider", FIELD(TEXT, struct app_run_machine, provider), .help = "Cloud.",
     .heading = "location", .cell = where_cell, .cut_rank = 1, .least_width = 8},
    {"region", FIELD(TEXT, struct app_run_machine, region), .help = "Region."},
    {"zone", FIELD(TEXT, struct app_run_machine, zone), .help = "Zone; \"\" = any."},
    {"spot", FIELD(BOOL, struct app_run_machine, spot), .help = "Whether it is a spot instance."},
    {"price_usd_per_hour", FIELD(REAL, struct app_run_machine, price_usd_per_hour),
     .unit = "USD/h", .help = "Price at its launch."},
    {"used", FIELD(DURATION, struct app_run_machine, used_s), .unit = "s",
     .help = "Time from launch to end.", .heading = "for", .is_column_only = true},
    {"cost_usd", FIELD(MONEY, struct app_run_machine, cost_microusd), .unit = "USD",
     .help = "Cost of the machine.", .heading = "cost", .cell = machine_cost_cell},
    {"data_usd", FIELD(MONEY, struct app_run_machine, data_microusd), .unit = "USD",
     .help = "Cost of moving and storing its data."},
    {"reason", FIELD(TEXT, struct app_run_machine, reason), .help = "Why it ended.",
     .heading = "until"},
    {"follows_prices", FIELD(BOOL, struct app_run_machine, follows_prices),
     .help = "Whether its stage followed the prices of the market."},
};
/* clang-format on */
const struct record app_run_machine_record =
    RECORD("run_machine", struct app_run_machine, machine_fields);

/* clang-format off */
#define RUN_FIELDS                                                                                 \
    {"event", FIELD(TEXT, struct app_run, event), .help = "Always run."},                          \
    {"run", FIELD(INT, struct app_run, id), .help = "Number of the run.", .heading = "run"},       \
    {"name", FIELD(TEXT, struct app_run, name), .help = "Name of the pipeline.",                   \
     .heading = "pipeline", .cut_rank = 2, .least_width = 8},                                      \
    {"file", FIELD(TEXT, struct app_run, file), .help = "File of the pipeline."},                  \
    {"on", FIELD(TEXT, struct app_run, on), .help = "local, sim, or a group of hosts."},           \
    {"state", FIELD(ENUM, struct app_run, state), FIELD_CHOICES(app_run_state_choices),            \
     .heading = "state", .help = "Its state."},                                                    \
    {"reason", FIELD(TEXT, struct app_run, reason), .help = "Why it is in that state."},           \
    {"created_at", FIELD(TIME, struct app_run, created_ms), .help = "Time of its start.",          \
     .heading = "started"},                                                                        \
    {"ended_at", FIELD(TIME, struct app_run, ended_ms), .help = "Time of its end."},               \
    {"planned_s", FIELD(DURATION, struct app_run, planned_s), .unit = "s",                         \
     .help = "Planned time."},                                                                     \
    {"planned_usd", FIELD(MONEY, struct app_run, planned_microusd), .unit = "USD",                 \
     .help = "Planned cost.", .heading = "planned"},                                               \
    {"max_usd", FIELD(MONEY, struct app_run, max_microusd), .unit = "USD",                         \
     .help = "Spending cap of the run."}

static const struct field run_fields[] = {
    RUN_FIELDS,
    {"stages", FIELD(RECORDS, struct app_run, stages), .record = &app_run_stage_record,
     .help = "Its stages."},
    {"cost_usd", FIELD(MONEY, struct app_run, cost_microusd), .unit = "USD",
     .help = "Cost until now: of its jobs, or of simulated machines."},
    {"machines", FIELD(RECORDS, struct app_run, machines), .record = &app_run_machine_record,
     .help = "Machines of a simulated run.", .is_absent = is_not_simulated},
    {"refusals", FIELD(RECORDS, struct app_run, refusals), .record = &app_refusal_record,
     .omit_none = true, .help = "Launches that clouds refused, the first one first."},
    {"params", FIELD(JSON, struct app_run, values.params),
     .help = "Parameters of its jobs; STAGE.NAME where stages differ."},
    {"metrics", FIELD(JSON, struct app_run, values.series),
     .help = "Each metric with its last, least and greatest value and its number of steps."},
    {"busy_s", FIELD(DURATION, struct app_run, busy_s), .unit = "s",
     .help = "Run time of all its jobs together, lost ones included."},
};
static const struct field listed_fields[] = {
    RUN_FIELDS,
    {"params", FIELD(JSON, struct app_run, values.params),
     .help = "Parameters of its jobs; STAGE.NAME where stages differ."},
    {"metrics", FIELD(JSON, struct app_run, values.metrics), .help = "Last value of each metric."},
    {"cost_usd", FIELD(MONEY, struct app_run, cost_microusd), .unit = "USD",
     .help = "Cost until now: of its jobs, or of simulated machines.", .heading = "cost"},
    {"why", FIELD(TEXT, struct app_run, reason), .help = "Why it is in that state.",
     .heading = "reason", .is_column_only = true, .cut_rank = 1, .least_width = 8},
};
/* clang-format on */
const struct record app_run_record = RECORD("run", struct app_run, run_fields);
const struct record app_run_listed_record = RECORD("run_listed", struct app_run, listed_fields);

/* ---- reading ---- */

struct app_run app_run_head(const struct run *r)
{
    return (struct app_run){
        .event = "run",
        .id = r->id,
        .name = r->name,
        .file = r->file,
        .on = r->on,
        .state = r->state,
        .reason = r->reason,
        .created_ms = r->created_ms,
        .ended_ms = r->ended_ms ? r->ended_ms : FIELD_NONE,
        .planned_s = r->planned_s,
        .planned_microusd = r->planned_microusd,
        .max_microusd = r->max_microusd ? r->max_microusd : FIELD_NONE,
    };
}

int app_run_simulated_cost(struct app *app, int64_t run, int64_t *microusd_out, struct err *e)
{
    struct machines *m = app_machines(app, e);
    int64_t compute, data, now_ms;

    if (!m || machines_clock(m, run, &now_ms, e) < 0 ||
        machines_bill(m, run, now_ms ? now_ms : time_epoch_ms(), &compute, &data, e) < 0)
        return -1;
    *microusd_out = compute + data;
    return 0;
}

static int read_stage(struct app *app,
                      const struct open_bills *open,
                      const struct run_stage *s,
                      struct arena *a,
                      struct app_run *run,
                      struct app_run_stage *out,
                      struct err *e)
{
    bool is_simulated = !is_not_simulated(run), is_paid = s->state != STAGE_REUSED;
    struct app_run_job job;

    if (app_run_job_so_far(app, open, run->id, s, &job, e) < 0)
        return -1;
    *out = (struct app_run_stage){
        .name = s->plan.name,
        .state = s->state,
        .job = s->job ? s->job : FIELD_NONE,
        .reason = s->reason,
        .location = s->plan.place,
        .instance_type = s->plan.instance_type,
        .spot = s->plan.spot,
        .is_simulated = is_simulated,
        .planned_s = s->plan.planned_s,
        .runtime_s = job.runtime_s,
        .planned_microusd = s->plan.planned_microusd,
        .cost_microusd = is_simulated ? FIELD_NONE
                         : is_paid    ? job.cost_microusd
                                      : 0,
        .cpus = s->plan.cpus,
        .output = job.output_set[0] ? arena_dup(a, job.output_set) : NULL,
        .note = s->plan.note,
        .nodes = s->plan.nodes,
        .attempts = s->attempts,
        .servers = s->plan.servers,
        .is_elastic = s->plan.elastic,
        .resumed_job = s->plan.continues ? s->plan.continues : FIELD_NONE,
        .repeated_job = s->plan.repeats ? s->plan.repeats : FIELD_NONE,
    };
    run->busy_s += is_paid ? job.busy_s : 0;
    run->cost_microusd += is_paid ? job.cost_microusd : 0;
    return app_offer_show(&s->plan.offer, a, &out->offer, e);
}

struct machine_list {
    const struct run *run;
    struct arena *arena;
    struct app_run_machine *items;
    size_t n, cap;
};

static int add_machine(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct machine_list *list = context;
    const struct cloud_machine *f = &m->facts;
    const struct run *r = list->run;
    int64_t end_ms = f->ended_ms ? f->ended_ms : now_ms;

    if (!f->launched_ms)
        return 0; /* the cloud refused it */
    list->items = arena_room(list->arena, list->items, list->n, &list->cap, sizeof *list->items);
    if (!list->items)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    list->items[list->n++] = (struct app_run_machine){
        .stage =
            m->stage >= 0 && (size_t)m->stage < r->n_stages ? r->stages[m->stage].plan.name : "",
        .provider = arena_dup(list->arena, f->provider),
        .region = arena_dup(list->arena, f->region),
        .zone = arena_dup(list->arena, f->zone),
        .instance_type = arena_dup(list->arena, f->instance_type),
        .spot = f->spot,
        .follows_prices = f->metered_ms != 0,
        .launched_ms = f->launched_ms,
        .ended_ms = f->ended_ms ? f->ended_ms : FIELD_NONE,
        .used_s = (double)(end_ms - f->launched_ms) / 1000,
        .price_usd_per_hour = f->price_usd_per_hour,
        .cost_microusd = machine_cost_microusd(m, now_ms),
        .data_microusd = m->data_microusd,
        .reason = arena_dup(list->arena, m->reason),
    };
    return 0;
}

static int read_machines(
    struct app *app, const struct run *r, struct arena *a, struct app_run *run, struct err *e)
{
    const struct machine_filter mine = {.run = run->id, .with_gone = true};
    struct machine_list list = {.run = r, .arena = a};
    struct machines *records = app_machines(app, e);

    if (!records || machines_each(records, &mine, add_machine, &list, e) < 0)
        return -1;
    run->machines = (struct field_records){list.items, list.n};
    return app_run_simulated_cost(app, run->id, &run->cost_microusd, e);
}

int app_run_read(
    struct app *app, const struct run *r, struct arena *a, struct app_run *out, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    struct app_run_stage *stages = arena_alloc(a, r->n_stages + 1, sizeof *stages);

    *out = app_run_head(r);
    if (!stages)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    if (app_run_open_bills(app, &open, e) < 0)
        return -1;
    for (size_t i = 0; i < r->n_stages; i++)
        if (read_stage(app, &open, &r->stages[i], a, out, &stages[i], e) < 0)
            return -1;
    out->stages = (struct field_records){stages, r->n_stages};
    return app_run_is_simulated(r) ? read_machines(app, r, a, out, e)
                                   : app_job_refusals(app, 0, r->id, a, &out->refusals, e);
}

/* ---- until it is over ---- */

int app_run_wait(struct app *app,
                 int64_t id,
                 int (*look)(void *context, const struct run *r, struct err *e),
                 void *context,
                 struct run *out,
                 struct err *e)
{
    for (unsigned looks = 0;; looks++) {
        run_clear(out);
        *out = (struct run){0};
        if (app_run_load(app, id, out, e) < 0)
            return -1;
        int result = look(context, out, e);
        if (result != 0 || out->state != RUN_GOING)
            return result < 0 ? -1 : 0;
        if (looks % WAKE_LOOKS == 0 && app_wake_broker(app, e) < 0)
            return -1;
        usleep(LOOK_US);
    }
}

/* ---- run.get ---- */

static const struct field get_fields[] = {APP_RUN_FIELD(struct app_run_get_request, run)};
const struct record app_run_get_record = RECORD("run_get", struct app_run_get_request, get_fields);

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct app_run_get_request *q = request;
    AUTO_CLEAR(run) struct run r = {0};
    struct app_run shown;

    if (app_run_load(app, q->run, &r, e) < 0 || app_run_read(app, &r, out->arena, &shown, e) < 0)
        return -1;
    int result =
        app_run_values(app, &r, false, &shown.values, e) < 0 ? -1 : answer_head(out, &shown, e);
    app_values_clear(&shown.values);
    return result;
}

const struct operation run_get_operation = {
    .name = "run.get",
    .summary = "Show the stages of a run with their jobs, times and costs beside the plan.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &app_run_get_record,
    .answer = &app_run_record,
    .is_live = true,
    .run = run_get,
};
