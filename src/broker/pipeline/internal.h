/* internal: what the files that advance a pipeline offer each other (advance*.c). */
#ifndef BROKER_PIPELINE_INTERNAL_H
#define BROKER_PIPELINE_INTERNAL_H

#include "base/hash.h"
#include "broker/core/runs.h"
#include "broker/pipeline/codefiles.h"
#include "lake/core/path.h"
#include "lake/job/job.h"
#include "spec/config.h"

/* The tag by which earlier versions of the program found the job of a stage. */
#define STAGE_CACHE_KEY "cache_key"
/* Most jobs of a stage, one after another, when its machines get lost. */
#define STAGE_ATTEMPTS_MAX 3

struct advance {
    struct runs *runs;
    struct lake *lake;
    const struct config *config; /* for prices; NULL = unreadable now */
    struct run *run;
    struct codefiles_cache code;
    bool changed; /* something was done: look at all stages again */
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
    bool ran;     /* the command was started */
    bool is_over; /* in a final state, or unsaved for good */
};
/* Whether every stage that is not a service is over. */
bool advance_is_served(const struct advance *a);

int advance_read_job(struct advance *a, int64_t job, struct job_outcome *out, struct err *e);

/* ---- input of a stage (advance_input.c) ---- */

struct refs {
    char **texts; /* owned */
    size_t n, cap;
};
void refs_clear(struct refs *r);

/* All inputs of the stage, as references; the stages that it needs have finished. */
int advance_refs(struct advance *a, size_t i, struct refs *out, struct err *e);
/* A set version of the references; NULL when there are none. */
int advance_make_input(
    struct advance *a, size_t i, const struct refs *refs, char **ref_out, struct err *e);
/* The input of a stage that repeats a job: the recorded one where that is right, else the same with
 * the versions made since. */
int advance_repeat_input(struct advance *a, size_t i, char **input_out, struct err *e);

/* Each reference with a digest of the versions it stands for: "@S:3 DIGEST". */
int advance_input_texts(struct advance *a,
                        const struct refs *refs,
                        struct refs *out,
                        struct err *e);
/* The files of all references, in order. */
int advance_hash_input(struct advance *a, const struct refs *refs, struct sha256 *h, struct err *e);
/* Whether a set version (or a part of it) exists with all its content: 1, 0, -1. */
int advance_is_there(struct lake *l, const char *text, struct err *e);

/* ---- reuse of earlier results (stagecache.c) ---- */

/* Whether what the stage uses of its code is to be learned while it runs. */
bool stagecache_learns(const struct run_stage_plan *p);
/* The digest of everything but learned code that decides the output of a stage: command, variables,
 * versions of its input, image, and the code picked by hand. Of secrets the names alone: a digest
 * of a short value would reveal it. inputs: advance_input_texts. */
int stagecache_key(struct advance *a,
                   size_t i,
                   const struct refs *inputs,
                   struct sha256_digest *out,
                   struct err *e);
/* The newest finished job with this key that used the same code and whose output still exists; 0 =
 * none. */
int stagecache_find(struct advance *a,
                    size_t i,
                    const struct refs *refs,
                    const struct sha256_digest *key,
                    int64_t *job_out,
                    struct err *e);
/* Once all jobs of a gang have finished: what any of them used counts for the first. */
int stagecache_join(struct advance *a, int64_t first, unsigned nodes, struct err *e);

/* ---- what changed since (why.c) ---- */

struct why {
    char **lines; /* "train.py changed"; owned */
    size_t n, cap;
    size_t left_out; /* files that there is no line for */
    int64_t job;     /* the earlier job; 0 = the stage has not finished before */
    char *doubt;     /* why all of the code counts; NULL = it does not, or nothing of it changed */
};
void why_clear(struct why *w);
/* Takes the line over. */
void why_add(struct why *w, char *line);
/* What distinguishes the stage from its last finished job. inputs NULL: they are not known yet. */
int why_find(
    struct advance *a, size_t i, const struct refs *inputs, struct why *out, struct err *e);
/* All of it in one line; "" = nothing. New string. */
char *why_line(const struct why *w);

/* ---- jobs of a stage (advance_job.c) ---- */

/* Gives a stage whose needs are met its job, or the jobs of its gang: one that was submitted before
 * a crash and not recorded, one of an earlier run with the same result, or a new one. */
int advance_start(struct advance *a, size_t i, struct err *e);
/* Looks at the job of a running stage. A job that was lost with its machine is followed by another,
 * STAGE_ATTEMPTS_MAX in all. */
int advance_look(struct advance *a, size_t i, struct err *e);
/* Asks all jobs of the stage to stop. */
int advance_stop(struct advance *a, size_t i, const char *why, struct err *e);

#endif
