#include "draw/chart.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/money.h"
#include "base/time.h"
#include "draw/chart_svg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static void put_time_axis(struct buf *svg,
                          const struct svg_frame *f,
                          const struct chart_scale *time)
{
    double bottom = f->top + f->height;
    char text[64];

    svg_x_marks(svg, f, time);
    svg_line(svg, f->left, bottom, f->left + f->width, bottom, "#222222");
    snprintf(text, sizeof text, "time, %s", time->unit_name);
    svg_text(svg, (struct svg_label){f->left + f->width / 2, bottom + 42, "middle", 13, ""}, text);
}

static void put_steps(struct buf *svg,
                      const struct svg_frame *f,
                      const struct chart_frontier *frontier,
                      const struct chart_scale *time,
                      const struct chart_scale *cost)
{
    const struct chart_point *p = frontier->points;

    buf_printf(svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", SVG_BLUE);
    for (size_t i = 0; i < frontier->n; i++) {
        double x = svg_x(f, time, p[i].time_s), y = svg_y(f, cost, p[i].cost_usd);
        /* The faster plan's price holds until the cheaper plan's time: up, then left. */
        if (i == 0)
            buf_printf(svg, "M%.2f %.2f", x, y);
        else
            buf_printf(svg, " V%.2f H%.2f", y, x);
    }
    buf_puts(svg, "\"/>\n");
    for (size_t i = 0; i < frontier->n; i++)
        buf_printf(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n",
                   svg_x(f, time, p[i].time_s), svg_y(f, cost, p[i].cost_usd), SVG_BLUE);
}

static void put_diamond(struct buf *svg, double x, double y)
{
    buf_printf(svg, "<path d=\"M%.2f %.2fl8 8l-8 8l-8-8z\" fill=\"%s\" stroke=\"#FFFFFF\"/>\n", x,
               y - 8, SVG_VERMILION);
}

/* Its numbers stand above the plot: beside the mark there are often more plans than room. */
static void put_chosen(
    struct buf *svg, const struct svg_frame *f, const struct chart_point *p, double x, double y)
{
    char text[96], money[32], duration[32];
    double right = f->left + f->width, above = f->top - 12;

    put_diamond(svg, x, y);
    snprintf(text, sizeof text, "this plan: %s, %s", money_text(money_from_usd(p->cost_usd), money),
             time_text(p->time_s, duration));
    svg_text(svg, (struct svg_label){right, above, "end", 13, " font-weight=\"bold\""}, text);
    put_diamond(svg, right - 12 - 7.5 * (double)text_width(text), above - 4.5);
}

void chart_frontier_svg(struct buf *svg, const struct chart_frontier *frontier)
{
    const struct svg_frame f = {90, 76, SVG_WIDTH - 130, 380};
    const struct chart_point *p = frontier->points, *last = &p[frontier->n - 1];
    struct chart_scale cost = chart_scale_make(CHART_DOLLARS, p->cost_usd, last->cost_usd, 6);
    struct chart_scale time = chart_scale_make(CHART_TIME, last->time_s, p->time_s, 8);

    svg_head(svg, f.top + f.height + 60, frontier->title);
    put_time_axis(svg, &f, &time);
    svg_y_marks(svg, &f, &cost);
    svg_line(svg, f.left, f.top, f.left, f.top + f.height, "#222222");
    svg_text(svg, (struct svg_label){f.left, f.top - 12, "middle", 13, ""}, "cost, USD");
    put_steps(svg, &f, frontier, &time, &cost);
    if (frontier->chosen < frontier->n) {
        p += frontier->chosen;
        put_chosen(svg, &f, p, svg_x(&f, &time, p->time_s), svg_y(&f, &cost, p->cost_usd));
    }
    buf_puts(svg, "</svg>\n");
}

/* ---- panels ---- */

#define PANEL_HEIGHT 150
#define PANEL_STEP (PANEL_HEIGHT + 90)
/* More than there are pixels shows nothing more. */
#define PANEL_POINTS 2000

static struct chart_scale scale_of(const double *v, size_t n, bool of_steps, size_t marks)
{
    double low = v[0], high = v[0];
    bool are_whole = of_steps;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
        are_whole = are_whole && v[i] == floor(v[i]);
    }
    return chart_scale_of_steps(low, high, are_whole, marks);
}

