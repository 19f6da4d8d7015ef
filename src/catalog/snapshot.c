#include "catalog/snapshot.h"

#include "base/hash.h"
#include "catalog/internal.h"
#include "catalog/limits.h"

#include <stdbool.h>
#include <string.h>

static const char magic[8] = "TWCATLG\n";
#define BYTE_ORDER_MARK 0x01020304u
#define ALIGNMENT 8u
#define CHECKSUM_FROM (offsetof(struct snapshot_header, checksum) + sizeof(uint64_t))
#define SIZE_MAX_BYTES UINT32_MAX

static const uint32_t item_sizes[SNAPSHOT_N_SECTIONS] = {
    [SNAPSHOT_STRINGS] = 1,
    [SNAPSHOT_PLACES] = sizeof(struct catalog_place),
    [SNAPSHOT_KINDS] = sizeof(struct catalog_kind),
    [SNAPSHOT_OFFERS] = sizeof(struct catalog_offer),
    [SNAPSHOT_MOVES] = sizeof(struct catalog_move),
    [SNAPSHOT_TIERS] = sizeof(struct catalog_tier),
    [SNAPSHOT_RULES] = sizeof(struct catalog_rule),
    [SNAPSHOT_MATRIX] = sizeof(uint32_t),
    [SNAPSHOT_PLACE_STORAGE] = sizeof(double),
    [SNAPSHOT_STORAGE] = sizeof(struct snapshot_storage),
    [SNAPSHOT_SOURCES] = sizeof(struct snapshot_source),
    [SNAPSHOT_META] = sizeof(struct snapshot_meta),
};

int snapshot_lay_out(const size_t counts[SNAPSHOT_N_SECTIONS],
                     struct snapshot_header *out,
                     struct err *e)
{
    uint64_t at = sizeof *out;

    memset(out, 0, sizeof *out);
    memcpy(out->magic, magic, sizeof magic);
    out->version = SNAPSHOT_VERSION;
    out->byte_order = BYTE_ORDER_MARK;
    for (size_t i = 0; i < SNAPSHOT_N_SECTIONS; i++) {
        at = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (counts[i] > (SIZE_MAX_BYTES - at) / item_sizes[i])
            return err_set(e, ERR_USAGE, "a snapshot would be larger than 4 GiB");
        out->sections[i] = (struct snapshot_section){at, (uint32_t)counts[i], item_sizes[i]};
        at += (uint64_t)counts[i] * item_sizes[i];
    }
    out->size = at;
    return 0;
}

static uint64_t checksum(const void *bytes, size_t len)
{
    return hash_xxh3((const char *)bytes + CHECKSUM_FROM, len - CHECKSUM_FROM);
}

void snapshot_seal(void *bytes)
{
    struct snapshot_header *h = bytes;

    h->checksum = checksum(bytes, h->size);
}

