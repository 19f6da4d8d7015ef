/* What all machines of an owner share in a region: a network whose rules admit ssh from this
 * machine alone, in a resource group of its own. launch.c calls. */
#include "base/mem.h"
#include "cloud/azure/internal.h"

#include <stdlib.h>
#include <string.h>

#define NETWORK "Microsoft.Network"
#define RULES "ssh"
#define NETWORK_NAME "network"
#define SUBNET_NAME "machines"
#define RANGE "10.0.0.0/16"
/* Room for 4091 machines. */
#define SUBNET_RANGE "10.0.0.0/20"
/* Azure makes rules and networks within seconds. */
#define MAKING_S 120.0
#define ADDRESS_VARIABLE "TRADEWIND_ADDRESS_URL"

static json_t *owner_tag(const struct arm *a)
{
    return json_pack("{s:s}", CLOUD_TAG_OWNER, a->rest.cloud->options.owner);
}

static char *path_of(const char *group, const char *type, const char *name)
{
    return mem_printf("/resourceGroups/%s/providers/" NETWORK "/%s/%s", group, type, name);
}

int arm_put_group(
    struct arm *a, const char *name, json_t *tags, struct cloud_rest_call *x, struct cloud_error *e)
{
    AUTO_MEM char *path = mem_printf("/resourcegroups/%s", name);

    arm_call_init(x, "create resource group", "PUT",
                  json_pack("{s:s, s:o}", "location", a->rest.cloud->options.region, "tags", tags));
    return arm_send(a, x, path, ARM_GROUPS, e);
}

/* Puts a thing of the shared group, which may not be there yet; owns properties. */
static int put(struct arm *a,
               const char *name,
               const char *path,
               json_t *properties,
               bool *is_young,
               struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;

    arm_call_init(&x, name, "PUT",
                  json_pack("{s:s, s:o, s:o}", "location", a->rest.cloud->options.region, "tags",
                            owner_tag(a), "properties", properties));
    if (arm_send(a, &x, path, ARM_NETWORK, e) < 0) {
        *is_young = arm_is_young(&x) || arm_is_busy(&x) || e->failure == CLOUD_NOT_FOUND ||
                    arm_failed_with(&x, "ResourceGroupBeingDeleted");
        return -1;
    }
    int waited = arm_wait(a, &x, MAKING_S, e);
    if (waited > 0)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: it takes longer than %.0f s", name,
                          MAKING_S);
    return waited;
}

/* 1: the thing is there; its answer in x. */
static int find(struct arm *a,
                struct cloud_rest_call *x,
                const char *name,
                const char *path,
                struct cloud_error *e)
{
    if (arm_get(a, x, name, path, ARM_NETWORK, e) == 0)
        return strcmp(arm_text(x->root, "properties/provisioningState"), "Failed") != 0;
    if (e->failure != CLOUD_NOT_FOUND)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}

/* Whether a group's rules are one rule of ours, for this network. */
static bool admits(const json_t *rules, const char *network)
{
    const json_t *all = arm_at(rules, "properties/securityRules");

    return json_array_size(all) == 1 &&
           strcmp(arm_text(json_array_get(all, 0), "properties/sourceAddressPrefix"), network) == 0;
}

static json_t *rules_for(const char *network)
{
    return json_pack("{s:[{s:s, s:{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s}}]}", "securityRules",
                     "name", "ssh", "properties", "priority", 1000, "protocol", "Tcp", "access",
                     "Allow", "direction", "Inbound", "sourceAddressPrefix", network,
                     "sourcePortRange", "*", "destinationAddressPrefix", "*",
                     "destinationPortRange", "22");
}

/* This machine's address is admitted, and no other: it changes where a laptop travels. */
static int share_rules(
    struct arm *a, const char *group, const char *path, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x, made;
    char own[64];

    arm_call_init(&made, "", "", NULL);
    int found = find(a, &x, "get network security group", path, e);
    if (found < 0 || cloud_own_network(a->rest.cloud, &a->rest.http, ADDRESS_VARIABLE, own, e) < 0)
        return -1;
    if (found && admits(x.root, own))
        return 0;
    if (!found && arm_put_group(a, group, owner_tag(a), &made, e) < 0) {
        *is_young = arm_failed_with(&made, "ResourceGroupBeingDeleted");
        return -1;
    }
    return put(a, "create network security group", path, rules_for(own), is_young, e);
}

static int share_network(
    struct arm *a, const char *group, const char *rules, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = path_of(group, "virtualNetworks", NETWORK_NAME);
    AUTO_MEM char *rules_id = mem_printf("/subscriptions/%s%s", a->subscription, rules);

    int found = find(a, &x, "get virtual network", path, e);
    if (found)
        return found < 0 ? -1 : 0;
    return put(a, "create virtual network", path,
               json_pack("{s:{s:[s]}, s:[{s:s, s:{s:s, s:{s:s}}}]}", "addressSpace",
                         "addressPrefixes", RANGE, "subnets", "name", SUBNET_NAME, "properties",
                         "addressPrefix", SUBNET_RANGE, "networkSecurityGroup", "id", rules_id),
               is_young, e);
}

int arm_share(struct arm *a, char **subnet_out, bool *is_young, struct cloud_error *e)
{
    char group[ARM_NAME_BYTES];

    *is_young = false;
    arm_shared_group(a, group);
    AUTO_MEM char *rules = path_of(group, "networkSecurityGroups", RULES);
    if (share_rules(a, group, rules, is_young, e) < 0 ||
        share_network(a, group, rules, is_young, e) < 0)
        return -1;
    *e = (struct cloud_error){0};
    *subnet_out = mem_printf("/subscriptions/%s/resourceGroups/%s/providers/" NETWORK
                             "/virtualNetworks/" NETWORK_NAME "/subnets/" SUBNET_NAME,
                             a->subscription, group);
    return 0;
}
