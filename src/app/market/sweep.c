/* sweep: the operation market.sweep, which `tradewind market sweep` calls. */
#include "app/market/home.h"
#include "app/market/internal.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
#define MODELS_MAX 1000
#define DAYS_USUAL 4
/* Every optimum gets as much time as it needs as a rule; the rest shows as a bound. */
#define SWEEP_EFFORT 600

struct sweep_request {
    struct market_replay_request replay;
    struct field_list models;
    double days;
    const char *durations;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"models", FIELD(LIST, struct sweep_request, models), .option = "--model", .value = "NAME",
     .most = MODELS_MAX,
     .help = "A model (default: all of the throughput tables, with their largest batch size)."},
    {"days", FIELD(REAL, struct sweep_request, days), .value = "N", .least = 1e-9, .most = 1e6,
     .help = "V100-days of work of the first table (default: 4)."},
    {"durations", FIELD(TEXT, struct sweep_request, durations), .value = "LIST",
     .preset = "0.125,0.25,0.5,1,2,4,8",
     .help = "V100-days of the second table (default: 0.125,0.25,0.5,1,2,4,8)."},
    MARKET_REPLAY_FIELDS(struct sweep_request, replay.),
};
static const struct record request_record =
    RECORD("market_sweep", struct sweep_request, request_fields);

static const struct field five_fields[] = {
    {"model", FIELD(TEXT, struct app_market_sweep_row, model), .help = "Model."},
    {"reduction", FIELD(JSON, struct app_market_sweep_row, reduction),
     .help = "By strategy: mean cost of 1xV100 divided by this one."},
    {"mean_cost_usd", FIELD(JSON, struct app_market_sweep_row, cost_usd),
     .help = "By strategy: mean cost."},
};
static const struct record five_record =
    RECORD("market_reductions", struct app_market_sweep_row, five_fields);

static const struct field six_fields[] = {
    {"model", FIELD(TEXT, struct app_market_sweep_row, model), .help = "Model."},
    {"reduction", FIELD(JSON, struct app_market_sweep_row, gains),
     .help = "For each of v100_days: cost of multi-cloud divided by that of dynamic."},
};
static const struct record six_record =
    RECORD("market_gains", struct app_market_sweep_row, six_fields);

static const struct field figure5_fields[] = {
    {"v100_days", FIELD(REAL, struct app_market_swept, days), .help = "Work in days of a V100."},
    {"models", FIELD(RECORDS, struct app_market_swept, rows), .record = &five_record,
     .help = "Models."},
};
static const struct record figure5_record =
    RECORD("market_figure5", struct app_market_swept, figure5_fields);

static const struct field figure6_fields[] = {
    {"v100_days", FIELD(JSON, struct app_market_swept, durations),
     .help = "Work in days of a V100."},
    {"models", FIELD(RECORDS, struct app_market_swept, rows), .record = &six_record,
     .help = "Models."},
};
static const struct record figure6_record =
    RECORD("market_figure6", struct app_market_swept, figure6_fields);

static const struct field cell_fields[] = {
    {"model", FIELD(TEXT, struct app_market_cell, model), .help = "Model."},
    {"v100_days", FIELD(REAL, struct app_market_cell, days), .help = "Work in days of a V100."},
    {"covered_starts", FIELD(COUNT, struct app_market_cell, covered_starts),
     .help = "Starts that the histories cover."},
    {"proved_starts", FIELD(COUNT, struct app_market_cell, proved_starts),
     .help = "Starts whose optimum is proved within the gap."},
    {"mean_cost_usd", FIELD(JSON, struct app_market_cell, cost_usd), .help = "By row: mean cost."},
    {"mean_hours", FIELD(JSON, struct app_market_cell, hours), .help = "By row: mean time."},
    {"switches_mean", FIELD(JSON, struct app_market_cell, switches),
     .help = "By row: mean number of moves."},
    {"preemptions_mean", FIELD(JSON, struct app_market_cell, preemptions),
     .help = "By row: mean number of preemptions."},
    {"bound_usd", FIELD(REAL, struct app_market_cell, bound_usd), .unit = "USD",
     .help = "Proved lower bound of the mean cost of offline."},
    {"regret", FIELD(REAL, struct app_market_cell, regret),
     .help = "Cost of dynamic above offline, as a share."},
};
static const struct record cell_record =
    RECORD("market_cell", struct app_market_cell, cell_fields);

static bool is_paper(const void *record)
{
    return !((const struct app_market_swept *)record)->is_live;
}

static bool is_live(const void *record)
{
    return ((const struct app_market_swept *)record)->is_live;
}

