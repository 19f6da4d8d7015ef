/* The cloud "gcp": machines are instances of Compute Engine. A handle is for one region; it keeps
 * nothing but its token, the project's name, the difference of clocks and its budget of retries. */
#include "base/mem.h"
#include "cloud/gcp/internal.h"

#include <stdlib.h>
#include <string.h>

#define REGION_BYTES sizeof(((struct cloud_machine *)0)->region)

static int gcp_open(struct cloud *c, struct err *e)
{
    const char *region = c->options.region;

    if (!region || !*region ||
        strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(region) ||
        strlen(region) >= REGION_BYTES)
        return err_set(e, ERR_USAGE, "a region is needed, such as us-central1");
    struct gce *g = c->priv = mem_zero(1, sizeof *g);
    cloud_rest_init(&g->rest, c, token_find_google, TOKEN_SCOPE_GOOGLE);
    g->rest.judge = gce_judge;
    return 0;
}

static void gcp_close(struct cloud *c)
{
    struct gce *g = c->priv;

    if (!g)
        return;
    cloud_rest_clear(&g->rest);
    free(g->project);
    free(g);
}

/* Where nothing else is found the machine's own service is left, which is not everywhere. */
static int gcp_sign_in(struct cloud *c, struct cloud_error *e)
{
    struct gce *g = c->priv;
    struct err why = {0};
    const char *bearer;

    if (cloud_rest_login(&g->rest, e) < 0)
        return -1;
    if (g->rest.tokens.login.way != TOKEN_GOOGLE_MACHINE)
        return 0;
    struct http *http = cloud_rest_http(&g->rest, &why);
    if (http && token_cache_get(&g->rest.tokens, http, &bearer, &why) == 0)
        return 0;
    return cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
}

static int gcp_regions(struct cloud *c,
                       cloud_visit_region *visit,
                       void *context,
                       struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "regions.list", .method = "GET"};
    const json_t *item;
    size_t i;

    /* There are about forty, in the order of their names, on one page. */
    if (gce_send(c->priv, &x, e, "/regions?maxResults=500") < 0)
        return -1;
    json_array_foreach(json_object_get(x.root, "items"), i, item)
    {
        if (strcmp(gce_text(item, "status"), "UP") == 0 &&
            visit(context, gce_text(item, "name"), &e->err) < 0)
            return -1;
    }
    return 0;
}

static int gcp_look(struct cloud *c,
                    const char *token,
                    struct cloud_machine *out,
                    struct cloud_error *e)
{
    struct gce *g = c->priv;
    struct cloud_tagged t;
    struct gce_past past;
    char name[GCE_NAME_BYTES];

    int found = gce_find(g, token, &t, NULL, e);
    if (found) {
        *out = t.machine;
        return found < 0 ? -1 : 0;
    }
    gce_name(g, c->options.owner, token, name);
    if (gce_look_back(g, name, &past, e) < 0)
        return -1;
    if (!past.is_over)
        return cloud_fail(e, CLOUD_NOT_FOUND, CLOUD_REGION, "%s shows no instance with this token",
                          c->options.region);
    gce_outline(g, token, name, &past, out);
    return 0;
}

static int gcp_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    return gce_terminate(c->priv, token, e);
}

struct listing {
    const struct gce *gce;
    cloud_visit *visit;
    void *context;
};

static int visit(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    const struct listing *l = context;
    struct cloud_tagged t = {0};

    gce_read_instance(l->gce, gce_last(scope), item, &t);
    return *t.machine.token ? l->visit(l->context, &t.machine, &e->err) : 0;
}

static int gcp_list(struct cloud *c, cloud_visit *each, void *context, struct cloud_error *e)
{
    AUTO_MEM char *filter = gce_filter(c->options.owner, NULL);
    struct listing l = {c->priv, each, context};
    const struct gce_list list = {
        .kind = "instances", .filter = filter, .visit = visit, .context = &l};

    return gce_each(c->priv, &list, e);
}

const struct cloud_driver cloud_gcp = {
    .name = "gcp",
    .some_region = "us-central1",
    .open = gcp_open,
    .close = gcp_close,
    .launch = gce_launch,
    .look = gcp_look,
    .terminate = gcp_terminate,
    .list = gcp_list,
    .zones = gce_zones,
    .clean = gce_clean,
    .check = gce_check,
    .sign_in = gcp_sign_in,
    .regions = gcp_regions,
};
