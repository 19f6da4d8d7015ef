/* replay_live: mode market of market.replay, which replay.c calls. */
#include "app/market/internal.h"
#include "base/money.h"

#include <math.h>
#include <string.h>

#define DAY_S 86400.0
#define TRACE_POINTS 500

const char *app_market_row_text(size_t row)
{
    if (row < MARKET_N_STRATEGIES)
        return market_strategy_texts[row];
    return row == MARKET_ROW_BEST_STATIC ? "best-static" : "offline";
}

void app_market_put_clouds(const struct app_live *c, struct app_market_clouds *out)
{
    const struct market_live *l = c->live;

    *out = (struct app_market_clouds){.used = {l->clouds.names, l->clouds.n},
                                      .left_out = {l->left_out.names, l->left_out.n},
                                      .unmeasured = {l->unmeasured.names, l->unmeasured.n}};
}

/* A replay and the parts of its answer. */
struct live {
    struct app_live c;
    struct app_market_asked asked;
    struct market_job *job;
    struct market_live_answer answer;
    json_t *costs; /* an array that owns the costs of the rows */
    char (*days)[32];
    struct field_list covered;
    struct field_records left_out;
    struct app_market_trace trace;
};

static void live_clear(struct live *r)
{
    json_decref(r->costs);
    market_live_answer_clear(&r->answer);
    market_job_free(r->job);
    app_live_clear(&r->c);
}

static struct app_market_row row_of(struct live *r, size_t row)
{
    const struct market_live_answer *a = &r->answer;
    const struct market_live_mean *m = &a->means[row];
    json_t *costs = json_array();

    json_array_append_new(r->costs, costs);
    for (size_t i = 0; i < a->n_starts; i++)
        if (a->starts[i].state == MARKET_START_COVERED)
            json_array_append_new(costs, json_usd(a->starts[i].bills[row].cost_microusd));
    return (struct app_market_row){
        .name = app_market_row_text(row),
        .mean_cost_usd = m->cost_usd,
        .reduction = a->means[MARKET_SINGLE].cost_usd / m->cost_usd,
        .mean_hours = m->hours,
        .switches_mean = m->switches,
        .switches_max = m->switches_max,
        .preemptions_mean = m->preemptions,
        .costs_usd = costs,
        .late = isfinite(r->c.question.deadline_after_s) ? m->late : UINT64_MAX,
    };
}

