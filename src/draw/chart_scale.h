/* chart_scale: an axis with round marks. */
#ifndef DRAW_CHART_SCALE_H
#define DRAW_CHART_SCALE_H

#include <stddef.h>

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

size_t chart_scale_marks(const struct chart_scale *s);
double chart_scale_mark(const struct chart_scale *s, size_t i);
/* "$2.50", "1.5 h", "-0.25". Written into out and returned. */
const char *chart_scale_label(const struct chart_scale *s, double value, char out[static 32]);
/* 0 at low, 1 at high. */
double chart_scale_at(const struct chart_scale *s, double value);

#endif
