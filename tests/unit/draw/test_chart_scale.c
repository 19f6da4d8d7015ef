#include "draw/chart_svg.h"
#include "tap.h"

#include <math.h>
#include <string.h>

int main(void)
{
    static const struct {
        const char *name;
        enum chart_unit unit;
        double low, high;
        size_t marks;
        double want_low, want_high, want_step;
        const char *label_of_high;
    } cases[] = {
        {"dollars from 1.2 to 2.4", CHART_DOLLARS, 1.2, 2.4, 4, 1, 2.5, 0.5, "$2.50"},
        {"cents", CHART_DOLLARS, 0.011, 0.034, 5, 0.01, 0.035, 0.005, "$0.035"},
        {"thousands", CHART_DOLLARS, 120, 4700, 5, 0, 5000, 1000, "$5000"},
        {"seconds", CHART_TIME, 0, 100, 5, 0, 100, 20, "100 s"},
        {"minutes", CHART_TIME, 0, 3600, 6, 0, 3600, 600, "60 min"},
        {"hours", CHART_TIME, 3600 * 5, 3600 * 9, 4, 3600 * 5, 3600 * 9, 3600, "9 h"},
        {"half hours", CHART_TIME, 3600 * 3, 3600 * 5, 4, 3600 * 3, 3600 * 5, 1800, "5.0 h"},
        {"days", CHART_TIME, 0, 86400 * 10, 5, 0, 86400 * 10, 86400 * 2, "10 d"},
        {"one value gets room around it", CHART_DOLLARS, 4, 4, 4, 3, 5, 0.5, "$5.00"},
        {"numbers on both sides of 0", CHART_NUMBER, -0.3, 0.9, 4, -0.5, 1, 0.5, "1.0"},
        {"small numbers", CHART_NUMBER, 0, 3e-8, 3, 0, 3e-8, 1e-8, "3e-08"},
        {"one negative number", CHART_NUMBER, -4, -4, 4, -5, -3, 0.5, "-3.0"},
        {"one value at nothing", CHART_DOLLARS, 0, 0, 4, 0, 1, 0.5, "$1.00"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char label[32];
        struct chart_scale s =
            chart_scale_make(cases[i].unit, cases[i].low, cases[i].high, cases[i].marks);
        CHECK(fabs(s.low - cases[i].want_low) < 1e-9 && fabs(s.high - cases[i].want_high) < 1e-9 &&
                  fabs(s.step - cases[i].want_step) < 1e-9,
              "%s: from %g to %g by %g", cases[i].name, s.low, s.high, s.step);
        size_t n = chart_scale_marks(&s);
        CHECK(fabs(chart_scale_mark(&s, n - 1) - s.high) < 1e-9, "%s: the last mark is the end",
              cases[i].name);
        CHECK(!strcmp(chart_scale_label(&s, s.high, label), cases[i].label_of_high),
              "%s: labelled %s", cases[i].name, label);
    }
    static const struct {
        double low, high;
        bool are_whole;
        double want_low, want_high, want_step;
    } steps[] = {
        {1, 5, true, 1, 5, 1}, {1, 2, true, 1, 2, 1},    {0, 30, true, 0, 30, 5},
        {7, 7, true, 6, 8, 1}, {1, 5, false, 1, 5, 0.5}, {0, 9, true, 0, 10, 2},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct chart_scale s =
            chart_scale_of_steps(steps[i].low, steps[i].high, steps[i].are_whole, 8);
        CHECK(fabs(s.low - steps[i].want_low) < 1e-9 && fabs(s.high - steps[i].want_high) < 1e-9 &&
                  fabs(s.step - steps[i].want_step) < 1e-9,
              "steps %g to %g: from %g to %g by %g", steps[i].low, steps[i].high, s.low, s.high,
              s.step);
    }
    struct chart_scale s = chart_scale_make(CHART_DOLLARS, 0, 8, 4);
    CHECK(fabs(chart_scale_at(&s, 2) - 0.25) < 1e-12, "2 of 0..8 is a quarter of the way");
    return TAP_DONE();
}
