/* chart: pictures for the terminal and as SVG. Knows points, bars and units, nothing of plans. */
#ifndef DRAW_CHART_H
#define DRAW_CHART_H

#include "base/err.h"
#include "view/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;

struct chart_point {
    double time_s, cost_usd;
};

/* The Pareto frontier of cost and time. */
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

struct chart_series {
    const char *name;
    const double *x, *y; /* ascending x; at least one point; finite */
    size_t n;
};
#define CHART_PANELS_MAX 50

/* A panel each, below one another, with axes of their own: what is printed at each step of a
 * program. Of more than CHART_PANELS_MAX the others are left out. */
struct chart_panels {
    const char *title;
    const struct chart_series *series;
    size_t n;
};

void chart_panels_svg(struct buf *svg, const struct chart_panels *panels);

/* One line of `columns` characters: each the mean of its share of the points, as a bar of eighths
 * where the locale has UTF-8, else as a digit from 0 to 9. Appended to out. */
void chart_spark(
    struct buf *out, const double *y, size_t n, size_t columns, const struct text_look *look);

/* Sizes of a machine, coloured by time; those past a limit are hatched. */
struct chart_grid {
    const char *title;
    const char *limit; /* what the hatch means: "more than $0.05" */
    const double *vcpus;
    const double *memory_mb; /* both ascending */
    size_t n_vcpus, n_memory;
    const double *time_s; /* above 0; n_vcpus rows of n_memory */
    const bool *within;   /* the same */
    size_t chosen;        /* index of time_s; SIZE_MAX = none */
    const char *chosen_text;
};

void chart_grid_svg(struct buf *svg, const struct chart_grid *grid);

/* The most a picture may hold. */
#define CHART_SVG_MAX_BYTES (16u << 20)

/* Writes the picture as file_replace does; ERR_NOFIT when it is cut. */
int chart_save(const char *path, const struct buf *svg, struct err *e);

#endif
