#include "fixture.h"
#include "tap.h"

#include <stddef.h>

static const char offers[] = "a,r1,z1,m.large,2,8,,,,0.2,0.05,0.1\na,r1,z2,m.large,2,8,,,,0.2,,\n"
                             "a,r2,,gpu,8,61,V100,1,10,3.06,0.9,\nb,r1,,n1,1,1,,,,0.1,,\n";
static const char transfers[] = "a,*,internet,*,0.09,0,5,40\na,*,internet,*,0.05,10240,,\n"
                                "*,*,*,*,0.02,,,\n";
static const char storage[] = "a,r1,standard,0.023,0.0004,,0.005\n";

struct snapshot {
    unsigned char *bytes;
    size_t len;
};

static struct snapshot make(void)
{
    struct err e = {0};
    struct snapshot s = {0};

    s.bytes = fixture_bytes(offers, transfers, storage, &s.len, &e);
    return s;
}

static bool opens(const void *bytes, size_t len, struct err *e)
{
    struct catalog *c = catalog_open_bytes("test", bytes, len, e);

    catalog_free(c);
    return c != NULL;
}

static struct snapshot_header *header(struct snapshot *s)
{
    return (struct snapshot_header *)(void *)s->bytes;
}

static void check_damage(struct snapshot s)
{
    struct err e = {0};
    size_t flips = 0, cuts = 0, longer;
    unsigned char *more = malloc(s.len + 8);

    CHECK(opens(s.bytes, s.len, &e), "a whole snapshot opens %s", e.text);
    for (size_t i = 0; i < s.len; i++) {
        s.bytes[i] ^= (unsigned char)(1u << i % 8);
        flips += opens(s.bytes, s.len, &e);
        s.bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    CHECK(flips == 0, "one flipped bit anywhere in %zu bytes is found", s.len);
    for (size_t len = 0; len < s.len; len++)
        cuts += opens(s.bytes, len, &e);
    CHECK(cuts == 0, "a cut at any length is found");
    memcpy(more, s.bytes, s.len);
    memset(more + s.len, 0, 8);
    longer = opens(more, s.len + 8, &e);
    CHECK(!longer, "more than there should be is found");
    memmove(more + 1, more, s.len);
    CHECK(opens(more + 1, s.len, &e), "unaligned bytes open too");
    free(more);
}

static void check_foreign(struct snapshot s)
{
    struct err e = {0};

    header(&s)->version++;
    snapshot_seal(s.bytes);
    CHECK(!opens(s.bytes, s.len, &e) && e.kind == ERR_RETRY, "another version: %s", e.text);
    header(&s)->version--;
    header(&s)->byte_order = __builtin_bswap32(header(&s)->byte_order);
    CHECK(!opens(s.bytes, s.len, &e) && e.kind == ERR_RETRY, "another byte order: %s", e.text);
    header(&s)->byte_order = __builtin_bswap32(header(&s)->byte_order);
    snapshot_seal(s.bytes);
    CHECK(!opens("PK\3\4", 4, &e) && e.kind == ERR_IO, "another file: %s", e.text);
    CHECK(opens(s.bytes, s.len, &e), "restored");
}

/* Uses everything an opened catalog offers; the sanitizers watch. */
static size_t use(const struct catalog *c)
{
    size_t sum = strlen(c->origin) + strlen(catalog_date(c));
    const char *source, *date;

    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        sum += strlen(catalog_text(c, k->cloud)) + strlen(catalog_text(c, k->instance_type)) +
               strlen(catalog_text(c, k->accelerator));
        for (size_t j = 0; j < k->n_offers; j++) {
            const struct catalog_offer *o = &c->offers[k->first_offer + j];
            sum += strlen(catalog_text(c, o->zone)) + catalog_priced(o->price_usd) +
                   strlen(catalog_text(c, c->places[o->place].region));
        }
    }
    for (size_t i = 0; i < c->n_places; i++) {
        sum += catalog_storage_usd(c, i) > 0;
        for (size_t j = 0; j < c->n_places; j++) {
            const struct catalog_move *m = catalog_move(c, i, j);
            sum += m && c->tiers[m->first_tier + m->n_tiers - 1].usd_per_gb > 0;
        }
        sum += catalog_move_from(c, "a", NULL, i) != NULL;
        sum += catalog_source(c, catalog_text(c, c->places[i].cloud), &source, &date);
    }
    return sum;
}

