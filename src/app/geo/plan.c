/* plan: the operation geo.plan, which `tradewind geo plan` calls. */
#include "app/geo/geo.h"
#include "base/mem.h"

#include <string.h>

/* ---- the request ---- */

/* clang-format off */
#define ASKED(TYPE, member) FIELD(TYPE, struct app_geo_request, member)
static const struct field request_fields[] = {
    GEO_FILE_FIELDS(struct app_geo_request, ),
    {"workers", ASKED(TEXT, workers), .value = "REGIONS",
     .help = "One worker in each of these regions instead of the file's: "
             "aws:ap-south-1,gcp:europe-west2."},
    {"size", ASKED(TEXT, size), .value = "SIZE",
     .help = "Bytes that each worker sends per round, as in 17MB."},
    {"train_s", ASKED(DURATION, train_s), .value = "SECONDS", .unit = "s",
     .help = "Training time of a worker per round."},
    {"connections", ASKED(INT, connections), .value = "N",
     .help = "Number of connections of one upload or download."},
    {"quorum", ASKED(REAL, quorum), .value = "SHARE",
     .help = "Share of the workers that a round waits for; default 1."},
    GEO_PLACEMENT_FIELDS(struct app_geo_request, ),
};

/* ---- the answer ---- */

#define PHASE(member) FIELD(DURATION, struct geo_phases, member), .unit = "s"
static const struct field phases_fields[] = {
    {"train_s", PHASE(train_s), .help = "Training."},
    {"upload_s", PHASE(upload_s), .help = "Sending the gradient to the store."},
    {"wait_s", PHASE(wait_s), .help = "Waiting for other workers."},
    {"aggregate_s", PHASE(aggregate_s), .help = "From the last event to the result."},
    {"download_s", PHASE(download_s), .help = "Reading the result."},
};
const struct record app_geo_phases_record =
    RECORD("geo_phases", struct geo_phases, phases_fields);

#define COUNT(member) FIELD(REAL, struct geo_counts, member)
static const struct field counts_fields[] = {
    {"reads", COUNT(reads), .help = "Read requests."},
    {"failed_polls", COUNT(failed_polls), .help = "Reads of a result that was not there yet."},
    {"writes", COUNT(writes), .help = "Write requests."},
    {"lists", COUNT(lists), .help = "List requests."},
    {"invocations", COUNT(invocations), .help = "Invocations of functions."},
    {"wan_bytes", COUNT(wan_bytes), .unit = "bytes", .help = "Bytes between regions."},
};
const struct record app_geo_counts_record =
    RECORD("geo_counts", struct geo_counts, counts_fields);

static const struct field bill_fields[] = {APP_GEO_COST_FIELDS("", APP_GEO_BILL_FIELD)};
static const struct record bill_record = RECORD("geo_bill", struct geo_bill, bill_fields);

#define PLACEMENT(TYPE, member) FIELD(TYPE, struct app_geo_placement, member)
static const struct field placement_fields[] = {
    {"topology", PLACEMENT(TEXT, topology), .help = "central, regional or fanout."},
    {"function", PLACEMENT(TEXT, function), .help = "Region of the function."},
    {"store", PLACEMENT(TEXT, store), .help = "Region of the store."},
    {"cost_usd_per_round", PLACEMENT(REAL, cost_usd), .unit = "USD", .help = "Cost of a round."},
    {"time_s_per_round", PLACEMENT(DURATION, time_s), .unit = "s", .help = "Time of a round."},
    {"phases", PLACEMENT(RECORD, phases), .record = &app_geo_phases_record,
     .help = "Parts of the time, as means over the workers."},
    {"cost", PLACEMENT(RECORD, bill), .record = &bill_record, .help = "Parts of the cost."},
    {"counts", PLACEMENT(RECORD, counts), .record = &app_geo_counts_record,
     .help = "Requests and bytes per round."},
};
static const struct record placement_record =
    RECORD("geo_placement", struct app_geo_placement, placement_fields);

#define SUM(part) FIELD(MONEY, struct geo_total, part##_microusd)
static const struct field parts_fields[] = {APP_GEO_COST_FIELDS("", SUM)};
static const struct record parts_record =
    RECORD("geo_total_cost", struct geo_total, parts_fields);

