/* Results of worker threads and of the program itself, as events of the table in
 * broker/core/job_life.c; and the cost of a job at its end. Called by attempt_life.c. */
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/internal.h"
#include "broker/machine/bill.h"
#include "estimate/provision.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How often a host's lease is renewed, and how soon again when that failed. */
#define REACH_MS (MACHINE_LEASE_MS / 4)
#define ERRAND_RETRY_MS 5000
/* An output that keeps changing while it is read fails after this many tries; with waits of up to
 * 25 s they take two minutes. */
#define STORE_TRIES 10

/* ---- before the program ---- */

enum life_event outcome_of_fetch(struct broker *b, struct attempt *j)
{
    const struct err *why = &j->task_error;
    /* The other nodes of a gang know the address of this host. */
    bool is_bound = j->details.nodes > 1;

    if (j->stop_sent)
        return attempt_because(j, EVENT_STOPPED, "%s", j->stop_reason);
    if (why->kind == ERR_RETRY && !j->host_failed) {
        attempt_try_later(j);
        return EVENT_RETRY_LATER;
    }
    if (why->kind == ERR_RETRY) {
        if (!host_is_lost(b, j, why->text))
            return EVENT_RETRY_LATER;
        return is_bound ? host_lost(j, "") : EVENT_REPLACED;
    }
    if ((why->kind == ERR_NOFIT || why->kind == ERR_DENIED) && j->host_failed) {
        /* Before the job was there another home took the host, or its key changed. */
        snprintf(j->remote->silent_reason, sizeof j->remote->silent_reason, "%s", why->text);
        return attempt_because(j, is_bound ? EVENT_LOST : EVENT_REPLACED, "%s", why->text);
    }
    if (why->kind != ERR_NONE)
        return attempt_because(j, EVENT_FAILED, "%s%s", j->host_failed ? "" : "input: ", why->text);
    host_heard(j);
    return EVENT_FETCHED;
}

/* ---- errands while the program runs on a host ---- */

static void warn(const struct attempt *j, const char *what)
{
    if (j->task_error.kind != ERR_NONE)
        log_warn("broker", "job %" PRId64 ": %s: %s", j->job.id, what, j->task_error.text);
}

static void set_next_reach(struct attempt *j)
{
    bool good = j->task_error.kind == ERR_NONE;

    j->remote->reach_at_ms = time_monotonic_ms() + (good ? REACH_MS : ERRAND_RETRY_MS);
}

enum life_event outcome_of_reach(struct broker *b, struct attempt *j)
{
    set_next_reach(j);
    if (j->task_error.kind != ERR_NONE)
        return host_is_lost(b, j, j->task_error.text) ? host_lost(j, "") : EVENT_RETRY_LATER;
    host_heard(j);
    return EVENT_REACHED;
}

enum life_event outcome_of_lease(struct broker *b, struct attempt *j)
{
    (void)b;
    set_next_reach(j);
    warn(j, "the lease of its host cannot be renewed");
    return EVENT_ERRAND_DONE;
}

static void note_save(struct attempt *j)
{
    j->remote->save_at_ms = time_monotonic_ms() + (int64_t)(j->details.checkpoint_s * 1000);
    warn(j, "its checkpoint is not saved");
}

enum life_event outcome_of_checkpoint(struct broker *b, struct attempt *j)
{
    (void)b;
    note_save(j);
    return EVENT_ERRAND_DONE;
}

enum life_event outcome_of_stop(struct broker *b, struct attempt *j)
{
    (void)b;
    j->stop_sent = j->task_error.kind == ERR_NONE;
    j->remote->stop_at_ms = time_monotonic_ms() + ERRAND_RETRY_MS;
    warn(j, "cannot be stopped yet");
    return EVENT_ERRAND_DONE;
}

/* ---- after the program ---- */

enum life_event outcome_of_save(struct broker *b, struct attempt *j)
{
    note_save(j);
    if (j->task_error.kind == ERR_RETRY && !host_is_lost(b, j, j->task_error.text))
        return EVENT_RETRY_LATER;
    j->remote->saved = true;
    return EVENT_SAVED;
}

/* What the job wrote may be all there is of hours of work. */
static enum life_event fail_to_store(struct attempt *j)
{
    AUTO_MEM char *directory = broker_job_path(j->home, j->job.id, "output");

    attempt_because(j, EVENT_FAILED, "%s%s%s", j->task_error.text,
                    j->leaves_output ? "; what it wrote stays in " : "",
                    j->leaves_output ? directory : "");
    attempt_add_hint(j, j->why);
    return EVENT_FAILED;
}

/* The output stays where it is; the attempt is over unless the reason may pass. */
static enum life_event store_later(struct broker *b, struct attempt *j)
{
    bool changes = j->task_error.kind == ERR_CHANGED;
    bool was_told = j->state == LIFE_UNSAVED && !strcmp(j->why, j->task_error.text);

