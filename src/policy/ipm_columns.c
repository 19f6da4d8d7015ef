#include "base/mem.h"
#include "policy/ipm_internal.h"

#include <stdlib.h>
#include <string.h>

/* Nothing is dropped unless this part of the columns or less remains: it takes a pass over all. */
#define WORTH_DROPPING 0.75

void ipm_columns_init(struct ipm_columns *c, const struct ipm_problem *p)
{
    *c = (struct ipm_columns){.p = p, .first = mem_zero(p->n_jobs + 1, sizeof *c->first)};
    for (size_t m = 0; m <= p->n_jobs; m++)
        c->first[m] = m * IPM_WIDTH(p->n_types);
}

void ipm_columns_clear(struct ipm_columns *c)
{
    free(c->first);
    free(c->type);
    free(c->work);
    *c = (struct ipm_columns){0};
}

IPM_WIDE void ipm_columns_prices(const struct ipm_columns *c,
                                 size_t job,
                                 const double *row,
                                 double *out)
{
    const struct ipm_problem *p = c->p;
    size_t n = ipm_types(c, job);
    double gang = p->rows[0].weight[job];

    memset(out + n, 0, IPM_LANES * sizeof *out);
    if (!c->type) {
        ipm_row_prices(p, job, row, out);
        return;
    }
    const uint32_t *type = c->type + c->first[job];
    for (size_t i = 0; i < n; i++)
        out[i] = gang * row[type[i]];
    for (size_t r = p->n_types; r < p->n_rows; r++) {
        double times = p->rows[r].weight[job] * row[r];
        for (size_t i = 0; times != 0 && i < n; i++)
            out[i] += times * p->rows[r].unit[type[i]];
    }
}

IPM_WIDE void ipm_columns_add(const struct ipm_columns *c,
                              size_t job,
                              const double *restrict q,
                              double *row)
{
    const struct ipm_problem *p = c->p;
    size_t n = ipm_types(c, job);
    double gang = p->rows[0].weight[job];
    double *restrict to = row;

    if (c->type) {
        const uint32_t *type = c->type + c->first[job];
        for (size_t i = 0; i < n; i++)
            to[type[i]] += gang * q[i];
        for (size_t r = p->n_types; r < p->n_rows; r++)
            for (size_t i = 0; p->rows[r].weight[job] != 0 && i < n; i++)
                to[r] += p->rows[r].weight[job] * p->rows[r].unit[type[i]] * q[i];
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] += gang * q[i];
    for (size_t r = p->n_types; r < p->n_rows; r++)
        for (size_t i = 0; p->rows[r].weight[job] != 0 && i < n; i++)
            to[r] += p->rows[r].weight[job] * p->rows[r].unit[i] * q[i];
}

/* ---- choosing and dropping ---- */

/* Puts the n largest of so many first, in any order (Hoare's selection); the least of them. */
static double select_largest(double *v, size_t count, size_t n)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        size_t i = low, k = high;
        for (;; i++, k--) {
            while (v[i] > pivot)
                i++;
            while (v[k] < pivot)
                k--;
            if (i >= k)
                break;
            double was = v[i];
            v[i] = v[k];
            v[k] = was;
        }
        if (n - 1 <= k)
            high = k;
        else
            low = k + 1;
    }
    return v[n - 1];
}

/* What the n largest of some numbers have in common: they lie above the bar, and some of them on
 * it. */
struct bar {
    double height;
    size_t on_it; /* that may still pass */
};

/* Leaves the numbers in another order. */
static struct bar bar_for(double *v, size_t count, size_t n)
{
    struct bar bar = {.height = select_largest(v, count, n), .on_it = n};

    for (size_t i = 0; i < n; i++)
        bar.on_it -= v[i] > bar.height;
    return bar;
}

static bool passes(struct bar *bar, double v)
{
    bool on_it = v >= bar->height && !(v > bar->height) && bar->on_it > 0;

    bar->on_it -= on_it;
    return on_it || v > bar->height;
}

/* How many of a job's types to keep; their weights are in `weight`. */
static size_t count_kept(const double *weight, size_t n, size_t least, double part)
{
    double most = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        most = weight[i] > most ? weight[i] : most;
    for (size_t i = 0; i < n; i++)
        kept += weight[i] >= part * most;
    kept = kept > least ? kept : least;
    kept = (kept + IPM_LANES - 1) / IPM_LANES * IPM_LANES;
    return kept < n ? kept : n;
}

/* The first time all columns get their type and work. */
static void name_columns(struct ipm_columns *c)
{
    size_t n = c->first[c->p->n_jobs], width = IPM_WIDTH(c->p->n_types);

    if (c->type)
        return;
    c->type = mem_zero(n, sizeof *c->type);
    c->work = mem_zero(n, sizeof *c->work);
    for (size_t i = 0; i < n; i++)
        c->type[i] = (uint32_t)(i % width);
    memcpy(c->work, c->p->work, n * sizeof *c->work);
}

/* Columns on their way to the places of those that went. */
struct moving {
    struct ipm_columns *c;
    struct ipm_point *at;
    size_t to;
    double *weight; /* scratch: of one job's types */
};

