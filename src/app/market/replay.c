/* replay: the operation market.replay, which `tradewind market replay` calls, and its mode paper.
 */
#include "app/market/home.h"
#include "app/market/internal.h"
#include "base/mem.h"
#include "base/money.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct field request_fields[] = {
    MARKET_REPLAY_FIELDS(struct replay_request, replay.),
    {"model", FIELD(TEXT, struct replay_request, model), .value = "NAME",
     .help = "Model that the job trains."},
    {"work", FIELD(TEXT, struct replay_request, work), .value = "WORK", .preset = "4 V100-days",
     .help = "Work: \"4 V100-days\" (default), \"96 V100-hours\", \"1e6 iterations\"."},
    {"strategies", FIELD(TEXT, struct replay_request, strategies),
     .value = "all|1xV100|gpu-type|multi-gpu|multi-cloud|dynamic",
     .help = "Strategies, joined by commas (default: all)."},
    {"trace", FIELD(BOOL, struct replay_request, trace), .is_remote_only = true,
     .help = "In mode market, also tell how the costs of the start with the most regret grow."},
};
static const struct record request_record =
    RECORD("market_replay", struct replay_request, request_fields);

static bool has_no_deadline(const void *record)
{
    return !((const struct app_market_row *)record)->has_deadline;
}

#define ROW_FIELDS(type, at)                                                                       \
    {"name", FIELD(TEXT, type, at name), .help = "Strategy."},                                     \
    {"mean_cost_usd", FIELD(REAL, type, at mean_cost_usd), .unit = "USD",                          \
     .help = "Mean cost over the starts."},                                                        \
    {"reduction", FIELD(REAL, type, at reduction),                                                 \
     .help = "Mean cost of 1xV100 divided by this one."},                                          \
    {"mean_hours", FIELD(REAL, type, at mean_hours), .unit = "h", .help = "Mean time."},           \
    {"switches_mean", FIELD(REAL, type, at switches_mean),                                         \
     .help = "Mean number of moves to another offer."},                                            \
    {"switches_max", FIELD(COUNT, type, at switches_max), .help = "Most moves of one start."},     \
    {"preemptions_mean", FIELD(REAL, type, at preemptions_mean),                                   \
     .help = "Mean number of preemptions."},                                                       \
    {"costs_usd", FIELD(JSON, type, at costs_usd), .help = "Cost of each covered start."},         \
    {"late", FIELD(COUNT, type, at late), .is_absent = has_no_deadline,                            \
     .help = "Starts that miss the deadline."}

static const struct field row_fields[] = {ROW_FIELDS(struct app_market_row, )};
static const struct record row_record = RECORD("market_row", struct app_market_row, row_fields);

static const struct field offline_fields[] = {
    ROW_FIELDS(struct app_market_offline, row.),
    {"bound_usd", FIELD(REAL, struct app_market_offline, bound_usd), .unit = "USD",
     .help = "Proved lower bound of the mean cost."},
    {"proved_starts", FIELD(COUNT, struct app_market_offline, proved_starts),
     .help = "Starts whose optimum is proved within the gap."},
    {"gap", FIELD(REAL, struct app_market_offline, gap), .help = "The gap, as a share."},
};
static const struct record offline_record =
    RECORD("market_offline", struct app_market_offline, offline_fields);

static const struct field left_out_fields[] = {
    {"day", FIELD(TEXT, struct app_market_left_out, day), .help = "Day of the start."},
    {"why", FIELD(TEXT, struct app_market_left_out, why), .help = "Reason."},
};
static const struct record left_out_record =
    RECORD("market_left_out", struct app_market_left_out, left_out_fields);

static const struct field point_fields[] = {
    {"hours", FIELD(REAL, struct app_market_trace_point, hours), .unit = "h",
     .help = "Time since the start."},
    {"dynamic_usd", FIELD(REAL, struct app_market_trace_point, dynamic_usd), .unit = "USD",
     .help = "Cost of dynamic so far."},
    {"offline_usd", FIELD(REAL, struct app_market_trace_point, offline_usd), .unit = "USD",
     .help = "Cost of the optimum in hindsight so far."},
};
static const struct record point_record =
    RECORD("market_trace_point", struct app_market_trace_point, point_fields);

