/* sweep: the operation market.sweep, which `tradewind market sweep` calls. */
#include "app/market/internal.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
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

static void unproved_cell(const void *record, struct buf *out)
{
    const struct app_market_cell *c = record;

    buf_printf(out, "%zu", (size_t)(c->covered_starts - c->proved_starts));
}

/* Rounded down: the bound holds. */
static void bound_cell(const void *record, struct buf *out)
{
    buf_printf(out, "%.2f", floor(((const struct app_market_cell *)record)->bound_usd * 100) / 100);
}

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

#define FIGURE(TYPE, member) FIELD(TYPE, struct app_market_swept, member)
static const struct field figure5_fields[] = {
    {"v100_days", FIGURE(REAL, days), .help = "Work in days of a V100."},
    {"models", FIGURE(RECORDS, rows), .record = &five_record, .help = "Models."},
};
static const struct record figure5_record =
    RECORD("market_figure5", struct app_market_swept, figure5_fields);

static const struct field figure6_fields[] = {
    {"v100_days", FIGURE(JSON, durations), .help = "Work in days of a V100."},
    {"models", FIGURE(RECORDS, rows), .record = &six_record, .help = "Models."},
};
static const struct record figure6_record =
    RECORD("market_figure6", struct app_market_swept, figure6_fields);

#define CELL(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_cell, key), __VA_ARGS__}
static const struct field cell_fields[] = {
    CELL(TEXT, model, .heading = "model", .cut_rank = 1, .least_width = 10, .help = "Model."),
    CELL(REAL, v100_days, .heading = "days", .help = "Work in days of a V100."),
    CELL(COUNT, covered_starts, .heading = "starts", .help = "Starts that the histories cover."),
    CELL(COUNT, proved_starts, .heading = "not proved", .cell = unproved_cell,
         .help = "Starts whose optimum is proved within the gap."),
    CELL(JSON, mean_cost_usd, .help = "By row: mean cost."),
    CELL(JSON, mean_hours, .help = "By row: mean time."),
    CELL(JSON, switches_mean, .help = "By row: mean number of moves."),
    CELL(JSON, preemptions_mean, .help = "By row: mean number of preemptions."),
    {"offline", FIELD(REAL, struct app_market_cell, offline_usd), .is_column_only = true,
     .heading = "offline", .digits = 2, .help = "Mean cost of offline."},
    CELL(REAL, bound_usd, .unit = "USD", .heading = "at least", .cell = bound_cell,
         .help = "Proved lower bound of the mean cost of offline."),
    CELL(REAL, regret, .help = "Cost of dynamic above offline, as a share."),
};
static const struct record cell_record =
    RECORD("market_cell", struct app_market_cell, cell_fields);

static bool is_paper(const void *record)
{
    return ((const struct app_market_swept *)record)->figure;
}

static bool is_live(const void *record)
{
    return !is_paper(record);
}

#define SWEPT(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_swept, key), __VA_ARGS__}
static const struct field swept_fields[] = {
    SWEPT(TEXT, mode, .help = "Mode."),
    SWEPT(TEXT, cloud, .omit_none = true, .help = "Cloud of the region."),
    SWEPT(TEXT, region, .help = "Region."),
    SWEPT(TEXT, policy, .omit_none = true, .help = "Policy of dynamic."),
    SWEPT(COUNT, starts, .help = "Starts replayed."),
    SWEPT(COUNT, covered_starts, .is_absent = is_live,
          .help = "Starts that the histories of all clouds cover."),
    {"figure5", FIGURE(RECORD, figure), .record = &figure5_record,
     .omit_none = true, .help = "Reductions by strategy."},
    {"figure6", FIGURE(RECORD, figure), .record = &figure6_record,
     .omit_none = true, .help = "Gains of choosing each day, by duration."},
    SWEPT(RECORDS, cells, .record = &cell_record, .is_absent = is_paper,
          .help = "One replay per model and duration."),
    SWEPT(REAL, gap, .is_absent = is_paper,
          .help = "Gap within which optima are proved, as a share."),
    MARKET_CLOUDS_FIELDS(struct app_market_swept, clouds., is_paper),
};
/* clang-format on */

/* ---- the request ---- */

/* The jobs of a sweep, and the answer. */
struct sweep {
    struct answer *out;
    const char **models; /* in the arena of the answer */
    size_t n_models;
    double durations[APP_MARKET_DURATIONS_MAX]; /* V100-days */
    size_t n_durations;
    json_t *maps; /* an array that owns the maps of the answer */
};

static void sweep_clear(struct sweep *s)
{
    json_decref(s->maps);
}

