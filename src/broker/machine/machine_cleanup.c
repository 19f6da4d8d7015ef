/* Reconciles the recorded machines with the clouds, and terminates orphaned ones. `machines
 * cleanup` and the broker call it. */
#include "base/mem.h"
#include "broker/machine/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long a process may take between its intent and its question. */
#define ASKING_MS ((int64_t)120 * 1000)

const char *machine_finding_text(enum machine_finding finding)
{
    static const char *const texts[] = {
        [MACHINE_ORPHAN] = "no record of it",    [MACHINE_EXPIRED] = "its lease ran out",
        [MACHINE_RUN_OVER] = "its work is over", [MACHINE_LEAVING] = "being deleted",
        [MACHINE_LOST] = "the cloud lost it",    [MACHINE_UNASKED] = "not requested yet",
    };

    return texts[finding];
}

/* Both sides, read before anything is done about them. */
struct sweeping {
    struct machine_provisioner *provisioner;
    struct machine_cleanup *how;
    struct cloud_machine *listed;
    size_t n_listed, cap_listed;
    struct machine *records; /* not gone */
    size_t n_records, cap_records;
};

static int keep_listed(void *context, const struct cloud_machine *m, struct err *e)
{
    struct sweeping *s = context;

    (void)e;
    s->listed = mem_room(s->listed, s->n_listed, &s->cap_listed, sizeof *s->listed);
    s->listed[s->n_listed++] = *m;
    return 0;
}

static int keep_record(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct sweeping *s = context;

    (void)now_ms;
    (void)e;
    if (strcmp(m->cloud, cloud_name(s->provisioner->cloud)) != 0 ||
        (s->how->region && strcmp(m->facts.region, s->how->region) != 0))
        return 0;
    s->records = mem_room(s->records, s->n_records, &s->cap_records, sizeof *s->records);
    s->records[s->n_records++] = *m;
    return 0;
}

/* ---- one machine ---- */

static int tell(struct sweeping *s,
                const struct machine *m,
                enum machine_finding finding,
                const char *why,
                struct err *e)
{
    s->how->open += m->state != MACHINE_GONE;
    return s->how->tell ? s->how->tell(s->how->context, m, finding, why, e) : 0;
}

static int give_back(struct sweeping *s,
                     struct machine *m,
                     enum machine_finding finding,
                     struct err *e)
{
    const char *reason = machine_finding_text(finding);
    struct cloud_error why = {0};

    if (s->how->dry_run)
        return tell(s, m, finding, NULL, e);
    if (s->how->clear && s->how->clear(s->how->context, m, reason, &why.err) < 0)
        return tell(s, m, finding, why.err.text, e);
    if (machine_release(s->provisioner, m, reason, &why) < 0 && why.failure == CLOUD_INVALID)
        return err_set(e, why.err.kind, "%s", why.err.text);
    return tell(s, m, finding, why.err.kind ? why.err.text : NULL, e);
}

/* 1: the machine is orphaned, and why; 0: a process may need it; -1. */
static int is_done(const struct sweeping *s,
                   const struct cloud_machine *m,
                   enum machine_finding *finding,
                   struct err *e)
{
    int over = s->how->is_over ? s->how->is_over(s->how->context, m->run, m->job, e) : 0;

    *finding = over ? MACHINE_RUN_OVER : MACHINE_EXPIRED;
    if (over == MACHINE_NEEDED)
        return 0;
    if (over)
        return over;
    return m->expires_ms <= s->provisioner->now_ms(s->provisioner->context);
}

/* ---- the cloud's side ---- */

static void adopt(const struct sweeping *s, const struct cloud_machine *listed, struct machine *out)
{
    int64_t now_ms = s->provisioner->now_ms(s->provisioner->context);

    *out = (struct machine){.world = s->provisioner->world,
                            .stage = -1,
                            .state = MACHINE_DELETING,
                            .asked_ms = listed->launched_ms,
                            .since_ms = now_ms,
                            .max_price_usd_per_hour = (double)INFINITY,
                            .facts = *listed};
    snprintf(out->cloud, sizeof out->cloud, "%s", cloud_name(s->provisioner->cloud));
    snprintf(out->reason, sizeof out->reason, "%s", machine_finding_text(MACHINE_ORPHAN));
}

/* A record that said gone too early. What its job paid for it was too little. */
static int take_up_again(struct sweeping *s, struct machine *m, struct err *e)
{
    m->state = MACHINE_DELETING;
    m->absent_ms = m->facts.ended_ms = 0;
    m->since_ms = s->provisioner->now_ms(s->provisioner->context);
    return machine_change(
        s->provisioner->records,
        "UPDATE machine SET state = $3, since = $4, absent = 0, ended = 0,"
        " billed = CASE WHEN world = 0 AND job > 0 THEN 0 ELSE 1 END"
        " WHERE world = $1 AND token = $2",
        DB_VALUES(DB_INT(m->world), DB_TEXT(m->facts.token), DB_INT(m->state), DB_INT(m->since_ms)),
        e);
}

