/* Machines on Azure, against the model of its Resource Manager: their lives, what is sent for them,
 * spot machines, zones. */
#include "azure_case.h"
#include "base/mem.h"
#include "net/base64.h"
#include "net/http.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- one machine ---- */

static void facts(const struct cloud_machine *m, const struct cloud_request *q)
{
    CHECK(strcmp(m->token, "one") == 0 && strcmp(m->owner, "me") == 0 && m->run == 3 &&
              m->job == 17 && m->expires_ms == q->expires_ms,
          "its tags");
    CHECK(strcmp(m->provider, "azure") == 0 && strcmp(m->region, "eastus") == 0 &&
              strcmp(m->instance_type, AZURE_SIZE) == 0 &&
              strncmp(m->id, "/subscriptions/aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee/resourceGroups/",
                      66) == 0 &&
              strstr(m->id, "/providers/Microsoft.Compute/virtualMachines/") && !m->spot,
          "where and what it is: %s", m->id);
    CHECK(m->cpus == 8 && m->memory_gb == 61 && strcmp(m->accelerator, "V100") == 0 &&
              m->accelerators == 1 && m->price_usd_per_hour == 3.06 && m->bill_min_s == 60,
          "its sizes and price");
}

static void life(void)
{
    struct cloud_machine m, again;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("one");
    q.bill_min_s = 60;
    int64_t before_ms = *model.now_ms;
    CHECK(!cloud_sees_at_once(c), "Azure is late at times");
    CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND, "no launch used the token");
    CHECK(terminate(c, "one") == CLOUD_FINE, "which can be terminated");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.ready_ms,
          "launched, and waited for %s", world_error.err.text);
    facts(&m, &q);
    CHECK(m.launched_ms >= before_ms / 1000 * 1000 && m.launched_ms <= *model.now_ms,
          "it bills from its launch on");
    CHECK(strncmp(m.address, "azureuser@198.51.100.", 21) == 0 &&
              strcmp(m.exec_driver, "ssh") == 0 && strcmp(m.root, "~/.tradewind-jobs") == 0,
          "it is reached at %s", m.address);
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0 &&
              cloud_model_count(&model, "launched") == 1,
          "the same token, the same machine");
    q.expires_ms += 5000;
    q.price_usd_per_hour = 1;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0,
          "whose expiry and price may differ");
    q.instance_type = "Standard_D4s_v5";
    CHECK(launch_as(c, &q, &again) == CLOUD_CONFLICT, "another size: %s", world_error.err.text);
    CHECK(look(c, "one", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING &&
              strcmp(listed(c), "one ") == 0,
          "it is listed");
    CHECK(strcmp(left(), "resource-group 2, instance 1, disk 1, network-interface 1, network 1, "
                         "public-address 1, security-group 1") == 0,
          "two groups, of the machine and of the network: %s", left());
    CHECK(terminate(c, "one") == CLOUD_FINE && look(c, "one", &m) == CLOUD_FINE &&
              m.state == CLOUD_DELETING && strcmp(listed(c), "one ") == 0,
          "terminated: listed until it is gone");
    CHECK(terminate(c, "one") == CLOUD_FINE, "terminated twice");
    cloud_model_pass(&model, 30);
    CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND && strcmp(listed(c), "") == 0, "gone");
    CHECK(strcmp(left(), "resource-group 1, network 1, security-group 1") == 0,
          "with disk, interface and address: %s", left());
    CHECK(terminate(c, "one") == CLOUD_FINE, "and may be terminated again");
}

