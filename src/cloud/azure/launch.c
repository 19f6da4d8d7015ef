/* Launches a virtual machine: the one that a token stands for, or a new one. azure.c lists the
 * function.
 *
 * Names follow from the token and every call is a PUT: a launch that was interrupted goes on where
 * it was, and cannot make a second machine. A launch that is refused deletes the machine's group,
 * as Azure keeps what it had created of a machine that failed. */
#include "base/mem.h"
#include "cloud/azure/internal.h"
#include "cloud/boot.h"
#include "net/base64.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_GB 100.0
#define DEFAULT_LOGIN "azureuser"
/* On all sizes, other than faster kinds. */
#define DISK_KIND "StandardSSD_LRS"
/* Of the API that makes the network interface. */
#define INTERFACE_API "2020-11-01"
/* What was created may take so long until a launch can name it. */
#define YOUNG_MS ((int64_t)60 * 1000)
#define YOUNG_FIRST_S 2.0
#define YOUNG_MOST_S 15.0
/* Whether there is room shows within a minute or two; an image's first start may take longer. */
#define ALLOCATING_S 300.0
#define ABANDON_S 60.0
/* A user-assigned identity that may delete virtual machines. */
#define IDENTITY_VARIABLE "TRADEWIND_AZURE_IDENTITY"

/* One launch on its way. */
struct launch {
    struct arm *arm;
    const struct cloud_request *request;
    json_t *image; /* reference */
    char login[64];
    char group[ARM_NAME_BYTES], vm[ARM_NAME_BYTES];
    int64_t begun_ms;
    bool has_group; /* or may have one */
    bool is_accepted;
};

/* ---- image ---- */

static json_t *urn(const char *text)
{
    char part[4][128] = {{0}};

    if (sscanf(text, "%127[^:]:%127[^:]:%127[^:]:%127[^:]", part[0], part[1], part[2], part[3]) !=
        4)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:s}", "publisher", part[0], "offer", part[1], "sku", part[2],
                     "version", part[3]);
}

/* PUBLISHER:OFFER:SKU:VERSION, the id of an image, a name of data/images.csv, or none. */
static int find_image(struct launch *l, struct cloud_error *e)
{
    const char *name = l->request->image;
    AUTO(arena) struct arena *texts = arena_new(4096);
    struct cloud_image image;

    snprintf(l->login, sizeof l->login, DEFAULT_LOGIN);
    if (name && strncmp(name, "/CommunityGalleries/", 20) == 0)
        l->image = json_pack("{s:s}", "communityGalleryImageId", name);
    else if (name && *name == '/')
        l->image = json_pack("{s:s}", "id", name);
    else if (name && strchr(name, ':'))
        l->image = urn(name);
    if (l->image)
        return 0;
    if (cloud_image_find(texts, "azure", name, l->request->accelerator, &image, &e->err) < 0)
        return -1;
    AUTO_MEM char *text = mem_printf("%s:%s", image.owner, image.pattern);
    snprintf(l->login, sizeof l->login, "%s", image.login);
    l->image = urn(text);
    return l->image ? 0 : cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s is no image", text);
}

/* ---- tags ---- */

static json_t *tags_of(const struct launch *l)
{
    json_t *out = json_object();
    struct cloud_tags tags;

    cloud_tags_of(l->request, l->login, &tags);
    for (size_t i = 0; i < tags.n; i++)
        json_object_set_new(out, tags.items[i].key, json_string(tags.items[i].value));
    return out;
}

static json_t *group_tags(const struct launch *l, int64_t accepted_ms)
{
    json_t *out = tags_of(l);

    json_object_set_new(out, ARM_TAG_BEGUN, json_sprintf("%" PRId64, l->begun_ms / 1000));
    json_object_set_new(out, ARM_TAG_MARKET, json_string(l->request->spot ? "spot" : "on-demand"));
    if (accepted_ms)
        json_object_set_new(out, ARM_TAG_LAUNCHED, json_sprintf("%" PRId64, accepted_ms / 1000));
    return out;
}

/* ---- the virtual machine ---- */

static char *vm_path(const struct launch *l)
{
    return mem_printf("/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/%s", l->group,
                      l->vm);
}

/* Azure bills a machine that has powered itself off, no matter who powered it off. One with an
 * identity that may delete it does so while it shuts down; not when it reboots. Images have Python,
 * which Azure's own agent needs. */
