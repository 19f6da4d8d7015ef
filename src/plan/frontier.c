/* The Pareto frontier while it is found: a staircase of plans, ascending cost and descending time.
 * pareto.c and dual_frontier.c add to it. */
#include "plan/internal.h"

#include "base/mem.h"

#include <string.h>

size_t frontier_first_within(const struct frontier *f, int64_t ns)
{
    size_t low = 0, high = f->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (f->points[mid].totals.ns[LAYER_MID] > ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int frontier_add(struct frontier *f,
                 struct arena *arena,
                 size_t n_stages,
                 const struct pick *picks,
                 const struct totals *t)
{
    size_t at = frontier_first_within(f, t->ns[LAYER_MID]), first = at;

    if (at < f->n && f->points[at].totals.microusd <= t->microusd)
        return 0;
    while (first > 0 && f->points[first - 1].totals.microusd >= t->microusd)
        first--;
    /* As fast as t, but more expensive: t takes the place of that one, too. */
    if (at < f->n && f->points[at].totals.ns[LAYER_MID] == t->ns[LAYER_MID])
        at++;
    struct pick *copy = arena_alloc(arena, n_stages, sizeof *copy);
    if (!copy)
        return -1;
    memcpy(copy, picks, n_stages * sizeof *copy);
    f->points = mem_room(f->points, f->n, &f->cap, sizeof *f->points);
    memmove(&f->points[first + 1], &f->points[at], (f->n - at) * sizeof *f->points);
    f->n = f->n - (at - first) + 1;
    f->points[first] = (struct frontier_point){.totals = *t, .picks = copy};
    return 1;
}