static const struct field regret_fields[] = {
    {"day", FIELD(TEXT, struct app_market_regret, day), .help = "Day of the start."},
    {"regret_usd", FIELD(REAL, struct app_market_regret, usd), .unit = "USD",
     .help = "Regret; null = the start is not covered."},
};
static const struct record regret_record =
    RECORD("market_regret", struct app_market_regret, regret_fields);

static const struct field trace_fields[] = {
    {"start_day", FIELD(TEXT, struct app_market_trace, day),
     .help = "Day of the start with the most regret."},
    {"points", FIELD(RECORDS, struct app_market_trace, points), .record = &point_record,
     .help = "Costs over time."},
    {"regrets", FIELD(RECORDS, struct app_market_trace, regrets), .record = &regret_record,
     .help = "Regret of each start."},
};
static const struct record trace_record =
    RECORD("market_trace", struct app_market_trace, trace_fields);

static bool is_paper(const void *record)
{
    return !((const struct app_market_replayed *)record)->is_live;
}

static const struct field replayed_fields[] = {
    {"mode", FIELD(TEXT, struct app_market_replayed, mode), .help = "Mode."},
    {"model", FIELD(TEXT, struct app_market_replayed, model), .help = "Model."},
    {"work", FIELD(TEXT, struct app_market_replayed, work), .help = "Work, as requested."},
    {"work_v100_days", FIELD(REAL, struct app_market_replayed, work_v100_days),
     .help = "Work in days of a V100."},
    {"region", FIELD(TEXT, struct app_market_replayed, region), .help = "Region."},
    {"cloud", FIELD(TEXT, struct app_market_replayed, cloud), .is_absent = is_paper,
     .help = "Cloud of the region."},
    {"policy", FIELD(TEXT, struct app_market_replayed, policy), .is_absent = is_paper,
     .help = "Policy of dynamic."},
    {"starts", FIELD(COUNT, struct app_market_replayed, starts), .help = "Starts replayed."},
    {"covered_starts", FIELD(COUNT, struct app_market_replayed, covered_starts),
     .help = "Starts that the histories of all clouds cover."},
    {"start_days", FIELD(LIST, struct app_market_replayed, start_days),
     .help = "Days of the starts; in mode market, of those covered."},
    {"left_out_days", FIELD(RECORDS, struct app_market_replayed, left_out),
     .record = &left_out_record, .is_absent = is_paper, .help = "Starts left out."},
    MARKET_CLOUDS_FIELDS(struct app_market_replayed, clouds., is_paper),
    {"strategies", FIELD(RECORDS, struct app_market_replayed, strategies),
     .record = &row_record, .help = "Strategies."},
    {"offline", FIELD(RECORD, struct app_market_replayed, offline), .record = &offline_record,
     .help = "The optimum in hindsight; null in mode paper."},
    {"best_static", FIELD(RECORD, struct app_market_replayed, best_static),
     .record = &row_record, .help = "The best single offer in hindsight; null in mode paper."},
    {"regret", FIELD(REAL, struct app_market_replayed, regret),
     .help = "Cost of dynamic above offline, as a share; null in mode paper."},
    {"regret_usd", FIELD(REAL, struct app_market_replayed, regret_usd), .unit = "USD",
     .is_absent = is_paper, .help = "The same in dollars."},
    {"trace", FIELD(RECORD, struct app_market_replayed, trace), .record = &trace_record,
     .omit_none = true, .help = "Costs over time, where requested."},
};
/* clang-format on */
static const struct record replayed_record =
    RECORD("market_replayed", struct app_market_replayed, replayed_fields);

/* ---- the request ---- */

