#include "draw/chart_errors.h"

#include "base/buf.h"

#include <math.h>

#define PANEL_HEIGHT 180
#define PANEL_STEP (PANEL_HEIGHT + 90)

/* Zero is always in sight: there the predictions are right, and there sizes and times begin. */
static struct chart_scale scale_of(enum chart_unit unit, const double *v, size_t n, size_t marks)
{
    double low = 0, high = 0;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    return chart_scale_make(unit, low, high, marks);
}

static void put_panel(struct buf *svg,
                      const struct svg_frame *f,
                      const struct chart_errors *e,
                      const struct chart_errors_panel *p)
{
    const struct chart_scale x = scale_of(p->unit, p->x, e->n, 8);
    const struct chart_scale y = scale_of(CHART_TIME, e->error_s, e->n, 4);
    double bottom = f->top + f->height, zero = svg_y(f, &y, 0);
    char title[120];

    snprintf(title, sizeof title, "predicted - measured, against %s", p->name);
    svg_text(svg, (struct svg_label){f->left, f->top - 12, "start", 13, ""}, title);
    svg_x_marks(svg, f, &x);
    svg_y_marks(svg, f, &y);
    svg_line(svg, f->left, bottom, f->left + f->width, bottom, "#222222");
    svg_line(svg, f->left, f->top, f->left, bottom, "#222222");
    svg_line(svg, f->left, zero, f->left + f->width, zero, SVG_VERMILION);
    for (size_t i = 0; i < e->n; i++)
        buf_printf(svg,
                   "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"%s\" "
                   "fill-opacity=\"0.6\"/>\n",
                   svg_x(f, &x, p->x[i]), svg_y(f, &y, e->error_s[i]), SVG_BLUE);
}

void chart_errors_svg(struct buf *svg, const struct chart_errors *e)
{
    svg_head(svg, 60 + (double)e->n_panels * PANEL_STEP, e->title);
    for (size_t i = 0; i < e->n_panels; i++) {
        const struct svg_frame f = {110, 92 + (double)i * PANEL_STEP, SVG_WIDTH - 150,
                                    PANEL_HEIGHT};
        put_panel(svg, &f, e, &e->panels[i]);
    }
    buf_puts(svg, "</svg>\n");
}
