/* lake_trace: provenance as JSON, for Graphviz, as a picture and as lines. Set names need no
 * quoting anywhere: they have only letters, digits, '.', '_' and '-'. */
#ifndef CLI_DATA_LAKE_TRACE_H
#define CLI_DATA_LAKE_TRACE_H

#include "lake/job/job.h"
#include "lake/set/graph.h"

#include <stdio.h>

/* Pictures of more set versions than this cannot be read. */
#define LAKE_TRACE_SVG_MAX 200

/* All write to out; a million edges take a fraction of a second. cost NULL = nobody asked. */
void lake_trace_json(FILE *out, const struct lake_graph *g, const struct lake_lineage_cost *cost);
void lake_trace_dot(FILE *out, const struct lake_graph *g);
void lake_trace_text(FILE *out, const struct lake_graph *g, const struct lake_lineage_cost *cost);
/* Older set versions to the left; ERR_USAGE above LAKE_TRACE_SVG_MAX nodes, or too many edges. */
int lake_trace_svg(FILE *out, const struct lake_graph *g, struct err *e);

#endif
