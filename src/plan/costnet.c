#include "plan/costnet.h"

#include "base/arena.h"
#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the cells of a group ---- */

/* Walks through the cells of a group and keeps, for every table it reads, the offset of the row
 * that belongs to the cell. */
struct member {
    const double *table;
    double *out; /* a child's out table, or NULL */
    size_t stride_x;
    size_t *strides; /* per scope variable; 0 where the table does not know it */
    size_t offset;
};

struct walk {
    const struct costnet *net;
    const struct costnet_group *g;
    struct member *members;
    size_t n_members;
    size_t n_summed; /* members that a row is the sum of: the first ones */
    size_t n_scope;  /* variables of the scope that the walk is along: the first ones */
    size_t *strides; /* of all members */
    uint32_t *state; /* of the scope */
    double *row;     /* per state of the variable */
};

static size_t scope_index(const struct costnet_group *g, size_t v)
{
    for (size_t i = 0; i < g->n_scope; i++)
        if (g->scope[i] == v)
            return i;
    return SIZE_MAX;
}

static void set_stride(struct member *m, const struct costnet_group *g, size_t var, size_t stride)
{
    if (var == g->var)
        m->stride_x = stride;
    else
        m->strides[scope_index(g, var)] = stride;
}

static struct member *next_member(struct walk *w, const double *table)
{
    struct member *m = &w->members[w->n_members];

    *m = (struct member){.table = table, .strides = &w->strides[w->n_members * w->g->n_scope]};
    w->n_members++;
    return m;
}

static void walk_init(struct walk *w, const struct costnet_group *g, const struct costnet_tables *t)
{
    const struct costnet *net = &t->net;
    size_t most = 1 + g->n_pairs + g->n_children;

    *w = (struct walk){.net = net, .g = g};
    w->members = mem_zero(most, sizeof *w->members);
    w->strides = mem_zero(most * g->n_scope, sizeof *w->strides);
    w->state = mem_zero(g->n_scope, sizeof *w->state);
    w->row = mem_zero(net->n_states[g->var], sizeof *w->row);
    if (g->has_unary && net->unary[g->var])
        next_member(w, net->unary[g->var])->stride_x = 1;
    for (size_t i = 0; i < g->n_pairs; i++) {
        const struct costnet_pair *p = &net->pairs[g->pairs[i]];
        if (!p->cost)
            continue;
        struct member *m = next_member(w, p->cost);
        set_stride(m, g, p->a, net->n_states[p->b]);
        set_stride(m, g, p->b, 1);
    }
    for (size_t i = 0; i < g->n_children; i++) {
        const struct costnet_group *c = &t->schedule->groups[g->children[i]];
        struct member *m = next_member(w, t->up[g->children[i]]);
        m->out = t->out ? t->out[g->children[i]] : NULL;
        size_t stride = 1;
        for (size_t k = c->n_scope; k-- > 0; stride *= net->n_states[c->scope[k]])
            set_stride(m, g, c->scope[k], stride);
    }
    w->n_summed = w->n_members;
    w->n_scope = g->n_scope;
}

static void walk_clear(struct walk *w)
{
    free(w->members);
    free(w->strides);
    free(w->state);
    free(w->row);
}

/* Sum of tables for every state of the variable at the present cell. */
static void walk_row(struct walk *w)
{
    uint32_t n = w->net->n_states[w->g->var];

    memset(w->row, 0, n * sizeof *w->row);
    for (size_t i = 0; i < w->n_summed; i++) {
        const struct member *m = &w->members[i];
        const double *at = m->table + m->offset;
        if (m->stride_x == 1)
            for (uint32_t x = 0; x < n; x++)
                w->row[x] += at[x];
        else
            for (uint32_t x = 0; x < n; x++)
                w->row[x] += at[x * m->stride_x];
    }
}

static void walk_next(struct walk *w)
{
    for (size_t k = w->n_scope; k-- > 0;) {
        uint32_t n = w->net->n_states[w->g->scope[k]];
        if (++w->state[k] < n) {
            for (size_t i = 0; i < w->n_members; i++)
                w->members[i].offset += w->members[i].strides[k];
            return;
        }
        w->state[k] = 0;
        for (size_t i = 0; i < w->n_members; i++)
            w->members[i].offset -= w->members[i].strides[k] * (n - 1);
    }
}

static double row_min(const struct walk *w)
{
    double best = (double)INFINITY;

    for (uint32_t x = 0; x < w->net->n_states[w->g->var]; x++)
        best = w->row[x] < best ? w->row[x] : best;
    return best;
}

