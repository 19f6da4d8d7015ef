/* fetch: data that lies elsewhere, copied to the lake before a run needs it. */
#ifndef APP_RUN_FETCH_H
#define APP_RUN_FETCH_H

#include "app/core/app.h"

#include <stdbool.h>

/* Whether app_run_fetch knows the scheme: s3://, gs://, az://, https://, http://. */
bool app_run_fetch_can(const char *uri);

/* Where app_run_fetch puts the object or the directory at uri. New string. */
char *app_run_fetch_path(const char *uri);

/* Copies the objects at uri to "/sources/SCHEME/HOST/...", with the tags source and etag; objects
 * whose etag has not changed are not fetched again. *ref_out, the caller's: a file, or a set of
 * exactly these objects. ERR_NOFIT, before anything is copied, when the disk of the home is too
 * small. */
int app_run_fetch(struct app *app, const char *uri, char **ref_out, struct err *e);

#endif
