#include "plan/costnet.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order and schedule ---- */

static double table_size(
    size_t v, size_t n, const uint32_t *n_states, const bool *linked, const bool *done)
{
    double size = n_states[v];

    for (size_t u = 0; u < n; u++)
        if (linked[v * n + u] && !done[u])
            size *= n_states[u];
    return size;
}

void costnet_order(const struct costnet *net, size_t *order)
{
    size_t n_vars = net->n_vars;
    const uint32_t *n_states = net->n_states;
    const struct costnet_pair *pairs = net->pairs;
    AUTO_MEM bool *linked = mem_zero(n_vars * n_vars, sizeof *linked);
    AUTO_MEM bool *done = mem_zero(n_vars, sizeof *done);
    AUTO_MEM double *size = mem_zero(n_vars, sizeof *size);

    for (size_t i = 0; i < net->n_pairs; i++)
        linked[pairs[i].a * n_vars + pairs[i].b] = linked[pairs[i].b * n_vars + pairs[i].a] = true;
    for (size_t v = 0; v < n_vars; v++)
        size[v] = table_size(v, n_vars, n_states, linked, done);
    for (size_t i = 0; i < n_vars; i++) {
        size_t best = SIZE_MAX;
        for (size_t v = 0; v < n_vars; v++)
            if (!done[v] && (best == SIZE_MAX || size[v] <= size[best]))
                best = v;
        done[best] = true;
        order[i] = best;
        /* Its neighbours become neighbours of each other. */
        for (size_t u = 0; u < n_vars; u++) {
            if (done[u] || !linked[best * n_vars + u])
                continue;
            for (size_t w = 0; w < n_vars; w++)
                if (w != u && !done[w] && linked[best * n_vars + w])
                    linked[u * n_vars + w] = true;
            size[u] = table_size(u, n_vars, n_states, linked, done);
        }
    }
}

/* A factor while the schedule is made: a pair or an earlier group's message. */
struct factor {
    size_t index;
    bool is_group;
    bool used;
    const size_t *scope;
    size_t n_scope;
};

struct builder {
    const struct costnet *net;
    struct arena *arena;
    struct factor *factors;
    size_t n_factors;
    struct costnet_schedule *s;
    size_t max_work;
};

static bool in_scope(const size_t *scope, size_t n, size_t v)
{
    for (size_t i = 0; i < n; i++)
        if (scope[i] == v)
            return true;
    return false;
}

/* Cells x states if the factor joined the group, as a double: it may be astronomically large. */
static double work_with(const struct costnet *net,
                        const struct costnet_group *g,
                        const struct factor *f)
{
    double work = net->n_states[g->var];

    for (size_t i = 0; i < g->n_scope; i++)
        work *= net->n_states[g->scope[i]];
    for (size_t i = 0; i < f->n_scope; i++)
        if (f->scope[i] != g->var && !in_scope(g->scope, g->n_scope, f->scope[i]))
            work *= net->n_states[f->scope[i]];
    return work;
}

static void join_group(const struct costnet *net, struct costnet_group *g, struct factor *f)
{
    f->used = true;
    for (size_t i = 0; i < f->n_scope; i++)
        if (f->scope[i] != g->var && !in_scope(g->scope, g->n_scope, f->scope[i])) {
            g->scope[g->n_scope++] = f->scope[i];
            g->cells *= net->n_states[f->scope[i]];
        }
    if (f->is_group)
        g->children[g->n_children++] = f->index;
    else
        g->pairs[g->n_pairs++] = f->index;
}

static struct costnet_group *open_group(struct builder *b, size_t var, size_t n_mine)
{
    struct costnet_group *g = &b->s->groups[b->s->n_groups++];

    *g = (struct costnet_group){.var = var, .cells = 1};
    g->scope = arena_alloc(b->arena, b->net->n_vars, sizeof *g->scope);
    g->pairs = arena_alloc(b->arena, n_mine, sizeof *g->pairs);
    g->children = arena_alloc(b->arena, n_mine, sizeof *g->children);
    return g->scope && g->pairs && g->children ? g : NULL;
}

