#include "broker/daemon/host.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/clouds.h"
#include "exec/jobfile.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hosts that one job may have had before something is wrong with us, not with them. */
#define ATTEMPTS_MAX 1000
/* How long a claimed host stays ours. */
#define RENEW_S ((double)MACHINE_LEASE_MS / 1000)
/* While all hosts of a gang are looked for. */
#define ASK_S 60.0
/* So many free hosts are looked at. */
#define FREE_MAX 256

static bool is_in(const struct config_host *h, const char *group)
{
    return !strcmp(group, HOST_ANY) || !strcmp(h->pool, group);
}

size_t host_count(const struct config *c, const char *group)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_hosts; i++)
        n += is_in(&c->hosts[i], group);
    return n;
}

static char *jobs_root(const char *owner)
{
    return mem_printf("~/.tradewind-jobs/%s", owner);
}

struct cloud *host_pool_open(const struct config *c, const char *owner, struct err *e)
{
    AUTO_MEM struct cloud_host *hosts = mem_zero(c->n_hosts + 1, sizeof *hosts);
    /* Homes that share a host, or hosts that share a file system, must not share directories. */
    AUTO_MEM char *root = jobs_root(owner);

    for (size_t i = 0; i < c->n_hosts; i++)
        hosts[i] = (struct cloud_host){.group = c->hosts[i].pool,
                                       .address = c->hosts[i].host,
                                       .cpus = c->hosts[i].cpus,
                                       .memory_gb = c->hosts[i].memory_gb,
                                       .accelerator = c->hosts[i].accelerator,
                                       .accelerators = c->hosts[i].accelerators,
                                       .price_usd_per_hour = c->hosts[i].price_usd_per_hour};
    return cloud_open(&(struct cloud_options){.name = "pool",
                                              .home = c->home,
                                              .owner = owner,
                                              .hosts = hosts,
                                              .n_hosts = c->n_hosts,
                                              .root = root},
                      e);
}

/* ---- records and pool, for one call ---- */

struct pool {
    struct config *config;
    struct machines *records;
    struct cloud *cloud;
    struct machine_provisioner provisioner;
    size_t n_taken;    /* hosts that other homes use */
    struct err taken;  /* what the last of them says */
    struct err denied; /* what the last host says that refused us, or that we refuse */
};

static void pool_clear(struct pool *d)
{
    cloud_free(d->cloud);
    machines_free(d->records);
    config_free(d->config);
}

static int64_t real_ms(void *context)
{
    (void)context;
    return time_epoch_ms();
}

static int pool_open(struct pool *d, const char *home, struct err *e)
{
    *d = (struct pool){.config = config_load(home, e)};
    if (!d->config)
        return -1;
    d->records = machines_open(home, e);
    if (!d->records)
        return -1;
    d->cloud = host_pool_open(d->config, machines_owner(d->records), e);
    d->provisioner =
        (struct machine_provisioner){.records = d->records, .cloud = d->cloud, .now_ms = real_ms};
    return d->cloud ? 0 : -1;
}

/* ---- provisioning ---- */

static void make_token(int64_t job, unsigned attempt, char out[static 65])
{
    snprintf(out, 65, "job-%" PRId64 "-%u", job, attempt);
}

int host_find(
    struct machines *records, int64_t job, unsigned *attempt, struct machine *out, struct err *e)
{
    struct err why = {0};

    for (*attempt = 1; *attempt <= ATTEMPTS_MAX; ++*attempt) {
        char token[65];
        make_token(job, *attempt, token);
        if (machines_get(records, 0, token, out, &why) < 0)
            break;
    }
    if (why.kind != ERR_NOTFOUND || *attempt == 1)
        return err_set(e, why.kind ? why.kind : ERR_NOFIT, "%s", why.text);
    /* Those before it could not be reached, and may wait to be cleared. */
    if (out->state >= MACHINE_DELETING)
        return err_set(e, ERR_NOTFOUND, "%s", why.text);
    --*attempt;
    return 0;
}

/* A refused host was never there: its record goes. */
static void forget(struct pool *d, struct machine *m)
{
    struct cloud_error why;

    if (machine_release(&d->provisioner, m, "refused", &why) == 0)
        machine_forget(d->records, 0, m->facts.token, NULL);
}

/* A record that could not be written is not our mistake, and passes. */
static int refused(struct cloud_error *e)
{
    if (e->failure == CLOUD_INVALID && e->err.kind != ERR_USAGE)
        e->failure = CLOUD_TRANSIENT;
    return -1;
}

static struct cloud_request request_of(const struct host_wish *w, const char *token)
{
    bool any = !strcmp(w->group, HOST_ANY);

