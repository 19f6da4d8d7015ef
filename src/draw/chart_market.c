#include "draw/chart_market.h"

#include "base/buf.h"
#include "base/time.h"
#include "draw/chart.h"
#include "draw/chart_svg.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int save(const char *path, struct buf *svg, struct err *e)
{
    buf_puts(svg, "</svg>\n");
    int saved = chart_save(path, svg, e);
    buf_clear(svg);
    return saved;
}

static void put_x_axis(struct buf *svg,
                       const struct svg_frame *f,
                       const struct chart_scale *scale,
                       const char *title)
{
    double bottom = f->top + f->height;

    svg_x_marks(svg, f, scale);
    svg_line(svg, f->left, f->top, f->left, bottom, "#222222");
    svg_text(svg, (struct svg_label){f->left + f->width / 2, bottom + 42, "middle", 13, ""}, title);
}

/* ---- ladders and groups: bars from left to right ---- */

/* Told apart with any kind of colour vision, and by lightness in grey print. */
static const char *const bar_colours[] = {"#444444", SVG_BLUE,   SVG_VERMILION,
                                          SVG_SKY,   SVG_ORANGE, SVG_GREY};
#define N_BAR_COLOURS (sizeof bar_colours / sizeof *bar_colours)
#define LADDER_ROW 42
#define LADDER_BAR 26
#define GROUP_BAR 15
#define GROUP_NAMES_MAX 340.0

/* Beside the bar, or in it where there is no more room. */
static void put_cost(struct buf *svg, const struct chart_ladder_bar *bar, double end_x, double y)
{
    char text[64];

    if (fabs(bar->reduction - 1) < 1e-9)
        snprintf(text, sizeof text, "$%.2f", bar->cost_usd);
    else if (bar->reduction > 1)
        snprintf(text, sizeof text, "$%.2f, %.2f times cheaper", bar->cost_usd, bar->reduction);
    else
        snprintf(text, sizeof text, "$%.2f, %.2f times as expensive", bar->cost_usd,
                 1 / bar->reduction);
    if (end_x + 8 + svg_text_width(text, 13) <= SVG_WIDTH)
        svg_text(svg, (struct svg_label){end_x + 8, y, "start", 13, SVG_HALO}, text);
    else
        svg_text(svg, (struct svg_label){end_x - 8, y, "end", 13, " fill=\"#FFFFFF\""}, text);
}

int chart_ladder_save(const char *path, const struct chart_ladder *ladder, struct err *e)
{
    const struct svg_frame f = {150, 56, SVG_WIDTH - 330, (double)ladder->n * LADDER_ROW};
    struct buf svg;
    double most = 0;

    for (size_t i = 0; i < ladder->n; i++)
        most = fmax(most, ladder->bars[i].cost_usd);
    struct chart_scale scale = chart_scale_make(CHART_DOLLARS, 0, most, 6);
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    svg_head(&svg, f.top + f.height + 60, ladder->title);
    put_x_axis(&svg, &f, &scale, "mean cost of a job, USD");
    for (size_t i = 0; i < ladder->n; i++) {
        const struct chart_ladder_bar *bar = &ladder->bars[i];
        double y = f.top + (double)i * LADDER_ROW + (LADDER_ROW - LADDER_BAR) / 2.0;
        double width = f.width * chart_scale_at(&scale, bar->cost_usd);
        svg_rect(&svg, f.left, y, width, LADDER_BAR, i ? SVG_BLUE : SVG_GREY);
        svg_text_within(&svg, (struct svg_label){f.left - 10, y + 18, "end", 13, ""}, f.left - 15,
                        bar->name);
        put_cost(&svg, bar, f.left + width, y + 18);
    }
    return save(path, &svg, e);
}

static void put_group(struct buf *svg,
                      const struct svg_frame *f,
                      const struct chart_scale *scale,
                      const struct chart_groups *c,
                      size_t i,
                      double y)
{
    char text[32];

    svg_text_within(
        svg,
        (struct svg_label){f->left - 10, y + (double)c->n_names * GROUP_BAR / 2 + 5, "end", 13, ""},
        f->left - 12, c->groups[i].name);
    for (size_t k = 0; k < c->n_names; k++) {
        double width = f->width * chart_scale_at(scale, c->groups[i].values[k]);
        double top = y + (double)k * GROUP_BAR;
        svg_rect(svg, f->left, top, width, GROUP_BAR - 3, bar_colours[k % N_BAR_COLOURS]);
        snprintf(text, sizeof text, "%.2f", c->groups[i].values[k]);
        svg_text(svg, (struct svg_label){f->left + width + 5, top + 10, "start", 11, SVG_HALO},
                 text);
    }
}