#define TOTAL(TYPE, member) FIELD(TYPE, struct app_geo_total, member)
static const struct field total_fields[] = {
    {"rounds", TOTAL(REAL, rounds), .help = "Number of rounds."},
    {"time_s", TOTAL(DURATION, time_s), .unit = "s", .help = "Time of the training."},
    {"cost_usd", TOTAL(MONEY, total_microusd), .unit = "USD", .help = "Cost of the training."},
    {"cost", TOTAL(RECORD, parts), .record = &parts_record, .help = "Parts of the cost."},
};
static const struct record total_record =
    RECORD("geo_total", struct app_geo_total, total_fields);

static const struct field option_fields[] = {
    {"setting", FIELD(TEXT, struct app_geo_option, setting), .help = "Setting that is changed."},
    {"value", FIELD(TEXT, struct app_geo_option, value), .help = "Its new value."},
    {"meaning", FIELD(TEXT, struct app_geo_option, meaning), .help = "What the value does."},
    {"best", FIELD(RECORD, struct app_geo_option, best), .record = &placement_record,
     .help = "Best placement with it."},
};
static const struct record option_record =
    RECORD("geo_option", struct app_geo_option, option_fields);

#define PLANNED(TYPE, member) FIELD(TYPE, struct app_geo_planned, member)
static const struct field planned_fields[] = {
    {"name", PLANNED(TEXT, name), .help = "Name of the training."},
    {"workers", PLANNED(COUNT, workers), .help = "Number of workers."},
    {"considered", PLANNED(COUNT, considered),
     .help = "Number of placements considered, impossible ones included."},
    {"best", PLANNED(RECORD, best), .record = &placement_record,
     .help = "Best placement by the objective."},
    {"cheapest", PLANNED(RECORD, cheapest), .record = &placement_record,
     .help = "Cheapest placement."},
    {"fastest", PLANNED(RECORD, fastest), .record = &placement_record,
     .help = "Fastest placement."},
    {"total", PLANNED(RECORD, total), .record = &total_record,
     .help = "The whole training with the best placement."},
    {"options", PLANNED(RECORDS, options), .record = &option_record,
     .help = "Best placements with one setting changed."},
    {"frontier", PLANNED(RECORDS, frontier), .record = &placement_record,
     .help = "Placements of the Pareto frontier, cheapest first."},
    {"placements", PLANNED(RECORDS, placements), .record = &placement_record,
     .help = "All placements, the best first."},
    {"size_bytes", PLANNED(REAL, size_bytes), .unit = "bytes",
     .help = "Bytes that each worker sends per round."},
    {"objective", PLANNED(ENUM, objective), FIELD_CHOICES(app_geo_objective_choices),
     .help = "What the best placement minimizes."},
};
/* clang-format on */

/* ---- the operation ---- */

/* A plan while it becomes an answer. */
struct planning {
    const struct app_geo *geo;
    const struct geo_question question;
    const struct geo_plan *plan;
    const char **sites; /* "aws/us-west-2" each */
    struct answer *out;
};

static int name_sites(struct planning *p, struct err *e)
{
    const struct geo_problem *problem = p->geo->problem;
    char text[128];

    p->sites = answer_alloc(p->out, problem->n_sites, sizeof *p->sites, e);
    for (size_t i = 0; p->sites && i < problem->n_sites; i++)
        if (!(p->sites[i] =
                  answer_text(p->out, e, "%s", app_geo_site_text(&problem->sites[i], text))))
            return -1;
    return p->sites ? 0 : -1;
}

static struct app_geo_placement placement_of(const struct planning *p,
                                             const struct geo_placement *of)
{
    return (struct app_geo_placement){
        .topology = spec_geo_topology_text(of->topology),
        .function = p->sites[of->function],
        .store = p->sites[of->store],
        .cost_usd = geo_bill_usd(&of->bill),
        .time_s = of->round_s,
        .phases = &of->phases,
        .bill = &of->bill,
        .counts = &of->counts,
    };
}

static bool is_chosen(const struct spec_geo *s, const char *setting)
{
    if (strcmp(setting, "compression") == 0)
        return s->compression != SPEC_GEO_PLAIN;
    if (strcmp(setting, "connections") == 0)
        return s->connections > 1;
    return s->quorum < 1;
}

