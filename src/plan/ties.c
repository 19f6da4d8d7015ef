/* Tie-breaking between plans of the same cost and time: the plan to return is the first when stages
 * are compared in file order by the bytes of (cloud, region, type, market, zone). Stages are
 * settled one after the other; a choice that comes before the known plan's is taken if some plan
 * with the same totals uses it. plan.c calls it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ties {
    /* The question, with the sites that plans with these totals may use; settled stages have one.
     * Choices that are not among the sites' own live in the arena. */
    struct ask ask;
    const struct plan_problem *p;
    struct solution *known;
    struct view view; /* of the domain as it was at first: bounds per site */
    struct goal box;  /* equal totals mean equal cost and time, whatever the objective */
    struct incumbent incumbent;
    size_t *questions; /* that may still be asked of the exact solver */
};

/* Choices of one stage at the sites still possible that can keep the totals. */
struct candidates {
    const struct ties *ties;
    size_t stage;
    struct pick *items;
    size_t n, cap;
};

static const struct frame_var *var_of(const struct ties *t, size_t stage)
{
    return &t->view.frame->vars[t->view.frame->var_of_stage[stage]];
}

static const struct frame_site *frame_site_at(const struct frame_var *v,
                                              size_t place,
                                              size_t *index)
{
    for (size_t k = 0; k < v->n_sites; k++)
        if (v->sites[k].site->place == place) {
            *index = k;
            return &v->sites[k];
        }
    return NULL;
}

/* How much the choice adds to a pass over the best option of its site, at the level where that
 * is least; INFINITY when it fits no level. */
static double least_extra(const struct ties *t,
                          const struct frame_var *v,
                          const struct frame_site *fs,
                          const struct choice *c,
                          double lambda)
{
    size_t var = (size_t)(v - t->view.frame->vars);
    double cost_weight = isinf(lambda) ? 0 : 1;
    double time_weight = t->view.path_weight[var] * (isinf(lambda) ? 1 : lambda);
    double least = (double)INFINITY;

    for (size_t l = 0; l < fs->n_levels; l++) {
        const struct level *level = &fs->levels[l];
        struct outcome o;
        double best = (double)INFINITY;
        if (!costmodel_outcome(v->stage, fs->site, c, level->input_s, &o))
            continue;
        for (size_t i = 0; i < level->n_options; i++)
            best = fmin(best, cost_weight * (double)level->options[i].microusd +
                                  time_weight * (double)level->options[i].ns[t->view.layer]);
        /* Options carry the site's fixed costs, outcomes do not. */
        int64_t fixed = 0;
        if (level->n_options) {
            struct outcome first;
            costmodel_outcome(v->stage, fs->site, level->options[0].choice, level->input_s, &first);
            fixed = level->options[0].microusd - first.compute_microusd;
        }
        double mine = cost_weight * (double)(o.compute_microusd + fixed) +
                      time_weight * (double)o.duration_ns[t->view.layer];
        least = fmin(least, mine - best);
    }
    return least;
}

static void collect_candidate(void *ctx, const struct choice *c)
{
    struct candidates *list = ctx;
    const struct ties *t = list->ties;
    const struct frame_var *v = var_of(t, list->stage);
    struct bound bounds[BOUNDS_MAX];
    size_t index;
    const struct frame_site *fs = frame_site_at(v, c->offer->place, &index);

    if (!fs)
        return;
    struct pick pick = {fs->site, c};
    if (costmodel_compare_choices(t->p, &pick, &t->known->picks[list->stage]) >= 0)
        return;
    size_t n = view_site_bounds(&t->view, (size_t)(v - t->view.frame->vars), index, bounds);
    for (size_t i = 0; i < n; i++)
        bounds[i].value += least_extra(t, v, fs, c, bounds[i].lambda);
    if (incumbent_hopeless(&t->incumbent, bounds, n))
        return;
    struct choice *copy = arena_alloc(t->ask.arena, 1, sizeof *copy);
    if (!copy)
        return;
    *copy = *c;
    list->items = mem_room(list->items, list->n, &list->cap, sizeof *list->items);
    list->items[list->n++] = (struct pick){fs->site, copy};
}

/* Restricts a stage to one site, and to one choice there unless NULL. */
static void settle(struct domain *d, size_t stage, size_t site, const struct choice *only)
{
    d->n[stage] = 1;
    d->sites[stage][0] = site;
    d->only[stage] = only;
}

/* Is there a plan with the known totals that uses the pick (any choice of its site where
 * pick->choice is NULL)? If so it becomes the known one. */
static bool adopt_if_possible(struct ties *t, size_t stage, const struct pick *pick)
{
    size_t site = (size_t)(pick->site - t->p->stages[stage].sites);
    AUTO_MEM struct pick *picks = mem_zero(t->p->n_stages, sizeof *picks);
    struct solution s = {.found = true, .totals = t->known->totals, .picks = picks};

    if (!*t->questions || cutoff_is_past(&t->ask.cutoff)) {
        *t->questions = 0;
        return false;
    }
    --*t->questions;
    struct ask trial = t->ask;
    trial.domain = domain_copy(t->p, &t->ask.domain);
    settle(&trial.domain, stage, site, pick->choice);
    exact_solve(&trial, &s);
    domain_clear(&trial.domain);
    if (!s.found || goal_compare(&t->ask.goal, &s.totals, &t->known->totals) != 0)
        return false;
    memcpy(t->known->picks, picks, t->p->n_stages * sizeof *picks);
    return true;
}