static int check_header(const char *name, const void *bytes, size_t len, struct err *e)
{
    const struct snapshot_header *h = bytes;

    if (len < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
        return err_set(e, ERR_IO, "%s: not a catalog snapshot", name);
    if (h->byte_order != BYTE_ORDER_MARK)
        return err_set(e, ERR_RETRY, "%s: written on a machine of another byte order", name);
    if (h->version != SNAPSHOT_VERSION)
        return err_set(e, ERR_RETRY, "%s: snapshot format %u, this program reads %u", name,
                       h->version, SNAPSHOT_VERSION);
    if (h->size != len)
        return err_set(e, ERR_IO, "%s: %zu bytes long, should be %llu", name, len,
                       (unsigned long long)h->size);
    if (h->checksum != checksum(bytes, len))
        return err_set(e, ERR_IO, "%s: damaged (the checksum does not match)", name);
    return 0;
}

static bool sections_fit(const struct snapshot_header *h)
{
    uint64_t at = sizeof *h;

    for (size_t i = 0; i < SNAPSHOT_N_SECTIONS; i++) {
        const struct snapshot_section *s = &h->sections[i];
        if (s->item_size != item_sizes[i] || s->offset % ALIGNMENT || s->offset < at ||
            s->offset > h->size || s->count > (h->size - s->offset) / s->item_size)
            return false;
        at = s->offset + (uint64_t)s->count * s->item_size;
    }
    return true;
}

static void point(struct catalog *c, const void *bytes)
{
    const struct snapshot_header *h = bytes;
    const char *base = bytes;
#define AT(id) ((const void *)(base + h->sections[id].offset))
#define COUNT(id) ((size_t)h->sections[id].count)

    c->strings = AT(SNAPSHOT_STRINGS);
    c->strings_size = COUNT(SNAPSHOT_STRINGS);
    c->places = AT(SNAPSHOT_PLACES);
    c->n_places = COUNT(SNAPSHOT_PLACES);
    c->kinds = AT(SNAPSHOT_KINDS);
    c->n_kinds = COUNT(SNAPSHOT_KINDS);
    c->offers = AT(SNAPSHOT_OFFERS);
    c->n_offers = COUNT(SNAPSHOT_OFFERS);
    c->moves = AT(SNAPSHOT_MOVES);
    c->n_moves = COUNT(SNAPSHOT_MOVES);
    c->tiers = AT(SNAPSHOT_TIERS);
    c->n_tiers = COUNT(SNAPSHOT_TIERS);
    c->rules = AT(SNAPSHOT_RULES);
    c->matrix = AT(SNAPSHOT_MATRIX);
    c->place_storage = AT(SNAPSHOT_PLACE_STORAGE);
    c->storage = AT(SNAPSHOT_STORAGE);
    c->n_storage = COUNT(SNAPSHOT_STORAGE);
    c->sources = AT(SNAPSHOT_SOURCES);
    c->n_sources = COUNT(SNAPSHOT_SOURCES);
    c->meta = AT(SNAPSHOT_META);
#undef AT
#undef COUNT
}

static bool counts_agree(const struct snapshot_header *h)
{
    const struct snapshot_section *s = h->sections;
    uint64_t places = s[SNAPSHOT_PLACES].count;

    return s[SNAPSHOT_STRINGS].count > 0 && places <= SNAPSHOT_PLACES_MAX &&
           s[SNAPSHOT_MATRIX].count == places * places &&
           s[SNAPSHOT_PLACE_STORAGE].count == places &&
           s[SNAPSHOT_RULES].count == s[SNAPSHOT_MOVES].count && s[SNAPSHOT_META].count == 1;
}

/* Sorted, unique, "" first: then every offset below the size is the text it points into. */
static bool strings_good(const struct catalog *c)
{
    const char *last = c->strings, *end = c->strings + c->strings_size;

    if (c->strings[0] || end[-1])
        return false;
    for (const char *s = last + 1; s < end; s += strlen(s) + 1) {
        if (strcmp(last, s) >= 0)
            return false;
        last = s;
    }
    return true;
}

static bool places_good(const struct catalog *c)
{
    uint64_t last = 0;

    for (size_t i = 0; i < c->n_places; i++) {
        const struct catalog_place *p = &c->places[i];
        uint64_t key = (uint64_t)p->cloud << 32 | p->region;
        if (p->cloud >= c->strings_size || p->region >= c->strings_size || (i && key <= last))
            return false;
        last = key;
    }
    return true;
}

static bool kinds_good(const struct catalog *c)
{
    uint64_t last = 0;
    size_t offers = 0;

    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        uint64_t key = (uint64_t)k->cloud << 32 | k->instance_type;
        if (k->cloud >= c->strings_size || k->instance_type >= c->strings_size ||
            k->accelerator >= c->strings_size || key < last || k->first_offer != offers ||
            k->n_offers == 0 || k->n_offers > c->n_offers - offers)
            return false;
        if (!limit_holds(&limit_vcpus, k->vcpus) || !limit_holds(&limit_memory, k->memory_gib) ||
            !limit_holds(&limit_accelerators, k->accelerator_count) ||
            !limit_holds(&limit_gbit, k->network_gbps))
            return false;
        last = key;
        offers += k->n_offers;
    }
    return offers == c->n_offers;
}

/* The smallest and largest number of a column; NaN, which is unknown, is neither. */
struct bounds {
    double least, most;
};

static inline void widen(struct bounds *b, double v)
{
    b->least = v < b->least ? v : b->least;
    b->most = v > b->most ? v : b->most;
}

static bool bounds_hold(const struct bounds *b, const struct limit *l)
{
    return b->least >= l->least && b->most <= l->most;
}

/* Offers are the largest section by far, and read at every start: bounds are taken without a
 * branch, and compared with their limits once. */
struct offer_bounds {
    struct bounds price, spot, preemptions;
    uint32_t greatest_zone;
};

/* Sorted by location, then zone; so the last location is the greatest, and since locations are
 * sorted by cloud, the first and the last tell the cloud of all. */
static bool offers_of_kind_good(const struct catalog *c,
                                const struct catalog_kind *k,
                                struct offer_bounds *b)
{
    const struct catalog_offer *o = c->offers + k->first_offer;
    uint32_t first = o[0].place, last = o[k->n_offers - 1].place;
    struct offer_bounds seen = *b;
    uint64_t before = 0;
    bool sorted = true;

