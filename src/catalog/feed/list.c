/* The prices of one cloud's list on their way into a catalog. The readers of the lists fill it. */
#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/feed/internal.h"
#include "catalog/limits.h"
#include "catalog/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const feed_drop_texts[FEED_N_DROPS] = {
    [FEED_DROP_OTHER] = "other products",
    [FEED_DROP_PRICE] = "no price above 0",
    [FEED_DROP_MALFORMED] = "malformed",
    [FEED_DROP_SHAPE] = "instance types that the catalog does not describe",
};

void feed_list_init(struct feed_list *list,
                    enum feed_cloud cloud,
                    const char *const *regions,
                    size_t n_regions)
{
    *list = (struct feed_list){.cloud = cloud, .n_regions = n_regions};
    list->regions = mem_zero(n_regions, sizeof *list->regions);
    for (size_t i = 0; i < n_regions; i++)
        list->regions[i].name = mem_dup(regions[i]);
    list->on_demand = catalog_rows_new();
    list->spot = catalog_rows_new();
}

void feed_list_clear(struct feed_list *list)
{
    for (size_t i = 0; i < list->n_regions; i++) {
        free(list->regions[i].name);
        free(list->regions[i].why_not);
    }
    free(list->regions);
    catalog_rows_free(list->on_demand);
    catalog_rows_free(list->spot);
    *list = (struct feed_list){0};
}

struct catalog_offer_row feed_nothing(void)
{
    return (struct catalog_offer_row){
        .vcpus = (double)NAN,
        .memory_gib = (double)NAN,
        .accelerator_count = (double)NAN,
        .network_gbps = (double)NAN,
        .price_usd = (double)NAN,
        .spot_usd = (double)NAN,
        .preemptions = (double)NAN,
    };
}

size_t feed_list_region(const struct feed_list *list, const char *name)
{
    for (size_t i = 0; i < list->n_regions; i++)
        if (strcmp(list->regions[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static bool is_name(const char *text)
{
    return catalog_name_good(&(struct csv_field){text, strlen(text)});
}

int feed_list_put(struct feed_list *list,
                  size_t region,
                  bool spot,
                  const char *zone,
                  const struct catalog_offer_row *what,
                  const char *instance_type,
                  struct err *e)
{
    struct catalog_rows *texts = list->on_demand;
    struct catalog_offer_row row = *what;
    bool duplicate;

    if (!*instance_type || !is_name(instance_type) || !is_name(zone)) {
        list->dropped[FEED_DROP_MALFORMED]++;
        return 0;
    }
    if (!limit_known(&limit_price, row.price_usd)) {
        list->dropped[FEED_DROP_PRICE]++;
        return 0;
    }
    row.cloud = catalog_rows_intern(texts, feed_cloud_texts[list->cloud]);
    row.region = catalog_rows_intern(texts, list->regions[region].name);
    row.zone = catalog_rows_intern(texts, zone);
    row.instance_type = catalog_rows_intern(texts, instance_type);
    if (catalog_rows_check(texts, e) < 0)
        return -1;
    list->regions[region].n_prices++;
    return catalog_rows_put(spot ? list->spot : list->on_demand, &row, &duplicate, e);
}

int feed_list_check(const struct feed_list *list, size_t region, struct err *e)
{
    const struct feed_region *r = &list->regions[region];

    return r->n_prices ? 0
                       : err_set(e, ERR_NOTFOUND, "the price list of %s has no price of region %s",
                                 feed_cloud_texts[list->cloud], r->name);
}

int feed_fetch(struct feed *f, struct feed_list *list, struct err *e)
{
    static int (*const fetch[FEED_N_CLOUDS])(struct feed * f, struct feed_list * list,
                                             struct err * e) = {
        [FEED_AWS] = feed_fetch_aws, [FEED_AZURE] = feed_fetch_azure, [FEED_GCP] = feed_fetch_gcp};

    if (fetch[list->cloud](f, list, e) < 0)
        return err_wrap(e, "price list of %s", feed_cloud_texts[list->cloud]);
    return 0;
}
