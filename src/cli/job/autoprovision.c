/* autoprovision: the size of machine that does a profiled command fastest within a cost, or
 * cheapest within a time. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "cli/core/commands.h"
#include "cli/job/profile_parts.h"
#include "draw/chart.h"
#include "estimate/provision.h"
#include "spec/config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GRID_CELLS ((size_t)PROVISION_VCPU_SIZES * PROVISION_MEMORY_SIZES)
#define MB_PER_GIB 1024

/* An offer that stands behind a cell; NULLs = a size of the grid. */
struct behind {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
};

struct search {
    const struct broker_profile *profile;
    struct profile_values values;
    struct provision_fit fit;
    struct provision_question question;
    bool here; /* only what this machine has */
    struct config *config;
    struct catalog *catalog; /* NULL = the grid alone */
    struct provision_cell *cells;
    struct behind *behind;
    size_t n, cap, cap_behind;
};

static void search_clear(struct search *s)
{
    profile_values_clear(&s->values);
    free(s->cells);
    free(s->behind);
    catalog_free(s->catalog);
    config_free(s->config);
}

/* ---- the question ---- */

static int read_limit(const struct command_args *args, struct provision_question *q, struct err *e)
{
    bool cost = command_has(args, "--max-cost"), time = command_has(args, "--max-time");
    double usd = 0;

    if (cost == time)
        return err_set(e, ERR_USAGE,
                       "say either --max-cost USD, for the shortest time within it, or --max-time "
                       "TIME, for the lowest cost within it");
    if (command_number(args, "--max-cost", &usd, e) < 0 ||
        command_duration(args, "--max-time", 1, &q->max_time_s, e) < 0)
        return -1;
    if (!(usd >= 0 && usd <= MONEY_MAX_USD))
        return err_set(e, ERR_USAGE, "--max-cost: an amount from 0 to %g USD", MONEY_MAX_USD);
    q->max_cost_microusd = money_from_usd(usd);
    q->goal = cost ? PROVISION_TIME_WITHIN_COST : PROVISION_COST_WITHIN_TIME;
    return 0;
}

/* ---- the cells ---- */

static bool is_here(const struct search *s, double vcpus, int memory_mb)
{
    const struct app_job_room room = app_job_local_room();

    return !s->here || (vcpus <= room.cpus && (uint64_t)memory_mb <= room.memory_mb);
}

static void add_cell(struct search *s, const struct provision_cell *cell, struct behind behind)
{
    s->cells = mem_room(s->cells, s->n, &s->cap, sizeof *s->cells);
    s->behind = mem_room(s->behind, s->n, &s->cap_behind, sizeof *s->behind);
    s->cells[s->n] = *cell;
    s->behind[s->n++] = behind;
}

static int take_cell(void *context, const struct provision_cell *cell, struct err *e)
{
    struct search *s = context;

    (void)e;
    if (is_here(s, cell->vcpus, cell->memory_mb))
        add_cell(s, cell, (struct behind){0});
    return 0;
}

