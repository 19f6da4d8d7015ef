/* report: the answer of plan.solve, its records and how a plan fills them. */
#include "app/plan/internal.h"
#include "base/time.h"

#include <stdint.h>

#define DAY_MS ((int64_t)86400 * 1000)

/* ---- records ---- */

/* clang-format off */
#define POINT_FIELDS(type, at)                                                                     \
    {"cost_usd", FIELD(MONEY, type, at cost_microusd), .unit = "USD", .help = "Cost of the plan."}, \
    {"time_s", FIELD(DURATION, type, at time_s), .unit = "s",                                      \
     .help = "Time until the last stage has finished."}

static const struct field accelerators_fields[] = {
    {"name", FIELD(TEXT, struct app_plan_accelerators, name), .help = "Name of the accelerator."},
    {"count", FIELD(REAL, struct app_plan_accelerators, count), .help = "Number of them."},
};
static const struct record accelerators_record =
    RECORD("plan_accelerators", struct app_plan_accelerators, accelerators_fields);

#define MACHINE_FIELDS(type, at)                                                                   \
    {"name", FIELD(TEXT, type, at name), .omit_none = true, .help = "Name of the stage."},         \
    {"cloud", FIELD(TEXT, type, at cloud), .help = "Cloud where the stage runs."},                 \
    {"region", FIELD(TEXT, type, at region), .help = "Region where the stage runs."},              \
    {"zone", FIELD(TEXT, type, at zone), .omit_none = true, .help = "Zone; empty when not said."}, \
    {"instance_type", FIELD(TEXT, type, at instance_type), .omit_none = true,                      \
     .help = "Instance type."},                                                                    \
    {"market", FIELD(TEXT, type, at market), .omit_none = true, .help = "on-demand or spot."},     \
    {"nodes", FIELD(INT, type, at nodes), .omit_none = true, .help = "Number of instances."},      \
    {"vcpus", FIELD(REAL, type, at vcpus), .help = "vCPUs of one instance; null when unknown."},   \
    {"memory_gib", FIELD(REAL, type, at memory_gib), .unit = "GiB",                                \
     .help = "Memory of one instance; null when unknown."},                                        \
    {"accelerators", FIELD(RECORD, type, at accelerators), .record = &accelerators_record,         \
     .help = "Accelerators of one instance; null when it has none."},                              \
    {"price_usd_per_hour", FIELD(REAL, type, at price_usd_per_hour), .omit_none = true,            \
     .unit = "USD", .help = "Price of one instance per hour."},                                    \
    {"price_date", FIELD(TEXT, type, at price_date),                                               \
     .help = "Date of the cloud's prices; null when unknown."}

