/* internal: what the files of app/catalog share. */
#ifndef APP_CATALOG_INTERNAL_H
#define APP_CATALOG_INTERNAL_H

#include "app/catalog/catalog.h"
#include "catalog/catalog.h"

/* The catalog in use. The caller frees it. */
struct catalog *app_catalog_open(struct app *app, struct err *e);

/* NULL for "": as texts of the catalog say that something is not known. */
static inline const char *app_catalog_known(const char *text)
{
    return text && *text ? text : NULL;
}

#endif
