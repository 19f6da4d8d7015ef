/* dag: a graph without cycles as an SVG picture, boxes and arrows in columns. */
#ifndef DRAW_DAG_H
#define DRAW_DAG_H

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

struct dag_edge {
    size_t from, to;   /* indices of boxes: from stands to the right of to */
    const char *label; /* NULL = a plain, grey arrow */
};

struct dag {
    const char *title;
    const char *const *labels; /* of the boxes: printable ASCII that needs no quoting in XML */
    size_t n;
    const struct dag_edge *edges;
    size_t n_edges;
};

/* Pictures of more boxes than this cannot be read. */
#define DAG_BOXES_MAX 200

/* ERR_USAGE above DAG_BOXES_MAX boxes, or too many edges. */
int dag_svg(FILE *out, const struct dag *g, struct err *e);

#endif
