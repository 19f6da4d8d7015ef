/* What Azure's Resource Manager answered in recordings: ../shared has them. */
#include "base/file.h"
#include "base/mem.h"
#include "cloud/azure/internal.h"
#include "cloud_model.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPLAY "../shared/data/cloud-replay/azure/"
#define NODE                                                                                       \
    "_subscriptions_99999999_resourceGroups_000000_providers_Microsoft_Compute_virtualMachines_"   \
    "test_node_1"
#define NOW_MS ((int64_t)1800000000000)

/* ---- a tape instead of Azure ---- */

struct tape {
    const char *const *files; /* one each call; the last one stays */
    int status;
    const char *header, *value; /* of the first answer; NULL = none */
    unsigned calls;
    char urls[8][700];
};

static char *read_file(const char *name, size_t *n)
{
    AUTO_MEM char *path = mem_printf(REPLAY "%s", name);
    void *bytes = file_map(path, n, NULL);
    char *text = mem_zero(*n + 1, 1);

    if (!bytes) {
        printf("Bail out! %s is missing\n", path);
        exit(EXIT_FAILURE);
    }
    memcpy(text, bytes, *n);
    munmap(bytes, *n);
    return text;
}

static int replay(void *context,
                  const struct http_request *r,
                  struct http_answer *out,
                  struct err *e)
{
    struct tape *t = context;
    const char *file = t->files[0];

    (void)e;
    if (t->files[1])
        t->files++;
    if (t->calls < 8)
        snprintf(t->urls[t->calls], sizeof t->urls[0], "%s", r->url);
    *out = (struct http_answer){.status = t->status};
    out->body = read_file(file, &out->body_bytes);
    if (t->header && t->calls == 0) {
        out->headers = mem_zero(1, sizeof *out->headers);
        out->headers[0].name = mem_dup(t->header);
        out->headers[0].value = mem_dup(t->value);
        out->n_headers = 1;
    }
    t->calls++;
    return 0;
}

static struct cloud_model model; /* for tokens alone */

static const char *variable(void *context, const char *name)
{
    const struct cloud_options o = cloud_model_options(&model, "/nonexistent", "me");

    (void)context;
    return strcmp(name, "AZURE_RESOURCE_MANAGER_ENDPOINT") == 0
               ? NULL
               : o.outside.variable(o.outside.context, name);
}

static void no_wait(void *context, double seconds)
{
    (void)context;
    (void)seconds;
}

static int64_t now(void *context)
{
    (void)context;
    return NOW_MS;
}

static struct cloud *open_tape(struct tape *t)
{
    const struct cloud_options o = {.name = "azure",
                                    .home = "/nonexistent",
                                    .owner = "me",
                                    .region = "eastus",
                                    .now_ms = now,
                                    .outside = {replay, no_wait, variable, t}};

    return cloud_open(&o, NULL);
}

/* ---- failures ---- */

