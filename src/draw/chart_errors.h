/* chart_errors: errors of predictions, each against some measure of what was predicted, as SVG. */
#ifndef DRAW_CHART_ERRORS_H
#define DRAW_CHART_ERRORS_H

#include "draw/chart.h"
#include "draw/chart_svg.h"

struct chart_errors_panel {
    const char *name;     /* "CPUs" */
    enum chart_unit unit; /* of its axis */
    const double *x;      /* one for each error */
};

/* Panels below one another, points without lines, and a line at zero. All numbers are finite, those
 * of x at least 0. */
struct chart_errors {
    const char *title;
    const double *error_s;
    size_t n; /* at least one */
    const struct chart_errors_panel *panels;
    size_t n_panels;
};

void chart_errors_svg(struct buf *svg, const struct chart_errors *errors);

#endif
