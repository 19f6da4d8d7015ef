#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/catalog/catalog_parts.h"
#include "cli/core/commands.h"
#include "spec/value.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIMIT_FOR_PEOPLE 50

enum market { MARKET_ANY, MARKET_ON_DEMAND, MARKET_SPOT };

struct filter {
    const char *cloud, *region; /* NULL = any */
    char accelerator[128];      /* "" = any */
    double accelerator_count;   /* NaN = any */
    struct spec_range cpus, memory;
    double max_price;
    enum market market;
};

/* What the market asks for the offer; NaN when it does not sell it. */
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
    return fmin(o->price_usd, o->spot_usd); /* the other one when one is NaN */
}

static double sort_nothing(const struct cli_offer *o, enum market market)
{
    (void)o;
    (void)market;
    return 0;
}

static double sort_price(const struct cli_offer *o, enum market market)
{
    return price_in(market, o->offer);
}

static double sort_spot(const struct cli_offer *o, enum market market)
{
    (void)market;
    return isnan(o->offer->spot_usd) ? (double)INFINITY : o->offer->spot_usd;
}

static double sort_cpus(const struct cli_offer *o, enum market market)
{
    (void)market;
    return isnan(o->kind->vcpus) ? (double)INFINITY : o->kind->vcpus;
}

static double sort_memory(const struct cli_offer *o, enum market market)
{
    (void)market;
    return isnan(o->kind->memory_gib) ? (double)INFINITY : o->kind->memory_gib;
}

static double sort_accelerators(const struct cli_offer *o, enum market market)
{
    (void)market;
    return isnan(o->kind->accelerator_count) ? 0 : o->kind->accelerator_count;
}

static const struct {
    const char *name;
    double (*key)(const struct cli_offer *o, enum market market);
} sorts[] = {
    {"price", sort_price},
    {"spot", sort_spot},
    {"cpus", sort_cpus},
    {"memory", sort_memory},
    {"accelerators", sort_accelerators},
    {"place", sort_nothing},
};
#define N_SORTS (sizeof sorts / sizeof *sorts)

static int no_such(const char *what, const char *name, const char *close, struct err *e)
{
    if (close)
        return err_set(e, ERR_NOTFOUND, "no offer has the %s \"%s\"; did you mean \"%s\"?", what,
                       name, close);
    return err_set(e, ERR_NOTFOUND, "no offer has the %s \"%s\"", what, name);
}

/* Cloud and region must be some offer's, or the user is told the nearest that is. */
static int check_place(const struct catalog *c, const struct filter *f, struct err *e)
{
    const struct catalog_place *places = catalog_places(c);
    size_t n = catalog_n_places(c), n_regions = 0;
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
        return no_such("cloud", f->cloud, nearest(f->cloud, clouds, n), e);
    if (!region_known)
        return no_such("region", f->region, nearest(f->region, regions, n_regions), e);
    return 0;
}

static int check_accelerator(const struct catalog *c, const struct filter *f, struct err *e)
{
    const struct catalog_kind *kinds = catalog_kinds(c);
    size_t n = catalog_n_kinds(c), n_names = 0;
    AUTO_MEM const char **names = mem_zero(n, sizeof *names);

    for (size_t i = 0; i < n; i++) {
        const char *name = catalog_text(c, kinds[i].accelerator);
        if (*name && catalog_same_accelerator(f->accelerator, name))
            return 0;
        if (*name)
            names[n_names++] = name;
    }
    return no_such("accelerator", f->accelerator, nearest(f->accelerator, names, n_names), e);
}

static int parse_accelerator(const char *text, struct filter *f, struct err *e)
{
    size_t len = strcspn(text, ":");

    f->accelerator_count = (double)NAN;
    if (!len || len >= sizeof f->accelerator ||
        (text[len] && !number_parse(text + len + 1, &f->accelerator_count)))
        return err_set(e, ERR_USAGE, "--accelerator \"%s\" is neither NAME nor NAME:COUNT", text);
    memcpy(f->accelerator, text, len);
    f->accelerator[len] = 0;
    return 0;
}

