/* What a launch needs before it: what an instance type is there, an image, zones that offer the
 * type, and the firewall rule that all machines of an owner share. launch.c and check.c call. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/gcp/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))
#define N(array) (sizeof(array) / sizeof *(array))

/* ---- types ---- */

/* Families whose machines have accelerators built in, and those that take Hyperdisk alone:
 * https://cloud.google.com/compute/docs/gpus and /compute/docs/disks/hyperdisks. */
static const char *const accelerated[] = {"a2-", "a3-", "a4-", "a4x-", "g2-", "g4-"};
static const char *const hyperdisk[] = {"a3-ultragpu-", "a4-",  "a4x-", "g4-",  "c4-",  "c4a-",
                                        "c4d-",         "h4d-", "n4-",  "n4a-", "n4d-", "x4-"};

static bool begins_with_any(const char *text, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* "T4:2", after the '+' of "n1-standard-8+T4:2". */
static int parse_attached(const char *text, struct gce_type *out)
{
    size_t n = strcspn(text, ":");
    char *end = NULL;
    long count = text[n] ? strtol(text + n + 1, &end, 10) : 1;

    if (!n || n > 20 || (end && *end) || count < 1 || count > 16)
        return -1;
    snprintf(out->accelerator, sizeof out->accelerator, "nvidia-tesla-%.*s", (int)n, text);
    for (char *p = out->accelerator; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    out->count = (unsigned)count;
    return 0;
}

int gce_parse_type(const char *instance_type, struct gce_type *out, struct cloud_error *e)
{
    const char *plus = strchr(instance_type, '+');
    size_t n = plus ? (size_t)(plus - instance_type) : strlen(instance_type);

    *out = (struct gce_type){.disk_type = "pd-balanced"};
    if (!n)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no instance type is given");
    if (strncmp(instance_type, "tpu-", 4) == 0)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT,
                          "%s: TPUs are not launched by this driver", instance_type);
    if (n >= sizeof out->machine ||
        strspn(instance_type, "abcdefghijklmnopqrstuvwxyz0123456789-") != n ||
        (plus && parse_attached(plus + 1, out) < 0))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                          "\"%.80s\" is no instance type; they look like n2-standard-8 and "
                          "n1-standard-8+T4:1",
                          instance_type);
    snprintf(out->machine, sizeof out->machine, "%.*s", (int)n, instance_type);
    out->has_accelerators =
        out->count || begins_with_any(out->machine, accelerated, N(accelerated));
    if (begins_with_any(out->machine, hyperdisk, N(hyperdisk)))
        out->disk_type = "hyperdisk-balanced";
    return 0;
}

/* ---- image ---- */

int gce_find_image(const struct cloud_request *request,
                   struct gce_image *out,
                   struct cloud_error *e)
{
    AUTO(arena) struct arena *texts = arena_new(4096);
    const char *own = request->image ? strstr(request->image, "projects/") : NULL;
    struct cloud_image image;

    *out = (struct gce_image){.login = "tradewind"};
    if (own) {
        COPY(out->path, own);
        return 0;
    }
    if (cloud_image_find(texts, "gcp", request->image, request->accelerator, &image, &e->err) < 0)
        return -1;
    snprintf(out->path, sizeof out->path, "projects/%s/global/images/family/%s", image.owner,
             image.pattern);
    COPY(out->login, image.login);
    return 0;
}

/* ---- firewall ---- */

/* Rules have no labels: the name says whose it is. */
void gce_firewall_name(const char *owner, char out[GCE_NAME_BYTES])
{
    size_t n = strlen(owner);
    char hex[SHA256_HEX];

    if (n <= 50 && owner[n - 1] != '-') {
        snprintf(out, GCE_NAME_BYTES, "tradewind-%s", owner);
        return;
    }
    const struct sha256_digest digest = sha256_of(owner, n);
    snprintf(out, GCE_NAME_BYTES, "tradewind-%.32s", sha256_text(&digest, hex));
}

static json_t *rule(const struct gce *g, const char *name, const char *network)
{
    AUTO_MEM char *text = mem_printf("Machines of Tradewind (%s): ssh from the broker alone",
                                     g->rest.cloud->options.owner);
    AUTO_MEM char *in = mem_printf("projects/%s/global/networks/default", g->project);

    return json_pack("{s:s, s:s, s:s, s:s, s:[{s:s, s:[s]}], s:[s], s:[s]}", "name", name,
                     "description", text, "network", in, "direction", "INGRESS", "allowed",
                     "IPProtocol", "tcp", "ports", "22", "sourceRanges", network, "targetTags",
                     name);
}

