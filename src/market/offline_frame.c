/* What the relaxation of an offline problem works on: the offers that matter, and the prices,
 * speeds and preemptions of one question in steps. offline.c makes it. */
#include "base/arena.h"
#include "base/mem.h"
#include "market/internal.h"

#include <math.h>
#include <stdlib.h>

/* ---- the offers that no other offer dominates: once per job, for all its questions ---- */

/* Whether having b is never worse than having a: the same place and speed, never more expensive, to
 * be had whenever a is, and taken back when a is: a job that loses its machine may wait. */
static bool dominates(const struct market_job *j, size_t b, size_t a)
{
    const struct market_scene *s = j->scene;
    size_t n = s->n_offers, row = 0;

    if (s->place[a] != s->place[b] || fabs(j->speed[a] - j->speed[b]) > 0 ||
        s->lease_max_s[b] < s->lease_max_s[a])
        return false;
    for (size_t k = 0; k + 1 < s->n_events; k++, row += n) {
        if (s->taken_back[row + b] != s->taken_back[row + a])
            return false;
        if (isnan(s->usd_per_s[row + a]))
            continue;
        if (!(s->usd_per_s[row + b] <= s->usd_per_s[row + a]) ||
            s->can_start[row + b] < s->can_start[row + a])
            return false;
    }
    return true;
}

/* Those that can matter; how many. */
static size_t pick_offers(const struct market_job *j, size_t *offers)
{
    size_t n = 0;

    for (size_t a = 0; a < j->scene->n_offers; a++) {
        bool needed = j->speed[a] > 0;
        for (size_t c = 0; c < n && needed; c++)
            needed = !dominates(j, offers[c], a);
        if (!needed)
            continue;
        /* It may make some that were kept superfluous. */
        size_t kept = 0;
        for (size_t c = 0; c < n; c++)
            if (!dominates(j, a, offers[c]))
                offers[kept++] = offers[c];
        offers[kept++] = a;
        n = kept;
    }
    return n;
}

/* Sorts them by place, whole lanes of each. */
static void place_offers(struct market_reduced *g, const size_t *picked, size_t n_picked)
{
    const struct market_scene *s = g->job->scene;
    size_t most = n_picked + g->n_places * (OFFLINE_LANES - 1), n = 0;

    g->offers = arena_zero(g->arena, most + 1, sizeof *g->offers);
    g->place = arena_zero(g->arena, most + 1, sizeof *g->place);
    g->speed = arena_zero(g->arena, most + 1, sizeof *g->speed);
    g->first = arena_zero(g->arena, g->n_places, sizeof *g->first);
    for (size_t p = 0; p + 1 < g->n_places; p++) {
        g->first[p] = n;
        for (size_t c = 0; c < n_picked; c++)
            if (s->place[picked[c]] == p)
                g->offers[n++] = picked[c];
        while (n % OFFLINE_LANES != 0)
            g->offers[n++] = MARKET_NO_OFFER;
        for (size_t a = g->first[p]; a < n; a++) {
            g->place[a] = (uint32_t)p;
            g->speed[a] = g->offers[a] == MARKET_NO_OFFER ? 0 : g->job->speed[g->offers[a]];
        }
    }
    g->first[g->n_places - 1] = g->n_offers = n;
}

static void fill_moves(struct market_reduced *g)
{
    size_t n = g->n_places;

    g->move_usd = arena_zero(g->arena, n * n, sizeof *g->move_usd);
    for (size_t p = 0; p + 1 < n; p++)
        for (size_t to = 0; to + 1 < n; to++)
            g->move_usd[p * n + to] =
                market_move_usd(&g->job->switching, (uint32_t)p, (uint32_t)to);
}

static void list_add(struct offline_list *l, size_t a)
{
    l->list = mem_room(l->list, l->n, &l->cap, sizeof *l->list);
    l->list[l->n++] = (uint32_t)a;
}

static void fill_event(struct market_reduced *g, size_t event)
{
    const struct market_scene *s = g->job->scene;
    double length_s = s->at_s[event + 1] - s->at_s[event];
    double *step_usd = g->step_usd + event * g->n_offers;

    for (size_t a = 0; a < g->n_offers; a++) {
        step_usd[a] = OFFLINE_NEVER;
        if (g->offers[a] == MARKET_NO_OFFER)
            continue;
        size_t i = event * s->n_offers + g->offers[a];
        bool sold = !isnan(s->usd_per_s[i]);
        if (sold)
            step_usd[a] = s->usd_per_s[i] * length_s;
        if (sold && !s->can_start[i])
            list_add(&g->refused, a);
        if (s->taken_back[i])
            list_add(&g->taken, a);
    }
}

