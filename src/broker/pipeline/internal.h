/* advance_parts: what the files that move a pipeline on share. Not for others. */
#ifndef BROKER_PIPELINE_INTERNAL_H
#define BROKER_PIPELINE_INTERNAL_H

#include "base/hash.h"
#include "broker/core/runs.h"
#include "lake/core/path.h"
#include "lake/job/job.h"
#include "spec/config.h"

#define STAGE_CACHE_KEY "cache_key"
/* Jobs that a stage is given, one after another, when machines get lost. */
#define STAGE_ATTEMPTS_MAX 3

struct advance {
    struct runs *runs;
    struct lake *lake;
    const struct config *config; /* for prices; NULL = it cannot be read now */
    struct run *run;
    bool changed; /* something was done: another look is worth it */
    bool new_jobs;
};

int advance_set_stage(struct advance *a,
                      size_t i,
                      enum run_stage_state state,
                      int64_t job,
                      const char *why,
                      struct err *e);

struct job_outcome {
    enum lake_job_state state;
    char reason[2048];
    char output_set[2 * LAKE_NAME_MAX];
    bool ran; /* its command was started */
};
/* Every stage that is no service is over. */
bool advance_is_served(const struct advance *a);

int advance_read_job(struct advance *a, int64_t job, struct job_outcome *out, struct err *e);

/* ---- its input (advance_input.c) ---- */

struct refs {
    char **texts; /* owned */
    size_t n, cap;
};
void refs_clear(struct refs *r);

/* All that the stage reads, as references; what it needs has finished. */
int advance_refs(struct advance *a, size_t i, struct refs *out, struct err *e);
/* A set version of them; NULL when there are none. */
int advance_make_input(
    struct advance *a, size_t i, const struct refs *refs, char **ref_out, struct err *e);
/* Of a stage that repeats a job: the recorded input where that is right, else the same with what
 * was made since. */
int advance_repeat_input(struct advance *a, size_t i, char **input_out, struct err *e);

/* ---- whether it was done before (advance_cache.c) ---- */

/* Of everything that decides what a stage makes: input by its versions, code, command, variables.
 * Of secrets the names alone: a digest of a short value would give it away. */
int advance_cache_key(struct advance *a,
                      size_t i,
                      const struct refs *refs,
                      char out[static SHA256_HEX],
                      struct err *e);
/* A finished job with this key, whose output is still there; 0 = none. */
int advance_find_done(
    struct advance *a, const char *key, bool has_output, int64_t *job_out, struct err *e);
/* What its job makes can be found by the key from now on. */
int advance_tag_key(struct advance *a, int64_t job, const char *key, struct err *e);
/* Whether a set version (or a part of it) is there with all its content: 1, 0, -1. */
int advance_is_there(struct lake *l, const char *text, struct err *e);

/* ---- its jobs (advance_job.c) ---- */

/* A stage whose needs are met gets its job, or those of a gang: one that was submitted before a
 * crash and not written down, one of an earlier run that made the same, or a new one. */
int advance_start(struct advance *a, size_t i, struct err *e);
/* Of a stage that is under way: what became of its job. One that was lost with its machine is
 * followed by another, STAGE_ATTEMPTS_MAX in all. */
int advance_look(struct advance *a, size_t i, struct err *e);
/* Asks all its jobs to end. */
int advance_stop(struct advance *a, size_t i, const char *why, struct err *e);

#endif
