#include "catalog/rows.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "catalog/intern.h"
#include "catalog/internal.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct catalog_rows *catalog_rows_new(void)
{
    struct catalog_rows *rows = mem_zero(1, sizeof *rows);

    rows->texts = catalog_intern_new(LIMIT_TEXT_BYTES);
    rows->by_key = map_new();
    return rows;
}

void catalog_rows_free(struct catalog_rows *rows)
{
    if (!rows)
        return;
    catalog_intern_free(rows->texts);
    free(rows->offers);
    map_free(rows->by_key);
    free(rows->transfers);
    free(rows->storage);
    free(rows->sources);
    free(rows);
}

const char *catalog_rows_text(const struct catalog_rows *rows, uint32_t id)
{
    return catalog_intern_text(rows->texts, id);
}

uint32_t catalog_rows_intern(struct catalog_rows *rows, const char *text)
{
    return catalog_rows_intern_n(rows, text, strlen(text));
}

uint32_t catalog_rows_intern_n(struct catalog_rows *rows, const char *text, size_t len)
{
    uint32_t id = catalog_intern(rows->texts, text, len);

    rows->full |= id == CATALOG_INTERN_FULL;
    return id == CATALOG_INTERN_FULL ? 0 : id;
}

int catalog_rows_check(const struct catalog_rows *rows, struct err *e)
{
    if (!rows->full)
        return 0;
    return err_set(e, ERR_USAGE, "names take more than %zu MB together", LIMIT_TEXT_BYTES >> 20);
}

static uint64_t hash_key(const struct catalog_offer_row *o)
{
    const uint32_t key[] = {o->cloud, o->region, o->zone, o->instance_type};

    return hash_xxh3(key, sizeof key);
}

static bool same_key(const void *offers, uint32_t i, const void *key)
{
    const struct catalog_offer_row *a = (const struct catalog_offer_row *)offers + i, *b = key;

    return a->zone == b->zone && a->instance_type == b->instance_type && a->region == b->region &&
           a->cloud == b->cloud;
}

/* Not for sale counts as most expensive. */
static bool costs_more(double a, double b)
{
    return a > b || (isnan(a) && !isnan(b));
}

int catalog_rows_put(struct catalog_rows *rows,
                     const struct catalog_offer_row *offer,
                     bool *duplicate_out,
                     struct err *e)
{
    uint64_t hash = hash_key(offer);
    uint32_t at = map_find(rows->by_key, hash, same_key, rows->offers, offer);

    if (catalog_rows_check(rows, e) < 0)
        return -1;
    *duplicate_out = at != MAP_NONE;
    if (*duplicate_out) {
        struct catalog_offer_row *known = &rows->offers[at];
        if (costs_more(known->price_usd, offer->price_usd) ||
            (!costs_more(offer->price_usd, known->price_usd) &&
             costs_more(known->spot_usd, offer->spot_usd)))
            *known = *offer;
        return 0;
    }
    if (rows->n_offers == LIMIT_OFFERS)
        return err_set(e, ERR_USAGE, "more than %d offers", LIMIT_OFFERS);
    rows->offers = mem_room(rows->offers, rows->n_offers, &rows->cap_offers, sizeof *rows->offers);
    map_add(rows->by_key, hash, (uint32_t)rows->n_offers);
    rows->offers[rows->n_offers++] = *offer;
    return 0;
}

const struct catalog_offer_row *catalog_rows_find(const struct catalog_rows *rows,
                                                  const struct catalog_offer_row *key)
{
    uint32_t at = map_find(rows->by_key, hash_key(key), same_key, rows->offers, key);

    return at != MAP_NONE ? &rows->offers[at] : NULL;
}

int catalog_rows_put_transfer(struct catalog_rows *rows,
                              const struct catalog_transfer_row *transfer,
                              struct err *e)
{
    if (rows->n_transfers == LIMIT_TRANSFERS)
        return err_set(e, ERR_USAGE, "more than %d transfer prices", LIMIT_TRANSFERS);
    rows->transfers =
        mem_room(rows->transfers, rows->n_transfers, &rows->cap_transfers, sizeof *rows->transfers);
    rows->transfers[rows->n_transfers++] = *transfer;
    return 0;
}

int catalog_rows_put_storage(struct catalog_rows *rows,
                             const struct catalog_storage_row *storage,
                             struct err *e)
{
    if (rows->n_storage == LIMIT_STORAGE)
        return err_set(e, ERR_USAGE, "more than %d storage prices", LIMIT_STORAGE);
    rows->storage =
        mem_room(rows->storage, rows->n_storage, &rows->cap_storage, sizeof *rows->storage);
    rows->storage[rows->n_storage++] = *storage;
    return 0;
}

static size_t find_source(const struct catalog_rows *rows, uint32_t cloud)
{
    size_t i = 0;

    while (i < rows->n_sources && rows->sources[i].cloud != cloud)
        i++;
    return i;
}

