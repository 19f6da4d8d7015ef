#include "draw/chart_overlay.h"

#include "base/buf.h"
#include "draw/chart_svg.h"

#include <math.h>

#define PANEL_HEIGHT 180
#define PANEL_STEP (PANEL_HEIGHT + 90)
#define LEGEND_ROW 20
#define LEGEND_COLUMNS 4
/* More than there are pixels shows nothing more. */
#define LINE_POINTS 2000

/* The palette of Okabe and Ito; further lines have the same colours, dashed. */
static const char *const colours[] = {SVG_BLUE, SVG_VERMILION, "#009E73", SVG_ORANGE,
                                      SVG_SKY,  "#CC79A7",     "#222222", SVG_GREY};
#define N_COLOURS (sizeof colours / sizeof *colours)

static const char *dash_of(size_t i)
{
    return i < N_COLOURS ? "" : " stroke-dasharray=\"6 4\"";
}

static size_t lines_of(const struct chart_overlay *o)
{
    return o->n_names < CHART_OVERLAY_LINES_MAX ? o->n_names : CHART_OVERLAY_LINES_MAX;
}

/* The scale of all lines of a panel. */
static struct chart_scale scale_of(const struct chart_overlay_panel *p,
                                   size_t n,
                                   bool of_x,
                                   size_t marks)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    bool are_whole = of_x;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->lines[i].n; k++) {
            double v = of_x ? p->lines[i].x[k] : p->lines[i].y[k];
            low = fmin(low, v);
            high = fmax(high, v);
            are_whole = are_whole && v == floor(v);
        }
    return chart_scale_of_steps(low, high, are_whole, marks);
}

static void put_line(struct buf *svg,
                     const struct svg_frame *f,
                     const struct chart_scale *scales,
                     const struct chart_series *s,
                     size_t i)
{
    size_t stride = (s->n + LINE_POINTS - 1) / LINE_POINTS, last = s->n - 1;

    buf_printf(svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"",
               colours[i % N_COLOURS], dash_of(i));
    for (size_t k = 0; k < s->n; k += stride)
        buf_printf(svg, "%s%.2f %.2f", k ? " L" : "M", svg_x(f, &scales[0], s->x[k]),
                   svg_y(f, &scales[1], s->y[k]));
    buf_puts(svg, "\"/>\n");
    buf_printf(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n",
               svg_x(f, &scales[0], s->x[last]), svg_y(f, &scales[1], s->y[last]),
               colours[i % N_COLOURS]);
}

static void put_panel(struct buf *svg,
                      const struct svg_frame *f,
                      const struct chart_overlay_panel *p,
                      size_t n)
{
    const struct chart_scale scales[] = {scale_of(p, n, true, 8), scale_of(p, n, false, 4)};
    double bottom = f->top + f->height;

    svg_text(svg, (struct svg_label){f->left, f->top - 12, "start", 13, ""}, p->name);
    svg_x_marks(svg, f, &scales[0]);
    svg_y_marks(svg, f, &scales[1]);
    svg_line(svg, f->left, bottom, f->left + f->width, bottom, "#222222");
    svg_line(svg, f->left, f->top, f->left, bottom, "#222222");
    for (size_t i = 0; i < n; i++)
        if (p->lines[i].n)
            put_line(svg, f, scales, &p->lines[i], i);
}

/* Returns its height. */
static double put_legend(struct buf *svg, const struct chart_overlay *o, double top)
{
    size_t n = lines_of(o);
    double width = (SVG_WIDTH - 150.0) / LEGEND_COLUMNS;
    char more[64];

    for (size_t i = 0; i < n; i++) {
        double x = 110 + (double)(i % LEGEND_COLUMNS) * width;
        double y = top + (double)(i / LEGEND_COLUMNS) * LEGEND_ROW;
        buf_printf(svg,
                   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                   "stroke-width=\"3\"%s/>\n",
                   x, y - 4, x + 24, y - 4, colours[i % N_COLOURS], dash_of(i));
        svg_text_within(svg, (struct svg_label){x + 32, y, "start", 12, ""}, width - 40,
                        o->names[i]);
    }
    size_t rows = (n + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
    if (o->n_names > n) {
        snprintf(more, sizeof more, "%zu more are not drawn", o->n_names - n);
        svg_text(svg, (struct svg_label){110, top + (double)rows++ * LEGEND_ROW, "start", 12, ""},
                 more);
    }
    return (double)rows * LEGEND_ROW;
}

void chart_overlay_svg(struct buf *svg, const struct chart_overlay *o)
{
    size_t n = o->n_panels < CHART_PANELS_MAX ? o->n_panels : CHART_PANELS_MAX;
    size_t rows = (lines_of(o) + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS + (o->n_names > lines_of(o));

    svg_head(svg, 60 + (double)rows * LEGEND_ROW + (double)n * PANEL_STEP, o->title);
    double top = 62 + put_legend(svg, o, 62);
    for (size_t i = 0; i < n; i++) {
        const struct svg_frame f = {110, top + 30 + (double)i * PANEL_STEP, SVG_WIDTH - 150,
                                    PANEL_HEIGHT};
        put_panel(svg, &f, &o->panels[i], lines_of(o));
    }
    buf_puts(svg, "</svg>\n");
}
