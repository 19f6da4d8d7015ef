/* lake_open: the lake that the configuration tells of, for the operations that work on it, and
 * values of its metadata as JSON. */
#ifndef APP_CORE_LAKE_OPEN_H
#define APP_CORE_LAKE_OPEN_H

#include "base/json.h"
#include "lake/core/lake.h"

struct app;
struct config;
struct lake_modes;
struct lake_value;

/* The lake of a configuration, made when it is not there. project NULL = "default"; user NULL = the
 * user of this process. */
struct lake *app_lake_as(
    const struct config *c, const char *project, const char *user, bool admin, struct err *e);

/* The lake below $TRADEWIND_HOME, made when it is not there. The caller is the user of this process
 * and admin of the project `default`. */
struct lake *app_lake_here(struct err *e);

/* The store of the configuration: url is absolute ("dir:objects" lies below home), the rest is
 * borrowed from c. The caller frees *url_out, which settings->url points to. */
int app_store_settings(const struct config *c,
                       struct store_settings *out,
                       char **url_out,
                       struct err *e);

/* Home and store directory of an app, for lake_modes; they live as long as app and *url_out, which
 * the caller frees. */
int app_modes(struct app *app, struct lake_modes *out, char **url_out, struct err *e);

/* Where contents of a store that is not a directory are kept for the next time; the caller frees
 * it. NULL: nowhere. */
char *app_store_cache(const struct config *c, uint64_t *bytes_out);

/* A path made absolute, without "." and ".." in it. The caller frees it; NULL: ERR_IO. */
char *app_absolute_path(const char *path, struct err *e);

/* A value of metadata: a number as a number (a whole one exactly), time and text as a string, a tag
 * without a value as true. New reference. */
json_t *lake_value_json(const struct lake_value *v);

#endif
