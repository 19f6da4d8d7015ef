/* The prices of a list as offers of a catalog, beside those that the catalog had. feed.h declares
 * the function. */
#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/feed/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prices with more equal digits than lists have are the same. */
#define SAME 1e-9

struct merge {
    const struct feed_list *list;
    const struct catalog *old;
    struct catalog_rows *rows; /* being filled; all ids below are of it */
    struct feed_changes *changes;
    uint32_t cloud;
    struct catalog_rows *before; /* the offers of old */
    struct catalog_rows *shapes; /* by instance type alone: one offer of each */
    struct catalog_rows *zoned;  /* by region and type: there are spot prices by zone */
    struct catalog_rows *placed; /* by region and type: there is an offer in rows */
    size_t *dropped_shape;
};

static void merge_clear(struct merge *m)
{
    catalog_rows_free(m->before);
    catalog_rows_free(m->shapes);
    catalog_rows_free(m->zoned);
    catalog_rows_free(m->placed);
}

/* The key of a table, or of a part of the offer's key. */
static struct catalog_offer_row key_of(uint32_t cloud,
                                       uint32_t region,
                                       uint32_t zone,
                                       uint32_t type)
{
    struct catalog_offer_row key = feed_nothing();

    key.cloud = cloud;
    key.region = region;
    key.zone = zone;
    key.instance_type = type;
    return key;
}

static int note(struct catalog_rows *set, const struct catalog_offer_row *what, struct err *e)
{
    bool duplicate;

    return catalog_rows_put(set, what, &duplicate, e);
}

static bool is_noted(const struct catalog_rows *set, uint32_t region, uint32_t type)
{
    struct catalog_offer_row key = key_of(0, region, 0, type);

    return catalog_rows_find(set, &key) != NULL;
}

/* The row of a list's table by texts of the rows being filled; NULL = the list has none. */
static const struct catalog_offer_row *listed(const struct merge *m,
                                              const struct catalog_rows *table,
                                              const struct catalog_offer_row *o,
                                              bool with_zone)
{
    struct catalog_rows *texts = m->list->on_demand;
    struct catalog_offer_row key =
        key_of(catalog_rows_intern(texts, catalog_rows_text(m->rows, o->cloud)),
               catalog_rows_intern(texts, catalog_rows_text(m->rows, o->region)),
               with_zone ? catalog_rows_intern(texts, catalog_rows_text(m->rows, o->zone)) : 0,
               catalog_rows_intern(texts, catalog_rows_text(m->rows, o->instance_type)));

    return catalog_rows_find(table, &key);
}

/* ---- what changed ---- */

static bool same_price(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= SAME * fmax(a, b);
}

static double ratio(const struct feed_change *c)
{
    return fabs(log(c->now_usd / c->was_usd));
}

static void note_change(struct feed_changes *changes, const struct feed_change *c)
{
    size_t at = changes->n_largest;

    if (!catalog_priced(c->was_usd) || !catalog_priced(c->now_usd) ||
        same_price(c->was_usd, c->now_usd))
        return;
    while (at > 0 && ratio(&changes->largest[at - 1]) < ratio(c))
        at--;
    if (at == FEED_LARGEST)
        return;
    size_t last = changes->n_largest < FEED_LARGEST ? changes->n_largest++ : FEED_LARGEST - 1;
    memmove(&changes->largest[at + 1], &changes->largest[at],
            (last - at) * sizeof *changes->largest);
    changes->largest[at] = *c;
}

static void compare(struct feed_changes *changes,
                    const struct catalog_offer_row *was,
                    const struct catalog_offer_row *now)
{
    struct feed_change c = {now->region, now->zone, now->instance_type, false, 0, 0};

    if (!was) {
        changes->added++;
        return;
    }
    bool same =
        same_price(was->price_usd, now->price_usd) && same_price(was->spot_usd, now->spot_usd);
    changes->same += same;
    changes->changed += !same;
    c.was_usd = was->price_usd;
    c.now_usd = now->price_usd;
    note_change(changes, &c);
    c.spot = true;
    c.was_usd = was->spot_usd;
    c.now_usd = now->spot_usd;
    note_change(changes, &c);
}