static int parse_durations(struct sweep *s, const char *text, struct err *e)
{
    AUTO_MEM char *list = mem_dup(text);
    char field[64];

    for (char *rest = list, *one; (one = strsep(&rest, ","));) {
        double days;
        if (!number_parse(one, &days) || !(days > 0) || days > 1e6)
            return err_set(e, ERR_USAGE, "%s: \"%s\" is not a number of V100-days",
                           answer_spell(s->out, "durations", field), one);
        if (s->n_durations == APP_MARKET_DURATIONS_MAX)
            return err_set(e, ERR_USAGE, "%s: more than %d",
                           answer_spell(s->out, "durations", field), APP_MARKET_DURATIONS_MAX);
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
    s->models = answer_alloc(s->out, n, sizeof *s->models, e);
    for (; s->models && s->n_models < n; s->n_models++) {
        s->models[s->n_models] = app_market_model(speeds, names[s->n_models], s->out->arena, e);
        if (!s->models[s->n_models])
            return -1;
    }
    return s->models ? 0 : -1;
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
                        const struct app_market_paper *p,
                        double days,
                        const char *model,
                        struct app_market_sweep_row *row,
                        struct err *e)
{
    AUTO(market_paper_model) struct market_paper_model *m = app_market_paper_model(p, model, e);
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
                       struct err *e)
{
    AUTO_CLEAR(app_market_paper) struct app_market_paper p = {0};
    struct app_market_swept swept = {.mode = "paper",
                                     .days = isnan(q->days) ? DAYS_USUAL : q->days};

    if (app_market_paper_open(app, &q->replay, s->out, &p, e) < 0 ||
        find_models(s, &q->models, p.speeds, e) < 0)
        return -1;
    struct app_market_sweep_row *rows = answer_alloc(s->out, s->n_models, sizeof *rows, e);
    for (size_t i = 0; rows && i < s->n_models; i++)
        if (replay_model(s, &p, swept.days, s->models[i], &rows[i], e) < 0)
            return -1;
    swept.region = p.region;
    swept.starts = p.n_starts;
    swept.covered_starts = p.n_covered;
    swept.durations = list_of(s, s->durations, s->n_durations);
    swept.rows = (struct field_records){rows, s->n_models};
    swept.figure = &swept;
    return rows ? answer_head(s->out, &swept, e) : -1;
}

/* ---- mode market ---- */

static struct app_market_cell replay_cell(struct sweep *s,
                                          struct app_live *c,
                                          const char *model,
                                          double days)
{
    AUTO_CLEAR(market_live_answer) struct market_live_answer a = {0};
    double costs[MARKET_N_ROWS], hours[MARKET_N_ROWS], switches[MARKET_N_ROWS];
    double preemptions[MARKET_N_ROWS];

    c->question.work = days * DAY_S;
    c->question.effort = SWEEP_EFFORT;
    market_live_replay(c->live, &c->question, &a);
    for (size_t row = 0; row < MARKET_N_ROWS; row++) {
        costs[row] = a.means[row].cost_usd;
        hours[row] = a.means[row].hours;
        switches[row] = a.means[row].switches;
        preemptions[row] = a.means[row].preemptions;
    }
    return (struct app_market_cell){
        .model = model,
        .v100_days = days,
        .covered_starts = a.n_covered,
        .proved_starts = a.n_proved,
        .mean_cost_usd = by_row(s, costs, MARKET_N_ROWS),
        .mean_hours = by_row(s, hours, MARKET_N_ROWS),
        .switches_mean = by_row(s, switches, MARKET_N_ROWS),
        .preemptions_mean = by_row(s, preemptions, MARKET_N_ROWS),
        .offline_usd = costs[MARKET_ROW_OFFLINE],
        .bound_usd = a.bound_usd,
        .regret = costs[MARKET_DYNAMIC] / costs[MARKET_ROW_OFFLINE] - 1,
    };
}

static int sweep_live(struct app *app,
                      const struct sweep_request *q,
                      struct sweep *s,
                      struct err *e)
{
    AUTO_CLEAR(app_live) struct app_live c = {0};
    struct app_market_swept swept = {.mode = "market"};

    if (app_live_open(app, &c, &q->replay, s->out, e) < 0 ||
        find_models(s, &q->models, c.speeds, e) < 0)
        return -1;
    for (size_t i = 0; i < s->n_models; i++) {
        AUTO(market_job) struct market_job *job = app_live_job(&c, s->models[i], e);
        if (!job)
            return -1;
        AUTO(market_reduced) struct market_reduced *reduced = market_reduced_new(job);
        c.question.job = job;
        c.question.reduced = reduced;
        for (size_t d = 0; d < s->n_durations; d++) {
            struct app_market_cell cell = replay_cell(s, &c, s->models[i], s->durations[d]);
            if (answer_push(s->out, &swept.cells, &cell, sizeof cell, e) < 0)
                return -1;
        }
    }
    swept.cloud = c.cloud;
    swept.region = c.region;
    swept.policy = market_policy_texts[c.question.policy.kind];
    swept.starts = c.n_starts;
    swept.gap = c.question.gap;
    app_market_put_clouds(&c, &swept.clouds);
    return answer_head(s->out, &swept, e);
}

static int run_sweep(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct sweep_request *q = request;
    AUTO_CLEAR(sweep) struct sweep s = {.out = out, .maps = json_array()};
    char field[64], mode[64];

    if (app_market_check_mode(&q->replay, q, out, e) < 0 ||
        parse_durations(&s, q->durations, e) < 0)
        return -1;
    if (q->replay.mode != MARKET_REPLAY_MARKET)
        return sweep_paper(app, q, &s, e);
    if (!isnan(q->days))
        return err_set(e, ERR_USAGE, "%s needs %s paper", answer_spell(out, "days", field),
                       answer_spell(out, "mode", mode));
    return sweep_live(app, q, &s, e);
}

const struct operation market_sweep_operation = {
    .name = "market.sweep",
    .summary = "Replay training jobs over models and durations through the price histories.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct sweep_request, request_fields),
    .answer = RECORD_AT("market_swept", struct app_market_swept, swept_fields),
    .run = run_sweep,
};
