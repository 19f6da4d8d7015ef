/* Snapshots whose size and checksum are right: whatever opens must be safe to use. */
#include "catalog/catalog.h"
#include "catalog/snapshot.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t sink;

static void use_offers(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        sink += strlen(catalog_text(c, k->cloud)) + strlen(catalog_text(c, k->instance_type)) +
                catalog_same_accelerator("A100", catalog_text(c, k->accelerator));
        for (size_t j = 0; j < k->n_offers; j++) {
            const struct catalog_offer *o = &c->offers[k->first_offer + j];
            const struct catalog_place *p = &c->places[o->place];
            sink += strlen(catalog_text(c, o->zone)) + strlen(catalog_text(c, p->region));
            if (isinf(o->price_usd) || o->price_usd < 0 || isinf(o->spot_usd) || o->spot_usd < 0)
                abort();
        }
    }
}

static void use_moves(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_places; i++) {
        const struct catalog_place *p = &c->places[i];
        if (catalog_find_place(c, catalog_text(c, p->cloud), catalog_text(c, p->region)) >
            c->n_places)
            sink++; /* offsets into the middle of a text break the order, nothing else */
        for (size_t j = 0; j < c->n_places; j++) {
            const struct catalog_move *m = catalog_move(c, i, j);
            for (size_t t = 0; m && t < m->n_tiers; t++)
                sink += c->tiers[m->first_tier + t].usd_per_gb > 1;
        }
        sink += catalog_storage_usd(c, i) > 1;
        if (i < 4)
            sink += catalog_move_from(c, "aws", i % 2 ? "us-east-1" : NULL, i) != NULL;
    }
}

static void use(const void *bytes, size_t size)
{
    const char *source, *date;
    struct catalog *c = catalog_open_bytes("fuzz", bytes, size, NULL);

    if (c) {
        use_offers(c);
        use_moves(c);
        sink +=
            catalog_source(c, "aws", &source, &date) + strlen(c->origin) + strlen(catalog_date(c));
    }
    catalog_free(c);
}

/* The sections where their counts put them, so that items that come or go move what follows: false
 * when they do not fit. */
static bool lay_out(void *bytes, size_t *size)
{
    struct snapshot_header *h = bytes, laid;
    size_t counts[SNAPSHOT_N_SECTIONS];

    for (size_t i = 0; i < SNAPSHOT_N_SECTIONS; i++)
        counts[i] = h->sections[i].count;
    if (snapshot_lay_out(counts, &laid, NULL) < 0 || laid.size > *size)
        return false;
    *h = laid;
    *size = laid.size;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < sizeof(struct snapshot_header))
        return 0;
    void *bytes = malloc(size);
    struct snapshot_header *h = bytes;
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    h->size = size;
    snapshot_seal(bytes);
    use(bytes, size);
    if (lay_out(bytes, &size)) {
        snapshot_seal(bytes);
        use(bytes, size);
    }
    free(bytes);
    return 0;
}
