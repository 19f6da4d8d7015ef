/* info: the operation catalog.info, and the list of operations on the catalog. */
#include "app/catalog/internal.h"
#include "spec/config.h"

#include <string.h>

struct catalog *app_catalog_open(struct app *app, struct err *e)
{
    const struct config *config = app_config(app, e);

    return config ? catalog_open(config->home, e) : NULL;
}

/* clang-format off */
static const struct field info_fields[] = {
    {"origin", FIELD(TEXT, struct app_catalog_info, origin), .help = "Source of the catalog."},
    {"date", FIELD(TEXT, struct app_catalog_info, date), .help = "Date of its prices."},
    {"places", FIELD(COUNT, struct app_catalog_info, places), .help = "Number of regions."},
    {"kinds", FIELD(COUNT, struct app_catalog_info, kinds), .help = "Number of instance types."},
    {"offers", FIELD(COUNT, struct app_catalog_info, offers), .help = "Number of offers."},
    {"transfers", FIELD(COUNT, struct app_catalog_info, transfers),
     .help = "Number of transfer prices."},
    {"storage", FIELD(COUNT, struct app_catalog_info, storage),
     .help = "Number of storage prices."},
};
static const struct record info_record = RECORD("catalog", struct app_catalog_info, info_fields);

static const struct field cloud_fields[] = {
    {"cloud", FIELD(TEXT, struct app_catalog_cloud, name), .help = "Name of the cloud.",
     .heading = "cloud"},
    {"regions", FIELD(COUNT, struct app_catalog_cloud, regions), .help = "Number of regions.",
     .heading = "regions"},
    {"kinds", FIELD(COUNT, struct app_catalog_cloud, kinds), .help = "Number of instance types.",
     .heading = "types"},
    {"offers", FIELD(COUNT, struct app_catalog_cloud, offers), .help = "Number of offers.",
     .heading = "offers"},
    {"priced_on_demand", FIELD(COUNT, struct app_catalog_cloud, on_demand),
     .help = "Number of offers with an on-demand price.", .heading = "on demand"},
    {"priced_spot", FIELD(COUNT, struct app_catalog_cloud, spot),
     .help = "Number of offers with a spot price.", .heading = "spot"},
    {"date", FIELD(TEXT, struct app_catalog_cloud, date), .help = "Date of its prices.",
     .heading = "date"},
    {"source", FIELD(TEXT, struct app_catalog_cloud, source), .help = "Source of its prices.",
     .heading = "source", .cut_rank = 1, .least_width = 8},
};
/* clang-format on */
static const struct record cloud_record =
    RECORD("catalog_cloud", struct app_catalog_cloud, cloud_fields);

static void count_offers(const struct catalog *c,
                         const struct catalog_kind *k,
                         struct app_catalog_cloud *out)
{
    out->kinds++;
    out->offers += k->n_offers;
    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &c->offers[k->first_offer + i];
        out->on_demand += catalog_priced(o->price_usd);
        out->spot += catalog_priced(o->spot_usd);
    }
}

/* The cloud whose first place is *place and first kind is *kind: both are sorted by cloud. */
static struct app_catalog_cloud next_cloud(const struct catalog *c, size_t *place, size_t *kind)
{
    const char *name = catalog_text(c, c->places[*place].cloud);
    const char *source = NULL, *date = NULL;
    struct app_catalog_cloud out = {.name = name};

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
    .answer = &info_record,
    .item = &cloud_record,
    .items_name = "clouds",
    .run = run_info,
};

const struct operation *const catalog_operations[] = {
    &catalog_import_operation, &catalog_update_operation,
    &catalog_reset_operation,  &catalog_info_operation,
    &catalog_list_operation,   &catalog_show_operation,
    &catalog_export_operation, NULL,
};
