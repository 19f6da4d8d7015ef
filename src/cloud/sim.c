/* The driver `sim`: a simulated cloud whose instances boot, bill and are preempted on the
 * caller's clock, as seed and faults (faults.h) say. cloud.c lists it. */
#include "cloud/faults.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/money.h"
#include "cloud/driver.h"
#include "cloud/instances.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Amazon gives; others give less. */
#define NOTICE_MS 120000
#define DELETE_MS 10000
/* Boots take from 3/4 to 5/4 of the mean. */
#define BOOT_LEAST 0.75
#define BOOT_SPREAD 0.5
/* Beyond this a spot machine is not taken back at all: thirty thousand years. */
#define FOREVER_MS 1e15

struct sim {
    struct cloud_folder folder;
    struct cloud_faults *troubles; /* NULL = none */
    uint64_t fingerprint;          /* of the text */
    char *counts;                  /* path of the file that has how often each still happens */
};

/* From 0 to below 1, by seed, purpose and token alone. */
static double draw(const struct cloud *c, const char *purpose, const char *token)
{
    char key[128];
    int n = snprintf(key, sizeof key, "%016" PRIx64 " %s %s", c->options.seed, purpose, token);

    return (double)(hash_xxh3(key, (size_t)n) >> 11) * 0x1p-53;
}

/* ---- troubles ---- */

static int read_counts(struct sim *s, struct err *e)
{
    struct err why = {0};
    AUTO_JSON json_t *value = sumfile_read(s->counts, NULL, &why);
    const char *text = json_string_value(json_object_get(value, "troubles"));
    const json_t *left = json_object_get(value, "left");
    char fingerprint[17];

    if (!value && why.kind == ERR_NOTFOUND)
        return 0;
    if (!value)
        return err_set(e, why.kind, "%s", why.text);
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, s->fingerprint);
    if (!text || strcmp(text, fingerprint) != 0)
        return 0;
    if (json_array_size(left) != s->troubles->n)
        return err_set(e, ERR_USAGE, "%s is damaged: it counts other faults", s->counts);
    for (size_t i = 0; i < s->troubles->n; i++)
        s->troubles->items[i].left = json_integer_value(json_array_get(left, i));
    return 0;
}

static int write_counts(struct sim *s, struct err *e)
{
    AUTO_JSON json_t *value = json_object();
    json_t *left = json_array();
    char fingerprint[17];

    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, s->fingerprint);
    json_object_set_new(value, "troubles", json_string(fingerprint));
    for (size_t i = 0; i < s->troubles->n; i++)
        json_array_append_new(left, json_integer(s->troubles->items[i].left));
    json_object_set_new(value, "left", left);
    return sumfile_write(s->counts, value, false, e);
}

/* Whether this fault happens now, which uses it up by one. 1, 0 or -1. Needs the lock. */
static int meet_locked(struct sim *s,
                       enum cloud_fault_kind kind,
                       const struct cloud_request *request,
                       struct cloud_fault *out,
                       struct err *e)
{
    if (!s->troubles)
        return 0;
    if (read_counts(s, e) < 0)
        return -1;
    struct cloud_fault *t = cloud_faults_find(s->troubles, kind, request);
    if (!t)
        return 0;
    *out = *t;
    if (t->left < 0)
        return 1;
    t->left--;
    return write_counts(s, e) < 0 ? -1 : 1;
}

static int meet(struct cloud *c,
                enum cloud_fault_kind kind,
                const struct cloud_request *request,
                struct cloud_fault *out,
                struct err *e)
{
    struct sim *s = c->priv;

    if (!s->troubles)
        return 0;
    if (instances_lock(s->folder.instances, e) < 0)
        return -1;
    int met = meet_locked(s, kind, request, out, e);
    instances_unlock(s->folder.instances);
    return met;
}

/* A fault that makes a call fail, and how it is told. */
struct refusal {
    enum cloud_fault_kind kind;
    enum cloud_failure failure;
    const char *text;
};

