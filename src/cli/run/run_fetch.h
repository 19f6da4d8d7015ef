/* run_fetch: data that lies elsewhere, brought to the lake before a run needs it. */
#ifndef CLI_RUN_RUN_FETCH_H
#define CLI_RUN_RUN_FETCH_H

#include "base/err.h"
#include "lake/core/lake.h"

#include <stdbool.h>

/* Whether run_fetch knows the way: s3://, https://, http://. */
bool run_fetch_can(const char *uri);

/* What lies at uri goes to "/sources/SCHEME/PLACE/...", with the tags source and etag; what is
 * there already and has not changed since is not fetched again. *ref_out, the caller's: a file, or
 * a set of exactly what is there. Nothing begins when the disk of home has not the room. */
int run_fetch(struct lake *l, const char *home, const char *uri, char **ref_out, struct err *e);

#endif
