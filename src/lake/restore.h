/* restore: set versions whose content was let go, what it takes to have it again, and which would
 * be worth letting go. Versions, digests and provenance always stay. */
#ifndef LAKE_RESTORE_H
#define LAKE_RESTORE_H

#include "lake/job.h"
#include "lake/set.h"

/* On a set version that a replay made because it differs from what was recorded; its value is the
 * recorded one: "@S:3". */
#define LAKE_TAG_NON_DETERMINISTIC "non_deterministic"

/* The job that made the set version; 0 = none did. */
int lake_set_maker(struct lake *l, int64_t set_version, int64_t *job_out, struct err *e);

struct lake_gone {
    uint64_t files, bytes;
};
/* How much of the content of a set version (or of the part that ref names) is not there. */
int lake_set_gone(struct lake *l, const struct lake_ref *ref, struct lake_gone *out, struct err *e);

/* The next version of the set that base is a version of, made from base: what it holds of each old
 * set version is taken out, and what new_set has in the same directories comes in. Where it held
 * all of a directory, it gets all of it; where a single file, that one. */
struct lake_swap {
    const char *old_set, *new_set; /* "@S:1", "@S:2" */
};
int lake_set_swap(struct lake *l,
                  const struct lake_ref *base,
                  const struct lake_swap *swaps,
                  size_t n,
                  struct lake_set *out, /* its name is borrowed from base */
                  struct err *e);

/* As lake_job_store, for a job that is to make `set` ("@S:3") again. Where it wrote just the files
 * that this one holds, no version is made: their content is there again, and that is the job's
 * output. Where not, the new version is tagged LAKE_TAG_NON_DETERMINISTIC. */
int lake_job_restore(struct lake *l,
                     struct lake_job_change *change,
                     const char *directory,
                     const char *set,
                     const struct lake_progress *progress,
                     struct err *e);

/* A set version that could be let go: a job made it, nobody pinned it or gave it an alias, no job
 * that is not over works on it, and no replay of it gave something else. */
struct lake_spare {
    int64_t version; /* id in table set_version */
    const char *ref; /* "@S:3" */
    int64_t job;
    uint64_t only_bytes; /* of content that is there and that nothing else holds: sets made from it
                          * by hand do not count, they come back with it */
};
/* In order of age. For the project's admin. */
int lake_spare_list(struct lake *l,
                    int (*visit)(void *context, const struct lake_spare *spare, struct err *e),
                    void *context,
                    struct err *e);

#endif
