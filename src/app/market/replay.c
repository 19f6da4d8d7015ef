/* replay: the operation market.replay, which `tradewind market replay` calls, and its mode paper.
 */
#include "app/market/internal.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"

#include <math.h>
#include <string.h>

/* clang-format off */
static const struct field request_fields[] = {
    MARKET_REPLAY_FIELDS(struct replay_request, replay.),
    {"model", FIELD(TEXT, struct replay_request, model), .value = "NAME",
     .help = "Model that the job trains."},
    {"work", FIELD(TEXT, struct replay_request, work), .value = "WORK", .preset = "4 V100-days",
     .help = "Work: \"4 V100-days\" (default), \"96 V100-hours\", \"1e6 iterations\"."},
    {"strategies", FIELD(TEXT, struct replay_request, strategies),
     .value = "all|1xV100|gpu-type|multi-gpu|multi-cloud|dynamic", .preset = "all",
     .help = "Strategies, joined by commas (default: all)."},
    {"trace", FIELD(BOOL, struct replay_request, trace), .is_remote_only = true,
     .help = "In mode market, also tell how the costs of the start with the most regret grow."},
};

static void cost_cell(const void *record, struct buf *out)
{
    char text[32];

    buf_puts(out, money_text(money_from_usd(((const struct app_market_row *)record)->mean_cost_usd),
                             text));
}

#define ROW_FIELDS(type, at)                                                                       \
    {"name", FIELD(TEXT, type, at name), .help = "Strategy.", .heading = "strategy"},              \
    {"mean_cost_usd", FIELD(REAL, type, at mean_cost_usd), .unit = "USD",                          \
     .help = "Mean cost over the starts.", .heading = "mean cost", .cell = cost_cell},             \
    {"reduction", FIELD(REAL, type, at reduction), .heading = "reduction", .digits = 2,            \
     .suffix = " x", .help = "Mean cost of 1xV100 divided by this one."},                          \
    {"mean_hours", FIELD(REAL, type, at mean_hours), .unit = "h", .help = "Mean time.",            \
     .heading = "mean time", .digits = 1, .suffix = " h"},                                         \
    {"switches_mean", FIELD(REAL, type, at switches_mean), .heading = "switches", .digits = 2,     \
     .help = "Mean number of moves to another offer."},                                            \
    {"switches_max", FIELD(COUNT, type, at switches_max), .heading = "at most",                    \
     .help = "Most moves of one start."},                                                          \
    {"preemptions_mean", FIELD(REAL, type, at preemptions_mean), .heading = "preempted",           \
     .is_detail = true, .digits = 2, .help = "Mean number of preemptions."},                       \
    {"costs_usd", FIELD(JSON, type, at costs_usd), .help = "Cost of each covered start."},         \
    {"late", FIELD(COUNT, type, at late), .omit_none = true, .heading = "late",                    \
     .is_detail = true, .none = "-", .help = "Starts that miss the deadline."}

static const struct field row_fields[] = {ROW_FIELDS(struct app_market_row, )};
static const struct record row_record = RECORD("market_row", struct app_market_row, row_fields);

#define OFFLINE(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_offline, key), __VA_ARGS__}
static const struct field offline_fields[] = {
    ROW_FIELDS(struct app_market_offline, row.),
    OFFLINE(REAL, bound_usd, .unit = "USD", .help = "Proved lower bound of the mean cost."),
    OFFLINE(COUNT, proved_starts, .help = "Starts whose optimum is proved within the gap."),
    OFFLINE(REAL, gap, .help = "The gap, as a share."),
};
static const struct record offline_record =
    RECORD("market_offline", struct app_market_offline, offline_fields);

#define LEFT_OUT(TYPE, key, text) {#key, FIELD(TYPE, struct app_market_left_out, key), .help = text}
static const struct field left_out_fields[] = {
    LEFT_OUT(TEXT, day, "Day of the start."),
    LEFT_OUT(TEXT, why, "Reason."),
    LEFT_OUT(COUNT, start, "Number of the start, from 0."),
};
static const struct record left_out_record =
    RECORD("market_left_out", struct app_market_left_out, left_out_fields);

