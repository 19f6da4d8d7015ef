#include "catalog/storage.h"

#include "catalog/internal.h"
#include "catalog/match.h"

#include <string.h>

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