    return (struct cloud_request){.token = token,
                                  .run = w->run,
                                  .job = w->job,
                                  .region = any ? "" : w->group,
                                  .max_price_usd_per_hour = (double)INFINITY,
                                  .cpus = w->cpus,
                                  .memory_gb = (double)w->memory_mb / 1024,
                                  .accelerator = w->gpus && w->gpu_type[0] ? w->gpu_type : NULL,
                                  .accelerators = w->gpus};
}

static int provision_once(struct pool *d,
                          const struct host_wish *w,
                          unsigned attempt,
                          const char *host,
                          struct machine *out,
                          struct cloud_error *e)
{
    char token[65];

    make_token(w->job, attempt, token);
    struct machine_order order = {.request = request_of(w, token), .stage = -1, .attempt = attempt};
    order.request.host = host;
    if (machine_launch(&d->provisioner, &order, out, e) == 0)
        return 0;
    if (e->failure == CLOUD_CAPACITY || e->failure == CLOUD_UNSUPPORTED)
        forget(d, out);
    return refused(e);
}

/* ---- other homes ---- */

/* Who we are, to people who want the host: "ann@laptop". */
static void put_label(char out[static 200])
{
    struct passwd account, *found = NULL;
    char room[1024], name[100] = "";

    getpwuid_r(getuid(), &account, room, sizeof room, &found);
    if (gethostname(name, sizeof name - 1) < 0)
        name[0] = 0;
    snprintf(out, 200, "%.90s@%s", found ? found->pw_name : "unknown", name);
}

static int claim(const struct exec_host *h, const char *token, double seconds, struct err *e)
{
    char label[200];

    put_label(label);
    return exec_claim(h, token, seconds, label, e) < 0 ? err_wrap(e, "%s", h->address) : 0;
}

/* The hosts that are free by our own records. */
struct free_hosts {
    const char *list[FREE_MAX];
    size_t n;
};

static int find_free(struct pool *d,
                     const struct host_wish *w,
                     const char *token,
                     struct free_hosts *out,
                     struct cloud_error *e)
{
    struct cloud_request request = request_of(w, token);

    return cloud_free_hosts(d->cloud, &request, out->list, FREE_MAX, &out->n, e) < 0 ? refused(e)
                                                                                     : 0;
}

/* Which of these free hosts no other home uses, at most `wanted` of them; they are ours for a
 * while. A host that does not answer counts: sending the job there tells what is wrong. One whose
 * key is not the one we know, or that refuses ours, is left out. */
static size_t claim_some(struct pool *d,
                         const struct host_wish *w,
                         const char *token,
                         double seconds,
                         const struct free_hosts *from,
                         const char **out,
                         size_t wanted)
{
    AUTO_MEM char *root = jobs_root(machines_owner(d->records));
    size_t n = 0;

    d->n_taken = 0;
    for (size_t i = 0; i < from->n && n < wanted; i++) {
        const struct exec_host h = {
            .driver = "ssh", .address = from->list[i], .root = root, .agent = w->agent};
        struct err why = {0};
        if (exec_prepare(&h, &why) == 0)
            claim(&h, token, seconds, &why);
        if (why.kind == ERR_NOFIT) {
            d->taken = why;
            d->n_taken++;
        } else if (why.kind == ERR_DENIED) {
            log_warn("broker", "job %" PRId64 " does not go to a host: %s", w->job, why.text);
            d->denied = why;
        } else {
            out[n++] = from->list[i];
        }
    }
    return n;
}

/* Hosts of the group that suit the job and that our own jobs have. */
static size_t count_busy(struct pool *d, const struct host_wish *w, const struct free_hosts *free)
{
    struct cloud_request request = request_of(w, "busy");
    size_t n = 0;

    for (size_t i = 0; i < d->config->n_hosts; i++) {
        const struct config_host *h = &d->config->hosts[i];
        struct cloud_error why = {0};
        const char *one;
        size_t n_one, k = 0;
        while (k < free->n && strcmp(free->list[k], h->host) != 0)
            k++;
        request.host = h->host;
        if (k == free->n && is_in(h, w->group) &&
            (cloud_free_hosts(d->cloud, &request, &one, 1, &n_one, &why) == 0 ||
             why.failure == CLOUD_CAPACITY))
            n++;
    }
    return n;
}

/* The job waits for hosts that come free, or fails if those that refuse us are needed. */
static int too_few(struct pool *d,
                   const struct host_wish *w,
                   const struct free_hosts *free,
                   size_t found,
                   size_t wanted,
                   struct cloud_error *e)
{
    bool is_denied = d->denied.kind != ERR_NONE;