static void put_panel(struct buf *svg, const struct svg_frame *f, const struct chart_series *s)
{
    struct chart_scale x_scale = scale_of(s->x, s->n, true, 8);
    struct chart_scale y_scale = scale_of(s->y, s->n, false, 4);
    size_t stride = (s->n + PANEL_POINTS - 1) / PANEL_POINTS;
    double bottom = f->top + f->height;

    svg_text(svg, (struct svg_label){f->left, f->top - 12, "start", 13, ""}, s->name);
    svg_x_marks(svg, f, &x_scale);
    svg_y_marks(svg, f, &y_scale);
    svg_line(svg, f->left, bottom, f->left + f->width, bottom, "#222222");
    svg_line(svg, f->left, f->top, f->left, bottom, "#222222");
    buf_printf(svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", SVG_BLUE);
    for (size_t i = 0; i < s->n; i += stride)
        buf_printf(svg, "%s%.2f %.2f", i ? " L" : "M", svg_x(f, &x_scale, s->x[i]),
                   svg_y(f, &y_scale, s->y[i]));
    buf_puts(svg, "\"/>\n");
    size_t last = s->n - 1;
    buf_printf(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n",
               svg_x(f, &x_scale, s->x[last]), svg_y(f, &y_scale, s->y[last]), SVG_VERMILION);
}

void chart_panels_svg(struct buf *svg, const struct chart_panels *panels)
{
    size_t n = panels->n < CHART_PANELS_MAX ? panels->n : CHART_PANELS_MAX;

    svg_head(svg, 40 + (double)n * PANEL_STEP, panels->title);
    for (size_t i = 0; i < n; i++) {
        const struct svg_frame f = {110, 80 + (double)i * PANEL_STEP, SVG_WIDTH - 150,
                                    PANEL_HEIGHT};
        put_panel(svg, &f, &panels->series[i]);
    }
    buf_puts(svg, "</svg>\n");
}

#define BAR_HEIGHT 22
#define ROW_HEIGHT 44
#define NAME_COLUMNS 34
#define DETAIL_COLUMNS 54

static const char *const part_colours[CHART_PARTS] = {
    SVG_GREY,
    SVG_ORANGE,
    SVG_SKY,
    SVG_BLUE,
};

static void put_cut_text(struct buf *svg, struct svg_label at, const char *s, size_t columns)
{
    AUTO_CLEAR(buf) struct buf cut;

    buf_init(&cut, CHART_SVG_MAX_BYTES);
    text_put(&cut, s, columns, true);
    svg_text(svg, at, buf_str(&cut));
}

static void put_bar(struct buf *svg,
                    const struct svg_frame *f,
                    const struct chart_scale *time,
                    const struct chart_bar *bar,
                    double y)
{
    double at_s = bar->start_s;

    put_cut_text(svg, (struct svg_label){20, y + 16, "start", 13, " font-weight=\"bold\""},
                 bar->name, NAME_COLUMNS);
    put_cut_text(svg, (struct svg_label){20, y + 32, "start", 11, ""}, bar->detail, DETAIL_COLUMNS);
    for (size_t i = 0; i < CHART_PARTS; i++) {
        double from = svg_x(f, time, at_s), to = svg_x(f, time, at_s + bar->parts_s[i]);
        if (to > from)
            svg_rect(svg, from, y + (ROW_HEIGHT - BAR_HEIGHT) / 2.0, to - from, BAR_HEIGHT,
                     part_colours[i]);
        at_s += bar->parts_s[i];
    }
}

static void put_legend(struct buf *svg, const struct chart_timeline *t, double x, double y)
{
    for (size_t i = 0; i < CHART_PARTS; i++) {
        svg_rect(svg, x, y - 10, 12, 12, part_colours[i]);
        svg_text(svg, (struct svg_label){x + 17, y, "start", 12, ""}, t->part_names[i]);
        x += 30 + 7.5 * (double)text_width(t->part_names[i]);
    }
}

void chart_timeline_svg(struct buf *svg, const struct chart_timeline *timeline)
{
    const struct chart_timeline *t = timeline;
    const struct svg_frame f = {350, 70, SVG_WIDTH - 390, (double)t->n * ROW_HEIGHT};
    double end_s = 0;

    for (size_t i = 0; i < t->n; i++) {
        double finish_s = t->bars[i].start_s;
        for (size_t part = 0; part < CHART_PARTS; part++)
            finish_s += t->bars[i].parts_s[part];
        end_s = finish_s > end_s ? finish_s : end_s;
    }
    struct chart_scale time = chart_scale_make(CHART_TIME, 0, end_s > 0 ? end_s : 1, 6);
    svg_head(svg, f.top + f.height + 60, t->title);
    put_legend(svg, t, f.left, f.top - 16);
    put_time_axis(svg, &f, &time);
    for (size_t i = 0; i < t->n; i++)
        put_bar(svg, &f, &time, &t->bars[i], f.top + (double)i * ROW_HEIGHT);
    buf_puts(svg, "</svg>\n");
}

/* ---- grids ---- */

#define CELL_HEIGHT 15.0
#define SCALE_STEPS 60

/* Between stops of cividis, which grow in lightness alone for every kind of colour vision: dark is
 * slow, light is fast, also in grey print. 0 .. 1. */
static const char *shade(double lightness, char out[static 8])
{
    static const double stops[5][3] = {
        {0, 34, 78}, {65, 77, 107}, {124, 123, 120}, {188, 175, 111}, {253, 231, 55}};
    double at = fmin(fmax(lightness, 0), 1) * 4, part;
    size_t i = (size_t)fmin(floor(at), 3);
    unsigned rgb[3];

    part = at - (double)i;
    for (size_t k = 0; k < 3; k++)
        rgb[k] = (unsigned)lround(stops[i][k] + part * (stops[i + 1][k] - stops[i][k]));
    snprintf(out, 8, "#%02X%02X%02X", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    return out;
}

struct grid_range {
    double fast_s, slow_s;
};

static struct grid_range range_of(const struct chart_grid *g)
{
    struct grid_range r = {g->time_s[0], g->time_s[0]};

    for (size_t i = 0; i < g->n_vcpus * g->n_memory; i++) {
        r.fast_s = fmin(r.fast_s, g->time_s[i]);
        r.slow_s = fmax(r.slow_s, g->time_s[i]);
    }
    return r;
}

/* By ratios, as run times go. */
static double lightness_of(const struct grid_range *r, double time_s)
{
    return r->slow_s > r->fast_s ? log(r->slow_s / time_s) / log(r->slow_s / r->fast_s) : 1;
}

/* White below black, so that it is seen on dark and on light. */
static void put_hatch(struct buf *svg, double x, double y, double width, double height)
{
    static const struct {
        const char *colour;
        double wide;
    } strokes[] = {{"#FFFFFF", 3}, {"#000000", 1.2}};

    for (size_t i = 0; i < 2; i++)
        buf_printf(svg,
                   "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" "
                   "stroke-width=\"%.1f\"/>\n",
                   x + 2, y + height - 2, x + width - 2, y + 2, strokes[i].colour, strokes[i].wide);
}

static void put_outline(struct buf *svg, double x, double y, double width, double height)
{
    buf_printf(svg,
               "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
               "stroke=\"%s\" stroke-width=\"3.5\"/>\n",
               x, y, width, height, SVG_VERMILION);
}

static void put_cells(struct buf *svg, const struct svg_frame *f, const struct chart_grid *g)
{
    const struct grid_range range = range_of(g);
    double width = f->width / (double)g->n_vcpus, chosen_x = 0, chosen_y = 0;
    char colour[8];

    for (size_t i = 0; i < g->n_vcpus; i++)
        for (size_t k = 0; k < g->n_memory; k++) {
            size_t cell = i * g->n_memory + k;
            double x = f->left + (double)i * width;
            double y = f->top + f->height - (double)(k + 1) * CELL_HEIGHT;
            svg_rect(svg, x, y, width, CELL_HEIGHT,
                     shade(lightness_of(&range, g->time_s[cell]), colour));
            if (!g->within[cell])
                put_hatch(svg, x, y, width, CELL_HEIGHT);
            if (cell == g->chosen) {
                chosen_x = x;
                chosen_y = y;
            }
        }
    /* Last, so that no cell lies over it. */
    if (g->chosen < g->n_vcpus * g->n_memory)
        put_outline(svg, chosen_x, chosen_y, width, CELL_HEIGHT);
}

static void put_grid_axes(struct buf *svg, const struct svg_frame *f, const struct chart_grid *g)
{
    double width = f->width / (double)g->n_vcpus, bottom = f->top + f->height;
    char text[32];

    for (size_t i = 0; i < g->n_vcpus; i++) {
        snprintf(text, sizeof text, "%g", g->vcpus[i]);
        svg_text(
            svg,
            (struct svg_label){f->left + ((double)i + 0.5) * width, bottom + 18, "middle", 12, ""},
            text);
    }
    for (size_t k = 0; k < g->n_memory; k += 2) {
        snprintf(text, sizeof text, "%g", g->memory_mb[k]);
        svg_text(svg,
                 (struct svg_label){f->left - 8, bottom - ((double)k + 0.5) * CELL_HEIGHT + 4,
                                    "end", 12, ""},
                 text);
    }
    svg_text(svg, (struct svg_label){f->left + f->width / 2, bottom + 40, "middle", 13, ""},
             "vCPU");
    svg_text(svg, (struct svg_label){f->left, f->top - 12, "end", 13, ""}, "memory, MB");
}

static void put_shades(struct buf *svg, const struct svg_frame *f, const struct chart_grid *g)
{
    const struct grid_range range = range_of(g);
    double x = f->left + f->width + 30, height = f->height * 0.6, step = height / SCALE_STEPS;
    char colour[8], time[32];

    svg_text(svg, (struct svg_label){x, f->top - 12, "start", 13, ""}, "predicted time");
    for (size_t i = 0; i < SCALE_STEPS; i++)
        svg_rect(svg, x, f->top + (double)i * step, 22, step + 0.5,
                 shade((double)i / (SCALE_STEPS - 1), colour));
    for (size_t i = 0; i <= 4; i++) {
        double part = (double)i / 4;
        double time_s = range.slow_s * pow(range.fast_s / range.slow_s, part);
        svg_text(svg, (struct svg_label){x + 30, f->top + part * height + 4, "start", 12, ""},
                 time_text(time_s, time));
    }
    double y = f->top + height + 30;
    svg_rect(svg, x, y, 22, CELL_HEIGHT, "#999999");
    put_hatch(svg, x, y, 22, CELL_HEIGHT);
    svg_text(svg, (struct svg_label){x + 30, y + 12, "start", 12, ""}, g->limit);
    if (g->chosen == SIZE_MAX)
        return;
    put_outline(svg, x, y + 28, 22, CELL_HEIGHT);
    svg_text(svg, (struct svg_label){x + 30, y + 40, "start", 12, ""}, g->chosen_text);
}

void chart_grid_svg(struct buf *svg, const struct chart_grid *grid)
{
    const struct svg_frame f = {100, 76, SVG_WIDTH - 340, (double)grid->n_memory * CELL_HEIGHT};

    svg_head(svg, f.top + f.height + 60, grid->title);
    put_cells(svg, &f, grid);
    put_grid_axes(svg, &f, grid);
    put_shades(svg, &f, grid);
    buf_puts(svg, "</svg>\n");
}

int chart_save(const char *path, const struct buf *svg, struct err *e)
{
    if (svg->full)
        return err_set(e, ERR_NOFIT, "write %s: the picture is larger than %u MB", path,
                       CHART_SVG_MAX_BYTES >> 20);
    return file_replace(path, svg->data, svg->len, 0666, e);
}
