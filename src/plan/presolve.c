/* Bounds for every site of every stage, cheaper than any table of pairs of sites. Most
 * locations of a cloud are alike to the transfer table, so moves are looked at between classes of
 * locations. The relaxation is small: each stage reads only from its largest producer, and the time
 * that inputs take is charged at the site's lowest price. exact.c and ties.c use it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>

#define BILLED_MIN_S 60.0

/* One site in one weighing. */
struct weighed_site {
    size_t place, class;
    double own;     /* the stage with the inputs it cannot avoid */
    double per_s;   /* each second that inputs take ... */
    double free_s;  /* ... beyond these */
    double below;   /* own and everything below it in the forest */
    double outside; /* best of everything else */
};

/* A stage in the forest of largest producers. */
struct node {
    size_t parent; /* stage, or NONE */
    struct weighed_site *sites;
    size_t n;
    /* Of the edge from the parent, between classes: what moving costs and takes. */
    double *cost, *seconds;
    double here_s;     /* reading within a location */
    double *at_parent; /* per site of the parent: best of this stage and below */
};

struct presolve {
    struct arena *arena; /* of everything, rows included */
    const struct plan_problem *p;
    const struct domain *domain;
    const struct classes *classes;
    struct node *nodes;
    size_t **site_at; /* per stage and catalog location: position in the domain, or NONE */
};

/* ---- the forest ---- */

/* A reader's part of a dataset that others may read at the same location: see frame.c. */
static double part_of(const struct dataset *d, int64_t microusd)
{
    return microusd == NEVER ? (double)INFINITY : floor((double)microusd / (double)d->n_readers);
}

static void price_edge(struct presolve *x, size_t stage)
{
    const struct pstage *s = &x->p->stages[stage];
    struct node *n = &x->nodes[stage];
    size_t classes = x->classes->n;

    n->cost = arena_zero(x->arena, classes * classes, sizeof *n->cost);
    n->seconds = arena_zero(x->arena, classes * classes, sizeof *n->seconds);
    for (size_t k = 0; k < s->n_datasets; k++) {
        const struct dataset *d = &x->p->datasets[s->datasets[k]];
        if (d->producer != n->parent)
            continue;
        n->here_s = fmax(n->here_s, d->size_gb * x->p->local_s_per_gb);
        for (size_t i = 0; i < classes * classes; i++) {
            uint32_t move = x->classes->move[i];
            n->cost[i] +=
                move == CLASSES_NO_MOVE ? (double)INFINITY : part_of(d, d->microusd[move]);
            if (move != CLASSES_NO_MOVE)
                n->seconds[i] = fmax(n->seconds[i], d->seconds[move]);
        }
    }
}

static void add_node(struct presolve *x, size_t stage)
{
    struct node *n = &x->nodes[stage];

    n->n = x->domain->n[stage];
    n->sites = arena_zero(x->arena, n->n, sizeof *n->sites);
    size_t largest = costmodel_largest_producer(x->p, &x->p->stages[stage]);
    n->parent = largest == NONE ? NONE : x->p->stages[stage].parents[largest];
    for (size_t k = 0; k < n->n; k++) {
        n->sites[k].place = x->p->stages[stage].sites[x->domain->sites[stage][k]].place;
        n->sites[k].class = x->classes->of_place[n->sites[k].place];
        x->site_at[stage][n->sites[k].place] = k;
    }
    if (n->parent == NONE)
        return;
    n->at_parent = arena_zero(x->arena, x->domain->n[n->parent], sizeof *n->at_parent);
    price_edge(x, stage);
}

struct presolve *presolve_new(const struct plan_problem *p, const struct domain *d)
{
    struct arena *arena = arena_new(SIZE_MAX);
    struct presolve *x = arena_zero(arena, 1, sizeof *x);
    size_t n_places = p->world.catalog->n_places;

    *x = (struct presolve){.arena = arena, .p = p, .domain = d, .classes = p->classes};
    x->nodes = arena_zero(arena, p->n_stages, sizeof *x->nodes);
    x->site_at = arena_zero(arena, p->n_stages, sizeof *x->site_at);
    for (size_t s = 0; s < p->n_stages; s++) {
        x->site_at[s] = arena_zero(arena, n_places, sizeof **x->site_at);
        memset(x->site_at[s], 0xff, n_places * sizeof **x->site_at); /* NONE */
        add_node(x, s);
    }
    return x;
}

void presolve_free(struct presolve *x)
{
    if (x)
        arena_free(x->arena);
}

/* ---- weighing ---- */

struct weighing {
    double cost, time; /* weights of micro-dollars and nanoseconds of the stage at hand */
    int layer;
};