static void failures(void)
{
    static const struct {
        const char *file;
        int status;
        enum cloud_failure failure;
        enum cloud_scope scope;
        unsigned calls; /* 1: it is not sent again; 2: once more, with a new token */
        const char *method, *text;
    } cases[] = {
        {"authored/async_failed_Zonal.http200.json", 200, CLOUD_CAPACITY, CLOUD_ZONE, 1, "GET",
         "ZonalAllocationFailed"},
        {"authored/auth_AuthorizationFailed.http403.json", 403, CLOUD_PERMISSION, CLOUD_ACCOUNT, 1,
         "PUT", "allow the action Microsoft.Compute/virtualMachines/write"},
        {"authored/auth_ExpiredAuthenticationToken.http401.json", 401, CLOUD_AUTH, CLOUD_ACCOUNT, 2,
         "PUT", "ExpiredAuthenticationToken"},
        {"authored/nic_reserved.http400.json", 400, CLOUD_CONFLICT, CLOUD_ACCOUNT, 1, "DELETE",
         "NicReservedForAnotherVm"},
        {"authored/publicip_in_use.http400.json", 400, CLOUD_CONFLICT, CLOUD_ACCOUNT, 1, "DELETE",
         "PublicIPAddressCannotBeDeleted"},
        {"authored/rg_being_deleted.http409.json", 409, CLOUD_CONFLICT, CLOUD_ACCOUNT, 1, "PUT",
         "ResourceGroupBeingDeleted"},
        {"authored/rg_not_found.http404.json", 404, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, 1, "GET",
         "ResourceGroupNotFound"},
        {"authored/sub_readonly.http409.json", 409, CLOUD_PERMISSION, CLOUD_ACCOUNT, 1, "PUT",
         "ReadOnlyDisabledSubscription"},
        {"authored/vm_put_SkuNotAvailable.http409.json", 409, CLOUD_CAPACITY, CLOUD_ZONE, 1, "PUT",
         "SkuNotAvailable"},
        {"authored/vm_put_quota_OperationNotAllowed.http409.json", 409, CLOUD_QUOTA, CLOUD_REGION,
         1, "PUT", "LowPriorityCores"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const files[] = {cases[i].file, NULL};
        struct tape t = {.files = files, .status = cases[i].status};
        AUTO(cloud) struct cloud *c = open_tape(&t);
        AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
        struct cloud_error e;
        arm_call_init(&x, "call", cases[i].method, NULL);
        CHECK(arm_send(c->priv, &x, "/x", ARM_COMPUTE, &e) < 0 && e.failure == cases[i].failure &&
                  e.scope == cases[i].scope && t.calls == cases[i].calls &&
                  strstr(e.err.text, cases[i].text) && e.err.kind == cloud_failure_kind(e.failure),
              "%s: %s (%u calls)", cases[i].file, e.err.text, t.calls);
    }
}

/* ---- long operations ---- */

static void operations(void)
{
    static const char place[] = "https://management.azure.com:443/subscriptions/s/operations/1?t=x";
    static const char node[] = NODE ".json";
    static const char *const files[] = {node, "authored/async_inprogress.http200.json",
                                        "authored/async_inprogress.http200.json",
                                        "authored/async_failed_Zonal.http200.json", NULL};
    struct tape t = {
        .files = files, .status = 200, .header = "azure-asyncoperation", .value = place};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    struct cloud_error e;

    arm_call_init(&x, "call", "PUT", NULL);
    CHECK(arm_send(c->priv, &x, "/x", ARM_COMPUTE, &e) == 0 && arm_wait(c->priv, &x, 60, &e) < 0 &&
              e.failure == CLOUD_CAPACITY && t.calls == 4,
          "an operation that goes on twice and fails: %s", e.err.text);
    CHECK(strcmp(t.urls[3], "https://management.azure.com/subscriptions/s/operations/1?t=x") == 0,
          "asked at %s", t.urls[3]);

    struct tape wrong = {.files = (const char *const[]){files[0], NULL},
                         .status = 202,
                         .header = "location",
                         .value = "https://management.azure.com.example.org/subscriptions/s/1"};
    AUTO(cloud) struct cloud *d = open_tape(&wrong);
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call y;
    arm_call_init(&y, "call", "DELETE", NULL);
    CHECK(arm_send(d->priv, &y, "/x", ARM_GROUPS, &e) == 0 && arm_wait(d->priv, &y, 60, &e) < 0 &&
              wrong.calls == 1,
          "no token goes to another place: %s", e.err.text);
}

/* ---- lists and machines ---- */

static int count(void *context, const json_t *item, struct cloud_error *e)
{
    (void)e;
    *(size_t *)context += strncmp(arm_text(item, "name"), "test-node-", 10) == 0;
    return 0;
}

static void lists(void)
{
    const char *const files[] = {
        "_subscriptions_99999999_providers_Microsoft_Compute_virtualMachines.json",
        "_subscriptions_99999999_providers_Microsoft_Compute_virtualMachines_1.json", NULL};
    struct tape t = {.files = files, .status = 200};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    struct cloud_error e;
    size_t n = 0;

    CHECK(arm_each(c->priv, "list", "/providers/Microsoft.Compute/virtualMachines", ARM_COMPUTE,
                   count, &n, &e) == 0 &&
              n == 2 && t.calls == 2,
          "two pages of one machine each %s", e.err.text);
    CHECK(strncmp(t.urls[1], "https://management.azure.com/subscriptions/99999999-", 52) == 0 &&
              strstr(t.urls[1], "$skiptoken=1!/Subscriptions/"),
          "the link of the first names the port");
}

static json_t *load(const char *file)
{
    size_t n;
    AUTO_MEM char *text = read_file(file, &n);

    return json_loadb(text, n, 0, NULL);
}

static void machines(void)
{
    const char *const files[] = {"authored/rg_not_found.http404.json", NULL};
    struct tape t = {.files = files, .status = 200};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    AUTO_JSON json_t *vm = load(NODE ".json");
    AUTO_JSON json_t *view = load(NODE "_InstanceView.json");
    struct arm_machine m = {0};

    json_object_set(json_object_get(vm, "properties"), "instanceView", view);
    arm_read_vm(c->priv, vm, &m);
    const struct cloud_machine *x = &m.tagged.machine;
    CHECK(x->state == CLOUD_RUNNING && strcmp(x->instance_type, "Standard_A1") == 0 && !x->spot &&
              strcmp(x->id, "/subscriptions/99999999-9999-9999-9999-999999999999/resourceGroups/"
                            "0000/providers/Microsoft.Compute/virtualMachines/test_vm") == 0,
          "a machine that runs while it is updated");
}

int main(void)
{
    if (access(REPLAY, R_OK) < 0)
        return TAP_SKIP_ALL("no recordings here");
    cloud_model_start(&model, &cloud_model_azure);
    failures();
    operations();
    lists();
    machines();
    cloud_model_stop(&model);
    return TAP_DONE();
}