#define STAGE_S(key, text)                                                                         \
    {#key, FIELD(DURATION, struct app_plan_stage, key), .unit = "s", .help = (text)}
#define STAGE_USD(key, text)                                                                       \
    {#key "_usd", FIELD(MONEY, struct app_plan_stage, key##_microusd), .unit = "USD", .help = (text)}
static const struct field stage_fields[] = {
    MACHINE_FIELDS(struct app_plan_stage, machine.),
    STAGE_S(start_s, "Start of the stage, from the start of the plan."),
    STAGE_S(finish_s, "End of the stage, from the start of the plan."),
    STAGE_S(boot_s, "Time until the instance has booted."),
    STAGE_S(setup_s, "Time of the stage's setup."),
    STAGE_S(input_s, "Time to read the inputs."),
    STAGE_S(run_s, "Expected run time, with preemptions."),
    STAGE_USD(compute, "Cost of the instances."),
    STAGE_USD(transfer, "Cost of moving the inputs."),
    STAGE_USD(storage, "Cost of keeping the outputs."),
    {"estimate", FIELD(TEXT, struct app_plan_stage, estimate),
     .help = "Where the run time comes from: guess, figure, rate, throughput or profile."},
};
static const struct record stage_record =
    RECORD("plan_stage", struct app_plan_stage, stage_fields);

static const struct field point_fields[] = {POINT_FIELDS(struct plan_point, )};
static const struct record point_record = RECORD("plan_point", struct plan_point, point_fields);

static const struct field guess_fields[] = {
    {"what", FIELD(TEXT, struct guess, what), .help = "What was assumed."},
    {"value", FIELD(TEXT, struct guess, value), .help = "Its value."},
    {"why", FIELD(TEXT, struct guess, why), .help = "Why it had to be assumed."},
};
static const struct record guess_record = RECORD("guess", struct guess, guess_fields);

static const struct field single_fields[] = {
    {"cloud", FIELD(TEXT, struct app_plan_single, cloud), .help = "Cloud of all stages."},
    POINT_FIELDS(struct app_plan_single, point.),
};
static const struct record single_record =
    RECORD("plan_single_cloud", struct app_plan_single, single_fields);

static const struct field pareto_fields[] = {
    POINT_FIELDS(struct app_plan_pareto, point.),
    {"stages", FIELD(RECORDS, struct app_plan_pareto, stages), .record = &stage_record,
     .help = "Stages of the plan."},
};
static const struct record pareto_record =
    RECORD("plan_pareto", struct app_plan_pareto, pareto_fields);

#define OTHER_FIELDS                                                                               \
    {"status", FIELD(TEXT, struct app_plan_other, status),                                         \
     .help = "optimal, feasible, infeasible or limit."},                                           \
    POINT_FIELDS(struct app_plan_other, point.),                                                   \
    {"delta_usd", FIELD(MONEY, struct app_plan_other, delta_microusd), .unit = "USD",              \
     .help = "Added cost."},                                                                       \
    {"delta_s", FIELD(DURATION, struct app_plan_other, delta_s), .unit = "s",                      \
     .help = "Added time."},                                                                       \
    {"reason", FIELD(TEXT, struct app_plan_other, reason), .omit_none = true,                      \
     .help = "Why there is no plan."}

static const struct field explain_fields[] = {
    MACHINE_FIELDS(struct app_plan_other, machine.),
    OTHER_FIELDS,
};
static const struct record explain_record =
    RECORD("plan_explain", struct app_plan_other, explain_fields);

static const struct field what_if_fields[] = {
    {"change", FIELD(TEXT, struct app_plan_other, change), .help = "The changed setting."},
    OTHER_FIELDS,
};
static const struct record what_if_record =
    RECORD("plan_what_if", struct app_plan_other, what_if_fields);
/* clang-format on */

/* clang-format off */
static bool is_not_simpler(const void *record)
{
    return !((const struct app_plan_suggestion *)record)->simplicity.clouds;
}

static const struct field suggestion_fields[] = {
    {"kind", FIELD(TEXT, struct app_plan_suggestion, kind), .help = "simpler, sooner or cheaper."},
    {"options", FIELD(TEXT, struct app_plan_suggestion, options),
     .help = "What the command line takes for it."},
    POINT_FIELDS(struct app_plan_suggestion, point.),
    {"delta_usd", FIELD(MONEY, struct app_plan_suggestion, delta_microusd), .unit = "USD",
     .help = "Added cost."},
    {"delta_s", FIELD(DURATION, struct app_plan_suggestion, delta_s), .unit = "s",
     .help = "Added time."},
    {"clouds", FIELD(COUNT, struct app_plan_suggestion, simplicity.clouds),
     .is_absent = is_not_simpler, .help = "Clouds that a simpler plan uses."},
    {"regions", FIELD(COUNT, struct app_plan_suggestion, simplicity.regions),
     .is_absent = is_not_simpler, .help = "Regions that a simpler plan uses."},
};
static const struct record suggestion_record =
    RECORD("plan_suggestion", struct app_plan_suggestion, suggestion_fields);
/* clang-format on */

/* An answer has the members of a plan, or those of a search that found none. */
static bool has_no_plan(const void *record)
{
    return ((const struct app_plan_report *)record)->reason;
}

static bool is_infeasible(const void *record)
{
    return has_no_plan(record) && !((const struct app_plan_report *)record)->limit_reached;
}

static bool has_plan(const void *record)
{
    return !has_no_plan(record);
}

static bool lacks_pareto(const void *record)
{
    return ((const struct app_plan_report *)record)->pareto.n == 0;
}

static bool lacks_margin(const void *record)
{
    return isnan(((const struct app_plan_report *)record)->simplify_percent);
}

static bool lacks_explain(const void *record)
{
    return !((const struct app_plan_report *)record)->explained;
}

/* clang-format off */
#define REPORT(TYPE, key, ...) {#key, FIELD(TYPE, struct app_plan_report, key), __VA_ARGS__}
#define OF_PLAN(TYPE, key, ...) REPORT(TYPE, key, .is_absent = has_no_plan, __VA_ARGS__)
#define PLAN_USD(key, text)                                                                        \
    {#key "_usd", FIELD(MONEY, struct app_plan_report, key##_microusd), .unit = "USD",             \
     .is_absent = has_no_plan, .help = (text)}
static const struct field report_fields[] = {
    REPORT(TEXT, status,
           .help = "optimal (gap 0), feasible, infeasible, or limit: the search ended before it found "
                   "a plan or ruled all out."),
    REPORT(TEXT, pipeline, .help = "Name of the pipeline."),
    REPORT(TEXT, objective, .help = "Objective."),
    REPORT(REAL, budget_usd, .unit = "USD", .omit_none = true, .help = "Limit of the cost."),
    REPORT(DURATION, deadline_s, .unit = "s", .omit_none = true, .help = "Limit of the time."),
    REPORT(TEXT, risk, .help = "none, or p95: the deadline holds at the high end of the estimates."),
    REPORT(TEXT, solver, .help = "Search algorithm."),
    {"cost_usd", FIELD(MONEY, struct app_plan_report, point.cost_microusd), .unit = "USD",
     .is_absent = has_no_plan, .help = "Cost of the plan."},
    {"time_s", FIELD(DURATION, struct app_plan_report, point.time_s), .unit = "s",
     .is_absent = has_no_plan, .help = "Time until the last stage has finished."},
    PLAN_USD(cost_low, "Cost at the low end of the estimates."),
    PLAN_USD(cost_high, "Cost at the high end of the estimates."),
    OF_PLAN(DURATION, time_low_s, .unit = "s", .help = "Time at the low end of the estimates."),
    OF_PLAN(DURATION, time_high_s, .unit = "s", .help = "Time at the high end of the estimates."),
    REPORT(REAL, bound, .is_absent = is_infeasible, .help = "Lower bound on the objective, in its unit."),
    OF_PLAN(REAL, gap, .help = "(objective - bound) / objective."),
    OF_PLAN(BOOL, tie_break_proven,
            .help = "Whether it is proven that no plan of the same objective is better by the second "
                    "criterion: time for cost, cost otherwise."),
    REPORT(TEXT, reason, .omit_none = true, .help = "Why there is no plan."),
    REPORT(RECORD, cheapest, .record = &point_record, .is_absent = has_plan,
           .help = "Cheapest plan without the constraints."),
    REPORT(RECORD, fastest, .record = &point_record, .is_absent = has_plan,
           .help = "Fastest plan without the constraints."),
    {"smallest_budget_usd", FIELD(MONEY, struct app_plan_report, smallest_budget_microusd),
     .unit = "USD", .omit_none = true,
     .help = "Least budget that would do under the same deadline."},
    REPORT(DURATION, earliest_deadline_s, .unit = "s", .omit_none = true,
           .help = "Earliest deadline that would do under the same budget."),
    REPORT(BOOL, limits_leave_nothing, .is_absent = has_plan,
           .help = "Whether limits of all offers, such as the cloud, exclude every plan."),
    REPORT(REAL, elapsed_ms, .unit = "ms", .help = "Duration of the search."),
    REPORT(COUNT, offers_considered, .help = "Number of priced offers that were considered."),
    REPORT(RECORDS, guessed, .record = &guess_record, .help = "Assumptions behind the plan."),
    REPORT(INT, run_times_guessed, .help = "Stages whose run time is a guess."),
    OF_PLAN(RECORDS, stages, .record = &stage_record, .help = "Stages, in the order of the file."),
    OF_PLAN(RECORDS, single_cloud, .record = &single_record,
            .help = "Best plan within each cloud, cheapest first."),
    REPORT(TEXT, best_single_cloud, .omit_none = true,
           .help = "Cloud of the best of these plans, by the objective."),
    OF_PLAN(BOOL, single_cloud_complete,
            .help = "Whether all clouds were compared within a tenth of the search's limit."),
    OF_PLAN(COUNT, clouds, .help = "Number of clouds that the plan uses."),
    OF_PLAN(COUNT, regions, .help = "Number of regions that the plan uses."),
    REPORT(REAL, simplify_percent, .omit_none = true,
           .help = "Margin above the optimum within which the simplest plan was asked for."),
    REPORT(BOOL, simplify_complete, .is_absent = lacks_margin,
           .help = "Whether no plan within the margin is simpler, as far as was searched."),
    REPORT(RECORD, optimum, .record = &point_record, .omit_none = true,
           .help = "The optimum, where a simpler plan took its place."),
    REPORT(RECORDS, suggestions, .record = &suggestion_record, .omit_none = true,
           .help = "Other plans worth a look, with the options for them."),
    REPORT(RECORDS, pareto, .record = &pareto_record, .omit_none = true,
           .help = "Plans of the Pareto frontier, cheapest first."),
    REPORT(BOOL, pareto_complete, .is_absent = lacks_pareto,
           .help = "Whether the search of the frontier finished in time."),
    {"pareto_complete_to_usd", FIELD(MONEY, struct app_plan_report, pareto_complete_microusd),
     .unit = "USD", .is_absent = lacks_pareto, .omit_none = true,
     .help = "Cost up to which no plan of the frontier is missing."},
    REPORT(BOOL, pareto_thinned, .is_absent = lacks_pareto,
           .help = "Whether plans were left out of a long frontier."),
    REPORT(TEXT, explained, .omit_none = true, .help = "Stage whose other locations follow."),
    REPORT(RECORDS, explain, .record = &explain_record, .is_absent = lacks_explain,
           .help = "Plans with the stage at each other location."),
    REPORT(RECORDS, what_if, .record = &what_if_record, .omit_none = true,
           .help = "Plans with one setting changed."),
};
/* clang-format on */
const struct record app_plan_report_record = RECORD("plan", struct app_plan_report, report_fields);

/* ---- a plan as a report ---- */

static const char *price_date(const struct catalog *c, const char *cloud)
{
    const char *source, *date;

    return catalog_source(c, cloud, &source, &date) && *date ? date : NULL;
}

int app_plan_machine(const struct app_plan *p,
                     const struct plan_stage *s,
                     struct arena *arena,
                     struct app_plan_machine *out,
                     struct err *e)
{
    const struct catalog *c = p->catalog;
    const struct catalog_place *place = &c->places[s->place];
    const char *accelerator = catalog_text(c, s->kind->accelerator);
    struct app_plan_accelerators *a = *accelerator ? arena_alloc(arena, 1, sizeof *a) : NULL;

    if (*accelerator && !a)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    if (a)
        *a = (struct app_plan_accelerators){accelerator, s->kind->accelerator_count};
    *out = (struct app_plan_machine){
        .name = p->spec->stages[s->stage].name,
        .cloud = catalog_text(c, place->cloud),
        .region = catalog_text(c, place->region),
        .zone = plan_zone(c, &p->spec->stages[s->stage], s),
        .instance_type = catalog_text(c, s->kind->instance_type),
        .market = s->spot ? "spot" : "on-demand",
        .nodes = s->nodes,
        .vcpus = s->kind->vcpus,
        .memory_gib = s->kind->memory_gib,
        .accelerators = a,
        .price_usd_per_hour = s->price_usd_per_hour,
        .price_date = price_date(c, catalog_text(c, place->cloud)),
    };
    return 0;
}

static bool is_first_of_cloud(const struct app_plan *p, size_t stage)
{
    const struct plan_stage *stages = p->answer.plan.stages;
    const struct catalog_place *places = p->catalog->places;

    for (size_t i = 0; i < stage; i++)
        if (places[stages[i].place].cloud == places[stages[stage].place].cloud)
            return false;
    return true;
}

int app_plan_warn_of_prices(const struct app *app, const struct app_plan *p, struct err *e)
{
    char today[32];

    if (app_today(app, today, e) < 0)
        return -1;
    for (size_t i = 0; i < p->answer.plan.n_stages; i++) {
        size_t place = p->answer.plan.stages[i].place;
        const char *cloud = catalog_text(p->catalog, p->catalog->places[place].cloud);
        const char *date = price_date(p->catalog, cloud);
        int64_t then_ms = date ? time_from_date(date) : 0;
        int64_t days = (time_from_date(today) - then_ms) / DAY_MS;
        if (then_ms && days > APP_PLAN_PRICES_MAX_DAYS && is_first_of_cloud(p, i))
            app_notice(app,
                       "warning: the prices of %s are of %s, %lld days old; renew them with "
                       "`tradewind catalog update` or `catalog import`",
                       cloud, date, (long long)days);
    }
    return 0;
}

static const char *const estimate_texts[] = {
    [SPEC_ESTIMATE_GUESS] = "guess",     [SPEC_ESTIMATE_SECONDS] = "figure",
    [SPEC_ESTIMATE_WORK] = "rate",       [SPEC_ESTIMATE_ITERATIONS] = "throughput",
    [SPEC_ESTIMATE_PROFILE] = "profile",
};

static int put_stages(const struct app_plan *p,
                      const struct plan *plan,
                      struct arena *arena,
                      struct field_records *out,
                      struct err *e)
{
    struct app_plan_stage *stages = arena_alloc(arena, plan->n_stages, sizeof *stages);

    if (!stages)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct plan_stage *s = &plan->stages[i];
        stages[i] = (struct app_plan_stage){
            .start_s = s->start_s,
            .finish_s = s->finish_s,
            .boot_s = s->boot_s,
            .setup_s = s->setup_s,
            .input_s = s->input_s,
            .run_s = s->run_s,
            .compute_microusd = s->compute_microusd,
            .transfer_microusd = s->transfer_microusd,
            .storage_microusd = s->storage_microusd,
            .estimate = estimate_texts[p->spec->stages[i].estimate.kind],
        };
        if (app_plan_machine(p, s, arena, &stages[i].machine, e) < 0)
            return -1;
    }
    *out = (struct field_records){stages, plan->n_stages};
    return 0;
}

int app_plan_report_pareto(const struct app_plan *p,
                           struct arena *arena,
                           struct app_plan_report *out,
                           struct err *e)
{
    const struct plan_answer *a = &p->answer;
    struct app_plan_pareto *items = arena_alloc(arena, a->n_pareto, sizeof *items);

    if (!items)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    for (size_t i = 0; i < a->n_pareto; i++) {
        items[i].point = (struct plan_point){a->pareto[i].cost_microusd, a->pareto[i].time_s};
        if (put_stages(p, &a->pareto[i], arena, &items[i].stages, e) < 0)
            return -1;
    }
    out->pareto = (struct field_records){items, a->n_pareto};
    out->pareto_complete = a->pareto_complete;
    out->pareto_thinned = a->pareto_thinned;
    out->pareto_complete_microusd =
        a->pareto_complete_microusd < 0 ? FIELD_NONE : a->pareto_complete_microusd;
    return 0;
}

static int report_plan(const struct app_plan *p,
                       struct arena *arena,
                       struct app_plan_report *out,
                       struct err *e)
{
    const struct plan *plan = &p->answer.plan;

    out->point = (struct plan_point){plan->cost_microusd, plan->time_s};
    out->cost_low_microusd = plan->cost_low_microusd;
    out->cost_high_microusd =
        plan->cost_high_microusd == INT64_MAX ? FIELD_NONE : plan->cost_high_microusd;
    out->time_low_s = plan->time_low_s;
    out->time_high_s = plan->time_high_s;
    out->gap = p->answer.gap;
    out->tie_break_proven = p->answer.tie_break_proven;
    out->single_cloud = (struct field_records){p->singles, p->n_singles};
    out->best_single_cloud = app_plan_best_single(p);
    out->single_cloud_complete = p->singles_complete;
    struct plan_simplicity simplicity = plan_simplicity(p->problem, plan);
    out->clouds = simplicity.clouds;
    out->regions = simplicity.regions;
    out->simplify_percent = p->settings.simplify > 0 ? p->settings.simplify * 100 : (double)NAN;
    out->simplify_complete = p->simplify_complete;
    out->optimum = p->is_simplified ? &p->optimum : NULL;
    out->suggestions = (struct field_records){p->suggestions, p->n_suggestions};
    return put_stages(p, plan, arena, &out->stages, e);
}

int app_plan_report(const struct app_plan *p,
                    struct arena *arena,
                    struct app_plan_report *out,
                    struct err *e)
{
    const struct plan_answer *a = &p->answer;
    const struct app_plan_settings *s = &p->settings;
    char objective[40];

    *out = (struct app_plan_report){
        .status = app_plan_status_texts[a->status],
        .pipeline = p->spec->name,
        .objective = arena_dup(arena, app_plan_objective_text(&s->goal, objective)),
        .budget_usd = s->goal.budget_usd,
        .deadline_s = s->goal.deadline_s,
        .risk = app_plan_risk_choices[s->risk_p95 ? 2 : 1],
        .solver = app_plan_solver_choices[s->solver + 1],
        .elapsed_ms = a->elapsed_s * 1e3,
        .offers_considered = a->offers_considered,
        .guessed = {p->guesses.items, p->guesses.n},
        .limits_leave_nothing = p->limits_leave_nothing,
        .smallest_budget_microusd = FIELD_NONE,
        .earliest_deadline_s = (double)INFINITY,
        .simplify_percent = (double)NAN,
        .bound = a->bound,
    };
    for (size_t i = 0; i < p->spec->n_stages; i++)
        out->run_times_guessed += p->spec->stages[i].estimate.kind == SPEC_ESTIMATE_GUESS;
    if (!out->objective)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    if (plan_found(a))
        return report_plan(p, arena, out, e);
    out->reason = a->reason;
    out->limit_reached = a->status == PLAN_LIMIT;
    out->cheapest = a->has_cheapest ? &a->cheapest : NULL;
    out->fastest = a->has_fastest ? &a->fastest : NULL;
    if (a->smallest_budget_microusd != INT64_MAX)
        out->smallest_budget_microusd = a->smallest_budget_microusd;
    out->earliest_deadline_s = a->earliest_deadline_s;
    return 0;
}