static int sweep_orphan(struct sweeping *s, const struct cloud_machine *listed, struct err *e)
{
    enum machine_finding finding;
    struct machine m;
    int done = is_done(s, listed, &finding, e);

    if (done <= 0)
        return done;
    adopt(s, listed, &m);
    if (!s->how->dry_run && machine_row_insert(s->provisioner->records, &m, 0, e) < 0)
        return -1;
    return give_back(s, &m, MACHINE_ORPHAN, e);
}

/* The list is older than the record: the machine may have been released since. */
static bool is_there_still(const struct sweeping *s, const char *token)
{
    struct cloud_machine told;
    struct cloud_error why;

    if (cloud_look(s->provisioner->cloud, token, &told, &why) < 0)
        return why.failure != CLOUD_NOT_FOUND;
    return told.state != CLOUD_GONE && told.state != CLOUD_PREEMPTED;
}

/* A record that is not gone is looked at from its own side. */
static int sweep_listed(struct sweeping *s, const struct cloud_machine *listed, struct err *e)
{
    struct machine m;
    struct err why = {0};

    if (machines_get(s->provisioner->records, s->provisioner->world, listed->token, &m, &why) < 0)
        return why.kind == ERR_NOTFOUND ? sweep_orphan(s, listed, e)
                                        : err_set(e, why.kind, "%s", why.text);
    int heir = m.state == MACHINE_GONE
                   ? machine_has_heir(s->provisioner->records, m.world, listed->token, e)
                   : 0;
    if (heir < 0)
        return -1;
    if (m.state != MACHINE_GONE || heir || !is_there_still(s, listed->token))
        return 0;
    if (!s->how->dry_run && take_up_again(s, &m, e) < 0)
        return -1;
    m.state = MACHINE_DELETING;
    return give_back(s, &m, MACHINE_ORPHAN, e);
}

/* ---- the records' side ---- */

/* The process that recorded the intent may be about to launch. Where a first look is certain, the
 * record would say that the machine was never launched, and the machine would have no record. */
static bool is_being_asked(const struct sweeping *s, const struct machine *m)
{
    return m->state == MACHINE_INTENDED && cloud_sees_at_once(s->provisioner->cloud) &&
           s->provisioner->now_ms(s->provisioner->context) - m->asked_ms < ASKING_MS;
}

/* The state of a machine that a process needs. */
static int sweep_needed(struct sweeping *s, struct machine *m, struct err *e)
{
    struct cloud_error why = {0};
    bool was_there = m->facts.launched_ms != 0, given_back;

    if (s->how->dry_run || is_being_asked(s, m) ||
        (machine_look_beside(s->provisioner, m, &given_back, &why) == 0 &&
         (given_back || m->state != MACHINE_GONE)))
        return 0;
    if (m->state == MACHINE_GONE)
        return tell(s, m, MACHINE_LOST, NULL, e);
    if (why.failure == CLOUD_NOT_FOUND)
        return tell(s, m, was_there ? MACHINE_LOST : MACHINE_UNASKED, why.err.text, e);
    return why.failure == CLOUD_INVALID ? err_set(e, why.err.kind, "%s", why.err.text) : 0;
}

static int sweep_record(struct sweeping *s, struct machine *m, struct err *e)
{
    enum machine_finding finding = MACHINE_LEAVING;
    struct err why = {0};

    /* Read again: other processes renew and release machines meanwhile. */
    if (machines_get(s->provisioner->records, m->world, m->facts.token, m, &why) < 0)
        return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    if (m->state == MACHINE_GONE)
        return 0;
    if (m->state == MACHINE_DELETING &&
        s->provisioner->now_ms(s->provisioner->context) - m->since_ms < s->how->leave_ms)
        return 0;
    bool is_kept = m->kept_until_ms > s->provisioner->now_ms(s->provisioner->context);
    int done = m->state == MACHINE_DELETING ? 1 : is_kept ? 0 : is_done(s, &m->facts, &finding, e);
    if (done < 0)
        return -1;
    return done ? give_back(s, m, finding, e) : sweep_needed(s, m, e);
}

static int sweep_all(struct sweeping *s, struct err *e)
{
    struct machine_filter open = {.world = s->provisioner->world};
    struct cloud_error why;

    s->how->open = 0;
    if (machines_each(s->provisioner->records, &open, keep_record, s, e) < 0)
        return -1;
    if (cloud_list(s->provisioner->cloud, keep_listed, s, &why) < 0)
        return err_set(e, why.err.kind, "%s", why.err.text);
    for (size_t i = 0; i < s->n_listed; i++)
        if (sweep_listed(s, &s->listed[i], e) < 0)
            return -1;
    for (size_t i = 0; i < s->n_records; i++)
        if (sweep_record(s, &s->records[i], e) < 0)
            return -1;
    return 0;
}

int machine_reconcile(struct machine_provisioner *d, struct machine_cleanup *how, struct err *e)
{
    struct sweeping s = {.provisioner = d, .how = how};
    int result = sweep_all(&s, e);

    free(s.listed);
    free(s.records);
    return result;
}
