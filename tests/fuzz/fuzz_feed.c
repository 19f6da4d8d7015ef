/* Any price list of a cloud, and any answer about spot prices, is read: what is kept of it is a
 * price that a catalog can have. */
#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/feed/internal.h"
#include "catalog/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const regions[] = {"us-east-1", "us-central1"};
static struct catalog *catalog;

static void check_rows(const struct catalog_rows *rows)
{
    for (size_t i = 0; i < rows->n_offers; i++)
        assert(rows->offers[i].price_usd > 0 && rows->offers[i].price_usd <= 1e6);
}

/* What came of a list goes into a catalog. */
static void merge(struct feed_list *list)
{
    struct catalog_rows *rows = catalog_rows_new();
    struct feed_changes changes;
    struct err e = {0};
    size_t len, dropped = 0;
    void *bytes = NULL;

    check_rows(list->on_demand);
    check_rows(list->spot);
    if (feed_merge(list, catalog, "2026-11-18", rows, &changes, &e) == 0) {
        assert(changes.added + changes.changed + changes.same + changes.kept + changes.elsewhere ==
               changes.offers);
        assert(rows->n_offers == changes.offers);
        if (catalog_build(rows, "fuzz", &bytes, &len, &e) == 0)
            free(bytes);
    }
    for (size_t i = 0; i < FEED_N_DROPS; i++)
        dropped += i == FEED_DROP_SHAPE ? 0 : list->dropped[i];
    assert(dropped <= list->items);
    catalog_rows_free(rows);
}

static void read_json(struct feed_list *list, const char *text, size_t n, struct err *e)
{
    AUTO_JSON json_t *page = json_loadb(text, n, 0, NULL);
    char *next = NULL;
    const char *token;

    if (!page)
        return;
    if (list->cloud == FEED_GCP)
        feed_gcp_page(page, list, &token, e);
    else if (feed_azure_page(page, list, 0, &next, e) == 0 && next)
        assert(*next == '/' && !strpbrk(next, " \r\n"));
    free(next);
}

static void read_offers(
    struct feed_list *list, const char *text, size_t n, size_t piece, struct err *e)
{
    struct feed_offers o;
    int result = 0;

    feed_offers_init(&o, "fuzz", list, 0);
    for (size_t i = 0; i < n && result == 0; i += piece)
        result = feed_offers_add(&o, text + i, n - i < piece ? n - i : piece, e);
    if (result == 0)
        result = feed_offers_end(&o, e);
    assert(result == 0 || *e->text);
    feed_offers_clear(&o);
}

static int take(void *context, const struct feed_spot_price *p, struct err *e)
{
    size_t *n = context;

    (void)e;
    *n += strlen(p->zone) + strlen(p->instance_type) + strlen(p->time);
    return 0;
}

/* The first byte chooses the list, the second one the pieces in which it comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed_list list;
    struct err e = {0};
    size_t seen = 0;
    char *token = NULL;

    if (!catalog)
        catalog = catalog_open_builtin(NULL);
    assert(catalog);
    if (size < 2)
        return 0;
    const char *text = (const char *)data + 2;
    if (data[0] % 4 == 3) {
        int result = feed_spot_page(text, size - 2, take, &seen, &token, &e);
        assert(result == 0 || (!token && *e.text));
        free(token);
        return 0;
    }
    feed_list_init(&list, data[0] % 4, regions, 2);
    if (list.cloud == FEED_AWS)
        read_offers(&list, text, size - 2, 1 + data[1], &e);
    else
        read_json(&list, text, size - 2, &e);
    merge(&list);
    feed_list_clear(&list);
    return 0;
}
