/* Jobs that an earlier broker left running: where the records say that each continues. Called by
 * broker.c at its start. */
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"

#include <string.h>

static enum life_event resume_here(struct attempt *j)
{
    if (attempt_was_begun(j) || j->job.state == LAKE_JOB_RUNNING) {
        j->started = j->job.state == LAKE_JOB_RUNNING;
        return EVENT_FOUND_RUNNING;
    }
    if (attempt_is_prepared(j) && j->details.nodes > 1 && !j->stop_wanted)
        return EVENT_FOUND_GATHERED;
    /* The agent may be about to start, even if the job is to be stopped. */
    if (attempt_is_prepared(j))
        return EVENT_FOUND_PREPARED;
    return j->job.state == LAKE_JOB_LAUNCHING ? EVENT_FOUND_LAUNCHED : EVENT_FOUND_PLACED;
}

static enum life_event resume_there(struct attempt *j)
{
    bool has_host = j->remote->machine.facts.token[0];

    if (j->job.state == LAKE_JOB_RUNNING || (has_host && attempt_is_sent(j))) {
        j->started = j->job.state == LAKE_JOB_RUNNING;
        return EVENT_FOUND_SENT;
    }
    return has_host && j->job.state == LAKE_JOB_FETCHING ? EVENT_FOUND_PLACED
                                                         : EVENT_FOUND_UNPLACED;
}

/* Finds the job's host in the record of machines. */
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
        /* Intended; whether the pool was asked is not recorded. */
        if (!j->remote->machine.facts.address[0])
            j->remote->machine = (struct machine){0};
        attempt_set_host(j, b->o->agent);
        return 0;
    }
    /* A host that another process released still runs its job. */
    bool had_host = j->remote->attempt > 1 && j->job.state >= LAKE_JOB_RUNNING;
    if (!had_host)
        j->remote->machine = (struct machine){0};
    else
        attempt_set_host(j, b->o->agent);
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

static enum life_event resume_point(struct attempt *j)
{
    bool lacks_host = j->remote && !j->remote->machine.facts.token[0];

    if (lacks_host && j->job.state >= LAKE_JOB_RUNNING)
        return attempt_because(j, EVENT_LOST, "there is no record of its host");
    if (j->job.state == LAKE_JOB_STORING)
        return j->job.asked.output ? EVENT_FOUND_EXITED : EVENT_STORED;
    return j->remote ? resume_there(j) : resume_here(j);
}

int attempt_resume(struct broker *b, struct attempt *j, struct err *e)
{
    if (strcmp(j->details.on, "local") != 0 && find_host(b, j, e) < 0)
        return -1;
    attempt_add(b, j);
    attempt_forget_warnings(j);
    j->state = LIFE_RESUMED;
    attempt_fire(b, j, resume_point(j));
    return 0;
}
