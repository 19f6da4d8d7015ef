/* autoprovision: the operations autoprovision.plan and autoprovision.submit, which choose the size
 * of a machine for a profiled command within a cost or a time. `tradewind autoprovision` calls
 * them. */
#include "app/job/job.h"
#include "app/job/profile.h"
#include "app/job/resources.h"
#include "base/mem.h"
#include "base/money.h"
#include "catalog/catalog.h"
#include "estimate/provision.h"
#include "spec/config.h"

#include <math.h>
#include <stdlib.h>

#define MB_PER_GIB 1024

struct size_request {
    const char *name;
    struct field_list settings, values;
    int64_t max_cost_microusd;
    double max_time_s;
    bool catalog, here, grid, yes;
};

/* clang-format off */
#define ASK(TYPE, member) FIELD(TYPE, struct size_request, member)
#define ASK_FIELDS                                                                                \
    {"name", ASK(TEXT, name), .help = "Name of the profile.", .required = true, .operand = true}, \
    {"settings", ASK(LIST, settings), .operand = true,                                            \
     .help = "Values of arguments, as in epoch=20."},                                             \
    {"values", ASK(LIST, values), .value = "KEY=VALUE",                                           \
     .help = "Value of an argument of the command, as in epoch=20; several with commas or blanks "\
             "between them."},                                                                    \
    {"max_cost_usd", ASK(MONEY, max_cost_microusd), .option = "--max-cost", .value = "USD",       \
     .unit = "USD", .least = 0, .most = MONEY_MAX_USD,                                            \
     .help = "Choose the fastest size that costs at most this."},                                 \
    {"max_time_s", ASK(DURATION, max_time_s), .option = "--max-time", .value = "TIME", .unit = "s",\
     .help = "Choose the cheapest size that takes at most this, as in 90s or 2h."},               \
    {"catalog", ASK(BOOL, catalog),                                                               \
     .help = "Consider all instance types of the catalog too, at their lowest on-demand price."}, \
    {"here", ASK(BOOL, here), .help = "Consider only sizes that this machine has."},              \
    {"grid", ASK(BOOL, grid), .is_remote_only = true,                                             \
     .help = "Answer with the predicted time of every size of the grid too."}
static const struct field size_request_fields[] = {ASK_FIELDS};
static const struct field submit_request_fields[] = {
    ASK_FIELDS,
    {"yes", ASK(BOOL, yes), .letter = 'y',
     .help = "Submit without a question, also when the size or a value is more than 4 times outside "
             "the runs of the profile."},
};
static const struct record submit_request_record =
    RECORD("autoprovision_submit", struct size_request, submit_request_fields);
static const struct record size_request_record =
    RECORD("autoprovision", struct size_request, size_request_fields);

static const struct field offer_fields[] = {
    {"cloud", FIELD(TEXT, struct app_size_offer, cloud), .help = "Cloud of the offer."},
    {"region", FIELD(TEXT, struct app_size_offer, region), .help = "Region of the offer."},
    {"instance_type", FIELD(TEXT, struct app_size_offer, instance_type),
     .help = "Instance type of the offer."},
    {"price_usd_per_hour", FIELD(REAL, struct app_size_offer, price_usd_per_hour),
     .unit = "USD per hour", .help = "On-demand price."},
};
static const struct record offer_record = RECORD("offer", struct app_size_offer, offer_fields);

#define SIZE_FIELDS(type, at)                                                                      \
    {"vcpus", FIELD(REAL, type, at vcpus), .help = "vCPUs of the size."},                          \
    {"memory_mb", FIELD(INT, type, at memory_mb), .unit = "MB", .help = "Memory of the size."},    \
    {"predicted_s", FIELD(DURATION, type, at prediction.predicted_s), .unit = "s",                 \
     .help = "Predicted run time."},                                                               \
    {"low_s", FIELD(DURATION, type, at prediction.low_s), .unit = "s",                             \
     .help = "Low end of the 95 % interval."},                                                     \
    {"high_s", FIELD(DURATION, type, at prediction.high_s), .unit = "s",                           \
     .help = "High end of the 95 % interval."},                                                    \
    {"cost_usd", FIELD(MONEY, type, at cost_microusd), .unit = "USD", .help = "Predicted cost."},  \
    {"offer", FIELD(RECORD, type, at offer), .record = &offer_record,                              \
     .help = "Offer of the catalog; null for a size of the grid."},                                \
    {"outside", FIELD(REAL, type, at prediction.outside),                                          \
     .help = "Largest factor beyond the runs that the model was learned from; 1 within."},         \
    {"outside_by", FIELD(JSON, type, at prediction.outside_by),                                    \
     .help = "Factor of each feature beyond those runs."}

