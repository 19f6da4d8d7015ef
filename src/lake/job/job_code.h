/* job_code: what a job used of its code, as digests of the stored versions, and the key by which a
 * later stage with the same command, variables and input finds the job. */
#ifndef LAKE_JOB_JOB_CODE_H
#define LAKE_JOB_JOB_CODE_H

#include "base/hash.h"
#include "lake/core/ref.h"

struct arena;

/* What is recorded of one job. */
struct lake_job_code {
    int64_t job;
    /* Set version of the code that all of this speaks of; 0 = of several (the job began with a
     * checkpoint that other code had made), or there was no code. */
    int64_t code_version;
    const char
        *why; /* why all of the code counts; "" = the used files alone; NULL = not recorded */
    struct sha256_digest names; /* of the names of all files */
    struct sha256_digest whole; /* of the names and contents of all files */
    int64_t used;               /* id of the list of used files; 0 = none */
    int64_t asked_version; /* set version of the code that the job was submitted with; 0 = none */
};

/* From now on the job can be found by the key. */
int lake_job_code_tag(struct lake *l, int64_t id, const struct sha256_digest *key, struct err *e);
/* Records code_version, why, names and whole, and the list of used files: bytes of its reader's
 * own, stored once for all jobs with the same. Replaces what was recorded before. */
int lake_job_code_note(struct lake *l,
                       const struct lake_job_code *code,
                       const void *used,
                       size_t n_used,
                       struct err *e);
/* 1: *out is filled in, its text in the arena; 0: there is no record. */
int lake_job_code_load(
    struct lake *l, int64_t id, struct arena *arena, struct lake_job_code *out, struct err *e);
/* Finished jobs with the key, the newest first, at most `limit`: how many; -1: e. */
int lake_job_code_find(struct lake *l,
                       const struct sha256_digest *key,
                       struct arena *arena,
                       struct lake_job_code *out,
                       size_t limit,
                       struct err *e);
/* The list of used files of this id, in the arena. */
int lake_job_code_used(struct lake *l,
                       int64_t used,
                       struct arena *arena,
                       const void **bytes_out,
                       size_t *n_out,
                       struct err *e);

struct lake_code_file {
    const char *path; /* borrowed for the call */
    bool executable;
    struct sha256_digest digest;
};
/* The files of a set version, in byte order of their paths. */
int lake_job_code_files(struct lake *l,
                        int64_t set_version,
                        int (*visit)(void *context, const struct lake_code_file *f, struct err *e),
                        void *context,
                        struct err *e);

#endif
