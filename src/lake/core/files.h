/* files: listing, history and removal of file versions; permissions. */
#ifndef LAKE_CORE_FILES_H
#define LAKE_CORE_FILES_H

#include "lake/core/ref.h"

struct lake_file {
    const char *path; /* directories (in lake_list alone) end in '/' and have only that */
    int64_t number;
    int64_t version; /* id */
    uint64_t size;
    struct sha256_digest digest;
    struct lake_origin origin;
    const char *owner, *group; /* group "" = none */
    unsigned mode;             /* 0666 style: owner, group, others; read 4, write 2 */
    bool executable;
    bool removed; /* by rm */
    bool gone;    /* its content was removed by gc */
};

/* ref NULL = "/". Not recursive: what stands directly in a directory, its directories included;
 * sets list all their files either way. Files that may not be read are left out. Here and below
 * visit neither lists, resolves nor begins a transaction: it stands in the middle of a query. */
int lake_list(struct lake *l,
              const struct lake_ref *ref,
              bool recursive,
              int (*visit)(void *context, const struct lake_file *file, struct err *e),
              void *context,
              struct err *e);
/* All versions of one file, newest first, removed ones included. */
int lake_log(struct lake *l,
             const struct lake_ref *ref,
             int (*visit)(void *context, const struct lake_file *file, struct err *e),
             void *context,
             struct err *e);

/* Takes versions out of listings; numbers, digests and provenance stay, and content stays as long
 * as a set, job, pin or session needs it. FILE typed with a number: that version; FILE without,
 * PATH: the whole file; TREE: only when recursive; SET: that set version, which nothing may be
 * derived from. A version that a job used is ERR_USAGE unless replayable (33). In one transaction.
 */
struct lake_remove_options {
    bool recursive, replayable;
};
int lake_remove(struct lake *l,
                const char *const *refs,
                size_t n,
                const struct lake_remove_options *options,
                uint64_t *removed_out,
                struct err *e);

/* mode as chmod takes it: "640", "o-w", "g=r,o="; read and write only. Refs: files (any version
 * stands for the file), trees, sets. Only the owner or an admin may. In one transaction. */
int lake_chmod(struct lake *l, const char *mode, const char *const *refs, size_t n, struct err *e);
/* owner "ann", ":team" or "ann:team"; nothing behind the colon: no group. Giving away is for
 * admins; the owner may set a group of his.
 */
int lake_chown(struct lake *l, const char *owner, const char *const *refs, size_t n, struct err *e);

#endif