static const struct field size_fields[] = {SIZE_FIELDS(struct app_size, )};
static const struct record size_record = RECORD("size", struct app_size, size_fields);

#define CELL(TYPE, member) FIELD(TYPE, struct app_size_cell, member)
static const struct field cell_fields[] = {
    {"vcpus", CELL(REAL, vcpus), .help = "vCPUs of the size."},
    {"memory_mb", CELL(INT, memory_mb), .unit = "MB", .help = "Memory of the size."},
    {"predicted_s", CELL(DURATION, predicted_s), .unit = "s", .help = "Predicted run time."},
    {"feasible", CELL(BOOL, feasible), .help = "Whether the size is within the limit."},
};
static const struct record cell_record = RECORD("size_cell", struct app_size_cell, cell_fields);

static bool has_no_grid(const void *record)
{
    return !((const struct app_autoprovision *)record)->has_grid;
}

#define ANSWER(TYPE, member) FIELD(TYPE, struct app_autoprovision, member)
static const struct field answer_fields[] = {
    {"feasible", ANSWER(BOOL, feasible), .help = "Whether a size is within the limit."},
    SIZE_FIELDS(struct app_autoprovision, size.),
    {"considered", ANSWER(INT, considered), .help = "Sizes that were considered."},
    {"job", ANSWER(INT, job), .help = "Job that was submitted."},
    {"profile", ANSWER(TEXT, profile), .help = "Name of the profile."},
    {"max_cost_usd", ANSWER(MONEY, max_cost_microusd), .unit = "USD", .omit_none = true,
     .help = "Highest cost, where one was asked for."},
    {"max_time_s", ANSWER(DURATION, max_time_s), .unit = "s", .omit_none = true,
     .help = "Longest time, where one was asked for."},
    {"nearest", ANSWER(RECORD, nearest), .record = &size_record, .omit_none = true,
     .help = "Where no size is feasible: the cheapest for a cost, the fastest for a time."},
    {"grid", ANSWER(RECORDS, grid), .record = &cell_record, .is_absent = has_no_grid,
     .help = "Predicted time of every size of the grid, where asked for."},
};
/* clang-format on */
static const struct record answer_record =
    RECORD("autoprovision_answer", struct app_autoprovision, answer_fields);

/* ---- the search ---- */

/* The offer of a cell; NULLs = a size of the grid. */
struct origin {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
};

struct search {
    struct broker_profile *profile;
    struct profile_values values;
    struct provision_fit fit;
    struct provision_question question;
    bool here; /* only sizes that this machine has */
    struct app_job_room room;
    struct catalog *catalog; /* NULL = the grid alone */
    struct provision_cell *cells;
    struct origin *origins;
    size_t n, cap, cap_origins;
    struct app_size best;
    struct app_size_offer offer; /* of best */
};

static void search_clear(struct search *s)
{
    broker_profile_free(s->profile);
    profile_values_clear(&s->values);
    free(s->cells);
    free(s->origins);
    catalog_free(s->catalog);
    json_decref(s->best.prediction.outside_by);
}

static bool is_here(const struct search *s, double vcpus, int memory_mb)
{
    return !s->here || (vcpus <= s->room.cpus && (uint64_t)memory_mb <= s->room.memory_mb);
}

static void add_cell(struct search *s, const struct provision_cell *cell, struct origin origin)
{
    s->cells = mem_room(s->cells, s->n, &s->cap, sizeof *s->cells);
    s->origins = mem_room(s->origins, s->n, &s->cap_origins, sizeof *s->origins);
    s->cells[s->n] = *cell;
    s->origins[s->n++] = origin;
}