#define POINT(key, ...) {#key, FIELD(REAL, struct app_market_trace_point, key), __VA_ARGS__}
static const struct field point_fields[] = {
    POINT(hours, .unit = "h", .help = "Time since the start."),
    POINT(dynamic_usd, .unit = "USD", .help = "Cost of dynamic so far."),
    POINT(offline_usd, .unit = "USD", .help = "Cost of the optimum in hindsight so far."),
};
static const struct record point_record =
    RECORD("market_trace_point", struct app_market_trace_point, point_fields);

#define REGRET(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_regret, key), __VA_ARGS__}
static const struct field regret_fields[] = {
    REGRET(TEXT, day, .help = "Day of the start."),
    REGRET(REAL, start_s, .unit = "s", .help = "Start, in seconds since 1970."),
    REGRET(REAL, regret_usd, .unit = "USD", .help = "Regret; null = the start is not covered."),
};
static const struct record regret_record =
    RECORD("market_regret", struct app_market_regret, regret_fields);

#define TRACE(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_trace, key), __VA_ARGS__}
static const struct field trace_fields[] = {
    TRACE(TEXT, start_day, .help = "Day of the start with the most regret."),
    TRACE(REAL, start_s, .unit = "s", .help = "That start, in seconds since 1970."),
    TRACE(RECORDS, points, .record = &point_record, .help = "Costs over time."),
    TRACE(RECORDS, regrets, .record = &regret_record, .help = "Regret of each start."),
};
static const struct record trace_record =
    RECORD("market_trace", struct app_market_trace, trace_fields);

static bool is_paper(const void *record)
{
    return !((const struct app_market_replayed *)record)->offline;
}

#define REPLAYED(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_replayed, key), __VA_ARGS__}
static const struct field replayed_fields[] = {
    REPLAYED(TEXT, mode, .help = "Mode."),
    REPLAYED(TEXT, model, .help = "Model."),
    REPLAYED(TEXT, work, .help = "Work, as requested."),
    REPLAYED(REAL, work_v100_days, .help = "Work in days of a V100."),
    REPLAYED(TEXT, region, .help = "Region."),
    REPLAYED(TEXT, cloud, .omit_none = true, .help = "Cloud of the region."),
    REPLAYED(TEXT, policy, .omit_none = true, .help = "Policy of dynamic."),
    REPLAYED(COUNT, starts, .help = "Starts replayed."),
    REPLAYED(COUNT, covered_starts, .help = "Starts that the histories of all clouds cover."),
    REPLAYED(LIST, start_days, .help = "Days of the starts; in mode market, of those covered."),
    {"left_out_days", FIELD(RECORDS, struct app_market_replayed, left_out),
     .record = &left_out_record, .is_absent = is_paper, .help = "Starts left out."},
    MARKET_CLOUDS_FIELDS(struct app_market_replayed, clouds., is_paper),
    REPLAYED(RECORDS, strategies, .record = &row_record, .help = "Strategies."),
    REPLAYED(RECORD, offline, .record = &offline_record,
             .help = "The optimum in hindsight; null in mode paper."),
    REPLAYED(RECORD, best_static, .record = &row_record,
             .help = "The best single offer in hindsight; null in mode paper."),
    REPLAYED(REAL, regret,
             .help = "Cost of dynamic above offline, as a share; null in mode paper."),
    REPLAYED(REAL, regret_usd, .unit = "USD", .is_absent = is_paper,
             .help = "The same in dollars."),
    REPLAYED(RECORD, trace, .record = &trace_record, .omit_none = true,
             .help = "Costs over time, where requested."),
};
/* clang-format on */

/* ---- the request ---- */

static int parse_strategies(const char *text, const struct answer *out, bool *wanted, struct err *e)
{
    AUTO_MEM char *names = mem_dup(text);
    char field[64];

    for (char *rest = names, *name; (name = strsep(&rest, ","));) {
        enum market_strategy s;
        bool all = strcmp(text, "all") == 0;
        if (!all && !market_strategy_parse(name, &s))
            return err_set(e, ERR_USAGE,
                           "%s: \"%s\" is not a strategy; give some of 1xV100, gpu-type, "
                           "multi-gpu, multi-cloud and dynamic, or all",
                           answer_spell(out, "strategies", field), name);
        if (all)
            memset(wanted, true, MARKET_N_STRATEGIES * sizeof *wanted);
        else
            wanted[s] = true;
    }
    return 0;
}

