#include "market/offline_parts.h"

#include <math.h>

#define PASSES_MAX 10
/* A bound this close to the best there is (in parts of it) is good enough. */
#define CLOSE_ENOUGH 2e-5

/* ---- one relaxation: work is worth `worth`, and the job may end whenever it likes ---- */

/* After the last step nobody is under way. */
static void relax_end(struct offline_frame *f)
{
    for (size_t a = 0, cell = f->n_steps * f->n_offers; a < f->n_offers; a++, cell++) {
        f->on[cell] = f->on_work[cell] = 0;
        f->on_act[cell] = OFFLINE_STAY;
    }
    for (size_t p = 0, cell = f->n_steps * f->n_places; p < f->n_places; p++, cell++) {
        f->off[cell] = (double)INFINITY;
        f->off_work[cell] = 0;
        f->off_act[cell] = OFFLINE_STAY;
    }
}

/* The best machine to begin with at each place, by the way the job comes there. */
static void relax_begin(struct offline_frame *f, size_t k)
{
    const struct market_switching *sw = &f->job->switching;
    const double start_s[OFFLINE_N_WAYS] = {sw->restart_s, sw->restart_s + sw->write_s,
                                            sw->restart_s + sw->write_s + sw->move_s};
    size_t row = k * f->n_offers;

    for (size_t x = 0; x < OFFLINE_N_WAYS * f->n_places; x++)
        f->best[x] = (struct offline_best){(double)INFINITY, 0, OFFLINE_STAY};
    for (size_t a = 0; a < f->n_offers; a++) {
        size_t cell = row + a, next = cell + f->n_offers;
        if (!f->can_start[cell]) {
            f->begin[cell] = (double)INFINITY;
            continue;
        }
        double later = f->step_usd[cell] + f->on[next];
        for (size_t w = 0; w < OFFLINE_N_WAYS; w++) {
            double rest_s = f->length_s[k] - start_s[w];
            double work = rest_s > 0 ? rest_s * f->speed[a] : 0;
            struct offline_best all = {later - f->worth * work, work + f->on_work[next],
                                       (uint32_t)a};
            /* Or it ends within this step: at best as soon as it works. */
            double idle_usd = f->step_usd[cell] / f->length_s[k] * start_s[w];
            if (f->may_end[k] && rest_s > 0 && idle_usd < all.value)
                all = (struct offline_best){idle_usd, 0, (uint32_t)a};
            struct offline_best *b = &f->best[w * f->n_places + f->place[a]];
            if (w == OFFLINE_FROM_NONE)
                f->begin[cell] = all.value;
            if (all.value < b->value)
                *b = all;
        }
    }
    for (size_t p = 0; p < f->n_places; p++)
        f->begin_place[k * f->n_places + p] = f->best[p].value;
}

/* The best of all places for a job whose checkpoint is at `from`. */
static struct offline_best relax_go(const struct offline_frame *f, size_t from, bool on)
{
    struct offline_best best = {(double)INFINITY, 0, OFFLINE_STAY};

    for (size_t to = 0; to + 1 < f->n_places; to++) {
        enum offline_way way = !on          ? OFFLINE_FROM_NONE
                               : to == from ? OFFLINE_FROM_HERE
                                            : OFFLINE_FROM_ELSEWHERE;
        const struct offline_best *b = &f->best[(size_t)way * f->n_places + to];
        double value = b->value + f->move_usd[from * f->n_places + to];
        if (value < best.value)
            best = (struct offline_best){value, b->work, b->offer};
    }
    return best;
}

static void relax_off(struct offline_frame *f, size_t k)
{
    for (size_t p = 0; p < f->n_places; p++) {
        size_t cell = k * f->n_places + p, next = cell + f->n_places;
        struct offline_best best = relax_go(f, p, false);
        if (f->may_wait[k] && f->off[next] < best.value)
            best = (struct offline_best){f->off[next], f->off_work[next], OFFLINE_STAY};
        f->off[cell] = best.value;
        f->off_work[cell] = best.work;
        f->off_act[cell] = best.offer;
    }
}