/* Another owner's token of the same name, and the same in another region, are other machines. */
static void apart(void)
{
    struct cloud_machine m, other;
    struct cloud_options o = cloud_model_options(&model, w.home, "you");

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *mine = open_as(NULL);
    AUTO(cloud) struct cloud *yours = cloud_open(&o, NULL);
    o.owner = "me";
    o.region = "westeurope";
    AUTO(cloud) struct cloud *far = cloud_open(&o, NULL);
    struct cloud_request q = azure_request("one");
    CHECK(launch_as(mine, &q, &m) == CLOUD_FINE && look(yours, "one", &other) == CLOUD_NOT_FOUND &&
              look(far, "one", &other) == CLOUD_NOT_FOUND,
          "a machine of one owner and region");
    CHECK(launch_as(yours, &q, &other) == CLOUD_FINE && strcmp(m.id, other.id) != 0,
          "another owner's");
    q.region = "westeurope";
    CHECK(launch_as(far, &q, &other) == CLOUD_FINE && strcmp(m.id, other.id) != 0,
          "another region's %s", world_error.err.text);
    CHECK(strcmp(listed(mine), "one ") == 0 && strcmp(listed(far), "one ") == 0, "listed apart");
}

/* ---- what is sent ---- */

struct sent {
    json_t *vm, *group;
    char kept[4][200]; /* PUTs of anything, their paths */
    size_t n;
};

static void watch(void *context, const struct http_request *r)
{
    struct sent *s = context;
    json_t *body = r->body ? json_loadb(r->body, r->body_bytes, 0, NULL) : NULL;

    if (strcmp(r->method, "PUT") == 0 && strstr(r->url, "/virtualMachines/") && !s->vm)
        s->vm = json_incref(body);
    if (strcmp(r->method, "PATCH") == 0 && !s->group)
        s->group = json_incref(body);
    json_decref(body);
}

static struct sent launch_watched(struct cloud_request *q)
{
    struct sent s = {0};
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    model.see = watch;
    model.context = &s;
    CHECK(launch_as(c, q, &m) == CLOUD_FINE, "%s launched %s", q->token, world_error.err.text);
    model.see = NULL;
    return s;
}

static void forget(struct sent *s)
{
    json_decref(s->vm);
    json_decref(s->group);
}

/* The script that the machine's first start runs. */
static char *script_of(const json_t *vm)
{
    size_t n;

    return (char *)base64_decode(AT(vm, "properties", "osProfile", "customData"), &n);
}

static void bodies(void)
{
    struct cloud_request q = azure_request("on-demand");
    q.zone = "2";
    q.disk_gb = 200.5;
    struct sent s = launch_watched(&q);
    const json_t *p = json_object_get(s.vm, "properties");
    const char *tags[] = {"broker-owner", "broker-attempt", "broker-run", "broker-job",
                          "broker-expires"};
    const json_t *nic = json_array_get(
        json_object_get(json_object_get(p, "networkProfile"), "networkInterfaceConfigurations"), 0);
    const json_t *ip =
        json_array_get(json_object_get(json_object_get(nic, "properties"), "ipConfigurations"), 0);
    const json_t *address =
        json_object_get(json_object_get(ip, "properties"), "publicIPAddressConfiguration");
    CHECK(strcmp(AT(s.vm, "zones", "0"), "2") == 0 && strcmp(AT(s.vm, "location"), "eastus") == 0,
          "its zone and region");
    CHECK(strcmp(AT(p, "storageProfile", "imageReference", "publisher"), "microsoft-dsvm") == 0 &&
              strcmp(AT(p, "storageProfile", "imageReference", "offer"), "ubuntu-hpc") == 0 &&
              strcmp(AT(p, "storageProfile", "imageReference", "sku"), "2204") == 0 &&
              strcmp(AT(p, "storageProfile", "imageReference", "version"), "latest") == 0,
          "the image with drivers");
    CHECK(strcmp(AT(p, "storageProfile", "osDisk", "deleteOption"), "Delete") == 0 &&
              strcmp(AT(nic, "properties", "deleteOption"), "Delete") == 0 &&
              strcmp(AT(address, "properties", "deleteOption"), "Delete") == 0,
          "disk, interface and address go with it");
    CHECK(json_integer_value(json_object_get(
              json_object_get(json_object_get(p, "storageProfile"), "osDisk"), "diskSizeGB")) ==
              201,
          "a disk of at least 200.5 GB");
    CHECK(!json_object_get(p, "priority") && !json_object_get(p, "evictionPolicy") &&
              !json_object_get(p, "billingProfile") && !json_object_get(s.vm, "identity"),
          "no spot machine, no identity");
    size_t n = 0;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        n += *AT(s.vm, "tags", tags[i]) && *AT(nic, "tags", tags[i]) &&
             *AT(address, "tags", tags[i]) && *AT(s.group, "tags", tags[i]);
    CHECK(n == 5, "tags on machine, interface, address and group");
    AUTO_MEM char *script = script_of(s.vm);
    CHECK(strncmp(script, "#!/bin/sh\n", 10) == 0 && strstr(script, "--on-active=1h") &&
              strstr(script, "~azureuser/.tradewind-jobs") && strstr(script, "poweroff") &&
              !strstr(script, "identity"),
          "it powers itself off when no agent comes");
    forget(&s);
    q = azure_request("spot");
    q.spot = true;
    q.accelerator = NULL;
    q.max_price_usd_per_hour = 0.125;
    s = launch_watched(&q);
    p = json_object_get(s.vm, "properties");
    CHECK(
        strcmp(AT(p, "priority"), "Spot") == 0 && strcmp(AT(p, "evictionPolicy"), "Delete") == 0 &&
            json_number_value(json_object_get(json_object_get(p, "billingProfile"), "maxPrice")) ==
                0.125,
        "a spot machine that is deleted when it is evicted, and its most price");
    CHECK(strcmp(AT(p, "storageProfile", "imageReference", "offer"),
                 "0001-com-ubuntu-server-jammy") == 0 &&
              !json_object_get(s.vm, "zones"),
          "the image without drivers; Azure chooses the zone");
    forget(&s);
    q.token = "any-price";
    q.max_price_usd_per_hour = (double)INFINITY;
    q.image = "Debian:debian-12:12-gen2:latest";
    s = launch_watched(&q);
    p = json_object_get(s.vm, "properties");
    CHECK(json_number_value(json_object_get(json_object_get(p, "billingProfile"), "maxPrice")) ==
                  -1 &&
              strcmp(AT(p, "storageProfile", "imageReference", "sku"), "12-gen2") == 0,
          "up to the on-demand price; an image by its own name");
    forget(&s);
}