/* A later input costs at least the lowest price for as long as it takes, but for what the minimum
 * billing time covers. */
static void weigh_site(const struct presolve *x,
                       size_t stage,
                       const struct site *site,
                       const struct weighing *w,
                       struct weighed_site *out)
{
    const struct pstage *s = &x->p->stages[stage];
    const struct choice *only = x->domain->only[stage];
    const struct choice *choices = only ? only : site->choices;
    double fixed = (double)(site->storage_microusd + site->fixed_microusd);
    double price = (double)INFINITY, run_s = (double)INFINITY;

    out->own = (double)INFINITY;
    out->below = out->outside = 0;
    for (size_t k = 0; k < s->n_datasets; k++) {
        const struct dataset *d = &x->p->datasets[s->datasets[k]];
        if (d->producer == NONE && d->n_readers > 1)
            fixed += part_of(d, d->microusd[site->place]);
    }
    for (size_t i = 0; i < (only ? 1 : site->n_choices); i++) {
        struct outcome o;
        if (!costmodel_outcome(s, site, &choices[i], site->fixed_input_s, &o))
            continue;
        out->own = fmin(out->own, w->cost * ((double)o.compute_microusd - 1 + fixed) +
                                      w->time * (double)o.duration_ns[w->layer]);
        price = fmin(price, choices[i].price_usd);
        run_s = fmin(run_s, o.run_s[LAYER_MID]);
    }
    if (isinf(out->own))
        return;
    double busy_s = s->spec->estimate.setup_s + site->fixed_input_s + run_s;
    out->free_s = site->fixed_input_s + fmax(0, BILLED_MIN_S - busy_s);
    out->per_s = w->cost * s->spec->num_nodes * price * 1e6 / 3600 + w->time * NS_PER_S;
}

static double reading(const struct weighed_site *site, double seconds)
{
    return seconds > site->free_s ? site->per_s * (seconds - site->free_s) : 0;
}

/* The two least values of a class, so that one location can be left out. */
struct two_least {
    double first, second;
    size_t first_place;
};

static void two_least_add(struct two_least *t, double value, size_t place)
{
    if (value < t->first) {
        t->second = t->first;
        t->first = value;
        t->first_place = place;
    } else if (value < t->second) {
        t->second = value;
    }
}

static double least_but(const struct two_least *t, size_t place)
{
    return t->first_place == place ? t->second : t->first;
}

static const struct two_least nothing = {(double)INFINITY, (double)INFINITY, NONE};

/* What is best below, seen from a class of the parent's locations: elsewhere in another class, and
 * elsewhere in the same. */
static void look_down(const struct presolve *x,
                      const struct node *n,
                      size_t from_class,
                      double cost_weight,
                      double *other,
                      struct two_least *same)
{
    size_t row = from_class * x->classes->n;

    *other = (double)INFINITY;
    *same = nothing;
    for (size_t k = 0; k < n->n; k++) {
        const struct weighed_site *v = &n->sites[k];
        double moved = n->cost[row + v->class];
        if (isinf(moved))
            continue;
        double value = v->below + cost_weight * moved + reading(v, n->seconds[row + v->class]);
        if (v->class == from_class)
            two_least_add(same, value, v->place);
        else
            *other = fmin(*other, value);
    }
}

/* From the leaves up. */
static void sum_below(struct presolve *x, size_t stage, double cost_weight)
{
    struct node *n = &x->nodes[stage];
    size_t classes = x->classes->n;

    for (size_t k = 0; k < n->n; k++)
        n->sites[k].below += n->sites[k].own;
    if (n->parent == NONE)
        return;
    struct node *up = &x->nodes[n->parent];
    AUTO_MEM bool *done = mem_zero(classes, sizeof *done);
    AUTO_MEM double *other = mem_zero(classes, sizeof *other);
    AUTO_MEM struct two_least *same = mem_zero(classes, sizeof *same);
    for (size_t q = 0; q < up->n; q++) {
        struct weighed_site *u = &up->sites[q];
        size_t here = x->site_at[stage][u->place];
        if (!done[u->class])
            look_down(x, n, u->class, cost_weight, &other[u->class], &same[u->class]);
        done[u->class] = true;
        double best = fmin(other[u->class], least_but(&same[u->class], u->place));
        if (here != NONE)
            best = fmin(best, n->sites[here].below + reading(&n->sites[here], n->here_s));
        n->at_parent[q] = best;
        u->below += best;
    }
}

