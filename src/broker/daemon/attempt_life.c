/* Drives attempts at jobs through the table of broker/core/job_life.c: events in, actions out.
 * Called by the broker's loop (broker.c). */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/kept.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* How often a host's lease is renewed. */
#define REACH_MS (MACHINE_LEASE_MS / 4)

/* ---- actions: each returns the event that follows at once, or EVENT_NONE ---- */

static enum life_event record_launch(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_LAUNCHING, true, "");
    return EVENT_NONE;
}

static enum life_event record_machine(struct broker *b, struct attempt *j)
{
    if (j->remote)
        host_record(b, j);
    else
        step_add(b, j, LAKE_JOB_FETCHING, true, "")->change.machine = "local";
    return EVENT_NONE;
}

static enum life_event record_local(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_LAUNCHING, false, "")->change.devices = j->devices;
    return record_machine(b, j);
}

static enum life_event record_queued(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_QUEUED, true, j->why);
    return EVENT_NONE;
}

static enum life_event record_running(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_RUNNING, false, "")->change.limits = j->beginning.text;
    return EVENT_NONE;
}

/* Other jobs may use this machine from now on; a host has to be cleared first. */
static void free_room(struct broker *b, const struct attempt *j)
{
    if (!j->remote)
        queue_free_room(b->queue, j->job.id);
}

static enum life_event record_outcome(struct broker *b, struct attempt *j)
{
    free_room(b, j);
    outcome_record(b, j);
    return EVENT_NONE;
}

static enum life_event provision_other(struct broker *b, struct attempt *j)
{
    host_replace(j);
    attempt_give(b, j, ACTION_PROVISION);
    return EVENT_NONE;
}

/* A machine that a worker thread is still provisioning is released when the thread has it. */
static enum life_event release(struct broker *b, struct attempt *j)
{
    if (!j->work)
        attempt_gang_release(b, j);
    return EVENT_NONE;
}

static enum life_event gather(struct broker *b, struct attempt *j)
{
    if (j->stop_wanted)
        return attempt_because(j, EVENT_STOPPED, "%s", j->stop_reason);
    bool complete = j->state == LIFE_PREPARED
                        ? attempt_gang_is_prepared(b, j)
                        : attempt_gang_has_machines(b, j) && attempt_gang_is_together(b, j);
    return complete ? EVENT_GANG_COMPLETE : EVENT_NONE;
}

static enum life_event fetch_again(struct broker *b, struct attempt *j)
{
    attempt_give(b, j, ACTION_FETCH);
    return EVENT_NONE;
}

static enum life_event fetch(struct broker *b, struct attempt *j)
{
    struct err why = {0};

    attempt_gang_tell_hosts(b, j);
    if (j->remote || j->job.asked.input || j->job.asked.code || j->details.continues)
        return fetch_again(b, j);
    /* Nothing to fetch: done here, which takes less than waking a thread. */
    return attempt_prepare(j, NULL, &why) < 0 ? attempt_because(j, EVENT_FAILED, "%s", why.text)
                                              : EVENT_FETCHED;
}

static enum life_event follow_agent(struct attempt *j, bool start)
{
    struct err why = {0};
    int result = attempt_follow(j, start, &why);

    if (result < 0)
        return attempt_because(j, EVENT_FAILED, "%s", why.text);
    return result > 0 ? EVENT_DISCONNECTED : EVENT_NONE;
}

static enum life_event start(struct broker *b, struct attempt *j)
{
    (void)b;
    return follow_agent(j, !j->started);
}

static enum life_event follow(struct broker *b, struct attempt *j)
{
    (void)b;
    return follow_agent(j, false);
}

static enum life_event stop_agent(struct broker *b, struct attempt *j)
{
    struct err why = {0};

