#include "plan/frame.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_CAP_BYTES ((size_t)1 << 30)
/* A pair's table: more than this is for branching, not for tables. */
#define PAIR_CELLS_MAX ((size_t)1000000)

/* ---- datasets with several readers ---- */

static bool reads_at(const struct domain *d,
                     const struct plan_problem *p,
                     size_t stage,
                     size_t place)
{
    for (size_t i = 0; i < d->n[stage]; i++)
        if (p->stages[stage].sites[d->sites[stage][i]].place == place)
            return true;
    return false;
}

/* What a reader is charged for a shared dataset. Exact where a reader is settled at the location
 * (the first such pays all). Otherwise everybody who might come pays an equal part: those who do
 * come never pay more than the transfer together, so sums stay lower bounds. */
static int64_t share_of(const struct plan_problem *p,
                        const struct domain *d,
                        const struct dataset *data,
                        size_t reader,
                        size_t place,
                        int64_t microusd)
{
    size_t might_come = 0;

    if (data->n_readers == 1 || microusd == 0 || microusd == NEVER)
        return microusd;
    for (size_t i = 0; i < data->n_readers; i++) {
        size_t other = data->readers[i];
        if (!reads_at(d, p, other, place))
            continue;
        if (d->n[other] == 1)
            return other == reader ? microusd : 0;
        might_come++;
    }
    return microusd / (int64_t)(might_come ? might_come : 1);
}

static bool unsettled_sharing(const struct plan_problem *p, const struct domain *d)
{
    for (size_t i = 0; i < p->n_datasets; i++) {
        const struct dataset *data = &p->datasets[i];
        size_t open = 0;
        for (size_t k = 0; k < data->n_readers; k++)
            open += d->n[data->readers[k]] > 1;
        if (data->n_readers > 1 && data->size_gb > 0 && open)
            return true;
    }
    return false;
}

/* ---- levels ---- */

/* What one move means for an edge into a fixed site; worked out once per move. */
struct move_memo {
    size_t stamp;
    int64_t microusd;
    uint32_t level;
};

struct edge_builder {
    struct frame *f;
    const struct domain *domain;
    struct move_memo *memo; /* by catalog move; the last one stands for "within the place" */
    size_t n_moves;
    size_t stamp;
    double *levels; /* distinct input times of the site at hand */
    uint16_t *renumbered;
    size_t n_levels, cap_levels;
};

static uint32_t level_index(struct edge_builder *b, double input_s)
{
    for (size_t i = 0; i < b->n_levels; i++)
        if (b->levels[i] == input_s)
            return (uint32_t)i;
    b->levels = mem_room(b->levels, b->n_levels, &b->cap_levels, sizeof *b->levels);
    b->levels[b->n_levels] = input_s;
    return (uint32_t)b->n_levels++;
}

static void fill_memo(struct edge_builder *b,
                      struct move_memo *memo,
                      const struct frame_edge *edge,
                      const struct site *from,
                      const struct site *to)
{
    const struct plan_problem *p = b->f->problem;
    size_t producer = b->f->vars[edge->from].index, reader = b->f->vars[edge->to].index;
    const struct pstage *stage = &p->stages[reader];
    double input_s = to->fixed_input_s;

    *memo = (struct move_memo){.stamp = b->stamp};
    for (size_t i = 0; i < stage->n_datasets; i++) {
        const struct dataset *d = &p->datasets[stage->datasets[i]];
        if (d->producer != producer)
            continue;
        struct transfer moved = costmodel_move(p, d, from->place, to->place);
        if (moved.microusd == NEVER) {
            memo->microusd = NEVER;
            return;
        }
        input_s = fmax(input_s, moved.seconds);
        memo->microusd += share_of(p, b->domain, d, reader, to->place, moved.microusd);
    }
    memo->level = level_index(b, input_s);
}