    if (changes && j->failures >= STORE_TRIES)
        return attempt_because(j, EVENT_UNSTORABLE, "%s", j->task_error.text);
    /* Logged at the first time, the second, the fourth ... */
    if ((j->failures & (j->failures + 1)) == 0)
        log_warn("broker", "job %" PRId64 ": its output is not stored yet; trying again: %s",
                 j->job.id, j->task_error.text);
    attempt_try_later(j);
    int64_t most_ms = time_monotonic_ms() + (int64_t)(b->o->store_wait_s * 1000);
    if (j->retry_ms > most_ms)
        j->retry_ms = most_ms;
    return changes || was_told ? EVENT_RETRY_LATER
                               : attempt_because(j, EVENT_UNSTORED, "%s", j->task_error.text);
}

/* What is made again by another attempt is lost; all else waits for its host until `job rm`. */
static enum life_event collect_later(struct broker *b, struct attempt *j)
{
    enum err_kind kind = j->task_error.kind;
    struct lake_job job;
    struct err why = {0};

    if (kind == ERR_NOTFOUND || kind == ERR_USAGE)
        return attempt_because(j, EVENT_LOST,
                               "it ended well, but its output could not be brought back: %s",
                               j->task_error.text);
    if (lake_job_load(b->lake, j->job.id, NULL, &job, &why) < 0 && why.kind == ERR_NOTFOUND)
        return attempt_because(j, EVENT_LOST, "it was removed");
    if (!host_is_lost(b, j, j->task_error.text))
        return EVENT_RETRY_LATER;
    return j->job.asked.run
               ? host_lost(j, "it ended well, but its output could not be brought back: ")
               : store_later(b, j);
}

enum life_event outcome_of_store(struct broker *b, struct attempt *j)
{
    const struct err *why = &j->task_error;

    /* Recorded already, together with the output. */
    if (why->kind == ERR_NONE)
        return attempt_because(j, EVENT_STORED, "%s", "");
    if (j->is_at_fault)
        return fail_to_store(j);
    if (j->stop_sent && j->state == LIFE_STORING)
        return attempt_because(j, EVENT_STOPPED, "%s", j->stop_reason);
    if (j->host_failed)
        return collect_later(b, j);
    return why->kind == ERR_RETRY || why->kind == ERR_CHANGED || why->kind == ERR_IO
               ? store_later(b, j)
               : attempt_because(j, EVENT_UNSTORABLE, "%s", why->text);
}

enum life_event outcome_of_program(struct broker *b, struct attempt *j)
{
    char reason[ATTEMPT_REASON];
    struct lake_job_change outcome;

    (void)b;
    if (j->work)
        return EVENT_NONE;
    attempt_outcome(j, reason, &outcome);
    if (outcome.to == LAKE_JOB_STORING)
        return attempt_wrote_nothing(j) ? EVENT_EXIT_EMPTY : EVENT_EXIT_OUTPUT;
    if (j->remote && j->ended && j->details.checkpoint_s > 0 && !j->remote->saved)
        return EVENT_UNSAVED;
    return outcome.to == LAKE_JOB_KILLED   ? EVENT_STOPPED
           : outcome.to == LAKE_JOB_FAILED ? EVENT_FAILED
                                           : EVENT_LOST;
}

void outcome_record(struct broker *b, struct attempt *j)
{
    char reason[ATTEMPT_REASON];
    struct lake_job_change outcome;
    bool has_no_output = j->state == LIFE_FINISHED;

    attempt_outcome(j, reason, &outcome);
    j->failures = 0;
    struct step *s = step_add(b, j, outcome.to, !has_no_output, reason);
    outcome.reason = s->reason;
    attempt_bill(b, j, &outcome);
    s->change = outcome;
    if (has_no_output)
        step_add(b, j, LAKE_JOB_FINISHED, true, "");
}

/* ---- cost ---- */

static void price_hosts(const struct remote *r, struct lake_job_change *change)
{
    int64_t now_ms = time_epoch_ms();

    if (!r->machine.facts.token[0] && !r->former.facts.token[0])
        return;
    change->cost_microusd =
        machine_cost_microusd(&r->machine, now_ms) + machine_cost_microusd(&r->former, now_ms);
    change->cost_basis = BILL_HOST;
}

/* A stage of a local run costs the price of its planned machine, any other job goes by its size. */
static void price_runtime(const struct broker *b,
                          const struct attempt *j,
                          struct lake_job_change *change)
{
    double planned = j->details.price_usd_per_hour;
    const struct provision_prices prices = {.vcpu_hour_usd = b->settings.vcpu_hour_usd,
                                            .gb_hour_usd = b->settings.gb_hour_usd};

    change->cost_microusd =
        planned > 0 ? money_from_usd(planned * change->runtime_s / 3600)
                    : provision_cost_microusd(&prices, j->job.asked.cpus,
                                              (double)j->job.asked.memory_mb, change->runtime_s);
    change->cost_basis = planned > 0 ? "planned machine" : "unit prices";
}

void attempt_bill(const struct broker *b, const struct attempt *j, struct lake_job_change *change)
{
    /* A worker thread that provisions owns the machine. */
    if (j->remote && j->work != ACTION_PROVISION)
        price_hosts(j->remote, change);
    else if (!j->remote && change->runtime_s >= 0)
        price_runtime(b, j, change);
}
