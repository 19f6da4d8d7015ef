/* The stretch: the least factor for all deadlines with which all work is done within the budget.
 * Without a budget, or at constant prices, this is one linear program. With a budget and prices
 * that change, a search finds where the least cost comes down to the budget. cost.c calls it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>

/* How near to the least stretch the search comes, as part of it. */
#define STRETCH_GAP 1e-7
#define STEPS_MAX 60
/* So many times longer than prices change, what they were before hardly matters. */
#define LONG_AFTER 1000
/* So that what just does is not taken for what just does not. */
#define TIMES_ROUNDING 1e-9

struct search {
    const struct model_ask *ask;
    double low, high;         /* not within the budget, and within it */
    double low_usd, high_usd; /* beyond the budget; the first is INFINITY when it cannot be done */
    int same_side;            /* how many steps in a row moved the same end; below 0: the low one */
};

/* The fewest dollars with deadlines so many times later; INFINITY when they are too early still. */
static int dollars_at(const struct search *s, double times, double *usd_out, struct err *e)
{
    const struct scope *now = s->ask->grid->scope;
    const struct policy_problem *p = now->p;
    AUTO_MEM double *deadline_h = mem_zero(p->n_jobs + 1, sizeof *deadline_h);
    struct scope later = *now;
    AUTO_CLEAR(edges) struct edges edges;
    AUTO_CLEAR(grid) struct grid grid;
    AUTO_CLEAR(model_answer) struct model_answer found = {0};

    for (size_t m = 0; m < p->n_jobs; m++)
        deadline_h[m] = now->deadline_h[m] * times;
    later.deadline_h = deadline_h;
    edges_init(&edges, &later);
    grid_init(
        &grid, &later,
        &(struct grid_ask){.edge = edges.at, .n_windows = edges.n_windows, .side = GRID_ATTAINED});
    int feasible = elastic_solve(&(struct model_ask){.grid = &grid, .cost = grid.usd}, &found, e);
    *usd_out = feasible == 1 ? found.objective : (double)INFINITY;
    return feasible < 0 ? -1 : 0;
}

/* Moves an end of the search there. */
static int look_at(struct search *s, double times, struct err *e)
{
    const struct policy_problem *p = s->ask->grid->scope->p;
    double usd;

    if (dollars_at(s, times, &usd, e) < 0)
        return -1;
    bool within = policy_is_within(p, usd);
    s->same_side = within ? (s->same_side > 0 ? s->same_side + 1 : 1)
                          : (s->same_side < 0 ? s->same_side - 1 : -1);
    *(within ? &s->high : &s->low) = times;
    *(within ? &s->high_usd : &s->low_usd) = usd - p->budget_usd;
    return 0;
}

/* Where a line between both ends meets the budget; the middle, when that moved the same end twice
 * or is no place between them. */
static double next_look(const struct search *s)
{
    double at = s->high - s->high_usd * (s->high - s->low) / (s->high_usd - s->low_usd);
    double least = STRETCH_GAP / 2 * s->high;

    if (!isfinite(at) || abs(s->same_side) >= 2)
        return (s->low + s->high) / 2;
    return fmin(fmax(at, s->low + least), s->high - least);
}

/* The fewest dollars however late it is, at the prices after all intervals. */
static double floor_usd(const struct scope *s)
{
    double usd = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        size_t type;
        usd += scope_cheapest(s, m, &type);
    }
    return usd;
}

/* How late is late enough to find out whether the budget does at any time. Hours are done at any
 * time, then; of shares what is paid is the mean price, which comes down to the last or goes up to
 * it. */
static int latest(const struct search *s, double *times_out, struct err *e)
{
    const struct scope *scope = s->ask->grid->scope;
    const struct policy_problem *p = scope->p;
    double usd = floor_usd(scope), first_h = (double)INFINITY;

    if (s->ask->grid->scope->form == POLICY_WINDOWS && dollars_at(s, (double)INFINITY, &usd, e) < 0)
        return -1;
    for (size_t m = 0; m < p->n_jobs; m++)
        first_h = fmin(first_h, scope->deadline_h[m]);
    if (policy_is_within(p, usd))
        *times_out = (double)INFINITY;
    else if (s->ask->grid->scope->form == POLICY_WINDOWS)
        *times_out = 0;
    else
        *times_out = LONG_AFTER * p->intervals[p->n_intervals - 1].end_h / first_h;
    return 0;
}

/* From `least` on, where it can be done at all; NAN when the budget does at no time. */
static int search_budget(struct search *s, double least, double *times_out, struct err *e)
{
    double last;

    *times_out = (double)NAN;
    if (latest(s, &last, e) < 0)
        return -1;
    s->low = least / (1 + TIMES_ROUNDING);
    s->low_usd = s->high = (double)INFINITY;
    for (int i = 0; i < STEPS_MAX && !isfinite(s->high) && ldexp(least, i) <= last; i++)
        if (look_at(s, ldexp(least, i), e) < 0)
            return -1;
    if (!isfinite(s->high))
        return 0;
    for (int i = 0; i < STEPS_MAX && s->high - s->low > STRETCH_GAP * s->high; i++)
        if (look_at(s, next_look(s), e) < 0)
            return -1;
    *times_out = s->high;
    return 0;
}

/* NAN when the budget does at no time. */
static int within_budget(struct search *s, double least, double *times_out, struct err *e)
{
    const struct policy_problem *p = s->ask->grid->scope->p;

    if (p->n_intervals > 0)
        return search_budget(s, least, times_out, e);
    *times_out = (double)NAN;
    return policy_is_within(p, floor_usd(s->ask->grid->scope))
               ? elastic_stretch(s->ask, p->budget_usd, times_out, e)
               : 0;
}

int stretch_find(const struct model_ask *ask, struct policy_answer *out, struct err *e)
{
    struct search s = {.ask = ask};
    double least, times;

    if (elastic_stretch(ask, (double)INFINITY, &least, e) < 0)
        return -1;
    out->stretch = least;
    if (!isfinite(ask->grid->scope->p->budget_usd))
        return 0;
    least *= 1 + TIMES_ROUNDING;
    if (within_budget(&s, least, &times, e) < 0)
        return -1;
    if (!isnan(times)) {
        out->stretch = times;
        return 0;
    }
    /* Neither does alone: the least stretch, with what it costs. */
    return dollars_at(&s, least, &out->budget_needed_usd, e);
}
