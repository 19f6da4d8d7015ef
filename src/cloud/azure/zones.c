/* Zones of a region that offer a size, as its list of sizes tells. azure.c lists the function. */
#include "base/mem.h"
#include "cloud/azure/internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct offered {
    const struct cloud_request *request;
    const char *region;
    char (*names)[CLOUD_ZONE_BYTES];
    size_t n, max;
    bool is_known;      /* the region has the size */
    bool is_restricted; /* this subscription may not use it */
};

static bool contains(const json_t *texts, const char *text)
{
    const json_t *one;
    size_t i;

    json_array_foreach(texts, i, one)
    {
        if (json_is_string(one) && strcasecmp(json_string_value(one), text) == 0)
            return true;
    }
    return false;
}

/* Whether this subscription may not use a size in a zone; zone "" = in the whole region. */
static bool is_restricted(const json_t *size, const char *zone)
{
    const json_t *r;
    size_t i;

    json_array_foreach(json_object_get(size, "restrictions"), i, r)
    {
        if (strcasecmp(arm_text(r, "type"), "Location") == 0 ||
            (*zone && contains(arm_at(r, "restrictionInfo/zones"), zone)))
            return true;
    }
    return false;
}

static void keep(struct offered *o, const char *zone)
{
    if ((*o->request->zone && strcmp(o->request->zone, zone) != 0) || o->n >= o->max ||
        strlen(zone) >= CLOUD_ZONE_BYTES)
        return;
    memcpy(o->names[o->n++], zone, strlen(zone) + 1);
}

static void keep_zones(struct offered *o, const json_t *size)
{
    const json_t *place, *zone;
    size_t i, k, n_zones = 0;

    json_array_foreach(json_object_get(size, "locationInfo"), i, place)
    {
        if (strcasecmp(arm_text(place, "location"), o->region) != 0)
            continue;
        json_array_foreach(json_object_get(place, "zones"), k, zone)
        {
            const char *name = json_string_value(zone);
            n_zones++;
            if (name && !is_restricted(size, name))
                keep(o, name);
        }
    }
    if (n_zones == 0)
        keep(o, "");
}

static int keep_size(void *context, const json_t *size, struct cloud_error *e)
{
    struct offered *o = context;

    (void)e;
    if (strcmp(arm_text(size, "resourceType"), "virtualMachines") != 0 ||
        strcasecmp(arm_text(size, "name"), o->request->instance_type) != 0 ||
        !contains(json_object_get(size, "locations"), o->region))
        return 0;
    o->is_known = true;
    o->is_restricted = is_restricted(size, "");
    if (!o->is_restricted)
        keep_zones(o, size);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int arm_zones(struct cloud *c,
              const struct cloud_request *request,
              char (*out)[CLOUD_ZONE_BYTES],
              size_t max,
              size_t *n_out,
              struct cloud_error *e)
{
    struct offered o = {.request = request, .region = c->options.region, .names = out, .max = max};
    AUTO_MEM char *filter = mem_printf("location eq '%s'", o.region);
    AUTO_MEM char *encoded = arm_encode(filter);
    AUTO_MEM char *path = mem_printf("/providers/Microsoft.Compute/skus?$filter=%s", encoded);

    if (arm_each(c->priv, "list sizes", path, ARM_SKUS, keep_size, &o, e) < 0)
        return -1;
    qsort(out, o.n, sizeof *out, by_name);
    *n_out = o.n;
    if (o.n)
        return 0;
    return cloud_fail(e, CLOUD_UNSUPPORTED,
                      *request->zone && o.is_known ? CLOUD_ZONE : CLOUD_REGION,
                      "%s is %s in %s%s%s", request->instance_type,
                      o.is_restricted ? "not available to this subscription" : "not offered",
                      o.region, *request->zone ? " zone " : "", request->zone);
}