int app_market_ask(const struct replay_request *q,
                   const struct throughputs *speeds,
                   const struct answer *out,
                   struct app_market_asked *r,
                   struct err *e)
{
    /* The one model of the user's table need not be named. */
    const char *model = q->model ? q->model : throughputs_only_model(speeds);
    char field[64];

    if (parse_strategies(q->strategies, out, r->wanted, e) < 0)
        return -1;
    if (!model)
        return err_set(e, ERR_USAGE, "name the model to train: %s A3C",
                       answer_spell(out, "model", field));
    r->model = app_market_model(speeds, model, out->arena, e);
    return r->model ? app_market_work(q->work, speeds, r->model, out, &r->reference_days, e) : -1;
}

/* ---- mode paper ---- */

static struct app_market_row row_of(const struct app_market_paper *p,
                                    const struct market_paper_model *choices,
                                    const struct market_paper_mean *means,
                                    enum market_strategy s,
                                    double days)
{
    json_t *costs = json_array();

    for (size_t i = 0; i < p->n_starts; i++)
        json_array_append_new(costs, json_real(market_paper_replay(choices, s, days, i).cost_usd));
    return (struct app_market_row){
        .name = market_strategy_texts[s],
        .mean_cost_usd = means[s].cost_usd,
        .reduction = means[MARKET_SINGLE].cost_usd / means[s].cost_usd,
        .mean_hours = means[s].hours,
        .switches_mean = means[s].switches,
        .switches_max = means[s].switches_max,
        .costs_usd = costs,
        .late = UINT64_MAX,
    };
}

static int replay_paper(struct app *app,
                        const struct replay_request *q,
                        struct answer *out,
                        struct err *e)
{
    AUTO_CLEAR(app_market_paper) struct app_market_paper p = {0};
    struct app_market_asked asked = {0};
    struct market_paper_mean means[MARKET_N_STRATEGIES];
    struct app_market_row rows[MARKET_N_STRATEGIES];
    size_t n_rows = 0;
    char field[64];

    if (app_market_paper_open(app, &q->replay, out, &p, e) < 0 ||
        app_market_ask(q, p.speeds, out, &asked, e) < 0)
        return -1;
    AUTO(market_paper_model)
    struct market_paper_model *choices = app_market_paper_model(&p, asked.model, e);
    char(*days)[32] = answer_alloc(out, p.n_starts, sizeof *days, e);
    const char **list = days ? answer_alloc(out, p.n_starts, sizeof *list, e) : NULL;
    if (!choices || !list)
        return -1;
    for (size_t i = 0; i < p.n_starts; i++)
        list[i] = app_market_day(market_paper_start_s(p.days, i), days[i]);
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++) {
        means[s] = market_paper_mean(choices, (enum market_strategy)s, asked.reference_days);
        if (!(means[s].cost_usd <= MONEY_MAX_USD))
            return err_set(e, ERR_USAGE,
                           "%s %s costs more than $%.0e, which is taken for a mistake",
                           answer_spell(out, "work", field), q->work, MONEY_MAX_USD);
    }
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++)
        if (asked.wanted[s])
            rows[n_rows++] =
                row_of(&p, choices, means, (enum market_strategy)s, asked.reference_days);
    const struct app_market_replayed replayed = {
        .mode = "paper",
        .model = asked.model,
        .work = q->work,
        .work_v100_days = asked.reference_days,
        .region = p.region,
        .starts = p.n_starts,
        .covered_starts = p.n_covered,
        .start_days = {list, p.n_starts},
        .strategies = {rows, n_rows},
        .regret = (double)NAN,
        .regret_usd = (double)NAN,
    };
    int result = answer_head(out, &replayed, e);
    for (size_t i = 0; i < n_rows; i++)
        json_decref(rows[i].costs_usd);
    return result;
}

static int run_replay(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct replay_request *q = request;
    char field[64], mode[64];

    if (app_market_check_mode(&q->replay, q, out, e) < 0)
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
    REQUEST(struct replay_request, request_fields),
    .answer = RECORD_AT("market_replayed", struct app_market_replayed, replayed_fields),
    .run = run_replay,
};
