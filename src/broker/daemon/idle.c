/* Machines of clouds that wait for the next job: the next stage of a run often wants just the
 * machine that the last one had, and a boot takes minutes. Called by hosts.c, attempt_life.c and
 * attempt_tasks.c. */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A stage that waits for this machine begins within this time, or its run has come to an end. */
#define NEXT_STAGE_MS ((int64_t)600 * 1000)

/* A stage that waits, or whose job, another one than `last`, has no machine yet. */
static bool lacks_machine(const struct broker *b, const struct run_stage *s, int64_t last)
{
    if (s->state != STAGE_GOING || s->job == last)
        return s->state == STAGE_WAITING;
    const struct attempt *j = broker_find_attempt(b, s->job);
    /* Without an attempt it is queued, or over, which the next look at the run finds out. */
    return !j || (j->state <= LIFE_PROVISIONING && j->remote && !j->remote->machine.facts.token[0]);
}

/* Whether a stage of the run is planned on such a machine, and lacks one. */
static bool is_wanted(struct broker *b, const struct machine *m, const struct job_offer *offer)
{
    int64_t id = m->facts.run;
    AUTO_CLEAR(run) struct run run = {0};
    struct err ignored = {0};
    bool wanted = false;

    if (!id || runs_get(b->runs, id, &run, &ignored) < 0 || run.state != RUN_GOING ||
        run.stop_asked)
        return false;
    for (size_t i = 0; i < run.n_stages; i++)
        wanted = wanted || (job_offer_same(&run.stages[i].plan.offer, offer) &&
                            lacks_machine(b, &run.stages[i], m->facts.job));
    return wanted;
}

static int record(struct broker *b, struct machine *m, int64_t until_ms, struct err *e)
{
    AUTO(machines) struct machines *records = machines_open(b->o->home, e);

    return records ? machine_keep(records, m, until_ms, e) : -1;
}

bool idle_keep(struct broker *b, const struct attempt *j)
{
    const struct remote *r = j->remote;
    const struct job_offer *offer = &r->launch.offer;
    int64_t now_ms = time_epoch_ms();
    struct err why = {0};

    if (!offer->provider[0] || j->state != LIFE_FINISHED)
        return false;
    struct idle x = {.machine = r->machine,
                     .offer = *offer,
                     .until_ms = now_ms + (int64_t)(offer->keep_warm_s * 1000),
                     .is_for_run = offer->keep_warm_s <= 0};
    if (x.is_for_run) {
        if (!is_wanted(b, &x.machine, offer))
            return false;
        x.until_ms = now_ms + NEXT_STAGE_MS;
    }
    if (record(b, &x.machine, x.until_ms, &why) < 0) {
        log_warn("broker", "machine %s is not kept: %s", x.machine.facts.id, why.text);
        return false;
    }
    b->idle = mem_room(b->idle, b->n_idle, &b->cap_idle, sizeof *b->idle);
    b->idle[b->n_idle++] = x;
    /* The run may go on at once, and a job that waits for its turn to spend may have the machine.
     */
    b->stage_ended = true;
    hosts_wake_held(b);
    return true;
}

static void drop(struct broker *b, size_t i)
{
    b->idle[i] = b->idle[--b->n_idle];
}

void idle_hand_over(struct broker *b, struct attempt *j)
{
    struct remote *r = j->remote;

    if (!r || !r->launch.offer.provider[0] || r->machine.facts.token[0] ||
        r->launch.heir.facts.token[0])
        return;
    for (size_t i = 0; i < b->n_idle; i++) {
        const struct idle *x = &b->idle[i];
        bool may = !x->is_for_run || x->machine.facts.run == j->job.asked.run;
        if (!may || !job_offer_same(&x->offer, &r->launch.offer))
            continue;
        r->launch.heir = x->machine;
        drop(b, i);
        return;
    }
}

void idle_look_after(struct broker *b)
{
    int64_t now_ms = time_epoch_ms();

    for (size_t i = b->n_idle; i-- > 0;) {
        const struct idle x = b->idle[i];
        if (now_ms < x.until_ms && (!x.is_for_run || is_wanted(b, &x.machine, &x.offer)))
            continue;
        drop(b, i);
        hosts_clear(b, &x.machine, "no job needed it any more", false);
    }
}

void idle_free(struct broker *b)
{
    free(b->idle);
}
