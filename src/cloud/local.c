/* This machine: rented as often as anybody likes, costs nothing, is up at once. */
#include "base/mem.h"
#include "cloud/here.h"
#include "cloud/kept.h"

#include <stdio.h>
#include <unistd.h>

struct local {
    struct kept kept;
    char root[sizeof((struct cloud_machine *)0)->root];
    char host[sizeof((struct cloud_machine *)0)->id];
    struct here here;
};

static int local_rent(struct cloud *c,
                      const struct cloud_request *request,
                      struct rent *rent,
                      struct cloud_trouble *trouble,
                      struct err *e)
{
    const struct local *l = c->priv;
    struct cloud_machine *m = &rent->machine;

    (void)request;
    (void)trouble;
    (void)e;
    snprintf(m->id, sizeof m->id, "%s", l->host);
    snprintf(m->exec_driver, sizeof m->exec_driver, "local");
    snprintf(m->root, sizeof m->root, "%s", l->root);
    m->cpus = l->here.cpus;
    m->memory_gb = l->here.memory_gb;
    return 0;
}

static int local_open(struct cloud *c, struct err *e)
{
    struct local *l = c->priv = mem_zero(1, sizeof *l);
    AUTO_MEM char *root = mem_printf("%s/jobs", c->options.home);

    if (!cloud_is_line(root, sizeof l->root))
        return err_set(e, ERR_USAGE, "%.80s...: a home must be UTF-8 and at most %zu bytes", root,
                       sizeof l->root - sizeof "/jobs");
    snprintf(l->root, sizeof l->root, "%s", root);
    if (gethostname(l->host, sizeof l->host - 1) < 0 || !cloud_is_line(l->host, sizeof l->host))
        snprintf(l->host, sizeof l->host, "localhost");
    l->here = here_look("");
    l->kept.rent = local_rent;
    /* A power cut ends all that runs here with what is remembered of it. */
    l->kept.rents = rents_open(c->options.home, c->driver->name, false, e);
    return l->kept.rents ? 0 : -1;
}

const struct cloud_driver cloud_local = {
    .name = "local",
    .sees_at_once = true,
    .open = local_open,
    .close = kept_close,
    .launch = kept_launch,
    .look = kept_look,
    .terminate = kept_terminate,
    .list = kept_list,
};
