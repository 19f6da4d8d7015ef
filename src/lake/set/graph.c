#include "lake/set/graph.h"

#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/set/graph_table.h"
#include "lake/set/internal.h"

#include <stdlib.h>
#include <string.h>

/* Up to this number of set versions, each is asked for its neighbours; then all edges are read at
 * once. At some 5 us a question this is well below the time a million edges take. */
#define ASKED_MAX 4000
#define NAMES_MAX_BYTES ((size_t)1 << 30)

void lake_graph_clear(struct lake_graph *g)
{
    free(g->nodes);
    free(g->edges);
    arena_free(g->priv);
    *g = (struct lake_graph){0};
}

/* A search in one direction: ids in the order they are met. */
struct wave {
    uint32_t *ids;
    size_t n, cap;
    uint32_t *hops; /* by id: hops + 1, 0 = not met */
};

struct search {
    struct lake *l;
    uint32_t top; /* highest id */
    uint32_t max_hops;
    enum lake_direction direction;
    struct wave back, forward;
    struct graph_table table; /* links is NULL until all was read */
    struct arena *names;
    uint32_t *index; /* by id: its place among the nodes + 1 */
};

static void search_clear(struct search *s)
{
    free(s->back.ids);
    free(s->back.hops);
    free(s->forward.ids);
    free(s->forward.hops);
    graph_table_clear(&s->table);
    arena_free(s->names);
    free(s->index);
}

static int find_top(struct search *s, struct err *e)
{
    int64_t top = 0;

    if (db_get_int(s->l->db, e, &top, "SELECT MAX(id) FROM set_version", DB_NONE) < 0)
        return -1;
    if (top < 0 || top > GRAPH_IDS_MAX)
        return err_set(e, ERR_NOFIT, "the graph is too large to be searched");
    s->top = (uint32_t)top;
    return 0;
}

static void meet(struct wave *w, uint32_t id, uint32_t hops)
{
    if (w->hops[id] != 0)
        return;
    w->hops[id] = hops + 1;
    w->ids = mem_room(w->ids, w->n, &w->cap, sizeof *w->ids);
    w->ids[w->n++] = id;
}

/* ---- where to start ---- */

static int start_at(void *context, int64_t set_version, struct err *e)
{
    struct search *s = context;

    (void)e;
    if (set_version < 1 || set_version > s->top) /* younger than this search */
        return 0;
    meet(&s->back, (uint32_t)set_version, 0);
    meet(&s->forward, (uint32_t)set_version, 0);
    return 0;
}

static int start(struct search *s, const struct lake_ref *ref, struct err *e)
{
    AUTO_MEM char *text = lake_ref_text(ref);

    s->back.hops = mem_zero((size_t)s->top + 1, sizeof *s->back.hops);
    s->forward.hops = mem_zero((size_t)s->top + 1, sizeof *s->forward.hops);
    if (ref->kind == LAKE_REF_SET)
        return start_at(s, ref->set_version, e);
    if (ref->kind != LAKE_REF_FILE)
        return err_set(e, ERR_USAGE,
                       "%s cannot be traced; trace a set version (@NAME:1) or a file version "
                       "(/path#2)",
                       text);
    if (entries_each_holder(s->l, ref->path, ref->version, start_at, s, e) < 0)
        return -1;
    if (s->back.n == 0)
        return err_set(e, ERR_NOTFOUND,
                       "no set holds %s, and traces lead from set to set: see tradewind help set "
                       "create",
                       text);
    return 0;
}

/* ---- neighbours ---- */

/* Of an edge that goes back its child is at most the oldest start, and so on. */
static struct graph_range range_of(const struct search *s)
{
    struct graph_range range = {.low = 1, .high = s->top, .top = s->top};
    uint32_t lowest = s->top, highest = 1;

    for (size_t i = 0; i < s->back.n && s->back.hops[s->back.ids[i]] == 1; i++) {
        uint32_t id = s->back.ids[i];
        lowest = id < lowest ? id : lowest;
        highest = id > highest ? id : highest;
    }
    if (s->direction == LAKE_BACK)
        range.high = highest;
    else if (s->direction == LAKE_FORWARD)
        range.low = lowest;
    return range;
}