static int put_days(struct live *r, const struct answer *out, struct err *e)
{
    const struct market_live_answer *a = &r->answer;
    const char **covered = answer_alloc(out, a->n_starts, sizeof *covered, e);

    r->days = covered ? answer_alloc(out, a->n_starts, sizeof *r->days, e) : NULL;
    if (!r->days)
        return -1;
    r->covered.items = covered;
    for (size_t i = 0; i < a->n_starts; i++) {
        const char *day = app_market_day(a->starts[i].at_s, r->days[i]);
        struct app_market_left_out left = {day, market_start_texts[a->starts[i].state], i};
        if (a->starts[i].state == MARKET_START_COVERED)
            covered[r->covered.n++] = day;
        else if (answer_push(out, &r->left_out, &left, sizeof left, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the trace ---- */

static double regret_usd(const struct market_live_start *s)
{
    if (s->state != MARKET_START_COVERED)
        return (double)NAN;
    return money_to_usd(s->bills[MARKET_DYNAMIC].cost_microusd -
                        s->bills[MARKET_ROW_OFFLINE].cost_microusd);
}

static const struct market_live_start *most_regret(const struct market_live_answer *a)
{
    const struct market_live_start *most = NULL;
    double highest = -1e-6;

    for (size_t i = 0; i < a->n_starts; i++)
        if (regret_usd(&a->starts[i]) > highest) {
            highest = regret_usd(&a->starts[i]);
            most = &a->starts[i];
        }
    return most;
}

/* Cost of the leases until then, moves included. */
static double paid_until(const struct market_log *log, const struct market_scene *s, double now_s)
{
    double usd = 0;

    for (size_t i = 0; i < log->n && log->leases[i].begin_s <= now_s; i++) {
        const struct market_lease *l = &log->leases[i];
        double before = market_scene_paid(s, l->offer, l->begin_s);
        double lease = market_scene_paid(s, l->offer, l->end_s) - before;
        usd += money_to_usd(l->microusd) - lease; /* the move there */
        usd += market_scene_paid(s, l->offer, fmin(now_s, l->end_s)) - before;
    }
    /* Sums of the same prices in another order differ by less than a micro-dollar. */
    return fabs(usd) < 1e-6 ? 0 : usd;
}

/* Costs of dynamic and of the optimum from one start on, at even distances. */
static void follow(struct live *r,
                   const struct market_live_start *start,
                   struct app_market_trace_point *points)
{
    const struct market_scene *scene = r->c.live->scene;
    AUTO_CLEAR(market_log) struct market_log dynamic = {0};
    AUTO_CLEAR(market_log) struct market_log offline = {0};
    double end_s =
        fmax(start->bills[MARKET_DYNAMIC].finish_s, start->bills[MARKET_ROW_OFFLINE].finish_s);

    market_live_follow(r->c.live, &r->c.question, start, MARKET_DYNAMIC, &dynamic);
    market_live_follow(r->c.live, &r->c.question, start, MARKET_ROW_OFFLINE, &offline);
    for (size_t i = 0; i < TRACE_POINTS; i++) {
        double at_s = start->at_s + (end_s - start->at_s) * (double)i / (TRACE_POINTS - 1);
        points[i] = (struct app_market_trace_point){(at_s - start->at_s) / 3600,
                                                    paid_until(&dynamic, scene, at_s),
                                                    paid_until(&offline, scene, at_s)};
    }
}

static int make_trace(struct live *r, const struct answer *out, struct err *e)
{
    const struct market_live_answer *a = &r->answer;
    const struct market_live_start *start = most_regret(a);
    char field[64];

    if (!start)
        return err_set(e, ERR_NOFIT, "%s: none of the starts is covered",
                       answer_spell(out, "trace", field));
    struct app_market_regret *regrets = answer_alloc(out, a->n_starts, sizeof *regrets, e);
    struct app_market_trace_point *points =
        regrets ? answer_alloc(out, TRACE_POINTS, sizeof *points, e) : NULL;
    if (!points)
        return -1;
    follow(r, start, points);
    for (size_t i = 0; i < a->n_starts; i++)
        regrets[i] =
            (struct app_market_regret){r->days[i], a->starts[i].at_s, regret_usd(&a->starts[i])};
    r->trace = (struct app_market_trace){.start_day = r->days[start - a->starts],
                                         .start_s = start->at_s,
                                         .points = {points, TRACE_POINTS},
                                         .regrets = {regrets, a->n_starts}};
    return 0;
}

/* ---- all of it ---- */

static int replay(struct app *app,
                  const struct replay_request *q,
                  struct live *r,
                  const struct answer *out,
                  struct err *e)
{
    const char *starts = q->replay.starts;
    char field[64];

    if (app_live_open(app, &r->c, &q->replay, out, e) < 0 ||
        app_market_ask(q, r->c.speeds, out, &r->asked, e) < 0)
        return -1;
    r->job = app_live_job(&r->c, r->asked.model, e);
    if (!r->job)
        return -1;
    r->c.question.job = r->job;
    r->c.question.work = r->asked.reference_days * DAY_S;
    market_live_replay(r->c.live, &r->c.question, &r->answer);
    /* Days that the request names are not left out in silence. */
    if (!r->answer.n_covered && strchr(starts, '-'))
        return err_set(e, ERR_NOFIT, "%s %s: %s", answer_spell(out, "starts", field), starts,
                       market_start_texts[r->answer.starts[0].state]);
    if (put_days(r, out, e) < 0)
        return -1;
    return q->trace ? make_trace(r, out, e) : 0;
}

int app_market_replay_live(struct app *app,
                           const struct replay_request *q,
                           struct answer *out,
                           struct err *e)
{
    AUTO_CLEAR(live) struct live r = {.costs = json_array()};
    struct app_market_row rows[MARKET_N_STRATEGIES];
    size_t n_rows = 0;

    if (replay(app, q, &r, out, e) < 0)
        return -1;
    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++)
        if (r.asked.wanted[i])
            rows[n_rows++] = row_of(&r, i);
    const struct app_market_row best_static = row_of(&r, MARKET_ROW_BEST_STATIC);
    const struct app_market_offline offline = {.row = row_of(&r, MARKET_ROW_OFFLINE),
                                               .bound_usd = r.answer.bound_usd,
                                               .proved_starts = r.answer.n_proved,
                                               .gap = r.c.question.gap};
    const double optimum = r.answer.means[MARKET_ROW_OFFLINE].cost_usd;
    const double regret = r.answer.means[MARKET_DYNAMIC].cost_usd - optimum;
    struct app_market_replayed replayed = {
        .mode = "market",
        .model = r.asked.model,
        .work = q->work,
        .work_v100_days = r.asked.reference_days,
        .region = r.c.region,
        .cloud = r.c.cloud,
        .policy = market_policy_texts[r.c.question.policy.kind],
        .starts = r.answer.n_starts,
        .covered_starts = r.answer.n_covered,
        .start_days = r.covered,
        .left_out = r.left_out,
        .strategies = {rows, n_rows},
        .offline = &offline,
        .best_static = &best_static,
        .regret = regret / optimum,
        .regret_usd = regret,
        .trace = q->trace ? &r.trace : NULL,
    };
    app_market_put_clouds(&r.c, &replayed.clouds);
    return answer_head(out, &replayed, e);
}