    for (size_t i = 0; i < k->n_offers; i++, o++) {
        uint64_t key = ((uint64_t)o->place << 32 | o->zone) + 1;
        sorted &= key > before;
        before = key;
        seen.greatest_zone = o->zone > seen.greatest_zone ? o->zone : seen.greatest_zone;
        widen(&seen.price, o->price_usd);
        widen(&seen.spot, o->spot_usd);
        widen(&seen.preemptions, o->preemptions);
    }
    *b = seen;
    return sorted && last < c->n_places && c->places[first].cloud == k->cloud &&
           c->places[last].cloud == k->cloud;
}

static bool offers_good(const struct catalog *c)
{
    static const struct bounds none = {1e300, -1e300};
    struct offer_bounds b = {none, none, none, 0};

    for (size_t i = 0; i < c->n_kinds; i++) {
        if (!offers_of_kind_good(c, &c->kinds[i], &b))
            return false;
    }
    return b.greatest_zone < c->strings_size && bounds_hold(&b.price, &limit_price) &&
           bounds_hold(&b.spot, &limit_price) && bounds_hold(&b.preemptions, &limit_preemptions);
}

static bool tiers_good(const struct catalog *c, const struct catalog_move *m)
{
    if (m->n_tiers == 0 || m->first_tier >= c->n_tiers || m->n_tiers > c->n_tiers - m->first_tier)
        return false;
    const struct catalog_tier *t = c->tiers + m->first_tier;
    if (t[0].from_gb != 0)
        return false;
    for (size_t i = 0; i < m->n_tiers; i++) {
        if (!limit_known(&limit_tier_gb, t[i].from_gb) ||
            !limit_known(&limit_transfer_price, t[i].usd_per_gb) ||
            (i && !(t[i].from_gb > t[i - 1].from_gb)))
            return false;
    }
    return true;
}

static bool moves_good(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_moves; i++) {
        const struct catalog_move *m = &c->moves[i];
        const struct catalog_rule *r = &c->rules[i];
        if (r->src_cloud >= c->strings_size || r->src_region >= c->strings_size ||
            r->dst_cloud >= c->strings_size || r->dst_region >= c->strings_size ||
            !limit_holds(&limit_speed, m->gbit_per_s) || !limit_known(&limit_rtt, m->rtt_ms) ||
            !tiers_good(c, m))
            return false;
    }
    bool good = true;
    for (size_t i = 0; i < c->n_places * c->n_places; i++)
        good &= (c->matrix[i] < c->n_moves) | (c->matrix[i] == SNAPSHOT_NO_MOVE);
    return good;
}

static bool storage_good(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_places; i++) {
        if (!limit_holds(&limit_storage, c->place_storage[i]))
            return false;
    }
    for (size_t i = 0; i < c->n_storage; i++) {
        const struct snapshot_storage *s = &c->storage[i];
        if (s->cloud >= c->strings_size || s->region >= c->strings_size ||
            s->class >= c->strings_size || !limit_known(&limit_storage, s->usd_per_gb_month) ||
            !limit_holds(&limit_storage, s->usd_per_1000_read) ||
            !limit_holds(&limit_storage, s->usd_per_1000_write) ||
            !limit_holds(&limit_storage, s->usd_per_1000_list))
            return false;
    }
    return true;
}

static bool notes_good(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        const struct snapshot_source *s = &c->sources[i];
        if (s->cloud >= c->strings_size || s->source >= c->strings_size ||
            s->date >= c->strings_size)
            return false;
    }
    return c->meta->origin < c->strings_size && c->meta->date < c->strings_size;
}

int snapshot_open(
    const char *name, const void *bytes, size_t len, struct catalog *into, struct err *e)
{
    const struct snapshot_header *h = bytes;

    if (check_header(name, bytes, len, e) < 0)
        return -1;
    if (!sections_fit(h) || !counts_agree(h))
        return err_set(e, ERR_IO, "%s: damaged (sections overlap or do not fit)", name);
    point(into, bytes);
    const struct {
        bool good;
        const char *what;
    } parts[] = {
        {strings_good(into), "strings"}, {places_good(into), "locations"},
        {kinds_good(into), "kinds"},     {moves_good(into), "transfer prices"},
        {storage_good(into), "storage"}, {notes_good(into), "sources"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].good)
            return err_set(e, ERR_IO, "%s: damaged (%s)", name, parts[i].what);
    }
    if (!offers_good(into)) /* reads locations and kinds */
        return err_set(e, ERR_IO, "%s: damaged (offers)", name);
    return 0;
}