/* True when the candidate is part of a plan with the known totals. */
static bool try_candidate(struct ties *t, size_t stage, const struct pick *candidate)
{
    struct pick *known = &t->known->picks[stage];

    if (candidate->site == known->site && costmodel_no_worse(candidate->choice, known->choice)) {
        known->choice = candidate->choice; /* no figure of the plan grows, so none changes */
        return true;
    }
    return adopt_if_possible(t, stage, candidate);
}

/* What could not keep the totals at this site cannot with a worse choice either. */
static bool worse_than_refused(const struct candidates *list, const bool *refused, size_t i)
{
    for (size_t k = i; k-- > 0 && list->items[k].site == list->items[i].site;)
        if (refused[k] && costmodel_no_worse(list->items[k].choice, list->items[i].choice))
            return true;
    return false;
}

/* Goes through the candidates in order until one keeps the totals or the known choice comes. */
static void choose_first(struct ties *t, size_t stage, const struct candidates *list)
{
    AUTO_MEM bool *refused = mem_zero(list->n, sizeof *refused);
    const struct site *refused_site = NULL;

    for (size_t i = 0; i<list->n && * t->questions> 0; i++) {
        const struct pick *c = &list->items[i], whole = {c->site, NULL};
        bool new_site = i == 0 || list->items[i - 1].site != c->site;
        /* A whole site first: most are refused at once. */
        if (new_site && c->site != t->known->picks[stage].site &&
            !adopt_if_possible(t, stage, &whole))
            refused_site = c->site;
        if (c->site == refused_site || worse_than_refused(list, refused, i))
            continue;
        if (costmodel_compare_choices(t->p, c, &t->known->picks[stage]) >= 0 ||
            try_candidate(t, stage, c))
            break;
        refused[i] = true;
    }
}

static void settle_stage(struct ties *t, size_t stage)
{
    struct candidates list = {.ties = t, .stage = stage};
    AUTO_MEM size_t *places = mem_zero(t->ask.domain.n[stage], sizeof *places);

    for (size_t k = 0; k < t->ask.domain.n[stage]; k++)
        places[k] = t->p->stages[stage].sites[t->ask.domain.sites[stage][k]].place;
    eligible_each(t->p, stage, places, t->ask.domain.n[stage], collect_candidate, &list);
    costmodel_sort_picks(t->p, list.items, list.n);
    choose_first(t, stage, &list);
    free(list.items);
    const struct pick *known = &t->known->picks[stage];
    settle(&t->ask.domain, stage, (size_t)(known->site - t->p->stages[stage].sites), known->choice);
}

static bool keep_pass(struct ties *t, double lambda)
{
    struct pass pass = {0};

    return view_pass(&t->view, lambda, &pass, NULL) == PASS_FOUND &&
           view_keep(&t->view, &pass) == 0;
}

static void thin_quickly(struct ties *t)
{
    AUTO_MEM double *weight = mem_zero(t->p->n_stages, sizeof *weight);
    double lambdas[] = {0, (double)INFINITY, t->known->lambda};

    costmodel_critical_path(t->p, t->known->picks, t->incumbent.time_layer, weight);
    presolve_thin(t->p, &t->ask.domain, &t->incumbent, lambdas, t->known->lambda > 0 ? 3 : 2,
                  weight);
}

/* Leaves only sites that a plan with the known totals may use. */
static bool thin_out(struct ties *t)
{
    struct frame_kind kind = {.coarse = true, .layer = t->ask.goal.deadline_layer};

    t->box = t->ask.goal;
    t->box.budget_microusd = t->known->totals.microusd;
    if (t->box.deadline_layer == LAYER_MID)
        t->box.deadline_ns = t->known->totals.ns[LAYER_MID];
    t->incumbent = (struct incumbent){.goal = &t->box,
                                      .time_layer = t->ask.goal.deadline_layer,
                                      .has_best = true,
                                      .best = t->known->totals};
    thin_quickly(t);
    if (!view_open(&t->view, t->p, &t->ask.domain, kind, VIEW_WORK_SMALL))
        return false;
    view_mix_path(&t->view, t->known->picks, 1);
    if (!keep_pass(t, 0) || !keep_pass(t, (double)INFINITY) ||
        (t->known->lambda > 0 && !keep_pass(t, t->known->lambda)))
        return false;
    view_thin(&t->view, &t->incumbent, &t->ask.domain);
    return true;
}

void exact_break_ties(const struct ask *ask, size_t *questions, struct solution *io)
{
    struct ties t = {.ask = *ask, .p = ask->p, .known = io, .questions = questions};

    t.ask.domain = domain_copy(ask->p, &ask->domain);
    if (thin_out(&t))
        for (size_t stage = 0; stage < ask->p->n_stages && !cutoff_is_past(&ask->cutoff); stage++)
            settle_stage(&t, stage);
    view_clear(&t.view);
    domain_clear(&t.ask.domain);
}
