/* The relaxation of the offline problem: a dynamic program over steps and offers for one
 * multiplier, and the multiplier that gives the highest lower bound. offline.c calls it. */
#include "market/internal.h"

#include <math.h>
#include <string.h>

#define PASSES_MAX 10
/* A bound this close to the best there is (in parts of it) is good enough. */
#define CLOSE_ENOUGH 2e-5

static inline double least(double a, double b)
{
    return a < b ? a : b;
}

/* How long a machine takes until it works. */
static double start_s(const struct offline_frame *f, enum offline_way way)
{
    const struct market_switching *sw = &f->job->switching;

    return sw->restart_s + (way == OFFLINE_FROM_NONE ? 0 : sw->write_s) +
           (way == OFFLINE_FROM_ELSEWHERE ? sw->move_s : 0);
}

static enum offline_way way_of(size_t from, size_t to, bool on)
{
    if (!on)
        return OFFLINE_FROM_NONE;
    return to == from ? OFFLINE_FROM_HERE : OFFLINE_FROM_ELSEWHERE;
}

/* ---- one relaxation: work is worth `worth`, and the job may end whenever it likes ---- */

/* After the last step no job is under way. */
static void relax_end(struct offline_frame *f)
{
    double *off = f->v.off + f->n_steps * f->n_places;

    memset(f->v.on + f->n_steps * f->n_offers, 0, f->n_offers * sizeof *f->v.on);
    for (size_t p = 0; p < f->n_places; p++)
        off[p] = OFFLINE_NEVER;
}

static double lowest(const double of[OFFLINE_LANES])
{
    return least(least(of[0], of[1]), least(of[2], of[3]));
}

/* Of the machines a .. end at one place: the least of beginning there, by the way. */
static void relax_place(const struct offline_frame *f,
                        const double rest_s[OFFLINE_N_WAYS],
                        size_t a,
                        size_t end,
                        double out[OFFLINE_N_WAYS])
{
    const double *restrict later = f->later, *restrict worth = f->worth_per_s;
    double none[OFFLINE_LANES], here[OFFLINE_LANES], elsewhere[OFFLINE_LANES];

    for (size_t i = 0; i < OFFLINE_LANES; i++)
        none[i] = here[i] = elsewhere[i] = OFFLINE_NEVER;
    for (; a < end; a += OFFLINE_LANES)
        for (size_t i = 0; i < OFFLINE_LANES; i++) {
            none[i] = least(none[i], later[a + i] - rest_s[0] * worth[a + i]);
            here[i] = least(here[i], later[a + i] - rest_s[1] * worth[a + i]);
            elsewhere[i] = least(elsewhere[i], later[a + i] - rest_s[2] * worth[a + i]);
        }
    out[OFFLINE_FROM_NONE] = lowest(none);
    out[OFFLINE_FROM_HERE] = lowest(here);
    out[OFFLINE_FROM_ELSEWHERE] = lowest(elsewhere);
}

/* Or it ends within this step: at best as soon as it works. */
static void relax_ends(const struct offline_frame *f, size_t k)
{
    const double *usd = offline_step_usd(f, k);

    for (size_t p = 0; p + 1 < f->n_places; p++) {
        double low = OFFLINE_NEVER;
        for (size_t a = f->reduced->first[p]; a < f->reduced->first[p + 1]; a++)
            if (f->later[a] < OFFLINE_NEVER / 2)
                low = least(low, usd[a]);
        for (size_t w = 0; w < OFFLINE_N_WAYS && low < OFFLINE_NEVER; w++) {
            double *best = &f->best[w * f->n_places + p], idle_s = start_s(f, (enum offline_way)w);
            if (f->length_s[k] > idle_s)
                *best = least(*best, low / f->length_s[k] * idle_s);
        }
    }
}

