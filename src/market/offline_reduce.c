/* Which offers of a job no other offer dominates: computed once per job and shared by all its
 * offline problems. offline.c uses it. */
#include "market/internal.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

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
