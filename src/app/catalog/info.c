/* info: the operation catalog.info, which `tradewind catalog info` calls. */
#include "app/catalog/catalog.h"
#include "catalog/catalog.h"
#include "spec/config.h"

#include <string.h>

struct catalog *app_catalog_open(struct app *app, struct err *e)
{
    const struct config *config = app_config(app, e);

    return config ? catalog_open(config->home, e) : NULL;
}

/* clang-format off */
#define INFO(TYPE, key, text) {#key, FIELD(TYPE, struct app_catalog_info, key), .help = (text)}
static const struct field info_fields[] = {
    INFO(TEXT, origin, "Source of the catalog."),
    INFO(TEXT, date, "Date of its prices."),
    INFO(COUNT, places, "Number of regions."),
    INFO(COUNT, kinds, "Number of instance types."),
    INFO(COUNT, offers, "Number of offers."),
    INFO(COUNT, transfers, "Number of transfer prices."),
    INFO(COUNT, storage, "Number of storage prices."),
};

#define CLOUD(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_cloud, key), __VA_ARGS__}
static const struct field cloud_fields[] = {
    CLOUD(TEXT, cloud, .heading = "cloud", .help = "Name of the cloud."),
    CLOUD(COUNT, regions, .heading = "regions", .help = "Number of regions."),
    CLOUD(COUNT, kinds, .heading = "types", .help = "Number of instance types."),
    CLOUD(COUNT, offers, .heading = "offers", .help = "Number of offers."),
    CLOUD(COUNT, priced_on_demand, .heading = "on demand",
          .help = "Number of offers with an on-demand price."),
    CLOUD(COUNT, priced_spot, .heading = "spot", .help = "Number of offers with a spot price."),
    CLOUD(TEXT, date, .heading = "date", .help = "Date of its prices."),
    CLOUD(TEXT, source, .heading = "source", .cut_rank = 1, .least_width = 8,
          .help = "Source of its prices."),
};
/* clang-format on */

static void count_offers(const struct catalog *c,
                         const struct catalog_kind *k,
                         struct app_catalog_cloud *out)
{
    out->kinds++;
    out->offers += k->n_offers;
    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &c->offers[k->first_offer + i];
        out->priced_on_demand += catalog_priced(o->price_usd);
        out->priced_spot += catalog_priced(o->spot_usd);
    }
}

/* The cloud whose first place is *place and first kind is *kind: both are sorted by cloud. */
static struct app_catalog_cloud next_cloud(const struct catalog *c, size_t *place, size_t *kind)
{
    const char *name = catalog_text(c, c->places[*place].cloud);
    const char *source = NULL, *date = NULL;
    struct app_catalog_cloud out = {.cloud = name};

    catalog_source(c, name, &source, &date);
    out.source = app_catalog_known(source);
    out.date = app_catalog_known(date);
    for (; *place < c->n_places; ++*place, out.regions++)
        if (strcmp(catalog_text(c, c->places[*place].cloud), name) != 0)
            break;
    for (; *kind < c->n_kinds; ++*kind) {
        const struct catalog_kind *k = &c->kinds[*kind];
        if (strcmp(catalog_text(c, k->cloud), name) != 0)
            break;
        count_offers(c, k, &out);
    }
    return out;
}

static int run_info(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO(catalog) struct catalog *c = app_catalog_open(app, e);
    size_t place = 0, kind = 0;

    (void)request;
    if (!c)
        return -1;
    const struct app_catalog_info info = {
        .origin = c->origin,
        .date = catalog_date(c),
        .places = c->n_places,
        .kinds = c->n_kinds,
        .offers = c->n_offers,
        .transfers = c->n_tiers,
        .storage = c->n_storage,
    };
    if (answer_head(out, &info, e) < 0)
        return -1;
    while (place < c->n_places) {
        const struct app_catalog_cloud cloud = next_cloud(c, &place, &kind);
        if (answer_item(out, &cloud, e) < 0)
            return -1;
    }
    return 0;
}

const struct operation catalog_info_operation = {
    .name = "catalog.info",
    .summary = "Tell which catalog is in use, the date of its prices, and its size.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .answer = RECORD_AT("catalog", struct app_catalog_info, info_fields),
    .item = RECORD_AT("catalog_cloud", struct app_catalog_cloud, cloud_fields),
    .items_name = "clouds",
    .run = run_info,
};