static int parse_range(const struct command_args *args,
                       const char *option,
                       bool sizes,
                       struct spec_range *out,
                       struct err *e)
{
    const char *text = command_value(args, option);

    *out = (struct spec_range){0, (double)INFINITY};
    if (text && !value_range(text, sizes, VALUE_MAX_GB, out))
        return err_set(e, ERR_USAGE, "%s \"%s\" is none of 4, 4+ and 4-8", option, text);
    return 0;
}

static int parse_market(const char *text, enum market *out, struct err *e)
{
    static const char *const names[] = {
        [MARKET_ANY] = "any", [MARKET_ON_DEMAND] = "on-demand", [MARKET_SPOT] = "spot"};

    *out = MARKET_ANY;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum market)i;
            return 0;
        }
    }
    if (!text)
        return 0;
    return err_set(e, ERR_USAGE, "--market \"%s\" is none of on-demand, spot and any", text);
}

static int parse_filter(const struct command_args *args, struct filter *f, struct err *e)
{
    const char *accelerator = command_value(args, "--accelerator");

    *f = (struct filter){
        .cloud = command_value(args, "--cloud"),
        .region = command_value(args, "--region"),
        .max_price = (double)INFINITY,
    };
    if (parse_range(args, "--cpus", false, &f->cpus, e) < 0 ||
        parse_range(args, "--memory", true, &f->memory, e) < 0 ||
        command_number(args, "--max-price", &f->max_price, e) < 0 ||
        parse_market(command_value(args, "--market"), &f->market, e) < 0)
        return -1;
    if (!(f->max_price >= 0))
        return err_set(e, ERR_USAGE, "--max-price is negative");
    return accelerator ? parse_accelerator(accelerator, f, e) : 0;
}