/* ---- offers ---- */

static int put(struct merge *m, const struct catalog_offer_row *o, struct err *e)
{
    struct catalog_offer_row place = key_of(0, o->region, 0, o->instance_type);

    m->changes->offers++;
    return note(m->placed, &place, e) < 0 ? -1 : note(m->rows, o, e);
}

/* An offer in a region that was read, at the prices of the list: was with other prices, or, where
 * was is NULL, a new one that looks like `shape`. */
static int put_priced(struct merge *m,
                      const struct feed_region *region,
                      const struct catalog_offer_row *was,
                      const struct catalog_offer_row *like,
                      struct err *e)
{
    bool by_zone = m->list->cloud == FEED_AWS, keeps = m->list->cloud == FEED_GCP;
    struct catalog_offer_row now = *like;
    const struct catalog_offer_row *on_demand = listed(m, m->list->on_demand, like, false);
    const struct catalog_offer_row *spot = listed(m, m->list->spot, like, by_zone);

    now.price_usd = on_demand ? on_demand->price_usd : keeps && was ? was->price_usd : (double)NAN;
    if (region->has_spot)
        now.spot_usd = spot ? spot->price_usd : keeps && was ? was->spot_usd : (double)NAN;
    else
        now.spot_usd = was ? was->spot_usd : (double)NAN;
    if (!catalog_priced(now.price_usd) && !catalog_priced(now.spot_usd)) {
        m->changes->gone += was != NULL;
        return 0;
    }
    compare(m->changes, was, &now);
    return put(m, &now, e);
}

/* An offer of the catalog in use. */
static int put_old(struct merge *m, const struct catalog_offer_row *o, struct err *e)
{
    size_t at = feed_list_region(m->list, catalog_rows_text(m->rows, o->region));
    const struct feed_region *region = at == SIZE_MAX ? NULL : &m->list->regions[at];

    if (!region) {
        m->changes->elsewhere++;
        return put(m, o, e);
    }
    if (listed(m, m->list->on_demand, o, false) ||
        (m->list->cloud != FEED_AWS && listed(m, m->list->spot, o, false))) {
        /* Its successors are in zones. */
        bool split = !o->zone && is_noted(m->zoned, o->region, o->instance_type);
        return split ? 0 : put_priced(m, region, o, o, e);
    }
    if (m->list->cloud == FEED_GCP) {
        m->changes->kept++;
        return put(m, o, e);
    }
    m->changes->gone++;
    return 0;
}

/* What a new offer looks like: as others of its instance type, else as the list has it. False when
 * neither is known: accelerators have no name in AWS's list. */
static bool find_shape(const struct merge *m,
                       const struct catalog_offer_row *key,
                       const struct catalog_offer_row *from,
                       struct catalog_offer_row *out)
{
    struct catalog_offer_row type = key_of(0, 0, 0, key->instance_type);
    const struct catalog_offer_row *known = catalog_rows_find(m->shapes, &type);

    *out = known ? *known : *from;
    out->cloud = key->cloud;
    out->region = key->region;
    out->zone = key->zone;
    out->instance_type = key->instance_type;
    if (known)
        return true;
    if (!(from->vcpus > 0) || !(from->memory_gib > 0) || from->accelerator_count > 0)
        return false;
    out->accelerator = 0;
    out->accelerator_count = (double)NAN;
    return true;
}

/* A row of the list as a key of the rows being filled. */
static struct catalog_offer_row carry(struct merge *m, const struct catalog_offer_row *l)
{
    const struct catalog_rows *texts = m->list->on_demand;

    return key_of(m->cloud, catalog_rows_intern(m->rows, catalog_rows_text(texts, l->region)),
                  catalog_rows_intern(m->rows, catalog_rows_text(texts, l->zone)),
                  catalog_rows_intern(m->rows, catalog_rows_text(texts, l->instance_type)));
}