static const char ending[] =
    "cat >/usr/local/sbin/tradewind-end <<'END'\n"
    "#!/usr/bin/python3\n"
    "import json, subprocess\n"
    "from urllib.request import Request, urlopen\n"
    "jobs = subprocess.run(['systemctl', 'list-jobs'], capture_output=True, text=True).stdout\n"
    "if 'poweroff.target' not in jobs:\n"
    "    raise SystemExit\n"
    "token = json.load(urlopen(Request('http://169.254.169.254/metadata/identity/oauth2/token'\n"
    "    '?api-version=2018-02-01&resource=%s/', headers={'Metadata': 'true'}), timeout=30))\n"
    "urlopen(Request('%s/subscriptions/%s%s?api-version=" ARM_COMPUTE "',\n"
    "    method='DELETE', headers={'Authorization': 'Bearer ' + token['access_token']}), "
    "timeout=30)\n"
    "END\n"
    "chmod 700 /usr/local/sbin/tradewind-end\n"
    "cat >/run/systemd/system/tradewind-end.service <<'END'\n"
    "[Unit]\n"
    "Description=Deletes this machine when it powers itself off\n"
    "After=network-online.target\n"
    "[Service]\n"
    "Type=oneshot\n"
    "RemainAfterExit=yes\n"
    "ExecStart=/bin/true\n"
    "ExecStop=/usr/local/sbin/tradewind-end\n"
    "END\n"
    "systemctl daemon-reload\n"
    "systemctl start tradewind-end\n";

static char *custom_data(const struct launch *l, bool has_identity)
{
    const char *endpoint = l->arm->endpoint;
    AUTO_MEM char *vm = vm_path(l);
    AUTO_MEM char *boot = cloud_boot_script(l->login);
    AUTO_MEM char *end = mem_printf(ending, endpoint, endpoint, l->arm->subscription, vm);
    AUTO_MEM char *text = mem_printf("%s%s", boot, has_identity ? end : "");

    return base64_encode(text, strlen(text));
}

static json_t *os_profile(const struct launch *l, bool has_identity)
{
    AUTO_MEM char *data = custom_data(l, has_identity);
    AUTO_MEM char *keys = mem_printf("/home/%s/.ssh/authorized_keys", l->login);

    return json_pack("{s:s, s:s, s:s, s:{s:b, s:{s:[{s:s, s:s}]}}}", "computerName", l->vm,
                     "adminUsername", l->login, "customData", data, "linuxConfiguration",
                     "disablePasswordAuthentication", 1, "ssh", "publicKeys", "path", keys,
                     "keyData", l->arm->rest.cloud->options.key);
}

static json_t *network_profile(const struct launch *l, const char *subnet)
{
    json_t *address = json_pack("{s:s, s:o, s:{s:s}, s:{s:s, s:s}}", "name", "address", "tags",
                                tags_of(l), "sku", "name", "Standard", "properties", "deleteOption",
                                "Delete", "publicIPAllocationMethod", "Static");
    json_t *ip = json_pack("{s:s, s:{s:{s:s}, s:o}}", "name", "ip", "properties", "subnet", "id",
                           subnet, "publicIPAddressConfiguration", address);

    return json_pack("{s:s, s:[{s:s, s:o, s:{s:b, s:s, s:[o]}}]}", "networkApiVersion",
                     INTERFACE_API, "networkInterfaceConfigurations", "name", "interface", "tags",
                     tags_of(l), "properties", "primary", 1, "deleteOption", "Delete",
                     "ipConfigurations", ip);
}

static json_t *vm_body(const struct launch *l, const char *subnet)
{
    const struct cloud_request *r = l->request;
    const char *identity = cloud_variable(&l->arm->rest.cloud->options.outside, IDENTITY_VARIABLE);
    bool has_identity = identity && *identity;
    double disk_gb = ceil(r->disk_gb > 0 ? r->disk_gb : DISK_GB);
    json_t *properties =
        json_pack("{s:{s:s}, s:{s:O, s:{s:s, s:s, s:i, s:{s:s}}}, s:o, s:o}", "hardwareProfile",
                  "vmSize", r->instance_type, "storageProfile", "imageReference", l->image,
                  "osDisk", "createOption", "FromImage", "deleteOption", "Delete", "diskSizeGB",
                  (int)disk_gb, "managedDisk", "storageAccountType", DISK_KIND, "osProfile",
                  os_profile(l, has_identity), "networkProfile", network_profile(l, subnet));
    json_t *body = json_pack("{s:s, s:o, s:o}", "location", l->arm->rest.cloud->options.region,
                             "tags", tags_of(l), "properties", properties);

    if (r->spot) {
        double most = isinf(r->max_price_usd_per_hour) ? -1 : r->max_price_usd_per_hour;
        json_object_set_new(properties, "priority", json_string("Spot"));
        json_object_set_new(properties, "evictionPolicy", json_string("Delete"));
        json_object_set_new(properties, "billingProfile", json_pack("{s:f}", "maxPrice", most));
    }
    if (*r->zone)
        json_object_set_new(body, "zones", json_pack("[s]", r->zone));
    if (has_identity)
        json_object_set_new(body, "identity",
                            json_pack("{s:s, s:{s:{}}}", "type", "UserAssigned",
                                      "userAssignedIdentities", identity));
    return body;
}

