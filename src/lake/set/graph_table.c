#include "lake/set/graph_table.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "lake/core/internal.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of the reading; a few more than threads, so that none waits long for the others. */
#define EDGE_PIECES 6
#define VERSION_PIECES 3
#define PIECES (1 + EDGE_PIECES + VERSION_PIECES)
#define THREADS_MAX 8

struct raw_edge {
    struct graph_link link;
    uint32_t child;
};
struct raw_edges {
    struct raw_edge *items;
    size_t n, cap;
};

struct loading {
    struct lake *l;
    struct graph_range range;
    struct graph_table *table;
    struct raw_edges edges[EDGE_PIECES];
    uint32_t *set_of; /* by id of the set version; 0 = none */
    struct arena *arena;
    const char **set_names; /* by id of the set; NULL = none of this project */
    size_t n_set_names;
};

static void loading_clear(struct loading *g)
{
    for (size_t i = 0; i < EDGE_PIECES; i++)
        free(g->edges[i].items);
    free(g->set_of);
    free(g->set_names);
}

void graph_table_clear(struct graph_table *t)
{
    free(t->links_at);
    free(t->links);
    free(t->children_at);
    free(t->children);
    free(t->names);
    *t = (struct graph_table){0};
}

/* Where the ith of n pieces of the range begins; the last ends where the nth would begin. */
static int64_t piece_start(const struct graph_range *range, size_t i, size_t n)
{
    uint64_t count = (uint64_t)range->high - range->low + 1;

    return (int64_t)(range->low + count * i / n);
}

static bool is_id(int64_t id, uint32_t top)
{
    return id >= 1 && id <= top;
}

/* Edges in order of the child. Only edges of jobs have a job, so that their kind need not be read.
 * Damaged ones are left out: fsck tells them. The end is not the database's to find: it would
 * compare keys at every row. */
static int read_edges(struct loading *g, size_t piece, struct db *d, struct err *e)
{
    struct raw_edges *out = &g->edges[piece];
    int64_t end = piece_start(&g->range, piece + 1, EDGE_PIECES);
    AUTO_RESET struct db_query *q = db_query(
        d, e, "SELECT child, parent, job FROM edge WHERE child >= $1 ORDER BY child, parent",
        DB_INT(piece_start(&g->range, piece, EDGE_PIECES)));
    int got;

    while ((got = db_step(q, e)) == 1) {
        int64_t child = db_int(q, 0), parent = db_int(q, 1), job = db_int(q, 2);
        if (child >= end)
            return 0;
        if (!is_id(parent, g->range.top) || parent >= child)
            continue;
        out->items = mem_room(out->items, out->n, &out->cap, sizeof *out->items);
        out->items[out->n++] = (struct raw_edge){
            .child = (uint32_t)child,
            .link = {.job = job,
                     .parent = (uint32_t)parent,
                     .kind = job > 0 ? LAKE_EDGE_JOB : LAKE_EDGE_CREATE},
        };
    }
    return got;
}

static int read_versions(struct loading *g, size_t piece, struct db *d, struct err *e)
{
    int64_t end = piece_start(&g->range, piece + 1, VERSION_PIECES);
    AUTO_RESET struct db_query *q =
        db_query(d, e, "SELECT id, fileset, number FROM set_version WHERE id >= $1 ORDER BY id",
                 DB_INT(piece_start(&g->range, piece, VERSION_PIECES)));
    int got;

    while ((got = db_step(q, e)) == 1) {
        int64_t id = db_int(q, 0), set = db_int(q, 1);
        if (id >= end)
            return 0;
        if (!is_id(set, GRAPH_IDS_MAX))
            continue;
        g->set_of[id] = (uint32_t)set;
        g->table->names[id].number = db_int(q, 2);
    }
    return got;
}

static void add_set_name(struct loading *g, uint32_t set, const char *name)
{
    if (set >= g->n_set_names) {
        size_t n = 2 * (size_t)set + 1024;
        g->set_names = mem_grow(g->set_names, n, sizeof *g->set_names);
        memset(g->set_names + g->n_set_names, 0, (n - g->n_set_names) * sizeof *g->set_names);
        g->n_set_names = n;
    }
    g->set_names[set] = name;
}