/* The best placement with one setting changed, in the arena. */
static int plan_option(const struct planning *p, struct app_geo_option *o, struct err *e)
{
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    struct spec_geo changed = *p->geo->spec;
    struct geo_problem problem = *p->geo->problem;
    struct geo_placement *of = answer_alloc(p->out, 1, sizeof *of, e);
    struct app_geo_placement *best = answer_alloc(p->out, 1, sizeof *best, e);

    if (!of || !best || spec_geo_set(&changed, o->setting, o->value, e) < 0)
        return -1;
    geo_problem_set(&problem, &changed);
    if (geo_plan(&problem, &p->question, &plan, e) < 0)
        return err_wrap(e, "with %s %s", o->setting, o->value);
    *of = plan.placements[0];
    *best = placement_of(p, of);
    o->best = best;
    return 0;
}

static int put_options(const struct planning *p, struct field_records *out, struct err *e)
{
    static const struct app_geo_option all[] = {
        {"compression", "int8", "one byte per value instead of four", NULL},
        {"compression", "topk:0.01", "the largest 1 %, the rest in later rounds", NULL},
        {"connections", "8", "eight at a time, both ways", NULL},
        {"quorum", "0.75", "three quarters of the workers are enough", NULL},
    };
    struct app_geo_option *items = answer_alloc(p->out, sizeof all / sizeof *all, sizeof *items, e);

    if (!items)
        return -1;
    out->items = items;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (is_chosen(p->geo->spec, all[i].setting))
            continue;
        items[out->n] = all[i];
        if (plan_option(p, &items[out->n++], e) < 0)
            return -1;
    }
    return 0;
}

static int put_placements(const struct planning *p, struct app_geo_planned *out, struct err *e)
{
    const struct geo_plan *plan = p->plan;
    struct app_geo_placement *all = answer_alloc(p->out, plan->n, sizeof *all, e);
    struct app_geo_placement *frontier =
        answer_alloc(p->out, plan->n_frontier, sizeof *frontier, e);

    if (!all || !frontier)
        return -1;
    for (size_t i = 0; i < plan->n; i++)
        all[i] = placement_of(p, &plan->placements[i]);
    for (size_t i = 0; i < plan->n_frontier; i++)
        frontier[i] = all[plan->frontier[i]];
    out->best = all;
    out->cheapest = &all[plan->cheapest];
    out->fastest = &all[plan->fastest];
    out->placements = (struct field_records){all, plan->n};
    out->frontier = (struct field_records){frontier, plan->n_frontier};
    return 0;
}

static int answer_plan(struct planning *p, struct err *e)
{
    const struct spec_geo *spec = p->geo->spec;
    struct geo_total parts;
    struct app_geo_planned r = {
        .name = spec->name,
        .workers = p->geo->problem->n_workers,
        .considered = p->plan->considered,
        .size_bytes = spec->size_bytes,
        .objective = (unsigned)p->question.objective + 1,
    };

    if (geo_total(p->geo->problem, &p->plan->placements[0], &parts, e) < 0 ||
        name_sites(p, e) < 0 || put_placements(p, &r, e) < 0 || put_options(p, &r.options, e) < 0)
        return -1;
    const struct app_geo_total total = {spec->rounds, parts.time_s, parts.total_microusd, &parts};
    r.total = &total;
    return answer_head(p->out, &r, e);
}

static int run_plan(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO_CLEAR(app_geo) struct app_geo g = {0};
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};

    if (app_geo_open(&g, app, request, false, out, e) < 0)
        return -1;
    struct planning p = {
        .geo = &g, .question = app_geo_question(&g, request), .plan = &plan, .out = out};
    return geo_plan(g.problem, &p.question, &plan, e) < 0 ? -1 : answer_plan(&p, e);
}

const struct operation geo_plan_operation = {
    .name = "geo.plan",
    .summary = "Plan where the function and the store of a geo-distributed training go.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct app_geo_request, request_fields),
    .answer = RECORD_AT("geo_planned", struct app_geo_planned, planned_fields),
    .run = run_plan,
};
