/* The hosts of jobs that run on a group: which are in use, which jobs wait for one, and when
 * they ask again. The broker's thread calls it. */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"
#include "broker/machine/bill.h"
#include "broker/machine/clouds.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A host has one job, and a job has at most one thread; more than this many wait for each other. */
#define THREADS_MAX 32
#define CLOUD_MACHINES_MAX 100000
/* A job that found every host taken is tried again so soon, each time later; and at once when a
 * host comes free. */
#define HOLD_MS 1000
#define HOLD_MAX_MS 60000
#define CLEAR_RETRY_MS 250
#define TERMINATION_TRIES 12
#define CLEAR_RETRY_MAX_MS 10000
#define RENEW_RETRY_MS 60000

/* Reason of the release of a host without a job. */
#define ORPHANED "no job uses it any more"

int64_t hosts_later(int64_t first_ms, unsigned times, int64_t most_ms)
{
    int64_t ms = first_ms << (times < 16 ? times : 16);

    return ms < most_ms ? ms : most_ms;
}

/* ---- the queue ---- */

void hosts_queue_job(const struct lake_job *job,
                     const struct job_details *details,
                     struct queue_job *out)
{
    const char *on = details->on;
    bool is_local = !strcmp(on, "local");

    /* Of a host group hosts are counted. */
    *out = (struct queue_job){.id = job->id,
                              .project = job->project,
                              .user = job->user,
                              .place = on,
                              .priority = job->asked.priority,
                              .cpus = is_local ? job->asked.cpus : 1,
                              .memory_mb = is_local ? job->asked.memory_mb : 1,
                              .gang = details->gang,
                              .nodes = details->nodes,
                              .gpus = is_local ? details->gpus : 0,
                              .devices = details->devices,
                              .n_devices = details->n_devices,
                              .held = job->devices};
}

static void set_place(struct broker *b, const struct config *c, const char *group)
{
    size_t n = host_count(c, group);

    if (strcmp(group, "local") != 0)
        queue_set_place(b->queue, group, (double)n, n);
}

void hosts_set_places(struct broker *b)
{
    struct err why = {0};
    AUTO(config) struct config *c = config_load(b->o->home, &why);

    if (!c) {
        log_warn("broker", "the hosts of the configuration: %s", why.text);
        return;
    }
    for (size_t i = 0; i < c->n_hosts; i++)
        set_place(b, c, c->hosts[i].pool);
    set_place(b, c, HOST_ANY);
    /* Of clouds accounts and caps are the limit, which the launch finds out. */
    queue_set_place(b->queue, CLOUDS_ANY, CLOUD_MACHINES_MAX, CLOUD_MACHINES_MAX);
    for (size_t i = 0; cloud_providers[i]; i++)
        queue_set_place(b->queue, cloud_providers[i], CLOUD_MACHINES_MAX, CLOUD_MACHINES_MAX);
}

int hosts_ready(struct broker *b, struct err *e)
{
    if (b->far)
        return 0;
    b->far = workers_new(THREADS_MAX, b->o->open_lake, e);
    if (b->far && !b->launches)
        b->launches = launches_new();
    return b->far ? 0 : -1;
}

/* ---- jobs that wait for a host ---- */

static struct held *find_held(const struct broker *b, int64_t id)
{
    for (size_t i = 0; i < b->n_held; i++)
        if (b->held[i].id == id)
            return &b->held[i];
    return NULL;
}

bool hosts_is_held(const struct broker *b, int64_t id)
{
    return find_held(b, id) != NULL;
}

static void free_held(struct held *h)
{
    free(h->project);
    free(h->user);
    free(h->place);
}

enum life_event hosts_hold(struct broker *b, struct attempt *j)
{
    struct held *h = find_held(b, j->job.id);