/* One column of an edge: all sites of `from` against one site of `to`. */
static void fill_column(struct edge_builder *b, struct frame_edge *edge, size_t to_site)
{
    const struct frame_var *from = &b->f->vars[edge->from], *to = &b->f->vars[edge->to];
    const struct catalog *c = b->f->problem->world.catalog;
    const struct catalog_move *moves = c->moves;
    const struct site *dst = to->sites[to_site].site;

    b->stamp++;
    for (size_t i = 0; i < from->n_sites; i++) {
        const struct site *src = from->sites[i].site;
        size_t cell = i * to->n_sites + to_site;
        size_t key = b->n_moves;
        if (src->place != dst->place) {
            const struct catalog_move *m = catalog_move(c, src->place, dst->place);
            if (!m) {
                edge->microusd[cell] = NEVER;
                continue;
            }
            key = (size_t)(m - moves);
        }
        struct move_memo *memo = &b->memo[key];
        if (memo->stamp != b->stamp)
            fill_memo(b, memo, edge, src, dst);
        edge->microusd[cell] = memo->microusd;
        edge->level[cell] = (uint16_t)memo->level;
    }
}

/* Levels in ascending order, and the edges' columns renumbered to match. */
static int settle_levels(struct edge_builder *b, size_t var, size_t to_site)
{
    struct frame_var *v = &b->f->vars[var];
    struct frame_site *fs = &v->sites[to_site];

    fs->n_levels = b->n_levels;
    fs->levels = arena_alloc(b->f->arena, b->n_levels, sizeof *fs->levels);
    b->renumbered = mem_grow(b->renumbered, b->cap_levels, sizeof *b->renumbered);
    if (!fs->levels)
        return -1;
    for (size_t i = 0; i < b->n_levels; i++) {
        size_t smaller = 0; /* values are distinct, and few */
        for (size_t k = 0; k < b->n_levels; k++)
            smaller += b->levels[k] < b->levels[i];
        b->renumbered[i] = (uint16_t)smaller;
        fs->levels[smaller].input_s = b->levels[i];
    }
    for (size_t e = 0; e < v->stage->n_parents; e++) {
        struct frame_edge *edge = &b->f->edges[v->first_edge + e];
        for (size_t i = 0; i < b->f->vars[edge->from].n_sites; i++) {
            size_t cell = i * v->n_sites + to_site;
            if (edge->microusd[cell] != NEVER)
                edge->level[cell] = b->renumbered[edge->level[cell]];
        }
    }
    return 0;
}

/* ---- options ---- */

static bool beats(const struct option *a, const struct option *b, bool high)
{
    return a->microusd <= b->microusd && a->ns[LAYER_MID] <= b->ns[LAYER_MID] &&
           (!high || a->ns[LAYER_HIGH] <= b->ns[LAYER_HIGH]);
}

/* Adds the option unless another is as good; keeps the list free of worse ones and ascending in
 * cost, the faster first among equals. There is room for one more. */
static void add_option(struct level *level, const struct option *o, bool high)
{
    size_t kept = 0, at = 0;

    for (size_t i = 0; i < level->n_options; i++)
        if (beats(&level->options[i], o, high))
            return;
    for (size_t i = 0; i < level->n_options; i++)
        if (!beats(o, &level->options[i], high))
            level->options[kept++] = level->options[i];
    while (at < kept && (level->options[at].microusd < o->microusd ||
                         (level->options[at].microusd == o->microusd &&
                          level->options[at].ns[LAYER_MID] < o->ns[LAYER_MID])))
        at++;
    memmove(&level->options[at + 1], &level->options[at], (kept - at) * sizeof *o);
    level->options[at] = *o;
    level->n_options = kept + 1;
}

/* Storage and the inputs that do not come from a stage. */
static int64_t fixed_cost(const struct frame *f,
                          const struct frame_var *v,
                          const struct site *site,
                          const struct domain *d)
{
    int64_t fixed = site->storage_microusd + site->fixed_microusd;

    for (size_t i = 0; i < v->stage->n_datasets; i++) {
        const struct dataset *data = &f->problem->datasets[v->stage->datasets[i]];
        if (data->producer == NONE && data->n_readers > 1)
            fixed +=
                share_of(f->problem, d, data, v->index, site->place, data->microusd[site->place]);
    }
    return fixed;
}