/* The cheapest of a kind is the best of it: all of them run as long. */
static const struct catalog_offer *cheapest(const struct catalog *c,
                                            const struct catalog_kind *kind)
{
    const struct catalog_offer *best = NULL;

    for (uint32_t i = 0; i < kind->n_offers; i++) {
        const struct catalog_offer *offer = &catalog_offers(c)[kind->first_offer + i];
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
    add_cell(s, &cell, (struct behind){kind, offer});
    return 0;
}

static int fill(struct search *s, struct err *e)
{
    if (provision_each(&s->question, take_cell, s, e) < 0)
        return -1;
    for (size_t i = 0; s->catalog && i < catalog_n_kinds(s->catalog); i++)
        if (add_kind(s, &catalog_kinds(s->catalog)[i], e) < 0)
            return -1;
    if (s->n == 0)
        return err_set(e, ERR_NOFIT, "no size is small enough for this machine");
    return 0;
}

/* ---- the answer ---- */

struct choice {
    struct provision_answer best;
    struct behind behind;
    size_t index; /* of its cell */
    struct fit_prediction prediction;
    int64_t job; /* 0 = none */
};

static void put_size(struct buf *b, const struct search *s, const struct choice *a)
{
    char memory[32];

    buf_printf(b, "%g vCPU and %s", a->best.cell.vcpus,
               app_job_memory_text((uint64_t)a->best.cell.memory_mb, memory));
    if (a->behind.kind) {
        const struct catalog_place *place = &catalog_places(s->catalog)[a->behind.offer->place];
        buf_printf(b, " (%s in %s/%s)", catalog_text(s->catalog, a->behind.kind->instance_type),
                   catalog_text(s->catalog, place->cloud), catalog_text(s->catalog, place->region));
    }
}

/* Sums end at a largest amount: what costs more only says so. */
static const char *cost_text(int64_t microusd, char out[static 64])
{
    char text[32];

    snprintf(out, 64, "%s%s", microusd >= money_from_usd(MONEY_MAX_USD) ? "more than " : "",
             money_text(microusd, text));
    return out;
}

static const char *limit_text(const struct provision_question *q, char out[static 64])
{
    char text[32];

    if (q->goal == PROVISION_TIME_WITHIN_COST)
        snprintf(out, 64, "%s", money_text(q->max_cost_microusd, text));
    else
        snprintf(out, 64, "%s", time_text(q->max_time_s, text));
    return out;
}

static int infeasible(const struct search *s, const struct choice *a, struct err *e)
{
    AUTO_CLEAR(buf) struct buf size;
    char limit[64], time[32], cost[64];

    buf_init(&size, 300);
    put_size(&size, s, a);
    return err_set(e, ERR_NOFIT,
                   "no size does it within %s: the %s of %zu, %s, takes %s and costs %s; nothing "
                   "was submitted",
                   limit_text(&s->question, limit),
                   s->question.goal == PROVISION_TIME_WITHIN_COST ? "cheapest" : "fastest",
                   a->best.considered, buf_str(&size), time_text(a->best.cell.predicted_s, time),
                   cost_text(a->best.cell.cost_microusd, cost));
}

static json_t *offer_json(const struct search *s, const struct behind *behind)
{
    if (!behind->kind)
        return json_null();
    const struct catalog_place *place = &catalog_places(s->catalog)[behind->offer->place];
    return json_pack("{s:s, s:s, s:s, s:f}", "cloud", catalog_text(s->catalog, place->cloud),
                     "region", catalog_text(s->catalog, place->region), "instance_type",
                     catalog_text(s->catalog, behind->kind->instance_type), "price_usd_per_hour",
                     behind->offer->price_usd);
}

static json_t *cell_json(const struct search *s, const struct choice *a)
{
    const struct provision_cell *cell = &a->best.cell;
    json_t *o = json_object();

    json_object_set_new(o, "vcpus", json_number(cell->vcpus));
    json_object_set_new(o, "memory_mb", json_integer(cell->memory_mb));
    json_object_set_new(o, "predicted_s", json_number(a->prediction.predicted_s));
    json_object_set_new(o, "low_s", json_number(a->prediction.low_s));
    json_object_set_new(o, "high_s", json_number(a->prediction.high_s));
    json_object_set_new(o, "cost_usd", json_usd(cell->cost_microusd));
    json_object_set_new(o, "offer", offer_json(s, &a->behind));
    json_object_set_new(o, "outside", json_number(a->prediction.outside));
    json_object_set_new(o, "outside_by", profile_outside_json(s->profile, &a->prediction));
    return o;
}

/* Infeasible: the keys are there, null, and what comes nearest stands apart. */
static int print_json(const struct search *s, const struct choice *a, struct err *e)
{
    AUTO_JSON json_t *o = json_object(), *cell = cell_json(s, a);
    const char *key;
    json_t *value;

    json_object_set_new(o, "feasible", json_boolean(a->best.feasible));
    json_object_foreach(cell, key, value)
    {
        if (a->best.feasible)
            json_object_set(o, key, value);
        else
            json_object_set_new(o, key, json_null());
    }
    json_object_set_new(o, "considered", json_integer((json_int_t)a->best.considered));
    json_object_set_new(o, "job", a->job ? json_integer(a->job) : json_null());
    if (!a->best.feasible)
        json_object_set(o, "nearest", cell);
    return json_write(stdout, o, e);
}

static void print_text(const struct search *s, const struct choice *a)
{
    AUTO_CLEAR(buf) struct buf size;
    char time[32], low[32], high[32], cost[64];

    buf_init(&size, 300);
    put_size(&size, s, a);
    printf("%s: %s for %s, the best of %zu sizes\n", buf_str(&size),
           time_text(a->prediction.predicted_s, time), cost_text(a->best.cell.cost_microusd, cost),
           a->best.considered);
    printf("95 of 100 such runs take between %s and %s\n", time_text(a->prediction.low_s, low),
           time_text(a->prediction.high_s, high));
    profile_print_outside(stdout, s->profile, &a->prediction);
    if (a->job)
        printf("job %lld\ntradewind job logs -f %lld follows it\n", (long long)a->job,
               (long long)a->job);
}

/* ---- the picture ---- */

struct picture {
    double vcpus[PROVISION_VCPU_SIZES], memory_mb[PROVISION_MEMORY_SIZES];
    double time_s[GRID_CELLS];
    bool within[GRID_CELLS];
    size_t n;
};

static int draw_cell(void *context, const struct provision_cell *cell, struct err *e)
{
    struct picture *p = context;

    (void)e;
    p->vcpus[p->n / PROVISION_MEMORY_SIZES] = cell->vcpus;
    p->memory_mb[p->n % PROVISION_MEMORY_SIZES] = cell->memory_mb;
    p->time_s[p->n] = cell->predicted_s;
    p->within[p->n++] = cell->feasible;
    return 0;
}

static size_t cell_in_picture(const struct picture *p, const struct choice *a)
{
    const struct provision_cell *cell = &a->best.cell;

    for (size_t i = 0; a->best.feasible && !a->behind.kind && i < p->n; i++)
        if (fabs(p->vcpus[i / PROVISION_MEMORY_SIZES] - cell->vcpus) < 1e-9 &&
            (int)p->memory_mb[i % PROVISION_MEMORY_SIZES] == cell->memory_mb)
            return i;
    return SIZE_MAX;
}

static int draw(const struct search *s, const struct choice *a, const char *path, struct err *e)
{
    AUTO_MEM struct picture *p = mem_zero(1, sizeof *p);
    AUTO_CLEAR(buf) struct buf svg;
    char limit[64], time[32], cost[32];

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    if (provision_each(&s->question, draw_cell, p, e) < 0)
        return -1;
    AUTO_MEM char *title = mem_printf("profile %s: predicted time by size", s->profile->name);
    AUTO_MEM char *past = mem_printf("past %s", limit_text(&s->question, limit));
    AUTO_MEM char *chosen = mem_printf("%s, %s", time_text(a->best.cell.predicted_s, time),
                                       money_text(a->best.cell.cost_microusd, cost));
    const struct chart_grid grid = {
        .title = title,
        .limit = past,
        .vcpus = p->vcpus,
        .memory_mb = p->memory_mb,
        .n_vcpus = PROVISION_VCPU_SIZES,
        .n_memory = PROVISION_MEMORY_SIZES,
        .time_s = p->time_s,
        .within = p->within,
        .chosen = cell_in_picture(p, a),
        .chosen_text = chosen,
    };
    chart_grid_svg(&svg, &grid);
    return chart_save(path, &svg, e);
}

/* ---- the job ---- */

/* Input, code and environment are those of the newest job of the profile. */
static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    (void)e;
    *(int64_t *)context = job->id;
    return 0;
}

