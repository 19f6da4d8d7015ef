/* The host of a job: provisioned, silent, lost, replaced by another. Called by attempt_life.c and
 * attempt_outcome.c. */
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"

#include <string.h>

/* How often a machine that boots is looked at. */
#define BOOT_LOOK_MS 3000
/* More refusals of one gang than this lead nowhere. */
#define GANG_MOVES_MAX 40

/* ---- a host that does not answer ---- */

bool host_is_lost(const struct broker *b, struct attempt *j, const char *why)
{
    struct remote *r = j->remote;
    int64_t now_ms = time_monotonic_ms(), most_ms = (int64_t)(b->settings.host_lost_s * 1000);

    if (!r->silent_since_ms || r->lacks_room)
        r->silent_since_ms = now_ms;
    snprintf(r->silent_reason, sizeof r->silent_reason, "%s", why);
    if (now_ms - r->silent_since_ms >= most_ms)
        return true;
    if (!j->retry_ms)
        attempt_try_later(j);
    if (j->retry_ms > r->silent_since_ms + most_ms)
        j->retry_ms = r->silent_since_ms + most_ms;
    return false;
}

enum life_event host_lost(struct attempt *j, const char *what)
{
    const struct remote *r = j->remote;
    char silent[32];

    time_text((double)(time_monotonic_ms() - r->silent_since_ms) / 1000, silent);
    if (j->stop_wanted)
        return attempt_because(j, EVENT_STOPPED,
                               "stopped: %s; its host has not answered for %s, and what runs there "
                               "ends when it does",
                               j->stop_reason, silent);
    return attempt_because(j, EVENT_LOST, "%sits host has not answered for %s: %s", what, silent,
                           r->silent_reason);
}

void host_heard(struct attempt *j)
{
    j->failures = 0;
    if (j->remote)
        j->remote->silent_since_ms = 0;
}

/* ---- a host for the job ---- */

void host_record(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    if (r->waits)
        step_add(b, j, LAKE_JOB_LAUNCHING, false, "");
    r->waits = false;
    if (r->former.facts.token[0]) {
        AUTO_MEM char *why = mem_printf("host %s is lost: %s; now on %s", r->former.facts.address,
                                        r->silent_reason, j->host.address);
        step_add(b, j, LAKE_JOB_LAUNCHING, false, why);
        hosts_clear(b, &r->former, "replaced by another host", false);
        r->former = (struct machine){0};
    } else if (j->job.state > LAKE_JOB_LAUNCHING) {
        step_add(b, j, LAKE_JOB_LAUNCHING, false, "its host was released");
    }
    step_add(b, j, LAKE_JOB_FETCHING, true, r->left_out)->change.machine = j->host.address;
}

static enum life_event no_other_host(struct attempt *j)
{
    struct remote *r = j->remote;

    r->machine = r->former;
    r->former = (struct machine){0};
    return attempt_because(j, EVENT_FAILED, "%s; there is no other host for it: %s",
                           r->silent_reason, j->task_error.text);
}

static enum life_event provisioned(struct broker *b, struct attempt *j)
{
    host_heard(j);
    attempt_set_host(j, b->o->agent);
    hosts_forget_held(b, j->job.id);
    return EVENT_PROVISIONED;
}

/* No machine is free: a gang releases those it has, any other job goes back to the queue. */
static enum life_event no_capacity(struct broker *b, struct attempt *j)
{
    if (j->details.nodes > 1) {
        attempt_gang_wait(b, j);
        return EVENT_NONE;
    }
    return attempt_because(j, j->remote->waits ? EVENT_STILL_FULL : EVENT_FULL, "%s",
                           j->task_error.text);
}

/* How far the launch is, once. */
static void tell_launch(struct broker *b, struct attempt *j, const char *text)
{
    struct remote *r = j->remote;

    if (!r->launch.offer.provider[0] || !*text || !strcmp(text, r->told))
        return;
    snprintf(r->told, sizeof r->told, "%s", text);
    step_add(b, j, LAKE_JOB_LAUNCHING, false, r->told);
}

/* A machine that boots is no silent one: limits.boot_s bounds the wait. */
static enum life_event boot_on(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    tell_launch(b, j, r->launch.note);
    r->silent_since_ms = 0;
    j->retry_ms = time_monotonic_ms() + BOOT_LOOK_MS;
    return EVENT_RETRY_LATER;
}

/* Of launches as of boots: it is no silence, and the cloud was not asked. */
static enum life_event await_turn(struct attempt *j)
{
    j->remote->silent_since_ms = 0;
    j->retry_ms = j->remote->launch.turn_ms;
    return EVENT_RETRY_LATER;
}

enum life_event outcome_of_provision(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;
    const struct err *why = &j->task_error;
    bool passes = r->refused == CLOUD_TRANSIENT || r->refused == CLOUD_THROTTLE ||
                  r->refused == CLOUD_UNKNOWN;
    bool is_full = r->refused == CLOUD_CAPACITY || r->refused == CLOUD_QUOTA;
    bool gang_waits = j->state == LIFE_GANG_WAITING;

    if (r->launch.offer.provider[0] && r->attempt > 1)
        b->has_given_up = true;
    if (why->kind == ERR_NONE && !gang_waits)
        return provisioned(b, j);
    if (r->launch.is_booting && !j->stop_wanted && !gang_waits)
        return boot_on(b, j);
    if (r->launch.awaits_turn && !j->stop_wanted && !gang_waits)
        return await_turn(j);
    if (is_full || r->launch.is_moved || r->refused == CLOUD_UNSUPPORTED ||
        r->refused == CLOUD_AUTH)
        r->machine = (struct machine){0}; /* which has no record */
    if (j->stop_wanted)
        return attempt_because(j, EVENT_STOPPED, "%s", j->stop_reason);
    if (r->launch.is_moved && (gang_waits || r->gang_moves < GANG_MOVES_MAX)) {
        tell_launch(b, j, r->launch.note);
        attempt_gang_move(b, j);
        return EVENT_NONE;
    }
    if (gang_waits)
        return EVENT_GANG_FULL;
    if (r->former.facts.token[0] && !passes)
        return no_other_host(j);
    if (is_full)
        return no_capacity(b, j);
    if (passes && !host_is_lost(b, j, why->text)) {
        tell_launch(b, j, why->text);
        return EVENT_RETRY_LATER;
    }
    return attempt_because(j, EVENT_FAILED, "%s", why->text);
}

void host_replace(struct attempt *j)
{
    struct remote *r = j->remote;

    r->former = r->machine;
    r->machine = (struct machine){0};
    r->attempt++;
    r->silent_since_ms = 0;
    j->failures = 0;
}
