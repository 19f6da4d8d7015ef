/* The exact Pareto frontier of cost and time over a frame. The elimination of costnet.h, with
 * sets of labels instead of single numbers: what the eliminated stages cost, and how long they keep
 * the remaining ones apart. Sets keep only labels that no other beats in everything;
 * bounds drop those that cannot lead to a wanted plan. exact.c uses it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a label knows about time. A stage that is eliminated leaves behind how long its chain of
 * stages takes between the ones that remain; all are longest paths, so they combine by maximum. */
enum entry_kind {
    DELAY, /* from the finish of a to the start of b */
    HEAD,  /* from the beginning of the plan to the start of b */
    TAIL,  /* from the finish of a to the end of the plan */
    SPAN,  /* from beginning to end, through eliminated stages alone */
};

struct entry {
    enum entry_kind kind;
    size_t a, b; /* variables; NONE where the kind has none */
};

struct layout {
    struct entry *entries;
    size_t n, cap;
};

/* How an entry after the elimination comes from those before: the larger of what was there
 * already and of the way through the eliminated stage. */
struct op {
    size_t copy;    /* entry before, or NONE */
    bool through;   /* in + duration + out */
    size_t in, out; /* entries before, or NONE = 0 */
};

/* Labels are rows of words: cost, weighted time (a double's bits), origin (state, level and option
 * of the eliminated variable), one label of every child, then the entries, layer by layer. */
enum { WORD_COST, WORD_WEIGHTED, WORD_ORIGIN, WORD_CHILDREN };
#define ORIGIN_BITS 24 /* of state and option; the level has the remaining 16 */

struct list {
    int64_t *words;
    size_t n, cap_words;
    size_t stride, n_times; /* words of a row, and how many of them, at its end, are times */
    size_t *rank;           /* rows that are still in the set, ascending cost */
    size_t n_rank, cap_rank;
};

struct step {
    const struct costnet_group *group;
    struct layout before, after;
    size_t **child_entry; /* per child: where its entries stand in `before` */
    struct op *ops;       /* per entry of `after` */
    struct list labels;
    size_t *first; /* per cell, and one past the last */
};

struct label_run {
    const struct frame *frame;
    const struct costnet_schedule *schedule;
    const struct incumbent *incumbent;
    const struct cutoff *cutoff;
    size_t n_bounds; /* one per pass of the view */
    double lambda[BOUNDS_MAX];
    double **out[BOUNDS_MAX];  /* per group, of the net weighed with lambda */
    const double *path_weight; /* per variable: how much of lambda its time carries */
    struct incumbent_box box;  /* of the target, which does not change during a run */
    bool box_is_all;
    size_t layers[LAYERS]; /* which are kept */
    size_t n_layers;
    struct arena *arena; /* of what has a size from the start */
    struct step *steps;  /* per group; one more joins the groups without scope */
    struct costnet_group end;
    bool *needs; /* [v * n + u]: v needs u */
    bool *is_needed;
    struct list joined, next; /* children's labels, joined one child after the other */
    struct list set;          /* labels of the cell at hand */
    int64_t *row;             /* one label in the making */
    size_t bytes;
    size_t ticks;
    bool stopped;
};

/* A plan's memory stays well below 100 MB with this. */
#define LABEL_MAX_BYTES ((size_t)32 << 20)

/* ---- lists ---- */

/* Empties the list and gives its rows a new shape; memory is kept. */
static void list_reset(struct list *l, size_t n_children, size_t n_times)
{
    l->n = l->n_rank = 0;
    l->n_times = n_times;
    l->stride = WORD_CHILDREN + n_children + n_times;
}

static void list_clear(struct list *l)
{
    free(l->words);
    free(l->rank);
    *l = (struct list){0};
}

static int64_t *list_at(const struct list *l, size_t i)
{
    return l->words + i * l->stride;
}

static int64_t *list_times(const struct list *l, size_t i)
{
    return list_at(l, i) + l->stride - l->n_times;
}

static int64_t *list_add(struct list *l)
{
    while ((l->n + 1) * l->stride > l->cap_words)
        l->words = mem_room(l->words, l->cap_words, &l->cap_words, sizeof *l->words);
    return list_at(l, l->n++);
}

static double weighted_of(const int64_t *label)
{
    double v;

    memcpy(&v, &label[WORD_WEIGHTED], sizeof v);
    return v;
}

static void set_weighted(int64_t *label, double v)
{
    memcpy(&label[WORD_WEIGHTED], &v, sizeof v);
}

