#include "broker/machine/clouds.h"

#include "base/time.h"
#include "broker/machine/key.h"

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
    if (launches && !(h->key = machine_key(home, &h->private_key, e)))
        return -1;
    h->provisioner.cloud = cloud_open(&(struct cloud_options){.name = provider,
                                                              .home = home,
                                                              .owner = machines_owner(records),
                                                              .region = region,
                                                              .key = h->key},
                                      e);
    return h->provisioner.cloud ? 0 : -1;
}

void clouds_handle_clear(struct clouds_handle *h)
{
    cloud_free(h->provisioner.cloud);
    free(h->key);
    free(h->private_key);
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