/* Whether the shell and, of what it writes, Python can read a script. */
static bool can_be_read(const char *script)
{
    static const char check[] =
        "sh -n \"$0\" && sed -n '/^#!.*python3$/,/^END$/p' \"$0\" | sed '$d' |"
        " python3 -c 'import ast, sys; assert len(ast.parse(sys.stdin.read()).body) > 4'";
    AUTO_MEM char *path = mem_printf("%s/script", w.home);
    FILE *f = fopen(path, "w");
    int status = -1;

    if (!f || fputs(script, f) < 0 || fclose(f) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", check, path, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* With an identity that may, a machine that powers itself off is deleted. */
static const char *with_identity(void *context, const char *name)
{
    const struct cloud_options o = cloud_model_options(&model, w.home, "me");

    (void)context;
    if (strcmp(name, "TRADEWIND_AZURE_IDENTITY") == 0)
        return "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/"
               "userAssignedIdentities/end";
    return o.outside.variable(o.outside.context, name);
}

static void identities(void)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct cloud_request q = azure_request("with");
    struct cloud_machine m;
    struct sent s = {0};

    cloud_model_begin(&model, "{}");
    o.outside.variable = with_identity;
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    model.see = watch;
    model.context = &s;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "launched with an identity %s", world_error.err.text);
    model.see = NULL;
    AUTO_MEM char *script = script_of(s.vm);
    CHECK(strcmp(AT(s.vm, "identity", "type"), "UserAssigned") == 0 &&
              strstr(script, "/metadata/identity/oauth2/token") && strstr(script, m.id) &&
              strstr(script, "method='DELETE'") &&
              strstr(script, "ExecStop=/usr/local/sbin/tradewind-end"),
          "the machine deletes itself");
    CHECK(can_be_read(script), "by a script without mistakes of syntax");
    forget(&s);
}

/* ---- spot machines ---- */

