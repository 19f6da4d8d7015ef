/* graph_table: all edges between set versions in memory, for searches that go far. Private to the
 * graph*.c files. */
#ifndef LAKE_SET_GRAPH_TABLE_H
#define LAKE_SET_GRAPH_TABLE_H

#include "base/arena.h"
#include "lake/set/graph.h"

/* Ids of set versions above this are not searched; arrays are indexed by them. */
#define GRAPH_IDS_MAX (1u << 28)

struct graph_link {
    int64_t job;
    uint32_t parent;
    enum lake_edge_kind kind;
};

struct graph_name {
    const char *set; /* NULL: no set version of this project, or out of range */
    int64_t number;
};

/* Arrays are indexed by ids of set versions, [1, top]. A search jumps about in them, so they are
 * kept small and what is read together stands together. */
struct graph_table {
    uint32_t top;
    uint32_t *links_at; /* those of id: links[links_at[id]] to links[links_at[id + 1]] */
    struct graph_link *links;
    uint32_t *children_at; /* in the same way; NULL unless asked for */
    uint32_t *children;
    struct graph_name *names;
};

/* Set versions [low, high] of [1, top] and the edges that lead back from them, read by several
 * connections at once; names live in `names`. */
struct graph_range {
    uint32_t low, high, top;
};
int graph_table_load(struct lake *l,
                     const struct graph_range *range,
                     bool children,
                     struct arena *names,
                     struct graph_table *out,
                     struct err *e);
void graph_table_clear(struct graph_table *t);

#endif