static int take_cell(void *context, const struct provision_cell *cell, struct err *e)
{
    struct search *s = context;

    (void)e;
    if (is_here(s, cell->vcpus, cell->memory_mb))
        add_cell(s, cell, (struct origin){0});
    return 0;
}

/* The cheapest offer of an instance type is its best: all of them run as long. */
static const struct catalog_offer *cheapest(const struct catalog *c,
                                            const struct catalog_kind *kind)
{
    const struct catalog_offer *best = NULL;

    for (uint32_t i = 0; i < kind->n_offers; i++) {
        const struct catalog_offer *offer = &c->offers[kind->first_offer + i];
        if (catalog_priced(offer->price_usd) && (!best || offer->price_usd < best->price_usd))
            best = offer;
    }
    return best;
}

static int add_kind(struct search *s, const struct catalog_kind *kind, struct err *e)
{
    const struct catalog_offer *offer = cheapest(s->catalog, kind);
    double memory_mb = kind->memory_gib * MB_PER_GIB, time_s;

    if (!offer || !(kind->vcpus > 0) || !(memory_mb >= 1 && memory_mb < INT32_MAX) ||
        !is_here(s, kind->vcpus, (int)memory_mb))
        return 0;
    if (provision_predict_fit(&s->fit, kind->vcpus, memory_mb, &time_s, e) < 0)
        return -1;
    struct provision_cell cell = {
        .vcpus = kind->vcpus,
        .memory_mb = (int)memory_mb,
        .predicted_s = time_s,
        .cost_microusd = money_from_usd(fmin(offer->price_usd * time_s / 3600, MONEY_MAX_USD)),
    };
    cell.feasible = provision_within(&s->question, cell.predicted_s, cell.cost_microusd);
    add_cell(s, &cell, (struct origin){kind, offer});
    return 0;
}

static int fill(struct search *s, struct err *e)
{
    if (provision_each(&s->question, take_cell, s, e) < 0)
        return -1;
    for (size_t i = 0; s->catalog && i < s->catalog->n_kinds; i++)
        if (add_kind(s, &s->catalog->kinds[i], e) < 0)
            return -1;
    if (s->n == 0)
        return err_set(e, ERR_NOFIT, "no size is small enough for this machine");
    return 0;
}

static void take_offer(struct search *s, const struct origin *origin)
{
    const struct catalog_place *place;

    if (!origin->kind)
        return;
    place = &s->catalog->places[origin->offer->place];
    s->offer = (struct app_size_offer){
        .cloud = catalog_text(s->catalog, place->cloud),
        .region = catalog_text(s->catalog, place->region),
        .instance_type = catalog_text(s->catalog, origin->kind->instance_type),
        .price_usd_per_hour = origin->offer->price_usd,
    };
    s->best.offer = &s->offer;
}

static int find_best(struct search *s, bool *feasible_out, struct err *e)
{
    size_t index;

    if (fill(s, e) < 0)
        return -1;
    const struct provision_answer best = provision_pick(&s->question, s->cells, s->n, &index);
    s->best.vcpus = best.cell.vcpus;
    s->best.memory_mb = best.cell.memory_mb;
    s->best.cost_microusd = best.cell.cost_microusd;
    take_offer(s, &s->origins[index]);
    *feasible_out = best.feasible;
    return app_profile_predict(s->profile, &s->values, best.cell.vcpus, best.cell.memory_mb,
                               &s->best.prediction, e);
}

/* ---- the request ---- */

static int read_limit(const struct size_request *q,
                      const struct answer *out,
                      struct provision_question *question,
                      struct err *e)
{
    bool cost = q->max_cost_microusd != FIELD_NONE, time = !isnan(q->max_time_s);
    char max_cost[64], max_time[64];