/* With the checksum put right, what is in the bytes may still be anything. */
static void check_hostile(struct snapshot s)
{
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFF00000, 0x7FF80000};
    size_t opened = 0, refused = 0;

    for (size_t at = offsetof(struct snapshot_header, size); at + 4 <= s.len; at += 4) {
        uint32_t was;
        memcpy(&was, s.bytes + at, 4);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct err e = {0};
            memcpy(s.bytes + at, &values[v], 4);
            /* The size decides what is summed up, so it must not reach past the end. */
            if (header(&s)->size == s.len)
                snapshot_seal(s.bytes);
            struct catalog *c = catalog_open_bytes("test", s.bytes, s.len, &e);
            if (c)
                opened += use(c) > 0;
            else
                refused++;
            catalog_free(c);
        }
        memcpy(s.bytes + at, &was, 4);
    }
    CHECK(refused > 0 && opened > 0, "hostile content is refused or harmless");
}

/* Overwrites one number and says what opening makes of it. */
static void check_refused(
    struct snapshot s, const char *what, void *field, const void *bad, size_t n)
{
    unsigned char was[8];
    struct err e = {0};

    memcpy(was, field, n);
    memcpy(field, bad, n);
    snapshot_seal(s.bytes);
    CHECK(!opens(s.bytes, s.len, &e) && e.kind == ERR_IO, "%s: %s", what, e.text);
    memcpy(field, was, n);
    snapshot_seal(s.bytes);
}

static void check_each_check(struct snapshot s)
{
    struct snapshot_section *sections = header(&s)->sections;
#define AT(type, id) ((type *)(void *)(s.bytes + sections[id].offset))
    struct catalog_kind *kinds = AT(struct catalog_kind, SNAPSHOT_KINDS);
    struct catalog_offer *o = AT(struct catalog_offer, SNAPSHOT_OFFERS);
    struct catalog_place *places = AT(struct catalog_place, SNAPSHOT_PLACES);
    struct catalog_move *moves = AT(struct catalog_move, SNAPSHOT_MOVES);
    struct catalog_tier *tiers = AT(struct catalog_tier, SNAPSHOT_TIERS);
    struct catalog_rule *rules = AT(struct catalog_rule, SNAPSHOT_RULES);
    const uint32_t huge = 0xFFFFFFF0, zero = 0, three = 3;
    const uint64_t far = s.len + 8, odd = sections[SNAPSHOT_KINDS].offset + 4;
    const double minus = -1, infinite = 1.0 / 0.0, nan = 0.0 / 0.0;

    check_refused(s, "a text out of bounds", &kinds[0].cloud, &huge, 4);
    check_refused(s, "a kind without offers", &kinds[0].n_offers, &zero, 4);
    check_refused(s, "offers out of bounds", &kinds[0].n_offers, &huge, 4);
    check_refused(s, "offers of two kinds", &kinds[1].first_offer, &zero, 4);
    check_refused(s, "a negative price", &o[0].price_usd, &minus, 8);
    check_refused(s, "an endless price", &o[0].price_usd, &infinite, 8);
    check_refused(s, "a place out of bounds", &o[0].place, &three, 4);
    check_refused(s, "a zone out of bounds", &o[0].zone, &huge, 4);
    check_refused(s, "places out of order", &places[1].cloud, &zero, 4);
    check_refused(s, "no tiers", &moves[0].n_tiers, &zero, 4);
    check_refused(s, "tiers out of bounds", &moves[0].first_tier, &three, 4);
    check_refused(s, "a tier that does not begin at 0", &tiers[0].from_gb, &tiers[0].usd_per_gb, 8);
    check_refused(s, "a tier without price", &tiers[0].usd_per_gb, &nan, 8);
    check_refused(s, "a rule out of bounds", &rules[0].dst_region, &huge, 4);
    check_refused(s, "a move out of bounds", AT(uint32_t, SNAPSHOT_MATRIX), &three, 4);
    check_refused(s, "negative storage", AT(double, SNAPSHOT_PLACE_STORAGE), &minus, 8);
    check_refused(s, "a section past the end", &sections[SNAPSHOT_KINDS].offset, &far, 8);
    check_refused(s, "a section at an odd place", &sections[SNAPSHOT_KINDS].offset, &odd, 8);
    check_refused(s, "a section too long", &sections[SNAPSHOT_OFFERS].count, &huge, 4);
    check_refused(s, "items of another size", &sections[SNAPSHOT_OFFERS].item_size, &three, 4);
    check_refused(s, "strings that are empty", &sections[SNAPSHOT_STRINGS].count, &zero, 4);
    check_refused(s, "strings out of order", s.bytes + sections[SNAPSHOT_STRINGS].offset + 1,
                  "\xFF", 1);
#undef AT
}

int main(void)
{
    struct snapshot s = make();

    CHECK(s.bytes, "a snapshot is built");
    if (s.bytes) {
        check_damage(s);
        check_foreign(s);
        check_hostile(s);
        check_each_check(s);
    }
    free(s.bytes);
    return TAP_DONE();
}