/* ---- layouts: what follows from the graph alone ---- */

static size_t layout_find(const struct layout *l, enum entry_kind kind, size_t a, size_t b)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->entries[i].kind == kind && l->entries[i].a == a && l->entries[i].b == b)
            return i;
    return NONE;
}

static size_t layout_add(struct layout *l, enum entry_kind kind, size_t a, size_t b)
{
    size_t at = layout_find(l, kind, a, b);

    if (at != NONE)
        return at;
    l->entries = mem_room(l->entries, l->n, &l->cap, sizeof *l->entries);
    l->entries[l->n] = (struct entry){kind, a, b};
    return l->n++;
}

static void add_through(struct step *s, struct entry e, size_t in, size_t out)
{
    size_t at = layout_find(&s->after, e.kind, e.a, e.b);

    if (at == NONE) {
        at = layout_add(&s->after, e.kind, e.a, e.b);
        s->ops = mem_grow(s->ops, s->after.n, sizeof *s->ops);
        s->ops[at] = (struct op){.copy = NONE};
    }
    s->ops[at].through = true;
    s->ops[at].in = in;
    s->ops[at].out = out;
}

static void keep_others(struct step *s, size_t x)
{
    for (size_t i = 0; i < s->before.n; i++) {
        const struct entry *e = &s->before.entries[i];
        if (e->a == x || e->b == x)
            continue;
        size_t at = layout_add(&s->after, e->kind, e->a, e->b);
        s->ops = mem_grow(s->ops, s->after.n, sizeof *s->ops);
        s->ops[at] = (struct op){.copy = i};
    }
}

/* All ways through x: from what comes before it to what comes after it. */
static void plan_step(struct label_run *r, struct step *s)
{
    const struct costnet_group *g = s->group;
    size_t x = g->var, n = r->frame->n_vars;
    size_t head = layout_find(&s->before, HEAD, NONE, x);
    size_t tail = layout_find(&s->before, TAIL, x, NONE);
    bool has_head = head != NONE || !r->frame->vars[x].stage->spec->n_needs;
    bool has_tail = tail != NONE || !r->is_needed[x];

    keep_others(s, x);
    for (size_t i = 0; i < g->n_scope; i++) {
        size_t a = g->scope[i], in = layout_find(&s->before, DELAY, a, x);
        if (in == NONE && !r->needs[x * n + a])
            continue;
        for (size_t k = 0; k < g->n_scope; k++) {
            size_t b = g->scope[k], out = layout_find(&s->before, DELAY, x, b);
            if (out != NONE || r->needs[b * n + x])
                add_through(s, (struct entry){DELAY, a, b}, in, out);
        }
        if (has_tail)
            add_through(s, (struct entry){TAIL, a, NONE}, in, tail);
    }
    for (size_t k = 0; k < g->n_scope && has_head; k++) {
        size_t b = g->scope[k], out = layout_find(&s->before, DELAY, x, b);
        if (out != NONE || r->needs[b * n + x])
            add_through(s, (struct entry){HEAD, NONE, b}, head, out);
    }
    if (has_head && has_tail)
        add_through(s, (struct entry){SPAN, NONE, NONE}, head, tail);
}

static void plan_children(struct label_run *r, struct step *s)
{
    const struct costnet_group *g = s->group;

    s->child_entry = arena_zero(r->arena, g->n_children, sizeof *s->child_entry);
    for (size_t i = 0; i < g->n_children; i++) {
        const struct layout *child = &r->steps[g->children[i]].after;
        s->child_entry[i] = arena_zero(r->arena, child->n, sizeof **s->child_entry);
        for (size_t k = 0; k < child->n; k++)
            s->child_entry[i][k] = layout_add(&s->before, child->entries[k].kind,
                                              child->entries[k].a, child->entries[k].b);
    }
}

/* ---- sets of labels ---- */

