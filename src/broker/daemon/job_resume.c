/* What an earlier broker left under way. */
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"

#include <string.h>

static void resume_here(struct broker *b, struct attempt *j)
{
    struct err why = {0};

    if (attempt_was_begun(j) || j->job.state == LAKE_JOB_RUNNING) {
        j->started = j->job.state == LAKE_JOB_RUNNING;
        attempt_follow(j, false, &why);
    } else if (attempt_is_prepared(j) && j->details.nodes > 1 && !j->stop_wanted) {
        j->phase = ATTEMPT_READY;
    } else if (attempt_is_prepared(j)) {
        /* Its agent may be about to start, even if it is to be stopped. */
        if (attempt_follow(j, true, &why) < 0)
            step_end(b, j, LAKE_JOB_FAILED, why.text);
    } else if (j->job.state == LAKE_JOB_LAUNCHING) {
        step_add(b, j, LAKE_JOB_FETCHING, STEP_PREPARE, "")->change.machine = "local";
    } else {
        job_prepare(b, j);
    }
}

static void resume_there(struct broker *b, struct attempt *j)
{
    bool has_host = j->remote->machine.facts.token[0];

    if (j->job.state == LAKE_JOB_RUNNING || (has_host && attempt_is_sent(j))) {
        j->started = j->job.state == LAKE_JOB_RUNNING;
        j->phase = ATTEMPT_REREADING;
    } else if (has_host && j->job.state == LAKE_JOB_FETCHING) {
        job_prepare(b, j);
    } else {
        j->phase = ATTEMPT_RENTING;
        job_give(b, j, ATTEMPT_RENT);
    }
}

/* Which host it has, by the records. */
static int find_host(struct broker *b, struct attempt *j, struct err *e)
{
    AUTO(machines) struct machines *records = machines_open(b->o->home, e);
    struct err why = {0};

    attempt_set_remote(j);
    if (!records || hosts_ready(b, e) < 0)
        return -1;
    int found = host_find(records, j->job.id, &j->remote->attempt, &j->remote->machine, &why);
    j->remote->found_attempt = j->remote->attempt;
    if (found == 0) {
        /* Intended, but nobody knows whether the pool was asked. */
        if (!j->remote->machine.facts.address[0])
            j->remote->machine = (struct machine){0};
        attempt_set_host(j, b->o->agent);
        return 0;
    }
    /* One that was given back behind our back still runs its job. */
    bool had_host = j->remote->attempt > 1 && j->job.state >= LAKE_JOB_RUNNING;
    if (!had_host)
        j->remote->machine = (struct machine){0};
    else
        attempt_set_host(j, b->o->agent);
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

int job_resume(struct broker *b, struct attempt *j, struct err *e)
{
    if (strcmp(j->details.on, "local") != 0 && find_host(b, j, e) < 0)
        return -1;
    job_add(b, j);
    attempt_forget_warnings(j);
    bool lacks_host = j->remote && !j->remote->machine.facts.token[0];
    if (lacks_host && j->job.state >= LAKE_JOB_RUNNING)
        step_end(b, j, LAKE_JOB_LOST, "there is no record of its host");
    else if (j->job.state == LAKE_JOB_STORING && j->job.asked.output)
        job_store(b, j);
    else if (j->job.state == LAKE_JOB_STORING)
        step_end(b, j, LAKE_JOB_FINISHED, "");
    else if (j->remote)
        resume_there(b, j);
    else
        resume_here(b, j);
    return 0;
}