    if (cost == time)
        return err_set(e, ERR_USAGE,
                       "give either %s USD, for the shortest time within it, or %s TIME, for the "
                       "lowest cost within it",
                       answer_spell(out, "max_cost_usd", max_cost),
                       answer_spell(out, "max_time_s", max_time));
    question->max_cost_microusd = cost ? q->max_cost_microusd : 0;
    question->max_time_s = time ? q->max_time_s : 0;
    question->goal = cost ? PROVISION_TIME_WITHIN_COST : PROVISION_COST_WITHIN_TIME;
    return 0;
}

static int prepare(struct search *s,
                   struct app *app,
                   const struct size_request *q,
                   const struct app_profile_settings *settings,
                   struct err *e)
{
    const struct config *c = app_config(app, e);

    s->here = q->here;
    s->room = app_job_local_room();
    s->profile = c ? app_profile_open(app, q->name, e) : NULL;
    if (!s->profile ||
        broker_profile_values(s->profile, settings->items, settings->n, &s->values, e) < 0)
        return -1;
    s->fit = (struct provision_fit){s->profile->fit, s->values.items, s->values.n};
    s->question.prices = (struct provision_prices){c->prices.vcpu_hour_usd, c->prices.gb_hour_usd};
    s->question.predict = provision_predict_fit;
    s->question.arg = &s->fit;
    if (!q->catalog)
        return 0;
    s->catalog = catalog_open(c->home, e);
    return s->catalog ? 0 : -1;
}

/* ---- the job ---- */

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    (void)e;
    *(int64_t *)context = job->id;
    return 0;
}

/* Input, code and environment are those of the newest job of the profile. */
static int load_newest(
    struct app *app, const char *name, struct arena *a, struct lake_job *out, struct err *e)
{
    AUTO_MEM char *job_name = broker_profile_job_name(name);
    const struct lake_job_filter newest = {.name = job_name, .newest_first = true, .limit = 1};
    int64_t id = 0;

    *out = (struct lake_job){0};
    if (lake_job_list(app_lake(app, e), &newest, note_id, &id, e) < 0)
        return -1;
    return id ? app_job_load(app, id, a, out, e) : 0;
}

static int submit(const struct search *s,
                  struct app *app,
                  const struct app_profile_settings *settings,
                  struct answer *out,
                  int64_t *id_out,
                  struct err *e)
{
    AUTO_MEM char *tag = mem_printf("autoprovision=%s", s->profile->name);
    const char *const tags[] = {tag};
    struct lake_job old;
    char option[64];

    if (!s->profile->template->n)
        return err_set(e, ERR_USAGE,
                       "profile %s has imported runs and no command; give it one: "
                       "tradewind profile %s -- COMMAND",
                       s->profile->name, s->profile->name);
    if (load_newest(app, s->profile->name, out->arena, &old, e) < 0)
        return -1;
    AUTO_CLEAR(job_details) struct job_details recorded = {0};
    struct app_job_again now;
    app_job_read_details(&old, &recorded);
    if (app_job_details_again(app, &recorded, out->arena, &now, e) < 0)
        return -1;
    AUTO_MEM char *details = job_details_text(&now.details, e);
    if (!details)
        return -1;
    char **command = template_fill(s->profile->template, settings->items, settings->n, e);
    if (!command)
        return -1;
    const struct lake_job_request request = {
        .command = (const char *const *)command,
        .n_command = s->profile->template->n,
        .input = old.asked.input,
        .code = old.asked.code,
        .details = details,
        .cpus = s->best.vcpus,
        .memory_mb = (uint64_t)s->best.memory_mb,
        .tags = tags,
        .n_tags = 1,
    };
    int result = app_job_check_local(&request, e);
    if (result < 0)
        err_wrap(e, "the best size cannot run here (%s considers the sizes of this machine)",
                 answer_spell(out, "here", option));
    else
        result = app_job_check_month(app, e);
    if (result == 0)
        result = lake_job_submit(app_lake(app, e), &request, 1, id_out, e);
    template_words_free(command);
    return result;
}

/* ---- the operations ---- */

struct gridding {
    const struct answer *out;
    struct field_records cells;
};

