/* offers: the operations catalog.list and catalog.show, which answer with offers. */
#include "app/catalog/catalog.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "spec/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the record of an offer ---- */

static void location_cell(const void *record, struct buf *out)
{
    const struct app_catalog_offer *o = record;

    buf_printf(out, "%s/%s%s%s", o->cloud, o->region ? o->region : "", o->zone ? "/" : "",
               o->zone ? o->zone : "");
}

static void accelerator_cell(const void *record, struct buf *out)
{
    const struct app_catalog_offer *o = record;

    if (!o->accelerator)
        buf_puts(out, "-");
    else if (isnan(o->accelerator_count))
        buf_printf(out, "%s:-", o->accelerator);
    else
        buf_printf(out, "%s:%g", o->accelerator, o->accelerator_count);
}

/* Rates are shown to the digits that price lists have, unrounded. */
static void put_rate(struct buf *out, double usd)
{
    if (!catalog_priced(usd))
        buf_puts(out, "-");
    else
        buf_printf(out, usd < 0.01 ? "$%.2g" : "$%.4f", usd);
}

static void price_cell(const void *record, struct buf *out)
{
    put_rate(out, ((const struct app_catalog_offer *)record)->price_usd_per_hour);
}

static void spot_cell(const void *record, struct buf *out)
{
    put_rate(out, ((const struct app_catalog_offer *)record)->spot_usd_per_hour);
}

/* clang-format off */
#define OFFER(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_offer, key), __VA_ARGS__}
static const struct field offer_fields[] = {
    OFFER(TEXT, cloud, .heading = "location", .cell = location_cell, .cut_rank = 2,
          .least_width = 20, .help = "Cloud."),
    OFFER(TEXT, region, .help = "Region."),
    OFFER(TEXT, zone, .help = "Zone."),
    OFFER(TEXT, instance_type, .heading = "type", .cut_rank = 1, .least_width = 16,
          .help = "Instance type."),
    OFFER(REAL, vcpus, .heading = "vcpus", .none = "-", .help = "Number of vCPUs."),
    OFFER(REAL, memory_gib, .unit = "GiB", .heading = "GiB", .none = "-", .help = "Memory."),
    OFFER(TEXT, accelerator, .heading = "accelerator", .cell = accelerator_cell, .cut_rank = 3,
          .least_width = 10, .help = "Name of the accelerator."),
    OFFER(REAL, accelerator_count, .help = "Number of accelerators."),
    OFFER(REAL, network_gbps, .unit = "Gbit/s", .help = "Network throughput."),
    OFFER(REAL, price_usd_per_hour, .unit = "USD", .heading = "per hour", .cell = price_cell,
          .help = "On-demand price per hour."),
    OFFER(REAL, spot_usd_per_hour, .unit = "USD", .heading = "spot", .cell = spot_cell,
          .help = "Spot price per hour."),
    OFFER(REAL, preemptions_per_hour, .help = "Expected preemptions of a spot instance per hour."),
};
/* clang-format on */
static const struct record offer_record = RECORD("offer", struct app_catalog_offer, offer_fields);

/* An offer with its instance type, while offers are sorted. */
struct candidate {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
    double key; /* what the list is sorted by */
};

static int answer_offer(struct answer *out,
                        const struct catalog *c,
                        const struct candidate *from,
                        struct err *e)
{
    const struct catalog_kind *k = from->kind;
    const struct catalog_offer *o = from->offer;
    const struct app_catalog_offer offer = {
        .cloud = app_catalog_known(catalog_text(c, k->cloud)),
        .region = app_catalog_known(catalog_text(c, c->places[o->place].region)),
        .zone = app_catalog_known(catalog_text(c, o->zone)),
        .instance_type = app_catalog_known(catalog_text(c, k->instance_type)),
        .vcpus = k->vcpus,
        .memory_gib = k->memory_gib,
        .accelerator = app_catalog_known(catalog_text(c, k->accelerator)),
        .accelerator_count = k->accelerator_count,
        .network_gbps = k->network_gbps,
        .price_usd_per_hour = o->price_usd,
        .spot_usd_per_hour = o->spot_usd,
        .preemptions_per_hour = o->preemptions,
    };

    return answer_item(out, &offer, e);
}

