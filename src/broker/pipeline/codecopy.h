/* codecopy: a private copy of a working directory, or of an archive, as the lake gets it as code.
 */
#ifndef BROKER_PIPELINE_CODECOPY_H
#define BROKER_PIPELINE_CODECOPY_H

#include "base/err.h"
#include "broker/core/staging.h"
#include "broker/pipeline/listing.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct codecopy_file {
    const char *path; /* relative; of the arena */
    bool executable;
    uint64_t bytes;
    int64_t number; /* of its version in the lake, for code.c; 0 = none yet */
};

struct codecopy {
    char *directory;             /* where the copy is: below the staging directory */
    char *name;                  /* of the directory or archive, made fit for a set */
    struct codecopy_file *files; /* by path; at least one */
    size_t n;
    uint64_t bytes;
    struct listing list; /* what was listed of the directory; links that lead nowhere included */
};

/* Copies what code_store stores of the directory (code.h) into the staging directory, whose path is
 * real. Files are plain ones of mode 600 or 700: links are followed, those that lead out of the
 * directory are ERR_USAGE. An archive is unpacked in the staging directory first, by tar or unzip.
 * All of it is in the arena. */
int codecopy_make(const char *directory,
                  const struct staging *staging,
                  struct arena *arena,
                  struct codecopy *out,
                  struct err *e);

#endif
