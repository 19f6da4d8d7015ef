/* Machines as Azure describes them: a resource group, and the virtual machine in it; found by
 * token, listed by owner, deleted. azure.c, launch.c and clean.c call. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "cloud/azure/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))
/* A virtual machine that was accepted may not be shown for so long. */
#define YOUNG_MS ((int64_t)2 * 60 * 1000)
#define VM "virtual machine"

/* ---- names ---- */

/* Of lines, each a value that tells one thing from others. */
static void name_of(const char *prefix,
                    int digits,
                    const char *lines,
                    char out[static ARM_NAME_BYTES])
{
    const struct sha256_digest digest = sha256_of(lines, strlen(lines));
    char hex[SHA256_HEX];

    snprintf(out, ARM_NAME_BYTES, "%s-%.*s", prefix, digits, sha256_text(&digest, hex));
}

static char *lines_of(const struct arm *a, const char *token)
{
    const struct cloud_options *o = &a->rest.cloud->options;

    return mem_printf("%s\n%s\n%s", o->owner, o->region, token);
}

void arm_group_of(const struct arm *a, const char *token, char out[static ARM_NAME_BYTES])
{
    AUTO_MEM char *lines = lines_of(a, token);

    name_of("tradewind-machine", 40, lines, out);
}

void arm_vm_of(const struct arm *a, const char *token, char out[static ARM_NAME_BYTES])
{
    AUTO_MEM char *lines = lines_of(a, token);

    name_of("tradewind", 16, lines, out);
}

void arm_shared_group(const struct arm *a, char out[static ARM_NAME_BYTES])
{
    AUTO_MEM char *lines = lines_of(a, "");

    name_of("tradewind-network", 40, lines, out);
}

/* ---- what a group tells ---- */

static void read_tags(const json_t *thing, struct arm_machine *out)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(thing, "tags"), key, value)
    {
        const char *text = json_string_value(value);
        if (!text)
            continue;
        cloud_tag_read(&out->tagged, key, text);
        if (strcmp(key, ARM_TAG_BEGUN) == 0)
            out->begun_ms = cloud_tag_ms(text);
        else if (strcmp(key, ARM_TAG_LAUNCHED) == 0)
            out->accepted_ms = cloud_tag_ms(text);
        else if (strcmp(key, ARM_TAG_MARKET) == 0)
            out->is_spot = strcmp(text, "spot") == 0;
    }
}

static bool has_passed(int64_t from_ms, int64_t ms, int64_t now_ms)
{
    return from_ms && now_ms - from_ms >= ms;
}

void arm_read_group(const struct arm *a, const json_t *group, struct arm_machine *out)
{
    const struct cloud *c = a->rest.cloud;
    struct cloud_machine *m = &out->tagged.machine;
    int64_t now_ms = cloud_now_ms(c);

    COPY(m->owner, c->options.owner);
    read_tags(group, out);
    COPY(out->group, arm_text(group, "name"));
    COPY(m->id, arm_text(group, "id"));
    COPY(m->provider, "azure");
    COPY(m->region, c->options.region);
    COPY(m->exec_driver, "ssh");
    COPY(m->root, c->options.root ? c->options.root : "~/.tradewind-jobs");
    m->spot = out->is_spot;
    m->launched_ms = out->accepted_ms ? out->accepted_ms : out->begun_ms ? out->begun_ms : now_ms;
    out->is_deleting = strcmp(arm_text(group, "properties/provisioningState"), "Deleting") == 0;
    m->state = out->is_deleting ? CLOUD_DELETING : CLOUD_REQUESTED;
}

/* Without a virtual machine: before its creation, or after its end, which Azure does not date. */
static void read_absence(const struct arm *a, struct arm_machine *out)
{
    struct cloud_machine *m = &out->tagged.machine;
    int64_t now_ms = cloud_now_ms(a->rest.cloud);

    out->has_vm = false;
    m->is_outline = true;
    if (out->is_deleting || !(has_passed(out->accepted_ms, YOUNG_MS, now_ms) ||
                              has_passed(out->begun_ms, ARM_ABSENT_MS, now_ms)))
        return;
    m->state = out->is_spot ? CLOUD_PREEMPTED : CLOUD_GONE;
    m->ended_ms = now_ms;
    m->notice_ms = out->is_spot ? now_ms : 0;
}

