/* The states of a job and their names. Everything that shows or stores a job uses them. */
#include "lake/job/job.h"

#include "base/nearest.h"

#include <string.h>

#define N_STATES 9

static const char *const names[N_STATES] = {
    "queued", "launching", "fetching", "running", "storing", "finished", "failed", "killed", "lost",
};

const char *lake_job_state_text(enum lake_job_state state)
{
    return state >= LAKE_JOB_QUEUED && state <= LAKE_JOB_LOST ? names[state - 1] : "unknown";
}

int lake_job_state_parse(const char *text, enum lake_job_state *out, struct err *e)
{
    for (size_t i = 0; i < N_STATES; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum lake_job_state)(i + 1);
            return 0;
        }
    const char *close = nearest(text, names, N_STATES);
    if (close)
        return err_set(e, ERR_USAGE, "\"%.40s\" is no state of a job: did you mean %s?", text,
                       close);
    return err_set(e, ERR_USAGE,
                   "\"%.40s\" is no state of a job: queued, launching, fetching, running, storing, "
                   "finished, failed, killed or lost",
                   text);
}

bool lake_job_state_final(enum lake_job_state state)
{
    return state >= LAKE_JOB_FINISHED;
}