/* Options are collected where level->options points, and kept in the arena. */
static int fill_level(struct frame *f,
                      const struct frame_var *v,
                      const struct site *site,
                      const struct choice *only,
                      struct level *level,
                      struct frame_kind kind)
{
    const struct choice *choices = only ? only : site->choices;
    size_t n_choices = only ? 1 : site->n_choices;
    struct option *scratch = level->options;
    struct outcome o;

    for (size_t i = 0; i < n_choices; i++) {
        if (!costmodel_outcome(v->stage, site, &choices[i], level->input_s, &o))
            continue;
        struct option opt = {.choice = &choices[i], .microusd = o.compute_microusd};
        memcpy(opt.ns, o.duration_ns, sizeof opt.ns);
        add_option(level, &opt, kind.layer == LAYER_HIGH);
        if (kind.cheapest_only)
            level->n_options = 1;
    }
    size_t n = level->n_options;
    if (!(level->options = arena_alloc(f->arena, n, sizeof *level->options)))
        return -1;
    memcpy(level->options, scratch, n * sizeof *scratch);
    return 0;
}

static int fill_options(struct frame *f,
                        const struct frame_var *v,
                        const struct frame_site *fs,
                        const struct domain *d,
                        struct frame_kind kind)
{
    int64_t fixed = fixed_cost(f, v, fs->site, d);
    AUTO_MEM struct option *scratch = mem_zero(fs->site->n_choices + 2, sizeof *scratch);

    for (size_t l = 0; l < fs->n_levels; l++) {
        struct level *level = &fs->levels[l];
        level->options = scratch;
        if (fill_level(f, v, fs->site, d->only[v->index], level, kind) < 0)
            return -1;
        for (size_t i = 0; i < level->n_options; i++)
            level->options[i].microusd += fixed;
    }
    return 0;
}

/* ---- building ---- */

static int add_vars(struct frame *f, const struct domain *d)
{
    const struct plan_problem *p = f->problem;

    f->n_vars = p->n_stages;
    f->vars = arena_alloc(f->arena, f->n_vars, sizeof *f->vars);
    f->var_of_stage = arena_alloc(f->arena, f->n_vars, sizeof *f->var_of_stage);
    if (!f->vars || !f->var_of_stage)
        return -1;
    for (size_t i = 0; i < f->n_vars; i++) {
        struct frame_var *v = &f->vars[i];
        v->index = p->world.spec->topological[i];
        v->stage = &p->stages[v->index];
        v->n_sites = d->n[v->index];
        f->var_of_stage[v->index] = i;
        if (!(v->sites = arena_alloc(f->arena, v->n_sites, sizeof *v->sites)))
            return -1;
        for (size_t k = 0; k < v->n_sites; k++)
            v->sites[k].site = &v->stage->sites[d->sites[v->index][k]];
    }
    return 0;
}

static int add_edges(struct frame *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_vars; i++)
        n += f->vars[i].stage->n_parents;
    if (!(f->edges = arena_alloc(f->arena, n, sizeof *f->edges)))
        return -1;
    for (size_t i = 0; i < f->n_vars; i++) {
        f->vars[i].first_edge = f->n_edges;
        for (size_t k = 0; k < f->vars[i].stage->n_parents; k++) {
            struct frame_edge *e = &f->edges[f->n_edges++];
            e->from = f->var_of_stage[f->vars[i].stage->parents[k]];
            e->to = i;
            size_t cells = f->vars[e->from].n_sites * f->vars[i].n_sites;
            e->microusd = arena_alloc(f->arena, cells, sizeof *e->microusd);
            e->level = arena_alloc(f->arena, cells, sizeof *e->level);
            if (!e->microusd || !e->level)
                return -1;
        }
    }
    return 0;
}

