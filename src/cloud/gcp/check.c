/* Checks whether instances could be launched: credentials, project, region, network, permissions
 * and quotas. Changes nothing in the project. gcp.c lists the function. */
#include "base/buf.h"
#include "base/mem.h"
#include "cloud/gcp/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define N(array) (sizeof(array) / sizeof *(array))
#define MANAGER_URL "https://cloudresourcemanager.googleapis.com/"

struct checking {
    struct gce *gce;
    struct cloud_findings out;
};

/* ---- who ---- */

static int check_identity(const struct checking *k, struct cloud_error *e)
{
    if (cloud_rest_login(&k->gce->rest, e) < 0)
        return -1;
    const struct token_login *l = &k->gce->rest.tokens.login;
    if (cloud_say(&k->out, e, CLOUD_GOOD, "credentials", "", "found: %s", l->origin) < 0 ||
        cloud_say(&k->out, e, CLOUD_GOOD, "identity", "", "%s",
                  l->identity ? l->identity : "the service account of this machine") < 0)
        return -1;
    return gce_ready(k->gce, e);
}

/* ---- project and region ---- */

/* Machines of ours turn it off for themselves, which a rule of the organisation may forbid. */
static bool has_os_login(const json_t *project)
{
    const json_t *items =
        json_object_get(json_object_get(project, "commonInstanceMetadata"), "items");
    const json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        if (strcmp(gce_text(item, "key"), "enable-oslogin") == 0 &&
            strcasecmp(gce_text(item, "value"), "true") == 0)
            return true;
    }
    return false;
}

static int check_project(const struct checking *k, const json_t *project, struct cloud_error *e)
{
    if (cloud_say(&k->out, e, CLOUD_GOOD, "project", "", "%s", k->gce->project) < 0)
        return -1;
    if (!has_os_login(project))
        return 0;
    return cloud_say(
        &k->out, e, CLOUD_NOTED, "OS Login",
        "make sure that no policy of the organisation requires OS Login",
        "the project turns it on; Tradewind turns it off on its own machines, where it "
        "would keep the ssh key from working");
}

static int check_region(const struct checking *k, const json_t *region, struct cloud_error *e)
{
    const char *name = k->gce->rest.cloud->options.region, *status = gce_text(region, "status");
    size_t n = json_array_size(json_object_get(region, "zones"));

    if (strcmp(status, "UP") != 0)
        return cloud_say(&k->out, e, CLOUD_MISSING, "region", "choose another one with --region",
                         "%s is %s", name, *status ? status : "in no known state");
    return cloud_say(&k->out, e, CLOUD_GOOD, "region", "", "%s is up, with %zu zone%s", name, n,
                     n == 1 ? "" : "s");
}

static int check_network(const struct checking *k, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "networks.get", .method = "GET"};

    if (gce_send(k->gce, &x, e, "/global/networks/default") == 0)
        return cloud_say(&k->out, e, CLOUD_GOOD, "network", "",
                         "the project has the network \"default\"");
    if (e->failure == CLOUD_PERMISSION)
        return cloud_say(&k->out, e, CLOUD_MISSING, "network", "allow compute.networks.get",
                         "the networks cannot be read");
    if (e->failure != CLOUD_UNSUPPORTED && e->failure != CLOUD_NOT_FOUND)
        return -1;
    return cloud_say(&k->out, e, CLOUD_MISSING, "network", "gcloud compute networks create default",
                     "the project has no network \"default\", in which machines are launched");
}

/* ---- permissions ---- */

/* All that calls of this room need; docs/clouds.md has them as a role. */
static const char *const permissions[] = {
    "compute.acceleratorTypes.list", "compute.addresses.delete",
    "compute.addresses.list",        "compute.disks.create",
    "compute.disks.delete",          "compute.disks.list",
    "compute.disks.setLabels",       "compute.firewalls.create",
    "compute.firewalls.delete",      "compute.firewalls.get",
    "compute.firewalls.update",      "compute.globalOperations.get",
    "compute.globalOperations.list", "compute.images.useReadOnly",
    "compute.instances.create",      "compute.instances.delete",
    "compute.instances.get",         "compute.instances.list",
    "compute.instances.setLabels",   "compute.instances.setMetadata",
    "compute.instances.setTags",     "compute.machineTypes.list",
    "compute.networks.get",          "compute.networks.updatePolicy",
    "compute.projects.get",          "compute.regionOperations.get",
    "compute.regions.get",           "compute.regions.list",
    "compute.subnetworks.use",       "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.get",    "compute.zoneOperations.list",
};

static bool is_among(const json_t *granted, const char *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(granted, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    }
    return false;
}

static int ask_permissions(const struct checking *k,
                           struct cloud_rest_call *x,
                           struct cloud_error *e)
{
    struct cloud_outside *outside = &k->gce->rest.cloud->options.outside;
    const char *base =
        cloud_variable(outside, "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER");
    json_t *all = json_array();

    for (size_t i = 0; i < N(permissions); i++)
        json_array_append_new(all, json_string(permissions[i]));
    x->body = json_pack("{s:o}", "permissions", all);
    if (!base || !*base)
        base = MANAGER_URL;
    x->url = mem_printf("%s%sv1/projects/%s:testIamPermissions", base,
                        base[strlen(base) - 1] == '/' ? "" : "/", k->gce->project);
    return cloud_rest_send(&k->gce->rest, x, e);
}

