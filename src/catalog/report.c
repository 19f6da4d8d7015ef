#include "catalog/report.h"

#include "base/mem.h"

#include <stdlib.h>

const char *catalog_table_text(enum catalog_table table)
{
    static const char *const texts[] = {
        [CATALOG_TABLE_UNKNOWN] = "unknown",     [CATALOG_TABLE_OFFERS] = "offers",
        [CATALOG_TABLE_TRANSFERS] = "transfers", [CATALOG_TABLE_STORAGE] = "storage",
        [CATALOG_TABLE_SOURCES] = "sources",     [CATALOG_TABLE_SKYPILOT] = "skypilot",
    };

    return texts[table];
}

const char *catalog_drop_text(enum catalog_drop drop)
{
    static const char *const texts[CATALOG_N_DROPS] = {
        [CATALOG_DROP_UNPRICED] = "no price in any market",
        [CATALOG_DROP_DUPLICATE] = "duplicate",
        [CATALOG_DROP_MALFORMED] = "malformed",
        [CATALOG_DROP_NO_HOST] = "accelerator without a priced host in its zone",
        [CATALOG_DROP_HOST_ALONE] = "host not sold without accelerator",
    };

    return texts[drop];
}

void catalog_report_clear(struct catalog_report *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].path);
        free(r->files[i].cloud);
    }
    free(r->files);
    for (size_t i = 0; i < r->n_unrecognised; i++)
        free(r->unrecognised[i]);
    free(r->unrecognised);
    *r = (struct catalog_report){0};
}

struct catalog_file_report *catalog_report_add(struct catalog_report *r,
                                               const char *path,
                                               enum catalog_table table)
{
    r->files = mem_room(r->files, r->n_files, &r->cap_files, sizeof *r->files);
    struct catalog_file_report *f = &r->files[r->n_files++];
    *f = (struct catalog_file_report){.path = mem_dup(path), .table = table};
    return f;
}

size_t catalog_report_dropped(const struct catalog_file_report *f)
{
    size_t n = 0;

    for (size_t i = 0; i < CATALOG_N_DROPS; i++)
        n += f->dropped[i];
    return n;
}
