#include "catalog/catalog.h"

#include "base/file.h"
#include "base/mem.h"
#include "catalog/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *catalog_text(const struct catalog *c, uint32_t offset)
{
    assert(offset < c->strings_size);
    return c->strings + offset;
}

/* The offset of a text that is in the string table, else CATALOG_NO_TEXT. */
static uint32_t catalog_find_text(const struct catalog *c, const char *text)
{
    size_t low = 0, high = c->strings_size;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        while (mid > low && c->strings[mid - 1])
            mid--;
        int order = strcmp(c->strings + mid, text);
        if (order == 0)
            return (uint32_t)mid;
        if (order < 0)
            low = mid + strlen(c->strings + mid) + 1;
        else
            high = mid;
    }
    return CATALOG_NO_TEXT;
}

size_t catalog_find_place(const struct catalog *c, const char *cloud, const char *region)
{
    size_t low = 0, high = c->n_places;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(c->strings + c->places[mid].cloud, cloud);
        if (order == 0)
            order = strcmp(c->strings + c->places[mid].region, region);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return SIZE_MAX;
}

const struct catalog_move *catalog_move(const struct catalog *c, size_t src, size_t dst)
{
    assert(src < c->n_places && dst < c->n_places);
    uint32_t move = c->matrix[src * c->n_places + dst];
    return move == SNAPSHOT_NO_MOVE ? NULL : &c->moves[move];
}

const struct catalog_move *catalog_move_from(const struct catalog *c,
                                             const char *src_cloud,
                                             const char *src_region,
                                             size_t dst)
{
    assert(dst < c->n_places);
    const struct catalog_place *place = &c->places[dst];
    const struct match_end to = {place->cloud, place->region, c->strings + place->region, false};
    const struct match_end from = {
        .cloud = catalog_find_text(c, src_cloud),
        .region = src_region ? catalog_find_text(c, src_region) : CATALOG_NO_TEXT,
        .region_text = src_region,
        .is_local = strcmp(src_cloud, "local") == 0,
    };
    const struct catalog_move *best = NULL;
    uint64_t best_rank = 0;

    for (size_t i = 0; i < c->n_moves; i++) {
        struct match_rule rule;
        match_prepare(c->strings, &c->rules[i], &rule);
        uint64_t rank = match_rank(&rule, match_source(&rule, &from), &from, &to);
        if (rank > best_rank) {
            best_rank = rank;
            best = &c->moves[i];
        }
    }
    return best;
}

const struct snapshot_storage *storage_best(const char *strings,
                                            const struct snapshot_storage *rows,
                                            size_t n,
                                            const char *cloud,
                                            const char *region)
{
    const struct snapshot_storage *best = NULL;
    uint32_t best_rank = 0;
    bool best_standard = false;

    for (size_t i = 0; i < n; i++) {
        const struct snapshot_storage *s = &rows[i];
        if (strcmp(strings + s->cloud, cloud) != 0)
            continue;
        uint32_t rank = match_region_rank(strings + s->region, region);
        bool standard = strcmp(strings + s->class, "standard") == 0;
        if (!rank || rank < best_rank || (rank == best_rank && best_standard && !standard))
            continue;
        if (best && rank == best_rank && best_standard == standard &&
            s->usd_per_gb_month >= best->usd_per_gb_month)
            continue;
        best_rank = rank;
        best_standard = standard;
        best = s;
    }
    return best;
}

bool catalog_storage_tariff(const struct catalog *c,
                            const char *cloud,
                            const char *region,
                            struct catalog_storage_tariff *out)
{
    const struct snapshot_storage *s =
        storage_best(c->strings, c->storage, c->n_storage, cloud, region);

    if (!s)
        return false;
    *out = (struct catalog_storage_tariff){s->usd_per_gb_month, s->usd_per_1000_read,
                                           s->usd_per_1000_write, s->usd_per_1000_list};
    return true;
}

double catalog_storage_usd(const struct catalog *c, size_t place)
{
    assert(place < c->n_places);
    return c->place_storage[place];
}

const char *catalog_date(const struct catalog *c)
{
    return catalog_text(c, c->meta->date);
}

bool catalog_source(const struct catalog *c,
                    const char *cloud,
                    const char **source_out,
                    const char **date_out)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        const struct snapshot_source *s = &c->sources[i];
        if (strcmp(c->strings + s->cloud, cloud) != 0)
            continue;
        *source_out = c->strings + s->source;
        *date_out = c->strings + s->date;
        return true;
    }
    return false;
}

void catalog_free(struct catalog *c)
{
    if (!c)
        return;
    if (c->mapped)
        munmap(c->mapped, c->n_mapped);
    free(c->owned);
    free(c->origin);
    free(c);
}

static int open_in_place(
    struct catalog *c, const char *name, const void *bytes, size_t len, struct err *e)
{
    c->bytes = bytes;
    c->n_bytes = len;
    if (snapshot_open(name, bytes, len, c, e) < 0)
        return -1;
    const char *origin = catalog_text(c, c->meta->origin), *date = catalog_date(c);
    c->origin = *date ? mem_printf("%s, %s", origin, date) : mem_dup(origin);
    return 0;
}

struct catalog *catalog_open_bytes(const char *name, const void *bytes, size_t len, struct err *e)
{
    AUTO(catalog) struct catalog *c = mem_zero(1, sizeof *c);

    if ((uintptr_t)bytes % _Alignof(struct snapshot_header) != 0) {
        c->owned = mem_zero(len, 1);
        memcpy(c->owned, bytes, len);
        bytes = c->owned;
    }
    return open_in_place(c, name, bytes, len, e) < 0 ? NULL : TAKE(c);
}

struct catalog *catalog_open_owned(const char *name, void *bytes, size_t len, struct err *e)
{
    AUTO(catalog) struct catalog *c = mem_zero(1, sizeof *c);

    c->owned = bytes;
    return open_in_place(c, name, bytes, len, e) < 0 ? NULL : TAKE(c);
}

struct catalog *catalog_open_file(const char *path, struct err *e)
{
    AUTO(catalog) struct catalog *c = mem_zero(1, sizeof *c);

    c->mapped = file_map(path, &c->n_mapped, e);
    if (!c->mapped || open_in_place(c, path, c->mapped, c->n_mapped, e) < 0)
        return NULL;
    return TAKE(c);
}
