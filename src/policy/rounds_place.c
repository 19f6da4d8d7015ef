/* The assignment of machines to jobs in one round. rounds.c calls it. */
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>

/* Part of a group's quota that rounding of units may take. */
#define QUOTA_ROUNDING 1e-9

/* -1: a goes first. */
static int more_first(double a, double b)
{
    return a > b ? -1 : a < b;
}

static int less_first(double a, double b)
{
    return more_first(b, a);
}

static int sooner_first(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Those whose deadline is near and who have not received all they are owed; then those who got
 * least of it; of equals who runs already, larger gangs, who came first. */
static int compare_shares(const struct claim *a, const struct claim *b)
{
    bool a_is_due = a->due_ms != ROUNDS_NEVER && a->ratio >= 1;
    bool b_is_due = b->due_ms != ROUNDS_NEVER && b->ratio >= 1;
    int c = b_is_due - a_is_due;

    c = c || !a_is_due ? c : sooner_first(a->due_ms, b->due_ms);
    c = c ? c : more_first(a->ratio, b->ratio);
    c = c ? c : more_first(a->owed_ms, b->owed_ms);
    c = c ? c : b->is_running - a->is_running;
    c = c ? c : more_first(a->gang, b->gang);
    c = c ? c : sooner_first(a->arrival_ms, b->arrival_ms);
    c = c ? c : (a->is.job > b->is.job) - (a->is.job < b->is.job);
    c = c ? c : more_first(a->is.share, b->is.share);
    return c ? c : (a->is.type > b->is.type) - (a->is.type < b->is.type);
}

/* By deadline, then who came first; a job where it is cheapest. */
static int compare_fills(const struct claim *a, const struct claim *b)
{
    int c = sooner_first(a->due_ms, b->due_ms);

    c = c ? c : sooner_first(a->arrival_ms, b->arrival_ms);
    c = c ? c : more_first(a->gang, b->gang);
    c = c ? c : (a->is.job > b->is.job) - (a->is.job < b->is.job);
    c = c ? c : less_first(a->usd_per_work, b->usd_per_work);
    return c ? c : (a->is.type > b->is.type) - (a->is.type < b->is.type);
}

static int compare(const void *x, const void *y)
{
    const struct claim *a = *(const struct claim *const *)x, *b = *(const struct claim *const *)y;

    if (a->is_leased != b->is_leased)
        return b->is_leased - a->is_leased;
    if (a->is.fill != b->is.fill)
        return a->is.fill - b->is.fill;
    return a->is.fill ? compare_fills(a, b) : compare_shares(a, b);
}

static void put_in_order(struct sim *s)
{
    if (s->n_claims > s->cap_order) {
        s->cap_order = s->n_claims;
        s->order = mem_grow(s->order, s->cap_order, sizeof(struct claim *));
    }
    for (size_t i = 0; i < s->n_claims; i++) {
        struct claim *c = s->order[i] = &s->claims[i];
        c->owed_ms += c->is.share * (double)s->ask->round_ms;
        c->ratio = c->received_ms > 0 ? c->owed_ms / c->received_ms : (double)INFINITY;
        c->is_running = s->on[c->is.job] == c->is.type;
        c->is_leased = c->is_running && s->lease_ms[c->is.job] > s->at_ms;
    }
    if (s->n_claims > 0)
        qsort(s->order, s->n_claims, sizeof(struct claim *), compare);
}

/* Takes the gang's instances if they are free. */
static bool take(struct sim *s, const struct claim *c)
{
    const struct policy_group *groups = s->p->groups;

    if (s->used[c->is.type] + c->gang > rounds_capacity(s, c->is.type))
        return false;
    for (size_t i = 0; i < s->p->n_groups; i++) {
        double units = groups[i].units[c->is.type];
        if (units > 0 && s->used_group[i] + c->gang * units >
                             groups[i].quota + QUOTA_ROUNDING * (groups[i].quota + units))
            return false;
    }
    s->used[c->is.type] += c->gang;
    for (size_t i = 0; i < s->p->n_groups; i++)
        s->used_group[i] += c->gang * groups[i].units[c->is.type];
    return true;
}

void rounds_place(struct sim *s)
{
    s->n_runs = 0;
    for (size_t j = 0; j < s->p->n_types; j++)
        s->used[j] = 0;
    for (size_t i = 0; i < s->p->n_groups; i++)
        s->used_group[i] = 0;
    for (size_t i = 0; i < s->n_active; i++)
        s->is_placed[s->active[i]] = false;
    put_in_order(s);
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct rounds_claim *is = &s->order[i]->is;
        if (s->is_placed[is->job] || !take(s, s->order[i]))
            continue;
        s->is_placed[is->job] = true;
        s->runs[s->n_runs++] = (struct rounds_run){.job = is->job, .type = is->type};
    }
}
