/* The life of one machine: launched, looked at, released, with every step recorded before it is
 * taken. Broker and simulator call it. */
#include "broker/machine/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A machine may be there and not be shown yet: it is missing only when it was twice, this far
 * apart, and when it was asked for this long ago. */
#define ABSENT_AGAIN_MS ((int64_t)30 * 1000)
#define ABSENT_AGE_MS ((int64_t)120 * 1000)

static int64_t now_of(const struct machine_provisioner *d)
{
    return d->now_ms(d->context);
}

static void enter(struct machine *m, enum machine_state state, int64_t now_ms)
{
    if (m->state == state)
        return;
    m->state = state;
    m->since_ms = now_ms;
}

static void give_reason(struct machine *m, const char *reason)
{
    if (!*m->reason)
        snprintf(m->reason, sizeof m->reason, "%s", reason);
}

/* ---- what a cloud says ---- */

static enum machine_state state_told(const struct machine *m, enum cloud_state told)
{
    static const enum machine_state states[] = {
        [CLOUD_REQUESTED] = MACHINE_REQUESTED, [CLOUD_RUNNING] = MACHINE_RUNNING,
        [CLOUD_DELETING] = MACHINE_DELETING,   [CLOUD_GONE] = MACHINE_GONE,
        [CLOUD_PREEMPTED] = MACHINE_GONE,
    };

    return told < CLOUD_DELETING && m->state > states[told] ? m->state : states[told];
}

static bool is_news(const struct machine *m, const struct cloud_machine *told)
{
    const struct cloud_machine *f = &m->facts;

    return state_told(m, told->state) != m->state || m->absent_ms ||
           f->ready_ms != told->ready_ms || f->ended_ms != told->ended_ms ||
           f->notice_ms != told->notice_ms || strcmp(f->id, told->id) != 0 ||
           /* As long as the price is the same, what was metered before still tells the cost. */
           !f->metered_ms != !told->metered_ms ||
           fabs(f->price_usd_per_hour - told->price_usd_per_hour) > 0;
}

/* A host that was released late was paid for until its lease expired. */
static int64_t end_of(const struct machine *m, int64_t ended_ms)
{
    int64_t paid_ms = m->state == MACHINE_DELETING ? machine_paid_until_ms(m) : INT64_MAX;

    return ended_ms < paid_ms ? ended_ms : paid_ms;
}

static int note(struct machine_provisioner *d,
                struct machine *m,
                const struct cloud_machine *told,
                struct err *e)
{
    const struct cloud_machine before = m->facts;
    struct cloud_machine now = *told;

    if (told->is_outline && *before.instance_type) {
        now = before;
        now.state = told->state;
        now.launched_ms = before.launched_ms ? before.launched_ms : told->launched_ms;
        now.ended_ms = told->ended_ms;
        now.notice_ms = told->notice_ms;
    }
    /* A cleanup asks without the market's prices, and learns none. */
    if (before.metered_ms && !now.metered_ms) {
        now.metered_ms = before.metered_ms;
        now.metered_usd = before.metered_usd;
        now.price_usd_per_hour = before.price_usd_per_hour;
    }
    /* The cloud tells of the job before. */
    if (m->origin[0]) {
        memcpy(now.token, before.token, sizeof now.token);
        now.run = before.run;
        now.job = before.job;
        now.launched_ms = before.launched_ms;
    }
    if (now.ended_ms)
        now.ended_ms = end_of(m, now.ended_ms);
    bool news = is_news(m, &now);

    m->absent_ms = 0;
    m->facts = now;
    /* A tag is as old as the machine; a lease is renewed in the record. */
    m->facts.expires_ms = before.expires_ms;
    if (told->state == CLOUD_PREEMPTED)
        give_reason(m, "reclaimed by the cloud");
    enter(m, state_told(m, told->state), now_of(d));
    return news ? machine_row_update(d->records, m, e) : 0;
}

/* 1: its absence is certain now. */
static int note_absent(struct machine_provisioner *d, struct machine *m, struct err *e)
{
    int64_t now_ms = now_of(d);
    bool certain = cloud_sees_at_once(d->cloud);

    if (!m->absent_ms) {
        m->absent_ms = now_ms;
        if (!certain)
            return machine_row_update(d->records, m, e);
    }
    if (!certain &&
        (now_ms - m->absent_ms < ABSENT_AGAIN_MS || now_ms - m->asked_ms < ABSENT_AGE_MS))
        return 0;
    give_reason(m, m->facts.launched_ms ? "lost: the cloud does not know it any more"
                                        : "was never launched");
    if (m->facts.launched_ms && !m->facts.ended_ms)
        m->facts.ended_ms = end_of(m, m->absent_ms);
    enter(m, MACHINE_GONE, now_ms);
    return machine_row_update(d->records, m, e) < 0 ? -1 : 1;
}

/* A process records a release before it begins: the record of a machine that is gone tells of the
 * release, if it is read after the look. */
static bool was_given_back(const struct machine_provisioner *d, struct machine *m)
{
    struct machine now;

    if (m->state >= MACHINE_DELETING ||
        machines_get(d->records, m->world, m->facts.token, &now, NULL) < 0 ||
        now.state < MACHINE_DELETING)
        return false;
    *m = now;
    return true;
}

int machine_look_beside(struct machine_provisioner *d,
                        struct machine *m,
                        bool *given_back,
                        struct cloud_error *e)
{
    struct cloud_machine told;
    int noted = 0;

