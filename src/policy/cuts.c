/* Cuts: limits of gangs beyond those of their instances (model.h). model.c calls it. */
#include "policy/model.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

/* More than LP_TOLERANCE, or a cut that was added might be found again. */
#define VIOLATED 1e-6

/* Sizes of gangs above 1, each once, ascending. */
struct sizes {
    double *at;
    size_t n;
};

void cuts_init(struct cuts *c, const struct grid *g)
{
    size_t places = g->n_windows * g->scope->p->n_types;

    *c = (struct cuts){.start = mem_zero(places + 1, sizeof *c->start)};
}

void cuts_clear(struct cuts *c)
{
    free(c->list);
    free(c->start);
    *c = (struct cuts){0};
}

const struct cut *cuts_of(
    const struct cuts *c, const struct grid *g, size_t window, size_t type, size_t *n_out)
{
    size_t place = window * g->scope->p->n_types + type;

    *n_out = c->start[place + 1] - c->start[place];
    return c->list ? &c->list[c->start[place]] : NULL;
}

static struct sizes gang_sizes(const struct policy_problem *p)
{
    struct sizes s = {.at = mem_zero(p->n_jobs + 1, sizeof *s.at)};
    size_t n = 0;

    for (size_t m = 0; m < p->n_jobs; m++)
        if (p->jobs[m].gang > 1)
            s.at[n++] = p->jobs[m].gang;
    s.n = number_sort_unique(s.at, n);
    return s;
}

static size_t size_index(const struct sizes *s, double gang)
{
    const double *found = bsearch(&gang, s->at, s->n, sizeof *s->at, number_compare);

    return (size_t)(found - s->at);
}

static int by_place(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;

    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static void index_places(struct cuts *c, const struct grid *g)
{
    size_t n_types = g->scope->p->n_types, at = 0;

    qsort(c->list, c->n, sizeof *c->list, by_place);
    for (size_t place = 0; place < g->n_windows * n_types; place++) {
        c->start[place] = at;
        while (at < c->n && c->list[at].window * n_types + c->list[at].type == place)
            at++;
    }
    c->start[g->n_windows * n_types] = at;
}

/* What is looked for, and where. */
struct look {
    struct cuts *cuts;
    const struct grid *grid;
    const struct sizes *sizes;
    bool tight; /* what is just kept, too */
};

static bool is_there(const struct look *l, const struct cut *cut)
{
    size_t n;
    const struct cut *there = cuts_of(l->cuts, l->grid, cut->window, cut->type, &n);

    for (size_t i = 0; i < n; i++)
        if (there[i].size == cut->size)
            return true;
    return false;
}

/* Whether gangs of at least the cut's size, which use `sum`, are those to write it down for. Where
 * the size divides the quota, the quota itself says it, as long as it stays as it is. */
static bool is_wanted(const struct look *l, const struct cut *cut, double sum, double scale)
{
    double quota = l->grid->scope->p->types[cut->type].quota, most = scale * cut->most;
    double rounding = VIOLATED * fmax(1, most);

    if (l->tight)
        return sum > 0 && sum >= most - rounding && !is_there(l, cut);
    return cut->most * cut->size < quota && sum > most + rounding;
}

/* used[i]: x of the gangs of the i-th size on the type of `at` in its window. */
static void look_at_type(const struct look *l, struct cut at, const double *used, double scale)
{
    struct cuts *c = l->cuts;
    double sum = 0;

    for (size_t i = l->sizes->n; i-- > 0;) {
        sum += used[i];
        at.size = l->sizes->at[i];
        at.most = floor(l->grid->scope->p->types[at.type].quota / at.size);
        if (is_wanted(l, &at, sum, scale)) {
            c->list = mem_room(c->list, c->n, &c->cap, sizeof *c->list);
            at.nth = c->n;
            c->list[c->n++] = at;
        }
    }
}

/* Adds up what the slots from `slot` on use in its window; returns the first slot after it. */
static const struct grid_slot *add_up(const struct grid *g,
                                      const struct grid_slot *slot,
                                      const double *x,
                                      const struct sizes *sizes,
                                      double *used)
{
    const struct grid_slot *end = &g->slots[g->n_slots];
    uint32_t window = slot->window;

    for (; slot < end && slot->window == window; slot++) {
        double gang = g->scope->p->jobs[slot->job].gang;
        size_t i = gang > 1 ? size_index(sizes, gang) : 0;
        for (size_t q = slot->first; gang > 1 && q < slot[1].first; q++)
            used[g->type[q] * sizes->n + i] += x[q] * slot->room;
    }
    return slot;
}

size_t cuts_find(struct cuts *c,
                 const struct model_ask *ask,
                 const struct model_answer *found,
                 bool tight)
{
    const struct grid *g = ask->grid;
    const struct policy_problem *p = g->scope->p;
    const struct grid_slot *slot = g->slots, *end = &g->slots[g->n_slots];
    struct sizes sizes = gang_sizes(p);
    const struct look look = {.cuts = c, .grid = g, .sizes = &sizes, .tight = tight};
    size_t before = c->n;

    while (sizes.n > 0 && slot < end && isfinite(g->edge[slot->window + 1])) {
        struct cut at = {.window = slot->window};
        double scale = at.window >= ask->first_scaled ? found->scale : 1;
        AUTO_MEM double *used = mem_zero(p->n_types * sizes.n, sizeof *used);
        slot = add_up(g, slot, found->x, &sizes, used);
        for (; at.type < p->n_types; at.type++)
            look_at_type(&look, at, used + at.type * sizes.n, scale);
    }
    free(sizes.at);
    if (c->n > before)
        index_places(c, g);
    return c->n - before;
}
