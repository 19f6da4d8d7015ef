#include "broker/learn/halving.h"

#include "base/auto.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

size_t halving_rungs(size_t trials)
{
    size_t rungs = 0;

    for (; trials >= HALVING_FACTOR && rungs < HALVING_RUNGS_MAX; trials /= HALVING_FACTOR)
        rungs++;
    return rungs;
}

double halving_step(double first, size_t rung)
{
    return first * pow(HALVING_FACTOR, (double)rung);
}

struct ranking {
    const struct halving_trial *trials;
    size_t rung;
    bool less_is_better;
};

/* The better value first; among equal values the trial with the lower number. */
static int by_value(const void *a, const void *b, void *context)
{
    const struct ranking *r = context;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    double x = r->trials[i].values[r->rung], y = r->trials[k].values[r->rung];
    int order = isnan(x) || isnan(y) ? (isnan(x) != 0) - (isnan(y) != 0) : (x > y) - (x < y);

    if (!r->less_is_better && !isnan(x) && !isnan(y))
        order = -order;
    return order ? order : (i > k) - (i < k);
}

/* Marks the trials that may pass the rung. */
static void mark_best(struct ranking *r, size_t n, size_t *order, bool *passes)
{
    size_t reached = 0;

    for (size_t i = 0; i < n; i++)
        if (r->trials[i].state != HALVING_FAILED && r->trials[i].reached > r->rung)
            order[reached++] = i;
    qsort_r(order, reached, sizeof *order, by_value, r);
    for (size_t i = 0; i < reached / HALVING_FACTOR; i++)
        passes[order[i]] = true;
}

/* Whether the trial may go beyond the highest rung that it reached. */
static bool may_pass(const struct halving_trial *t, const bool *passes, size_t n, size_t i)
{
    return t->reached == 0 || passes[(t->reached - 1) * n + i];
}

/* Where so many trials failed that none is among the best third, the best of the highest rung goes
 * on alone. */
static void pass_last(const struct halving_trial *trials,
                      size_t n,
                      bool less_is_better,
                      bool *passes)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        const struct halving_trial *t = &trials[i];
        if (t->state == HALVING_NEW || t->state == HALVING_ENDED)
            return;
        if (t->state == HALVING_FAILED)
            continue;
        if (may_pass(t, passes, n, i))
            return;
        if (best == n || t->reached > trials[best].reached)
            best = i;
        struct ranking r = {trials, t->reached - 1, less_is_better};
        if (t->reached == trials[best].reached && by_value(&i, &best, &r) < 0)
            best = i;
    }
    if (best < n)
        passes[(trials[best].reached - 1) * n + best] = true;
}

static void continue_paused(
    struct halving_trial *trials, size_t n, size_t rungs, const bool *passes, size_t *free_slots)
{
    for (size_t rung = rungs + 1; rung-- > 0;)
        for (size_t i = 0; i < n && *free_slots; i++)
            if (trials[i].state == HALVING_PAUSED && trials[i].reached == rung &&
                may_pass(&trials[i], passes, n, i)) {
                trials[i].action = HALVING_CONTINUE;
                --*free_slots;
            }
}

void halving_decide(
    struct halving_trial *trials, size_t n, size_t rungs, bool less_is_better, size_t slots)
{
    AUTO_MEM size_t *order = mem_zero(n + 1, sizeof *order);
    AUTO_MEM bool *passes = mem_zero(n * rungs + 1, sizeof *passes);
    size_t used = 0;

    for (size_t rung = 0; rung < rungs; rung++) {
        struct ranking r = {trials, rung, less_is_better};
        mark_best(&r, n, order, &passes[rung * n]);
    }
    pass_last(trials, n, less_is_better, passes);
    for (size_t i = 0; i < n; i++) {
        struct halving_trial *t = &trials[i];
        t->action = HALVING_NOTHING;
        used += t->state == HALVING_RUNNING;
        if (t->state == HALVING_RUNNING && !t->is_stopping && !may_pass(t, passes, n, i))
            t->action = HALVING_STOP;
    }
    size_t free_slots = slots > used ? slots - used : 0;
    continue_paused(trials, n, rungs, passes, &free_slots);
    for (size_t i = 0; i < n && free_slots; i++)
        if (trials[i].state == HALVING_NEW) {
            trials[i].action = HALVING_START;
            free_slots--;
        }
}
