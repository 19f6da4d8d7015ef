#include "broker/daemon/launch.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/daemon/host.h"
#include "broker/machine/clouds.h"
#include "broker/machine/refusals.h"
#include "spec/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More offers than this for one job lead nowhere. */
#define OFFERS_MAX 40
/* Refusals that a plan is told of. */
#define REFUSALS_MAX 4000

/* ---- what a call needs ---- */

struct provisioning {
    const struct launch_wish *wish;
    struct launch_progress *progress;
    struct config *config;
    struct machines *records;
    struct clouds_handle handle; /* of the present offer's region */
    unsigned *attempt;
    struct machine *out;
    int64_t begun_ms; /* of the request at hand */
};

static void provisioning_clear(struct provisioning *s)
{
    clouds_handle_clear(&s->handle);
    machines_free(s->records);
    config_free(s->config);
}

static int open_home(struct provisioning *s, struct err *e)
{
    const char *home = s->wish->options->home;

    s->config = config_load(home, e);
    s->records = s->config ? machines_open(home, e) : NULL;
    return s->records ? 0 : -1;
}

static int open_cloud(struct provisioning *s, struct err *e)
{
    const struct job_offer *o = &s->progress->offer;

    clouds_handle_clear(&s->handle);
    if (clouds_open(&s->handle, s->wish->options->home, s->records, o->provider, o->region, true,
                    e) < 0)
        return -1;
    cloud_set_finds(s->handle.provisioner.cloud, launches_finds(s->wish->launches));
    return 0;
}

/* A machine that is not needed, or may exist although the cloud did not say so. The broker releases
 * it later where that fails now. */
static void give_up(struct provisioning *s, const char *reason)
{
    struct err why = {0};

    if (s->out->facts.token[0] && s->out->state != MACHINE_GONE &&
        clouds_release(s->wish->options->home, s->records, s->out, reason, &why) < 0)
        log_info("broker", "%s", why.text);
    *s->out = (struct machine){0};
    ++*s->attempt;
}

/* ---- the record of the present attempt ---- */

static bool is_of_offer(const struct machine *m, const struct job_offer *o)
{
    const struct cloud_machine *f = &m->facts;

    return !strcmp(m->cloud, o->provider) && !strcmp(f->region, o->region) &&
           !strcmp(f->zone, o->zone) && !strcmp(f->instance_type, o->instance_type) &&
           f->spot == o->spot;
}

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))

/* What an earlier broker launched after refusals is as good as what was planned. */
static void adopt(struct job_offer *o, const struct machine *m)
{
    const struct cloud_machine *f = &m->facts;

    COPY(o->provider, m->cloud);
    COPY(o->region, f->region);
    COPY(o->instance_type, f->instance_type);
    COPY(o->accelerator, f->accelerator);
    o->spot = f->spot;
    o->price_usd_per_hour = f->price_usd_per_hour;
}

