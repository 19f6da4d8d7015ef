/* profile_import: runs that were measured elsewhere: from a CSV file, kept in a profile's file. */
#ifndef BROKER_LEARN_PROFILE_IMPORT_H
#define BROKER_LEARN_PROFILE_IMPORT_H

#include "base/auto.h"
#include "base/err.h"
#include "estimate/fit.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct profile_run {
    const char *name; /* where it comes from: "runs.csv:7" */
    double cpus, memory_mb, runtime_s;
    const char **values; /* one for each column */
};

struct profile_runs {
    struct arena *arena;  /* of all of it; NULL = none */
    const char **columns; /* values of the command, by name; in order */
    size_t n_columns;
    struct profile_run *items;
    size_t n, cap;
};
void profile_runs_clear(struct profile_runs *r);

/* Reads a file with a header: cpus, memory_mb and runtime_s, every other column a value of the
 * command. ERR_USAGE names file and line. */
int profile_runs_read(const char *path, struct profile_runs *out, struct err *e);
/* Adds the runs of `from` that `to` has not; same columns, else ERR_USAGE, as past FIT_RUNS_MAX. */
int profile_runs_add(struct profile_runs *to,
                     const struct profile_runs *from,
                     size_t *n_added_out,
                     struct err *e);
/* Index of the column; n_columns = there is none. */
size_t profile_runs_column(const struct profile_runs *r, const char *name);

json_t *profile_runs_json(const struct profile_runs *r);
/* -1: it is no such object. */
int profile_runs_from_json(const json_t *root, struct profile_runs *out);

#endif
