/* import: adds files of price lists to the catalog in use, all of them or none. */
#ifndef CATALOG_IMPORT_H
#define CATALOG_IMPORT_H

#include "base/err.h"
#include "catalog/read.h"

#include <stdbool.h>
#include <stddef.h>

enum catalog_format { CATALOG_FORMAT_ANY, CATALOG_FORMAT_TRADEWIND, CATALOG_FORMAT_SKYPILOT };

struct catalog_import {
    const char *home;
    enum catalog_format format;
    const char *cloud; /* of SkyPilot files; NULL = by their names */
    const char *date;  /* today, "2026-08-22" */
    /* Called before each file is read; NULL = no progress is shown. */
    void (*progress)(void *context, const char *file);
    void *context;
};

struct catalog_import_path {
    const char *path;
    const char *name; /* what messages and the report call it; NULL = the path */
};

/* Directories (their CSVs and those of their subdirectories) and files, plain or gzip. Offers of
 * the clouds that are brought replace those of the catalog in use; transfers and storage replace
 * the whole table. ERR_USAGE changes nothing. The report tells about the files read so far even
 * on failure. */
int catalog_import(const struct catalog_import *how,
                   const struct catalog_import_path *paths,
                   size_t n_paths,
                   struct catalog_report *report,
                   struct err *e);

struct catalog;

/* What `catalog update` has of clouds: fill adds their offers to rows, and their sources, for which
 * old is the catalog in use. All that other clouds have stays. */
struct catalog_update {
    const char *home;
    const char *date; /* today */
    bool dry_run;     /* nothing comes into use */
    int (*fill)(void *context, const struct catalog *old, struct catalog_rows *rows, struct err *e);
    void *context;
};
/* Puts the updated catalog in use; NULL: e, and nothing has changed. The caller frees it. */
struct catalog *catalog_update(const struct catalog_update *how, struct err *e);

#endif
