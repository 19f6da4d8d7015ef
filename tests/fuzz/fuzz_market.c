/* Price histories: the first byte says what the rest is meant to be. What is imported must open,
 * every row of it is kept or counted, and importing the result again gives the same bytes. As the
 * bytes of a market, sealed anew, whatever opens must be safe to use. */
#include "base/hash.h"
#include "base/mem.h"
#include "market/import.h"
#include "market/paper.h"
#include "market/stats.h"
#include "market/store.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile double sink;

static void release(void *bytes, size_t len)
{
    (void)len;
    free(bytes);
}

static void use(const struct market *m)
{
    for (size_t i = 0; i < m->n_offers; i++) {
        const struct market_offer *o = &m->offers[i];
        double sold_s, middle_s = (o->begin_s + o->end_s) / 2;
        sink += (double)(strlen(o->cloud) + strlen(o->zone) + strlen(o->gpu));
        sink += market_stats_of(o, 1).mean_usd + market_lives_of(o).watched_s;
        if (market_cost_usd(o, o->begin_s, middle_s, &sold_s) < 0 || sold_s < 0)
            abort();
        if (market_next_change(o, middle_s) <= middle_s)
            abort();
        sink += market_price(o, middle_s) + market_on_demand_price(o, middle_s);
    }
}

static void check_reports(const struct market_import *im)
{
    size_t n;
    const struct market_file_report *reports = market_import_reports(im, &n);

    for (size_t i = 0; i < n; i++)
        if (reports[i].rows_kept > reports[i].rows_read)
            abort();
}

static void import_again(const struct market *m, const void *bytes, size_t len)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);
    size_t again_len;

    if (market_import_market(im, m, NULL) < 0)
        abort();
    AUTO_MEM void *again = market_import_finish(im, &again_len, NULL);
    if (!again || again_len != len || memcmp(again, bytes, len) != 0)
        abort();
}

static void import(enum market_feed feed, const uint8_t *data, size_t size)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    const struct market_source from = {
        .name = "2020-03-02T07-54-34.out", .text = text, .len = size, .feed = feed};
    size_t len;

    memcpy(text, data, size);
    market_import_guess(text, size);
    if (market_import_file(im, &from, NULL) < 0)
        return;
    void *bytes = market_import_finish(im, &len, NULL);
    if (!bytes)
        return;
    AUTO(market) struct market *m = market_open_bytes("fuzz", bytes, len, release, NULL);
    if (!m)
        abort();
    check_reports(im);
    use(m);
    import_again(m, bytes, len);
    AUTO(market_paper)
    struct market_paper *p = market_paper_new(m, "us-east-1", &(struct market_starts){0}, NULL);
    sink += p ? (double)p->n_starts : 0;
}

/* The header's promises about the whole are kept, so that what is inside is looked at. */
static void open_sealed(const uint8_t *data, size_t size)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);
    size_t len;
    AUTO_MEM char *good = market_import_finish(im, &len, NULL);
    AUTO_MEM char *bytes = mem_zero(size + 8, 1);

    memcpy(bytes, data, size);
    if (size < sizeof(struct market_header))
        return;
    struct market_header *h = (void *)bytes;
    memcpy(bytes, good, offsetof(struct market_header, size));
    h->size = size;
    size_t from = offsetof(struct market_header, checksum) + sizeof h->checksum;
    h->checksum = hash_xxh3(bytes + from, size - from);
    AUTO(market) struct market *m = market_open_bytes("fuzz", bytes, size, NULL, NULL);
    if (m)
        use(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    unsigned what = data[0] % (MARKET_N_FEEDS + 2);
    if (what == MARKET_N_FEEDS + 1)
        open_sealed(data + 1, size - 1);
    else
        import((enum market_feed)what, data + 1, size - 1);
    return 0;
}