    if (is_denied && found + d->n_taken + count_busy(d, w, free) < wanted) {
        *e = (struct cloud_error){.failure = CLOUD_AUTH, .err = d->denied};
        return -1;
    }
    e->failure = CLOUD_CAPACITY;
    return err_set(&e->err, ERR_NOFIT, "every suitable host is taken%s%s%s%s",
                   d->taken.kind ? ", " : "", d->taken.text, is_denied ? "; " : "", d->denied.text);
}

/* NULL when the pool is to choose: what it gave for this token before. */
static int choose(struct pool *d,
                  const struct host_wish *w,
                  unsigned attempt,
                  const char **host_out,
                  struct cloud_error *e)
{
    struct free_hosts free_now = {.n = 0};
    struct machine known;
    char token[65];

    *host_out = NULL;
    make_token(w->job, attempt, token);
    if (machines_get(d->records, 0, token, &known, NULL) == 0)
        return 0;
    if (find_free(d, w, token, &free_now, e) < 0)
        return -1;
    return claim_some(d, w, token, CLAIM_LOOKING_S, &free_now, host_out, 1)
               ? 0
               : too_few(d, w, &free_now, 0, 1, e);
}

int host_ask(const struct host_wish *w, unsigned n, struct cloud_error *e)
{
    AUTO_CLEAR(pool) struct pool d = {0};
    struct free_hosts free_now = {.n = 0};
    const char *ours[FREE_MAX];
    char token[65];

    *e = (struct cloud_error){.failure = CLOUD_TRANSIENT};
    if (pool_open(&d, w->home, &e->err) < 0)
        return -1;
    snprintf(token, sizeof token, "job-%" PRId64 "-ask", w->job);
    if (find_free(&d, w, token, &free_now, e) < 0)
        return -1;
    e->failure = CLOUD_CAPACITY;
    if (free_now.n < n)
        return err_set(&e->err, ERR_NOFIT, "%zu of %u hosts are free", free_now.n, n);
    size_t found = claim_some(&d, w, token, ASK_S, &free_now, ours, n);
    e->failure = CLOUD_FINE;
    if (found == n)
        return 0;
    AUTO_MEM char *root = jobs_root(machines_owner(d.records));
    for (size_t i = 0; i < found; i++) {
        const struct exec_host h = {
            .driver = "ssh", .address = ours[i], .root = root, .agent = w->agent};
        exec_release(&h, token, NULL);
    }
    return too_few(&d, w, &free_now, found, n, e);
}

/* Another job of ours may take the chosen one before us: then there are others. */
static int provision_chosen(struct pool *d,
                            const struct host_wish *w,
                            unsigned attempt,
                            struct machine *out,
                            struct cloud_error *e)
{
    for (size_t tries = 1;; tries++) {
        const char *host;
        if (choose(d, w, attempt, &host, e) < 0)
            return -1;
        if (provision_once(d, w, attempt, host, out, e) == 0)
            return 0;
        if (!host || e->failure != CLOUD_CAPACITY || tries >= d->config->n_hosts)
            return -1;
    }
}

int host_provision(const struct host_wish *w,
                   unsigned *attempt,
                   struct machine *out,
                   struct cloud_error *e)
{
    AUTO_CLEAR(pool) struct pool d = {0};

    *e = (struct cloud_error){.failure = CLOUD_TRANSIENT};
    if (pool_open(&d, w->home, &e->err) < 0)
        return -1;
    for (; *attempt <= ATTEMPTS_MAX; ++*attempt) {
        char token[65];
        struct machine known;
        make_token(w->job, *attempt, token);
        if (machines_get(d.records, 0, token, &known, NULL) == 0 && known.state >= MACHINE_DELETING)
            continue;
        if (provision_chosen(&d, w, *attempt, out, e) < 0)
            return -1;
        /* Another process may have released the host meanwhile. */
        if (out->state < MACHINE_DELETING) {
            e->err = d.denied;
            return 0;
        }
    }
    e->failure = CLOUD_INVALID;
    return err_set(&e->err, ERR_NOFIT, "job %" PRId64 " had %d hosts", w->job, ATTEMPTS_MAX);
}

struct exec_host host_of(const struct machine *m, const char *agent, const char *home)
{
    return (struct exec_host){.driver = m->facts.exec_driver,
                              .identity = cloud_is_provider(m->cloud) ? home : NULL,
                              .alias = machine_cloud_token(m),
                              .address = m->facts.address,
                              .root = m->facts.root,
                              .agent = agent,
                              .token = m->facts.token};
}

/* ---- a job over there ---- */

