#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How often a host's lease is renewed, and how soon again when that failed. */
#define REACH_MS (MACHINE_LEASE_MS / 4)
#define ERRAND_RETRY_MS 5000
/* An output that keeps changing while it is read is given up after these; with waits of up to 25 s
 * that is two minutes. */
#define STORE_TRIES 10

/* ---- beginning ---- */

void job_add(struct broker *b, struct attempt *j)
{
    b->attempts = mem_room(b->attempts, b->n_attempts, &b->cap_attempts, sizeof *b->attempts);
    b->attempts[b->n_attempts++] = j;
}

bool job_launch(struct broker *b, int64_t id)
{
    struct err why = {0};
    AUTO(attempt) struct attempt *j = attempt_new(b->lake, id, b->o->home, b->o->agent, &why);
    bool is_remote = j && strcmp(j->details.on, "local") != 0;

    if ((!j && broker_passes(&why)) || (is_remote && hosts_ready(b, &why) < 0)) {
        /* Told at the first time, the second, the fourth ... */
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
    struct attempt *kept = TAKE(j);
    job_add(b, kept);
    if (is_remote) {
        attempt_set_remote(kept);
        kept->remote->waits = hosts_is_held(b, id) && kept->job.state == LAKE_JOB_QUEUED;
    }
    if (is_remote && kept->remote->waits) {
        /* The record has that it waits; more is written when it has a host. */
        kept->phase = ATTEMPT_RENTING;
        job_give(b, kept, ATTEMPT_RENT);
        return true;
    }
    if (is_remote) {
        step_add(b, kept, LAKE_JOB_LAUNCHING, STEP_RENT, "");
        return true;
    }
    step_add(b, kept, LAKE_JOB_LAUNCHING, STEP_NOTHING, "");
    step_add(b, kept, LAKE_JOB_FETCHING, STEP_PREPARE, "")->change.machine = "local";
    return true;
}

static void start_agent(struct broker *b, struct attempt *j)
{
    struct err why = {0};

    j->phase = ATTEMPT_READY;
    if (j->stop_wanted)
        step_end(b, j, LAKE_JOB_KILLED, j->stop_reason);
    else if (gang_is_prepared(b, j) && attempt_follow(j, true, &why) < 0)
        step_end(b, j, LAKE_JOB_FAILED, why.text);
}

void job_prepare(struct broker *b, struct attempt *j)
{
    if (j->remote)
        j->remote->recorded = true;
    if (!gang_has_machines(b, j)) {
        j->phase = ATTEMPT_HOSTED;
        return;
    }
    gang_tell_hosts(b, j);
    /* Nothing to fetch: done here, which takes less than a thread's wake. */
    if (!j->remote && !j->job.asked.input && !j->job.asked.code && !j->details.continues) {
        struct err why = {0};
        if (attempt_prepare(j, NULL, &why) < 0)
            step_end(b, j, LAKE_JOB_FAILED, why.text);
        else
            start_agent(b, j);
        return;
    }
    j->phase = ATTEMPT_PREPARING;
    job_give(b, j, ATTEMPT_PREPARE);
}

void job_store(struct broker *b, struct attempt *j)
{
    j->phase = ATTEMPT_STORING;
    j->broken = 0;
    job_give(b, j, ATTEMPT_STORE);
}

/* ---- its input is there ---- */

static void after_prepare(struct broker *b, struct attempt *j)
{
    const struct err *why = &j->task_trouble;

    if (j->stop_sent) {
        step_end(b, j, LAKE_JOB_KILLED, j->stop_reason);
    } else if (why->kind == ERR_RETRY && !j->host_trouble) {
        attempt_try_later(j);
    } else if (why->kind == ERR_RETRY) {
        bool lost = rent_is_lost(b, j, why->text);
        if (lost && j->details.nodes > 1)
            rent_give_up(b, j, ""); /* the others of its gang were told this host */
        else if (lost)
            rent_other(b, j);
    } else if (why->kind == ERR_NOFIT && j->host_trouble) {
        rent_leave(b, j, why->text);
    } else if (why->kind != ERR_NONE) {
        AUTO_MEM char *text = mem_printf("%s%s", j->host_trouble ? "" : "input: ", why->text);
        step_end(b, j, LAKE_JOB_FAILED, text);
    } else {
        rent_heard(j);
        start_agent(b, j);
    }
}

/* ---- its end ---- */

/* Its agent told everything. */
static void conclude(struct broker *b, struct attempt *j)
{
    char reason[ATTEMPT_REASON];
    struct lake_job_change outcome;

    if (j->work) {
        j->phase = ATTEMPT_ENDED;
        return;
    }
    attempt_outcome(j, reason, &outcome);
    bool stores = outcome.to == LAKE_JOB_STORING && j->job.asked.output;
    if (j->remote && j->ended && j->details.checkpoint_s > 0 && !j->remote->saved &&
        outcome.to != LAKE_JOB_STORING) {
        j->phase = ATTEMPT_SAVING;
        job_give(b, j, ATTEMPT_SAVE);
        return;
    }
    job_free_room(b, j);
    j->phase = ATTEMPT_OVER;
    struct step *s = step_add(b, j, outcome.to, stores ? STEP_STORE : STEP_FINISH, reason);
    outcome.reason = s->reason;
    job_bill(b, j, &outcome);
    s->change = outcome;
    if (outcome.to == LAKE_JOB_STORING && !stores) {
        s->then = STEP_NOTHING;
        step_add(b, j, LAKE_JOB_FINISHED, STEP_FINISH, "");
    }
}

static void note_running(struct broker *b, struct attempt *j)
{
    step_add(b, j, LAKE_JOB_RUNNING, STEP_NOTHING, "")->change.limits = j->beginning.text;
}

void job_hear(struct broker *b, struct attempt *j)
{
    bool had_started = j->started;
    enum attempt_phase phase = attempt_hear(j);

    if (j->started && !had_started)
        note_running(b, j);
    if (phase == ATTEMPT_FOLLOWED)
        rent_heard(j);
    else if (phase == ATTEMPT_OVER)
        conclude(b, j);
    else if (j->remote && rent_is_lost(b, j, j->trouble.text))
        rent_give_up(b, j, "");
}

static void fail_to_store(struct broker *b, struct attempt *j)
{
    AUTO_MEM char *text = mem_printf("output: %s", j->task_trouble.text);

    step_end(b, j, LAKE_JOB_FAILED, text);
}

/* A lake that refuses writes is retried for ever, an output whose files keep changing STORE_TRIES
 * times. */
static void store_later(struct broker *b, struct attempt *j)
{
    if (j->task_trouble.kind == ERR_CHANGED && j->broken >= STORE_TRIES) {
        fail_to_store(b, j);
        return;
    }
    /* Told at the first time, the second, the fourth ... */
    if ((j->broken & (j->broken + 1)) == 0)
        log_warn("broker", "job %" PRId64 ": its output is not stored yet; trying again: %s",
                 j->job.id, j->task_trouble.text);
    attempt_try_later(j);
    int64_t most_ms = time_monotonic_ms() + (int64_t)(b->o->store_wait_s * 1000);
    if (j->retry_ms > most_ms)
        j->retry_ms = most_ms;
}

static void after_store(struct broker *b, struct attempt *j)
{
    const struct err *why = &j->task_trouble;
    bool passes = why->kind == ERR_RETRY || why->kind == ERR_CHANGED;

    if (passes && j->stop_sent) {
        step_end(b, j, LAKE_JOB_KILLED, j->stop_reason);
    } else if (passes && !j->host_trouble) {
        store_later(b, j);
    } else if (passes) {
        if (rent_is_lost(b, j, why->text))
            rent_give_up(b, j, "it ended well, but its output could not be brought back: ");
    } else if (why->kind != ERR_NONE) {
        fail_to_store(b, j);
    } else {
        /* Written down already, with what was stored: this changes nothing. */
        step_end(b, j, LAKE_JOB_FINISHED, "");
    }
}

/* ---- errands while it runs on a host ---- */

static void warn(const struct attempt *j, const char *what)
{
    if (j->task_trouble.kind != ERR_NONE)
        log_warn("broker", "job %" PRId64 ": %s: %s", j->job.id, what, j->task_trouble.text);
}

static void after_reach(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;
    bool good = j->task_trouble.kind == ERR_NONE;

    r->reach_at_ms = time_monotonic_ms() + (good ? REACH_MS : ERRAND_RETRY_MS);
    if (j->phase != ATTEMPT_CUT_OFF || !r->must_reach) {
        warn(j, "the lease of its host cannot be renewed");
    } else if (good) {
        struct err why = {0};
        rent_heard(j);
        r->must_reach = false;
        if (attempt_follow(j, !j->started, &why) < 0)
            step_end(b, j, LAKE_JOB_FAILED, why.text);
    } else if (rent_is_lost(b, j, j->task_trouble.text)) {
        rent_give_up(b, j, "");
    }
}

static void after_save(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    r->save_at_ms = time_monotonic_ms() + (int64_t)(j->details.checkpoint_s * 1000);
    warn(j, "its checkpoint is not saved");
    if (j->phase != ATTEMPT_SAVING)
        return;
    if (j->task_trouble.kind == ERR_RETRY && !rent_is_lost(b, j, j->task_trouble.text))
        return;
    r->saved = true;
    conclude(b, j);
}

static void after_stop(struct attempt *j)
{
    j->stop_sent = j->task_trouble.kind == ERR_NONE;
    j->remote->stop_at_ms = time_monotonic_ms() + ERRAND_RETRY_MS;
    warn(j, "cannot be stopped yet");
}

void job_continue(struct broker *b, struct attempt *j)
{
    enum attempt_work done = j->work;

    j->work = ATTEMPT_NO_WORK;
    if (j->is_done) {
        job_finish(b, j);
        return;
    }
    switch (done) {
    case ATTEMPT_RENT:
        if (!rent_done(b, j))
            return;
        break;
    case ATTEMPT_ASK:
        gang_answer(b, j);
        break;
    case ATTEMPT_PREPARE:
        after_prepare(b, j);
        break;
    case ATTEMPT_REACH:
        after_reach(b, j);
        break;
    case ATTEMPT_STOP:
        after_stop(j);
        break;
    case ATTEMPT_SAVE:
        after_save(b, j);
        break;
    case ATTEMPT_STORE:
        after_store(b, j);
        break;
    case ATTEMPT_NO_WORK:
        break;
    }
    if (j->phase == ATTEMPT_ENDED)
        conclude(b, j);
}

/* ---- time passes ---- */

static void try_again(struct broker *b, struct attempt *j)
{
    struct err why = {0};

    j->retry_ms = 0;
    switch (j->phase) {
    case ATTEMPT_RENTING:
        if (j->remote->gang_until_ms)
            gang_ask(b, j);
        else
            job_give(b, j, ATTEMPT_RENT);
        break;
    case ATTEMPT_PREPARING:
        job_give(b, j, ATTEMPT_PREPARE);
        break;
    case ATTEMPT_SAVING:
        job_give(b, j, ATTEMPT_SAVE);
        break;
    case ATTEMPT_STORING:
        job_give(b, j, ATTEMPT_STORE);
        break;
    case ATTEMPT_CUT_OFF:
        if (j->remote && j->remote->must_reach)
            job_give(b, j, ATTEMPT_REACH);
        else if (attempt_follow(j, !j->started, &why) < 0)
            step_end(b, j, LAKE_JOB_FAILED, why.text);
        break;
    case ATTEMPT_RECORDED:
    case ATTEMPT_HOSTED:
    case ATTEMPT_READY:
    case ATTEMPT_REREADING:
    case ATTEMPT_FOLLOWED:
    case ATTEMPT_ENDED:
    case ATTEMPT_OVER:
        break;
    }
}

static void reread(struct broker *b, struct attempt *j)
{
    bool had_started = j->started;
    struct err why = {0};

    /* One that told more than the lake takes now has to wait. */
    if (j->n_tags || j->n_metrics)
        return;
    int more = attempt_reread(j, &why);
    if (j->started && !had_started)
        note_running(b, j);
    if (more < 0) {
        step_end(b, j, LAKE_JOB_LOST, why.text);
    } else if (more == 0) {
        j->phase = ATTEMPT_CUT_OFF;
        j->remote->must_reach = true;
        job_give(b, j, ATTEMPT_REACH);
    }
}

void job_look_after(struct broker *b, struct attempt *j, int64_t now_ms)
{
    struct remote *r = j->remote;

    if (j->phase == ATTEMPT_REREADING)
        reread(b, j);
    else if (j->phase == ATTEMPT_HOSTED && r && !r->recorded)
        rent_record(b, j);
    else if (j->phase == ATTEMPT_HOSTED)
        job_prepare(b, j);
    else if (j->phase == ATTEMPT_READY)
        start_agent(b, j);
    if (j->retry_ms && now_ms >= j->retry_ms && !j->work)
        try_again(b, j);
    if (!r || j->phase != ATTEMPT_FOLLOWED || j->work || !j->started)
        return;
    if (!r->save_at_ms)
        r->save_at_ms = now_ms + (int64_t)(j->details.checkpoint_s * 1000);
    if (!r->reach_at_ms)
        r->reach_at_ms = now_ms + REACH_MS;
    if (now_ms >= r->reach_at_ms)
        job_give(b, j, ATTEMPT_REACH);
    else if (j->details.checkpoint_s > 0 && now_ms >= r->save_at_ms)
        job_give(b, j, ATTEMPT_SAVE);
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

/* While a worker has it, whichever is written first, this or what the worker does, wins. */
static void stop_without_agent(struct broker *b, struct attempt *j)
{
    AUTO_MEM char *why = mem_printf(
        "%s%s", j->stop_reason, j->phase == ATTEMPT_STORING ? ", while its output was stored" : "");

    if (j->work)
        step_add(b, j, LAKE_JOB_KILLED, STEP_NOTHING, why);
    else
        step_end(b, j, LAKE_JOB_KILLED, why);
    j->stop_sent = true;
}

static void stop_running(struct attempt *j, double grace)
{
    struct err why = {0};

    j->stop_sent = exec_stop(&j->host, j->job.id, grace, j->stop_reason, &why) == 0;
    j->stop_grace_s = grace;
    if (!j->stop_sent)
        log_warn("broker", "job %" PRId64 " cannot be stopped yet: %s", j->job.id, why.text);
}

void job_stop(struct broker *b, struct attempt *j)
{
    bool runs = j->phase == ATTEMPT_FOLLOWED || j->phase == ATTEMPT_CUT_OFF;
    bool waits = j->phase == ATTEMPT_HOSTED || j->phase == ATTEMPT_READY;
    bool prepares =
        waits || (j->remote && (j->phase == ATTEMPT_RENTING || j->phase == ATTEMPT_PREPARING));
    bool stores = j->phase == ATTEMPT_STORING;

    if (runs) {
        double grace = grace_s(b, j);
        if (j->stop_sent && grace >= j->stop_grace_s)
            return;
        if (!j->remote) {
            stop_running(j, grace);
        } else if (!j->work && time_monotonic_ms() >= j->remote->stop_at_ms) {
            int64_t retry_ms = j->retry_ms;
            j->stop_grace_s = grace;
            job_give(b, j, ATTEMPT_STOP);
            j->retry_ms = retry_ms; /* which is of its stream */
        }
    } else if ((stores || prepares) && (!j->stop_sent || !j->work)) {
        stop_without_agent(b, j);
    }
}

/* ---- the last of it ---- */

/* Its checkpoint stays for a job that continues it; what it continued itself is done with when it
 * finished. */
static void tidy(struct broker *b, const struct attempt *j)
{
    bool finished = false, has_checkpoint = j->details.checkpoint_s > 0;
    struct lake_job job;

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
    if (r->machine.facts.token[0])
        hosts_clear(b, &r->machine, why, true);
    else
        hosts_close_bill(b, j->job.id);
}

void job_free_room(struct broker *b, const struct attempt *j)
{
    if (!j->remote)
        queue_free_room(b->queue, j->job.id);
}

void job_forget(struct broker *b, struct attempt *j)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i] == j) {
            b->attempts[i] = b->attempts[--b->n_attempts];
            break;
        }
    attempt_free(j);
}

void job_finish(struct broker *b, struct attempt *j)
{
    if (j->work) {
        j->is_done = true;
        return;
    }
    b->stage_ended = b->stage_ended || j->job.asked.run;
    tidy(b, j);
    if (j->remote) {
        hosts_forget_held(b, j->job.id);
        clear_hosts(b, j);
    } else {
        queue_done(b->queue, j->job.id);
    }
    job_forget(b, j);
}