/* ---- calls ---- */

static int64_t now_of(const struct launch *l)
{
    return cloud_now_ms(l->arm->rest.cloud);
}

static int put_group(struct launch *l, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    int put = arm_put_group(l->arm, l->group, group_tags(l, 0), &x, e);

    l->has_group = l->has_group || put == 0 || x.is_open;
    *is_young = false;
    if (put < 0 && arm_failed_with(&x, "ResourceGroupBeingDeleted"))
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION,
                          "what this token stood for is still being deleted");
    return put;
}

/* A PUT that came again, after its answer was lost, may be refused as a change: whether the machine
 * of this request is there. */
static bool is_there(struct launch *l)
{
    struct cloud_error why = {0};
    struct arm_machine m;

    return arm_find(l->arm, l->request->token, &m, &why) > 0 && m.has_vm && !*m.failed &&
           m.tagged.asked == instance_fingerprint(l->request);
}

/* Tells later looks that the machine was there: one that is missing then has ended. */
static void note_accepted(struct launch *l)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = mem_printf("/resourcegroups/%s", l->group);
    struct cloud_error why;

    arm_call_init(&x, "tag resource group", "PATCH",
                  json_pack("{s:o}", "tags", group_tags(l, now_of(l))));
    /* Without the tag they go by the group's age. */
    arm_send(l->arm, &x, path, ARM_GROUPS, &why);
}

static int put_vm(struct launch *l, const char *subnet, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = vm_path(l);

    arm_call_init(&x, "create virtual machine", "PUT", vm_body(l, subnet));
    *is_young = false;
    if (now_of(l) - l->begun_ms >= ARM_LAUNCH_MS)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION,
                          "the launch began too long ago to be finished; take another token");
    if (arm_send(l->arm, &x, path, ARM_COMPUTE, e) < 0) {
        *is_young = arm_is_young(&x) || arm_is_busy(&x) || e->failure == CLOUD_NOT_FOUND;
        bool is_change = e->failure == CLOUD_CONFLICT || (e->failure == CLOUD_INVALID && x.is_open);
        l->is_accepted = is_change && !*is_young && is_there(l);
        return l->is_accepted ? 0 : -1;
    }
    l->is_accepted = true;
    note_accepted(l);
    return arm_wait(l->arm, &x, ALLOCATING_S, e) < 0 ? -1 : 0;
}

/* Shares, and puts group and machine, until what was just created can be named. */
static int create(struct launch *l, struct cloud_error *e)
{
    struct cloud *c = l->arm->rest.cloud;
    int64_t until_ms = now_of(l) + YOUNG_MS;
    double wait_s = YOUNG_FIRST_S;

    for (;;) {
        AUTO_MEM char *subnet = NULL;
        bool is_young;
        if (arm_share(l->arm, &subnet, &is_young, e) == 0 && put_group(l, &is_young, e) == 0 &&
            put_vm(l, subnet, &is_young, e) == 0)
            return 0;
        if (!is_young)
            return -1;
        if (now_of(l) >= until_ms)
            break;
        cloud_wait(c, wait_s);
        wait_s = fmin(wait_s * 1.5, YOUNG_MOST_S);
    }
    e->failure = CLOUD_TRANSIENT;
    e->err.kind = cloud_failure_kind(CLOUD_TRANSIENT);
    return -1;
}

/* ---- failures ---- */

static bool is_refusal(enum cloud_failure f)
{
    return f != CLOUD_FINE && f != CLOUD_THROTTLE && f != CLOUD_TRANSIENT && f != CLOUD_UNKNOWN &&
           f != CLOUD_CONFLICT;
}

/* What only the operation itself can have said, not a failed look at it. */
static bool is_verdict(enum cloud_failure f)
{
    return f == CLOUD_CAPACITY || f == CLOUD_QUOTA || f == CLOUD_UNSUPPORTED || f == CLOUD_INVALID;
}