/* Who is on a machine may also be done: at the end of the step before or in this one. */
static void put_on(struct offline_frame *f, size_t k, size_t a, struct offline_best best)
{
    size_t cell = k * f->n_offers + a;
    bool done = (f->may_end[k] || (k && f->may_end[k - 1])) && !(best.value < 0);

    f->on_act[cell] = best.offer;
    f->on[cell] = done ? 0 : best.value;
    f->on_work[cell] = done ? 0 : best.work;
}

static void relax_on(struct offline_frame *f, size_t k)
{
    /* relax_go is the same for all machines of a place. */
    for (size_t p = 0; p + 1 < f->n_places; p++) {
        struct offline_best go = relax_go(f, p, true);
        size_t off = k * f->n_places + p, off_next = off + f->n_places;
        if (f->may_pause && f->off[off_next] < go.value)
            go = (struct offline_best){f->off[off_next], f->off_work[off_next], OFFLINE_LEAVE};
        f->best[p] = go;
    }
    for (size_t a = 0; a < f->n_offers; a++) {
        size_t cell = k * f->n_offers + a, next = cell + f->n_offers, p = f->place[a];
        size_t off = k * f->n_places + p;
        if (f->taken_back[cell]) {
            put_on(f, k, a, (struct offline_best){f->off[off], f->off_work[off], f->off_act[off]});
            continue;
        }
        double work = f->length_s[k] * f->speed[a];
        struct offline_best stay = {f->step_usd[cell] - f->worth * work + f->on[next],
                                    work + f->on_work[next], OFFLINE_STAY};
        /* Not for sale any more and not taken back yet: nobody is on it. */
        put_on(f, k, a, stay.value <= f->best[p].value ? stay : f->best[p]);
    }
}

static double relax(struct offline_frame *f, double worth, double *work_out)
{
    size_t root = f->n_places - 1;

    f->worth = worth;
    f->n_passes++;
    relax_end(f);
    for (size_t k = f->n_steps; k-- > 0;) {
        relax_begin(f, k);
        relax_off(f, k);
        relax_on(f, k);
    }
    *work_out = f->off_work[root];
    return f->off[root] + worth * f->q->work;
}

/* ---- the worth that gives the highest bound ---- */

/* The bound of one continuation as the worth varies: usd + worth * slope. */
struct line {
    double usd, slope;
};

/* The worth to try next, given the nearest lines that rise and that fall; a slope of 0 = none yet.
 */
static double next_worth(const struct line *rises, const struct line *falls, double worth)
{
    if (!(rises->slope > 0))
        return worth * 0.9;
    if (!(falls->slope < 0))
        return worth * 1.1;
    return (falls->usd - rises->usd) / (rises->slope - falls->slope);
}

double offline_bound(struct offline_frame *f, double first_worth, double enough)
{
    double wanted = f->q->work, worth = first_worth, work;
    double best = -(double)INFINITY, best_worth = worth;
    struct line rises = {0, 0}, falls = {0, 0};

    f->n_passes = 0;

    for (size_t pass = 0; pass < PASSES_MAX; pass++) {
        double bound = relax(f, worth, &work);
        if (!isfinite(bound) || bound > enough)
            return bound; /* infinite: there is no such way */
        if (bound > best) {
            best = bound;
            best_worth = worth;
        }
        struct line l = {bound - worth * (wanted - work), wanted - work};
        if (!(fabs(l.slope) > 1e-9 * wanted))
            break;
        if (l.slope > 0)
            rises = l;
        else
            falls = l;
        worth = next_worth(&rises, &falls, worth);
        double most = rises.usd + worth * rises.slope;
        if (rises.slope > 0 && falls.slope < 0 && !(most - best > CLOSE_ENOUGH * best))
            break;
    }
    if (fabs(f->worth - best_worth) > 0)
        best = relax(f, best_worth, &work);
    return best;
}
