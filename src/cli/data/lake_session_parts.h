/* lake_session_parts: upload sessions as they are shown, and lists of targets as they are read. */
#ifndef CLI_DATA_LAKE_SESSION_PARTS_H
#define CLI_DATA_LAKE_SESSION_PARTS_H

#include "lake/put/session.h"

#include <jansson.h>

struct lake_session_show {
    bool json;
    bool urls; /* of the files that have not arrived */
};

/* One session with its files. */
int lake_session_show(struct lake *l,
                      int64_t id,
                      const struct lake_session_show *show,
                      struct err *e);
/* The pending ones. */
int lake_session_show_all(struct lake *l, const struct lake_session_show *show, struct err *e);

struct lake_session_targets {
    struct lake_target *targets;
    struct sha256_digest *digests;
    size_t n;
    char **paths; /* n of them, that targets borrow; NULL = none */
    json_t *json; /* that the paths are borrowed from; NULL = none */
};
void lake_session_targets_clear(struct lake_session_targets *t);
/* An array of {path, size_bytes, sha256}, the last two optional; other fields do not matter, so
 * that the output of ls and put can be used. */
int lake_session_read_targets(const char *file, struct lake_session_targets *out, struct err *e);

#endif
