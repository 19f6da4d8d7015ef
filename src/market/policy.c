#include "market/policy.h"

#include <math.h>
#include <string.h>

const char *const market_policy_texts[MARKET_THRESHOLD + 1] = {
    [MARKET_STATIC] = "static",
    [MARKET_GREEDY] = "greedy",
    [MARKET_MARGIN] = "margin",
    [MARKET_THRESHOLD] = "threshold",
};

double market_start_s(const struct market_switching *sw, uint32_t from, uint32_t to, bool leaves)
{
    double s = sw->restart_s;

    if (leaves)
        s += sw->write_s;
    if (from != MARKET_NOWHERE && from != to)
        s += sw->move_s;
    return s;
}

double market_move_usd(const struct market_switching *sw, uint32_t from, uint32_t to)
{
    return from == MARKET_NOWHERE ? 0 : sw->move_usd[from * sw->n_places + to];
}

/* ---- what an offer would cost ---- */

static bool runs(const struct market_view *v)
{
    return v->offer != MARKET_NO_OFFER;
}

/* Until the job works on offer i, from now. */
static double idle_s(const struct market_view *v, size_t i)
{
    if (i == v->offer)
        return fmax(0, v->ready_s - v->now_s);
    return market_start_s(v->switching, v->checkpoint, v->place[i], runs(v) || v->left);
}

/* What is paid before the job works there. */
static double idle_usd(const struct market_view *v, size_t i)
{
    double usd = idle_s(v, i) * v->usd_per_s[i];

    return i == v->offer ? usd : usd + market_move_usd(v->switching, v->checkpoint, v->place[i]);
}

static bool can_be(const struct market_policy *p, const struct market_view *v, size_t i)
{
    return v->work_per_s[i] > 0 && (i == v->offer || v->may_start[i]) &&
           (!p->may_use || p->may_use[i]);
}

/* Whether all the work gets done there in time, if it goes on or begins now. */
static bool in_time(const struct market_view *v, size_t i)
{
    return v->now_s + idle_s(v, i) + v->work_left / v->work_per_s[i] <= v->deadline_s;
}

/* ---- choosing one ---- */

/* What makes an offer the best; lower is better, and the first of equals wins. */
enum score {
    SCORE_RATE,    /* the price of work */
    SCORE_TOTAL,   /* all that is left, at the prices of now; moves must earn their margin */
    SCORE_SURPLUS, /* what a second costs beyond what its work is worth */
    SCORE_END,     /* the time until all is done */
};

static double rate_of(const struct market_view *v, size_t i)
{
    return v->usd_per_s[i] / v->work_per_s[i];
}

/* A score that is known to be no lower than `limit` may be given as that. */
static double score_of(const struct market_policy *p,
                       const struct market_view *v,
                       enum score by,
                       size_t i,
                       double limit)
{
    double weight = i == v->offer ? 1 : p->margin, work_usd;

    switch (by) {
    case SCORE_RATE:
        return rate_of(v, i);
    case SCORE_TOTAL:
        work_usd = v->work_left * rate_of(v, i);
        /* Moving there would only add to it. */
        return work_usd >= limit ? limit : work_usd + weight * idle_usd(v, i);
    case SCORE_SURPLUS: {
        /* A move's price is spread over the time that the work left takes. */
        double move_usd_per_s = weight * idle_usd(v, i) * v->work_per_s[i] / v->work_left;
        return v->usd_per_s[i] - p->usd_per_work * v->work_per_s[i] + move_usd_per_s;
    }
    case SCORE_END:
        break;
    }
    return idle_s(v, i) + v->work_left / v->work_per_s[i];
}

static size_t best(const struct market_policy *p,
                   const struct market_view *v,
                   enum score by,
                   bool only_in_time)
{
    size_t found = MARKET_NO_OFFER;
    double lowest = (double)INFINITY;
    /* Every score by rate or total is at least this many times the price of work there. Most offers
     * are far from the best: a product shows that. Rounding is left to the score. */
    double times = (by == SCORE_RATE ? 1 : by == SCORE_TOTAL ? v->work_left : 0) * (1 - 1e-12);

    for (size_t k = 0; k <= v->n_offers; k++) {
        /* The job's own offer first, so that no job moves for nothing. */
        size_t i = k ? k - 1 : v->offer;
        if (k && times > 0 && times * v->usd_per_s[i] > lowest * v->work_per_s[i])
            continue;
        if (i == MARKET_NO_OFFER || (k && i == v->offer) || !can_be(p, v, i) ||
            (only_in_time && !in_time(v, i)))
            continue;
        double s = score_of(p, v, by, i, lowest);
        if (s < lowest) {
            lowest = s;
            found = i;
        }
    }
    return found;
}

static struct market_action go_to(const struct market_view *v, size_t i)
{
    if (i == MARKET_NO_OFFER || i == v->offer)
        return (struct market_action){MARKET_STAY, v->offer};
    return (struct market_action){MARKET_TAKE, i};
}

/* The best by score that ends in time, or else what ends first. */
static struct market_action choose(const struct market_policy *p,
                                   const struct market_view *v,
                                   enum score by)
{
    bool hurried = isfinite(v->deadline_s);
    size_t i = best(p, v, by, hurried);

    if (i == MARKET_NO_OFFER && hurried)
        i = best(p, v, SCORE_END, false);
    return go_to(v, i);
}

/* ---- the policies ---- */

static struct market_action decide_static(const struct market_policy *p,
                                          const struct market_view *v)
{
    if (runs(v))
        return go_to(v, v->offer);
    if (v->offer_before != MARKET_NO_OFFER && can_be(p, v, v->offer_before))
        return go_to(v, v->offer_before);
    return go_to(v, best(p, v, SCORE_RATE, false));
}

/* Whether something would still end in time if it began at the next look and not now. */
static bool can_wait(const struct market_policy *p, const struct market_view *v)
{
    struct market_view later = *v;

    later.now_s = v->next_look_s;
    later.left = v->left || runs(v);
    later.offer = MARKET_NO_OFFER;
    for (size_t i = 0; i < v->n_offers; i++)
        if (can_be(p, &later, i) && in_time(&later, i))
            return true;
    return false;
}

static struct market_action decide_threshold(const struct market_policy *p,
                                             const struct market_view *v)
{
    size_t i = best(p, v, SCORE_SURPLUS, false);

    if (!can_wait(p, v))
        return choose(p, v, SCORE_TOTAL);
    if (i != MARKET_NO_OFFER && rate_of(v, i) <= p->usd_per_work)
        return go_to(v, i);
    return (struct market_action){runs(v) ? MARKET_PAUSE : MARKET_STAY, MARKET_NO_OFFER};
}

struct market_action market_decide(const struct market_policy *p, const struct market_view *v)
{
    switch (p->kind) {
    case MARKET_GREEDY:
        return choose(p, v, SCORE_RATE);
    case MARKET_MARGIN:
        return choose(p, v, SCORE_TOTAL);
    case MARKET_THRESHOLD:
        return decide_threshold(p, v);
    case MARKET_STATIC:
        break;
    }
    return decide_static(p, v);
}