static bool admits(const json_t *firewall, const char *network)
{
    const json_t *ranges = json_object_get(firewall, "sourceRanges");
    const char *first = json_string_value(json_array_get(ranges, 0));

    return json_array_size(ranges) == 1 && first && strcmp(first, network) == 0;
}

/* What is not known of a rule is no reason to fear for a machine. */
static int unsure(struct cloud_error *e)
{
    if (e->failure == CLOUD_UNKNOWN)
        e->failure = CLOUD_TRANSIENT;
    return -1;
}

/* This machine's address is admitted, and no other: it changes where a laptop travels. */
int gce_share(struct gce *g, struct cloud_error *e)
{
    struct cloud *c = g->rest.cloud;
    char name[GCE_NAME_BYTES], network[64];

    gce_firewall_name(c->options.owner, name);
    if (cloud_own_network(c, &g->rest.http, "TRADEWIND_ADDRESS_URL", network, e) < 0)
        return -1;
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call look = {.name = "firewalls.get", .method = "GET"};
    if (gce_send(g, &look, e, "/global/firewalls/%s", name) == 0) {
        if (admits(look.root, network))
            return 0;
        AUTO_CLEAR(cloud_rest_call)
        struct cloud_rest_call change = {.name = "firewalls.patch",
                                         .method = "PATCH",
                                         .body = json_pack("{s:[s]}", "sourceRanges", network)};
        return gce_change(g, &change, e, "/global/firewalls/%s", name) < 0 ? unsure(e) : 0;
    }
    if (e->failure != CLOUD_NOT_FOUND)
        return -1;
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call make = {
        .name = "firewalls.insert", .method = "POST", .body = rule(g, name, network)};
    if (gce_change(g, &make, e, "/global/firewalls") == 0 || e->failure == CLOUD_CONFLICT) {
        /* Another process, or a try of ours whose answer was lost, was faster. */
        *e = (struct cloud_error){0};
        return 0;
    }
    if (e->failure == CLOUD_UNSUPPORTED)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT,
                          "the project %s has no network \"default\"; gcloud compute networks "
                          "create default",
                          g->project);
    return unsure(e);
}

/* ---- zones ---- */

struct zones {
    char (*names)[CLOUD_ZONE_BYTES];
    size_t n, max;
    const char *only; /* "" = all */
};

static int keep_zone(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct zones *z = context;
    const char *name = gce_last(scope);

    (void)e;
    (void)item;
    if (*z->only && strcmp(z->only, name) != 0)
        return 0;
    for (size_t i = 0; i < z->n; i++)
        if (strcmp(z->names[i], name) == 0)
            return 0;
    if (z->n < z->max && strlen(name) < CLOUD_ZONE_BYTES)
        memcpy(z->names[z->n++], name, strlen(name) + 1);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

#define ZONES_MAX 32

static int zones_of(
    struct gce *g, const char *kind, const char *name, struct zones *z, struct cloud_error *e)
{
    AUTO_MEM char *filter = mem_printf("name = \"%s\"", name);
    const struct gce_list list = {.kind = kind, .filter = filter, .visit = keep_zone, .context = z};

    return gce_each(g, &list, e);
}

int gce_zones(struct cloud *c,
              const struct cloud_request *request,
              char (*out)[CLOUD_ZONE_BYTES],
              size_t max,
              size_t *n_out,
              struct cloud_error *e)
{
    struct gce *g = c->priv;
    char with_machine[ZONES_MAX][CLOUD_ZONE_BYTES], with_both[ZONES_MAX][CLOUD_ZONE_BYTES];
    struct zones machine = {with_machine, 0, ZONES_MAX, request->zone};
    struct zones both = {with_both, 0, ZONES_MAX, request->zone};
    struct gce_type type;

    *n_out = 0;
    if (gce_parse_type(request->instance_type, &type, e) < 0 ||
        zones_of(g, "machineTypes", type.machine, &machine, e) < 0 ||
        (type.count && zones_of(g, "acceleratorTypes", type.accelerator, &both, e) < 0))
        return -1;
    qsort(with_machine, machine.n, sizeof *with_machine, by_name);
    for (size_t i = 0; i < machine.n && *n_out < max; i++) {
        bool fits = !type.count;
        for (size_t k = 0; k < both.n; k++)
            fits = fits || strcmp(with_both[k], with_machine[i]) == 0;
        if (fits)
            memcpy(out[(*n_out)++], with_machine[i], CLOUD_ZONE_BYTES);
    }
    if (*n_out)
        return 0;
    return cloud_fail(e, CLOUD_UNSUPPORTED, *request->zone ? CLOUD_ZONE : CLOUD_REGION,
                      "%s is not offered in %s", request->instance_type,
                      *request->zone ? request->zone : c->options.region);
}
