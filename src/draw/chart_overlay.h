/* chart_overlay: the same metrics of several jobs or runs, drawn over each other, as SVG. */
#ifndef DRAW_CHART_OVERLAY_H
#define DRAW_CHART_OVERLAY_H

#include "draw/chart.h"

/* Of more the others are left out, and a line of the legend says so. */
#define CHART_OVERLAY_LINES_MAX 16

struct chart_overlay_panel {
    const char *name;
    const struct chart_series *lines; /* one for each name of the overlay; n = 0: it has none */
};

/* A panel for each metric, below one another; a colour and dash for each name, the same in all. */
struct chart_overlay {
    const char *title;
    const char *const *names;
    size_t n_names;
    const struct chart_overlay_panel *panels; /* at most CHART_PANELS_MAX are drawn */
    size_t n_panels;
};

void chart_overlay_svg(struct buf *svg, const struct chart_overlay *overlay);

#endif