int chart_groups_save(const char *path, const struct chart_groups *groups, struct err *e)
{
    const struct chart_groups *c = groups;
    double step = (double)c->n_names * GROUP_BAR + 14, most = 0, x = 100;
    struct buf svg;

    for (size_t i = 0; i < c->n; i++) {
        x = fmin(fmax(x, 16 + svg_text_width(c->groups[i].name, 13)), GROUP_NAMES_MAX);
        for (size_t k = 0; k < c->n_names; k++)
            most = fmax(most, c->groups[i].values[k]);
    }
    const struct svg_frame f = {x, 84, SVG_WIDTH - x - 70, (double)c->n * step};
    struct chart_scale scale = chart_scale_make(CHART_NUMBER, 0, most, 6);
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    svg_head(&svg, f.top + f.height + 60, c->title);
    for (size_t k = 0; k < c->n_names; k++) {
        svg_rect(&svg, x, 52, 12, 12, bar_colours[k % N_BAR_COLOURS]);
        svg_text(&svg, (struct svg_label){x + 17, 62, "start", 12, ""}, c->names[k]);
        x += 40 + 7.5 * (double)text_width(c->names[k]);
    }
    put_x_axis(&svg, &f, &scale, "times cheaper");
    for (size_t i = 0; i < c->n; i++)
        put_group(&svg, &f, &scale, c, i, f.top + (double)i * step + 7);
    return save(path, &svg, e);
}

/* ---- prices over time ---- */

#define PANEL_HEIGHT 170
#define PANEL_STEP (PANEL_HEIGHT + 84)
#define DAY_S 86400.0

/* Lines differ in dashes, too: colours alone are lost in print. */
static const struct {
    const char *colour, *dashes;
} strokes[CHART_LINES_MAX] = {
    {SVG_BLUE, ""},     {SVG_VERMILION, "7 3"}, {"#009E73", "2 2"}, {"#CC79A7", "9 3 2 3"},
    {"#222222", "5 2"}, {SVG_ORANGE, ""},       {SVG_SKY, "12 4"},  {"#7A5195", "3 4"},
};

struct span {
    double begin_s, end_s;
};

static double time_x(const struct svg_frame *f, const struct span *s, double at_s)
{
    return f->left + f->width * (at_s - s->begin_s) / (s->end_s - s->begin_s);
}

/* "2020-03-01", or "03-01 06:00" where marks are hours. */
static const char *date_label(double day, double step, char out[static 32])
{
    time_iso((int64_t)(day * DAY_S * 1000), out);
    if (step >= 1) {
        out[strlen("2020-03-01")] = 0;
        return out;
    }
    out[strlen("2020-03-01")] = ' ';
    out[strlen("2020-03-01T06:00")] = 0;
    return out + strlen("2020-");
}

/* Hours, days, weeks, months or years, whichever gives up to eight marks. */
static void put_dates(struct buf *svg, const struct svg_frame *f, const struct span *s)
{
    static const double steps[] = {1 / 24.0, 3 / 24.0, 0.25, 0.5, 1,   2,    7,   14,
                                   28,       91,       182,  365, 730, 1825, 3650};
    double days = (s->end_s - s->begin_s) / DAY_S, step = steps[0], bottom = f->top + f->height;
    char label[32];

    for (size_t i = 0; i < sizeof steps / sizeof *steps && days / step > 8; i++)
        step = steps[i];
    double first = ceil(s->begin_s / DAY_S / step) * step;
    size_t n = first * DAY_S <= s->end_s ? (size_t)((s->end_s / DAY_S - first) / step) + 1 : 0;
    for (size_t i = 0; i < n; i++) {
        double day = first + (double)i * step, x = time_x(f, s, day * DAY_S);
        svg_line(svg, x, f->top, x, bottom + 5, "#DDDDDD");
        svg_text(svg, (struct svg_label){x, bottom + 20, "middle", 12, ""},
                 date_label(day, step, label));
    }
    svg_line(svg, f->left, bottom, f->left + f->width, bottom, "#222222");
}

/* More points than pixels show nothing more: steps that begin on the same tenth of a pixel as the
 * one before are drawn only when their price is the last there. */
static void put_steps(struct buf *svg,
                      const struct svg_frame *f,
                      const struct span *s,
                      const struct chart_scale *usd,
                      const struct chart_line *line,
                      size_t stroke)
{
    bool drawing = false;

    buf_printf(
        svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\" d=\"",
        strokes[stroke].colour, *strokes[stroke].dashes ? strokes[stroke].dashes : "none");
    for (size_t i = 0; i < line->n; i++) {
        double x = time_x(f, s, line->steps[i].at_s);
        double next_x = time_x(f, s, i + 1 < line->n ? line->steps[i + 1].at_s : line->end_s);
        if (i + 1 < line->n && next_x - x < 0.05)
            continue;
        if (isnan(line->steps[i].usd)) {
            drawing = false;
            continue;
        }
        double y = svg_y(f, usd, line->steps[i].usd);
        if (drawing)
            buf_printf(svg, "V%.1fH%.1f", y, next_x);
        else
            buf_printf(svg, "M%.1f %.1fH%.1f", x, y, next_x);
        drawing = true;
    }
    buf_puts(svg, "\"/>\n");
}

