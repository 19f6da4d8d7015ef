/* commit: the one transaction that numbers the versions of a put or a session. */
#ifndef LAKE_PUT_COMMIT_H
#define LAKE_PUT_COMMIT_H

#include "lake/core/internal.h"
#include "lake/put/put.h"

struct commit_file {
    const char *path; /* borrowed until the next one is asked for */
    int64_t object;   /* present */
    uint64_t size;
    bool executable;
    bool vacant;              /* as in version_new */
    struct version_done done; /* once added */
};

/* The files, wherever the caller keeps them. */
struct commit_list {
    const char *owner; /* of files and of a set that are new */
    size_t n;
    void (*get)(void *context, size_t i, struct commit_file *out);
    void (*done)(void *context, size_t i, const struct version_done *done);
    /* Index of the nth in byte order of the paths. */
    size_t (*by_path)(void *context, size_t n);
    void *context;
};

/* Versions in the order of the list, tags on the new ones, the set version. In a transaction, whose
 * commit is the caller's. set_version_out: id, 0 without a set. */
int commit_versions(struct lake *l,
                    const struct commit_list *list,
                    const struct lake_put_options *o, /* set, tags, force */
                    struct lake_put_summary *summary,
                    int64_t *set_version_out,
                    struct err *e);

/* Whether the files are just those that a set version holds: paths, content, executable or not: 1,
 * 0, -1. In a transaction. */
int commit_same(struct lake *l, const struct commit_list *list, int64_t set_version, struct err *e);

/* What else belongs into the transaction of a put. */
struct commit_also {
    const char *name;  /* instead of the put's command line: what an interrupted one is found by */
    const char *owner; /* of what is put, instead of the caller */
    /* Id of a set version that may be what is put: then nothing is made, and run gets this one; 0 =
     * none. */
    int64_t unless;
    int (*run)(void *context, int64_t set_version, struct err *e);
    void *context;
};
/* lake_put with a set; without any files nothing happens, run is not called either. */
int put_also(struct lake *l,
             const struct lake_put_options *options,
             const struct commit_also *also,
             struct lake_put_summary *summary,
             struct err *e);

/* Whether the content of an object is there: 1, 0, -1. */
int commit_present(struct lake *l, int64_t object, struct err *e);

#endif