static void fill_events(struct market_reduced *g)
{
    size_t n = g->job->scene->n_events;

    g->step_usd = arena_zero(g->arena, n * g->n_offers + 1, sizeof *g->step_usd);
    g->taken.first = arena_zero(g->arena, n + 1, sizeof *g->taken.first);
    g->refused.first = arena_zero(g->arena, n + 1, sizeof *g->refused.first);
    for (size_t k = 0; k + 1 < n; k++) {
        fill_event(g, k);
        g->taken.first[k + 1] = g->taken.n;
        g->refused.first[k + 1] = g->refused.n;
    }
}

struct market_reduced *market_reduced_new(const struct market_job *job)
{
    struct market_reduced *g = mem_zero(1, sizeof *g);
    AUTO_MEM size_t *picked = mem_zero(job->scene->n_offers + 1, sizeof *picked);

    g->arena = arena_new(SIZE_MAX);
    g->job = job;
    g->n_places = job->switching.n_places + 1;
    place_offers(g, picked, pick_offers(job, picked));
    fill_moves(g);
    fill_events(g);
    return g;
}

void market_reduced_free(struct market_reduced *g)
{
    if (!g)
        return;
    free(g->taken.list);
    free(g->refused.list);
    arena_free(g->arena);
    free(g);
}

/* ---- the steps of one question ---- */

static void copy_steps(struct offline_frame *f)
{
    const struct market_scene *s = f->scene;
    size_t n = f->n_steps, last = f->q->start + n - 1;

    f->length_s = mem_grow(f->length_s, n, sizeof *f->length_s);
    f->may_wait = mem_grow(f->may_wait, n, sizeof *f->may_wait);
    f->cut_usd = mem_grow(f->cut_usd, f->n_offers, sizeof *f->cut_usd);
    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++) {
        size_t event = f->q->start + k;
        f->length_s[k] = fmin(s->at_s[event + 1], f->q->deadline_s) - s->at_s[event];
        f->may_wait[k] = f->may_pause || s->scarce[event];
    }
    double part = f->length_s[n - 1] / (s->at_s[last + 1] - s->at_s[last]);
    for (size_t a = 0; a < f->n_offers; a++) {
        double usd = f->reduced->step_usd[last * f->n_offers + a];
        f->cut_usd[a] = usd < OFFLINE_NEVER ? part * usd : usd;
    }
}

static void make_room(struct offline_frame *f)
{
    size_t on = (f->n_steps + 1) * f->n_offers, off = (f->n_steps + 1) * f->n_places;

    f->worth_per_s = mem_grow(f->worth_per_s, f->n_offers, sizeof *f->worth_per_s);
    f->later = mem_grow(f->later, f->n_offers, sizeof *f->later);
    f->best = mem_grow(f->best, f->n_places * OFFLINE_N_WAYS, sizeof *f->best);
    if (on > f->cells_on) {
        f->cells_on = on;
        f->v.on = mem_grow(f->v.on, on, sizeof *f->v.on);
    }
    if (off > f->cells_off) {
        f->cells_off = off;
        f->v.off = mem_grow(f->v.off, off, sizeof *f->v.off);
        f->v.go = mem_grow(f->v.go, off, sizeof *f->v.go);
        f->v.begin = mem_grow(f->v.begin, off, sizeof *f->v.begin);
    }
}

/* What a second costs at least beyond what its work is worth, for a job that goes on. */
static double least_per_s(const struct offline_frame *f, size_t event, double worth)
{
    const struct market_scene *s = f->scene;
    const double *usd_per_s = s->class_usd_per_s + event * s->n_classes;
    double least = f->may_pause || s->scarce[event] ? 0 : (double)INFINITY;

    for (size_t c = 0; c < s->n_classes; c++) {
        double usd = usd_per_s[c] - worth * f->class_speed[c];
        if (usd < least && f->class_speed[c] > 0)
            least = usd;
    }
    return least;
}

/* Worths that are tried, in parts of what the work costs at most. Each gives a bound for all ends.
 */
static const double tried[] = {0, 0.5, 0.65, 0.75, 0.83, 0.9, 0.96, 1.02, 1.1, 1.25};