static bool none_larger(const int64_t *a, const int64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

/* First in the set that costs more. */
static size_t set_position(const struct list *set, int64_t microusd)
{
    size_t low = 0, high = set->n_rank;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (list_at(set, set->rank[mid])[WORD_COST] > microusd)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Removes from position `first` on what the times beat. With a single time the set is a
 * staircase: what is beaten stands together. */
static void set_remove_beaten(struct list *set, const int64_t *times, size_t first)
{
    size_t end = first, kept = first;

    if (set->n_times <= 1) {
        while (end < set->n_rank &&
               none_larger(times, list_times(set, set->rank[end]), set->n_times))
            end++;
        if (end == first) /* also the empty set, whose rank is still NULL */
            return;
        memmove(&set->rank[first], &set->rank[end], (set->n_rank - end) * sizeof *set->rank);
        set->n_rank -= end - first;
        return;
    }
    for (size_t i = first; i < set->n_rank; i++)
        if (!none_larger(times, list_times(set, set->rank[i]), set->n_times))
            set->rank[kept++] = set->rank[i];
    set->n_rank = kept;
}

/* Adds the row unless another is as good in everything. */
static void set_insert(struct list *set, const int64_t *row)
{
    const int64_t *times = row + set->stride - set->n_times;
    size_t at = set_position(set, row[WORD_COST]);

    for (size_t i = at; i > 0; i--) {
        if (none_larger(list_times(set, set->rank[i - 1]), times, set->n_times))
            return;
        if (set->n_times <= 1)
            break;
    }
    while (at > 0 && list_at(set, set->rank[at - 1])[WORD_COST] == row[WORD_COST])
        at--;
    set_remove_beaten(set, times, at);
    set->rank = mem_room(set->rank, set->n_rank, &set->cap_rank, sizeof *set->rank);
    memmove(&set->rank[at + 1], &set->rank[at], (set->n_rank - at) * sizeof *set->rank);
    set->rank[at] = set->n;
    set->n_rank++;
    memcpy(list_add(set), row, set->stride * sizeof *row);
}

/* ---- one cell ---- */

/* A step at one assignment of its scope and of its variable. */
struct cell {
    struct step *step;
    size_t index;
    uint32_t *states; /* per variable of the frame */
    double out[BOUNDS_MAX];
};

static size_t child_cell(const struct label_run *r,
                         const struct costnet_group *child,
                         const uint32_t *states)
{
    size_t cell = 0;

    for (size_t i = 0; i < child->n_scope; i++)
        cell = cell * r->frame->n_states[child->scope[i]] + states[child->scope[i]];
    return cell;
}

static bool out_of_time(struct label_run *r)
{
    if (++r->ticks % 4096 == 0 && cutoff_is_past(r->cutoff))
        r->stopped = true;
    return r->stopped;
}

/* A row of the join: `mine` with one label of the i-th child added. */
static void join_rows(const struct label_run *r,
                      const struct step *s,
                      size_t i,
                      size_t label,
                      const int64_t *mine,
                      int64_t *row)
{
    const struct step *child = &r->steps[s->group->children[i]];
    const int64_t *other = list_at(&child->labels, label);
    const int64_t *other_times = list_times(&child->labels, label);
    int64_t *times = row + r->joined.stride - r->joined.n_times;

    memcpy(row, mine, r->joined.stride * sizeof *row);
    row[WORD_COST] += other[WORD_COST];
    set_weighted(row, weighted_of(mine) + weighted_of(other));
    row[WORD_CHILDREN + i] = (int64_t)label;
    for (size_t k = 0; k < child->after.n; k++)
        for (size_t l = 0; l < r->n_layers; l++) {
            int64_t *at = &times[s->child_entry[i][k] * r->n_layers + l];
            int64_t t = other_times[k * r->n_layers + l];
            *at = t > *at ? t : *at;
        }
}

/* Whether the i-th child speaks of other times than those before it: then no row of the join beats
 * another, as no label of a child does. */
static bool is_apart(const struct label_run *r, const struct step *s, size_t i)
{
    size_t n = r->steps[s->group->children[i]].after.n;

    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < i; j++)
            for (size_t m = 0; m < r->steps[s->group->children[j]].after.n; m++)
                if (s->child_entry[i][k] == s->child_entry[j][m])
                    return false;
    return n > 0 || i == 0;
}

static void join_child(struct label_run *r, const struct step *s, size_t i, size_t cell)
{
    const struct step *child = &r->steps[s->group->children[i]];
    bool apart = is_apart(r, s, i);

    list_reset(&r->next, s->group->n_children, r->joined.n_times);
    for (size_t a = 0; a < r->joined.n; a++)
        for (size_t b = child->first[cell]; b < child->first[cell + 1] && !out_of_time(r); b++) {
            join_rows(r, s, i, b, list_at(&r->joined, a), r->row);
            if (apart)
                memcpy(list_add(&r->next), r->row, r->next.stride * sizeof *r->row);
            else
                set_insert(&r->next, r->row);
        }
    if (apart) {
        struct list swap = r->joined;
        r->joined = r->next;
        r->next = swap;
        return;
    }
    r->joined.n = 0;
    for (size_t k = 0; k < r->next.n_rank; k++)
        memcpy(list_add(&r->joined), list_at(&r->next, r->next.rank[k]),
               r->next.stride * sizeof *r->row);
}

/* The children's labels for this cell, in r->joined; false when some child has none. */
static bool join_children(struct label_run *r, const struct cell *c)
{
    const struct step *s = c->step;

    list_reset(&r->joined, s->group->n_children, s->before.n * r->n_layers);
    memset(list_add(&r->joined), 0, r->joined.stride * sizeof *r->row);
    for (size_t i = 0; i < s->group->n_children; i++) {
        const struct step *child = &r->steps[s->group->children[i]];
        size_t cell = child_cell(r, child->group, c->states);
        if (child->first[cell] == child->first[cell + 1])
            return false;
        join_child(r, s, i, cell);
    }
    return true;
}

/* Costs of the data that moves between the variable and its scope, and the variable's level;
 * NEVER when the states do not go together. */
static int64_t moved_cost(const struct label_run *r, const struct cell *c, uint32_t *level)
{
    const struct costnet_group *g = c->step->group;
    const struct frame *f = r->frame;
    int64_t sum = 0;

    *level = f->vars[g->var].by_level ? f->vars[g->var].state_level[c->states[g->var]] : 0;
    for (size_t i = 0; i < g->n_pairs; i++) {
        if (g->pairs[i] >= f->n_edges)
            continue; /* a link */
        const struct frame_edge *e = &f->edges[g->pairs[i]];
        uint32_t at;
        int64_t microusd = frame_edge_cost(f, e, c->states[e->from], c->states[e->to], &at);
        if (microusd == NEVER)
            return NEVER;
        if (e->to == g->var)
            *level = at;
        sum += microusd;
    }
    return sum;
}

/* Everything that is known of a label at this cell, as bounds of the plans it can lead to. */
static bool hopeless(const struct label_run *r,
                     const struct cell *c,
                     int64_t microusd,
                     double weighted)
{
    struct bound at[BOUNDS_MAX];

    for (size_t i = 0; i < r->n_bounds; i++) {
        double lambda = r->lambda[i];
        double inside = isinf(lambda) ? weighted : (double)microusd;
        if (lambda > 0 && !isinf(lambda))
            inside += lambda * weighted;
        at[i] = (struct bound){lambda, inside + c->out[i]};
        if (incumbent_outside(&r->box, lambda, at[i].value))
            return true;
    }
    return !r->box_is_all && incumbent_hopeless(r->incumbent, at, r->n_bounds);
}

static int64_t entry_or_zero(const int64_t *times, size_t entry, size_t n_layers, size_t l)
{
    return entry == NONE ? 0 : times[entry * n_layers + l];
}

/* Times after the variable is gone; false when the plan would never end. */
static bool pass_through(const struct label_run *r,
                         const struct step *s,
                         const int64_t *before,
                         const struct option *o,
                         int64_t *after)
{
    for (size_t i = 0; i < s->after.n; i++) {
        const struct op *op = &s->ops[i];
        for (size_t l = 0; l < r->n_layers; l++) {
            int64_t t = entry_or_zero(before, op->copy, r->n_layers, l);
            if (op->through) {
                int64_t in = entry_or_zero(before, op->in, r->n_layers, l);
                int64_t out = entry_or_zero(before, op->out, r->n_layers, l);
                int64_t way = o->ns[r->layers[l]];
                if (in > PLAN_MAX_NS - way - out)
                    return false;
                way += in + out;
                t = way > t ? way : t;
            }
            after[i * r->n_layers + l] = t;
        }
    }
    return true;
}

static void expand(struct label_run *r, const struct cell *c)
{
    const struct step *s = c->step;
    const struct frame_var *v = &r->frame->vars[s->group->var];
    uint32_t state = c->states[s->group->var], at_level;
    int64_t moved = moved_cost(r, c, &at_level);

    if (moved == NEVER || !join_children(r, c))
        return;
    const struct level *level = &frame_state_site(v, state)->levels[at_level];
    double path_weight = r->path_weight[s->group->var];
    int layer = r->incumbent->time_layer;
    /* The first bound is that of the cost (lambda 0). */
    double most_microusd = r->box.microusd - c->out[0];
    bool time_only = r->incumbent->time_only;
    for (size_t k = 0; k < r->joined.n; k++) {
        const int64_t *have = list_at(&r->joined, k);
        for (size_t i = 0; i < level->n_options && !out_of_time(r); i++) {
            const struct option *o = &level->options[i];
            int64_t microusd = time_only ? 0 : have[WORD_COST] + moved + o->microusd;
            if ((double)microusd > most_microusd)
                break; /* options ascend in cost */
            double weighted = weighted_of(have) + path_weight * (double)o->ns[layer];
            if (hopeless(r, c, microusd, weighted) ||
                !pass_through(r, s, list_times(&r->joined, k), o,
                              r->row + r->set.stride - r->set.n_times))
                continue;
            r->row[WORD_COST] = microusd;
            set_weighted(r->row, weighted);
            r->row[WORD_ORIGIN] = (int64_t)((uint64_t)at_level << (2 * ORIGIN_BITS) |
                                            (uint64_t)i << ORIGIN_BITS | state);
            memcpy(r->row + WORD_CHILDREN, have + WORD_CHILDREN,
                   s->group->n_children * sizeof *r->row);
            set_insert(&r->set, r->row);
        }
    }
}

/* ---- the run ---- */

/* Moves the set into the step's labels, cheapest first. */
static void store_set(struct label_run *r, struct step *s)
{
    for (size_t i = 0; i < r->set.n_rank; i++)
        memcpy(list_add(&s->labels), list_at(&r->set, r->set.rank[i]),
               r->set.stride * sizeof *r->row);
    r->bytes += r->set.n_rank * r->set.stride * sizeof *r->row;
    if (r->bytes > LABEL_MAX_BYTES)
        r->stopped = true;
}

static void next_states(const struct label_run *r, const struct costnet_group *g, uint32_t *states)
{
    for (size_t k = g->n_scope; k-- > 0;) {
        if (++states[g->scope[k]] < r->frame->n_states[g->scope[k]])
            return;
        states[g->scope[k]] = 0;
    }
}

static void run_step(struct label_run *r, size_t index, uint32_t *states)
{
    struct step *s = &r->steps[index];
    const struct costnet_group *g = s->group;
    struct cell c = {.step = s, .states = states};

    for (size_t i = 0; i < g->n_scope; i++)
        states[g->scope[i]] = 0;
    list_reset(&s->labels, g->n_children, s->after.n * r->n_layers);
    for (c.index = 0; c.index < g->cells && !r->stopped; c.index++, next_states(r, g, states)) {
        bool possible = true;
        s->first[c.index] = s->labels.n;
        for (size_t i = 0; i < r->n_bounds; i++) {
            c.out[i] = r->out[i][index][c.index];
            possible = possible && c.out[i] < (double)INFINITY;
        }
        if (!possible)
            continue;
        list_reset(&r->set, g->n_children, s->after.n * r->n_layers);
        for (uint32_t x = 0; x < r->frame->n_states[g->var] && !r->stopped; x++) {
            states[g->var] = x;
            expand(r, &c);
        }
        store_set(r, s);
    }
    s->first[g->cells] = s->labels.n;
}

/* Joins the parts of the pipeline that nothing connects. */
static void run_end(struct label_run *r, uint32_t *states)
{
    struct step *end = &r->steps[r->schedule->n_groups];
    struct cell c = {.step = end, .states = states};

    list_reset(&end->labels, end->group->n_children, end->before.n * r->n_layers);
    if (!join_children(r, &c))
        return;
    for (size_t i = 0; i < r->joined.n; i++)
        memcpy(list_add(&end->labels), list_at(&r->joined, i), r->joined.stride * sizeof *r->row);
}

static void note_needs(struct label_run *r)
{
    const struct frame *f = r->frame;

    r->needs = arena_zero(r->arena, f->n_vars * f->n_vars, sizeof *r->needs);
    r->is_needed = arena_zero(r->arena, f->n_vars, sizeof *r->is_needed);
    for (size_t v = 0; v < f->n_vars; v++)
        for (size_t k = 0; k < f->vars[v].stage->spec->n_needs; k++) {
            size_t u = f->var_of_stage[f->vars[v].stage->spec->needs[k]];
            r->needs[v * f->n_vars + u] = true;
            r->is_needed[u] = true;
        }
}

/* Shapes of all steps, and a row long enough for any. */
static void plan_steps(struct label_run *r)
{
    const struct costnet_schedule *schedule = r->schedule;
    size_t longest = 0;

    r->steps = arena_zero(r->arena, schedule->n_groups + 1, sizeof *r->steps);
    r->end = (struct costnet_group){.var = NONE, .cells = 1};
    r->end.children = arena_zero(r->arena, schedule->n_groups, sizeof *r->end.children);
    for (size_t i = 0; i < schedule->n_groups; i++)
        if (!schedule->groups[i].n_scope)
            r->end.children[r->end.n_children++] = i;
    for (size_t i = 0; i <= schedule->n_groups; i++) {
        struct step *s = &r->steps[i];
        s->group = i < schedule->n_groups ? &schedule->groups[i] : &r->end;
        s->first = arena_zero(r->arena, s->group->cells + 1, sizeof *s->first);
        plan_children(r, s);
        if (i < schedule->n_groups)
            plan_step(r, s);
        size_t entries = s->before.n > s->after.n ? s->before.n : s->after.n;
        size_t words = WORD_CHILDREN + s->group->n_children + entries * r->n_layers;
        longest = words > longest ? words : longest;
    }
    r->row = arena_zero(r->arena, longest, sizeof *r->row);
}

struct label_run *labels_new(const struct view *v,
                             const struct incumbent *incumbent,
                             const struct cutoff *cutoff)
{
    AUTO(label_run) struct label_run *r = mem_zero(1, sizeof *r);
    AUTO_MEM uint32_t *states = mem_zero(v->frame->n_vars, sizeof *states);

    r->arena = arena_new(SIZE_MAX);
    r->frame = v->frame;
    r->schedule = v->schedule;
    r->incumbent = incumbent;
    r->cutoff = cutoff;
    r->path_weight = v->path_weight;
    for (; r->n_bounds < v->n_passes; r->n_bounds++) {
        r->lambda[r->n_bounds] = v->passes[r->n_bounds].lambda;
        r->out[r->n_bounds] = v->passes[r->n_bounds].tables.out;
    }
    r->box = incumbent_box(incumbent);
    r->box_is_all = incumbent_is_box(incumbent);
    r->layers[r->n_layers++] = LAYER_MID;
    if (v->layer == LAYER_HIGH)
        r->layers[r->n_layers++] = LAYER_HIGH;
    note_needs(r);
    plan_steps(r);
    for (size_t i = 0; i < r->schedule->n_groups && !r->stopped; i++)
        run_step(r, i, states);
    if (!r->stopped)
        run_end(r, states);
    return r->stopped ? NULL : TAKE(r);
}

void label_run_free(struct label_run *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->steps && i <= r->schedule->n_groups; i++) {
        struct step *s = &r->steps[i];
        free(s->before.entries);
        free(s->after.entries);
        free(s->ops);
        list_clear(&s->labels);
    }
    list_clear(&r->joined);
    list_clear(&r->next);
    list_clear(&r->set);
    arena_free(r->arena);
    free(r);
}