static int fill_edges(struct frame *f, const struct domain *d, struct frame_kind kind)
{
    size_t n_moves = f->problem->world.catalog->n_moves;
    AUTO_MEM struct move_memo *memo = mem_zero(n_moves + 1, sizeof *memo);
    struct edge_builder b = {.f = f, .domain = d, .memo = memo, .n_moves = n_moves};
    int result = 0;

    for (size_t i = 0; i < f->n_vars && result == 0; i++) {
        struct frame_var *v = &f->vars[i];
        for (size_t k = 0; k < v->n_sites && result == 0; k++) {
            b.n_levels = 0;
            if (!v->stage->n_parents)
                level_index(&b, v->sites[k].site->fixed_input_s);
            for (size_t e = 0; e < v->stage->n_parents; e++)
                fill_column(&b, &f->edges[v->first_edge + e], k);
            if (settle_levels(&b, i, k) < 0 || fill_options(f, v, &v->sites[k], d, kind) < 0)
                result = -1;
        }
    }
    free(b.levels);
    free(b.renumbered);
    return result;
}

/* The edge from a to b, or NULL. */
static const struct frame_edge *frame_edge_between(const struct frame *f, size_t from, size_t to)
{
    const struct frame_var *v = &f->vars[to];

    for (size_t e = v->first_edge; e < v->first_edge + v->stage->n_parents; e++)
        if (f->edges[e].from == from)
            return &f->edges[e];
    return NULL;
}

static int add_pairs(struct frame *f)
{
    size_t most = f->n_edges;

    for (size_t i = 0; i < f->n_vars; i++)
        most += f->vars[i].stage->spec->n_needs;
    if (!(f->pairs = arena_alloc(f->arena, most, sizeof *f->pairs)))
        return -1;
    for (size_t e = 0; e < f->n_edges; e++)
        f->pairs[f->n_pairs++] = (struct costnet_pair){.a = f->edges[e].from, .b = f->edges[e].to};
    for (size_t i = 0; i < f->n_vars; i++)
        for (size_t k = 0; k < f->vars[i].stage->spec->n_needs; k++) {
            size_t before = f->var_of_stage[f->vars[i].stage->spec->needs[k]];
            if (!frame_edge_between(f, before, i))
                f->pairs[f->n_pairs++] = (struct costnet_pair){.a = before, .b = i};
        }
    return 0;
}

static bool pairs_fit(const struct frame *f)
{
    for (size_t e = 0; e < f->n_edges; e++)
        if ((size_t)f->n_states[f->edges[e].from] * f->n_states[f->edges[e].to] > PAIR_CELLS_MAX)
            return false;
    return true;
}

static int add_states(struct frame *f, bool coarse)
{
    f->n_states = arena_alloc(f->arena, f->n_vars, sizeof *f->n_states);
    f->order = arena_alloc(f->arena, f->n_vars, sizeof *f->order);
    f->rank = arena_alloc(f->arena, f->n_vars, sizeof *f->rank);
    if (!f->n_states || !f->order || !f->rank)
        return -1;
    for (size_t i = 0; i < f->n_vars; i++) {
        const struct frame_var *v = &f->vars[i];
        for (size_t k = 0; k < v->n_sites; k++)
            f->n_states[i] +=
                v->stage->n_parents > 1 && !coarse ? (uint32_t)v->sites[k].n_levels : 1;
    }
    f->shape = (struct costnet){
        .n_vars = f->n_vars, .n_states = f->n_states, .pairs = f->pairs, .n_pairs = f->n_pairs};
    costnet_order(&f->shape, f->order);
    for (size_t i = 0; i < f->n_vars; i++)
        f->rank[f->order[i]] = i;
    for (size_t i = 0; i < f->n_vars; i++) {
        struct frame_var *v = &f->vars[i];
        size_t n_parents = v->stage->n_parents, n = 0;
        /* The level of the largest producer is likely the one that counts. */
        v->deciding =
            v->first_edge + (n_parents ? costmodel_largest_producer(f->problem, v->stage) : 0);
        /* With one producer that is still there when it is eliminated, a stage can look its level
         * up; otherwise it must carry it. */
        bool must_carry =
            n_parents > 1 || (n_parents == 1 && f->rank[f->edges[v->first_edge].from] < f->rank[i]);
        v->by_level = must_carry && !coarse;
        f->relaxed = f->relaxed || (must_carry && coarse);
        for (size_t k = 0; k < v->n_sites; k++)
            n += v->by_level ? v->sites[k].n_levels : 1;
        v->state_site = arena_alloc(f->arena, n, sizeof *v->state_site);
        v->state_level = arena_alloc(f->arena, n, sizeof *v->state_level);
        if (!v->state_site || !v->state_level || n > UINT32_MAX)
            return -1;
        for (size_t k = 0; k < v->n_sites; k++)
            for (size_t l = 0; l < (v->by_level ? v->sites[k].n_levels : 1); l++) {
                v->state_site[v->n_states] = (uint32_t)k;
                v->state_level[v->n_states++] = (uint32_t)l;
            }
        f->n_states[i] = v->n_states;
    }
    return 0;
}

