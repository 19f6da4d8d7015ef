/* put: puts local files into the lake and gets them back. */
#ifndef LAKE_PUT_PUT_H
#define LAKE_PUT_PUT_H

#include "lake/core/files.h"

struct lake_put_options {
    const char *const *sources; /* files, directories, or "-" alone: standard input */
    size_t n_sources;
    const char *destination; /* as cp -r: with '/' at the end each source goes below it */
    const char *set;         /* also make a version of this set of them; NULL = no */
    const char *const *tags; /* "k=v", put on every new version, and on the set version */
    size_t n_tags;
    /* Makes a new version even of unchanged content. Content that cannot be read is stored again,
     * which repairs all versions with that content. */
    bool force;
    /* The sources are copies that go after the call: a put that fails leaves no session. */
    bool sources_pass;
    const char
        *again; /* how to go on with a session, for errors; NULL = "run the same put again" */
    struct lake_progress progress;
};

struct lake_put_file {
    const char *path;
    int64_t number;
    uint64_t size;
    struct sha256_digest digest;
    bool unchanged;
};

struct lake_put_summary {
    uint64_t files, unchanged, bytes, new_bytes;
    int64_t set_number; /* of options->set */
    int64_t session;    /* 0 = nothing had to be stored */
    bool resumed;       /* went on with a session that was interrupted */
    uint64_t skipped;   /* links to directories, sockets and the like: in the log */
};

typedef int lake_visit_put(void *context, const struct lake_put_file *file, struct err *e);

/* Puts all files or none. Content is stored and synced first; then one transaction numbers the
 * versions in the order of the request, which is also the order of visit. A put that progress, a
 * signal or kill -9 stops leaves a session; the same call resumes it. */
int lake_put(struct lake *l,
             const struct lake_put_options *options,
             lake_visit_put *visit,
             void *context,
             struct lake_put_summary *summary,
             struct err *e);

struct lake_get_options {
    const char *const *refs;
    size_t n_refs;
    const char *directory; /* full lake paths are recreated below it */
    bool force;            /* overwrite files that differ */
    bool link;             /* reflink or hard link where possible (read-only files then) */
    struct lake_progress progress;
};

struct lake_get_summary {
    uint64_t files, bytes, unchanged, linked;
};

/* Compares local files first, then writes. Without force, local files that differ are ERR_USAGE
 * that names some, and no file is written. Each file appears whole and verified, or not at all.
 * Damaged or missing content leaves out its files: the others are written, and the error names
 * those. */
int lake_get(struct lake *l,
             const struct lake_get_options *options,
             struct lake_get_summary *summary,
             struct err *e);

/* The content of one file version in order, verified. */
int lake_cat(struct lake *l,
             const struct lake_ref *ref,
             int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
             void *context,
             struct err *e);

/* A URL that reads this file version alone, for expires_s seconds (1 .. 604800), without the
 * caller's credentials. ERR_NOFIT where the store is a directory. */
int lake_url(struct lake *l,
             const struct lake_ref *ref,
             unsigned expires_s,
             struct store_url *out,
             struct err *e);

#endif
