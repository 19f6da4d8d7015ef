/* market: operations on price histories of spot instances, and the records they answer with. */
#ifndef APP_MARKET_MARKET_H
#define APP_MARKET_MARKET_H

#include "app/core/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct operation *const market_operations[]; /* ends with NULL */

extern const struct operation market_list_operation;

/* ---- market.import ---- */

extern const struct operation market_import_operation; /* answers with struct app_market_imported */

struct app_market_count {
    const char *reason;
    uint64_t count;
};
struct app_market_dropped {
    uint64_t line;
    const char *why;
};
struct app_market_rows {
    uint64_t rows_read, rows_kept, rows_dropped, lives;
    struct field_records dropped, notes; /* struct app_market_count, none of them 0 */
};
struct app_market_file {
    const char *path, *format;
    struct app_market_rows rows;
    const void *first; /* struct app_market_dropped; NULL = no row was dropped for its content */
    struct app_market_dropped dropped; /* what first points to */
};
struct app_market_imported {
    struct app_market_rows rows;    /* of all files */
    struct field_records files;     /* struct app_market_file */
    struct field_list unrecognised; /* files of directories that hold no history */
    bool changed;
    uint64_t offers, records; /* of all histories, in use now */
};

#endif
