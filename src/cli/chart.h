/* chart: pictures for the terminal and as SVG. Knows points, bars and units, nothing of plans. */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include "base/err.h"
#include "cli/text.h"

#include <stddef.h>
#include <stdio.h>

struct buf;

struct chart_point {
    double time_s, cost_usd;
};

/* The plans of which none is both cheaper and faster. */
struct chart_frontier {
    const char *title;
    const struct chart_point *points; /* ascending cost, descending time; at least one */
    size_t n;
    size_t chosen; /* the one to mark; SIZE_MAX = none */
};

/* A drawing some 90 columns wide: braille lines where the locale has UTF-8, else ASCII. */
void chart_frontier_text(FILE *out,
                         const struct chart_frontier *frontier,
                         const struct text_look *look);
void chart_frontier_svg(struct buf *svg, const struct chart_frontier *frontier);

#define CHART_PARTS 4

struct chart_bar {
    const char *name;
    const char *detail; /* below the name, smaller */
    double start_s;
    double parts_s[CHART_PARTS]; /* lengths, one after the other */
};

/* One row a bar over a common time axis (a Gantt chart). */
struct chart_timeline {
    const char *title;
    const char *part_names[CHART_PARTS];
    const struct chart_bar *bars;
    size_t n;
};

void chart_timeline_svg(struct buf *svg, const struct chart_timeline *timeline);

/* The most a picture may hold. */
#define CHART_SVG_MAX_BYTES (16u << 20)

/* Writes the picture as file_replace does; ERR_NOFIT when it is cut. */
int chart_save(const char *path, const struct buf *svg, struct err *e);

#endif