/* An offer of the list that the catalog in use does not have at that zone. */
static int put_new(struct merge *m, const struct catalog_offer_row *l, struct err *e)
{
    struct catalog_offer_row key = carry(m, l), whole = key, shape;
    size_t at = feed_list_region(m->list, catalog_rows_text(m->rows, key.region));

    whole.zone = 0;
    const struct catalog_offer_row *was = key.zone ? catalog_rows_find(m->before, &whole) : NULL;
    if (was) {
        shape = *was;
        shape.zone = key.zone;
    } else if (!find_shape(m, &key, l, &shape)) {
        ++*m->dropped_shape;
        return 0;
    }
    shape.preemptions = was ? was->preemptions : (double)NAN;
    return put_priced(m, &m->list->regions[at], was, &shape, e);
}

/* Instance types that AWS has spot prices of in more zones than the catalog in use. */
static int put_new_zones(struct merge *m, struct err *e)
{
    const struct catalog_rows *spot = m->list->spot;

    for (size_t i = 0; m->list->cloud == FEED_AWS && i < spot->n_offers; i++) {
        struct catalog_offer_row key = carry(m, &spot->offers[i]);
        size_t at = feed_list_region(m->list, catalog_rows_text(m->rows, key.region));
        const struct catalog_offer_row *l = listed(m, m->list->on_demand, &key, false);
        if (!m->list->regions[at].has_spot || !l || catalog_rows_find(m->rows, &key))
            continue;
        struct catalog_offer_row there = *l;
        there.zone = spot->offers[i].zone;
        if (put_new(m, &there, e) < 0)
            return -1;
    }
    return 0;
}

/* Instance types that the catalog in use has nowhere in the region. */
static int put_new_types(struct merge *m, const struct catalog_rows *table, struct err *e)
{
    for (size_t i = 0; i < table->n_offers; i++) {
        struct catalog_offer_row key = carry(m, &table->offers[i]);
        if (!is_noted(m->placed, key.region, key.instance_type) &&
            put_new(m, &table->offers[i], e) < 0)
            return -1;
    }
    return 0;
}

/* ---- all of it ---- */

/* The offers of the cloud in old, in `before`, and one of each type in `shapes`. */
static int copy_before(struct merge *m, struct err *e)
{
    for (size_t i = 0; i < m->old->n_kinds; i++) {
        const struct catalog_kind *k = &m->old->kinds[i];
        struct catalog_offer_row row = feed_nothing();
        if (strcmp(catalog_text(m->old, k->cloud), feed_cloud_texts[m->list->cloud]) != 0)
            continue;
        row.instance_type = catalog_rows_intern(m->rows, catalog_text(m->old, k->instance_type));
        row.accelerator = catalog_rows_intern(m->rows, catalog_text(m->old, k->accelerator));
        row.vcpus = k->vcpus;
        row.memory_gib = k->memory_gib;
        row.accelerator_count = k->accelerator_count;
        row.network_gbps = k->network_gbps;
        if (note(m->shapes, &row, e) < 0)
            return -1;
        row.cloud = m->cloud;
        for (size_t j = 0; j < k->n_offers; j++) {
            const struct catalog_offer *o = &m->old->offers[k->first_offer + j];
            const struct catalog_place *place = &m->old->places[o->place];
            row.region = catalog_rows_intern(m->rows, catalog_text(m->old, place->region));
            row.zone = catalog_rows_intern(m->rows, catalog_text(m->old, o->zone));
            row.price_usd = o->price_usd;
            row.spot_usd = o->spot_usd;
            row.preemptions = o->preemptions;
            if (note(m->before, &row, e) < 0)
                return -1;
        }
    }
    return 0;
}