/* The first attempt that is not over: 1: it has a record, *out; 0: none. */
static int find_attempt(struct provisioning *s, struct err *e)
{
    struct err why = {0};
    char token[65];

    for (;; ++*s->attempt) {
        snprintf(token, sizeof token, "job-%" PRId64 "-%u", s->wish->job, *s->attempt);
        if (machines_get(s->records, 0, token, s->out, &why) < 0)
            break;
        if (s->out->state >= MACHINE_DELETING)
            continue;
        if (s->out->state != MACHINE_INTENDED)
            adopt(&s->progress->offer, s->out);
        else if (!is_of_offer(s->out, &s->progress->offer)) {
            give_up(s, "planned elsewhere");
            --*s->attempt;
            continue;
        }
        return 1;
    }
    *s->out = (struct machine){0};
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

/* ---- a machine that another job left ---- */

/* 1: the job has it; 0: it is none any more, or going. */
static int take_over(struct provisioning *s)
{
    struct machine *heir = &s->progress->heir;
    const struct launch_wish *w = s->wish;
    struct err why = {0};
    char token[65];

    snprintf(token, sizeof token, "job-%" PRId64 "-%u", w->job, *s->attempt);
    const struct machine_tenant tenant = {
        .token = token, .attempt = *s->attempt, .run = w->run, .job = w->job};
    const struct machine before = *heir;
    bool is_ours = machine_take_over(s->records, heir, &tenant, &why) == 0;
    if (is_ours) {
        *s->out = *heir;
        /* Room for what comes; what does not go now goes with the machine. */
        const struct exec_host h = host_of(&before, w->options->agent, w->options->home);
        exec_remove(&h, before.facts.job, NULL);
    } else if (why.kind != ERR_NOTFOUND) {
        log_info("broker", "job %" PRId64 ": %s", w->job, why.text);
        clouds_release(w->options->home, s->records, heir, "not taken over", &why);
    }
    *heir = (struct machine){0};
    return is_ours;
}

/* ---- launching ---- */

static struct machine_order order_of(const struct provisioning *s, const char *token)
{
    const struct job_offer *o = &s->progress->offer;
    const struct config_limits *limits = &s->config->limits;

    return (struct machine_order){
        .request = {.token = token,
                    .run = s->wish->run,
                    .job = s->wish->job,
                    .provider = o->provider,
                    .region = o->region,
                    .zone = o->zone,
                    .instance_type = o->instance_type,
                    .spot = o->spot,
                    .max_price_usd_per_hour = o->max_price_usd_per_hour > 0
                                                  ? o->max_price_usd_per_hour
                                                  : (double)INFINITY,
                    .price_usd_per_hour = o->price_usd_per_hour,
                    .cpus = o->cpus,
                    .memory_gb = o->memory_gb,
                    .accelerator = o->accelerator[0] ? o->accelerator : NULL,
                    .accelerators = o->accelerators,
                    .image = o->image[0] ? o->image : NULL,
                    .disk_gb = o->disk_gb},
        .stage = -1,
        .attempt = *s->attempt,
        .max_usd_per_hour =
            isfinite(limits->max_usd_per_hour) ? fmax(limits->max_usd_per_hour, 1e-9) : 0};
}

/* What runs at once, as far as this node knows: a server may cost more than a worker. */
static double gang_usd_per_hour(const struct launch_wish *w, const struct launch_progress *p)
{
    return p->offer.price_usd_per_hour * (w->nodes > 1 && !w->is_server ? w->nodes : 1);
}

static bool never_fits(const struct provisioning *s)
{
    return gang_usd_per_hour(s->wish, s->progress) > s->config->limits.max_usd_per_hour;
}

static int too_expensive(const struct provisioning *s, struct cloud_error *e)
{
    *e = (struct cloud_error){.failure = CLOUD_INVALID};
    return err_set(&e->err, ERR_NOFIT,
                   "limits.max_usd_per_hour: %u machines of %.2f USD per hour cost more than %.2f "
                   "USD",
                   s->wish->nodes, s->progress->offer.price_usd_per_hour,
                   s->config->limits.max_usd_per_hour);
}

/* It waits until others end, unless it never fits. */
static int over_hour(const struct provisioning *s, struct cloud_error *e)
{
    e->failure = never_fits(s) ? CLOUD_INVALID : CLOUD_CAPACITY;
    return -1;
}

/* A request that must wait is made by a later step: no worker thread waits for it. */
static bool is_my_turn(struct provisioning *s)
{
    const struct job_offer *o = &s->progress->offer;
    int64_t now_ms = time_monotonic_ms();

    if (!s->progress->turn_ms)
        s->progress->turn_ms = launches_turn_ms(s->wish->launches, o->provider, o->region,
                                                s->config->limits.launches_per_s, now_ms);
    return now_ms >= s->progress->turn_ms;
}

static int launch(struct provisioning *s, struct cloud_error *e)
{
    char token[65];

    if (s->wish->nodes > 1 && never_fits(s))
        return too_expensive(s, e);
    s->progress->awaits_turn = !is_my_turn(s);
    if (s->progress->awaits_turn) {
        e->failure = CLOUD_TRANSIENT;
        return err_set(&e->err, ERR_RETRY, "it is not its turn to launch (limits.launches_per_s)");
    }
    s->progress->turn_ms = 0;
    snprintf(token, sizeof token, "job-%" PRId64 "-%u", s->wish->job, *s->attempt);
    struct machine_order order = order_of(s, token);
    if (machine_launch(&s->handle.provisioner, &order, s->out, e) == 0)
        return 0;
    if (e->failure == CLOUD_FINE) {
        *s->out = (struct machine){0};
        return over_hour(s, e);
    }
    return -1;
}

/* ---- another offer ---- */

struct refusals {
    struct machine_refusal *list;
    size_t n, cap;
};

static int keep_refusal(void *context, const struct machine_refusal *r, struct err *e)
{
    struct refusals *all = context;

    (void)e;
    if (all->n >= REFUSALS_MAX)
        return 0;
    all->list = mem_room(all->list, all->n, &all->cap, sizeof *all->list);
    all->list[all->n++] = *r;
    return 0;
}

static int ask_plan(struct provisioning *s, const struct broker_replan *question, struct err *e)
{
    const struct broker_options *o = s->wish->options;
    struct launch_progress *p = s->progress;

    p->workers = p->offer;
    p->servers = (struct job_offer){0};
    if (o->replan(o, question, &p->workers, &p->servers, e) < 0)
        return -1;
    p->offer = s->wish->is_server && p->servers.provider[0] ? p->servers : p->workers;
    return 0;
}

static int plan_again(struct provisioning *s, struct err *e)
{
    struct refusals known = {0};
    int64_t since_ms = time_epoch_ms() - REFUSAL_LASTS_MS;
    struct broker_replan question = {
        .run = s->wish->run, .job = s->wish->job, .stage = s->wish->stage};

    if (!s->wish->options->replan)
        return err_set(e, ERR_NOFIT, "nothing plans again");
    int result = machine_refusals_each(s->records, since_ms, 0, 0, keep_refusal, &known, e);
    question.refusals = known.list;
    question.n = known.n;
    if (result == 0)
        result = ask_plan(s, &question, e);
    free(known.list);
    return result;
}

static void note_move(struct provisioning *s, const struct job_offer *from, const char *why)
{
    char was[256], now[256];

    job_offer_text(from, was);
    job_offer_text(&s->progress->offer, now);
    snprintf(s->progress->note, sizeof s->progress->note,
             "%.90s refused (%.150s); now %.90s, $%.4g/h", was, why, now,
             s->progress->offer.price_usd_per_hour);
}

/* "aws: launch job-1-1: " is not for people. */
static const char *without_token(const char *text, const char *token)
{
    char mark[96];

    snprintf(mark, sizeof mark, ": launch %s: ", token);
    const char *found = strstr(text, mark);
    return found ? found + strlen(mark) : text;
}

/* Records that the present offer is refused, and replaces it. -1: there is none. */
static int move(struct provisioning *s, const struct cloud_error *why, struct cloud_error *e)
{
    const struct job_offer from = s->progress->offer;
    struct machine_refusal r = {.offer = from,
                                .failure = why->failure,
                                .scope = why->scope,
                                .run = s->wish->run,
                                .job = s->wish->job,
                                .at_ms = time_epoch_ms(),
                                .took_s = (double)(time_epoch_ms() - s->begun_ms) / 1000};
    struct err none = {0};
    char was[256];

    COPY(r.text, without_token(why->err.text, s->out->facts.token));
    log_info("broker", "job %" PRId64 ": %s", s->wish->job, why->err.text);
    if (machine_refusal_note(s->records, &r, &e->err) < 0) {
        e->failure = CLOUD_TRANSIENT;
        return -1;
    }
    give_up(s, r.text);
    if (plan_again(s, &none) < 0) {
        e->failure = broker_passes(&none) ? CLOUD_TRANSIENT : CLOUD_INVALID;
        job_offer_text(&from, was);
        return err_set(&e->err, none.kind, "%s refused (%s); there is no other offer: %s", was,
                       r.text, none.text);
    }
    note_move(s, &from, r.text);
    if (s->wish->nodes <= 1)
        return 0;
    /* The other nodes of the gang start anew with it. */
    s->progress->is_moved = true;
    e->failure = CLOUD_INVALID;
    return err_set(&e->err, ERR_NOFIT, "%s", s->progress->note);
}

/* ---- one step ---- */

static int booting(struct provisioning *s, const char *why, struct cloud_error *e)
{
    s->progress->is_booting = true;
    e->failure = CLOUD_TRANSIENT;
    return err_set(&e->err, ERR_RETRY, "%s %s: %s", s->out->facts.id, s->out->facts.address, why);
}

/* Images install the drivers of their GPUs while they boot, or have none. */
static bool has_drivers(const struct job_offer *o, const struct exec_host *h, struct err *e)
{
    static const char *const others[] = {"tpu", "MI", "Radeon", "Gaudi", "Inferentia", "Trainium"};

    if (o->accelerators <= 0)
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(o->accelerator, others[i], strlen(others[i])))
            return true;
    return exec_succeeds(h, "nvidia-smi >/dev/null", e) == 0 ||
           err_wrap(e, "its image has no working driver for %s", o->accelerator) == 0;
}

