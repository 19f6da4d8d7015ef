/* get_parts: what the halves of get share: looking and writing. */
#ifndef LAKE_PUT_GET_PARTS_H
#define LAKE_PUT_GET_PARTS_H

#include "lake/core/internal.h"
#include "lake/put/put.h"
#include "lake/put/tree.h"

#include <pthread.h>

/* A group of files is looked at or written together. */
#define GET_GROUP_FILES 1024
#define GET_GROUP_BYTES ((uint64_t)16 << 20)
#define GET_NAMED_MAX 5

enum get_state { GET_NEW, GET_REPLACE, GET_UNCHANGED };

struct get_entry {
    size_t path; /* where in paths */
    int64_t version;
    uint64_t size;
    enum get_state state;
};

/* Some names of many. */
struct get_names {
    uint64_t n;
    char text[300];
};
void get_names_add(struct get_names *names, const char *name);

struct get {
    struct lake *l;
    const struct lake_get_options *o;
    struct lake_get_summary *summary;
    struct get_entry *entries; /* in byte order of the paths */
    size_t n_entries, cap_entries;
    char *paths;
    size_t paths_len, paths_cap;
    struct tree tree;
    uint64_t all_files, all_bytes;
    pthread_mutex_t lock; /* guards what follows, and the summary */
    uint64_t files_done, bytes_done;
    bool stopped;
    struct get_names damaged, gone;
    struct err first; /* the first damage, in its own words */
};

const char *get_path(const struct get *g, size_t i);
/* What a file version holds. *executable_out may be NULL. */
int get_object(
    struct lake *l, int64_t version, struct object *out, bool *executable_out, struct err *e);
/* From any thread; false = stop. */
bool get_tell(struct get *g, uint64_t more_files, uint64_t more_bytes);
/* The digest of what an open file holds. */
int get_hash(int fd, const char *name, struct sha256_digest *out, struct err *e);

/* Fills in the states. ERR_USAGE names differing files, unless force. */
int get_look(struct get *g, struct err *e);
/* Writes what is not unchanged. */
int get_write(struct get *g, struct err *e);

#endif