static int parse_sort(const char *text, size_t *out, struct err *e)
{
    const char *names[N_SORTS];

    *out = 0;
    for (size_t i = 0; i < N_SORTS; i++) {
        names[i] = sorts[i].name;
        if (text && strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    if (!text)
        return 0;
    const char *close = nearest(text, names, N_SORTS);
    return err_set(e, ERR_USAGE, "--sort \"%s\" is no order; %s \"%s\"", text,
                   close ? "did you mean" : "the default is", close ? close : names[0]);
}

static int parse_limit(const struct command_args *args, size_t *out, struct err *e)
{
    double limit = command_has(args, "--json") ? (double)INFINITY : LIMIT_FOR_PEOPLE;

    if (command_number(args, "--limit", &limit, e) < 0)
        return -1;
    if (!(limit >= 0) || (isfinite(limit) && limit != floor(limit)))
        return err_set(e, ERR_USAGE, "--limit takes a whole number");
    *out = limit < 1e15 ? (size_t)limit : SIZE_MAX;
    return 0;
}

static bool in_range(const struct spec_range *r, double v)
{
    return (r->min <= 0 && isinf(r->max)) || (v >= r->min && v <= r->max);
}

static bool kind_fits(const struct catalog *c, const struct filter *f, const struct catalog_kind *k)
{
    const char *accelerator = catalog_text(c, k->accelerator);

    if (f->cloud && strcasecmp(catalog_text(c, k->cloud), f->cloud) != 0)
        return false;
    if (*f->accelerator &&
        (!*accelerator || !catalog_same_accelerator(f->accelerator, accelerator) ||
         (!isnan(f->accelerator_count) && f->accelerator_count != k->accelerator_count)))
        return false;
    return in_range(&f->cpus, k->vcpus) && in_range(&f->memory, k->memory_gib);
}

/* The offers that pass, unsorted; the caller frees them. */
static struct cli_offer *select_offers(const struct catalog *c,
                                       const struct filter *f,
                                       size_t *n_out)
{
    struct cli_offer *found = mem_zero(catalog_n_offers(c), sizeof *found);
    const struct catalog_kind *kinds = catalog_kinds(c);
    size_t n = 0;

    for (size_t i = 0; i < catalog_n_kinds(c); i++) {
        if (!kind_fits(c, f, &kinds[i]))
            continue;
        const struct catalog_offer *o = catalog_offers(c) + kinds[i].first_offer;
        for (size_t j = 0; j < kinds[i].n_offers; j++, o++) {
            const char *region = catalog_text(c, catalog_places(c)[o->place].region);
            double price = price_in(f->market, o);
            if (catalog_priced(price) && price <= f->max_price &&
                (!f->region || strcmp(region, f->region) == 0))
                found[n++] = (struct cli_offer){.kind = &kinds[i], .offer = o};
        }
    }
    *n_out = n;
    return found;
}

static void print_offers(const struct catalog *c,
                         const struct cli_offer *offers,
                         size_t n,
                         size_t shown)
{
    char more[32];

    if (!n) {
        printf("No offer passes these filters.\n");
        return;
    }
    if (shown)
        cli_catalog_print_table(c, offers, shown, true, stdout);
    if (shown < n)
        printf("%s%s more; `--limit %zu` shows all\n", shown ? "\n" : "",
               text_count(n - shown, more), n);
}

static int run_list(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cli_catalog) struct cli_catalog c = {0};
    struct filter f;
    size_t sort = 0, limit = 0, n;

    if (parse_filter(args, &f, e) < 0 || parse_sort(command_value(args, "--sort"), &sort, e) < 0 ||
        parse_limit(args, &limit, e) < 0 || cli_catalog_open(&c, e) < 0 ||
        check_place(c.catalog, &f, e) < 0 ||
        (*f.accelerator && check_accelerator(c.catalog, &f, e) < 0))
        return -1;
    AUTO_MEM struct cli_offer *offers = select_offers(c.catalog, &f, &n);
    for (size_t i = 0; i < n; i++)
        offers[i].key = sorts[sort].key(&offers[i], f.market);
    cli_catalog_sort(offers, n);
    size_t shown = n < limit ? n : limit;
    if (command_has(args, "--json"))
        return cli_catalog_print_json(c.catalog, offers, shown, e);
    print_offers(c.catalog, offers, n, shown);
    return 0;
}

static const struct command_option list_options[] = {
    {.name = "--cloud", .value = "NAME", .help = "Only offers of this cloud."},
    {.name = "--region", .value = "NAME", .help = "Only offers in this region."},
    {.name = "--accelerator",
     .value = "NAME[:COUNT]",
     .help = "Only machines with this accelerator, and this number of them."},
    {.name = "--cpus", .value = "RANGE", .help = "vCPUs: 4 exactly, 4+ at least, 4-8 between."},
    {.name = "--memory", .value = "RANGE", .help = "Memory, in the same way."},
    {.name = "--max-price", .value = "USD", .help = "At most this much an hour."},
    {.name = "--market",
     .value = "on-demand|spot|any",
     .help = "Only offers sold there; the price that counts is the one asked there (default any: "
             "the lower one)."},
    {.name = "--sort",
     .value = "price|spot|cpus|memory|accelerators|place",
     .help = "Smallest first (default price)."},
    {.name = "--limit", .value = "N", .help = "Show at most N (default 50; with --json all)."},
    {.name = "--json", .help = "Print an array of offers, null for what is unknown."},
    {0},
};

const struct command command_catalog_list = {
    .name = "catalog list",
    .summary = "List offers, cheapest first",
    .details = "Lists the offers of the catalog in use that pass every filter given. Prices are "
               "US dollars an hour for the whole machine; \"-\" means not for sale.",
    .example = "tradewind catalog list --accelerator A100:8 --market spot",
    .options = list_options,
    .run = run_list,
};
