/* Asks clouds whether they still have the machines of running jobs: a spot instance that was
 * reclaimed is known to be lost at once, not only after its silence. hosts.c calls it. */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/internal.h"
#include "broker/machine/clouds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALL_EVERY_MS ((int64_t)300 * 1000)
#define SILENT_EVERY_MS ((int64_t)10 * 1000)

/* ---- in a worker thread ---- */

static void look_at(struct clouds_handle *h,
                    const char *home,
                    struct machines *records,
                    struct surveyed *x)
{
    struct machine m;
    struct cloud_error why;
    struct err ignored = {0};

    if (machines_get(records, 0, x->token, &m, &ignored) < 0)
        return;
    /* Most machines are in the region of the one before. */
    if (m.state != MACHINE_GONE) {
        clouds_handle_clear(h);
        if (clouds_open(h, home, records, m.cloud, m.facts.region, false, &ignored) < 0)
            return;
        /* A cloud that cannot be asked now says nothing about the machine. */
        machine_look(&h->provisioner, &m, &why);
    }
    if (m.state == MACHINE_GONE)
        snprintf(x->reason, sizeof x->reason, "machine %.80s: %.300s", m.facts.id,
                 m.reason[0] ? m.reason : "terminated from outside");
}

static void work(struct task *t, struct lake *l)
{
    struct survey *s = (struct survey *)t;
    AUTO_CLEAR(clouds_handle) struct clouds_handle h = {0};
    struct err why = {0};
    AUTO(machines) struct machines *records = machines_open(s->options->home, &why);

    (void)l;
    for (size_t i = 0; records && i < s->n; i++)
        look_at(&h, s->options->home, records, &s->list[i]);
}

/* ---- in the broker's thread ---- */

static bool has_machine(const struct attempt *j)
{
    return j->remote && j->work != ACTION_PROVISION && j->remote->machine.facts.token[0] &&
           cloud_is_provider(j->remote->machine.cloud);
}

/* A row of the table leads from the state to the loss of the machine. */
static bool may_be_lost(const struct attempt *j)
{
    return has_machine(j) && !j->work && life_find(j->state, EVENT_LOST) &&
           j->state != LIFE_STORING && j->state != LIFE_UNSAVED;
}

static bool is_silent(const struct attempt *j)
{
    return j->state == LIFE_DISCONNECTED || j->state == LIFE_REACHING || j->remote->silent_since_ms;
}

void survey_look_after(struct broker *b, int64_t now_ms)
{
    struct survey *s = &b->survey;
    bool any = false, silent = false;

    if (s->is_busy)
        return;
    for (size_t i = 0; i < b->n_attempts; i++)
        if (has_machine(b->attempts[i])) {
            any = true;
            silent = silent || is_silent(b->attempts[i]);
        }
    if (!any)
        s->due_ms = 0;
    else if (!s->due_ms)
        s->due_ms = now_ms + ALL_EVERY_MS;
    if (silent && s->due_ms > now_ms + SILENT_EVERY_MS)
        s->due_ms = now_ms + SILENT_EVERY_MS;
    if (!any || now_ms < s->due_ms)
        return;
    free(s->list);
    s->list = mem_zero(b->n_attempts + 1, sizeof *s->list);
    s->n = 0;
    for (size_t i = 0; i < b->n_attempts; i++)
        if (has_machine(b->attempts[i]))
            snprintf(s->list[s->n++].token, sizeof s->list->token, "%s",
                     b->attempts[i]->remote->machine.facts.token);
    s->options = b->o;
    s->is_busy = true;
    s->task.work = work;
    workers_do(b->far, &s->task);
}

bool survey_is(const struct task *t)
{
    return t->work == work;
}

static struct attempt *find_by_token(const struct broker *b, const char *token)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i]->remote && !strcmp(b->attempts[i]->remote->machine.facts.token, token))
            return b->attempts[i];
    return NULL;
}

void survey_continue(struct broker *b, struct task *t)
{
    struct survey *s = (struct survey *)t;

    s->is_busy = false;
    s->due_ms = time_monotonic_ms() + ALL_EVERY_MS;
    for (size_t i = 0; i < s->n; i++) {
        struct attempt *j = s->list[i].reason[0] ? find_by_token(b, s->list[i].token) : NULL;
        if (!j)
            continue;
        /* A worker thread that has the attempt finds out by itself, or the next survey does. */
        if (may_be_lost(j))
            attempt_fire(b, j, attempt_because(j, EVENT_LOST, "%s", s->list[i].reason));
        else
            s->due_ms = time_monotonic_ms() + SILENT_EVERY_MS;
    }
}

void survey_free(struct broker *b)
{
    free(b->survey.list);
}