static void relax_begin(struct offline_frame *f, size_t k)
{
    double rest_s[OFFLINE_N_WAYS], of[OFFLINE_N_WAYS];

    for (size_t w = 0; w < OFFLINE_N_WAYS; w++) {
        double left_s = f->length_s[k] - start_s(f, (enum offline_way)w);
        rest_s[w] = left_s > 0 ? left_s : 0;
    }
    for (size_t p = 0; p + 1 < f->n_places; p++) {
        relax_place(f, rest_s, f->reduced->first[p], f->reduced->first[p + 1], of);
        for (size_t w = 0; w < OFFLINE_N_WAYS; w++)
            f->best[w * f->n_places + p] = of[w];
    }
    if (f->may_end[k])
        relax_ends(f, k);
    memcpy(f->v.begin + k * f->n_places, f->best, f->n_places * sizeof *f->best);
}

/* The best of all places for a job whose checkpoint is at `from`. */
static double relax_go(const struct offline_frame *f, size_t from, bool on)
{
    const double *move_usd = f->reduced->move_usd + from * f->n_places;
    double low = OFFLINE_NEVER;

    for (size_t to = 0; to + 1 < f->n_places; to++)
        low = least(low, f->best[(size_t)way_of(from, to, on) * f->n_places + to] + move_usd[to]);
    return low;
}

static void relax_places(struct offline_frame *f, size_t k)
{
    double *off = f->v.off + k * f->n_places, *go = f->v.go + k * f->n_places;
    const double *wait = off + f->n_places;

    for (size_t p = 0; p < f->n_places; p++) {
        off[p] = relax_go(f, p, false);
        go[p] = relax_go(f, p, true);
        if (f->may_wait[k])
            off[p] = least(off[p], wait[p]);
        if (f->may_pause)
            go[p] = least(go[p], wait[p]);
    }
}

/* Who is on a machine may also be done: at the end of the step before or in this one. */
static bool may_be_done(const struct offline_frame *f, size_t k)
{
    return f->may_end[k] || (k && f->may_end[k - 1]);
}

static void relax_on(struct offline_frame *f, size_t k)
{
    const double *restrict later = f->later, *restrict worth = f->worth_per_s;
    const double *off = f->v.off + k * f->n_places, *go = f->v.go + k * f->n_places;
    const struct offline_list *taken = &f->reduced->taken;
    double *restrict on = f->v.on + k * f->n_offers;
    double length_s = f->length_s[k], done = may_be_done(f, k) ? 0 : OFFLINE_NEVER;
    size_t event = f->q->start + k;

    for (size_t p = 0; p + 1 < f->n_places; p++) {
        double leave = least(go[p], done);
        for (size_t a = f->reduced->first[p]; a < f->reduced->first[p + 1]; a += OFFLINE_LANES)
            for (size_t i = 0; i < OFFLINE_LANES; i++)
                on[a + i] = least(later[a + i] - length_s * worth[a + i], leave);
    }
    for (size_t i = taken->first[event]; i < taken->first[event + 1]; i++)
        on[taken->list[i]] = least(off[f->reduced->place[taken->list[i]]], done);
}

static void relax_step(struct offline_frame *f, size_t k)
{
    const struct offline_list *refused = &f->reduced->refused;
    const double *restrict usd = offline_step_usd(f, k);
    const double *restrict next = f->v.on + (k + 1) * f->n_offers;
    double *restrict later = f->later;
    size_t event = f->q->start + k;

    for (size_t a = 0; a < f->n_offers; a++)
        later[a] = usd[a] + next[a];
    for (size_t i = refused->first[event]; i < refused->first[event + 1]; i++)
        later[refused->list[i]] = OFFLINE_NEVER;
    relax_begin(f, k);
    for (size_t i = refused->first[event]; i < refused->first[event + 1]; i++)
        later[refused->list[i]] = usd[refused->list[i]] + next[refused->list[i]];
    relax_places(f, k);
    relax_on(f, k);
}

/* ---- what it does ---- */

/* Beginning, to go on after this step. */
static double begin_later(const struct offline_frame *f, size_t k, size_t a, enum offline_way way)
{
    double rest_s = f->length_s[k] - start_s(f, way);
    double later = offline_step_usd(f, k)[a] + f->v.on[(k + 1) * f->n_offers + a];

    return rest_s > 0 ? later - rest_s * f->worth_per_s[a] : later;
}

/* Or to end in it. */
static double begin_end(const struct offline_frame *f, size_t k, size_t a, enum offline_way way)
{
    double idle_s = start_s(f, way);

    if (!f->may_end[k] || !(f->length_s[k] > idle_s))
        return OFFLINE_NEVER;
    return offline_step_usd(f, k)[a] / f->length_s[k] * idle_s;
}

