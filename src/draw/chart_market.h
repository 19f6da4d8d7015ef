/* chart_market: charts of spot markets: costs of strategies, and prices over time. */
#ifndef DRAW_CHART_MARKET_H
#define DRAW_CHART_MARKET_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Costs beside one another, the first the one that others are compared with. */
struct chart_ladder_bar {
    const char *name;
    double cost_usd, reduction;
};
struct chart_ladder {
    const char *title;
    const struct chart_ladder_bar *bars;
    size_t n;
};
int chart_ladder_save(const char *path, const struct chart_ladder *ladder, struct err *e);

/* The same strategies for several models. */
struct chart_group {
    const char *name;
    const double *values;
};
struct chart_groups {
    const char *title;
    const char *const *names; /* of the values of each group */
    size_t n_names;
    const struct chart_group *groups;
    size_t n;
};
int chart_groups_save(const char *path, const struct chart_groups *groups, struct err *e);

/* Prices as steps, a panel each, below one another on one time axis. */
#define CHART_LINES_MAX 8
struct chart_step {
    double at_s, usd; /* NaN = none until the next */
};
struct chart_line {
    const char *name;
    const struct chart_step *steps;
    size_t n;
    double end_s; /* of the last step */
};
struct chart_price_panel {
    const char *title;
    struct chart_line lines[CHART_LINES_MAX];
    size_t n;
    size_t left_out; /* lines there was no room for */
    bool from_zero;  /* amounts, which are compared with nothing */
    double cap_usd;  /* drawn across, dashed: the on-demand price; NaN = none */
};
struct chart_prices {
    const char *title;
    const struct chart_price_panel *panels;
    size_t n;
    size_t left_out; /* panels there was no room for */
};
int chart_prices_save(const char *path, const struct chart_prices *prices, struct err *e);

#endif
