/* The states of a job and their names. Everything that shows or stores a job uses them. */
#include "lake/job/job.h"

#include "base/nearest.h"

#include <string.h>

const char *const lake_job_state_texts[LAKE_JOB_LOST + 1] = {
    [LAKE_JOB_QUEUED] = "queued",     [LAKE_JOB_LAUNCHING] = "launching",
    [LAKE_JOB_FETCHING] = "fetching", [LAKE_JOB_RUNNING] = "running",
    [LAKE_JOB_STORING] = "storing",   [LAKE_JOB_FINISHED] = "finished",
    [LAKE_JOB_FAILED] = "failed",     [LAKE_JOB_KILLED] = "killed",
    [LAKE_JOB_LOST] = "lost",
};

const char *lake_job_state_text(enum lake_job_state state)
{
    return state >= LAKE_JOB_QUEUED && state <= LAKE_JOB_LOST ? lake_job_state_texts[state]
                                                              : "unknown";
}

int lake_job_state_parse(const char *text, enum lake_job_state *out, struct err *e)
{
    for (enum lake_job_state state = LAKE_JOB_QUEUED; state <= LAKE_JOB_LOST; state++)
        if (strcmp(text, lake_job_state_texts[state]) == 0) {
            *out = state;
            return 0;
        }
    const char *close = nearest(text, lake_job_state_texts + 1, LAKE_JOB_LOST);
    if (close)
        return err_set(e, ERR_USAGE, "\"%.40s\" is not a state of a job; did you mean %s?", text,
                       close);
    return err_set(
        e, ERR_USAGE,
        "\"%.40s\" is not a state of a job; give queued, launching, fetching, running, storing, "
        "finished, failed, killed or lost",
        text);
}

bool lake_job_state_final(enum lake_job_state state)
{
    return state >= LAKE_JOB_FINISHED;
}
