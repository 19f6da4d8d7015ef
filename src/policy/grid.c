#include "policy/grid.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

/* The small part is for quotas like 0.3 of units like 0.1. */
static double gangs_within(double quota, double units)
{
    return floor(quota / units + 1e-9);
}

void scope_init(struct scope *s, const struct policy_problem *p)
{
    *s = (struct scope){
        .p = p,
        .deadline_h = mem_zero(p->n_jobs + 1, sizeof(double)),
        .gang_max = mem_zero(p->n_types + 1, sizeof(double)),
    };
    for (size_t m = 0; m < p->n_jobs; m++)
        s->deadline_h[m] = p->jobs[m].slo_h;
    for (size_t j = 0; j < p->n_types; j++) {
        s->gang_max[j] = floor(p->types[j].quota);
        for (size_t i = 0; i < p->n_groups; i++) {
            const struct policy_group *g = &p->groups[i];
            if (g->units[j] > 0)
                s->gang_max[j] = fmin(s->gang_max[j], gangs_within(g->quota, g->units[j]));
        }
    }
}

void scope_clear(struct scope *s)
{
    free(s->deadline_h);
    free(s->gang_max);
    *s = (struct scope){0};
}

bool scope_is_usable(const struct scope *s, size_t job, size_t type)
{
    const struct policy_job *m = &s->p->jobs[job];

    return m->throughput[type] > 0 && m->gang <= s->gang_max[type];
}

bool scope_is_present(const struct scope *s, size_t job, double from_h, double to_h)
{
    return from_h < s->deadline_h[job] && s->p->jobs[job].release_h < to_h;
}

double scope_cheapest(const struct scope *s, size_t job, size_t *type_out)
{
    const struct policy_job *m = &s->p->jobs[job];
    double least = (double)INFINITY;

    for (size_t j = 0; j < s->p->n_types; j++) {
        if (!scope_is_usable(s, job, j))
            continue;
        double usd = m->gang * m->iterations * s->p->types[j].price_usd_per_hour / m->throughput[j];
        if (usd < least) {
            least = usd;
            *type_out = j;
        }
    }
    return least;
}

/* ---- prices ---- */

double scope_price(const struct policy_problem *p, size_t interval, size_t type)
{
    return interval < p->n_intervals ? p->intervals[interval].price_usd_per_hour[type]
                                     : p->types[type].price_usd_per_hour;
}

/* The interval whose price holds just after `at`; n_intervals = after all. */
static size_t interval_after(const struct policy_problem *p, double at_h)
{
    size_t low = 0, high = p->n_intervals;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->intervals[middle].end_h <= at_h)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Mean or least price between two times. */
static double price_between(
    const struct policy_problem *p, size_t type, double from, double to, bool least)
{
    double sum = 0, low = (double)INFINITY, at = from;

    for (size_t i = interval_after(p, from);; i++) {
        double price = scope_price(p, i, type);
        double end = i < p->n_intervals ? fmin(p->intervals[i].end_h, to) : to;
        sum += price * (end - at);
        low = fmin(low, price);
        if (end >= to)
            break;
        at = end;
    }
    return least ? low : sum / (to - from);
}

/* ---- slots ---- */

static void add_column(struct grid *g, size_t type, double usd, double work)
{
    g->type[g->n_columns] = (uint32_t)type;
    g->usd[g->n_columns] = usd;
    g->work[g->n_columns] = work;
    g->n_columns++;
}

static void fill_open(struct grid *g, size_t job)
{
    size_t type = 0;
    double usd = scope_cheapest(g->scope, job, &type);

    if (isfinite(usd))
        add_column(g, type, usd, 1);
}

static void fill_slot(struct grid *g, const struct grid_slot *s, const struct grid_ask *ask)
{
    const struct policy_problem *p = g->scope->p;
    const struct policy_job *m = &p->jobs[s->job];
    double from = fmax(ask->edge[s->window], m->release_h);
    bool at_start = ask->price_at_start && s->window + 1 == ask->n_windows;

    for (size_t j = 0; j < p->n_types; j++) {
        if (!scope_is_usable(g->scope, s->job, j))
            continue;
        double price = at_start
                           ? scope_price(p, interval_after(p, from), j)
                           : price_between(p, j, from, from + s->hours, ask->side == GRID_RELAXED);
        add_column(g, j, m->gang * price * s->hours,
                   m->iterations > 0 ? m->throughput[j] * s->hours / m->iterations : 0);
    }
}

static size_t count_slots(const struct scope *s, const struct grid_ask *ask)
{
    size_t n = 0;

    for (size_t k = 0; k < ask->n_windows; k++)
        for (size_t m = 0; m < s->p->n_jobs; m++)
            n += scope_is_present(s, m, ask->edge[k], ask->edge[k + 1]);
    return n;
}