static const struct step *end_of(const struct label_run *r)
{
    return &r->steps[r->schedule->n_groups];
}

size_t labels_n(const struct label_run *r)
{
    return end_of(r)->labels.n;
}

struct totals labels_totals(const struct label_run *r, size_t i)
{
    const struct list *l = &end_of(r)->labels;
    struct totals t = {.microusd = list_at(l, i)[WORD_COST]};

    /* The only entry left is the span. */
    for (int layer = 0; layer < LAYERS; layer++)
        t.ns[layer] = list_times(l, i)[layer < (int)r->n_layers ? layer : 0];
    return t;
}

static void collect_picks(const struct label_run *r,
                          const struct step *s,
                          size_t label,
                          struct pick *picks)
{
    const int64_t *row = list_at(&s->labels, label);

    if (s->group->var != NONE) {
        const uint64_t mask = ((uint64_t)1 << ORIGIN_BITS) - 1;
        uint64_t origin = (uint64_t)row[WORD_ORIGIN];
        const struct frame_var *v = &r->frame->vars[s->group->var];
        const struct frame_site *fs = frame_state_site(v, (uint32_t)(origin & mask));
        const struct level *level = &fs->levels[origin >> (2 * ORIGIN_BITS)];
        picks[v->index] = (struct pick){
            .site = fs->site, .choice = level->options[origin >> ORIGIN_BITS & mask].choice};
    }
    for (size_t i = 0; i < s->group->n_children; i++)
        collect_picks(r, &r->steps[s->group->children[i]], (size_t)row[WORD_CHILDREN + i], picks);
}

void labels_picks(const struct label_run *r, size_t i, struct pick *picks)
{
    collect_picks(r, end_of(r), i, picks);
}