struct frame *frame_new(const struct plan_problem *p,
                        const struct domain *d,
                        struct frame_kind kind,
                        bool *too_large)
{
    *too_large = false;
    for (size_t s = 0; s < p->n_stages; s++)
        if (!d->n[s])
            return NULL;
    AUTO(frame) struct frame *f = mem_zero(1, sizeof *f);
    f->arena = arena_new(FRAME_CAP_BYTES);
    f->problem = p;
    f->shared = unsettled_sharing(p, d);
    f->relaxed = kind.cheapest_only;
    if (add_vars(f, d) < 0 || add_edges(f) < 0 || fill_edges(f, d, kind) < 0 || add_pairs(f) < 0 ||
        add_states(f, kind.coarse) < 0 || !pairs_fit(f)) {
        *too_large = true;
        return NULL;
    }
    return TAKE(f);
}

void frame_free(struct frame *f)
{
    if (!f)
        return;
    arena_free(f->arena);
    free(f);
}

/* ---- looking things up ---- */

int64_t frame_edge_cost(const struct frame *f,
                        const struct frame_edge *edge,
                        uint32_t from_state,
                        uint32_t to_state,
                        uint32_t *level_out)
{
    const struct frame_var *from = &f->vars[edge->from], *to = &f->vars[edge->to];
    size_t cell = from->state_site[from_state] * to->n_sites + to->state_site[to_state];

    if (edge->microusd[cell] == NEVER)
        return NEVER;
    if (to->by_level && edge->level[cell] > to->state_level[to_state])
        return NEVER;
    if (level_out)
        *level_out = to->by_level ? to->state_level[to_state] : edge->level[cell];
    return edge->microusd[cell];
}

static double option_weight(const struct option *o, const struct weights *w, size_t var)
{
    return w->cost * (double)o->microusd + w->time[var] * (double)o->ns[w->layer];
}

/* The best option of a level, or NULL. */
static const struct option *best_option(const struct level *level,
                                        const struct weights *w,
                                        size_t var)
{
    const struct option *best = NULL;
    double least = 0;

    for (size_t i = 0; i < level->n_options; i++) {
        double weight = option_weight(&level->options[i], w, var);
        if (!best || weight < least) {
            best = &level->options[i];
            least = weight;
        }
        if (w->cheapest_only)
            break; /* options ascend in cost, the fastest of equals first */
    }
    return best;
}

static double best_weight(const struct level *level, const struct weights *w, size_t var)
{
    const struct option *o = best_option(level, w, var);

    return o ? option_weight(o, w, var) : (double)INFINITY;
}