int app_market_check_mode(const struct market_replay_request *q,
                          const struct record *record,
                          const void *request,
                          const struct answer *out,
                          struct err *e)
{
    static const char *const live_only[] = {
        "policy",        "margin",      "worth",  "deadline", "restart", "checkpoint",
        "checkpoint_gb", "preemptions", "clouds", "gpu_use",  "gap",     "seed",
    };
    char name[64], mode[64];

    for (size_t i = 0; i < sizeof live_only / sizeof *live_only; i++)
        if (q->mode != MARKET_REPLAY_MARKET &&
            !field_is_none(record_field(record, live_only[i]), request))
            return err_set(e, ERR_USAGE, "%s goes with %s market",
                           answer_spell(out, live_only[i], name), answer_spell(out, "mode", mode));
    return 0;
}

static int parse_strategies(const char *text, const struct answer *out, bool *wanted, struct err *e)
{
    char field[64];

    if (!text || strcmp(text, "all") == 0) {
        memset(wanted, true, MARKET_N_STRATEGIES * sizeof *wanted);
        return 0;
    }
    AUTO_MEM char *names = mem_dup(text);
    for (char *rest = names, *name; (name = strsep(&rest, ","));) {
        enum market_strategy s;
        if (!market_strategy_parse(name, &s))
            return err_set(e, ERR_USAGE,
                           "%s: \"%s\" is none of 1xV100, gpu-type, multi-gpu, multi-cloud, "
                           "dynamic and all",
                           answer_spell(out, "strategies", field), name);
        wanted[s] = true;
    }
    return 0;
}

void app_market_asked_clear(struct app_market_asked *a)
{
    free(a->model);
}

int app_market_ask(const struct replay_request *q,
                   const struct throughputs *speeds,
                   const struct answer *out,
                   struct app_market_asked *r,
                   struct err *e)
{
    /* The one model of the user's table need not be named. */
    const char *model = q->model ? q->model : throughputs_only_model(speeds);
    struct app_market_work work;
    double iterations;
    char field[64];

    r->work_text = q->work;
    if (app_market_work_parse(q->work, &work, e) < 0 ||
        parse_strategies(q->strategies, out, r->wanted, e) < 0)
        return -1;
    if (!model)
        return err_set(e, ERR_USAGE, "name the model to train: %s A3C",
                       answer_spell(out, "model", field));
    r->model = app_market_model(speeds, model, e);
    if (!r->model || app_market_work_iterations(&work, speeds, r->model, &iterations, e) < 0)
        return -1;
    r->reference_days =
        iterations / throughputs_get(speeds, r->model, MARKET_REFERENCE_GPU) / 86400;
    if (strcasecmp(work.gpu, MARKET_REFERENCE_GPU) == 0) /* as written, not there and back */
        r->reference_days = work.amount / (strcmp(work.unit, "days") == 0 ? 1 : 24);
    return isfinite(r->reference_days) ? 0
                                       : err_set(e, ERR_NOFIT, "%s has no throughput on %s",
                                                 r->model, MARKET_REFERENCE_GPU);
}

/* ---- mode paper ---- */

struct paper {
    struct market *market;
    struct throughputs *speeds;
    char *region;
    struct app_market_asked asked;
    struct market_paper *days;
    struct market_paper_model *choices;
    json_t *costs; /* an array that owns the costs of the rows */
};

static void paper_clear(struct paper *r)
{
    json_decref(r->costs);
    market_paper_model_free(r->choices);
    market_paper_free(r->days);
    throughputs_free(r->speeds);
    market_free(r->market);
    app_market_asked_clear(&r->asked);
    free(r->region);
}

static int open_paper(struct app *app,
                      const struct replay_request *q,
                      const struct answer *out,
                      struct paper *r,
                      struct err *e)
{
    const char *region = q->replay.region ? q->replay.region : "us-east-1";
    struct market_starts starts;