/* The machine is up when the way to it is, whatever the cloud says. */
static int reach(struct provisioning *s, struct cloud_error *e)
{
    const struct launch_wish *w = s->wish;
    struct err why = {0};

    if (s->out->state == MACHINE_RUNNING && s->out->facts.address[0]) {
        const struct exec_host h = host_of(s->out, w->options->agent, w->options->home);
        /* From here on it powers itself off when we are gone. */
        if (exec_answers(&h, &why) == 0 &&
            host_watch(s->out, &h, s->config->limits.lease_s, &why) == 0 &&
            has_drivers(&s->progress->offer, &h, &why))
            return 0;
    }
    double waited_s = (double)(time_epoch_ms() - s->out->asked_ms) / 1000;
    if (waited_s < s->config->limits.boot_s)
        return booting(s, why.kind ? why.text : "boots", e);
    e->failure = CLOUD_CAPACITY;
    e->scope = CLOUD_ZONE;
    return err_set(&e->err, ERR_NOFIT, "%s does not answer after %.0f s (limits.boot_s): %s",
                   s->out->facts.id, waited_s, why.kind ? why.text : "it is not running yet");
}

static int try_offer(struct provisioning *s, struct cloud_error *e)
{
    *e = (struct cloud_error){.failure = CLOUD_TRANSIENT};
    int known = find_attempt(s, &e->err);
    if (known < 0)
        return -1;
    if (!known && s->progress->heir.facts.token[0])
        known = take_over(s);
    s->begun_ms = time_epoch_ms();
    if (open_cloud(s, &e->err) < 0) {
        e->failure = broker_passes(&e->err) ? CLOUD_TRANSIENT : CLOUD_INVALID;
        return -1;
    }
    bool is_up = known && s->out->state == MACHINE_RUNNING && s->out->facts.address[0];
    if (known && s->out->state != MACHINE_INTENDED
            ? !is_up && machine_look(&s->handle.provisioner, s->out, e) < 0 &&
                  e->failure != CLOUD_NOT_FOUND
            : launch(s, e) < 0)
        return -1;
    if (s->out->state < MACHINE_DELETING && reach(s, e) == 0)
        return 0;
    /* One that was up may have been reclaimed meanwhile. */
    struct cloud_error ignored;
    if (is_up)
        machine_look(&s->handle.provisioner, s->out, &ignored);
    if (s->out->state < MACHINE_DELETING)
        return -1;
    s->progress->is_booting = false;
    e->failure = CLOUD_CAPACITY;
    e->scope = CLOUD_ZONE;
    return err_set(&e->err, ERR_NOFIT, "%s was reclaimed while it booted", s->out->facts.id);
}