/* ---- what a virtual machine tells ---- */

/* "running" of PowerState/running; "" = it does not say. */
static const char *power_of(const json_t *vm, struct arm_machine *out)
{
    static const char power[] = "PowerState/", failed[] = "ProvisioningState/failed/";
    const char *found = "";
    const json_t *status;
    size_t i;

    json_array_foreach(arm_at(vm, "properties/instanceView/statuses"), i, status)
    {
        const char *code = arm_text(status, "code");
        if (strncmp(code, power, strlen(power)) == 0)
            found = code + strlen(power);
        else if (strncasecmp(code, failed, strlen(failed)) == 0)
            COPY(out->failed, code + strlen(failed));
    }
    return found;
}

/* What has stopped, was evicted or could not be created never runs again, but bills, its disk at
 * least, until it is deleted: as if that had been asked for, so that the caller does. */
static enum cloud_state state_of(const json_t *vm, const char *power)
{
    const char *state = arm_text(vm, "properties/provisioningState");

    if (strcmp(state, "Deleting") == 0 || strcmp(state, "Failed") == 0 ||
        strncmp(power, "stop", 4) == 0 || strncmp(power, "dealloc", 7) == 0)
        return CLOUD_DELETING;
    if (strcmp(power, "running") == 0 || (!*power && strcmp(state, "Succeeded") == 0))
        return CLOUD_RUNNING;
    return CLOUD_REQUESTED;
}

void arm_read_vm(const struct arm *a, const json_t *vm, struct arm_machine *out)
{
    struct cloud_machine *m = &out->tagged.machine;

    if (!vm) {
        read_absence(a, out);
        return;
    }
    const char *power = power_of(vm, out);
    const char *state = arm_text(vm, "properties/provisioningState");
    out->has_vm = true;
    if (strcmp(state, "Failed") == 0 && !*out->failed)
        COPY(out->failed, "Failed");
    else if (strcmp(state, "Failed") != 0)
        out->failed[0] = '\0';
    read_tags(vm, out);
    COPY(m->id, arm_text(vm, "id"));
    COPY(m->zone, json_string_value(json_array_get(json_object_get(vm, "zones"), 0))
                      ? json_string_value(json_array_get(json_object_get(vm, "zones"), 0))
                      : "");
    COPY(m->instance_type, arm_text(vm, "properties/hardwareProfile/vmSize"));
    m->spot = strcmp(arm_text(vm, "properties/priority"), "Spot") == 0;
    if (!out->is_deleting)
        m->state = state_of(vm, power);
    if (m->spot && strncmp(power, "dealloc", 7) == 0)
        m->notice_ms = cloud_now_ms(a->rest.cloud);
    m->ready_ms = m->state == CLOUD_RUNNING ? m->launched_ms : 0;
}

/* ---- asking ---- */

static int keep_address(void *context, const json_t *item, struct cloud_error *e)
{
    struct arm_machine *m = context;
    struct cloud_machine *machine = &m->tagged.machine;
    const char *address = arm_text(item, "properties/ipAddress"), *login = m->tagged.login;

    (void)e;
    if (*address && !*machine->address)
        snprintf(machine->address, sizeof machine->address, "%s%s%s", login, *login ? "@" : "",
                 address);
    return 0;
}

/* A machine that runs is of use once it can be reached. */
static int find_address(struct arm *a, struct arm_machine *m, struct cloud_error *e)
{
    AUTO_MEM char *path =
        mem_printf("/resourceGroups/%s/providers/Microsoft.Network/publicIPAddresses", m->group);
    struct cloud_machine *machine = &m->tagged.machine;

    if (machine->state != CLOUD_RUNNING)
        return 0;
    if (arm_each(a, "list public addresses", path, ARM_NETWORK, keep_address, m, e) < 0 &&
        e->failure != CLOUD_NOT_FOUND)
        return -1;
    if (!*machine->address) {
        machine->state = CLOUD_REQUESTED;
        machine->ready_ms = 0;
    }
    return 0;
}

