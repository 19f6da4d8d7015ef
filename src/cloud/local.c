/* This machine: rented as often as anybody likes, costs nothing, is up at once. */
#include "base/mem.h"
#include "cloud/folder.h"
#include "cloud/here.h"

#include <stdio.h>
#include <unistd.h>

struct local {
    struct cloud_folder folder;
    char root[sizeof((struct cloud_machine *)0)->root];
    char host[sizeof((struct cloud_machine *)0)->id];
    struct here here;
};

static int local_provision(struct cloud *c,
                           const struct cloud_request *request,
                           struct instance *instance,
                           struct cloud_trouble *trouble,
                           struct err *e)
{
    const struct local *l = c->priv;
    struct cloud_machine *m = &instance->machine;

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
    l->folder.provision = local_provision;
    /* A power cut ends all that runs here with what is remembered of it. */
    l->folder.instances = instances_open(c->options.home, c->driver->name, false, e);
    return l->folder.instances ? 0 : -1;
}

const struct cloud_driver cloud_local = {
    .name = "local",
    .sees_at_once = true,
    .open = local_open,
    .close = cloud_folder_close,
    .launch = cloud_folder_launch,
    .look = cloud_folder_look,
    .terminate = cloud_folder_terminate,
    .list = cloud_folder_list,
};
