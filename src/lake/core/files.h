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

typedef int lake_visit_file(void *context, const struct lake_file *file, struct err *e);

/* Lists the files of ref, NULL = "/". Without recursive: the files and directories directly in a
 * directory; a set lists all its files in both cases. Files that the caller may not read are left
 * out. Here and below visit runs inside a query: visit must not list, resolve or begin a
 * transaction. */
int lake_list(struct lake *l,
              const struct lake_ref *ref,
              bool recursive,
              lake_visit_file *visit,
              void *context,
              struct err *e);
/* All versions of one file, newest first, removed ones included. */
int lake_log(struct lake *l,
             const struct lake_ref *ref,
             lake_visit_file *visit,
             void *context,
             struct err *e);

/* Removes versions from listings. Numbers, digests and provenance stay; content stays as long as a
 * set, job, pin or session needs it. FILE with a number: that version; FILE without a number, PATH:
 * the whole file; TREE: only with recursive; SET: that set version, unless others were made from
 * it. A version that a job used is ERR_USAGE, unless replayable. In one transaction. */
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
/* owner "ann", ":team" or "ann:team"; an empty team: no group. Admins may set any owner; an owner
 * may set one of the caller's own groups. */
int lake_chown(struct lake *l, const char *owner, const char *const *refs, size_t n, struct err *e);

#endif
