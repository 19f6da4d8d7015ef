/* Deletes what launches left beside instances: disks, addresses, and the firewall rule of an owner
 * without machines. gcp.c lists the function. */
#include "base/mem.h"
#include "cloud/gcp/internal.h"

#include <stdio.h>
#include <string.h>

struct cleaning {
    struct gce *gce;
    bool dry_run;
    cloud_visit_leftover *visit;
    void *context;
    const char *what, *kind; /* "disk", "disks" */
};

static int tell(const struct cleaning *s, const char *id, const char *why, struct cloud_error *e)
{
    return s->visit ? s->visit(s->context, s->what, id, why, &e->err) : 0;
}

static int remove_one(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    const struct cleaning *s = context;
    AUTO_MEM char *name = mem_printf("%s.delete", s->kind);
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x = {.name = name, .method = "DELETE"};
    struct cloud_error failed = {0};
    const char *why = NULL;

    if (json_array_size(json_object_get(item, "users")))
        return 0;
    if (!s->dry_run &&
        gce_change(s->gce, &x, &failed, "/%s/%s/%s", scope, s->kind, gce_text(item, "name")) < 0 &&
        failed.failure != CLOUD_NOT_FOUND)
        why = failed.err.text;
    return tell(s, gce_text(item, "name"), why, e);
}

static int clean_kind(struct cleaning *s, const char *what, const char *kind, struct cloud_error *e)
{
    AUTO_MEM char *filter = gce_filter(s->gce->rest.cloud->options.owner, NULL);
    const struct gce_list list = {
        .kind = kind, .filter = filter, .visit = remove_one, .context = s};

    s->what = what;
    s->kind = kind;
    return gce_each(s->gce, &list, e);
}

static int clean_firewall(struct cleaning *s, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call look = {.name = "firewalls.get", .method = "GET"};
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "firewalls.delete", .method = "DELETE"};
    struct cloud_error failed = {0};
    char name[GCE_NAME_BYTES];

    gce_firewall_name(s->gce->rest.cloud->options.owner, name);
    if (gce_send(s->gce, &look, e, "/global/firewalls/%s", name) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    s->what = "firewall rule";
    bool is_left = !s->dry_run &&
                   gce_change(s->gce, &x, &failed, "/global/firewalls/%s", name) < 0 &&
                   failed.failure != CLOUD_NOT_FOUND;
    return tell(s, name, is_left ? failed.err.text : NULL, e);
}

/* Whether instances are there, and whether one may not have its disk yet. */
struct present {
    size_t n, pending;
};

static int count(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct present *p = context;
    const char *status = gce_text(item, "status");

    (void)scope;
    (void)e;
    p->n += strcmp(status, "STOPPING") != 0;
    p->pending += strcmp(status, "PROVISIONING") == 0 || strcmp(status, "STAGING") == 0;
    return 0;
}

int gce_clean(struct cloud *c,
              bool dry_run,
              cloud_visit_leftover *visit,
              void *context,
              struct cloud_error *e)
{
    struct cleaning s = {.gce = c->priv, .dry_run = dry_run, .visit = visit, .context = context};
    AUTO_MEM char *filter = gce_filter(c->options.owner, NULL);
    struct present present = {0};
    /* The rule serves all regions. */
    const struct gce_list all = {.kind = "instances",
                                 .filter = filter,
                                 .everywhere = true,
                                 .visit = count,
                                 .context = &present};

    if (gce_each(s.gce, &all, e) < 0)
        return -1;
    if (!present.pending &&
        (clean_kind(&s, "disk", "disks", e) < 0 || clean_kind(&s, "address", "addresses", e) < 0))
        return -1;
    return present.n ? 0 : clean_firewall(&s, e);
}
