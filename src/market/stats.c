#include "market/stats.h"

#include "base/mem.h"
#include "market/store.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Price lists and spot prices are rounded differently. */
#define AT_CAP 0.9995

struct market_stats market_stats_of(const struct market_offer *o, double on_demand_usd)
{
    struct market_stats s = {.min_usd = (double)NAN,
                             .max_usd = (double)NAN,
                             .on_demand_usd = on_demand_usd,
                             .covered_s = o->end_s - o->begin_s};
    double at_cap_s = 0;

    for (size_t i = 0; i < o->n_points; i++) {
        const struct market_point *p = &o->points[i];
        double until_s = i + 1 < o->n_points ? p[1].at_s : o->end_s;
        s.min_usd = fmin(s.min_usd, p->usd_per_hour); /* of NaN and a number, the number */
        s.max_usd = fmax(s.max_usd, p->usd_per_hour);
        s.changes += i && !market_same_price(p[-1].usd_per_hour, p->usd_per_hour);
        at_cap_s += p->usd_per_hour >= AT_CAP * on_demand_usd ? until_s - p->at_s : 0;
    }
    double paid_usd = market_cost_usd(o, o->begin_s, o->end_s, &s.sold_s);
    s.mean_usd = s.sold_s > 0 ? paid_usd / (s.sold_s / 3600) : s.min_usd;
    s.changes_per_day = s.covered_s > 0 ? (double)s.changes / (s.covered_s / 86400) : (double)NAN;
    s.reduction = on_demand_usd / s.min_usd;
    s.cap_share = s.sold_s > 0 && !isnan(on_demand_usd) ? at_cap_s / s.sold_s : (double)NAN;
    return s;
}

struct market_lives market_lives_of(const struct market_offer *o)
{
    struct market_lives l = {.n = o->n_spells};

    for (size_t i = 0; i < o->n_spells; i++) {
        double lived_s = o->spells[i].end_s - o->spells[i].begin_s;
        l.preempted += o->spells[i].ended > 0;
        l.watched_s += lived_s;
        l.longest_s = fmax(l.longest_s, lived_s);
    }
    l.preemptions_per_hour =
        l.watched_s > 0 ? (double)l.preempted / (l.watched_s / 3600) : (double)NAN;
    return l;
}

/* ---- the cheapest over time: all changes in order, and a tournament among the offers ---- */

struct change {
    double at_s, usd; /* per GPU; INFINITY = not for sale */
    uint32_t offer;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->at_s < y->at_s || x->at_s > y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return x->offer < y->offer ? -1 : x->offer > y->offer;
}

static struct change *changes_of(const struct market_offer *const *offers, size_t n, size_t *n_out)
{
    size_t total = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        total += offers[i]->n_points + 1;
    struct change *changes = mem_zero(total + 1, sizeof *changes);
    for (uint32_t i = 0; i < n; i++) {
        const struct market_offer *o = offers[i];
        if (!o->n_points || !(o->gpus > 0))
            continue;
        for (size_t k = 0; k < o->n_points; k++) {
            double usd = o->points[k].usd_per_hour;
            changes[at++] = (struct change){o->points[k].at_s,
                                            isnan(usd) ? (double)INFINITY : usd / o->gpus, i};
        }
        changes[at++] = (struct change){o->end_s, (double)INFINITY, i};
    }
    if (at)
        qsort(changes, at, sizeof *changes, compare_changes);
    *n_out = at;
    return changes;
}

/* Leaves are offers; each node knows the cheapest leaf below it. */
struct tournament {
    double *usd;      /* of each offer */
    uint32_t *winner; /* of 2 * size nodes; [1] is the root */
    size_t size;
};

static void play(struct tournament *t, uint32_t offer, double usd)
{
    t->usd[offer] = usd;
    for (size_t node = (t->size + offer) / 2; node; node /= 2) {
        uint32_t a = t->winner[2 * node], b = t->winner[2 * node + 1];
        t->winner[node] = t->usd[b] < t->usd[a] ? b : a;
    }
}

static void begin(struct tournament *t, size_t n)
{
    for (t->size = 1; t->size < n; t->size *= 2)
        ;
    t->usd = mem_zero(t->size, sizeof *t->usd);
    t->winner = mem_zero(2 * t->size, sizeof *t->winner);
    for (size_t i = 0; i < t->size; i++) {
        t->usd[i] = (double)INFINITY;
        t->winner[t->size + i] = (uint32_t)i;
    }
    for (size_t node = t->size - 1; node; node--)
        t->winner[node] = t->winner[2 * node];
}

struct market_cheapest *market_cheapest_of(const struct market_offer *const *offers,
                                           size_t n,
                                           size_t *n_out)
{
    size_t n_changes, found = 0, cap = 0;
    AUTO_MEM struct change *changes = changes_of(offers, n, &n_changes);
    struct market_cheapest *list = NULL;
    struct tournament t;

    begin(&t, n);
    for (size_t i = 0; i < n_changes;) {
        double at_s = changes[i].at_s;
        for (; i < n_changes && changes[i].at_s <= at_s; i++)
            play(&t, changes[i].offer, changes[i].usd);
        uint32_t best = t.winner[1];
        bool sold = t.usd[best] < (double)INFINITY;
        const struct market_offer *offer = sold ? offers[best] : NULL;
        struct market_cheapest *last = found ? &list[found - 1] : NULL;
        if (last && last->offer == offer &&
            (!sold || market_same_price(last->usd_per_gpu_hour, t.usd[best])))
            continue;
        if (last)
            last->to_s = at_s;
        list = mem_room(list, found, &cap, sizeof *list);
        list[found++] =
            (struct market_cheapest){at_s, at_s, offer, sold ? t.usd[best] : (double)NAN};
    }
    /* The last change is the end of the last history: nothing is for sale behind it. */
    while (found && !list[found - 1].offer)
        found--;
    free(t.usd);
    free(t.winner);
    *n_out = found;
    return list;
}
