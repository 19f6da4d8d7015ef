/* How a network is eliminated: the order of its variables, and which factors each message takes in.
 * frame.c, view.c and dual_weigh.c call it before the passes of costnet.c. */
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
    size_t *rank; /* of each variable in the scopes of groups */
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

/* Variables of one state first, the others as they are eliminated: the last of a scope is then the
 * last of all messages in which it occurs, so that the inner loop of a pass runs along rows. */
static void rank_variables(const struct costnet *net, const size_t *order, size_t *rank)
{
    for (size_t i = 0; i < net->n_vars; i++)
        rank[order[i]] = i + (net->n_states[order[i]] > 1 ? net->n_vars : 0);
}

static void sort_scope(const struct builder *b, struct costnet_group *g)
{
    for (size_t i = 1; i < g->n_scope; i++) {
        size_t var = g->scope[i], at = i;
        for (; at > 0 && b->rank[g->scope[at - 1]] > b->rank[var]; at--)
            g->scope[at] = g->scope[at - 1];
        g->scope[at] = var;
    }
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
        struct costnet_group *done = &b->s->groups[k];
        sort_scope(b, done);
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
    AUTO_MEM size_t *rank = mem_zero(net->n_vars, sizeof *rank);
    struct costnet_schedule *s = arena_alloc(arena, 1, sizeof *s);
    struct builder b = {.net = net, .arena = arena, .factors = factors, .s = s, .rank = rank};

    if (!s || !(s->groups = arena_alloc(arena, most, sizeof *s->groups)))
        return NULL;
    s->exact = true;
    b.max_work = max_work;
    rank_variables(net, order, rank);
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