void catalog_rows_put_source(struct catalog_rows *rows,
                             uint32_t cloud,
                             const char *source,
                             const char *date)
{
    size_t i = find_source(rows, cloud);

    if (i == rows->n_sources) {
        rows->sources =
            mem_room(rows->sources, rows->n_sources, &rows->cap_sources, sizeof *rows->sources);
        rows->n_sources++;
    }
    rows->sources[i] = (struct catalog_source_row){cloud, catalog_rows_intern(rows, source),
                                                   catalog_rows_intern(rows, date)};
}

void catalog_rows_name_sources(struct catalog_rows *rows, const char *source, const char *date)
{
    uint32_t last = 0;

    for (size_t i = 0; i < rows->n_offers; i++) {
        uint32_t cloud = rows->offers[i].cloud;
        if (cloud != last && find_source(rows, cloud) == rows->n_sources)
            catalog_rows_put_source(rows, cloud, source, date);
        last = cloud;
    }
}

static uint32_t carry(struct catalog_rows *rows, const struct catalog *from, uint32_t offset)
{
    return catalog_rows_intern(rows, catalog_text(from, offset));
}

static int copy_kind(struct catalog_rows *rows,
                     const struct catalog *from,
                     const struct catalog_kind *k,
                     struct err *e)
{
    struct catalog_offer_row row = {
        .cloud = carry(rows, from, k->cloud),
        .instance_type = carry(rows, from, k->instance_type),
        .accelerator = carry(rows, from, k->accelerator),
        .vcpus = k->vcpus,
        .memory_gib = k->memory_gib,
        .accelerator_count = k->accelerator_count,
        .network_gbps = k->network_gbps,
    };

    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &from->offers[k->first_offer + i];
        bool duplicate;
        row.region = carry(rows, from, from->places[o->place].region);
        row.zone = carry(rows, from, o->zone);
        row.price_usd = o->price_usd;
        row.spot_usd = o->spot_usd;
        row.preemptions = o->preemptions;
        if (catalog_rows_put(rows, &row, &duplicate, e) < 0)
            return -1;
    }
    return 0;
}

static int copy_move(struct catalog_rows *rows, const struct catalog *from, size_t i, struct err *e)
{
    const struct catalog_rule *r = &from->rules[i];
    const struct catalog_move *m = &from->moves[i];
    struct catalog_transfer_row row = {
        .src_cloud = carry(rows, from, r->src_cloud),
        .src_region = carry(rows, from, r->src_region),
        .dst_cloud = carry(rows, from, r->dst_cloud),
        .dst_region = carry(rows, from, r->dst_region),
        .gbit_per_s = m->gbit_per_s,
        .rtt_ms = m->rtt_ms,
    };

    for (size_t t = 0; t < m->n_tiers; t++) {
        row.tier_from_gb = from->tiers[m->first_tier + t].from_gb;
        row.usd_per_gb = from->tiers[m->first_tier + t].usd_per_gb;
        if (catalog_rows_put_transfer(rows, &row, e) < 0)
            return -1;
    }
    return 0;
}

static int copy_storage(struct catalog_rows *rows, const struct catalog *from, struct err *e)
{
    for (size_t i = 0; i < from->n_storage; i++) {
        const struct snapshot_storage *s = &from->storage[i];
        const struct catalog_storage_row row = {
            .cloud = carry(rows, from, s->cloud),
            .region = carry(rows, from, s->region),
            .class = carry(rows, from, s->class),
            .usd_per_gb_month = s->usd_per_gb_month,
            .usd_per_1000_read = s->usd_per_1000_read,
            .usd_per_1000_write = s->usd_per_1000_write,
            .usd_per_1000_list = s->usd_per_1000_list,
        };
        if (catalog_rows_put_storage(rows, &row, e) < 0)
            return -1;
    }
    return 0;
}

int catalog_rows_copy(struct catalog_rows *rows,
                      const struct catalog *from,
                      bool transfers,
                      bool storage,
                      struct err *e)
{
    /* The list of sources grows while copying. */
    size_t n_known = rows->n_sources;

    for (size_t i = 0; i < from->n_kinds; i++) {
        const struct catalog_kind *k = &from->kinds[i];
        if (find_source(rows, carry(rows, from, k->cloud)) >= n_known &&
            copy_kind(rows, from, k, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < from->n_sources; i++) {
        const struct snapshot_source *s = &from->sources[i];
        uint32_t cloud = carry(rows, from, s->cloud);
        if (find_source(rows, cloud) >= n_known)
            catalog_rows_put_source(rows, cloud, catalog_text(from, s->source),
                                    catalog_text(from, s->date));
    }
    for (size_t i = 0; transfers && i < from->n_moves; i++)
        if (copy_move(rows, from, i, e) < 0)
            return -1;
    return storage ? copy_storage(rows, from, e) : 0;
}
