/* Azure's retail prices: JSON, page by page, without credentials. list.c calls it. */
#include "base/mem.h"
#include "catalog/feed/internal.h"
#include "net/sigv4.h"

#include <stdlib.h>
#include <string.h>

#define OWN_ADDRESS "https://prices.azure.com"
#define FIRST_PATH "/api/retail/prices"
#define VERSION "2023-01-01-preview"
#define PAGE_MAX_BYTES ((size_t)16 << 20)
#define LINK_MAX_BYTES ((size_t)8192)

static const char *text_of(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));

    return text ? text : "";
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), len = strlen(end);

    return n >= len && strcmp(text + n - len, end) == 0;
}

/* Linux on demand or on spot, by the hour; what is not named is as usual. */
static bool is_wanted(const json_t *item, const char *region)
{
    const char *product = text_of(item, "productName"), *currency = text_of(item, "currencyCode");
    const char *sku = text_of(item, "skuName"), *meter = text_of(item, "meterName");
    double tier = json_number_value(json_object_get(item, "tierMinimumUnits"));

    return strcmp(text_of(item, "type"), "Consumption") == 0 &&
           strcmp(text_of(item, "unitOfMeasure"), "1 Hour") == 0 &&
           strcmp(text_of(item, "armRegionName"), region) == 0 &&
           (!*currency || strcmp(currency, "USD") == 0) && !(tier > 0) &&
           !strstr(product, "Windows") && !ends_with(product, " Win") &&
           !strstr(product, " Win ") && !strstr(product, "Dedicated Host") &&
           !ends_with(sku, "Low Priority") && !ends_with(meter, "Low Priority");
}

static int add_item(struct feed_list *list, size_t region, const json_t *item, struct err *e)
{
    struct catalog_offer_row row = feed_nothing();
    const json_t *price = json_object_get(item, "retailPrice");

    list->items++;
    if (!json_is_object(item) || !json_is_number(price)) {
        list->dropped[FEED_DROP_MALFORMED]++;
        return 0;
    }
    if (!is_wanted(item, list->regions[region].name)) {
        list->dropped[FEED_DROP_OTHER]++;
        return 0;
    }
    bool spot = ends_with(text_of(item, "skuName"), " Spot") ||
                ends_with(text_of(item, "meterName"), " Spot");
    row.price_usd = json_number_value(price);
    return feed_list_put(list, region, spot, "", &row, text_of(item, "armSkuName"), e);
}

/* The rest of a link behind its host: pages are asked for at the address in use, whatever host the
 * link names. What a URL cannot hold is escaped. */
static char *rest_of_link(const char *link)
{
    const char *host = strstr(link, "://");
    const char *rest = host ? host + 3 + strcspn(host + 3, "/") : link;
    struct buf b;

    buf_init(&b, 3 * LINK_MAX_BYTES);
    for (; *rest; rest++) {
        unsigned char c = (unsigned char)*rest;
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
            buf_printf(&b, "%%%02X", c);
        else
            buf_add(&b, rest, 1);
    }
    char *text = mem_dup(buf_str(&b));
    buf_clear(&b);
    return text;
}

int feed_azure_page(
    const json_t *page, struct feed_list *list, size_t region, char **next_out, struct err *e)
{
    const json_t *items = json_object_get(page, "Items");
    const char *link = json_string_value(json_object_get(page, "NextPageLink"));

    *next_out = NULL;
    if (!json_is_array(items))
        return err_set(e, ERR_IO, "there is no list \"Items\" in the answer");
    for (size_t i = 0; i < json_array_size(items); i++)
        if (add_item(list, region, json_array_get(items, i), e) < 0)
            return -1;
    if (!link || !*link)
        return 0;
    if (strlen(link) > LINK_MAX_BYTES)
        return err_set(e, ERR_IO, "NextPageLink is longer than %zu bytes", LINK_MAX_BYTES);
    *next_out = rest_of_link(link);
    if (**next_out == '/')
        return 0;
    free(TAKE(*next_out));
    return err_set(e, ERR_IO, "NextPageLink is no address");
}

static int fetch_region(struct feed *f,
                        const char *address,
                        struct feed_list *list,
                        size_t region,
                        struct feed_pages *pages,
                        struct err *e)
{
    const char *name = list->regions[region].name;
    AUTO_MEM char *filter = mem_printf("serviceName eq 'Virtual Machines' and armRegionName eq "
                                       "'%s' and priceType eq 'Consumption'",
                                       name);
    AUTO_MEM char *encoded = sigv4_encode(filter, false);
    AUTO_MEM char *next = mem_printf("%s?api-version=" VERSION "&$filter=%s", FIRST_PATH, encoded);

    while (next) {
        AUTO_MEM char *url = mem_printf("%s%s", address, next);
        char *following = NULL;
        if (feed_pages_add(pages, "the list", next, e) < 0)
            return -1;
        AUTO_JSON json_t *page = feed_get_json(f, url, PAGE_MAX_BYTES, e);
        if (!page || feed_azure_page(page, list, region, &following, e) < 0)
            return -1;
        feed_status(f, "azure %s: %zu pages, %zu prices", name, pages->n,
                    list->regions[region].n_prices);
        free(next);
        next = following;
    }
    list->regions[region].has_spot = true;
    return feed_list_check(list, region, e);
}

int feed_fetch_azure(struct feed *f, struct feed_list *list, struct err *e)
{
    AUTO_MEM char *address = feed_address(f->settings.azure, OWN_ADDRESS);

    for (size_t i = 0; i < list->n_regions; i++) {
        AUTO_CLEAR(feed_pages) struct feed_pages pages = {0};
        if (fetch_region(f, address, list, i, &pages, e) < 0)
            return err_wrap(e, "region %s", list->regions[i].name);
    }
    return 0;
}
