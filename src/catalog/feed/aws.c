/* AWS's public offer files, and its spot prices where there are credentials. list.c calls it. */
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "catalog/feed/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OWN_ADDRESS "https://pricing.us-east-1.amazonaws.com"
#define INDEX_PATH "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
#define INDEX_MAX_BYTES ((size_t)1 << 20)
/* The file of us-east-1 has 0.4 GB, that of all regions 5. */
#define FILE_MAX_BYTES ((uint64_t)16 << 30)
#define FILE_TIMEOUT_S 7200.0
/* Of an answer that is no file, such as a proxy's page. */
#define REFUSAL_MAX_BYTES ((size_t)1 << 20)

/* ---- on demand ---- */

struct download {
    struct feed *feed;
    struct feed_offers offers;
    uint64_t got_bytes;
};

static void download_clear(struct download *d)
{
    feed_offers_clear(&d->offers);
}

static int take(void *context, const void *bytes, size_t n, struct err *e)
{
    struct download *d = context;

    d->got_bytes += n;
    if (d->got_bytes > FILE_MAX_BYTES)
        return err_set(e, ERR_IO, "%s: larger than %llu bytes", d->offers.name,
                       (unsigned long long)FILE_MAX_BYTES);
    if (feed_check_cancelled(d->feed, e) < 0)
        return -1;
    return feed_offers_add(&d->offers, bytes, n, e);
}

static void show(void *context, uint64_t got_bytes, uint64_t total_bytes)
{
    const struct download *d = context;

    if (total_bytes)
        feed_status(d->feed, "%s: %.0f of %.0f MB", d->offers.name, (double)got_bytes / 1e6,
                    (double)total_bytes / 1e6);
    else
        feed_status(d->feed, "%s: %.0f MB", d->offers.name, (double)got_bytes / 1e6);
}

/* A try after the first one begins the file again: what it brings replaces what came before, but
 * the counts would be doubled. */
static int begin(void *context, unsigned n, struct http_request *r, struct err *e)
{
    struct download *d = context;
    struct feed_list *list = d->offers.list;
    const char *name = d->offers.name;
    size_t region = d->offers.region;

    (void)r;
    (void)e;
    d->got_bytes = 0;
    if (n == 1)
        return 0;
    list->items = d->offers.items_before;
    memcpy(list->dropped, d->offers.dropped_before, sizeof list->dropped);
    list->regions[region].n_prices = 0;
    feed_offers_clear(&d->offers);
    feed_offers_init(&d->offers, name, list, region);
    return 0;
}

static int fetch_file(
    struct feed *f, const char *url, struct feed_list *list, size_t region, struct err *e)
{
    AUTO_CLEAR(download) struct download d = {.feed = f};
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    AUTO_MEM char *name = mem_printf("offer file of %s", list->regions[region].name);
    const struct http_request request = {
        .method = "GET",
        .url = url,
        .sink = take,
        .progress = show,
        .context = &d,
        .max_answer_bytes = REFUSAL_MAX_BYTES,
        .timeout_s = FILE_TIMEOUT_S,
    };
    const struct retry how = {.prepare = begin, .context = &d};

    feed_offers_init(&d.offers, name, list, region);
    if (feed_call(f, &request, "", &how, &answer, e) < 0)
        return -1;
    return feed_offers_end(&d.offers, e) < 0 ? -1 : feed_list_check(list, region, e);
}

/* "/offers/v1.0/.../us-east-1/index.json" of the index as the CSV beside it. New string. */
static char *path_of_region(const json_t *index, const char *region, struct err *e)
{
    static const char end[] = ".json";
    const json_t *entry = json_object_get(json_object_get(index, "regions"), region);
    const char *path = json_string_value(json_object_get(entry, "currentVersionUrl"));
    size_t n = path ? strlen(path) : 0;

    if (!json_is_object(entry)) {
        err_set(e, ERR_NOTFOUND, "AWS has no region %s", region);
        return NULL;
    }
    if (n <= strlen(end) || *path != '/' || strcmp(path + n - strlen(end), end) != 0 ||
        strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") != n) {
        err_set(e, ERR_IO, "the index of regions has no address of region %s", region);
        return NULL;
    }
    return mem_printf("%.*s.csv", (int)(n - strlen(end)), path);
}

