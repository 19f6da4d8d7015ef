#include "draw/chart_svg.h"

#include "base/auto.h"
#include "base/buf.h"
#include "draw/chart.h"
#include "view/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* ---- axes ---- */

static void pick_unit(struct chart_scale *s, double high)
{
    static const struct {
        double up_to_s, size_s;
        const char *name;
    } units[] = {
        {180, 1, "s"}, {3 * 3600, 60, "min"}, {4 * 86400, 3600, "h"}, {HUGE_VAL, 86400, "d"}};
    size_t i = 0;

    if (s->unit != CHART_TIME) {
        s->unit_size = 1;
        s->unit_name = s->unit == CHART_DOLLARS ? "USD" : "";
        return;
    }
    while (high > units[i].up_to_s)
        i++;
    s->unit_size = units[i].size_s;
    s->unit_name = units[i].name;
}

/* The smallest of 1, 2, 5 x 10^k that is not below x. */
static double round_step(double x)
{
    double power = pow(10, floor(log10(x)));
    double lead = x / power;

    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

struct chart_scale chart_scale_make(enum chart_unit unit, double low, double high, size_t marks)
{
    struct chart_scale s = {.unit = unit};

    pick_unit(&s, high);
    /* A single value gets room on both sides, so that it does not lie on the frame. */
    if (!(high > low)) {
        double room = high > 0 ? high / 4 : high < 0 && unit == CHART_NUMBER ? -high / 4 : 1;
        low = high > room || unit == CHART_NUMBER ? high - room : 0;
        high += room;
    }
    double step = round_step((high - low) / s.unit_size / (double)marks);
    double digits = -floor(log10(step) + 1e-9);
    s.decimals = digits > 0 ? (int)digits : 0;
    s.step = step * s.unit_size;
    s.low = floor(low / s.step + 1e-9) * s.step;
    s.high = ceil(high / s.step - 1e-9) * s.step;
    return s;
}

struct chart_scale chart_scale_of_numbers(double low, double high, size_t marks)
{
    low = fmax(fmin(low, 1e300), -1e300);
    high = fmax(fmin(high, 1e300), -1e300);
    double size = fmax(fabs(low), fabs(high));
    if (size < 1e-290)
        low = high = 0;
    else if (high - low < 1e-9 * size)
        low = high;
    return chart_scale_make(CHART_NUMBER, low, high, marks);
}

struct chart_scale chart_scale_of_steps(double low, double high, bool are_whole, size_t marks)
{
    /* A single one stands in the middle. */
    double room = are_whole && low == high ? 1 : 0, range = high - low + 2 * room;
    bool is_short = are_whole && range < (double)marks;

    return chart_scale_of_numbers(low - room, high + room, is_short ? (size_t)range : marks);
}

size_t chart_scale_marks(const struct chart_scale *s)
{
    return (size_t)lround((s->high - s->low) / s->step) + 1;
}

double chart_scale_mark(const struct chart_scale *s, size_t i)
{
    return s->low + (double)i * s->step;
}

const char *chart_scale_label(const struct chart_scale *s, double value, char out[static 32])
{
    double shown = value / s->unit_size;

    if (s->unit == CHART_DOLLARS)
        snprintf(out, 32, "%s$%.*f", shown < 0 ? "-" : "", s->decimals == 1 ? 2 : s->decimals,
                 fabs(shown));
    else if (s->unit == CHART_NUMBER && (s->step < 1e-6 || fabs(s->high) + fabs(s->low) > 1e9))
        snprintf(out, 32, "%.4g", shown);
    else
        snprintf(out, 32, "%.*f%s%s", s->decimals, shown, *s->unit_name ? " " : "", s->unit_name);
    return out;
}

double chart_scale_at(const struct chart_scale *s, double value)
{
    return (value - s->low) / (s->high - s->low);
}

/* ---- SVG ---- */

/* Text with what XML needs escaped; characters it forbids even escaped become '?'. */
static void svg_escaped(struct buf *svg, const char *s)
{
    AUTO_CLEAR(buf) struct buf safe;

    buf_init(&safe, CHART_SVG_MAX_BYTES);
    text_put(&safe, s, SIZE_MAX, true);
    for (const char *p = buf_str(&safe); *p; p++) {
        const char *entity = *p == '<'    ? "&lt;"
                             : *p == '>'  ? "&gt;"
                             : *p == '&'  ? "&amp;"
                             : *p == '"'  ? "&quot;"
                             : *p == '\'' ? "&#39;"
                                          : NULL;
        if (entity)
            buf_puts(svg, entity);
        else
            buf_add(svg, p, 1);
    }
}

void svg_text(struct buf *svg, struct svg_label at, const char *s)
{
    buf_printf(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\"%s>", at.x,
               at.y, at.anchor, at.size, at.extra);
    svg_escaped(svg, s);
    buf_puts(svg, "</text>\n");
}

/* Of the wide fonts that stand in for Helvetica; bold text is wider still. */
#define COLUMN_EM 0.6

double svg_text_width(const char *s, int size)
{
    return (double)text_width(s) * COLUMN_EM * size;
}

void svg_text_within(struct buf *svg, struct svg_label at, double width, const char *s)
{
    AUTO_CLEAR(buf) struct buf cut;

    buf_init(&cut, CHART_SVG_MAX_BYTES);
    if (svg_text_width(s, at.size) <= width) {
        svg_text(svg, at, s);
        return;
    }
    text_put(&cut, s, (size_t)(width / (COLUMN_EM * at.size)), true);
    buf_printf(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\"%s><title>",
               at.x, at.y, at.anchor, at.size, at.extra);
    svg_escaped(svg, s);
    buf_puts(svg, "</title>");
    svg_escaped(svg, buf_str(&cut));
    buf_puts(svg, "</text>\n");
}

void svg_line(struct buf *svg, double x1, double y1, double x2, double y2, const char *colour)
{
    buf_printf(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
               y1, x2, y2, colour);
}

void svg_rect(struct buf *svg, double x, double y, double width, double height, const char *fill)
{
    buf_printf(svg, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x,
               y, width, height, fill);
}

double svg_x(const struct svg_frame *f, const struct chart_scale *scale, double value)
{
    return f->left + f->width * chart_scale_at(scale, value);
}

double svg_y(const struct svg_frame *f, const struct chart_scale *scale, double value)
{
    return f->top + f->height * (1 - chart_scale_at(scale, value));
}

void svg_x_marks(struct buf *svg, const struct svg_frame *f, const struct chart_scale *scale)
{
    double bottom = f->top + f->height;
    char label[32];

    for (size_t i = 0; i < chart_scale_marks(scale); i++) {
        double mark = chart_scale_mark(scale, i), x = svg_x(f, scale, mark);
        svg_line(svg, x, f->top, x, bottom + 5, "#DDDDDD");
        svg_text(svg, (struct svg_label){x, bottom + 20, "middle", 12, ""},
                 chart_scale_label(scale, mark, label));
    }
}

void svg_y_marks(struct buf *svg, const struct svg_frame *f, const struct chart_scale *scale)
{
    char label[32];

    for (size_t i = 0; i < chart_scale_marks(scale); i++) {
        double mark = chart_scale_mark(scale, i), y = svg_y(f, scale, mark);
        svg_line(svg, f->left - 5, y, f->left + f->width, y, "#DDDDDD");
        svg_text(svg, (struct svg_label){f->left - 9, y + 4, "end", 12, ""},
                 chart_scale_label(scale, mark, label));
    }
}

void svg_head(struct buf *svg, double height, const char *title)
{
    buf_printf(svg,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
               "viewBox=\"0 0 %d %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
               "fill=\"#222222\">\n<title>",
               SVG_WIDTH, height, SVG_WIDTH, height);
    svg_escaped(svg, title);
    buf_puts(svg, "</title>\n");
    svg_rect(svg, 0, 0, SVG_WIDTH, height, "#FFFFFF");
    svg_text_within(svg, (struct svg_label){20, 28, "start", 16, " font-weight=\"bold\""},
                    SVG_WIDTH - 100, title);
}