/* Deletes what the launch left. e stays, unless that fails: then the machine may still be there. */
static int abandon(struct launch *l, struct cloud_error *e)
{
    struct cloud_error why = {0};

    /* What Azure's own choice of a zone lacks, no zone has. */
    if (!*l->request->zone && e->scope == CLOUD_ZONE)
        e->scope = CLOUD_REGION;
    if (!l->has_group)
        return -1;
    if (arm_delete_group(l->arm, l->group, ABANDON_S, &why) >= 0)
        return -1;
    AUTO_MEM char *text = mem_dup(e->err.text);
    return cloud_fail(e, CLOUD_UNKNOWN, e->scope,
                      "%.180s; what it left could not be deleted: %.180s", text, why.err.text);
}

/* ---- outcomes ---- */

/* The machine failed: its group goes, and the failure is the launch's. */
static int give_up(struct launch *l, const struct arm_machine *m, struct cloud_error *e)
{
    AUTO_MEM char *code = mem_dup(m->failed);

    if (!is_verdict(e->failure))
        arm_judge_code("create virtual machine", code, "the virtual machine could not be created",
                       e);
    l->has_group = true;
    return abandon(l, e);
}

/* Azure accepted the machine; *e: what following its creation came to. */
static int finish(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    struct cloud_error why = {0};
    struct arm_machine m;

    if (is_verdict(e->failure))
        return abandon(l, e);
    int found = arm_find(l->arm, l->request->token, &m, &why);
    if (found > 0 && m.has_vm && *m.failed)
        return give_up(l, &m, e);
    if (found <= 0 || !m.has_vm) {
        /* Not shown yet. */
        AUTO_JSON json_t *group =
            json_pack("{s:s, s:o}", "name", l->group, "tags", group_tags(l, now_of(l)));
        m = (struct arm_machine){0};
        arm_read_group(l->arm, group, &m);
        snprintf(m.tagged.machine.instance_type, sizeof m.tagged.machine.instance_type, "%s",
                 l->request->instance_type);
        snprintf(m.tagged.machine.zone, sizeof m.tagged.machine.zone, "%s", l->request->zone);
        AUTO_MEM char *path = vm_path(l);
        snprintf(m.tagged.machine.id, sizeof m.tagged.machine.id, "/subscriptions/%s%s",
                 l->arm->subscription, path);
    }
    *e = (struct cloud_error){0};
    return cloud_take_known(&m.tagged, l->request, out, e);
}

static int launch(struct launch *l, struct cloud_machine *out, struct cloud_error *e)
{
    if (create(l, e) == 0 || l->is_accepted)
        return finish(l, out, e);
    return is_refusal(e->failure) ? abandon(l, e) : -1;
}

/* The token is known. 1: its launch was interrupted before its machine, and goes on. */
static int resume(struct launch *l,
                  const struct arm_machine *m,
                  struct cloud_machine *out,
                  struct cloud_error *e)
{
    if (m->tagged.asked != instance_fingerprint(l->request))
        return cloud_take_known(&m->tagged, l->request, out, e);
    if (m->has_vm && *m->failed && !m->is_deleting)
        return give_up(l, m, e);
    if (m->has_vm || m->is_deleting || m->tagged.machine.state != CLOUD_REQUESTED || m->accepted_ms)
        return cloud_take_known(&m->tagged, l->request, out, e);
    l->begun_ms = m->begun_ms;
    l->has_group = true;
    return 1;
}

int arm_launch(struct cloud *c,
               const struct cloud_request *request,
               struct cloud_machine *out,
               struct cloud_error *e)
{
    struct arm *a = c->priv;
    struct launch l = {.arm = a, .request = request, .begun_ms = cloud_now_ms(c)};
    struct arm_machine known;

    if (*request->region && strcmp(request->region, c->options.region) != 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "a machine in %s was asked for in %s",
                          request->region, c->options.region);
    if (!*request->instance_type)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no instance type is given");
    if (!c->options.key || !*c->options.key)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no ssh key is given to launch with");
    arm_group_of(a, request->token, l.group);
    arm_vm_of(a, request->token, l.vm);
    int found = arm_find(a, request->token, &known, e);
    int goes_on = found > 0 ? resume(&l, &known, out, e) : 1;
    if (found < 0 || goes_on <= 0)
        return found < 0 ? -1 : goes_on;
    int done = find_image(&l, e) < 0 ? -1 : launch(&l, out, e);
    json_decref(l.image);
    return done < 0 ? err_wrap(&e->err, "%s%s%s", c->options.region, *request->zone ? " zone " : "",
                               request->zone)
                    : 0;
}