static double begin_usd(const struct offline_frame *f, size_t k, size_t a, enum offline_way way)
{
    if (!offline_can_start(f, k, a))
        return OFFLINE_NEVER;
    return least(begin_later(f, k, a, way), begin_end(f, k, a, way));
}

double offline_begin_usd(const struct offline_frame *f, size_t k, size_t a)
{
    return begin_usd(f, k, a, OFFLINE_FROM_NONE);
}

/* The cheapest machine to begin with. */
static uint32_t begins_with(const struct offline_frame *f, size_t k, size_t from, bool on)
{
    double low = OFFLINE_NEVER;
    uint32_t found = OFFLINE_STAY;

    for (size_t a = 0; a < f->n_offers; a++) {
        size_t p = f->reduced->place[a];
        double usd =
            begin_usd(f, k, a, way_of(from, p, on)) + f->reduced->move_usd[from * f->n_places + p];
        if (usd < low) {
            low = usd;
            found = (uint32_t)a;
        }
    }
    return found;
}

uint32_t offline_act_off(const struct offline_frame *f, size_t k, size_t p)
{
    double wait = f->may_wait[k] ? f->v.off[(k + 1) * f->n_places + p] : OFFLINE_NEVER;

    /* Equal to it, rather: that is the least of all. */
    if (wait <= f->v.off[k * f->n_places + p])
        return OFFLINE_STAY;
    return begins_with(f, k, p, false);
}

uint32_t offline_act_on(const struct offline_frame *f, size_t k, size_t a)
{
    size_t p = f->reduced->place[a];
    double stay = offline_step_usd(f, k)[a] + f->v.on[(k + 1) * f->n_offers + a] -
                  f->length_s[k] * f->worth_per_s[a];
    double go = f->v.go[k * f->n_places + p];

    if (offline_taken_back(f, k, a))
        return offline_act_off(f, k, p);
    /* Not for sale any more and not taken back yet: no job is on it. */
    if (stay <= go)
        return OFFLINE_STAY;
    if (f->may_pause && f->v.off[(k + 1) * f->n_places + p] <= go)
        return OFFLINE_LEAVE;
    return begins_with(f, k, p, true);
}

/* The work of its way from the first step. */
static double relaxed_work(const struct offline_frame *f)
{
    uint32_t a = OFFLINE_LEAVE; /* without a machine */
    size_t place = f->n_places - 1;
    double work = 0;

    for (size_t k = 0; k < f->n_steps; k++) {
        bool has_one = a != OFFLINE_LEAVE;
        if (has_one && may_be_done(f, k) && !(f->v.on[k * f->n_offers + a] < 0))
            return work;
        bool on = has_one && !offline_taken_back(f, k, a);
        uint32_t act = on ? offline_act_on(f, k, a) : offline_act_off(f, k, place);
        double rest_s = f->length_s[k];
        if (act == OFFLINE_LEAVE || (act == OFFLINE_STAY && !on)) {
            a = OFFLINE_LEAVE;
            continue;
        }
        if (act != OFFLINE_STAY) {
            enum offline_way way = way_of(place, f->reduced->place[act], on);
            a = act;
            place = f->reduced->place[a];
            rest_s -= start_s(f, way);
            if (begin_end(f, k, a, way) < begin_later(f, k, a, way))
                return work;
        }
        work += rest_s > 0 ? rest_s * f->reduced->speed[a] : 0;
    }
    return work;
}

/* One relaxation: its bound, and the work of its way. */
static double relax(struct offline_frame *f, double worth, double *work_out)
{
    f->worth = worth;
    f->n_passes++;
    for (size_t a = 0; a < f->n_offers; a++)
        f->worth_per_s[a] = worth * f->reduced->speed[a];
    relax_end(f);
    for (size_t k = f->n_steps; k-- > 0;)
        relax_step(f, k);
    *work_out = relaxed_work(f);
    return f->v.off[f->n_places - 1] + worth * f->q->work;
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
        if (bound >= OFFLINE_NEVER / 2 || bound > enough)
            return bound; /* never: there is no such way */
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