static const struct field swept_fields[] = {
    {"mode", FIELD(TEXT, struct app_market_swept, mode), .help = "Mode."},
    {"cloud", FIELD(TEXT, struct app_market_swept, cloud), .is_absent = is_paper,
     .help = "Cloud of the region."},
    {"region", FIELD(TEXT, struct app_market_swept, region), .help = "Region."},
    {"policy", FIELD(TEXT, struct app_market_swept, policy), .is_absent = is_paper,
     .help = "Policy of dynamic."},
    {"starts", FIELD(COUNT, struct app_market_swept, starts), .help = "Starts replayed."},
    {"covered_starts", FIELD(COUNT, struct app_market_swept, covered_starts),
     .is_absent = is_live, .help = "Starts that the histories of all clouds cover."},
    {"figure5", FIELD(RECORD, struct app_market_swept, figure), .record = &figure5_record,
     .is_absent = is_live, .help = "Reductions by strategy."},
    {"figure6", FIELD(RECORD, struct app_market_swept, figure), .record = &figure6_record,
     .is_absent = is_live, .help = "Gains of choosing each day, by duration."},
    {"cells", FIELD(RECORDS, struct app_market_swept, cells), .record = &cell_record,
     .is_absent = is_paper, .help = "One replay per model and duration."},
    MARKET_CLOUDS_FIELDS(struct app_market_swept, clouds., is_paper),
};
/* clang-format on */
static const struct record swept_record =
    RECORD("market_swept", struct app_market_swept, swept_fields);

/* ---- the request ---- */

/* The jobs of a sweep, and the answer. */
struct sweep {
    struct throughputs *speeds; /* in mode paper */
    struct market *market;
    struct market_paper *days;
    char *region;
    struct app_live c; /* in mode market */
    char **models;
    size_t n_models, cap_models;
    double durations[APP_MARKET_DURATIONS_MAX]; /* V100-days */
    size_t n_durations;
    struct app_market_sweep_row *rows; /* one per model */
    struct app_market_cell *cells;     /* one per model and duration */
    json_t *maps;                      /* an array that owns the maps of the answer */
};

static void sweep_clear(struct sweep *s)
{
    for (size_t i = 0; i < s->n_models; i++)
        free(s->models[i]);
    free(s->models);
    free(s->rows);
    free(s->cells);
    json_decref(s->maps);
    market_paper_free(s->days);
    market_free(s->market);
    throughputs_free(s->speeds);
    free(s->region);
    app_live_clear(&s->c);
}

static int parse_durations(struct sweep *s,
                           const char *text,
                           const struct answer *out,
                           struct err *e)
{
    AUTO_MEM char *list = mem_dup(text);
    char field[64];

    for (char *rest = list, *one; (one = strsep(&rest, ","));) {
        double days;
        if (!number_parse(one, &days) || !(days > 0) || days > 1e6)
            return err_set(e, ERR_USAGE, "%s: \"%s\" is not a number of V100-days",
                           answer_spell(out, "durations", field), one);
        if (s->n_durations == APP_MARKET_DURATIONS_MAX)
            return err_set(e, ERR_USAGE, "%s: more than %d", answer_spell(out, "durations", field),
                           APP_MARKET_DURATIONS_MAX);
        s->durations[s->n_durations++] = days;
    }
    return 0;
}

/* The models of the request, else every model once. */
static int find_models(struct sweep *s,
                       const struct field_list *asked,
                       const struct throughputs *speeds,
                       struct err *e)
{
    size_t n;
    const char *const *all = throughputs_models(speeds, &n);
    const char *const *names = asked->n ? asked->items : all;

    n = asked->n ? asked->n : n < MODELS_MAX ? n : MODELS_MAX;
    for (size_t i = 0; i < n; i++) {
        char *model = app_market_model(speeds, names[i], e);
        if (!model)
            return -1;
        s->models = mem_room(s->models, s->n_models, &s->cap_models, sizeof *s->models);
        s->models[s->n_models++] = model;
    }
    return 0;
}

/* {name of the row: value, ...} */
static json_t *by_row(struct sweep *s, const double *values, size_t n)
{
    json_t *map = json_object();

    for (size_t row = 0; row < n; row++)
        json_object_set_new(map, app_market_row_text(row), json_number(values[row]));
    json_array_append_new(s->maps, map);
    return map;
}

static json_t *list_of(struct sweep *s, const double *values, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real(values[i]));
    json_array_append_new(s->maps, list);
    return list;
}

/* ---- mode paper ---- */

static int replay_model(struct sweep *s,
                        double days,
                        const char *model,
                        struct app_market_sweep_row *row,
                        struct err *e)
{
    AUTO(market_paper_model)
    struct market_paper_model *m = app_market_paper_model(s->days, s->speeds, model, e);
    double costs[MARKET_N_STRATEGIES], reductions[MARKET_N_STRATEGIES];
    double gains[APP_MARKET_DURATIONS_MAX];

    if (!m)
        return -1;
    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++) {
        costs[i] = market_paper_mean(m, (enum market_strategy)i, days).cost_usd;
        reductions[i] = costs[MARKET_SINGLE] / costs[i];
    }
    for (size_t i = 0; i < s->n_durations; i++)
        gains[i] = market_paper_dynamic_gain(m, s->durations[i]);
    *row = (struct app_market_sweep_row){.model = model,
                                         .reduction = by_row(s, reductions, MARKET_N_STRATEGIES),
                                         .cost_usd = by_row(s, costs, MARKET_N_STRATEGIES),
                                         .gains = list_of(s, gains, s->n_durations)};
    return 0;
}