/* By key, then cloud, region, instance type and zone as bytes. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    if (x->offer->place != y->offer->place)
        return x->offer->place < y->offer->place ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->offer > y->offer) - (x->offer < y->offer);
}

/* ---- catalog.list ---- */

enum market { MARKET_ANY = 1, MARKET_ON_DEMAND, MARKET_SPOT };
static const char *const markets[] = {
    [MARKET_ANY] = "any", [MARKET_ON_DEMAND] = "on-demand", [MARKET_SPOT] = "spot"};

enum order {
    BY_PRICE = 1,
    BY_SPOT,
    BY_CPUS,
    BY_MEMORY,
    BY_ACCELERATORS,
    BY_LOCATION,
    BY_PLACE /* an older word for BY_LOCATION */
};
static const char *const orders[] = {
    [BY_PRICE] = "price",
    [BY_SPOT] = "spot",
    [BY_CPUS] = "cpus",
    [BY_MEMORY] = "memory",
    [BY_ACCELERATORS] = "accelerators",
    [BY_LOCATION] = "location",
    [BY_PLACE] = "place",
};

struct list_request {
    const char *cloud, *region, *accelerator, *cpus, *memory;
    double max_price_usd;
    enum market market;
    enum order sort;
    int64_t limit;
};

/* clang-format off */
#define LIST(TYPE, member) FIELD(TYPE, struct list_request, member)
static const struct field list_fields[] = {
    {"cloud", LIST(TEXT, cloud), .value = "NAME", .help = "Only offers of this cloud."},
    {"region", LIST(TEXT, region), .value = "NAME", .help = "Only offers in this region."},
    {"accelerator", LIST(TEXT, accelerator), .value = "NAME[:COUNT]",
     .help = "Only instance types with this accelerator, and this number of them."},
    {"cpus", LIST(TEXT, cpus), .value = "RANGE",
     .help = "vCPUs: 4 exactly, 4+ at least, 4-8 between."},
    {"memory", LIST(TEXT, memory), .value = "RANGE", .help = "Memory, in the same way."},
    {"max_price_usd", LIST(REAL, max_price_usd), .option = "--max-price",
     .unit = "USD", .value = "USD", .most = HUGE_VAL, .help = "Limit the price per hour."},
    {"market", LIST(ENUM, market), FIELD_CHOICES(markets), .preset = "any",
     .value = "on-demand|spot|any",
     .help = "Only offers of this market, by the price there (default any: the lower price)."},
    {"sort", LIST(ENUM, sort), FIELD_CHOICES(orders), .preset = "price",
     .value = "price|spot|cpus|memory|accelerators|location",
     .help = "Smallest first (default price)."},
    {"limit", LIST(INT, limit), .value = "N", .most = HUGE_VAL,
     .help = "List at most N (default 50 in a table, all with --json)."},
};

static const struct field found_fields[] = {
    {"offers_count", FIELD(COUNT, struct app_catalog_found, offers),
     .help = "Number of offers that pass the filters."},
};
/* clang-format on */

struct filter {
    const char *cloud, *region; /* NULL = any */
    char accelerator[128];      /* "" = any */
    double accelerator_count;   /* NAN = any */
    struct spec_range cpus, memory;
    double max_price;
    enum market market;
};

/* The price of the offer in the market; NAN when the market does not sell it. */
static double price_in(enum market market, const struct catalog_offer *o)
{
    switch (market) {
    case MARKET_ON_DEMAND:
        return o->price_usd;
    case MARKET_SPOT:
        return o->spot_usd;
    case MARKET_ANY:
        break;
    }
    return fmin(o->price_usd, o->spot_usd); /* the other one when one is NAN */
}

static double or_last(double v)
{
    return isnan(v) ? (double)INFINITY : v;
}

static double sort_key(enum order order, const struct candidate *x, enum market market)
{
    switch (order) {
    case BY_PRICE:
        return price_in(market, x->offer);
    case BY_SPOT:
        return or_last(x->offer->spot_usd);
    case BY_CPUS:
        return or_last(x->kind->vcpus);
    case BY_MEMORY:
        return or_last(x->kind->memory_gib);
    case BY_ACCELERATORS:
        return isnan(x->kind->accelerator_count) ? 0 : x->kind->accelerator_count;
    case BY_LOCATION:
    case BY_PLACE:
        break;
    }
    return 0;
}