/* A way that ends in a step is under way in all those before: it costs at least worth * work and
 * the sum of least_per_s up to there. Returns how many steps are left. */
static size_t rule_out_ends(struct offline_frame *f, size_t n, double worth, double upper_usd)
{
    const struct market_scene *s = f->scene;
    double usd = worth * f->q->work;
    double works_s = s->at_s[f->q->start] + f->job->switching.restart_s; /* no job earlier */
    size_t last = 0;

    for (size_t k = 0; k < n; k++) {
        size_t event = f->q->start + k;
        double begin_s = s->at_s[event], end_s = s->at_s[event + 1], idle_usd = 0;
        if (end_s > f->q->deadline_s)
            end_s = f->q->deadline_s;
        if (begin_s < works_s) {
            double until_s = works_s < end_s ? works_s : end_s;
            idle_usd = least_per_s(f, event, 0) * (until_s - begin_s);
            begin_s = until_s;
        }
        double step_usd = idle_usd;
        if (begin_s < end_s)
            step_usd += least_per_s(f, event, worth) * (end_s - begin_s);
        if (usd + (idle_usd < step_usd ? idle_usd : step_usd) > upper_usd) {
            if (!(worth > 0))
                break; /* nor in any later one: nothing makes up for what was paid */
            f->can_end[k] = false;
        }
        if (f->can_end[k])
            last = k + 1;
        usd += step_usd;
    }
    return last;
}

/* Nor can it end before the fastest machine could be done. */
static void rule_out_early(struct offline_frame *f, size_t n)
{
    const struct market_scene *s = f->scene;
    double fastest = 0, works_s = s->at_s[f->q->start] + f->job->switching.restart_s;

    for (size_t i = 0; i < s->n_offers; i++)
        fastest = fmax(fastest, f->job->speed[i]);
    for (size_t k = 0; k < n; k++)
        f->can_end[k] =
            (s->at_s[f->q->start + k + 1] - works_s) * fastest >= f->q->work * (1 - 1e-12);
}

/* The steps in which a way of at most upper_usd can end; how many there are up to the last one. */
static size_t mark_ends(struct offline_frame *f, size_t n, double upper_usd)
{
    const struct market_scene *s = f->scene;

    f->class_speed = mem_grow(f->class_speed, s->n_classes, sizeof *f->class_speed);
    for (size_t c = 0; c < s->n_classes; c++)
        f->class_speed[c] = f->job->speed[s->class_offer[c]];
    f->can_end = mem_grow(f->can_end, n, sizeof *f->can_end);
    f->may_end = mem_grow(f->may_end, n, sizeof *f->may_end);
    rule_out_early(f, n);
    for (size_t i = 0; isfinite(upper_usd) && i < sizeof tried / sizeof *tried; i++)
        n = rule_out_ends(f, n, tried[i] * upper_usd / f->q->work, upper_usd);
    return n;
}

void offline_frame_set(struct offline_frame *f,
                       const struct market_offline_question *q,
                       const struct market_reduced *reduced,
                       double upper_usd)
{
    const struct market_scene *s = q->job->scene;
    double end_s = fmin(q->deadline_s, s->at_s[s->n_events - 1]);
    size_t end = market_scene_event(s, end_s);

    f->q = q;
    f->job = q->job;
    f->scene = s;
    f->reduced = reduced;
    f->n_offers = reduced->n_offers;
    f->n_places = reduced->n_places;
    f->may_pause = isfinite(q->deadline_s);
    if (s->at_s[end] < end_s)
        end++; /* it ends within a step */
    f->n_steps = end > q->start ? mark_ends(f, end - q->start, upper_usd) : 0;
    f->all_steps = f->n_steps;
    copy_steps(f);
    make_room(f);
}

void offline_frame_part(struct offline_frame *f, size_t from, size_t to)
{
    for (size_t k = 0; k <= to; k++)
        f->may_end[k] = k >= from && f->can_end[k];
    f->n_steps = to + 1;
}

void offline_frame_clear(struct offline_frame *f)
{
    free(f->length_s);
    free(f->cut_usd);
    free(f->may_wait);
    free(f->class_speed);
    free(f->can_end);
    free(f->may_end);
    free(f->worth_per_s);
    free(f->v.on);
    free(f->v.off);
    free(f->v.go);
    free(f->v.begin);
    free(f->later);
    free(f->best);
    *f = (struct offline_frame){0};
}
