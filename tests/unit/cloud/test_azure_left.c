/* What machines on Azure share and leave, and the check of an account, against the model of its
 * Resource Manager. */
#include "azure_case.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

/* ---- what machines share, and what is left ---- */

static bool admits(const char *expected)
{
    AUTO_JSON json_t *state = cloud_model_state(&model);
    json_t *thing;
    size_t i;

    json_array_foreach(json_object_get(state, "things"), i, thing)
    {
        if (strcmp(AT(thing, "kind"), "security-group") != 0)
            continue;
        const json_t *rules =
            json_object_get(json_object_get(thing, "properties"), "securityRules");
        return json_array_size(rules) == 1 &&
               strcmp(AT(rules, "0", "properties", "destinationPortRange"), "22") == 0 &&
               strcmp(AT(rules, "0", "properties", "sourceAddressPrefix"), expected) == 0;
    }
    return false;
}

static void shared(void)
{
    struct cloud_machine m;
    char said[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    AUTO(cloud) struct cloud *elsewhere = open_as("192.0.2.1/32");
    struct cloud_request q = azure_request("a");
    launch_as(c, &q, &m);
    CHECK(admits("203.0.113.7/32"), "ssh from this machine alone");
    json_int_t n = cloud_model_calls(&model, "PUT networkSecurityGroups");
    q.token = "b";
    launch_as(c, &q, &m);
    CHECK(n == 1 && cloud_model_calls(&model, "PUT networkSecurityGroups") == 1 &&
              cloud_model_calls(&model, "PUT virtualNetworks") == 1,
          "the network is made once");
    q.token = "c";
    launch_as(elsewhere, &q, &m);
    CHECK(admits("192.0.2.1/32") && cloud_model_calls(&model, "PUT virtualNetworks") == 1,
          "and admits from where this machine is by now");
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0 && !*said,
          "with machines, nothing is left over");
    terminate(c, "a");
    terminate(c, "b");
    terminate(c, "c");
    CHECK(cloud_clean(c, true, cloud_model_note, said, &world_error) == 0 &&
              strcmp(said, "resource group, ") == 0 && strcmp(left(), "") != 0,
          "a dry run: %s", said);
    said[0] = '\0';
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0 &&
              strcmp(said, "resource group, ") == 0 && !*left(),
          "cleaned while machines are being deleted, which hold the network: %s", said);
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0, "and again");
}

/* What a machine that ended by itself left behind. */
static void leftovers(void)
{
    struct cloud_machine m;
    char said[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("s");
    q.spot = true;
    launch_as(c, &q, &m);
    q = azure_request("stays");
    launch_as(c, &q, &m);
    cloud_model_do(&model, "{\"detach\": true}");
    cloud_model_do(&model, "{\"preempt\": true}");
    cloud_model_do(&model, "{\"detach\": false}");
    CHECK(strstr(left(), "disk 2"), "a disk without a machine: %s", left());
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0 && !*said,
          "a machine that is missing may be shown soon");
    cloud_model_pass(&model, 600);
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0 &&
              strcmp(said, "resource group, ") == 0 && strstr(left(), "disk 1") &&
              strcmp(listed(c), "stays ") == 0,
          "its group goes, the other one's stays: %s, %s", said, left());
    cloud_model_do(&model, "{\"settings\": {\"denied\":"
                           " [\"Microsoft.Resources/subscriptions/resourceGroups/delete\"]}}");
    cloud_model_do(&model, "{\"remove\": true}");
    cloud_model_pass(&model, 600);
    said[0] = '\0';
    CHECK(cloud_clean(c, false, cloud_model_note, said, &world_error) == 0 && strstr(said, " held"),
          "what cannot be deleted is said: %s", said);
}

/* ---- checks ---- */

static void checks(void)
{
    static const char expected[] =
        "credentials/1/found: AZURE_CLIENT_SECRET/\n"
        "identity/1/application 66666666-7777-8888-9999-000000000000/\n"
        "subscription/1/aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee (Model), Enabled/\n"
        "regions/1/eastus is one of 3/\n"
        "provider/1/Microsoft.Compute: Registered/\n"
        "provider/1/Microsoft.Network: Registered/\n"
        "permissions/1/all of 30 actions are permitted/\n"
        "quota cores/1/100 vCPUs of on-demand machines in eastus, 0 used/\n"
        "quota spot/2/0 vCPUs of spot machines in eastus, 0 used/ask for more";
    char text[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) == 0, "checked %s",
          world_error.err.text);
    CHECK(strncmp(text, expected, strlen(expected)) == 0, "findings");
    CHECK(strstr(text, "quota gpus/1/12 Standard NCSv3 Family vCPUs in eastus") &&
              !strstr(text, "A100"),
          "families of GPUs that have a quota");
    CHECK(!strstr(text, "model/secret"), "no secret is shown");
    text[0] = '\0';
    cloud_model_begin(&model, "{\"denied\": [\"Microsoft.Compute/virtualMachines/write\","
                              " \"Microsoft.Network/publicIPAddresses/*\","
                              " \"Microsoft.Compute/locations/usages/read\"],"
                              " \"unregistered\": [\"Microsoft.Network\"]}");
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) == 0, "checked %s",
          world_error.err.text);
    CHECK(strstr(text, "permissions/3/some actions are not permitted/allow ") &&
              strstr(text, "Microsoft.Compute/virtualMachines/write, ") &&
              strstr(text, "Microsoft.Network/publicIPAddresses/join/action") &&
              !strstr(text, "Microsoft.Compute/virtualMachines/read"),
          "missing permissions");
    CHECK(strstr(text, "provider/3/Microsoft.Network: NotRegistered/az provider register "
                       "--namespace Microsoft.Network") &&
              strstr(text, "quotas/2/"),
          "an unregistered provider, unread quotas");
    CHECK(!*left(), "nothing was created");
}

/* ---- accounts ---- */

static int add_region(void *context, const char *region, struct err *e)
{
    size_t at = strlen(context);

    (void)e;
    snprintf((char *)context + at, 200 - at, "%s ", region);
    return 0;
}

static const char *nothing(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "HOME") == 0 ? "/nonexistent" : NULL;
}

static void accounts(void)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    char text[200] = "";

    cloud_model_begin(&model, "{\"page\": 1}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    CHECK(cloud_sign_in(c, &world_error) == 0 && cloud_model_calls(&model, "GET subscription") == 0,
          "credentials, without a question %s", world_error.err.text);
    CHECK(cloud_regions(c, add_region, text, &world_error) == 0 &&
              strcmp(text, "eastus westeurope westus ") == 0,
          "regions in order: %s", text);
    CHECK(strcmp(cloud_some_region("azure"), "eastus") == 0 && cloud_is_provider("azure"),
          "a cloud with an account");
    o.outside.variable = nothing;
    AUTO(cloud) struct cloud *d = cloud_open(&o, NULL);
    CHECK(cloud_sign_in(d, &world_error) < 0 && world_error.failure == CLOUD_AUTH &&
              strstr(world_error.err.text, "no Azure credentials: set AZURE_TENANT_ID"),
          "none: %s", world_error.err.text);
}

int main(void)
{
    azure_case_begin();
    shared();
    leftovers();
    checks();
    accounts();
    azure_case_end();
    return TAP_DONE();
}