static int no_such(
    const char *what, const char *name, const char *const *names, size_t n, struct err *e)
{
    const char *close = nearest(name, names, n);

    if (close)
        return err_set(e, ERR_NOTFOUND, "no offer has the %s \"%s\"; did you mean \"%s\"?", what,
                       name, close);
    return err_set(e, ERR_NOTFOUND,
                   "no offer has the %s \"%s\"; `tradewind catalog list` lists offers", what, name);
}

/* Cloud and region must be some offer's; the error names the nearest that is. */
static int check_location(const struct catalog *c, const struct filter *f, struct err *e)
{
    const struct catalog_place *places = c->places;
    size_t n = c->n_places, n_regions = 0;
    AUTO_MEM const char **clouds = mem_zero(n, sizeof *clouds);
    AUTO_MEM const char **regions = mem_zero(n, sizeof *regions);
    bool cloud_known = !f->cloud, region_known = !f->region;

    for (size_t i = 0; i < n; i++) {
        clouds[i] = catalog_text(c, places[i].cloud);
        if (f->cloud && strcasecmp(clouds[i], f->cloud) != 0)
            continue;
        cloud_known = true;
        regions[n_regions] = catalog_text(c, places[i].region);
        region_known |= f->region && strcmp(regions[n_regions], f->region) == 0;
        n_regions++;
    }
    if (!cloud_known)
        return no_such("cloud", f->cloud, clouds, n, e);
    if (!region_known)
        return no_such("region", f->region, regions, n_regions, e);
    return 0;
}

static int check_accelerator(const struct catalog *c, const struct filter *f, struct err *e)
{
    const struct catalog_kind *kinds = c->kinds;
    size_t n = c->n_kinds, n_names = 0;
    AUTO_MEM const char **names = mem_zero(n, sizeof *names);

    for (size_t i = 0; i < n; i++) {
        const char *name = catalog_text(c, kinds[i].accelerator);
        if (*name && catalog_same_accelerator(f->accelerator, name))
            return 0;
        if (*name)
            names[n_names++] = name;
    }
    return no_such("accelerator", f->accelerator, names, n_names, e);
}

static int read_accelerator(const char *text, struct answer *out, struct filter *f, struct err *e)
{
    size_t len = strcspn(text, ":");
    char option[64];

    if (!len || len >= sizeof f->accelerator ||
        (text[len] && !number_parse(text + len + 1, &f->accelerator_count)))
        return err_set(e, ERR_USAGE, "%s \"%s\" is neither NAME nor NAME:COUNT",
                       answer_spell(out, "accelerator", option), text);
    memcpy(f->accelerator, text, len);
    f->accelerator[len] = 0;
    return 0;
}

static int read_range(const char *text,
                      const char *field,
                      bool sizes,
                      struct answer *out,
                      struct spec_range *range,
                      struct err *e)
{
    char option[64];

    *range = (struct spec_range){0, (double)INFINITY};
    if (text && !value_range(text, sizes, VALUE_MAX_GB, range))
        return err_set(e, ERR_USAGE, "%s \"%s\" must be 4, 4+ or 4-8",
                       answer_spell(out, field, option), text);
    return 0;
}

static int read_filter(const struct list_request *q,
                       struct answer *out,
                       struct filter *f,
                       struct err *e)
{
    *f = (struct filter){
        .cloud = q->cloud,
        .region = q->region,
        .max_price = isnan(q->max_price_usd) ? (double)INFINITY : q->max_price_usd,
        .market = q->market,
        .accelerator_count = (double)NAN,
    };
    if (read_range(q->cpus, "cpus", false, out, &f->cpus, e) < 0 ||
        read_range(q->memory, "memory", true, out, &f->memory, e) < 0)
        return -1;
    return q->accelerator ? read_accelerator(q->accelerator, out, f, e) : 0;
}

static bool in_range(const struct spec_range *r, double v)
{
    return (r->min <= 0 && isinf(r->max)) || (v >= r->min && v <= r->max);
}

static bool kind_fits(const struct catalog *c, const struct filter *f, const struct catalog_kind *k)
{
    const char *accelerator = catalog_text(c, k->accelerator);
    double count = f->accelerator_count;

    if (f->cloud && strcasecmp(catalog_text(c, k->cloud), f->cloud) != 0)
        return false;
    if (*f->accelerator &&
        (!*accelerator || !catalog_same_accelerator(f->accelerator, accelerator) ||
         count < k->accelerator_count || count > k->accelerator_count))
        return false;
    return in_range(&f->cpus, k->vcpus) && in_range(&f->memory, k->memory_gib);
}