/* Packs the variable's factors into as few groups as the limit allows. */
static int eliminate(struct builder *b, size_t var, size_t *mine)
{
    size_t first = b->s->n_groups, n_mine = 0;

    for (size_t i = 0; i < b->n_factors; i++)
        if (!b->factors[i].used && in_scope(b->factors[i].scope, b->factors[i].n_scope, var))
            mine[n_mine++] = i;
    struct costnet_group *g = open_group(b, var, n_mine);
    if (!g)
        return -1;
    g->has_unary = true;
    for (size_t i = 0; i < n_mine; i++) {
        struct factor *f = &b->factors[mine[i]];
        struct costnet_group *home = NULL;
        for (size_t k = first; k < b->s->n_groups && !home; k++)
            if (work_with(b->net, &b->s->groups[k], f) <= (double)b->max_work)
                home = &b->s->groups[k];
        if (!home) {
            /* An empty first group takes whatever comes: a factor cannot be cut in two. */
            bool first_is_empty = !g->n_pairs && !g->n_children;
            home = first_is_empty ? g : open_group(b, var, n_mine);
            if (!home)
                return -1;
        }
        join_group(b->net, home, f);
    }
    b->s->exact = b->s->exact && b->s->n_groups == first + 1;
    for (size_t k = first; k < b->s->n_groups; k++) {
        const struct costnet_group *done = &b->s->groups[k];
        b->s->work += done->cells * b->net->n_states[var];
        if (done->n_scope)
            b->factors[b->n_factors++] = (struct factor){
                .index = k, .is_group = true, .scope = done->scope, .n_scope = done->n_scope};
    }
    return 0;
}

struct costnet_schedule *costnet_schedule_new(const struct costnet *net,
                                              const size_t *order,
                                              size_t max_work,
                                              struct arena *arena)
{
    /* Every variable opens a group, and a further one takes in a factor at least. A factor taken
     * in loses a variable of its scope and two scopes joined are no larger than both, so at most
     * 2 * n_pairs factors are taken in over all eliminations. */
    size_t most = net->n_vars + 2 * net->n_pairs;
    AUTO_MEM struct factor *factors = mem_zero(most + net->n_pairs, sizeof *factors);
    AUTO_MEM size_t(*scopes)[2] = mem_zero(net->n_pairs, sizeof *scopes);
    AUTO_MEM size_t *mine = mem_zero(most + net->n_pairs, sizeof *mine);
    struct costnet_schedule *s = arena_alloc(arena, 1, sizeof *s);
    struct builder b = {.net = net, .arena = arena, .factors = factors, .s = s};

    if (!s || !(s->groups = arena_alloc(arena, most, sizeof *s->groups)))
        return NULL;
    s->exact = true;
    b.max_work = max_work;
    for (size_t i = 0; i < net->n_pairs; i++) {
        scopes[i][0] = net->pairs[i].a;
        scopes[i][1] = net->pairs[i].b;
        factors[b.n_factors++] = (struct factor){.index = i, .scope = scopes[i], .n_scope = 2};
    }
    for (size_t i = 0; i < net->n_vars; i++)
        if (eliminate(&b, order[i], mine) < 0)
            return NULL;
    return s;
}

/* ---- passes ---- */

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
}

static void walk_clear(struct walk *w)
{
    free(w->members);
    free(w->strides);
    free(w->state);
    free(w->row);
}

/* Sum of all tables for every state of the variable at the present cell. */
static void walk_row(struct walk *w)
{
    uint32_t n = w->net->n_states[w->g->var];

    memset(w->row, 0, n * sizeof *w->row);
    for (size_t i = 0; i < w->n_members; i++) {
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
    for (size_t k = w->g->n_scope; k-- > 0;) {
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
        struct walk w;
        if (!(t->up[i] = arena_alloc(arena, g->cells, sizeof *t->up[i])))
            return -1;
        walk_init(&w, g, t);
        for (size_t cell = 0; cell < g->cells; cell++, walk_next(&w)) {
            walk_row(&w);
            t->up[i][cell] = row_min(&w);
        }
        walk_clear(&w);
        if (!g->n_scope)
            t->best += t->up[i][0];
    }
    return 0;
}

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
