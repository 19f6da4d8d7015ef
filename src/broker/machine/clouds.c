#include "broker/machine/clouds.h"

#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/key.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool clouds_are_meant(const char *on)
{
    return !strcmp(on, CLOUDS_ANY) || cloud_is_provider(on);
}

static int64_t real_ms(void *context)
{
    (void)context;
    return time_epoch_ms();
}

int clouds_open(struct clouds_handle *h,
                const char *home,
                struct machines *records,
                const char *provider,
                const char *region,
                bool launches,
                struct err *e)
{
    *h = (struct clouds_handle){.provisioner = {.records = records, .now_ms = real_ms}};
    if (launches) {
        AUTO(config) struct config *c = config_load(home, e);
        if (!c || !(h->key = machine_key(home, &h->private_key, e)))
            return -1;
        h->admit = c->admit ? mem_dup(c->admit) : NULL;
    }
    /* A machine knows by the directory which home uses it. */
    AUTO_MEM char *root = mem_printf("~/.tradewind-jobs/%s", machines_owner(records));
    h->provisioner.cloud = cloud_open(&(struct cloud_options){.name = provider,
                                                              .home = home,
                                                              .owner = machines_owner(records),
                                                              .region = region,
                                                              .root = root,
                                                              .key = h->key,
                                                              .admit = h->admit},
                                      e);
    return h->provisioner.cloud ? 0 : -1;
}

void clouds_handle_clear(struct clouds_handle *h)
{
    cloud_free(h->provisioner.cloud);
    free(h->key);
    free(h->private_key);
    free(h->admit);
    *h = (struct clouds_handle){0};
}

int clouds_release(const char *home,
                   struct machines *records,
                   struct machine *m,
                   const char *reason,
                   struct err *e)
{
    AUTO_CLEAR(clouds_handle) struct clouds_handle h = {0};
    struct cloud_error why;

    if (clouds_open(&h, home, records, m->cloud, m->facts.region, false, e) < 0)
        return -1;
    if (machine_release(&h.provisioner, m, reason, &why) < 0)
        return err_set(e, why.err.kind, "%s", why.err.text);
    return m->state == MACHINE_GONE
               ? 0
               : err_set(e, ERR_RETRY, "the termination of %s is not confirmed yet", m->facts.id);
}

/* ---- regions ---- */

struct regions {
    struct place {
        char provider[32], region[64];
    } * list;
    size_t n, cap;
    const char *provider; /* that is being listed */
};

static void add_place(struct regions *r, const char *provider, const char *region)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->list[i].provider, provider) && !strcmp(r->list[i].region, region))
            return;
    r->list = mem_room(r->list, r->n, &r->cap, sizeof *r->list);
    struct place *p = &r->list[r->n++];
    snprintf(p->provider, sizeof p->provider, "%s", provider);
    snprintf(p->region, sizeof p->region, "%s", region);
}

static int add_record(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    (void)now_ms;
    (void)e;
    if (cloud_is_provider(m->cloud))
        add_place(context, m->cloud, m->facts.region);
    return 0;
}

static int add_region(void *context, const char *region, struct err *e)
{
    struct regions *r = context;

    (void)e;
    add_place(r, r->provider, region);
    return 0;
}

/* 0 = listed, or there are no credentials for it; -1: why. */
static int list_regions(const char *home,
                        struct machines *records,
                        const char *provider,
                        struct regions *out,
                        struct err *why)
{
    AUTO_CLEAR(clouds_handle) struct clouds_handle h = {0};
    struct cloud_error failure;

    out->provider = provider;
    if (clouds_open(&h, home, records, provider, cloud_some_region(provider), false, why) < 0)
        return -1;
    if (cloud_sign_in(h.provisioner.cloud, &failure) < 0)
        return 0;
    if (cloud_regions(h.provisioner.cloud, add_region, out, &failure) == 0)
        return 0;
    *why = failure.err;
    return -1;
}

int clouds_each_region(const char *home,
                       struct machines *records,
                       bool everywhere,
                       int (*visit)(void *context,
                                    const char *provider,
                                    const char *region,
                                    const struct err *why,
                                    struct err *e),
                       void *context,
                       struct err *e)
{
    const struct machine_filter open = {.world = 0};
    struct regions all = {0};
    int result = machines_each(records, &open, add_record, &all, e);

    for (size_t i = 0; result == 0 && everywhere && cloud_providers[i]; i++) {
        struct err why = {0};
        if (list_regions(home, records, cloud_providers[i], &all, &why) < 0)
            result = visit(context, cloud_providers[i], "", &why, e);
    }
    for (size_t i = 0; result == 0 && i < all.n; i++)
        result = visit(context, all.list[i].provider, all.list[i].region, NULL, e);
    free(all.list);
    return result;
}

/* ---- jobs ---- */

int clouds_job_over(struct lake *l, int64_t job, bool has_broker, struct err *e)
{
    struct err why = {0};
    struct lake_job record;
    bool is_known;

    if (lake_job_load(l, job, NULL, &record, &why) == 0) {
        bool leaving = has_broker && time_epoch_ms() - record.finished_ms < CLOUDS_BROKER_MS;
        return lake_job_state_final(record.state) && !leaving ? 1 : MACHINE_NEEDED;
    }
    if (why.kind != ERR_NOTFOUND)
        return err_set(e, why.kind, "%s", why.text);
    if (lake_job_exists(l, job, &is_known, e) < 0)
        return -1;
    return is_known ? MACHINE_NEEDED : 1;
}