static void spot(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("s");
    q.spot = true;
    q.max_price_usd_per_hour = 0.25;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.spot, "a spot machine %s", world_error.err.text);
    cloud_model_pass(&model, 200);
    cloud_model_do(&model, "{\"preempt\": true}");
    CHECK(look(c, "s", &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED && m.ended_ms &&
              m.notice_ms == m.ended_ms && strcmp(listed(c), "") == 0,
          "that Azure evicts and deletes");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED &&
              cloud_model_count(&model, "launched") == 1,
          "its token stands for it");
    q = azure_request("d");
    q.spot = true;
    launch_as(c, &q, &m);
    cloud_model_do(&model, "{\"deallocate\": true}");
    CHECK(look(c, "d", &m) == CLOUD_FINE && m.state == CLOUD_DELETING && m.notice_ms &&
              strcmp(listed(c), "d ") == 0,
          "one that was evicted and keeps its disk is over, and bills until it is deleted");
    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"on-demand-for-spot\"]}");
    q.token = "t";
    CHECK(launch_as(c, &q, &m) == CLOUD_CONFLICT, "on-demand given for spot: %s",
          world_error.err.text);
    CHECK(terminate(c, "t") == CLOUD_FINE, "can be terminated by its token");
    cloud_model_pass(&model, 60);
    CHECK(look(c, "t", &m) == CLOUD_NOT_FOUND, "and is gone");
}

/* What is told of machines that stopped by themselves. */
static void stopped(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("a");
    launch_as(c, &q, &m);
    cloud_model_do(&model, "{\"stop\": true}");
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_DELETING && !m.ended_ms,
          "a guest that powered itself off still bills");
    cloud_model_do(&model, "{\"remove\": true}");
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_REQUESTED,
          "a missing machine may not be shown yet");
    cloud_model_pass(&model, 180);
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_GONE && m.ended_ms &&
              strcmp(listed(c), "") == 0,
          "and is gone after minutes");
}

/* ---- zones ---- */

static void zones(void)
{
    char names[8][CLOUD_ZONE_BYTES];
    struct cloud_machine m;
    size_t n;

    cloud_model_begin(&model, "{\"capacity\": {\"1\": 0}, \"page\": 2}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("a");
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) == 0 && n == 2 &&
              strcmp(names[0], "1") == 0 && strcmp(names[1], "2") == 0,
          "zones that offer the size");
    q.instance_type = "Standard_D4s_v5";
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) == 0 && n == 2 &&
              strcmp(names[0], "1") == 0 && strcmp(names[1], "3") == 0,
          "one of them is closed to the subscription");
    q.zone = "2";
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) < 0 &&
              world_error.failure == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_ZONE,
          "asked for: %s", world_error.err.text);
    q.zone = NULL;
    q.instance_type = "Standard_NC24ads_A100_v4";
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) < 0 &&
              world_error.failure == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_REGION &&
              strstr(world_error.err.text, "not available to this subscription"),
          "the whole region is: %s", world_error.err.text);
    q.instance_type = "Standard_X9";
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) < 0 &&
              world_error.failure == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_REGION,
          "no such size: %s", world_error.err.text);
    q.instance_type = AZURE_SIZE;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "without a zone Azure chooses one");
    q.token = "b";
    q.zone = "1";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.scope == CLOUD_ZONE,
          "this zone alone: %s", world_error.err.text);
    q.token = "c";
    q.zone = "2";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.zone, "2") == 0, "another zone");
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    o.region = "westus";
    AUTO(cloud) struct cloud *plain = cloud_open(&o, NULL);
    q = azure_request("p");
    q.region = "westus";
    CHECK(cloud_zones(plain, &q, names, 8, &n, &world_error) == 0 && n == 1 && !*names[0],
          "a region without zones");
    q.zone = names[0];
    CHECK(launch_as(plain, &q, &m) == CLOUD_FINE && !*m.zone, "launched there %s",
          world_error.err.text);
}

int main(void)
{
    azure_case_begin();
    life();
    apart();
    bodies();
    identities();
    spot();
    stopped();
    zones();
    azure_case_end();
    return TAP_DONE();
}