static int check_permissions(const struct checking *k, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "projects.testIamPermissions", .method = "POST"};
    AUTO_CLEAR(buf) struct buf missing;

    buf_init(&missing, 2000);
    if (ask_permissions(k, &x, e) < 0) {
        if (e->failure != CLOUD_PERMISSION)
            return -1;
        return cloud_say(&k->out, e, CLOUD_NOTED, "permissions",
                         "gcloud services enable cloudresourcemanager.googleapis.com",
                         "they cannot be asked for: launches may be refused");
    }
    const json_t *granted = json_object_get(x.root, "permissions");
    for (size_t i = 0; i < N(permissions); i++)
        if (!is_among(granted, permissions[i]))
            buf_printf(&missing, "%s%s", missing.len ? ", " : "", permissions[i]);
    if (!missing.len)
        return cloud_say(&k->out, e, CLOUD_GOOD, "permissions", "", "all %zu are granted",
                         N(permissions));
    AUTO_MEM char *fix =
        mem_printf("allow %s; docs/clouds.md has the whole role", buf_str(&missing));
    return cloud_say(&k->out, e, CLOUD_MISSING, "permissions", fix, "some are not granted");
}

/* ---- quotas ---- */

static const struct quota {
    const char *metric, *means;
} quotas[] = {
    {"CPUS", "vCPUs"},
    {"PREEMPTIBLE_CPUS", "vCPUs of spot instances"},
    {"NVIDIA_T4_GPUS", "T4"},
    {"PREEMPTIBLE_NVIDIA_T4_GPUS", "spot T4"},
    {"NVIDIA_L4_GPUS", "L4"},
    {"PREEMPTIBLE_NVIDIA_L4_GPUS", "spot L4"},
    {"NVIDIA_V100_GPUS", "V100"},
    {"PREEMPTIBLE_NVIDIA_V100_GPUS", "spot V100"},
    {"NVIDIA_A100_GPUS", "A100"},
    {"PREEMPTIBLE_NVIDIA_A100_GPUS", "spot A100"},
    {"NVIDIA_A100_80GB_GPUS", "A100 of 80 GB"},
    {"PREEMPTIBLE_NVIDIA_A100_80GB_GPUS", "spot A100 of 80 GB"},
    {"NVIDIA_H100_GPUS", "H100"},
    {"PREEMPTIBLE_NVIDIA_H100_GPUS", "spot H100"},
    {"GPUS_ALL_REGIONS", "GPUs"},
    {"CPUS_ALL_REGIONS", "vCPUs"},
};

static const json_t *find_quota(const json_t *of, const char *metric)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(of, "quotas"), i, one)
    {
        if (strcmp(gce_text(one, "metric"), metric) == 0)
            return one;
    }
    return NULL;
}

static int check_quotas(const struct checking *k,
                        const json_t *of,
                        const char *where,
                        struct cloud_error *e)
{
    for (size_t i = 0; i < N(quotas); i++) {
        const json_t *q = find_quota(of, quotas[i].metric);
        double limit = json_number_value(json_object_get(q, "limit"));
        double usage = json_number_value(json_object_get(q, "usage"));
        bool is_none = !(limit > 0);
        if (!q)
            continue;
        AUTO_MEM char *what = mem_printf("quota %s", quotas[i].metric);
        /* Without one of their own spot instances count against the general one. */
        bool is_shared = is_none && strcmp(quotas[i].metric, "PREEMPTIBLE_CPUS") == 0;
        if (is_shared) {
            if (cloud_say(&k->out, e, CLOUD_GOOD, what, "",
                          "none: spot instances count against CPUS") < 0)
                return -1;
            continue;
        }
        AUTO_MEM char *fix =
            mem_printf("ask for more: https://console.cloud.google.com/iam-admin/quotas?project=%s",
                       k->gce->project);
        if (cloud_say(&k->out, e, is_none ? CLOUD_NOTED : CLOUD_GOOD, what, is_none ? fix : "",
                      "%.0f %s in %s, %.0f in use", limit, quotas[i].means, where, usage) < 0)
            return -1;
    }
    return 0;
}

int gce_check(struct cloud *c, cloud_visit_finding *visit, void *context, struct cloud_error *e)
{
    const struct checking k = {.gce = c->priv, .out = {visit, context}};
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call project = {.name = "projects.get", .method = "GET"};
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call region = {.name = "regions.get", .method = "GET"};

    if (check_identity(&k, e) < 0 || gce_send(k.gce, &project, e, "%s", "") < 0 ||
        check_project(&k, project.root, e) < 0 ||
        gce_send(k.gce, &region, e, "/regions/%s", c->options.region) < 0 ||
        check_region(&k, region.root, e) < 0 || check_network(&k, e) < 0 ||
        check_permissions(&k, e) < 0)
        return -1;
    return check_quotas(&k, region.root, c->options.region, e) < 0
               ? -1
               : check_quotas(&k, project.root, "all regions", e);
}