int launch_step(const struct launch_wish *w,
                struct launch_progress *p,
                unsigned *attempt,
                struct machine *out,
                struct cloud_error *e)
{
    AUTO_CLEAR(provisioning)
    struct provisioning s = {.wish = w, .progress = p, .attempt = attempt, .out = out};

    p->is_booting = p->awaits_turn = p->is_moved = false;
    *e = (struct cloud_error){.failure = CLOUD_TRANSIENT};
    if (open_home(&s, &e->err) < 0)
        return -1;
    for (unsigned offers = 0; offers < OFFERS_MAX; offers++) {
        if (try_offer(&s, e) == 0)
            return 0;
        const struct cloud_error why = *e;
        bool waits = !out->facts.token[0] && why.failure == CLOUD_CAPACITY; /* for limits */
        if (why.failure == CLOUD_AUTH)
            return err_set(&e->err, why.err.kind,
                           "%s; `tradewind clouds check` says what is wrong with the credentials",
                           why.err.text);
        if (why.failure == CLOUD_CONFLICT) {
            give_up(&s, why.err.text);
            continue;
        }
        if (waits || !machine_refuses_offer(why.failure) || move(&s, &why, e) < 0)
            return -1;
    }
    e->failure = CLOUD_INVALID;
    return err_set(&e->err, ERR_NOFIT, "%d offers were refused one after another", OFFERS_MAX);
}

/* ---- all nodes of a gang at once ---- */

static int add_price(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    double *usd = context;

    (void)now_ms;
    (void)e;
    *usd += strcmp(m->cloud, "pool") != 0 ? m->facts.price_usd_per_hour : 0;
    return 0;
}

int launch_ask(const struct launch_wish *w, const struct launch_progress *p, struct cloud_error *e)
{
    AUTO_CLEAR(provisioning) struct provisioning s = {.wish = w};
    const struct machine_filter open = {.world = 0};
    double usd = gang_usd_per_hour(w, p);

    *e = (struct cloud_error){.failure = CLOUD_TRANSIENT};
    if (open_home(&s, &e->err) < 0 || machines_each(s.records, &open, add_price, &usd, &e->err) < 0)
        return -1;
    if (usd <= s.config->limits.max_usd_per_hour) {
        *e = (struct cloud_error){0};
        return 0;
    }
    e->failure = CLOUD_CAPACITY;
    return err_set(&e->err, ERR_NOFIT,
                   "limits.max_usd_per_hour: %.2f USD would be exceeded by %u machines of %.2f USD "
                   "per hour",
                   s.config->limits.max_usd_per_hour, w->nodes, p->offer.price_usd_per_hour);
}