static void add_slot(struct grid *g, const struct grid_ask *ask, size_t window, size_t job)
{
    double from = ask->edge[window], to = ask->edge[window + 1];
    struct grid_slot *s = &g->slots[g->n_slots++];

    *s = (struct grid_slot){
        .job = (uint32_t)job,
        .window = (uint32_t)window,
        .hours = fmin(to, g->scope->deadline_h[job]) - fmax(from, g->scope->p->jobs[job].release_h),
        .room = 1,
        .first = g->n_columns,
    };
    if (ask->side == GRID_RELAXED && isfinite(to))
        s->room = s->hours / (to - from);
    if (isfinite(s->hours))
        fill_slot(g, s, ask);
    else
        fill_open(g, job);
}

void grid_init(struct grid *g, const struct scope *scope, const struct grid_ask *ask)
{
    size_t n = count_slots(scope, ask);
    size_t columns = n * scope->p->n_types;

    *g = (struct grid){
        .scope = scope,
        .edge = ask->edge,
        .n_windows = ask->n_windows,
        .slots = mem_zero(n + 1, sizeof *g->slots),
        .type = mem_zero(columns + 1, sizeof *g->type),
        .usd = mem_zero(columns + 1, sizeof *g->usd),
        .work = mem_zero(columns + 1, sizeof *g->work),
    };
    for (size_t k = 0; k < ask->n_windows; k++)
        for (size_t m = 0; m < scope->p->n_jobs; m++)
            if (scope_is_present(scope, m, ask->edge[k], ask->edge[k + 1]))
                add_slot(g, ask, k, m);
    g->slots[n].first = g->n_columns;
}

void grid_clear(struct grid *g)
{
    free(g->slots);
    free(g->type);
    free(g->usd);
    free(g->work);
    *g = (struct grid){0};
}

/* ---- rounding ---- */

/* What the solver's rounding goes beyond limits is taken off, and so much more that sums stay
 * within them whatever the order they are added up in. */
#define TRIM (1 - 1e-12)

static double trim(double sum, double most)
{
    return sum > most ? most / sum * TRIM : 1;
}

/* What the columns of the slot add up to. */
static double sum_of(const struct grid_slot *s, const double *x)
{
    double sum = 0;

    for (size_t q = s->first; q < s[1].first; q++)
        sum += x[q];
    return sum;
}

/* One quota of a group in the window of these slots. */
static void trim_group(const struct grid *g,
                       const struct grid_slot *from,
                       const struct grid_slot *to,
                       const struct policy_group *group,
                       double scale,
                       double *x)
{
    const double *units = group->units;
    double sum = 0;

    for (const struct grid_slot *s = from; s < to; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            sum += g->scope->p->jobs[s->job].gang * s->room * units[g->type[q]] * x[q];
    double factor = trim(sum, group->quota * scale);
    for (size_t q = from->first; factor < 1 && q < to->first; q++)
        if (units[g->type[q]] > 0)
            x[q] *= factor;
}

/* Quotas of types in one pass: there may be many. */
static void trim_quotas(const struct grid *g,
                        const struct grid_slot *from,
                        const struct grid_slot *to,
                        double scale,
                        double *x)
{
    const struct policy_problem *p = g->scope->p;
    AUTO_MEM double *used = mem_zero(p->n_types + 1, sizeof *used);

    for (const struct grid_slot *s = from; s < to; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            used[g->type[q]] += p->jobs[s->job].gang * s->room * x[q];
    for (size_t j = 0; j < p->n_types; j++)
        used[j] = trim(used[j], p->types[j].quota * scale);
    for (size_t q = from->first; q < to->first; q++)
        x[q] *= used[g->type[q]];
}

void grid_trim(const struct grid *g, size_t first_scaled, double scale, double *x)
{
    const struct policy_problem *p = g->scope->p;
    const struct grid_slot *end = g->slots + g->n_slots, *to;

    for (const struct grid_slot *from = g->slots; from < end; from = to) {
        double grown = from->window >= first_scaled ? scale : 1;
        for (to = from; to < end && to->window == from->window; to++) {
            double factor = isfinite(to->hours) ? trim(sum_of(to, x), grown) : 1;
            for (size_t q = to->first; q < to[1].first; q++)
                x[q] *= factor;
        }
        if (!isfinite(g->edge[from->window + 1]))
            continue;
        trim_quotas(g, from, to, grown, x);
        for (size_t i = 0; i < p->n_groups; i++)
            trim_group(g, from, to, &p->groups[i], grown, x);
    }
}

/* ---- windows of time between releases, deadlines and price steps ---- */

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
    n = number_sort_unique(all, n) - 1;
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