/* A pair's table: the transfer and, where `to` looks its level up here, its best option. */
static double *weigh_edge(const struct frame *f,
                          const struct frame_edge *e,
                          const struct weights *w,
                          struct arena *arena)
{
    const struct frame_var *from = &f->vars[e->from], *to = &f->vars[e->to];
    double *table = arena_alloc(arena, (size_t)from->n_states * to->n_states, sizeof *table);
    bool decides = !to->by_level && &f->edges[to->deciding] == e;
    size_t cell = 0;

    if (!table)
        return NULL;
    /* Option weights per (site, level) once, not once a cell. */
    AUTO_MEM double **node = mem_zero(to->n_sites, sizeof *node);
    for (size_t k = 0; k < to->n_sites && decides; k++) {
        if (!(node[k] = arena_alloc(arena, to->sites[k].n_levels, sizeof *node[k])))
            return NULL;
        for (size_t l = 0; l < to->sites[k].n_levels; l++)
            node[k][l] = best_weight(&to->sites[k].levels[l], w, e->to);
    }
    for (uint32_t a = 0; a < from->n_states; a++) {
        const size_t row = from->state_site[a] * to->n_sites;
        for (uint32_t b = 0; b < to->n_states; b++, cell++) {
            size_t at = row + to->state_site[b];
            int64_t microusd = e->microusd[at];
            uint16_t level = e->level[at];
            if (microusd == NEVER || (to->by_level && level > to->state_level[b]))
                table[cell] = (double)INFINITY;
            else
                table[cell] =
                    w->cost * (double)microusd + (decides ? node[to->state_site[b]][level] : 0);
        }
    }
    return table;
}

int frame_weigh(const struct frame *f,
                const struct weights *w,
                struct arena *arena,
                struct costnet *net)
{
    double **unary = arena_alloc(arena, f->n_vars, sizeof *unary);
    struct costnet_pair *pairs = arena_alloc(arena, f->n_pairs, sizeof *pairs);

    if (!unary || !pairs)
        return -1;
    for (size_t i = 0; i < f->n_vars; i++) {
        const struct frame_var *v = &f->vars[i];
        if (v->stage->n_parents && !v->by_level)
            continue; /* its options are weighed on the edge that decides its level */
        if (!(unary[i] = arena_alloc(arena, v->n_states, sizeof *unary[i])))
            return -1;
        for (uint32_t s = 0; s < v->n_states; s++)
            unary[i][s] = best_weight(&frame_state_site(v, s)->levels[v->state_level[s]], w, i);
    }
    for (size_t i = 0; i < f->n_pairs; i++) {
        pairs[i] = f->pairs[i];
        if (i >= f->n_edges)
            continue; /* a link: time alone */
        if (!(pairs[i].cost = weigh_edge(f, &f->edges[i], w, arena)))
            return -1;
    }
    *net = f->shape;
    net->unary = unary;
    net->pairs = pairs;
    return 0;
}

/* The level that a variable really has, given everybody's states. */
static size_t true_level(const struct frame *f, const uint32_t *states, size_t var)
{
    const struct frame_var *v = &f->vars[var];
    size_t level = 0;

    for (size_t e = 0; e < v->stage->n_parents; e++) {
        const struct frame_edge *edge = &f->edges[v->first_edge + e];
        const struct frame_var *from = &f->vars[edge->from];
        size_t cell =
            from->state_site[states[edge->from]] * v->n_sites + v->state_site[states[var]];
        level = edge->level[cell] > level ? edge->level[cell] : level;
    }
    return level;
}

void frame_picks(const struct frame *f,
                 const uint32_t *states,
                 const struct weights *w,
                 struct pick *picks)
{
    for (size_t i = 0; i < f->n_vars; i++) {
        const struct frame_var *v = &f->vars[i];
        const struct frame_site *fs = frame_state_site(v, states[i]);
        const struct option *o = best_option(&fs->levels[true_level(f, states, i)], w, i);
        picks[v->index] =
            (struct pick){.site = fs->site, .choice = o ? o->choice : &fs->site->choices[0]};
    }
}