    if (j->remote) {
        int64_t retry_ms = j->retry_ms;
        attempt_give(b, j, ACTION_STOP_AGENT);
        j->retry_ms = retry_ms; /* of the connection to the agent */
        return EVENT_NONE;
    }
    j->stop_sent = exec_stop(&j->host, j->job.id, j->stop_grace_s, j->stop_reason, &why) == 0;
    if (!j->stop_sent)
        log_warn("broker", "job %" PRId64 " cannot be stopped yet: %s", j->job.id, why.text);
    return EVENT_NONE;
}

/* Whichever is recorded first holds: this end or the worker thread's result. */
static enum life_event note_killed(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_KILLED, false, j->why);
    j->stop_sent = true;
    return EVENT_NONE;
}

static enum life_event end(struct broker *b, struct attempt *j)
{
    static const enum lake_job_state states[LIFE_STATES] = {[LIFE_FINISHED] = LAKE_JOB_FINISHED,
                                                            [LIFE_FAILED] = LAKE_JOB_FAILED,
                                                            [LIFE_KILLED] = LAKE_JOB_KILLED,
                                                            [LIFE_LOST] = LAKE_JOB_LOST};

    free_room(b, j);
    struct step *s = step_add(b, j, states[j->state], true, j->why);
    attempt_bill(b, j, &s->change);
    return EVENT_NONE;
}

/* A host is not needed any more once the output is here. */
static void release_host(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    if (!r || !r->collected || !r->machine.facts.token[0])
        return;
    AUTO_MEM char *why = mem_printf("the output of job %" PRId64 " is here", j->job.id);
    hosts_clear(b, &r->machine, why, true);
    r->machine = (struct machine){0};
}

static enum life_event record_unsaved(struct broker *b, struct attempt *j)
{
    bool is_over = j->state == LIFE_KEPT;

    free_room(b, j);
    struct step *s = step_add(b, j, LAKE_JOB_UNSAVED, is_over, j->why);
    s->change.saves_later = !is_over;
    if (is_over)
        return EVENT_NONE;
    /* Other jobs of its user have their turn while it waits. */
    if (!j->remote)
        queue_done(b->queue, j->job.id);
    release_host(b, j);
    return EVENT_NONE;
}

static enum life_event forget(struct broker *b, struct attempt *j)
{
    int64_t id = j->job.id;

    attempt_finish(b, j);
    step_tell_end(b, id);
    return EVENT_NONE;
}

/* Actions that are missing are tasks of worker threads, as they are. */
static life_fn *const actions[LIFE_ACTIONS] = {
    [ACTION_RECORD_LAUNCH] = record_launch,
    [ACTION_RECORD_LOCAL] = record_local,
    [ACTION_RECORD_QUEUED] = record_queued,
    [ACTION_RECORD_MACHINE] = record_machine,
    [ACTION_RECORD_RUNNING] = record_running,
    [ACTION_RECORD_OUTCOME] = record_outcome,
    [ACTION_RECORD_UNSAVED] = record_unsaved,
    [ACTION_PROVISION_OTHER] = provision_other,
    [ACTION_HOLD] = hosts_hold,
    [ACTION_RELEASE] = release,
    [ACTION_ASK_GANG] = attempt_gang_ask,
    [ACTION_GATHER] = gather,
    [ACTION_FETCH] = fetch,
    [ACTION_FETCH_AGAIN] = fetch_again,
    [ACTION_START] = start,
    [ACTION_FOLLOW] = follow,
    [ACTION_STOP_AGENT] = stop_agent,
    [ACTION_CONCLUDE] = outcome_of_program,
    [ACTION_NOTE_KILLED] = note_killed,
    [ACTION_END] = end,
    [ACTION_FORGET] = forget,
};

static enum life_event act(struct broker *b, struct attempt *j, enum life_action action)
{
    if (actions[action])
        return actions[action](b, j);
    if (action != ACTION_NONE)
        attempt_give(b, j, action);
    return EVENT_NONE;
}