static int refused(const struct refusal *r,
                   int met,
                   const struct cloud_fault *t,
                   struct cloud_error *e)
{
    if (met <= 0)
        return met;
    if (r->failure == CLOUD_THROTTLE)
        e->retry_after_s = t->seconds;
    return cloud_fail(e, r->failure, t->scope, "%s", r->text);
}

/* -1 when one of them happens, in their order. */
static int refuse(struct cloud *c,
                  const struct refusal *list,
                  size_t n,
                  const struct cloud_request *request,
                  struct cloud_error *e)
{
    for (size_t i = 0; i < n; i++) {
        struct cloud_fault t;
        int met = meet(c, list[i].kind, request, &t, &e->err);
        if (refused(&list[i], met, &t, e) < 0)
            return -1;
    }
    return 0;
}

static int refuse_any_call(struct cloud *c, struct cloud_error *e)
{
    static const struct refusal list[] = {
        {CLOUD_FAULT_AUTH, CLOUD_AUTH, "the credentials have expired: sign in again"},
        {CLOUD_FAULT_THROTTLE, CLOUD_THROTTLE, "too many calls"},
        {CLOUD_FAULT_TRANSIENT, CLOUD_TRANSIENT, "an internal error"},
    };

    return refuse(c, list, sizeof list / sizeof *list, NULL, e);
}

/* ---- prices that move ---- */

static bool is_traded(const struct cloud *c, const struct cloud_machine *m)
{
    const struct cloud_market *market = c->options.market;

    return market && market->knows(market->context, m);
}

/* What it has cost follows from when it was launched and ended: nothing has to be remembered. */
static void meter(const struct cloud *c, struct cloud_machine *m)
{
    const struct cloud_market *market = c->options.market;
    int64_t until_ms = m->ended_ms ? m->ended_ms : cloud_now_ms(c);

    if (!is_traded(c, m))
        return;
    m->metered_ms = until_ms > m->launched_ms ? until_ms : m->launched_ms;
    m->metered_usd = market->paid_usd(market->context, m, m->metered_ms);
    m->price_usd_per_hour = market->usd_per_hour(market->context, m, m->metered_ms);
    /* Withdrawn: it costs nothing, for it is taken back at this moment. */
    if (isnan(m->price_usd_per_hour))
        m->price_usd_per_hour = 0;
}

/* ---- launching ---- */

static int refuse_launch(struct cloud *c, const struct cloud_request *q, struct cloud_error *e)
{
    static const struct refusal list[] = {
        {CLOUD_FAULT_PERMISSION, CLOUD_PERMISSION, "these credentials may not launch machines"},
        {CLOUD_FAULT_UNSUPPORTED, CLOUD_UNSUPPORTED, "not offered"},
        {CLOUD_FAULT_QUOTA, CLOUD_QUOTA, "the limit of the account is reached"},
        {CLOUD_FAULT_CAPACITY, CLOUD_CAPACITY, "there is none now"},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct cloud_fault t;
        int met = meet_locked(c->priv, list[i].kind, q, &t, &e->err);
        if (refused(&list[i], met, &t, e) < 0)
            return met > 0 ? err_wrap(&e->err, "%s in %s/%s%s%s", q->instance_type, q->provider,
                                      q->region, *q->zone ? "/" : "", q->zone)
                           : -1;
    }
    return 0;
}

static int set_price(struct cloud *c,
                     const struct cloud_request *q,
                     struct cloud_machine *m,
                     struct cloud_error *e)
{
    m->price_usd_per_hour = q->price_usd_per_hour;
    if (is_traded(c, m)) {
        const struct cloud_market *market = c->options.market;
        m->price_usd_per_hour = market->usd_per_hour(market->context, m, m->launched_ms);
        if (isnan(m->price_usd_per_hour))
            return cloud_fail(e, CLOUD_CAPACITY, CLOUD_ZONE, "%s is not for sale now",
                              q->instance_type);
    }
    if (!(m->price_usd_per_hour >= 0 && m->price_usd_per_hour <= MONEY_MAX_USD))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s costs %g an hour", q->instance_type,
                          m->price_usd_per_hour);
    if (q->spot && m->price_usd_per_hour > q->max_price_usd_per_hour)
        return cloud_fail(e, CLOUD_CAPACITY, CLOUD_ZONE,
                          "%s costs $%g an hour now, more than the $%g offered", q->instance_type,
                          m->price_usd_per_hour, q->max_price_usd_per_hour);
    return 0;
}