static int sweep_paper(struct app *app,
                       const struct sweep_request *q,
                       struct sweep *s,
                       struct answer *out,
                       struct err *e)
{
    struct app_market_swept swept = {.mode = "paper",
                                     .days = isnan(q->days) ? DAYS_USUAL : q->days};
    struct market_starts starts;

    if (app_market_starts(q->replay.starts, &starts, e) < 0)
        return -1;
    s->region = app_market_region(q->replay.region ? q->replay.region : "us-east-1", e);
    s->speeds = s->region ? throughputs_load(q->replay.throughputs, e) : NULL;
    if (!s->speeds || find_models(s, &q->models, s->speeds, e) < 0)
        return -1;
    s->market = app_market_open(app, e);
    s->days = s->market ? market_paper_new(s->market, s->region, &starts, e) : NULL;
    if (!s->days)
        return -1;
    s->rows = mem_zero(s->n_models + 1, sizeof *s->rows);
    for (size_t i = 0; i < s->n_models; i++)
        if (replay_model(s, swept.days, s->models[i], &s->rows[i], e) < 0)
            return -1;
    swept.region = s->region;
    swept.starts = market_paper_n_starts(s->days);
    swept.covered_starts = app_market_covered(s->days);
    swept.durations = list_of(s, s->durations, s->n_durations);
    swept.rows = (struct field_records){s->rows, s->n_models};
    swept.figure = &swept;
    return answer_head(out, &swept, e);
}

/* ---- mode market ---- */

static void replay_cell(struct sweep *s,
                        const char *model,
                        double days,
                        struct app_market_cell *cell)
{
    AUTO_CLEAR(market_live_answer) struct market_live_answer a = {0};
    double costs[MARKET_N_ROWS], hours[MARKET_N_ROWS], switches[MARKET_N_ROWS];
    double preemptions[MARKET_N_ROWS];

    s->c.question.work = days * DAY_S;
    s->c.question.effort = SWEEP_EFFORT;
    market_live_replay(s->c.live, &s->c.question, &a);
    for (size_t row = 0; row < MARKET_N_ROWS; row++) {
        costs[row] = a.means[row].cost_usd;
        hours[row] = a.means[row].hours;
        switches[row] = a.means[row].switches;
        preemptions[row] = a.means[row].preemptions;
    }
    *cell = (struct app_market_cell){
        .model = model,
        .days = days,
        .covered_starts = a.n_covered,
        .proved_starts = a.n_proved,
        .cost_usd = by_row(s, costs, MARKET_N_ROWS),
        .hours = by_row(s, hours, MARKET_N_ROWS),
        .switches = by_row(s, switches, MARKET_N_ROWS),
        .preemptions = by_row(s, preemptions, MARKET_N_ROWS),
        .bound_usd = a.bound_usd,
        .regret = costs[MARKET_DYNAMIC] / costs[MARKET_ROW_OFFLINE] - 1,
    };
}

static int sweep_live(struct app *app,
                      const struct sweep_request *q,
                      struct sweep *s,
                      struct answer *out,
                      struct err *e)
{
    size_t n = 0;

    if (app_live_open(app, &s->c, &q->replay, e) < 0 ||
        find_models(s, &q->models, s->c.speeds, e) < 0)
        return -1;
    s->cells = mem_zero(s->n_models * s->n_durations + 1, sizeof *s->cells);
    for (size_t i = 0; i < s->n_models; i++) {
        AUTO(market_job) struct market_job *job = app_live_job(&s->c, s->models[i], e);
        if (!job)
            return -1;
        AUTO(market_reduced) struct market_reduced *reduced = market_reduced_new(job);
        s->c.question.job = job;
        s->c.question.reduced = reduced;
        for (size_t d = 0; d < s->n_durations; d++)
            replay_cell(s, s->models[i], s->durations[d], &s->cells[n++]);
    }
    struct app_market_swept swept = {
        .mode = "market",
        .is_live = true,
        .cloud = s->c.cloud,
        .region = s->c.region,
        .policy = market_policy_text(s->c.question.policy.kind),
        .starts = s->c.n_starts,
        .cells = {s->cells, n},
        .gap = s->c.question.gap,
    };
    app_market_put_clouds(&s->c, &swept.clouds);
    return answer_head(out, &swept, e);
}

static int run_sweep(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct sweep_request *q = request;
    AUTO_CLEAR(sweep) struct sweep s = {.maps = json_array()};
    char field[64], mode[64];

    if (app_market_check_mode(&q->replay, &request_record, q, out, e) < 0 ||
        parse_durations(&s, q->durations, out, e) < 0)
        return -1;
    if (q->replay.mode != MARKET_REPLAY_MARKET)
        return sweep_paper(app, q, &s, out, e);
    if (!isnan(q->days))
        return err_set(e, ERR_USAGE, "%s needs %s paper", answer_spell(out, "days", field),
                       answer_spell(out, "mode", mode));
    return sweep_live(app, q, &s, out, e);
}

const struct operation market_sweep_operation = {
    .name = "market.sweep",
    .summary = "Replay training jobs over models and durations through the price histories.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &swept_record,
    .run = run_sweep,
};
