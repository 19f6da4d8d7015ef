/* Windows of time between releases, deadlines and price steps (grid.h). The files of the policies
 * call it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/grid.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t sort_unique(double *at, size_t n)
{
    size_t kept = 0;

    qsort(at, n, sizeof *at, compare);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || at[i] > at[kept - 1])
            at[kept++] = at[i];
    return kept;
}

/* How many types each job can use; for the caller to free. */
static size_t *count_types(const struct scope *s)
{
    size_t *types = mem_zero(s->p->n_jobs + 1, sizeof *types);

    for (size_t m = 0; m < s->p->n_jobs; m++)
        for (size_t j = 0; j < s->p->n_types; j++)
            types[m] += scope_is_usable(s, m, j);
    return types;
}

/* Columns of these windows: each job has its types in each that begins before its deadline. */
static size_t count_columns(const struct scope *s,
                            const size_t *types,
                            const double *edge,
                            size_t n_windows)
{
    size_t n = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++)
        for (size_t k = 0; k < n_windows && edge[k] < s->deadline_h[m]; k++)
            n += scope_is_present(s, m, edge[k], edge[k + 1]) ? types[m] : 0;
    return n;
}

/* `windows` of the finite windows, cut where as many edges lie before as the share of windows says,
 * so that all have about as many deadlines in them. */
static void pick(const double *all, size_t n_all, double *out, size_t windows)
{
    for (size_t i = 0; i <= windows; i++)
        out[i] = all[i * n_all / windows];
}

static size_t most_windows(const struct scope *s, const double *all, size_t n_all)
{
    AUTO_MEM double *some = mem_zero(n_all + 1, sizeof *some);
    AUTO_MEM size_t *types = count_types(s);
    size_t columns_max = s->p->columns_max ? s->p->columns_max : POLICY_COLUMNS_DEFAULT;
    size_t low = 1, high = n_all;

    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        pick(all, n_all, some, middle);
        if (count_columns(s, types, some, middle) <= columns_max)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void edges_init(struct edges *out, const struct scope *s)
{
    const struct policy_problem *p = s->p;
    AUTO_MEM double *all = mem_zero(2 * p->n_jobs + p->n_intervals + 2, sizeof *all);
    double last = 0;
    bool open = false;
    size_t n = 1; /* the edge at 0 */

    for (size_t m = 0; m < p->n_jobs; m++) {
        if (isfinite(s->deadline_h[m])) {
            all[n++] = s->deadline_h[m];
            last = fmax(last, s->deadline_h[m]);
        } else {
            open = true;
        }
        all[n++] = p->jobs[m].release_h; /* 0 is there anyway */
    }
    for (size_t i = 0; i < p->n_intervals; i++)
        if (open || p->intervals[i].end_h < last)
            all[n++] = p->intervals[i].end_h;
    n = sort_unique(all, n) - 1;
    *out = (struct edges){.at = mem_zero(n + 2, sizeof(double)), .exact = n + open};
    if (n > 0) {
        out->n_windows = s->form == POLICY_RATE ? 1 : most_windows(s, all, n);
        pick(all, n, out->at, out->n_windows);
    }
    if (open)
        out->at[++out->n_windows] = (double)INFINITY;
}

void edges_clear(struct edges *edges)
{
    free(edges->at);
    *edges = (struct edges){0};
}
