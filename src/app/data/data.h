/* data: operations on files, sets, metadata and provenance. */
#ifndef APP_DATA_DATA_H
#define APP_DATA_DATA_H

#include "app/core/operation.h"

extern const struct operation *const data_operations[]; /* ends with NULL */

extern const struct operation set_create_operation, set_list_operation;

/* What set.list answers with, and set.create as the first part of its answer. */
struct data_set {
    const char *name;
    int64_t version;
    uint64_t files, bytes;
    int64_t created_ms;
    const char *creator;
    const char *owner, *group; /* group "" = none */
    const char *mode;          /* "640" */
};

/* Where two references of set.create held different versions of one file. */
struct data_conflict {
    const char *path;
    int64_t kept;
    const char *kept_of;
    int64_t dropped;
    const char *dropped_of;
};

struct data_set_created {
    struct data_set set; /* without owner, group and mode */
    struct field_list parents;
    struct field_records conflicts; /* struct data_conflict, the first thousand */
    int64_t n_conflicts;
};

#endif