static bool is_loaded(const struct search *s)
{
    return s->table.links != NULL;
}

static int load(struct search *s, const struct graph_range *range, struct err *e)
{
    return graph_table_load(s->l, range, s->direction & LAKE_FORWARD, s->names, &s->table, e);
}

/* Asks for the neighbours of one set version; $1 is its id. */
static int ask(struct search *s, const char *sql, uint32_t id, struct wave *w, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(s->l->db, e, sql, DB_INT(id));
    int got;

    while ((got = db_step(q, e)) == 1) {
        int64_t next = db_int(q, 0);
        if (next >= 1 && next <= s->top)
            meet(w, (uint32_t)next, w->hops[id]);
    }
    return got;
}

static int go_on(struct search *s, struct wave *w, uint32_t id, struct err *e)
{
    const struct graph_table *t = &s->table;

    if (w->n > ASKED_MAX && !is_loaded(s)) {
        struct graph_range range = range_of(s);
        if (load(s, &range, e) < 0)
            return -1;
    }
    if (!is_loaded(s))
        return ask(s,
                   w == &s->back ? "SELECT parent FROM edge WHERE child = $1 ORDER BY parent"
                                 : "SELECT child FROM edge WHERE parent = $1 ORDER BY child",
                   id, w, e);
    if (w == &s->back)
        for (size_t i = t->links_at[id]; i < t->links_at[id + 1]; i++)
            meet(w, t->links[i].parent, w->hops[id]);
    else
        for (size_t i = t->children_at[id]; i < t->children_at[id + 1]; i++)
            meet(w, t->children[i], w->hops[id]);
    return 0;
}