/* ---- up ---- */

/* The cells of a group, row by row along the last variable of its scope. Tables that know that
 * variable are added along these rows; the walk, over the variables before it, sums the others. */
struct rows {
    struct walk walk;
    uint32_t width;  /* states of the last variable */
    double *sum;     /* of tables along the last variable where there are several, or zeros */
    double *flipped; /* copies of pairs that run along the eliminated variable */
};

/* A table [last variable][eliminated variable] as [eliminated][last]. */
static const double *flip(const double *table, uint32_t n, uint32_t width, double *out)
{
    for (uint32_t x = 0; x < n; x++)
        for (uint32_t y = 0; y < width; y++)
            out[x * width + y] = table[y * n + x];
    return out;
}

static void rows_init(struct rows *r, const struct costnet_group *g, const struct costnet_tables *t)
{
    struct walk *w = &r->walk;
    size_t last = g->n_scope - 1, n_flipped = 0;
    uint32_t n = t->net.n_states[g->var], width = t->net.n_states[g->scope[last]];

    walk_init(w, g, t);
    w->n_scope = last;
    w->n_summed = 0;
    r->width = width;
    r->sum = mem_zero(width, sizeof *r->sum);
    r->flipped = mem_zero(g->n_pairs * n * width, sizeof *r->flipped);
    for (size_t i = 0; i < w->n_members; i++) {
        struct member m = w->members[i];
        if (m.strides[last] == 0) {
            w->members[i] = w->members[w->n_summed];
            w->members[w->n_summed++] = m;
        } else if (m.strides[last] > 1 && width > 1) {
            assert(m.stride_x == 1);
            w->members[i].table = flip(m.table, n, width, r->flipped + n_flipped++ * n * width);
            w->members[i].stride_x = width;
        }
    }
}

static void rows_clear(struct rows *r)
{
    walk_clear(&r->walk);
    free(r->sum);
    free(r->flipped);
}

/* out = the lesser of out and base + a + b, for the compiler's vectors. */
static void lower(
    double *restrict out, double base, const double *a, const double *b, uint32_t width)
{
    for (uint32_t y = 0; y < width; y++) {
        double sum = base + a[y] + b[y];
        out[y] = sum < out[y] ? sum : out[y];
    }
}

/* The best of the group for every state of the last variable, at the present cell. */
static void rows_best(const struct rows *r, double *out)
{
    const struct walk *w = &r->walk;

    for (uint32_t y = 0; y < r->width; y++)
        out[y] = (double)INFINITY;
    for (uint32_t x = 0; x < w->net->n_states[w->g->var]; x++) {
        const double *a = r->sum, *b = r->sum;
        if (isinf(w->row[x]))
            continue;
        for (size_t i = w->n_summed; i < w->n_members; i++) {
            const struct member *m = &w->members[i];
            const double *table = m->table + m->offset + x * m->stride_x;
            if (i < w->n_summed + 2) {
                a = b;
                b = table;
                continue;
            }
            for (uint32_t y = 0; y < r->width; y++)
                r->sum[y] = a[y] + table[y];
            a = r->sum;
        }
        lower(out, w->row[x], a, b, r->width);
    }
}

static void up_group(const struct costnet_tables *t, size_t i)
{
    const struct costnet_group *g = &t->schedule->groups[i];
    struct rows r;

    if (!g->n_scope) {
        struct walk w;
        walk_init(&w, g, t);
        walk_row(&w);
        t->up[i][0] = row_min(&w);
        walk_clear(&w);
        return;
    }
    rows_init(&r, g, t);
    for (size_t cell = 0; cell < g->cells; cell += r.width, walk_next(&r.walk)) {
        walk_row(&r.walk);
        rows_best(&r, t->up[i] + cell);
    }
    rows_clear(&r);
}

int costnet_up(const struct costnet *net,
               const struct costnet_schedule *s,
               struct costnet_tables *t,
               struct arena *arena)
{
    *t = (struct costnet_tables){.net = *net,
                                 .schedule = s,
                                 .arena = arena,
                                 .up = arena_alloc(arena, s->n_groups, sizeof *t->up)};
    if (!t->up)
        return -1;
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct costnet_group *g = &s->groups[i];
        if (!(t->up[i] = arena_alloc(arena, g->cells, sizeof *t->up[i])))
            return -1;
        up_group(t, i);
        if (!g->n_scope)
            t->best += t->up[i][0];
    }
    return 0;
}