static int set_boot(struct cloud *c,
                    const struct cloud_request *q,
                    struct instance *r,
                    struct err *e)
{
    struct cloud_fault t;
    double boot_s = c->options.boot_s * (BOOT_LEAST + BOOT_SPREAD * draw(c, "boot", q->token));

    if (is_traded(c, &r->machine))
        boot_s = c->options.market->boot_s;
    int met = meet_locked(c->priv, CLOUD_FAULT_SLOW_BOOT, q, &t, e);

    if (met > 0)
        boot_s += t.seconds;
    r->machine.ready_ms += llround(boot_s * 1000);
    if (met >= 0 && (met = meet_locked(c->priv, CLOUD_FAULT_NEVER_BOOTS, q, &t, e)) > 0)
        r->machine.ready_ms = INSTANCE_NEVER;
    if (met >= 0 && (met = meet_locked(c->priv, CLOUD_FAULT_SLOW_VISIBLE, q, &t, e)) > 0)
        r->visible_ms += llround(t.seconds * 1000);
    return met < 0 ? -1 : 0;
}

/* The first event of a Poisson process: exponentially distributed from the launch on. */
static int set_taken(struct cloud *c,
                     const struct cloud_request *q,
                     struct instance *r,
                     struct err *e)
{
    struct cloud_fault t;
    double after_ms =
        -log1p(-draw(c, "taken", q->token)) / c->options.preemptions_per_hour * 3600 * 1000;
    int met = meet_locked(c->priv, CLOUD_FAULT_PREEMPT_AFTER, q, &t, e);

    if (met > 0)
        after_ms = t.seconds * 1000;
    else if (is_traded(c, &r->machine)) {
        /* The market's own times, without notice. */
        r->taken_ms = c->options.market->taken_ms(c->options.market->context, &r->machine);
        return met;
    }
    /* NaN: neither a rate nor luck. */
    if (met < 0 || !(after_ms < FOREVER_MS))
        return met < 0 ? -1 : 0;
    r->taken_ms = r->machine.launched_ms + llround(after_ms);
    r->notice_ms = r->taken_ms - NOTICE_MS;
    if (r->notice_ms < r->machine.launched_ms)
        r->notice_ms = r->machine.launched_ms;
    if ((met = meet_locked(c->priv, CLOUD_FAULT_NO_NOTICE, q, &t, e)) > 0)
        r->notice_ms = INSTANCE_NEVER;
    return met < 0 ? -1 : 0;
}

static int sim_provision(struct cloud *c,
                         const struct cloud_request *q,
                         struct instance *r,
                         struct cloud_error *e)
{
    struct cloud_machine *m = &r->machine;
    char key[96];
    int n = snprintf(key, sizeof key, "%016" PRIx64 " id %s", c->options.seed, q->token);

    snprintf(m->id, sizeof m->id, "sim-%016" PRIx64, hash_xxh3(key, (size_t)n));
    instance_as_asked(r, q);
    if (refuse_launch(c, q, e) < 0 || set_price(c, q, m, e) < 0 || set_boot(c, q, r, &e->err) < 0)
        return -1;
    return q->spot ? set_taken(c, q, r, &e->err) : 0;
}

/* ---- the driver ---- */

static int sim_open(struct cloud *c, struct err *e)
{
    struct sim *s = c->priv = mem_zero(1, sizeof *s);
    const char *text = c->options.troubles;

    s->folder.provision = sim_provision;
    s->folder.delete_ms = DELETE_MS;
    if (text && !(s->troubles = cloud_faults_new(text, e)))
        return -1;
    s->fingerprint = text ? hash_text(text) : 0;
    s->folder.instances = instances_open(c->options.home, c->driver->name, false, e);
    if (!s->folder.instances)
        return -1;
    s->counts = mem_printf("%s/troubles", instances_dir(s->folder.instances));
    return 0;
}