static void put_key(struct buf *svg, const struct svg_frame *f, const struct chart_price_panel *p)
{
    double x = f->left + f->width + 14;
    char more[64];

    for (size_t i = 0; i < p->n; i++) {
        double y = f->top + 8 + (double)i * 17;
        buf_printf(svg,
                   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                   "stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
                   x, y - 4, x + 26, y - 4, strokes[i].colour,
                   *strokes[i].dashes ? strokes[i].dashes : "none");
        svg_text_within(svg, (struct svg_label){x + 32, y, "start", 12, ""}, SVG_WIDTH - 5 - x - 32,
                        p->lines[i].name);
    }
    if (!p->left_out)
        return;
    snprintf(more, sizeof more, "and %zu more", p->left_out);
    svg_text(svg, (struct svg_label){x + 32, f->top + 8 + (double)p->n * 17, "start", 12, ""},
             more);
}

static struct span span_of(const struct chart_price_panel *p)
{
    struct span s = {(double)INFINITY, -(double)INFINITY};

    for (size_t i = 0; i < p->n; i++) {
        if (!p->lines[i].n)
            continue;
        s.begin_s = fmin(s.begin_s, p->lines[i].steps[0].at_s);
        s.end_s = fmax(s.end_s, p->lines[i].end_s);
    }
    if (!(s.end_s > s.begin_s))
        s = (struct span){isfinite(s.begin_s) ? s.begin_s : 0,
                          (isfinite(s.begin_s) ? s.begin_s : 0) + DAY_S};
    return s;
}

/* An on-demand price far above everything would leave no room for the rest: it is told instead. */
#define CAP_IN_SIGHT 1.5

struct range {
    double low, high;
};

static struct range range_of(const struct chart_price_panel *p)
{
    struct range r = {(double)NAN, (double)NAN};

    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->lines[i].n; k++) { /* of NaN and a number, the number */
            r.low = fmin(r.low, p->lines[i].steps[k].usd);
            r.high = fmax(r.high, p->lines[i].steps[k].usd);
        }
    if (isnan(r.low))
        return (struct range){0, 1};
    if (p->from_zero)
        r = (struct range){fmin(r.low, 0), fmax(r.high, 0)};
    return r;
}

static void put_cap(struct buf *svg,
                    const struct svg_frame *f,
                    const struct chart_scale *usd,
                    double cap)
{
    double y = svg_y(f, usd, cap);

    buf_printf(svg,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#666666\" "
               "stroke-dasharray=\"1 3\"/>\n",
               f->left, y, f->left + f->width, y);
    svg_text(svg, (struct svg_label){f->left + f->width - 4, y - 4, "end", 11, ""}, "on demand");
}

static void put_price_panel(struct buf *svg,
                            const struct svg_frame *f,
                            const struct chart_price_panel *p)
{
    struct range r = range_of(p);
    bool in_sight = p->cap_usd <= CAP_IN_SIGHT * r.high; /* never for NaN */
    struct chart_scale usd =
        chart_scale_make(CHART_DOLLARS, r.low, in_sight ? fmax(r.high, p->cap_usd) : r.high, 4);
    struct span s = span_of(p);
    char title[240];

    snprintf(title, sizeof title, "%s", p->title);
    if (!isnan(p->cap_usd) && !in_sight)
        snprintf(title, sizeof title, "%.160s (on demand $%.4g)", p->title, p->cap_usd);
    svg_text_within(svg,
                    (struct svg_label){f->left, f->top - 14, "start", 13, " font-weight=\"bold\""},
                    SVG_WIDTH - 60 - f->left, title);
    put_dates(svg, f, &s);
    svg_y_marks(svg, f, &usd);
    svg_line(svg, f->left, f->top, f->left, f->top + f->height, "#222222");
    if (in_sight)
        put_cap(svg, f, &usd, p->cap_usd);
    for (size_t i = 0; i < p->n; i++)
        put_steps(svg, f, &s, &usd, &p->lines[i], i);
    put_key(svg, f, p);
}

int chart_prices_save(const char *path, const struct chart_prices *prices, struct err *e)
{
    struct buf svg;
    char more[64];
    double height = 70 + (double)prices->n * PANEL_STEP;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    svg_head(&svg, height, prices->title);
    for (size_t i = 0; i < prices->n; i++) {
        const struct svg_frame f = {80, 84 + (double)i * PANEL_STEP, SVG_WIDTH - 280, PANEL_HEIGHT};
        put_price_panel(&svg, &f, &prices->panels[i]);
    }
    if (prices->left_out) {
        snprintf(more, sizeof more, "%zu further machines are left out", prices->left_out);
        svg_text(&svg, (struct svg_label){80, height - 12, "start", 12, ""}, more);
    }
    return save(path, &svg, e);
}
