/* lake_progress: the progress of a put, get, gc or fsck as a line of text. */
#ifndef CLI_CORE_LAKE_PROGRESS_H
#define CLI_CORE_LAKE_PROGRESS_H

#include <stdint.h>

/* "storing 1,204 of 20,000 files, 12.3 MiB of 1.2 GiB, 310 MiB/s, 4 s left"; unknown parts are left
 * out. Written into out and returned. */
const char *lake_progress_text(const char *verb,
                               const uint64_t done[2], /* files, bytes */
                               const uint64_t all[2],  /* the same; 0 = not known */
                               double elapsed_s,
                               char out[static 160]);

#endif
