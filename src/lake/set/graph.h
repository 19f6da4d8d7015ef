/* graph: provenance of set versions. An edge leads from a set version to one it was made from,
 * which is older and has the lower id: there are no cycles. */
#ifndef LAKE_SET_GRAPH_H
#define LAKE_SET_GRAPH_H

#include "lake/core/ref.h"

/* Where to go from the start. */
enum lake_direction { LAKE_BACK = 1, LAKE_FORWARD = 2, LAKE_BOTH = 3 };

struct lake_graph_node {
    int64_t version;      /* id in table set_version */
    const char *set_name; /* of the graph */
    int64_t number;
    uint32_t hops; /* from the start, by the shortest way; 0 in the whole graph */
};

/* from depends on to: indices into nodes. */
struct lake_graph_edge {
    uint32_t from, to;
    enum lake_edge_kind kind;
    int64_t job; /* 0 = none */
};

struct lake_graph {
    struct lake_graph_node *nodes; /* by distance from the start; the whole graph by age */
    size_t n_nodes;
    struct lake_graph_edge *edges; /* all among these nodes, those of one `from` together */
    size_t n_edges;
    void *priv;
};
void lake_graph_clear(struct lake_graph *g);

/* ref NULL = the whole graph; a file stands for every set version that holds that version of it
 * (ERR_NOTFOUND: none does). BOTH: what the start came from, and what came from the start. hops 0 =
 * as far as it goes. Sets the caller may not read are shown by name alone, as nodes. */
int lake_trace(struct lake *l,
               const struct lake_ref *ref,
               enum lake_direction direction,
               uint32_t hops,
               struct lake_graph *out,
               struct err *e);

#endif