static int add_to_grid(void *context, const struct provision_cell *cell, struct err *e)
{
    struct gridding *g = context;
    const struct app_size_cell item = {
        .vcpus = cell->vcpus,
        .memory_mb = cell->memory_mb,
        .predicted_s = cell->predicted_s,
        .feasible = cell->feasible,
    };

    return answer_push(g->out, &g->cells, &item, sizeof item, e);
}

static int make_grid(const struct search *s,
                     struct app_autoprovision *made,
                     const struct answer *out,
                     struct err *e)
{
    struct gridding g = {.out = out};

    if (provision_each(&s->question, add_to_grid, &g, e) < 0)
        return -1;
    made->grid = g.cells;
    made->has_grid = true;
    return 0;
}

static const struct app_size no_size = {
    .vcpus = (double)NAN,
    .memory_mb = FIELD_NONE,
    .prediction = {.predicted_s = (double)NAN,
                   .low_s = (double)NAN,
                   .high_s = (double)NAN,
                   .outside = (double)NAN},
    .cost_microusd = FIELD_NONE,
};

/* Far outside the runs a model says little: the caller is to have seen that. */
static int check_outside(const struct search *s, const struct answer *out, struct err *e)
{
    const struct app_prediction *got = &s->best.prediction;
    const char *name, *feature = NULL;
    json_t *factor;
    char option[64];

    if (got->outside <= APP_AUTOPROVISION_OUTSIDE_MAX)
        return 0;
    json_object_foreach(got->outside_by, name, factor)
    {
        if (!feature || json_number_value(factor) >
                            json_number_value(json_object_get(got->outside_by, feature)))
            feature = name;
    }
    return err_set(
        e, ERR_USAGE,
        "%g vCPU and %lld MB: the prediction is %.3g x outside the runs in %s, more than "
        "the %g x that are trusted; profile values that are nearer, or go on with %s",
        s->best.vcpus, (long long)s->best.memory_mb, got->outside, feature ? feature : "a value",
        APP_AUTOPROVISION_OUTSIDE_MAX, answer_spell(out, "yes", option));
}

static int answer_size(
    struct app *app, const struct size_request *q, bool submits, struct answer *out, struct err *e)
{
    AUTO_CLEAR(search) struct search s = {0};
    struct app_profile_settings settings = {0};
    struct app_autoprovision made = {.job = FIELD_NONE,
                                     .profile = q->name,
                                     .max_cost_microusd = q->max_cost_microusd,
                                     .max_time_s = q->max_time_s};

    if (read_limit(q, out, &s.question, e) < 0 ||
        app_profile_settings_read(&settings, &q->values, &q->settings, out, e) < 0 ||
        prepare(&s, app, q, &settings, e) < 0 || find_best(&s, &made.feasible, e) < 0 ||
        (q->grid && make_grid(&s, &made, out, e) < 0))
        return -1;
    made.considered = (int64_t)s.n;
    made.size = made.feasible ? s.best : no_size;
    made.nearest = made.feasible ? NULL : &s.best;
    submits = submits && made.feasible;
    if (submits && !q->yes && check_outside(&s, out, e) < 0)
        return -1;
    if ((submits && submit(&s, app, &settings, out, &made.job, e) < 0) ||
        answer_head(out, &made, e) < 0)
        return -1;
    if (submits && app_wake_broker(app, e) < 0)
        return err_wrap(e, "job %lld is queued, but no broker runs it", (long long)made.job);
    return 0;
}

static int run_plan(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return answer_size(app, request, false, out, e);
}

static int run_submit(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return answer_size(app, request, true, out, e);
}

const struct operation autoprovision_plan_operation = {
    .name = "autoprovision.plan",
    .summary = "Choose the size of a machine for a profiled command within a cost or a time.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &size_request_record,
    .answer = &answer_record,
    .run = run_plan,
};

const struct operation autoprovision_submit_operation = {
    .name = "autoprovision.submit",
    .summary = "Choose the size of a machine for a profiled command, and submit the job.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &submit_request_record,
    .answer = &answer_record,
    .bills = true,
    .quote = &autoprovision_plan_operation,
    .run = run_submit,
};