/* From the roots down. */
static void sum_outside(struct presolve *x, size_t stage, double cost_weight)
{
    struct node *n = &x->nodes[stage];
    const struct node *up = &x->nodes[n->parent];
    size_t classes = x->classes->n;
    AUTO_MEM double *rest = mem_zero(up->n, sizeof *rest);
    AUTO_MEM struct two_least *least = mem_zero(classes, sizeof *least);

    for (size_t a = 0; a < classes; a++)
        least[a] = nothing;
    for (size_t q = 0; q < up->n; q++) {
        const struct weighed_site *u = &up->sites[q];
        rest[q] = u->outside + u->below - n->at_parent[q];
        if (isnan(rest[q])) /* impossible, because of this stage or of others: bound by the rest */
            rest[q] = u->outside + u->own;
        two_least_add(&least[u->class], rest[q], u->place);
    }
    for (size_t k = 0; k < n->n; k++) {
        struct weighed_site *v = &n->sites[k];
        size_t here = x->site_at[n->parent][v->place];
        double best = (double)INFINITY;
        if (here != NONE)
            best = rest[here] + reading(v, n->here_s);
        for (size_t a = 0; a < classes; a++) {
            size_t cell = a * classes + v->class;
            double value = least_but(&least[a], v->place) + reading(v, n->seconds[cell]);
            if (value < best && !isinf(n->cost[cell]))
                best = fmin(best, value + cost_weight * n->cost[cell]);
        }
        v->outside = best;
    }
}

static double least_below(const struct node *n)
{
    double least = (double)INFINITY;

    for (size_t k = 0; k < n->n; k++)
        least = fmin(least, n->sites[k].below);
    return least;
}

void presolve_bounds(
    struct presolve *x, double lambda, const double *path_weight, int layer, double **marginal)
{
    const struct plan_problem *p = x->p;
    const size_t *order = p->world.spec->topological;
    struct weighing w = {.cost = isinf(lambda) ? 0 : 1, .layer = layer};
    double roots = 0;

    for (size_t s = 0; s < p->n_stages; s++) {
        w.time = lambda == 0 ? 0 : path_weight[s] * (isinf(lambda) ? 1 : lambda);
        for (size_t k = 0; k < x->nodes[s].n; k++)
            weigh_site(x, s, &p->stages[s].sites[x->domain->sites[s][k]], &w,
                       &x->nodes[s].sites[k]);
    }
    for (size_t i = p->n_stages; i-- > 0;)
        sum_below(x, order[i], w.cost);
    for (size_t s = 0; s < p->n_stages; s++)
        if (x->nodes[s].parent == NONE)
            roots += least_below(&x->nodes[s]);
    for (size_t i = 0; i < p->n_stages; i++) {
        struct node *n = &x->nodes[order[i]];
        if (n->parent != NONE)
            sum_outside(x, order[i], w.cost);
        double others = n->parent == NONE ? roots - least_below(n) : 0;
        for (size_t k = 0; k < n->n; k++) {
            n->sites[k].outside += isnan(others) ? 0 : others;
            double bound = n->sites[k].below + n->sites[k].outside;
            /* Sums of products are rounded; micro-dollars are compared exactly. */
            marginal[order[i]][k] = isinf(bound) ? bound : bound - fabs(bound) * 1e-11 - 2;
        }
    }
}

double **presolve_rows(const struct presolve *x)
{
    double **rows = arena_zero(x->arena, x->p->n_stages, sizeof *rows);

    for (size_t s = 0; s < x->p->n_stages; s++)
        rows[s] = arena_zero(x->arena, x->domain->n[s], sizeof **rows);
    return rows;
}

void presolve_thin(const struct plan_problem *p,
                   struct domain *d,
                   const struct incumbent *incumbent,
                   const double *lambdas,
                   size_t n,
                   const double *path_weight)
{
    AUTO(presolve) struct presolve *x = presolve_new(p, d);
    double **rows[BOUNDS_MAX];

    for (size_t i = 0; i < n; i++) {
        rows[i] = presolve_rows(x);
        presolve_bounds(x, lambdas[i], path_weight, incumbent->time_layer, rows[i]);
    }
    for (size_t stage = 0; stage < p->n_stages; stage++) {
        size_t kept = 0;
        for (size_t k = 0; k < d->n[stage]; k++) {
            struct bound bounds[BOUNDS_MAX];
            for (size_t i = 0; i < n; i++)
                bounds[i] = (struct bound){lambdas[i], rows[i][stage][k]};
            if (!incumbent_hopeless(incumbent, bounds, n))
                d->sites[stage][kept++] = d->sites[stage][k];
        }
        d->n[stage] = kept;
    }
}