static int submit(const struct search *s,
                  const struct job_desk *desk,
                  const struct profile_settings *settings,
                  struct choice *a,
                  struct err *e)
{
    AUTO_MEM char *job_name = broker_profile_job_name(s->profile->name);
    AUTO_MEM char *tag = mem_printf("autoprovision=%s", s->profile->name);
    const char *const tags[] = {tag};
    const struct lake_job_filter newest = {.name = job_name, .newest_first = true, .limit = 1};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job old = {0};
    int64_t old_id = 0;

    if (lake_job_list(desk->lake, &newest, note_id, &old_id, e) < 0 ||
        (old_id && app_job_load(desk->app, old_id, arena, &old, e) < 0))
        return -1;
    char **command = template_fill(s->profile->template, settings->items, settings->n, e);
    if (!command)
        return -1;
    const struct lake_job_request request = {
        .command = (const char *const *)command,
        .n_command = template_n_words(s->profile->template),
        .input = old.asked.input,
        .code = old.asked.code,
        .details = old.asked.details,
        .cpus = a->best.cell.vcpus,
        .memory_mb = (uint64_t)a->best.cell.memory_mb,
        .tags = tags,
        .n_tags = 1,
    };
    int result = app_job_check_local(&request, e);
    if (result < 0)
        err_wrap(e, "the best size cannot run here (--dry-run only tells it, --here looks among "
                    "what this machine has)");
    else
        result = app_job_check_month(desk->app, e);
    if (result == 0)
        result = lake_job_submit(desk->lake, &request, 1, &a->job, e);
    template_words_free(command);
    return result;
}

static int wake(const struct job_desk *desk, int64_t job, struct err *e)
{
    if (app_wake_broker(desk->app, e) < 0)
        return err_wrap(e, "job %lld is queued, but nobody runs it", (long long)job);
    return 0;
}