static int read_sets(struct loading *g, struct db *d, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(d, e, "SELECT id, project, name FROM fileset ORDER BY id", DB_NONE);
    int got;

    while ((got = db_step(q, e)) == 1) {
        int64_t set = db_int(q, 0);
        if (db_int(q, 1) != g->l->project || !is_id(set, GRAPH_IDS_MAX))
            continue;
        const char *name = arena_dup(g->arena, db_text(q, 2));
        if (!name)
            return err_set(e, ERR_NOFIT, "the graph is too large to be read at once");
        add_set_name(g, (uint32_t)set, name);
    }
    return got;
}

static int read_piece(void *context, size_t i, struct err *e)
{
    struct loading *g = context;
    AUTO_MEM char *file = mem_printf("%s/lake.db", g->l->home);
    const struct db_options options = {
        .url = file, .name = "the lake", .migrations = lake_migrations, .must_exist = true};
    /* A connection is for one thread at a time. */
    AUTO(db) struct db *d = db_open(&options, e);

    if (!d)
        return -1;
    if (i == 0) /* the largest piece when each version is of a set of its own: begun first */
        return read_sets(g, d, e);
    if (i <= EDGE_PIECES)
        return read_edges(g, i - 1, d, e);
    return read_versions(g, i - 1 - EDGE_PIECES, d, e);
}

/* Edges come by child already, so that counting is all the sorting there is. */
static int lay_out_links(struct loading *g, struct err *e)
{
    struct graph_table *t = g->table;
    size_t n = 0;

    for (size_t i = 0; i < EDGE_PIECES; i++)
        n += g->edges[i].n;
    if (n > UINT32_MAX)
        return err_set(e, ERR_NOFIT, "the graph is too large to be searched");
    t->links = mem_grow(NULL, n + 1, sizeof *t->links);
    n = 0;
    for (size_t i = 0; i < EDGE_PIECES; i++) {
        for (size_t k = 0; k < g->edges[i].n; k++) {
            const struct raw_edge *edge = &g->edges[i].items[k];
            t->links[n++] = edge->link;
            t->links_at[edge->child + 1]++;
        }
        free(g->edges[i].items);
        g->edges[i].items = NULL;
    }
    for (size_t id = 1; id <= (size_t)t->top + 1; id++)
        t->links_at[id] += t->links_at[id - 1];
    return 0;
}

static void lay_out_children(struct graph_table *t)
{
    size_t n = t->links_at[t->top + 1];
    AUTO_MEM uint32_t *next = mem_zero((size_t)t->top + 2, sizeof *next);

    t->children_at = mem_zero((size_t)t->top + 2, sizeof *t->children_at);
    t->children = mem_grow(NULL, n + 1, sizeof *t->children);
    for (size_t i = 0; i < n; i++)
        t->children_at[t->links[i].parent + 1]++;
    for (size_t id = 1; id <= (size_t)t->top + 1; id++)
        t->children_at[id] += t->children_at[id - 1];
    memcpy(next, t->children_at, ((size_t)t->top + 2) * sizeof *next);
    for (uint32_t child = 1; child <= t->top; child++)
        for (size_t i = t->links_at[child]; i < t->links_at[child + 1]; i++)
            t->children[next[t->links[i].parent]++] = child;
}

static void name_versions(struct loading *g)
{
    struct graph_table *t = g->table;

    for (size_t id = 1; id <= t->top; id++)
        if (g->set_of[id] != 0 && g->set_of[id] < g->n_set_names)
            t->names[id].set = g->set_names[g->set_of[id]];
}

int graph_table_load(struct lake *l,
                     const struct graph_range *range,
                     bool children,
                     struct arena *names,
                     struct graph_table *out,
                     struct err *e)
{
    AUTO_CLEAR(loading)
    struct loading g = {.l = l, .range = *range, .table = out, .arena = names};
    size_t ids = (size_t)range->top + 2;
    unsigned cores = parallel_cores();

    out->top = range->top;
    out->links_at = mem_zero(ids, sizeof *out->links_at);
    out->names = mem_zero(ids, sizeof *out->names);
    g.set_of = mem_zero(ids, sizeof *g.set_of);
    if (parallel_each(PIECES, cores < THREADS_MAX ? cores : THREADS_MAX, read_piece, &g, e) < 0)
        return -1;
    if (lay_out_links(&g, e) < 0)
        return -1;
    if (children)
        lay_out_children(out);
    name_versions(&g);
    return 0;
}