    if (!h) {
        b->held = mem_room(b->held, b->n_held, &b->cap_held, sizeof *b->held);
        h = &b->held[b->n_held++];
        *h = (struct held){.id = j->job.id,
                           .priority = j->job.asked.priority,
                           .project = mem_dup(j->job.project),
                           .user = mem_dup(j->job.user),
                           .place = mem_dup(j->details.on)};
    }
    h->retry_ms = time_monotonic_ms() + hosts_later(HOLD_MS, h->times++, HOLD_MAX_MS);
    queue_done(b->queue, j->job.id);
    attempt_forget(b, j);
    return EVENT_NONE;
}

void hosts_forget_held(struct broker *b, int64_t id)
{
    struct held *h = find_held(b, id);

    if (!h)
        return;
    free_held(h);
    *h = b->held[--b->n_held];
}

static void release_held(struct broker *b, int64_t now_ms)
{
    for (size_t i = 0; i < b->n_held; i++) {
        struct held *h = &b->held[i];
        if (!h->retry_ms || now_ms < h->retry_ms)
            continue;
        h->retry_ms = 0;
        struct queue_job entry;
        hosts_queue_job(
            &(struct lake_job){
                .id = h->id, .project = h->project, .user = h->user, .asked.priority = h->priority},
            &(struct job_details){.on = h->place}, &entry);
        queue_add(b->queue, &entry);
    }
}

/* A host is free: jobs that wait for a host may try. */
void hosts_wake_held(struct broker *b)
{
    for (size_t i = 0; i < b->n_held; i++)
        if (b->held[i].retry_ms)
            b->held[i].retry_ms = 1;
}

/* ---- release of hosts ---- */

static void clear_task(struct task *t, struct lake *l)
{
    struct clearing *c = (struct clearing *)t;
    const char *home = c->options->home;
    int64_t over_ms = bill_over_ms(l, c->machine.facts.job, time_epoch_ms());

    /* A host that is released already is only not billed yet. */
    if (c->machine.facts.token[0] && c->machine.state != MACHINE_GONE &&
        host_release(home, c->options->agent, &c->machine, over_ms, c->reason, &c->error) < 0)
        return;
    if (!l)
        err_set(&c->error, ERR_RETRY, "the lake cannot be opened");
    else
        bill_close(home, l, c->machine.facts.job, &c->error);
}

static void give_clearing(struct broker *b, struct clearing *c)
{
    c->is_busy = true;
    c->retry_ms = 0;
    c->error = (struct err){0};
    c->task.work = clear_task;
    workers_do(b->far, &c->task);
}

static bool is_being_cleared(const struct broker *b, const char *token)
{
    for (size_t i = 0; i < b->n_clearings; i++)
        if (!strcmp(b->clearings[i]->token, token))
            return true;
    return false;
}

bool hosts_is_cleared_first(const struct broker *b, int64_t job)
{
    for (size_t i = 0; i < b->n_clearings; i++)
        if (b->clearings[i]->job == job && b->clearings[i]->is_busy && !b->clearings[i]->failed)
            return true;
    return false;
}

void hosts_clear(struct broker *b, const struct machine *m, const char *reason, bool ends_job)
{
    if (m->facts.token[0] && is_being_cleared(b, m->facts.token)) {
        if (ends_job)
            queue_done(b->queue, m->facts.job);
        return;
    }
    struct clearing *c = mem_zero(1, sizeof *c);
    c->options = b->o;
    c->machine = *m;
    snprintf(c->token, sizeof c->token, "%s", m->facts.token);
    c->job = m->facts.job;
    c->since_ms = time_monotonic_ms();
    c->ends_job = ends_job;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    b->clearings = mem_room(b->clearings, b->n_clearings, &b->cap_clearings, sizeof *b->clearings);
    b->clearings[b->n_clearings++] = c;
    give_clearing(b, c);
}

void hosts_close_bill(struct broker *b, int64_t job)
{
    hosts_clear(b, &(struct machine){.facts.job = job}, "", true);
}

static void drop_clearing(struct broker *b, struct clearing *c)
{
    for (size_t i = 0; i < b->n_clearings; i++)
        if (b->clearings[i] == c) {
            b->clearings[i] = b->clearings[--b->n_clearings];
            break;
        }
    free(c);
}