/* ---- the command ---- */

static int prepare(struct search *s,
                   const struct command_args *args,
                   const struct profile_settings *settings,
                   struct err *e)
{
    s->here = command_has(args, "--here");
    s->config = config_load(NULL, e);
    if (!s->config ||
        broker_profile_values(s->profile, settings->items, settings->n, &s->values, e) < 0)
        return -1;
    s->fit = (struct provision_fit){s->profile->fit, s->values.items, s->values.n};
    s->question.prices =
        (struct provision_prices){s->config->prices.vcpu_hour_usd, s->config->prices.gb_hour_usd};
    s->question.predict = provision_predict_fit;
    s->question.arg = &s->fit;
    if (!command_has(args, "--catalog"))
        return 0;
    s->catalog = catalog_open(s->config->home, e);
    return s->catalog ? 0 : -1;
}

static int look_for_best(struct search *s, struct choice *a, struct err *e)
{
    if (fill(s, e) < 0)
        return -1;
    a->best = provision_pick(&s->question, s->cells, s->n, &a->index);
    a->behind = s->behind[a->index];
    return profile_predict(s->profile, &s->values, a->best.cell.vcpus, a->best.cell.memory_mb,
                           &a->prediction, e);
}

static int tell(const struct search *s,
                const struct choice *a,
                const struct command_args *args,
                struct err *e)
{
    if (command_has(args, "--json")) {
        if (print_json(s, a, e) < 0)
            return -1;
        return a->best.feasible ? 0 : err_exit_code(ERR_NOFIT);
    }
    if (!a->best.feasible)
        return infeasible(s, a, e);
    print_text(s, a);
    return 0;
}

static int run_autoprovision(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(search) struct search s = {0};
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(profile_settings) struct profile_settings settings = {0};
    const char *svg = command_value(args, "--svg");
    struct choice a = {0};

    if (read_limit(args, &s.question, e) < 0 || profile_settings_read(args, &settings, e) < 0 ||
        job_desk_open(&desk, e) < 0)
        return -1;
    AUTO(broker_profile) struct broker_profile *p = profile_open(args, &desk, e);
    s.profile = p;
    if (!p || prepare(&s, args, &settings, e) < 0 || look_for_best(&s, &a, e) < 0)
        return -1;
    bool submits = a.best.feasible && !command_has(args, "--dry-run");
    /* What can go wrong without harm goes first. */
    if (svg && draw(&s, &a, svg, e) < 0)
        return -1;
    if (submits && submit(&s, &desk, &settings, &a, e) < 0)
        return -1;
    int result = tell(&s, &a, args, e);
    if (result < 0 || !submits)
        return result;
    fflush(stdout);
    return wake(&desk, a.job, e) < 0 ? -1 : result;
}

static const struct command_option options[] = {
    {.name = "--values",
     .value = "KEY=VALUE",
     .repeatable = true,
     .help = "What an argument of the command is to be, as in epoch=20; several with commas or "
             "blanks between them."},
    {.name = "--max-cost", .value = "USD", .help = "The shortest time that costs at most this."},
    {.name = "--max-time",
     .value = "TIME",
     .help = "The lowest cost that takes at most this, as in 90s or 2h."},
    {.name = "--catalog",
     .help = "Look among all kinds of machines in the catalog, too, at their lowest price on "
             "demand."},
    {.name = "--here", .help = "Look only among sizes that this machine has."},
    {.name = "--dry-run", .help = "Only tell; submit no job."},
    {.name = "--svg", .value = "FILE", .help = "Draw the grid of sizes, coloured by time."},
    {.name = "--json",
     .help = "Print {feasible, vcpus, memory_mb, predicted_s, low_s, high_s, cost_usd, offer, "
             "outside, outside_by, considered, job}; when nothing is feasible, also nearest."},
    {0},
};

const struct command command_autoprovision = {
    .name = "autoprovision",
    .operands = "NAME [KEY=VALUE...]",
    .summary = "Find the machine size that suits a cost or a time, and run there",
    .details =
        "Every size from 0.5 to 8 vCPU in steps of 0.5 with 512 to 8192 MB in steps of 256 is "
        "predicted by the profile and priced by the unit prices of the configuration. The best "
        "within the limit gets the job: the command of the profile with these values, on the input "
        "and code of its last run. Of equals the cheaper, then the smaller.\n"
        "\n"
        "When nothing is within the limit, the exit code is 5, and it is said what comes nearest.",
    .example = "tradewind autoprovision mnist --values epoch=20 --max-cost 0.05",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_autoprovision,
};
