/* lake_progress: the line that says how far a put, get, gc or fsck is, and its end by Ctrl-C. */
#ifndef CLI_CORE_LAKE_PROGRESS_H
#define CLI_CORE_LAKE_PROGRESS_H

#include "cli/core/progress.h"
#include "lake/core/lake.h"

#include <stdint.h>

struct lake_progress_line {
    struct progress line;
    const char *verb; /* "storing" */
    double began_s;
};

/* Begins to watch for Ctrl-C and for a terminal that goes. The result goes into the options of a
 * lake call and borrows *p. */
struct lake_progress lake_progress_begin(struct lake_progress_line *p, const char *verb);
/* Takes the line away; before anything is printed. */
void lake_progress_end(struct lake_progress_line *p);

/* "storing 1,204 of 20,000 files, 12.3 MiB of 1.2 GiB, 310 MiB/s, 4 s left"; unknown parts are left
 * out. Written into out and returned. */
const char *lake_progress_text(const char *verb,
                               const uint64_t done[2], /* files, bytes */
                               const uint64_t all[2],  /* the same; 0 = not known */
                               double elapsed_s,
                               char out[static 160]);

#endif