static int note_zones(struct merge *m, struct err *e)
{
    const struct catalog_rows *spot = m->list->spot;

    for (size_t i = 0; m->list->cloud == FEED_AWS && i < spot->n_offers; i++) {
        struct catalog_offer_row key = carry(m, &spot->offers[i]);
        size_t at = feed_list_region(m->list, catalog_rows_text(m->rows, key.region));
        struct catalog_offer_row place = key_of(0, key.region, 0, key.instance_type);
        if (m->list->regions[at].has_spot && note(m->zoned, &place, e) < 0)
            return -1;
    }
    return 0;
}

static int merge_offers(struct merge *m, struct err *e)
{
    if (copy_before(m, e) < 0 || note_zones(m, e) < 0)
        return -1;
    for (size_t i = 0; i < m->before->n_offers; i++)
        if (put_old(m, &m->before->offers[i], e) < 0)
            return -1;
    if (put_new_zones(m, e) < 0 || put_new_types(m, m->list->on_demand, e) < 0)
        return -1;
    return m->list->cloud == FEED_AWS ? 0 : put_new_types(m, m->list->spot, e);
}

/* The source and date of the cloud's prices from now on. While offers stay as they were, its prices
 * are as old as those. */
static void name_source(const struct merge *m, const char *date)
{
    static const char mark[] = "price list", spot_mark[] = ", spot of ";
    const char *cloud = feed_cloud_texts[m->list->cloud], *source = NULL, *old_date = NULL;
    bool has_spot = true;
    char text[200];

    for (size_t i = 0; i < m->list->n_regions; i++)
        has_spot &= m->list->regions[i].has_spot;
    bool known = catalog_source(m->old, cloud, &source, &old_date);
    bool partly = m->changes->elsewhere > 0 && known && *old_date;
    if (partly && strncmp(source, mark, strlen(mark)) != 0)
        snprintf(text, sizeof text, "%s, rest %s", mark, source);
    else if (partly)
        snprintf(text, sizeof text, "%s", source);
    else if (!has_spot && known && strstr(source, spot_mark))
        snprintf(text, sizeof text, "%s%s", mark, strstr(source, spot_mark));
    else if (!has_spot && known && *old_date)
        snprintf(text, sizeof text, "%s%s%s", mark, spot_mark, old_date);
    else
        snprintf(text, sizeof text, "%s", mark);
    catalog_rows_put_source(m->rows, m->cloud, text, partly ? old_date : date);
}

/* Google's list as one of instance types. */
static int combine(const struct feed_list *parts,
                   const struct catalog *old,
                   struct feed_list *out,
                   struct err *e)
{
    const char **names = mem_zero(parts->n_regions, sizeof *names);

    for (size_t i = 0; i < parts->n_regions; i++)
        names[i] = parts->regions[i].name;
    feed_list_init(out, parts->cloud, names, parts->n_regions);
    free(names);
    for (size_t i = 0; i < parts->n_regions; i++)
        out->regions[i].has_spot = parts->regions[i].has_spot;
    return feed_gcp_combine(parts, old, out, e);
}

int feed_merge(struct feed_list *list,
               const struct catalog *old,
               const char *date,
               struct catalog_rows *rows,
               struct feed_changes *changes,
               struct err *e)
{
    AUTO_CLEAR(feed_list) struct feed_list combined = {0};
    AUTO_CLEAR(merge)
    struct merge m = {
        .list = list,
        .old = old,
        .rows = rows,
        .changes = changes,
        .cloud = catalog_rows_intern(rows, feed_cloud_texts[list->cloud]),
        .before = catalog_rows_new(),
        .shapes = catalog_rows_new(),
        .zoned = catalog_rows_new(),
        .placed = catalog_rows_new(),
        .dropped_shape = &list->dropped[FEED_DROP_SHAPE],
    };

    *changes = (struct feed_changes){0};
    *m.dropped_shape = 0;
    if (list->cloud == FEED_GCP) {
        if (combine(list, old, &combined, e) < 0)
            return -1;
        m.list = &combined;
    }
    if (merge_offers(&m, e) < 0 || catalog_rows_check(rows, e) < 0)
        return -1;
    name_source(&m, date);
    return 0;
}