static int spread(struct search *s, struct wave *w, struct err *e)
{
    for (size_t i = 0; i < w->n; i++) {
        uint32_t id = w->ids[i];
        if (s->max_hops > 0 && w->hops[id] > s->max_hops)
            break;
        if (go_on(s, w, id, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the result ---- */

static void add_node(struct search *s, struct lake_graph *g, uint32_t id, uint32_t hops)
{
    if (s->index[id] != 0)
        return;
    g->nodes[g->n_nodes] = (struct lake_graph_node){.version = id, .hops = hops};
    s->index[id] = (uint32_t)++g->n_nodes;
}

/* Both waves are in order of hops: their union is so too. */
static void gather_nodes(struct search *s, struct lake_graph *g)
{
    const struct wave *b = &s->back, *f = &s->forward;
    size_t i = 0, k = 0;

    g->nodes = mem_zero(b->n + f->n + 1, sizeof *g->nodes);
    while (i < b->n || k < f->n) {
        bool back = k == f->n || (i < b->n && b->hops[b->ids[i]] <= f->hops[f->ids[k]]);
        uint32_t id = back ? b->ids[i++] : f->ids[k++];
        add_node(s, g, id, (back ? b->hops[id] : f->hops[id]) - 1);
    }
}

static void gather_all(struct search *s, struct lake_graph *g)
{
    g->nodes = mem_zero((size_t)s->top + 1, sizeof *g->nodes);
    for (uint32_t id = 1; id <= s->top; id++)
        if (s->table.names[id].set)
            add_node(s, g, id, 0);
}

static void add_edge(struct lake_graph *g,
                     size_t *cap,
                     const struct search *s,
                     uint32_t child,
                     const struct graph_link *link)
{
    if (s->index[link->parent] == 0)
        return;
    g->edges = mem_room(g->edges, g->n_edges, cap, sizeof *g->edges);
    g->edges[g->n_edges++] = (struct lake_graph_edge){
        .from = s->index[child] - 1,
        .to = s->index[link->parent] - 1,
        .kind = link->kind,
        .job = link->job,
    };
}

static int ask_edges(
    struct search *s, struct lake_graph *g, size_t *cap, uint32_t child, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(s->l->db, e, "SELECT parent, kind, job FROM edge WHERE child = $1 ORDER BY parent",
                 DB_INT(child));
    int got;

    while ((got = db_step(q, e)) == 1) {
        int64_t parent = db_int(q, 0);
        if (parent < 1 || parent >= child)
            continue;
        struct graph_link link = {.parent = (uint32_t)parent,
                                  .kind = db_int(q, 1) == LAKE_EDGE_JOB ? LAKE_EDGE_JOB
                                                                        : LAKE_EDGE_CREATE,
                                  .job = db_int(q, 2)};
        add_edge(g, cap, s, child, &link);
    }
    return got;
}

static int gather_edges(struct search *s, struct lake_graph *g, struct err *e)
{
    const struct graph_table *t = &s->table;
    size_t cap = is_loaded(s) ? t->links_at[t->top + 1] : 0;

    if (cap > 0)
        g->edges = mem_grow(NULL, cap, sizeof *g->edges);
    for (size_t n = 0; n < g->n_nodes; n++) {
        uint32_t child = (uint32_t)g->nodes[n].version;
        if (!is_loaded(s)) {
            if (ask_edges(s, g, &cap, child, e) < 0)
                return -1;
            continue;
        }
        for (size_t i = t->links_at[child]; i < t->links_at[child + 1]; i++)
            add_edge(g, &cap, s, child, &t->links[i]);
    }
    return 0;
}

static int ask_name(struct search *s, struct lake_graph_node *node, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(s->l->db, e,
                                             "SELECT s.name, v.number FROM set_version v"
                                             " JOIN fileset s ON s.id = v.fileset WHERE v.id = $1",
                                             DB_INT(node->version));
    int got = db_step(q, e);

    if (got == 1) {
        node->set_name = arena_dup(s->names, db_text(q, 0));
        node->number = db_int(q, 1);
    }
    return got < 0 ? -1 : 0;
}

static int name_nodes(struct search *s, struct lake_graph *g, struct err *e)
{
    for (size_t n = 0; n < g->n_nodes; n++) {
        struct lake_graph_node *node = &g->nodes[n];
        if (is_loaded(s)) {
            node->set_name = s->table.names[node->version].set;
            node->number = s->table.names[node->version].number;
        } else if (ask_name(s, node, e) < 0) {
            return -1;
        }
        if (!node->set_name)
            return err_set(e, ERR_IO,
                           "the provenance leads to set version %lld, which is not in the lake's "
                           "database: see tradewind fsck",
                           (long long)node->version);
    }
    return 0;
}

static int trace(struct search *s, const struct lake_ref *ref, struct lake_graph *g, struct err *e)
{
    if (find_top(s, e) < 0)
        return -1;
    s->index = mem_zero((size_t)s->top + 1, sizeof *s->index);
    if (!ref) {
        const struct graph_range whole = {.low = 1, .high = s->top, .top = s->top};
        if (load(s, &whole, e) < 0)
            return -1;
        gather_all(s, g);
    } else {
        if (start(s, ref, e) < 0 || (s->direction & LAKE_BACK && spread(s, &s->back, e) < 0) ||
            (s->direction & LAKE_FORWARD && spread(s, &s->forward, e) < 0))
            return -1;
        gather_nodes(s, g);
    }
    return gather_edges(s, g, e) < 0 || name_nodes(s, g, e) < 0 ? -1 : 0;
}

int lake_trace(struct lake *l,
               const struct lake_ref *ref,
               enum lake_direction direction,
               uint32_t hops,
               struct lake_graph *out,
               struct err *e)
{
    AUTO_CLEAR(search)
    struct search s = {.l = l, .max_hops = hops, .direction = ref ? direction : LAKE_BACK};

    s.names = arena_new(NAMES_MAX_BYTES);
    *out = (struct lake_graph){0};
    if (ref && ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (trace(&s, ref, out, e) < 0) {
        lake_graph_clear(out);
        return err_wrap(e, "trace");
    }
    out->priv = TAKE(s.names);
    return 0;
}