    *e = (struct cloud_error){0};
    *given_back = false;
    if (m->state == MACHINE_GONE)
        return 0;
    bool is_seen = cloud_look(d->cloud, machine_cloud_token(m), &told, e) == 0;
    if (!is_seen && e->failure != CLOUD_NOT_FOUND)
        return -1;
    *given_back =
        (!is_seen || state_told(m, told.state) >= MACHINE_DELETING) && was_given_back(d, m);
    if (!*given_back) {
        noted = is_seen ? note(d, m, &told, &e->err) : note_absent(d, m, &e->err);
        if (!is_seen && noted == 0)
            return -1;
    }
    if (noted < 0) {
        e->failure = CLOUD_INVALID;
        return -1;
    }
    *e = (struct cloud_error){0};
    return 0;
}

int machine_look(struct machine_provisioner *d, struct machine *m, struct cloud_error *e)
{
    bool given_back;

    return machine_look_beside(d, m, &given_back, e);
}

/* ---- launching ---- */

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from) ? (from) : "")

static void begin(const struct machine_provisioner *d,
                  const struct machine_order *order,
                  struct machine *out)
{
    const struct cloud_request *r = &order->request;
    int64_t now_ms = now_of(d);
    struct cloud_machine *f = &out->facts;

    *out = (struct machine){.world = d->world,
                            .stage = order->stage,
                            .attempt = order->attempt,
                            .state = MACHINE_INTENDED,
                            .asked_ms = now_ms,
                            .since_ms = now_ms,
                            .max_price_usd_per_hour = r->max_price_usd_per_hour};
    COPY(out->cloud, cloud_name(d->cloud));
    COPY(f->token, r->token);
    COPY(f->owner, d->records->owner);
    COPY(f->provider, r->provider);
    COPY(f->region, r->region);
    COPY(f->zone, r->zone);
    COPY(f->instance_type, r->instance_type);
    COPY(f->accelerator, r->accelerator);
    f->run = r->run;
    f->job = r->job;
    f->expires_ms = now_ms + MACHINE_LEASE_MS;
    f->spot = r->spot;
    f->cpus = r->cpus;
    f->memory_gb = r->memory_gb;
    f->accelerators = r->accelerators;
    f->price_usd_per_hour = r->price_usd_per_hour;
    f->bill_min_s = r->bill_min_s;
}

static int find_or_intend(struct machine_provisioner *d,
                          const struct machine_order *order,
                          struct machine *out,
                          bool *is_new,
                          struct err *e)
{
    struct err why = {0};

    *is_new = false;
    if (machines_get(d->records, d->world, order->request.token, out, &why) == 0)
        return out->state < MACHINE_DELETING
                   ? 0
                   : err_set(e, ERR_USAGE, "machine %s is %s: a new one needs a new token",
                             order->request.token, machine_state_text(out->state));
    if (why.kind != ERR_NOTFOUND)
        return err_set(e, why.kind, "%s", why.text);
    *is_new = true;
    begin(d, order, out);
    return machine_row_insert(d->records, out, order->max_usd_per_hour, e);
}

static bool is_refusal(enum cloud_failure f)
{
    return f == CLOUD_AUTH || f == CLOUD_PERMISSION || f == CLOUD_QUOTA || f == CLOUD_CAPACITY ||
           f == CLOUD_UNSUPPORTED || f == CLOUD_INVALID;
}

int machine_launch(struct machine_provisioner *d,
                   const struct machine_order *order,
                   struct machine *out,
                   struct cloud_error *e)
{
    struct cloud_request request = order->request;
    struct cloud_machine told;
    bool is_new;

    *e = (struct cloud_error){.failure = CLOUD_INVALID};
    if (find_or_intend(d, order, out, &is_new, &e->err) < 0) {
        e->failure = e->err.kind == ERR_NOFIT ? CLOUD_FINE : CLOUD_INVALID;
        return -1;
    }
    if (machines_flush(d->records, &e->err) < 0)
        return -1;
    request.owner = d->records->owner;
    request.expires_ms = out->facts.expires_ms;
    if (cloud_launch(d->cloud, &request, &told, e) == 0) {
        int noted = note(d, out, &told, &e->err);
        e->failure = noted < 0 ? CLOUD_INVALID : CLOUD_FINE;
        return noted;
    }
    if (!is_new || !is_refusal(e->failure))
        return -1;
    give_reason(out, e->err.text);
    enter(out, MACHINE_GONE, now_of(d));
    machine_row_update(d->records, out, &e->err);
    return -1;
}

int machine_start_release(
    struct machines *records, struct machine *m, const char *reason, int64_t over_ms, struct err *e)
{
    if (m->state >= MACHINE_DELETING)
        return 0;
    give_reason(m, reason);
    enter(m, MACHINE_DELETING, over_ms);
    return machine_row_update(records, m, e);
}

int machine_release(struct machine_provisioner *d,
                    struct machine *m,
                    const char *reason,
                    struct cloud_error *e)
{
    struct cloud_error unseen;

    *e = (struct cloud_error){0};
    if (machine_start_release(d->records, m, reason, now_of(d), &e->err) < 0 ||
        (m->state != MACHINE_GONE && machines_flush(d->records, &e->err) < 0)) {
        e->failure = CLOUD_INVALID;
        return -1;
    }
    if (m->state == MACHINE_GONE)
        return 0;
    if (cloud_terminate(d->cloud, machine_cloud_token(m), e) < 0)
        return -1;
    /* What this look could not see, a later one will. */
    machine_look(d, m, &unseen);
    return 0;
}
