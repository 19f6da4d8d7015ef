/* geo: operations on geo-distributed training: plan where its function and store go, run it, and
 * average files of tensors. */
#ifndef APP_GEO_GEO_H
#define APP_GEO_GEO_H

#include "app/core/operation.h"

/* ---- averaging files ---- */

/* Not in the table: the files are the caller's, and the process forks. */
extern const struct operation aggregate_operation; /* answers with struct app_aggregated */

struct app_aggregated {
    const char *out;
    uint64_t files;
    bool weighted;
    uint64_t dropped; /* files at either end, of each number */
    uint64_t tensors, copied, numbers, nonfinite, bytes;
    bool trimmed; /* for printers, and not in JSON */
};

#endif