static void after_clearing(struct broker *b, struct clearing *c)
{
    c->is_busy = false;
    /* A host that does not answer delays no other job of its user. */
    if (c->ends_job)
        queue_done(b->queue, c->machine.facts.job);
    c->ends_job = false;
    if (c->error.kind == ERR_NONE) {
        drop_clearing(b, c);
        hosts_wake_held(b);
        return;
    }
    /* Logged at the first time, the second, the fourth ...; clouds take a while to confirm. */
    bool takes_long = cloud_is_provider(c->machine.cloud) && c->failed < TERMINATION_TRIES;
    if ((c->failed & (c->failed + 1)) == 0 && !takes_long)
        log_warn("broker", "what job %" PRId64 " left on %s is not cleared or billed yet: %s",
                 c->machine.facts.job, c->machine.facts.address, c->error.text);
    c->retry_ms =
        time_monotonic_ms() + hosts_later(CLEAR_RETRY_MS, c->failed++, CLEAR_RETRY_MAX_MS);
}

/* Whether a running job has this machine, or will ask for it by its token. */
static bool is_owned(const struct broker *b, const struct machine *m)
{
    const struct attempt *j = broker_find_attempt(b, m->facts.job);

    if (!j || !j->remote)
        return false;
    /* A worker may have come to a later attempt meanwhile. */
    if (j->work == ACTION_PROVISION)
        return m->attempt >= j->remote->found_attempt;
    return j->remote->machine.facts.token[0]
               ? !strcmp(j->remote->machine.facts.token, m->facts.token)
               : j->remote->attempt == m->attempt;
}

struct unowned {
    const struct broker *broker;
    struct machine *list;
    size_t n, cap;
};

static void keep(struct unowned *u, const struct machine *m)
{
    u->list = mem_room(u->list, u->n, &u->cap, sizeof *u->list);
    u->list[u->n++] = *m;
}

static int note_unowned(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct unowned *u = context;

    (void)now_ms;
    (void)e;
    bool is_ours = !strcmp(m->cloud, "pool") || cloud_is_provider(m->cloud);
    if (is_ours && m->facts.job && !is_owned(u->broker, m))
        keep(u, m);
    return 0;
}

int hosts_clear_unowned(struct broker *b, struct err *e)
{
    AUTO(machines) struct machines *records = machines_open(b->o->home, e);
    struct machine_filter open = {.world = 0};
    struct unowned u = {.broker = b};

    if (!records)
        return -1;
    int result = machines_each(records, &open, note_unowned, &u, e);
    AUTO_MEM struct machine *list = u.list;
    if (result < 0 || (u.n && hosts_ready(b, e) < 0))
        return -1;
    for (size_t i = 0; i < u.n; i++) {
        /* Recorded before the release begins: a queued job may ask for this host by the same token,
         * if a broker provisioned the host and died before it recorded that. */
        int64_t over_ms = bill_over_ms(b->lake, list[i].facts.job, time_epoch_ms());
        if (machine_start_release(records, &list[i], ORPHANED, over_ms, e) < 0)
            result = -1; /* the following ones are released all the same */
        else
            hosts_clear(b, &list[i], ORPHANED, false);
    }
    return result < 0 ? -1 : bill_close_all(b->o->home, b->lake, e);
}

/* ---- machines that were launched in vain ---- */

static int note_given_up(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct unowned *u = context;

    (void)now_ms;
    (void)e;
    if (cloud_is_provider(m->cloud) && m->facts.job && m->state == MACHINE_DELETING &&
        !is_being_cleared(u->broker, m->facts.token))
        keep(u, m);
    return 0;
}

/* A launch asks for the termination of a machine it gives up, and goes on without a confirmation.
 */
static void clear_given_up(struct broker *b)
{
    struct machine_filter open = {.world = 0};
    struct unowned u = {.broker = b};
    struct err why = {0};
    AUTO(machines) struct machines *records = machines_open(b->o->home, &why);

    if (!records || machines_each(records, &open, note_given_up, &u, &why) < 0)
        log_warn("broker", "machines that were launched in vain: %s", why.text);
    else
        b->has_given_up = false;
    for (size_t i = 0; i < u.n; i++)
        hosts_clear(b, &u.list[i], u.list[i].reason, false);
    free(u.list);
}

