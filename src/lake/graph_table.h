/* graph_table: all edges between set versions in memory, for searches that go far. Private to the
 * graph*.c files. */
#ifndef LAKE_GRAPH_TABLE_H
#define LAKE_GRAPH_TABLE_H

#include "base/arena.h"
#include "lake/graph.h"

/* Ids of set versions above this are not searched; arrays are indexed by them. */
#define GRAPH_IDS_MAX (1u << 28)

struct graph_link {
    int64_t job;
    uint32_t parent;
    enum lake_edge_kind kind;
};

/* Arrays are indexed by ids of set versions, [1, top]. */
struct graph_table {
    uint32_t top;
    size_t *links_at; /* those of id: links[links_at[id]] to links[links_at[id + 1]] */
    struct graph_link *links;
    size_t *children_at; /* in the same way; NULL unless asked for */
    uint32_t *children;
    const char **names; /* NULL: no set version of this project, or out of range */
    int64_t *numbers;
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