/* ---- spot ---- */

struct spot {
    struct feed_list *list;
    size_t region;
    const struct feed_zones *zones;
};

/* AWS's own name of a zone differs by account: its id is what catalogs have. */
static const char *id_of_zone(const struct feed_zones *zones, const char *name)
{
    for (size_t i = 0; i < zones->n; i++)
        if (strcmp(zones->zones[i].name, name) == 0)
            return zones->zones[i].id;
    return NULL;
}

/* Of the prices of an offer within the moment asked for the first is the newest. */
static int take_price(void *context, const struct feed_spot_price *p, struct err *e)
{
    struct spot *s = context;
    struct feed_list *list = s->list;
    struct catalog_offer_row row = feed_nothing();
    const char *zone = id_of_zone(s->zones, p->zone);

    list->items++;
    if (!zone) {
        list->dropped[FEED_DROP_MALFORMED]++;
        return 0;
    }
    struct catalog_offer_row key = {
        .cloud = catalog_rows_intern(list->on_demand, feed_cloud_texts[FEED_AWS]),
        .region = catalog_rows_intern(list->on_demand, list->regions[s->region].name),
        .zone = catalog_rows_intern(list->on_demand, zone),
        .instance_type = catalog_rows_intern(list->on_demand, p->instance_type),
    };
    if (catalog_rows_find(list->spot, &key))
        return 0;
    if (!number_parse(p->usd_per_hour, &row.price_usd))
        row.price_usd = (double)NAN;
    return feed_list_put(list, s->region, true, zone, &row, p->instance_type, e);
}

static int fetch_spot(struct feed *f, struct feed_list *list, size_t region, struct err *e)
{
    AUTO_CLEAR(feed_zones) struct feed_zones zones = {0};
    struct spot s = {.list = list, .region = region, .zones = &zones};
    int64_t now_s = time_epoch_ms() / 1000;
    const struct feed_spot_query q = {
        .region = list->regions[region].name, .from_s = now_s, .to_s = now_s};

    if (feed_zones_get(f, q.region, &zones, e) < 0 || feed_spot(f, &q, take_price, &s, e) < 0)
        return -1;
    list->regions[region].has_spot = true;
    return 0;
}

/* Without credentials, or without the right to ask, spot prices stay as they were. */
static int fetch_spots(struct feed *f, struct feed_list *list, struct err *e)
{
    for (size_t i = 0; i < list->n_regions; i++) {
        struct err why = {0};
        bool found = feed_credentials(f, &why) == 0;
        if (found && fetch_spot(f, list, i, &why) == 0)
            continue;
        if (why.kind != ERR_DENIED)
            return err_set(e, why.kind, "spot prices of %s: %s", list->regions[i].name, why.text);
        list->regions[i].why_not =
            mem_dup(found ? why.text : "there are no AWS credentials to ask with");
    }
    return 0;
}

int feed_fetch_aws(struct feed *f, struct feed_list *list, struct err *e)
{
    AUTO_MEM char *address = feed_address(f->settings.aws_pricing, OWN_ADDRESS);
    AUTO_MEM char *index_url = mem_printf("%s" INDEX_PATH, address);
    AUTO_JSON json_t *index = feed_get_json(f, index_url, INDEX_MAX_BYTES, e);

    if (!index)
        return -1;
    for (size_t i = 0; i < list->n_regions; i++) {
        AUTO_MEM char *path = path_of_region(index, list->regions[i].name, e);
        AUTO_MEM char *url = path ? mem_printf("%s%s", address, path) : NULL;
        if (!url || fetch_file(f, url, list, i, e) < 0)
            return -1;
    }
    return fetch_spots(f, list, e);
}
