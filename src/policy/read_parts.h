/* read_parts: what the files that read problems and traces share. For files of policy/ alone. */
#ifndef POLICY_READ_PARTS_H
#define POLICY_READ_PARTS_H

#include "base/json.h"
#include "policy/read.h"

#include <stdbool.h>

/* A trace that is lines: the first tells the types, each of the others a job or a step of prices.
 */
struct policy_lines {
    bool used;          /* false: it is one object */
    size_t *job_line;   /* of each of the root's jobs */
    json_t *prices;     /* the lines that are steps of prices; NULL = none */
    size_t *price_line; /* of each of them */
    size_t cap_jobs, cap_prices;
};

/* The file as one object, whatever it is; lines_out NULL: one object is all it may be. NULL with
 * ERR_USAGE and the line. Clear the lines in any case. */
json_t *policy_json_read(const char *bytes,
                         size_t n,
                         struct policy_lines *lines_out,
                         struct err *e);
void policy_lines_clear(struct policy_lines *l);

#endif