    if (app_market_starts(q->replay.starts, &starts, e) < 0)
        return -1;
    r->region = app_market_region(region, e);
    r->speeds = r->region ? throughputs_load(q->replay.throughputs, e) : NULL;
    if (!r->speeds || app_market_ask(q, r->speeds, out, &r->asked, e) < 0)
        return -1;
    r->market = app_market_open(app, e);
    r->days = r->market ? market_paper_new(r->market, r->region, &starts, e) : NULL;
    r->choices = r->days ? app_market_paper_model(r->days, r->speeds, r->asked.model, e) : NULL;
    return r->choices ? 0 : -1;
}

static void put_row(struct paper *r,
                    enum market_strategy s,
                    const struct market_paper_mean *means,
                    struct app_market_row *row)
{
    json_t *costs = json_array();

    json_array_append_new(r->costs, costs);
    for (size_t i = 0; i < market_paper_n_starts(r->days); i++)
        json_array_append_new(
            costs,
            json_real(market_paper_replay(r->choices, s, r->asked.reference_days, i).cost_usd));
    *row = (struct app_market_row){
        .name = market_strategy_text(s),
        .mean_cost_usd = means[s].cost_usd,
        .reduction = means[MARKET_SINGLE].cost_usd / means[s].cost_usd,
        .mean_hours = means[s].hours,
        .switches_mean = means[s].switches,
        .switches_max = means[s].switches_max,
        .costs_usd = costs,
    };
}

static int replay_rows(struct paper *r,
                       struct app_market_row rows[static MARKET_N_STRATEGIES],
                       size_t *n_out,
                       const struct answer *out,
                       struct err *e)
{
    struct market_paper_mean means[MARKET_N_STRATEGIES];
    char field[64];

    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++) {
        means[s] = market_paper_mean(r->choices, (enum market_strategy)s, r->asked.reference_days);
        if (!(means[s].cost_usd <= MONEY_MAX_USD))
            return err_set(e, ERR_USAGE,
                           "%s %s costs more than $%.0e, which is taken for a mistake",
                           answer_spell(out, "work", field), r->asked.work_text, MONEY_MAX_USD);
    }
    *n_out = 0;
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++)
        if (r->asked.wanted[s])
            put_row(r, (enum market_strategy)s, means, &rows[(*n_out)++]);
    return 0;
}

static int replay_paper(struct app *app,
                        const struct replay_request *q,
                        struct answer *out,
                        struct err *e)
{
    AUTO_CLEAR(paper) struct paper r = {.costs = json_array()};
    struct app_market_row rows[MARKET_N_STRATEGIES];
    size_t n_rows;

    if (open_paper(app, q, out, &r, e) < 0 || replay_rows(&r, rows, &n_rows, out, e) < 0)
        return -1;
    size_t n = market_paper_n_starts(r.days);
    AUTO_MEM char(*days)[32] = mem_zero(n + 1, sizeof *days);
    AUTO_MEM const char **list = mem_zero(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = app_market_day(market_paper_start_s(r.days, i), days[i]);
    const struct app_market_replayed replayed = {
        .mode = "paper",
        .model = r.asked.model,
        .work = r.asked.work_text,
        .work_v100_days = r.asked.reference_days,
        .region = r.region,
        .starts = n,
        .covered_starts = app_market_covered(r.days),
        .start_days = {list, n},
        .strategies = {rows, n_rows},
        .regret = (double)NAN,
        .regret_usd = (double)NAN,
    };
    return answer_head(out, &replayed, e);
}

static int run_replay(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct replay_request *q = request;
    char field[64], mode[64];

    if (app_market_check_mode(&q->replay, &request_record, q, out, e) < 0)
        return -1;
    if (q->replay.mode == MARKET_REPLAY_MARKET)
        return app_market_replay_live(app, q, out, e);
    if (q->trace)
        return err_set(e, ERR_USAGE, "%s needs %s market", answer_spell(out, "trace", field),
                       answer_spell(out, "mode", mode));
    return replay_paper(app, q, out, e);
}

const struct operation market_replay_operation = {
    .name = "market.replay",
    .summary = "Replay a training job through the imported price histories.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &replayed_record,
    .run = run_replay,
};