/* ---- leases ---- */

static void renew_task(struct task *t, struct lake *l)
{
    struct renewal *r = (struct renewal *)t;

    (void)l;
    host_renew(r->options, r->tokens, r->n, r->lease_s, &r->error);
}

static void renew(struct broker *b)
{
    struct renewal *r = &b->renewal;

    free(r->tokens);
    r->tokens = mem_zero(b->n_attempts + b->n_idle + 1, sizeof *r->tokens);
    r->n = 0;
    for (size_t i = 0; i < b->n_idle; i++)
        memcpy(r->tokens[r->n++], b->idle[i].machine.facts.token, sizeof *r->tokens);
    for (size_t i = 0; i < b->n_attempts; i++) {
        const struct attempt *j = b->attempts[i];
        /* A worker thread that provisions has a new lease. */
        if (j->remote && j->work != ACTION_PROVISION && j->remote->machine.facts.token[0])
            memcpy(r->tokens[r->n++], j->remote->machine.facts.token, sizeof *r->tokens);
    }
    r->lease_s = b->settings.lease_s;
    r->due_ms = time_monotonic_ms() + (int64_t)(fmin(r->lease_s * 1000, MACHINE_LEASE_MS) / 4);
    if (r->n == 0)
        return;
    r->options = b->o;
    r->error = (struct err){0};
    r->is_busy = true;
    r->task.work = renew_task;
    workers_do(b->far, &r->task);
}

static void after_renewal(struct renewal *r)
{
    r->is_busy = false;
    if (r->error.kind == ERR_NONE)
        return;
    log_warn("broker", "leases of hosts cannot be renewed now: %s", r->error.text);
    int64_t soon_ms = time_monotonic_ms() + RENEW_RETRY_MS;
    if (r->due_ms > soon_ms)
        r->due_ms = soon_ms;
}

/* ---- all of them ---- */

void hosts_look_after(struct broker *b, int64_t now_ms)
{
    release_held(b, now_ms);
    if (!b->far)
        return;
    if (b->has_given_up)
        clear_given_up(b);
    for (size_t i = 0; i < b->n_clearings; i++) {
        struct clearing *c = b->clearings[i];
        if (!c->is_busy && c->retry_ms && now_ms >= c->retry_ms)
            give_clearing(b, c);
    }
    if (!b->renewal.is_busy && now_ms >= b->renewal.due_ms)
        renew(b);
    survey_look_after(b, now_ms);
    idle_look_after(b);
}

void hosts_continue(struct broker *b, struct task *t)
{
    if (t->work == clear_task)
        after_clearing(b, (struct clearing *)t);
    else if (t->work == renew_task)
        after_renewal((struct renewal *)t);
    else if (survey_is(t))
        survey_continue(b, t);
    else
        attempt_continue(b, (struct attempt *)t);
}

bool hosts_busy(const struct broker *b, int64_t now_ms)
{
    for (size_t i = 0; i < b->n_held; i++)
        if (b->held[i].retry_ms)
            return true;
    /* A later broker releases a host that does not answer, by its record. */
    for (size_t i = 0; i < b->n_clearings; i++)
        if (b->clearings[i]->is_busy ||
            (double)(now_ms - b->clearings[i]->since_ms) < b->settings.host_lost_s * 1000)
            return true;
    return b->has_given_up || b->renewal.is_busy || b->survey.is_busy || b->n_idle;
}

void hosts_free(struct broker *b)
{
    for (size_t i = 0; i < b->n_held; i++)
        free_held(&b->held[i]);
    for (size_t i = 0; i < b->n_clearings; i++)
        free(b->clearings[i]);
    free(b->held);
    free(b->clearings);
    free(b->renewal.tokens);
    launches_free(b->launches);
    survey_free(b);
    idle_free(b);
}
