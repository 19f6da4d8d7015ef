#include "market/store.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "TWMARKT\n";
#define VERSION 1u
#define BYTE_ORDER_MARK 0x01020304u
#define ALIGNMENT 8u
#define CHECKSUM_FROM (offsetof(struct market_header, checksum) + sizeof(uint64_t))

static const size_t item_sizes[MARKET_N_SECTIONS] = {
    [MARKET_STRINGS] = 1,
    [MARKET_OFFERS] = sizeof(struct market_stored_offer),
    [MARKET_POINTS] = sizeof(struct market_point),
    [MARKET_ON_DEMAND] = sizeof(struct market_on_demand),
    [MARKET_SPELLS] = sizeof(struct market_spell),
    [MARKET_SWEEPS] = sizeof(struct market_sweep),
};

static uint64_t checksum_of(const void *bytes, size_t len)
{
    return hash_xxh3((const char *)bytes + CHECKSUM_FROM, len - CHECKSUM_FROM);
}

void *market_store_pack(const struct market_pack *from, size_t *len_out)
{
    struct market_header h = {.version = VERSION, .byte_order = BYTE_ORDER_MARK};

    memcpy(h.magic, magic, sizeof magic);
    h.size = sizeof h;
    for (size_t i = 0; i < MARKET_N_SECTIONS; i++) {
        h.size = (h.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        h.sections[i] = (struct market_section){h.size, from->parts[i].count};
        h.size += from->parts[i].count * item_sizes[i];
    }
    char *bytes = mem_zero(h.size, 1);
    for (size_t i = 0; i < MARKET_N_SECTIONS; i++)
        if (from->parts[i].count)
            memcpy(bytes + h.sections[i].offset, from->parts[i].items,
                   from->parts[i].count * item_sizes[i]);
    memcpy(bytes, &h, sizeof h);
    h.checksum = checksum_of(bytes, h.size);
    memcpy(bytes, &h, sizeof h);
    *len_out = h.size;
    return bytes;
}

static int check_header(const char *name, const void *bytes, size_t len, struct err *e)
{
    const struct market_header *h = bytes;

    if (len < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
        return err_set(e, ERR_IO, "%s: not a file of price histories", name);
    if (h->byte_order != BYTE_ORDER_MARK || h->version != VERSION)
        return err_set(e, ERR_RETRY,
                       "%s: format %u of another version or kind of machine; this program reads %u",
                       name, h->version, VERSION);
    if (h->size != len)
        return err_set(e, ERR_IO, "%s: %zu bytes long, should be %llu", name, len,
                       (unsigned long long)h->size);
    if (h->checksum != checksum_of(bytes, len))
        return err_set(e, ERR_IO, "%s: damaged (the checksum does not match)", name);
    return 0;
}

static bool sections_fit(const struct market_header *h)
{
    uint64_t at = sizeof *h;

    for (size_t i = 0; i < MARKET_N_SECTIONS; i++) {
        const struct market_section *s = &h->sections[i];
        if (s->offset % ALIGNMENT || s->offset < at || s->offset > h->size ||
            s->count > (h->size - s->offset) / item_sizes[i])
            return false;
        at = s->offset + s->count * item_sizes[i];
    }
    return true;
}

/* What remains of the sections that offers take their series from. */
struct rest {
    const struct market_point *points;
    const struct market_on_demand *on_demand;
    const struct market_spell *spells;
    uint64_t n_points, n_on_demand, n_spells;
};

static bool text_fits(const struct market_header *h, uint32_t offset)
{
    return offset < h->sections[MARKET_STRINGS].count;
}

static bool series_good(const struct market_offer *o)
{
    double last = -(double)INFINITY;
    bool good = true;

    for (size_t i = 0; i < o->n_points; i++) {
        const struct market_point *p = &o->points[i];
        good &= p->at_s > last && (isnan(p->usd_per_hour) || p->usd_per_hour > 0) &&
                p->paid_usd >= 0 && p->sold_s >= 0;
        last = p->at_s;
    }
    for (size_t i = 0; i < o->n_on_demand; i++)
        good &= isnan(o->on_demand[i].usd_per_hour) || o->on_demand[i].usd_per_hour > 0;
    for (size_t i = 0; i < o->n_spells; i++)
        good &= o->spells[i].end_s >= o->spells[i].begin_s;
    return good && o->gpus >= 0 &&
           (!o->n_points || (o->begin_s >= o->points[0].at_s && o->begin_s <= o->points[0].at_s &&
                             o->end_s >= last));
}

static bool take_offer(const struct market_header *h,
                       const struct market_stored_offer *s,
                       struct rest *rest,
                       struct market_offer *out)
{
    const char *strings = (const char *)h + h->sections[MARKET_STRINGS].offset;

    if (!text_fits(h, s->cloud) || !text_fits(h, s->region) || !text_fits(h, s->zone) ||
        !text_fits(h, s->instance_type) || !text_fits(h, s->gpu) || s->feed >= MARKET_N_FEEDS ||
        s->n_points > rest->n_points || s->n_on_demand > rest->n_on_demand ||
        s->n_spells > rest->n_spells)
        return false;
    *out = (struct market_offer){
        .cloud = strings + s->cloud,
        .region = strings + s->region,
        .zone = strings + s->zone,
        .instance_type = strings + s->instance_type,
        .gpu = strings + s->gpu,
        .gpus = s->gpus,
        .points = rest->points,
        .n_points = s->n_points,
        .on_demand = rest->on_demand,
        .n_on_demand = s->n_on_demand,
        .spells = rest->spells,
        .n_spells = s->n_spells,
        .begin_s = s->begin_s,
        .end_s = s->end_s,
        .feed = (enum market_feed)s->feed,
    };
    rest->points += s->n_points;
    rest->n_points -= s->n_points;
    rest->on_demand += s->n_on_demand;
    rest->n_on_demand -= s->n_on_demand;
    rest->spells += s->n_spells;
    rest->n_spells -= s->n_spells;
    return (out->n_points || out->n_spells) && series_good(out);
}

static bool take_offers(struct market *m, const struct market_header *h)
{
    const char *base = (const char *)h;
    const struct market_section *s = h->sections;
    const struct market_stored_offer *stored = (const void *)(base + s[MARKET_OFFERS].offset);
    struct rest rest = {
        .points = (const void *)(base + s[MARKET_POINTS].offset),
        .on_demand = (const void *)(base + s[MARKET_ON_DEMAND].offset),
        .spells = (const void *)(base + s[MARKET_SPELLS].offset),
        .n_points = s[MARKET_POINTS].count,
        .n_on_demand = s[MARKET_ON_DEMAND].count,
        .n_spells = s[MARKET_SPELLS].count,
    };

    m->n_offers = s[MARKET_OFFERS].count;
    m->offers = mem_zero(m->n_offers + 1, sizeof *m->offers);
    m->points = rest.points;
    m->n_points = rest.n_points;
    m->strings = base + s[MARKET_STRINGS].offset;
    for (size_t i = 0; i < m->n_offers; i++) {
        if (!take_offer(h, &stored[i], &rest, &m->offers[i]) ||
            (i && market_compare_offers(&m->offers[i - 1], &m->offers[i]) >= 0))
            return false;
    }
    return !rest.n_points && !rest.n_on_demand && !rest.n_spells;
}

static bool take_sweeps(struct market *m, const struct market_header *h)
{
    const struct market_section *s = &h->sections[MARKET_SWEEPS];

    m->sweeps = (const void *)((const char *)h + s->offset);
    m->n_sweeps = s->count;
    for (size_t i = 0; i < m->n_sweeps; i++)
        if (!text_fits(h, m->sweeps[i].cloud))
            return false;
    return true;
}

static bool strings_good(const struct market_header *h)
{
    const struct market_section *s = &h->sections[MARKET_STRINGS];
    const char *strings = (const char *)h + s->offset;

    return s->count > 0 && s->count <= UINT32_MAX && !strings[s->count - 1];
}

struct market *market_open_bytes(const char *name,
                                 void *bytes,
                                 size_t len,
                                 void (*release)(void *bytes, size_t len),
                                 struct err *e)
{
    AUTO(market) struct market *m = mem_zero(1, sizeof *m);

    if (check_header(name, bytes, len, e) < 0)
        return NULL;
    if (!sections_fit(bytes) || !strings_good(bytes) || !take_offers(m, bytes) ||
        !take_sweeps(m, bytes)) {
        err_set(e, ERR_IO, "%s: damaged (its parts do not fit together)", name);
        return NULL;
    }
    m->release = release;
    m->bytes = bytes;
    m->len = len;
    return TAKE(m);
}

void market_free(struct market *m)
{
    if (!m)
        return;
    if (m->release)
        m->release(m->bytes, m->len);
    free(m->offers);
    free(m);
}