static void sim_close(struct cloud *c)
{
    struct sim *s = c->priv;

    if (s) {
        cloud_faults_free(s->troubles);
        free(s->counts);
    }
    cloud_folder_close(c);
}

static int sim_launch(struct cloud *c,
                      const struct cloud_request *request,
                      struct cloud_machine *out,
                      struct cloud_error *e)
{
    static const struct refusal before = {CLOUD_FAULT_TIMEOUT_BEFORE_LAUNCH, CLOUD_UNKNOWN,
                                          "no answer within 60 s"};
    static const struct refusal after = {CLOUD_FAULT_TIMEOUT_AFTER_LAUNCH, CLOUD_UNKNOWN,
                                         "no answer within 60 s"};

    if (refuse_any_call(c, e) < 0 || refuse(c, &before, 1, request, e) < 0 ||
        cloud_folder_launch(c, request, out, e) < 0)
        return -1;
    meter(c, out);
    return refuse(c, &after, 1, request, e);
}

static int sim_look(struct cloud *c,
                    const char *token,
                    struct cloud_machine *out,
                    struct cloud_error *e)
{
    if (refuse_any_call(c, e) < 0)
        return -1;
    if (cloud_folder_look(c, token, out, e) < 0)
        return -1;
    meter(c, out);
    return 0;
}

static int sim_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    static const struct refusal before = {CLOUD_FAULT_TERMINATE_FAILS, CLOUD_TRANSIENT,
                                          "an internal error: it runs on"};
    static const struct refusal after = {CLOUD_FAULT_TIMEOUT_AFTER_TERMINATE, CLOUD_UNKNOWN,
                                         "no answer within 60 s"};

    if (refuse_any_call(c, e) < 0 || refuse(c, &before, 1, NULL, e) < 0 ||
        cloud_folder_terminate(c, token, e) < 0)
        return -1;
    return refuse(c, &after, 1, NULL, e);
}

/* A list has the cost of each machine. */
struct metering {
    const struct cloud *cloud;
    cloud_visit *visit;
    void *context;
};

static int visit_metered(void *context, const struct cloud_machine *m, struct err *e)
{
    const struct metering *x = context;
    struct cloud_machine metered = *m;

    meter(x->cloud, &metered);
    return x->visit(x->context, &metered, e);
}

static int sim_list(struct cloud *c, cloud_visit *visit, void *context, struct cloud_error *e)
{
    static const struct refusal fails = {CLOUD_FAULT_LIST_FAILS, CLOUD_TRANSIENT,
                                         "an internal error"};
    struct cloud_fault t;

    if (refuse_any_call(c, e) < 0 || refuse(c, &fails, 1, NULL, e) < 0)
        return -1;
    int empty = meet(c, CLOUD_FAULT_LIST_EMPTY, NULL, &t, &e->err);
    if (empty)
        return empty < 0 ? -1 : 0;
    struct metering metering = {c, visit, context};
    return cloud_folder_list(c, visit_metered, &metering, e);
}

static int64_t sim_next_ms(struct cloud *c)
{
    struct sim *s = c->priv;
    int64_t now_ms = cloud_now_ms(c), next_ms = INSTANCE_NEVER;
    const struct instance *instance;
    size_t at = 0;

    if (instances_lock(s->folder.instances, NULL) < 0)
        return INSTANCE_NEVER;
    while ((instance = instances_next(s->folder.instances, &at, now_ms))) {
        int64_t then_ms = instance_next_ms(instance, now_ms);
        next_ms = then_ms < next_ms ? then_ms : next_ms;
    }
    instances_unlock(s->folder.instances);
    return next_ms;
}

const struct cloud_driver cloud_sim = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .launch = sim_launch,
    .look = sim_look,
    .terminate = sim_terminate,
    .list = sim_list,
    .next_ms = sim_next_ms,
};