static void move_column(struct moving *v, size_t from)
{
    v->at->x[v->to] = v->at->x[from];
    v->at->z[v->to] = v->at->z[from];
    v->c->type[v->to] = v->c->type[from];
    v->c->work[v->to] = v->c->work[from];
    v->to++;
}

static double weight_of(const struct ipm_point *at, size_t column)
{
    return at->x[column] / at->z[column];
}

static void weigh(const struct ipm_point *at, size_t first, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = weight_of(at, first + i);
}

static double work_of(const struct moving *v, size_t first, size_t n)
{
    double work = 0;

    for (size_t i = first; i < first + n; i++)
        work += v->c->work[i] * v->at->x[i];
    return work;
}

/* Keeps the `kept` heaviest of the n types whose columns begin at `first`, and what follows them.
 * Those that stay do the work of those that went, so that the job's row holds as before. Returns
 * what was dropped of the job's time. */
static double keep_types(struct moving *v, size_t first, size_t n, size_t kept)
{
    double dropped = 0, work = work_of(v, first, n);
    size_t begin = v->to;

    weigh(v->at, first, n, v->weight);
    struct bar bar = bar_for(v->weight, n, kept);
    for (size_t i = first; i < first + n; i++) {
        if (passes(&bar, weight_of(v->at, i)))
            move_column(v, i);
        else
            dropped += v->at->x[i];
    }
    double stays = work_of(v, begin, kept);
    for (size_t i = begin; i < begin + kept; i++)
        v->at->x[i] *= stays > 0 ? work / stays : 1;
    for (size_t i = first + n; i < first + n + IPM_LANES; i++)
        move_column(v, i);
    return dropped;
}

static double keep_some(struct moving *v, const size_t *kept)
{
    struct ipm_columns *c = v->c;
    size_t n_jobs = c->p->n_jobs, from = 0;
    double most = 0;

    name_columns(c);
    for (size_t m = 0; m < n_jobs; m++) {
        size_t n = c->first[m + 1] - from - IPM_LANES;
        c->first[m] = v->to;
        double dropped = keep_types(v, from, n, kept[m]);
        most = dropped > most ? dropped : most;
        from = c->first[m + 1];
    }
    c->first[n_jobs] = v->to;
    memmove(v->at->x + v->to, v->at->x + from, c->p->n_rows * sizeof *v->at->x);
    memmove(v->at->z + v->to, v->at->z + from, c->p->n_rows * sizeof *v->at->z);
    return most;
}

double ipm_drop(struct ipm_columns *c, struct ipm_point *at, size_t least, double part)
{
    size_t n_jobs = c->p->n_jobs, left = 0;
    size_t *kept = mem_zero(n_jobs + 1, sizeof *kept);
    struct moving v = {.c = c, .at = at, .weight = mem_zero(c->p->n_types + 1, sizeof(double))};
    double most = 0;

    for (size_t m = 0; m < n_jobs; m++) {
        weigh(at, c->first[m], ipm_types(c, m), v.weight);
        kept[m] = count_kept(v.weight, ipm_types(c, m), least, part);
        left += kept[m] + IPM_LANES;
    }
    if ((double)left <= WORTH_DROPPING * (double)c->first[n_jobs])
        most = keep_some(&v, kept);
    free(kept);
    free(v.weight);
    return most;
}

/* Appends the job's `kept` types of the largest gain, in order, and what follows them. */
static void choose_types(
    struct ipm_columns *c, size_t job, const double *gain, double *scratch, size_t kept)
{
    size_t n = c->p->n_types, width = IPM_WIDTH(n), to = c->first[job];

    memcpy(scratch, gain, n * sizeof *scratch);
    struct bar bar = bar_for(scratch, n, kept);
    for (size_t j = 0; j < width; j++) {
        if (j < n && !passes(&bar, gain[j]))
            continue;
        c->type[to] = (uint32_t)j;
        c->work[to++] = c->p->work[job * width + j];
    }
    c->first[job + 1] = to;
}

void ipm_columns_choose(struct ipm_columns *c, const double *price, size_t least)
{
    const struct ipm_problem *p = c->p;
    size_t width = IPM_WIDTH(p->n_types);
    size_t kept = (least + IPM_LANES - 1) / IPM_LANES * IPM_LANES;

    if ((double)(kept + IPM_LANES) > WORTH_DROPPING * (double)width)
        return;
    double *gain = mem_zero(p->n_types, sizeof *gain);
    double *scratch = mem_zero(p->n_types, sizeof *scratch);
    c->type = mem_zero(p->n_jobs * (kept + IPM_LANES), sizeof *c->type);
    c->work = mem_zero(p->n_jobs * (kept + IPM_LANES), sizeof *c->work);
    c->first[0] = 0;
    for (size_t m = 0; m < p->n_jobs; m++) {
        double work_price;
        ipm_job_bound(p, m, price, gain, &work_price);
        for (size_t j = 0; j < p->n_types; j++)
            gain[j] = work_price * p->work[m * width + j] - gain[j];
        choose_types(c, m, gain, scratch, kept);
    }
    free(gain);
    free(scratch);
}