/* The offers that pass, unsorted; the caller frees them. */
static struct candidate *select_offers(const struct catalog *c,
                                       const struct filter *f,
                                       size_t *n_out)
{
    struct candidate *found = mem_zero(c->n_offers, sizeof *found);
    const struct catalog_kind *kinds = c->kinds;
    size_t n = 0;

    for (size_t i = 0; i < c->n_kinds; i++) {
        if (!kind_fits(c, f, &kinds[i]))
            continue;
        const struct catalog_offer *o = c->offers + kinds[i].first_offer;
        for (size_t j = 0; j < kinds[i].n_offers; j++, o++) {
            const char *region = catalog_text(c, c->places[o->place].region);
            double price = price_in(f->market, o);
            if (catalog_priced(price) && price <= f->max_price &&
                (!f->region || strcmp(region, f->region) == 0))
                found[n++] = (struct candidate){.kind = &kinds[i], .offer = o};
        }
    }
    *n_out = n;
    return found;
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    struct filter f;
    size_t n;

    if (read_filter(q, out, &f, e) < 0)
        return -1;
    AUTO(catalog) struct catalog *c = app_catalog_open(app, e);
    if (!c || check_location(c, &f, e) < 0 || (*f.accelerator && check_accelerator(c, &f, e) < 0))
        return -1;
    AUTO_MEM struct candidate *offers = select_offers(c, &f, &n);
    for (size_t i = 0; i < n; i++)
        offers[i].key = sort_key(q->sort, &offers[i], f.market);
    qsort(offers, n, sizeof *offers, compare);
    out->more = q->limit != FIELD_NONE && (size_t)q->limit < n;
    if (answer_head(out, &(struct app_catalog_found){n}, e) < 0)
        return -1;
    for (size_t i = 0; i < (out->more ? (size_t)q->limit : n); i++)
        if (answer_offer(out, c, &offers[i], e) < 0)
            return -1;
    return 0;
}

const struct operation catalog_list_operation = {
    .name = "catalog.list",
    .summary = "List offers of the catalog, cheapest first.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .answer = RECORD_AT("offers", struct app_catalog_found, found_fields),
    .item = &offer_record,
    .run = run_list,
};

/* ---- catalog.show ---- */

struct show_request {
    const char *instance_type;
};

/* clang-format off */
static const struct field show_fields[] = {
    {"instance_type", FIELD(TEXT, struct show_request, instance_type), .required = true,
     .operand = true, .value = "TYPE", .help = "Name of the instance type."},
};
/* clang-format on */

static int answer_kind(struct answer *out,
                       const struct catalog *c,
                       const struct catalog_kind *k,
                       struct err *e)
{
    AUTO_MEM struct candidate *offers = mem_zero(k->n_offers, sizeof *offers);

    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &c->offers[k->first_offer + i];
        offers[i] = (struct candidate){k, o, price_in(MARKET_ANY, o)};
    }
    qsort(offers, k->n_offers, sizeof *offers, compare);
    for (size_t i = 0; i < k->n_offers; i++)
        if (answer_offer(out, c, &offers[i], e) < 0)
            return -1;
    return 0;
}

static int run_show(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const char *type = ((const struct show_request *)request)->instance_type;
    AUTO(catalog) struct catalog *c = app_catalog_open(app, e);
    size_t n = c ? c->n_kinds : 0;
    AUTO_MEM const char **names = mem_zero(n + 1, sizeof *names);
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        names[i] = catalog_text(c, c->kinds[i].instance_type);
        if (strcmp(names[i], type) != 0)
            continue;
        found = true;
        if (answer_kind(out, c, &c->kinds[i], e) < 0)
            return -1;
    }
    if (!c)
        return -1;
    return found ? 0 : no_such("instance type", type, names, n, e);
}

const struct operation catalog_show_operation = {
    .name = "catalog.show",
    .summary = "Show an instance type at all its locations, cheapest first.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct show_request, show_fields),
    .item = &offer_record,
    .run = run_show,
};
