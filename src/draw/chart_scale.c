#include "draw/chart_scale.h"

#include <math.h>
#include <stdio.h>

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
