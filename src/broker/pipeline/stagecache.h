/* stagecache: whether a stage is run again, and what its jobs used of their code. */
#ifndef BROKER_PIPELINE_STAGECACHE_H
#define BROKER_PIPELINE_STAGECACHE_H

#include "broker/core/details.h"
#include "broker/core/runs.h"
#include "broker/pipeline/codefiles.h"
#include "lake/job/job.h"

/* What the agent told of the files in a job's work/ that its command used. */
struct stagecache_told {
    const char *const *paths;
    size_t n;
    const char *doubt; /* why all of the code counts; "" = it does not */
};

/* Records what the job used, as digests of the stored versions, together with what the job had used
 * whose checkpoint it began with. *why_out: why all of the code counts, a new string; NULL = it
 * does not. */
int stagecache_note(struct lake *l,
                    struct codefiles_cache *cache,
                    const struct lake_job *job,
                    const struct job_details *details,
                    const struct stagecache_told *told,
                    char **why_out,
                    struct err *e);

/* What `run --why` tells of a stage. */
struct stagecache_answer {
    int64_t job;        /* the job whose output is reused; 0 = the stage runs */
    int64_t last;       /* its last finished job; 0 = none */
    const char **lines; /* what changed since: "train.py changed"; in the arena */
    size_t n_lines;
    const char *counts; /* what of its code decides, a sentence; NULL = it has no code */
    const char **used;  /* files that were seen to be used, where their contents decide */
    size_t n_used;
};
/* Of stage i of a run that is composed and not stored. The stages it needs are asked before: those
 * that run again are themselves a reason. Stages that are reused become so in the run, for those
 * that follow. */
int stagecache_ask(struct lake *l,
                   struct runs *runs,
                   struct run *run,
                   size_t i,
                   struct arena *arena,
                   struct stagecache_answer *out,
                   struct err *e);

#endif