/* ---- down ---- */

/* Everything but the group itself, for the variable's states and the messages taken in. */
static void down_group(struct costnet_tables *t, size_t i)
{
    const struct costnet_group *g = &t->schedule->groups[i];
    double *marginal = t->marginal[g->var];
    uint32_t n = t->net.n_states[g->var];
    struct walk w;

    walk_init(&w, g, t);
    for (size_t cell = 0; cell < g->cells; cell++, walk_next(&w)) {
        double rest = t->out[i][cell];
        if (isinf(rest))
            continue;
        walk_row(&w);
        for (uint32_t x = 0; x < n; x++) {
            w.row[x] += rest;
            marginal[x] = w.row[x] < marginal[x] ? w.row[x] : marginal[x];
        }
        for (size_t k = 0; k < w.n_members; k++) {
            const struct member *m = &w.members[k];
            if (!m->out)
                continue;
            for (uint32_t x = 0; x < n; x++) {
                size_t at = m->offset + x * m->stride_x;
                double others = w.row[x] - m->table[at]; /* NaN where impossible: no minimum */
                if (others < m->out[at])
                    m->out[at] = others;
            }
        }
    }
    walk_clear(&w);
}

static double *filled(struct arena *arena, size_t n, double value)
{
    double *v = arena_alloc(arena, n, sizeof *v);

    for (size_t i = 0; v && i < n; i++)
        v[i] = value;
    return v;
}

/* A variable that was split has a marginal from each of its groups; each is a bound, so the
 * largest counts. */
static int merge_marginals(struct costnet_tables *t, size_t i, double **merged)
{
    size_t v = t->schedule->groups[i].var;
    uint32_t n = t->net.n_states[v];

    if (!merged[v]) {
        merged[v] = t->marginal[v];
    } else {
        for (uint32_t x = 0; x < n; x++)
            merged[v][x] = fmax(merged[v][x], t->marginal[v][x]);
    }
    t->marginal[v] = filled(t->arena, n, (double)INFINITY);
    return t->marginal[v] ? 0 : -1;
}

int costnet_down(struct costnet_tables *t)
{
    const struct costnet *net = &t->net;
    const struct costnet_schedule *s = t->schedule;
    struct arena *arena = t->arena;
    double **merged = arena_alloc(arena, net->n_vars, sizeof *merged);

    t->out = arena_alloc(arena, s->n_groups, sizeof *t->out);
    t->marginal = arena_alloc(arena, net->n_vars, sizeof *t->marginal);
    if (!merged || !t->out || !t->marginal)
        return -1;
    for (size_t v = 0; v < net->n_vars; v++)
        if (!(t->marginal[v] = filled(arena, net->n_states[v], (double)INFINITY)))
            return -1;
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct costnet_group *g = &s->groups[i];
        double outside = g->n_scope ? (double)INFINITY : t->best - t->up[i][0];
        if (!(t->out[i] = filled(arena, g->cells, outside)))
            return -1;
    }
    for (size_t i = s->n_groups; i-- > 0;) {
        down_group(t, i);
        if (merge_marginals(t, i, merged) < 0)
            return -1;
    }
    t->marginal = merged;
    return 0;
}

bool costnet_decode(const struct costnet_tables *t, uint32_t *states)
{
    const struct costnet_schedule *s = t->schedule;
    AUTO_MEM double *sum = NULL;

    for (size_t last = s->n_groups; last > 0;) {
        size_t var = s->groups[last - 1].var, first = last - 1;
        while (first > 0 && s->groups[first - 1].var == var)
            first--;
        uint32_t n = t->net.n_states[var], best = 0;
        sum = mem_grow(sum, n, sizeof *sum);
        memset(sum, 0, n * sizeof *sum);
        for (size_t i = first; i < last; i++) {
            const struct costnet_group *g = &s->groups[i];
            struct walk w;
            walk_init(&w, g, t);
            for (size_t m = 0; m < w.n_members; m++)
                for (size_t k = 0; k < g->n_scope; k++)
                    w.members[m].offset += w.members[m].strides[k] * states[g->scope[k]];
            walk_row(&w);
            for (uint32_t x = 0; x < n; x++)
                sum[x] += w.row[x];
            walk_clear(&w);
        }
        for (uint32_t x = 1; x < n; x++)
            if (sum[x] < sum[best])
                best = x;
        if (!(sum[best] < (double)INFINITY))
            return false;
        states[var] = best;
        last = first;
    }
    return true;
}