enum life_event attempt_because(struct attempt *j, enum life_event event, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(j->why, sizeof j->why, fmt, ap);
    va_end(ap);
    return event;
}

void attempt_fire(struct broker *b, struct attempt *j, enum life_event event)
{
    while (event != EVENT_NONE && !life_is_final(j->state)) {
        const struct life_row *row = life_find(j->state, event);
        assert(row);
        log_debug("broker", "job %" PRId64 ": %s -> %s", j->job.id, life_state_text(row->from),
                  life_state_text(row->next));
        j->state = row->next;
        if (!life_find(row->next, EVENT_DUE))
            j->retry_ms = 0;
        event = act(b, j, row->action); /* which may have freed j: then EVENT_NONE */
        assert(event == EVENT_NONE || life_raises(row->action, event));
    }
}

/* ---- beginning ---- */

static void add_attempt(struct broker *b, struct attempt *j)
{
    b->attempts = mem_room(b->attempts, b->n_attempts, &b->cap_attempts, sizeof *b->attempts);
    b->attempts[b->n_attempts++] = j;
    j->log_bytes = b->settings.log_bytes;
}

bool attempt_launch(struct broker *b, int64_t id)
{
    struct err why = {0};
    AUTO(attempt) struct attempt *j = attempt_new(b->lake, id, b->o->home, b->o->agent, &why);
    bool is_remote = j && strcmp(j->details.on, "local") != 0;

    if ((!j && broker_passes(&why)) || (is_remote && hosts_ready(b, &why) < 0)) {
        /* Logged at the first time, the second, the fourth ... */
        if ((b->unlaunched & (b->unlaunched + 1)) == 0)
            log_warn("broker", "job %" PRId64 " cannot start now; trying again: %s", id, why.text);
        b->unlaunched++;
        return false;
    }
    if (!j) {
        queue_done(b->queue, id);
        step_note(b, id, LAKE_JOB_FAILED, why.text);
        return true;
    }
    if (is_remote && hosts_is_cleared_first(b, id))
        return false;
    enum life_event turn = EVENT_TURN_LOCAL;
    if (!is_remote)
        attempt_set_devices(j, queue_held(b->queue, id));
    if (is_remote) {
        attempt_set_remote(j);
        j->remote->waits = hosts_is_held(b, id) && j->job.state == LAKE_JOB_QUEUED;
        turn = j->remote->waits ? EVENT_TURN_AGAIN : EVENT_TURN;
    }
    add_attempt(b, j);
    attempt_fire(b, TAKE(j), turn);
    return true;
}

/* ---- jobs that an earlier broker left running ---- */

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

bool attempt_is_here(struct attempt *j)
{
    if (j->remote && !j->remote->collected)
        j->remote->collected = kept_is_collected(j->home, j->job.id);
    return j->remote ? j->remote->collected
                     : !strcmp(j->details.on, "local") || kept_is_collected(j->home, j->job.id);
}

static enum life_event resume_point(struct attempt *j)
{
    bool lacks_host = j->remote && !j->remote->machine.facts.token[0];

    if (j->job.state == LAKE_JOB_UNSAVED && (!lacks_host || attempt_is_here(j)))
        return attempt_because(j, EVENT_FOUND_UNSAVED, "%s", j->job.reason);

    if (lacks_host && j->job.state >= LAKE_JOB_RUNNING)
        return attempt_because(j, EVENT_LOST, "there is no record of its host");
    if (j->job.state == LAKE_JOB_STORING)
        return EVENT_FOUND_EXITED;
    return j->remote ? resume_there(j) : resume_here(j);
}

int attempt_resume(struct broker *b, struct attempt *j, struct err *e)
{
    if (strcmp(j->details.on, "local") != 0 && find_host(b, j, e) < 0)
        return -1;
    add_attempt(b, j);
    attempt_forget_warnings(j);
    j->state = LIFE_RESUMED;
    attempt_fire(b, j, resume_point(j));
    return 0;
}

