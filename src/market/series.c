#include "market/series.h"

#include "market/store.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const market_feed_texts[MARKET_N_FEEDS] = {
    [MARKET_FEED_CSV] = "csv", [MARKET_FEED_AWS] = "aws",     [MARKET_FEED_AZURE] = "azure",
    [MARKET_FEED_GCP] = "gcp", [MARKET_FEED_DAILY] = "daily", [MARKET_FEED_KEEPALIVE] = "keepalive",
};

int market_compare_offers(const struct market_offer *a, const struct market_offer *b)
{
    int by = strcmp(a->cloud, b->cloud);

    by = by ? by : strcmp(a->region, b->region);
    by = by ? by : strcmp(a->instance_type, b->instance_type);
    return by ? by : strcmp(a->zone, b->zone);
}

/* How many points are not later than at_s. */
static size_t points_until(const struct market_offer *o, double at_s)
{
    size_t low = 0, high = o->n_points;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->points[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The point in force at a time: the last that is not later. NULL before the first one. It says
 * nothing of coverage. */
static const struct market_point *market_point_at(const struct market_offer *o, double at_s)
{
    size_t n = points_until(o, at_s);

    return n ? &o->points[n - 1] : NULL;
}

double market_price(const struct market_offer *o, double at_s)
{
    const struct market_point *p = market_point_at(o, at_s);

    return p && at_s < o->end_s ? p->usd_per_hour : (double)NAN;
}

struct sum {
    double paid_usd, sold_s;
};

/* From the beginning of the history to at_s, which it covers. */
static struct sum sum_until(const struct market_offer *o, double at_s)
{
    const struct market_point *p = market_point_at(o, at_s);

    if (!p)
        return (struct sum){0, 0};
    if (isnan(p->usd_per_hour))
        return (struct sum){p->paid_usd, p->sold_s};
    double since_s = at_s - p->at_s;
    return (struct sum){p->paid_usd + since_s / 3600 * p->usd_per_hour, p->sold_s + since_s};
}

double market_cost_usd(const struct market_offer *o, double from_s, double to_s, double *sold_s_out)
{
    double from = fmax(from_s, o->begin_s), to = fmin(to_s, o->end_s);
    struct sum before = {0, 0}, until = {0, 0};

    if (o->n_points && from < to) {
        before = sum_until(o, from);
        until = sum_until(o, to);
    }
    if (sold_s_out)
        *sold_s_out = until.sold_s - before.sold_s;
    return until.paid_usd - before.paid_usd;
}

bool market_same_price(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a <= b && a >= b);
}

double market_next_change(const struct market_offer *o, double after_s)
{
    size_t i = points_until(o, after_s);

    if (!o->n_points || after_s >= o->end_s)
        return (double)INFINITY;
    if (i == 0)
        return o->begin_s;
    double now = o->points[i - 1].usd_per_hour;
    while (i < o->n_points && market_same_price(o->points[i].usd_per_hour, now))
        i++;
    return i < o->n_points ? o->points[i].at_s : o->end_s;
}

double market_on_demand_price(const struct market_offer *o, double at_s)
{
    size_t n = 0;

    /* A price list changes a few times in years: no search is faster. */
    while (n < o->n_on_demand && o->on_demand[n].at_s <= at_s)
        n++;
    if (!o->n_on_demand)
        return (double)NAN;
    return o->on_demand[n ? n - 1 : 0].usd_per_hour;
}

/* The published histories say us_east where Azure's own tools say eastus. Histories came first. */
static const struct {
    const char *name, *api;
} azure_regions[] = {
    {"us_central", "centralus"},
    {"us_east", "eastus"},
    {"us_east_2", "eastus2"},
    {"us_north_central", "northcentralus"},
    {"us_south_central", "southcentralus"},
    {"us_west", "westus"},
    {"us_west_2", "westus2"},
    {"us_west_3", "westus3"},
    {"us_west_central", "westcentralus"},
};

static const char *skip(const char *text)
{
    return text + strspn(text, " _-");
}

/* Case, spaces, '_' and '-' do not matter. */
static bool same_region(const char *a, const char *b)
{
    for (a = skip(a), b = skip(b); *a && *b; a = skip(a + 1), b = skip(b + 1))
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return *a == *b;
}

const char *market_region(const char *cloud, const char *region)
{
    if (strcmp(cloud, "azure") != 0)
        return region;
    for (size_t i = 0; i < sizeof azure_regions / sizeof *azure_regions; i++)
        if (same_region(region, azure_regions[i].name) || same_region(region, azure_regions[i].api))
            return azure_regions[i].name;
    return region;
}
