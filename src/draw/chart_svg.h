/* chart_svg: what all pictures are made of: axes with round marks, and pieces of SVG. */
#ifndef DRAW_CHART_SVG_H
#define DRAW_CHART_SVG_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum chart_unit { CHART_DOLLARS, CHART_TIME, CHART_NUMBER };

struct chart_scale {
    enum chart_unit unit;
    double low, high, step; /* in base units (dollars, seconds), all multiples of step */
    double unit_size;       /* base units in one unit of the labels: 3600 for hours */
    const char *unit_name;  /* "USD", "h", "" */
    int decimals;
};

/* Covers low..high with about `marks` round marks. */
struct chart_scale chart_scale_make(enum chart_unit unit, double low, double high, size_t marks);

/* The same of plain numbers, as programs print them: a range that cannot be divided into marks is
 * widened or narrowed to one that can, and points beyond it are drawn beyond. */
struct chart_scale chart_scale_of_numbers(double low, double high, size_t marks);

/* The same of the steps of a metric: between whole steps there are no marks. */
struct chart_scale chart_scale_of_steps(double low, double high, bool are_whole, size_t marks);

size_t chart_scale_marks(const struct chart_scale *s);
double chart_scale_mark(const struct chart_scale *s, size_t i);
/* "$2.50", "1.5 h", "-0.25". Written into out and returned. */
const char *chart_scale_label(const struct chart_scale *s, double value, char out[static 32]);
/* 0 at low, 1 at high. */
double chart_scale_at(const struct chart_scale *s, double value);

/* Okabe and Ito's palette: told apart with any kind of colour vision, and in grey print. */
#define SVG_BLUE "#0072B2"
#define SVG_VERMILION "#D55E00"
#define SVG_GREY "#999999"
#define SVG_ORANGE "#E69F00"
#define SVG_SKY "#56B4E9"

#define SVG_WIDTH 900
/* For text over lines: they end around it. */
#define SVG_HALO " paint-order=\"stroke\" stroke=\"#FFFFFF\" stroke-width=\"4\""

struct svg_label {
    double x, y;
    const char *anchor; /* "start", "middle", "end" */
    int size;
    const char *extra; /* further attributes, "" = none */
};

void svg_text(struct buf *svg, struct svg_label at, const char *s);
/* The same of a text that may be longer than there is room: cut, with all of it as its tooltip. */
void svg_text_within(struct buf *svg, struct svg_label at, double width, const char *s);
/* About how wide the text is drawn. */
double svg_text_width(const char *s, int size);
void svg_line(struct buf *svg, double x1, double y1, double x2, double y2, const char *colour);
void svg_rect(struct buf *svg, double x, double y, double width, double height, const char *fill);

/* A plot inside its axes. */
struct svg_frame {
    double left, top, width, height;
};
double svg_x(const struct svg_frame *f, const struct chart_scale *scale, double value);
double svg_y(const struct svg_frame *f, const struct chart_scale *scale, double value);
/* Marks with labels and grid lines, below the plot and to its left; without the axes' lines. */
void svg_x_marks(struct buf *svg, const struct svg_frame *f, const struct chart_scale *scale);
void svg_y_marks(struct buf *svg, const struct svg_frame *f, const struct chart_scale *scale);

/* Begins a picture of SVG_WIDTH, with its title on top; "</svg>" ends it. */
void svg_head(struct buf *svg, double height, const char *title);

#endif