/* ---- news ---- */

void attempt_hear(struct broker *b, struct attempt *j)
{
    bool had_started = j->started;
    enum life_event event = attempt_read(j);

    if (j->started && !had_started)
        attempt_fire(b, j, EVENT_STARTED);
    if (event == EVENT_NONE)
        host_heard(j);
    else if (event == EVENT_DISCONNECTED && j->remote && host_is_lost(b, j, j->agent_error.text))
        event = host_lost(j, "");
    attempt_fire(b, j, event);
}

/* What the result of each action of a worker thread means. */
static life_fn *const outcomes[LIFE_ACTIONS] = {
    [ACTION_PROVISION] = outcome_of_provision, [ACTION_ASK_GANG] = attempt_gang_answer,
    [ACTION_FETCH] = outcome_of_fetch,         [ACTION_REACH] = outcome_of_reach,
    [ACTION_RENEW_LEASE] = outcome_of_lease,   [ACTION_SAVE_CHECKPOINT] = outcome_of_checkpoint,
    [ACTION_STOP_AGENT] = outcome_of_stop,     [ACTION_SAVE] = outcome_of_save,
    [ACTION_STORE] = outcome_of_store,
};

void attempt_continue(struct broker *b, struct attempt *j)
{
    enum life_action done = j->work;

    j->work = ACTION_NONE;
    if (j->is_done)
        attempt_finish(b, j);
    else if (!life_is_final(j->state))
        attempt_fire(b, j, outcomes[done](b, j));
}

/* ---- time passes ---- */

static void reread(struct broker *b, struct attempt *j)
{
    bool had_started = j->started;
    struct err why = {0};

    /* Tags and metrics that the lake has not taken yet come first. */
    if (j->n_tags || j->n_metrics)
        return;
    int more = attempt_reread(j, &why);
    if (j->started && !had_started)
        attempt_fire(b, j, EVENT_STARTED);
    if (more < 0)
        attempt_fire(b, j, attempt_because(j, EVENT_LOST, "%s", why.text));
    else if (more == 0)
        attempt_fire(b, j, EVENT_REPLAYED);
}

static void renew_or_save(struct broker *b, struct attempt *j, int64_t now_ms)
{
    struct remote *r = j->remote;

    if (!r->save_at_ms)
        r->save_at_ms = now_ms + (int64_t)(j->details.checkpoint_s * 1000);
    if (!r->reach_at_ms)
        r->reach_at_ms = now_ms + REACH_MS;
    if (now_ms >= r->reach_at_ms)
        attempt_fire(b, j, EVENT_LEASE_DUE);
    else if (j->details.checkpoint_s > 0 && now_ms >= r->save_at_ms)
        attempt_fire(b, j, EVENT_CHECKPOINT_DUE);
}

void attempt_look_after(struct broker *b, struct attempt *j, int64_t now_ms)
{
    if (j->state == LIFE_REPLAYING)
        reread(b, j);
    else if (j->state == LIFE_BOOTING || j->state == LIFE_GATHERING || j->state == LIFE_PREPARED)
        attempt_fire(b, j, gather(b, j));
    if (j->retry_ms && now_ms >= j->retry_ms && !j->work) {
        j->retry_ms = 0;
        attempt_fire(b, j, EVENT_DUE);
    }
    if (j->remote && j->state == LIFE_RUNNING && !j->work && j->started)
        renew_or_save(b, j, now_ms);
}

/* ---- stopping ---- */

/* A pipeline's second Ctrl-C means now. */
static double grace_s(struct broker *b, const struct attempt *j)
{
    unsigned how = 1;
    struct err why = {0};

    if (j->job.asked.run && runs_stop_asked(b->runs, j->job.asked.run, &how, &why) < 0)
        log_warn("broker", "run %" PRId64 ": %s", j->job.asked.run, why.text);
    return how > 1 ? 0 : ATTEMPT_GRACE_S;
}