int host_send(const struct exec_host *h, int64_t job, const char *directory, struct err *e)
{
    struct err why = {0};

    if (exec_prepare(h, e) < 0 || claim(h, h->token, RENEW_S, e) < 0)
        return -1;
    if (exec_send(h, job, directory, &why) == 0)
        return 0;
    /* An earlier broker came further than it could write down. */
    if (why.kind == ERR_USAGE && exec_host_check(h, NULL) == 0)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

int host_reach(const struct exec_host *h, struct err *e)
{
    struct err why = {0};

    if (exec_prepare(h, e) < 0)
        return -1;
    if (claim(h, h->token, RENEW_S, &why) == 0)
        return 0;
    if (why.kind != ERR_NOFIT)
        return err_set(e, why.kind, "%s", why.text);
    /* Ours lapsed before its job began; now both have one there. */
    log_warn("broker", "%s", why.text);
    return 0;
}

/* The login user of every image of data/images.csv may do this. */
const char host_power_off[] = "sudo -n systemctl poweroff || sudo -n shutdown -h now || "
                              "systemctl poweroff || shutdown -h now || poweroff";

int host_watch(const struct machine *m, const struct exec_host *h, double lease_s, struct err *e)
{
    const struct exec_watch watch = {
        .lease_s = lease_s, .power_off = host_power_off, .notices = m->cloud};

    return exec_prepare(h, e) < 0 ? -1 : exec_watch(h, &watch, e);
}

static int renew_there(const struct broker_options *o,
                       struct machines *records,
                       const char *token,
                       double lease_s,
                       struct err *e)
{
    struct machine m;

    if (machines_get(records, 0, token, &m, e) < 0)
        return -1;
    if (!cloud_is_provider(m.cloud) || m.state != MACHINE_RUNNING || !m.facts.address[0])
        return 0;
    const struct exec_host h = host_of(&m, o->agent, o->home);
    return host_watch(&m, &h, lease_s, e);
}

int host_renew(
    const struct broker_options *o, char (*tokens)[65], size_t n, double lease_s, struct err *e)
{
    AUTO(machines) struct machines *records = machines_open(o->home, e);
    int64_t expires_ms = time_epoch_ms() + MACHINE_LEASE_MS;
    int result = 0;

    if (!records)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (machine_renew_one(records, 0, tokens[i], expires_ms, e) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (renew_there(o, records, tokens[i], lease_s, e) < 0)
            result = -1;
    return result;
}

/* ---- clearing up ---- */

/* The directory of the job goes, and what may still run in it. */
static int clear_job(const struct exec_host *h, int64_t job, const char *reason, struct err *e)
{
    struct err why = {0};

    if (exec_remove(h, job, &why) == 0)
        return 0;
    if (why.kind == ERR_USAGE && exec_stop(h, job, 0, reason, e) < 0)
        return -1;
    /* The agent that is to do it may be one of another version. */
    if (why.kind != ERR_USAGE && why.kind != ERR_RETRY && exec_prepare(h, e) < 0)
        return -1;
    if (why.kind != ERR_RETRY && exec_remove(h, job, e) == 0)
        return 0;
    return err_set(e, ERR_RETRY, "%s", why.text);
}

int host_empty(const char *agent, const struct machine *m, const char *reason, struct err *e)
{
    struct exec_host h = host_of(m, agent, NULL);

    /* Without an address no job was ever sent there. */
    if (!m->facts.address[0])
        return 0;
    if (m->facts.job && clear_job(&h, m->facts.job, reason, e) < 0)
        return -1;
    return exec_release(&h, m->facts.token, e);
}

int host_release(const char *home,
                 const char *agent,
                 struct machine *m,
                 int64_t over_ms,
                 const char *reason,
                 struct err *e)
{
    AUTO_CLEAR(pool) struct pool d = {0};
    struct cloud_error why;

    if (pool_open(&d, home, e) < 0)
        return -1;
    machines_get(d.records, 0, m->facts.token, m, NULL);
    if (m->state == MACHINE_GONE)
        return 0;
    if (machine_start_release(d.records, m, reason, over_ms, e) < 0)
        return -1;
    if (cloud_is_provider(m->cloud))
        return clouds_release(home, d.records, m, reason, e);
    if (host_empty(agent, m, reason, e) < 0)
        return -1;
    if (machine_release(&d.provisioner, m, reason, &why) < 0)
        return err_set(e, why.err.kind, "%s", why.err.text);
    return m->state == MACHINE_GONE
               ? 0
               : err_set(e, ERR_RETRY, "the release of %s is not confirmed yet", m->facts.address);
}
