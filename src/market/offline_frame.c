#include "market/offline_parts.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static void *resize(void *p, size_t n, size_t size)
{
    return mem_grow(p, n ? n : 1, size);
}

/* Whether having b is never worse than having a: the same place and speed, never dearer, to be had
 * whenever a is, and taken back when a is: a job that loses its machine may wait. */
static bool dominates(const struct offline_frame *f, size_t b, size_t a)
{
    const struct market_scene *s = f->scene;
    size_t n = s->n_offers, row = f->q->start * n;

    if (s->place[a] != s->place[b] || fabs(f->job->speed[a] - f->job->speed[b]) > 0 ||
        s->lease_max_s[b] < s->lease_max_s[a])
        return false;
    for (size_t k = 0; k < f->n_steps; k++, row += n) {
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

static void pick_offers(struct offline_frame *f)
{
    const struct market_scene *s = f->scene;
    size_t n = 0;

    f->offers = resize(f->offers, s->n_offers, sizeof *f->offers);
    for (size_t a = 0; a < s->n_offers; a++) {
        bool needed = f->job->speed[a] > 0;
        for (size_t c = 0; c < n && needed; c++)
            needed = !dominates(f, f->offers[c], a);
        if (!needed)
            continue;
        /* It may make some that were kept superfluous. */
        size_t kept = 0;
        for (size_t c = 0; c < n; c++)
            if (!dominates(f, a, f->offers[c]))
                f->offers[kept++] = f->offers[c];
        f->offers[kept++] = a;
        n = kept;
    }
    f->n_offers = n;
}

static void copy_offers(struct offline_frame *f)
{
    f->place = resize(f->place, f->n_offers, sizeof *f->place);
    f->speed = resize(f->speed, f->n_offers, sizeof *f->speed);
    for (size_t a = 0; a < f->n_offers; a++) {
        f->place[a] = f->scene->place[f->offers[a]];
        f->speed[a] = f->job->speed[f->offers[a]];
    }
}

static void copy_moves(struct offline_frame *f)
{
    const struct market_switching *sw = &f->job->switching;
    size_t n = f->n_places = sw->n_places + 1;

    f->move_usd = resize(f->move_usd, n * n, sizeof *f->move_usd);
    f->best = resize(f->best, n * OFFLINE_N_WAYS, sizeof *f->best);
    for (size_t p = 0; p < n; p++)
        for (size_t to = 0; to < n; to++)
            f->move_usd[p * n + to] =
                p + 1 < n && to + 1 < n ? market_move_usd(sw, (uint32_t)p, (uint32_t)to) : 0;
}

static void copy_steps(struct offline_frame *f)
{
    const struct market_scene *s = f->scene;
    size_t cells = f->n_steps * f->n_offers;

    f->step_usd = resize(f->step_usd, cells, sizeof *f->step_usd);
    f->can_start = resize(f->can_start, cells, 1);
    f->taken_back = resize(f->taken_back, cells, 1);
    f->length_s = resize(f->length_s, f->n_steps, sizeof *f->length_s);
    f->may_wait = resize(f->may_wait, f->n_steps, sizeof *f->may_wait);
    for (size_t k = 0; k < f->n_steps; k++) {
        size_t event = f->q->start + k, row = event * s->n_offers;
        double end_s = fmin(s->at_s[event + 1], f->q->deadline_s);
        f->length_s[k] = end_s - s->at_s[event];
        f->may_wait[k] = f->may_pause || s->scarce[event];
        for (size_t a = 0; a < f->n_offers; a++) {
            size_t i = row + f->offers[a], cell = k * f->n_offers + a;
            f->step_usd[cell] = s->usd_per_s[i] * f->length_s[k];
            f->can_start[cell] = s->can_start[i];
            f->taken_back[cell] = s->taken_back[i];
        }
    }
}

static void make_room(struct offline_frame *f)
{
    size_t on = (f->n_steps + 1) * f->n_offers, off = (f->n_steps + 1) * f->n_places;

    if (on > f->cells_on) {
        f->cells_on = on;
        f->on = resize(f->on, on, sizeof *f->on);
        f->on_work = resize(f->on_work, on, sizeof *f->on_work);
        f->on_act = resize(f->on_act, on, sizeof *f->on_act);
        f->begin = resize(f->begin, on, sizeof *f->begin);
    }
    if (off > f->cells_off) {
        f->cells_off = off;
        f->off = resize(f->off, off, sizeof *f->off);
        f->off_work = resize(f->off_work, off, sizeof *f->off_work);
        f->off_act = resize(f->off_act, off, sizeof *f->off_act);
        f->begin_place = resize(f->begin_place, off, sizeof *f->begin_place);
    }
}

/* What a second costs at least beyond what its work is worth, for a job that goes on. */
static double least_per_s(const struct offline_frame *f, size_t event, double worth)
{
    const struct market_scene *s = f->scene;
    double least = f->may_pause || s->scarce[event] ? 0 : (double)INFINITY;

    for (size_t c = 0; c < s->n_classes; c++) {
        double speed = f->job->speed[s->class_offer[c]];
        double usd = s->class_usd_per_s[event * s->n_classes + c] - worth * speed;
        if (speed > 0 && usd < least)
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
    double works_s = s->at_s[f->q->start] + f->job->switching.restart_s; /* nobody earlier */
    size_t last = 0;

    for (size_t k = 0; k < n; k++) {
        size_t event = f->q->start + k;
        double step_s = fmin(s->at_s[event + 1], f->q->deadline_s) - s->at_s[event];
        double idle_s = fmin(step_s, fmax(0, works_s - s->at_s[event]));
        double idle_usd = idle_s > 0 ? least_per_s(f, event, 0) * idle_s : 0;
        double step_usd = idle_usd + least_per_s(f, event, worth) * (step_s - idle_s);
        if (usd + fmin(idle_usd, step_usd) > upper_usd)
            f->can_end[k] = false;
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
    f->can_end = resize(f->can_end, n, sizeof *f->can_end);
    f->may_end = resize(f->may_end, n, sizeof *f->may_end);
    rule_out_early(f, n);
    for (size_t i = 0; isfinite(upper_usd) && i < sizeof tried / sizeof *tried; i++)
        n = rule_out_ends(f, n, tried[i] * upper_usd / f->q->work, upper_usd);
    return n;
}

void offline_frame_set(struct offline_frame *f,
                       const struct market_offline_question *q,
                       double upper_usd)
{
    const struct market_scene *s = q->job->scene;
    double end_s = fmin(q->deadline_s, s->at_s[s->n_events - 1]);
    size_t end = market_scene_event(s, end_s);

    f->q = q;
    f->job = q->job;
    f->scene = s;
    f->may_pause = isfinite(q->deadline_s);
    if (s->at_s[end] < end_s)
        end++; /* it ends within a step */
    f->n_steps = end > q->start ? mark_ends(f, end - q->start, upper_usd) : 0;
    f->all_steps = f->n_steps;
    pick_offers(f);
    copy_offers(f);
    copy_moves(f);
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
    free(f->offers);
    free(f->place);
    free(f->speed);
    free(f->length_s);
    free(f->step_usd);
    free(f->can_start);
    free(f->taken_back);
    free(f->may_wait);
    free(f->can_end);
    free(f->may_end);
    free(f->move_usd);
    free(f->on);
    free(f->off);
    free(f->on_work);
    free(f->off_work);
    free(f->on_act);
    free(f->off_act);
    free(f->begin);
    free(f->begin_place);
    free(f->best);
    *f = (struct offline_frame){0};
}
