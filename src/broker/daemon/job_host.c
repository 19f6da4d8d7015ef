/* The host of a job: found, lost, and changed for another. */
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"

#include <string.h>

/* ---- a host that does not answer ---- */

bool rent_is_lost(const struct broker *b, struct attempt *j, const char *why)
{
    struct remote *r = j->remote;
    int64_t now_ms = time_monotonic_ms(), most_ms = (int64_t)(b->settings.host_lost_s * 1000);

    if (!r->silent_since_ms)
        r->silent_since_ms = now_ms;
    snprintf(r->silence, sizeof r->silence, "%s", why);
    if (now_ms - r->silent_since_ms >= most_ms)
        return true;
    if (!j->retry_ms)
        attempt_try_later(j);
    if (j->retry_ms > r->silent_since_ms + most_ms)
        j->retry_ms = r->silent_since_ms + most_ms;
    return false;
}

void rent_give_up(struct broker *b, struct attempt *j, const char *what)
{
    const struct remote *r = j->remote;
    char silent[32];

    time_text((double)(time_monotonic_ms() - r->silent_since_ms) / 1000, silent);
    if (j->stop_wanted) {
        AUTO_MEM char *why = mem_printf("stopped: %s; its host has not answered for %s, and what "
                                        "runs there ends when it does",
                                        j->stop_reason, silent);
        step_end(b, j, LAKE_JOB_KILLED, why);
        return;
    }
    AUTO_MEM char *why =
        mem_printf("%sits host has not answered for %s: %s", what, silent, r->silence);
    step_end(b, j, LAKE_JOB_LOST, why);
}

void rent_heard(struct attempt *j)
{
    j->broken = 0;
    if (j->remote)
        j->remote->silent_since_ms = 0;
}

/* ---- a host for it ---- */

void rent_record(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    if (!gang_has_machines(b, j))
        return;
    r->recorded = true;
    if (r->waits)
        step_add(b, j, LAKE_JOB_LAUNCHING, STEP_NOTHING, "");
    r->waits = false;
    if (r->former.facts.token[0]) {
        AUTO_MEM char *why = mem_printf("%s was given up: %s; now on %s", r->former.facts.address,
                                        r->silence, j->host.address);
        step_add(b, j, LAKE_JOB_LAUNCHING, STEP_NOTHING, why);
        hosts_clear(b, &r->former, "it was given up", false);
        r->former = (struct machine){0};
    } else if (j->job.state > LAKE_JOB_LAUNCHING) {
        step_add(b, j, LAKE_JOB_LAUNCHING, STEP_NOTHING, "its host was given back");
    }
    j->phase = ATTEMPT_RECORDED;
    step_add(b, j, LAKE_JOB_FETCHING, STEP_PREPARE, "")->change.machine = j->host.address;
}

static void go_to_host(struct broker *b, struct attempt *j)
{
    rent_heard(j);
    attempt_set_host(j, b->o->agent);
    hosts_forget_held(b, j->job.id);
    j->phase = ATTEMPT_HOSTED;
    if (j->stop_wanted)
        step_end(b, j, LAKE_JOB_KILLED, j->stop_reason);
    else
        rent_record(b, j);
}

static void no_other_host(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;
    AUTO_MEM char *why =
        mem_printf("%s; there is no other host for it: %s", r->silence, j->task_trouble.text);

    r->machine = r->former;
    r->former = (struct machine){0};
    step_end(b, j, LAKE_JOB_FAILED, why);
}

bool rent_done(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;
    const struct err *why = &j->task_trouble;
    bool passes = r->refused == CLOUD_TRANSIENT || r->refused == CLOUD_THROTTLE ||
                  r->refused == CLOUD_UNKNOWN;

    if (why->kind == ERR_NONE && !r->gang_until_ms) {
        go_to_host(b, j);
        return true;
    }
    bool is_full = r->refused == CLOUD_CAPACITY || r->refused == CLOUD_QUOTA;
    if (is_full || r->refused == CLOUD_UNSUPPORTED)
        r->machine = (struct machine){0}; /* of which nothing was kept */
    if (j->stop_wanted) {
        step_end(b, j, LAKE_JOB_KILLED, j->stop_reason);
    } else if (r->gang_until_ms) {
        gang_give_back(b, j);
    } else if (r->former.facts.token[0] && !passes) {
        no_other_host(b, j);
    } else if (is_full && j->details.nodes > 1) {
        gang_wait(b, j);
    } else if (is_full && r->waits) {
        hosts_hold(b, j);
        return false;
    } else if (is_full) {
        j->phase = ATTEMPT_RECORDED;
        step_add(b, j, LAKE_JOB_QUEUED, STEP_HOLD, why->text);
    } else if (!passes || rent_is_lost(b, j, why->text)) {
        step_end(b, j, LAKE_JOB_FAILED, why->text);
    }
    return true;
}

void rent_other(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    r->former = r->machine;
    r->machine = (struct machine){0};
    r->attempt++;
    r->silent_since_ms = 0;
    j->broken = 0;
    j->phase = ATTEMPT_RENTING;
    job_give(b, j, ATTEMPT_RENT);
}

void rent_leave(struct broker *b, struct attempt *j, const char *why)
{
    snprintf(j->remote->silence, sizeof j->remote->silence, "%.199s", why);
    if (j->details.nodes > 1)
        step_end(b, j, LAKE_JOB_LOST, why); /* the others of its gang were told this host */
    else
        rent_other(b, j);
}