static void stop_running(struct broker *b, struct attempt *j)
{
    double grace = grace_s(b, j);

    if (j->stop_sent && grace >= j->stop_grace_s)
        return;
    if (j->remote && (j->work || time_monotonic_ms() < j->remote->stop_at_ms))
        return;
    j->stop_grace_s = grace;
    attempt_fire(b, j, EVENT_STOP);
}

void attempt_stop(struct broker *b, struct attempt *j)
{
    bool stores = j->state == LIFE_STORING;

    /* The output stays: a worker thread that has it may store it, and a host keeps it. */
    if (j->state == LIFE_UNSAVED) {
        if (!j->work && attempt_is_here(j))
            attempt_fire(b, j, EVENT_STOPPED);
        return;
    }

    if (j->state == LIFE_RUNNING || j->state == LIFE_DISCONNECTED || j->state == LIFE_REACHING) {
        stop_running(b, j);
        return;
    }
    /* What a worker thread fetches here is here soon. */
    bool fetches = j->state == LIFE_FETCHING && j->remote;
    bool waits = j->state == LIFE_PROVISIONING || j->state == LIFE_GANG_WAITING ||
                 j->state == LIFE_BOOTING || j->state == LIFE_GATHERING ||
                 j->state == LIFE_PREPARED;
    if ((waits || fetches || stores) && (!j->stop_sent || !j->work))
        attempt_fire(b, j,
                     attempt_because(j, j->work ? EVENT_STOP_BUSY : EVENT_STOPPED, "%s%s",
                                     j->stop_reason,
                                     stores ? ", while its output was stored" : ""));
}

/* ---- the end ---- */

/* The checkpoint of a job that did not finish stays for a job that continues it. A finished job no
 * longer needs the checkpoint that it continued. */
static void tidy(struct broker *b, const struct attempt *j)
{
    bool finished = false, has_checkpoint = j->details.checkpoint_s > 0;
    struct lake_job job;

    if (j->state == LIFE_KEPT || (j->state == LIFE_FAILED && j->leaves_output)) {
        attempt_tidy_unsaved(j->home, j->job.id, j->state == LIFE_KEPT);
        return;
    }
    if (has_checkpoint || j->details.continues)
        finished = lake_job_load(b->lake, j->job.id, NULL, &job, NULL) == 0 &&
                   job.state == LAKE_JOB_FINISHED;
    attempt_tidy(j->home, j->job.id, has_checkpoint && !finished);
    if (finished && j->details.continues)
        checkpoint_drop(j->home, j->details.continues);
}

static void clear_hosts(struct broker *b, const struct attempt *j)
{
    const struct remote *r = j->remote;
    AUTO_MEM char *why = mem_printf("job %" PRId64 " is over", j->job.id);

    if (r->former.facts.token[0])
        hosts_clear(b, &r->former, why, false);
    if (r->launch.heir.facts.token[0])
        hosts_clear(b, &r->launch.heir, why, false);
    if (r->machine.facts.token[0] && idle_keep(b, j))
        queue_done(b->queue, j->job.id);
    else if (r->machine.facts.token[0])
        hosts_clear(b, &r->machine, why, true);
    else
        hosts_close_bill(b, j->job.id);
}

void attempt_forget(struct broker *b, struct attempt *j)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i] == j) {
            b->attempts[i] = b->attempts[--b->n_attempts];
            break;
        }
    attempt_free(j);
}

void attempt_finish(struct broker *b, struct attempt *j)
{
    if (j->work) {
        j->is_done = true;
        return;
    }
    b->stage_ended = b->stage_ended || j->job.asked.run || j->details.nodes > 1;
    tidy(b, j);
    if (j->remote) {
        hosts_forget_held(b, j->job.id);
        clear_hosts(b, j);
    } else {
        queue_done(b->queue, j->job.id);
    }
    attempt_forget(b, j);
}