/* The rest, by the group and the name of its virtual machine. */
static int find_vm(struct arm *a, const char *token, struct arm_machine *m, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    char name[ARM_NAME_BYTES];

    arm_vm_of(a, token, name);
    AUTO_MEM char *path = mem_printf("/resourceGroups/%s/providers/Microsoft.Compute/"
                                     "virtualMachines/%s?$expand=instanceView",
                                     m->group, name);
    int got = arm_get(a, &x, "get " VM, path, ARM_COMPUTE, e);
    if (got < 0 && e->failure != CLOUD_NOT_FOUND)
        return -1;
    *e = (struct cloud_error){0};
    arm_read_vm(a, got < 0 ? NULL : x.root, m);
    return find_address(a, m, e);
}

int arm_find(struct arm *a, const char *token, struct arm_machine *out, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    char name[ARM_NAME_BYTES];

    *out = (struct arm_machine){0};
    arm_group_of(a, token, name);
    AUTO_MEM char *path = mem_printf("/resourcegroups/%s", name);
    if (arm_get(a, &x, "get resource group", path, ARM_GROUPS, e) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    COPY(out->tagged.machine.token, token);
    arm_read_group(a, x.root, out);
    COPY(out->group, name);
    return find_vm(a, token, out, e) < 0 ? -1 : 1;
}

/* ---- lists ---- */

struct listing {
    struct arm *arm;
    int (*visit)(void *context, const struct arm_machine *m, struct cloud_error *e);
    void *context;
};

static int visit_group(void *context, const json_t *group, struct cloud_error *e)
{
    const struct listing *l = context;
    struct arm_machine m = {0};
    const char *token = arm_text(json_object_get(group, "tags"), CLOUD_TAG_TOKEN);
    char name[ARM_NAME_BYTES];

    if (strcasecmp(arm_text(group, "location"), l->arm->rest.cloud->options.region) != 0 || !*token)
        return 0;
    arm_read_group(l->arm, group, &m);
    arm_group_of(l->arm, m.tagged.machine.token, name);
    /* A group whose tags were copied from another one is none of ours. */
    if (strcasecmp(name, m.group) != 0)
        return 0;
    if (find_vm(l->arm, m.tagged.machine.token, &m, e) < 0)
        return -1;
    return l->visit(l->context, &m, e);
}

int arm_each_machine(struct arm *a,
                     int (*visit)(void *context,
                                  const struct arm_machine *m,
                                  struct cloud_error *e),
                     void *context,
                     struct cloud_error *e)
{
    struct listing l = {a, visit, context};
    AUTO_MEM char *filter = mem_printf("tagName eq '" CLOUD_TAG_OWNER "' and tagValue eq '%s'",
                                       a->rest.cloud->options.owner);
    AUTO_MEM char *encoded = arm_encode(filter);
    AUTO_MEM char *path = mem_printf("/resourcegroups?$filter=%s", encoded);

    return arm_each(a, "list resource groups", path, ARM_GROUPS, visit_group, &l, e);
}

int arm_delete_group(struct arm *a, const char *group, double most_s, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = mem_printf(
        "/resourcegroups/%s?forceDeletionTypes=Microsoft.Compute%%2FvirtualMachines", group);

    arm_call_init(&x, "delete resource group", "DELETE", NULL);
    if (arm_send(a, &x, path, ARM_GROUPS, e) < 0) {
        bool is_gone = e->failure == CLOUD_NOT_FOUND;
        if (!is_gone && !arm_failed_with(&x, "ResourceGroupBeingDeleted"))
            return -1;
        *e = (struct cloud_error){0};
        return is_gone ? 0 : 1;
    }
    return arm_wait(a, &x, most_s, e);
}
