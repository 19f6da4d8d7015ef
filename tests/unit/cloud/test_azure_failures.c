/* Machines on Azure whose launches are refused, interrupted or not answered, against the model of
 * its Resource Manager. */
#include "azure_case.h"
#include "tap.h"

#include <string.h>

/* ---- refusals ---- */

static void refusals(void)
{
    static const struct {
        const char *settings, *text;
        enum cloud_failure failure;
        enum cloud_scope scope;
        bool leaves; /* a group, for the next call */
    } cases[] = {
        {"{\"capacity\": {\"1\": 0, \"2\": 0}}", "SkuNotAvailable", CLOUD_CAPACITY, CLOUD_REGION,
         false},
        {"{\"faults\": 1, \"only\": [\"nested-capacity\"]}", "SkuNotAvailable", CLOUD_CAPACITY,
         CLOUD_REGION, false},
        {"{\"faults\": 1, \"only\": [\"allocation\"]}", "AllocationFailed", CLOUD_CAPACITY,
         CLOUD_REGION, false},
        {"{\"faults\": 1, \"only\": [\"preempted\"]}", "OperationPreempted", CLOUD_CAPACITY,
         CLOUD_REGION, false},
        {"{\"vcpus\": 4}", "OperationNotAllowed", CLOUD_QUOTA, CLOUD_REGION, false},
        {"{\"faults\": 1, \"only\": [\"unsupported\"]}", "Hypervisor Generation", CLOUD_UNSUPPORTED,
         CLOUD_REGION, false},
        {"{\"faults\": 1, \"only\": [\"os-timeout\"]}", "OSProvisioningTimedOut", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, false},
        {"{\"faults\": 1, \"only\": [\"busy\"]}", "AnotherOperationInProgress", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, true},
        {"{\"denied\": [\"Microsoft.Compute/virtualMachines/write\"]}",
         "allow the action Microsoft.Compute/virtualMachines/write", CLOUD_PERMISSION,
         CLOUD_ACCOUNT, false},
        {"{\"denied\": [\"Microsoft.Resources/subscriptions/resourceGroups/write\"]}",
         "allow the action Microsoft.Resources/subscriptions/resourceGroups/write",
         CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
        {"{\"denied\": [\"Microsoft.Resources/subscriptions/resourceGroups/read\"]}",
         "allow the action Microsoft.Resources/subscriptions/resourceGroups/read", CLOUD_PERMISSION,
         CLOUD_ACCOUNT, false},
        {"{\"denied\": [\"Microsoft.Compute/virtualMachines/write\","
         " \"Microsoft.Resources/subscriptions/resourceGroups/delete\"]}",
         "what it left could not be deleted", CLOUD_UNKNOWN, CLOUD_ACCOUNT, true},
        {"{\"unregistered\": [\"Microsoft.Compute\"]}", "az provider register", CLOUD_PERMISSION,
         CLOUD_ACCOUNT, false},
        {"{\"faults\": 1, \"only\": [\"throttle\"]}", "TooManyRequests", CLOUD_THROTTLE,
         CLOUD_REGION, false},
        {"{\"faults\": 1, \"only\": [\"internal-before\"]}", "InternalServerError", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, false},
        {"{\"faults\": 1, \"only\": [\"internal-before\"], \"of\": [\"PUT resourcegroups\"]}",
         "InternalServerError", CLOUD_UNKNOWN, CLOUD_ACCOUNT, false},
        {"{\"faults\": 1, \"only\": [\"html-after\"]}", "no JSON", CLOUD_UNKNOWN, CLOUD_ACCOUNT,
         false},
        {"{\"faults\": 1, \"only\": [\"hang-before\"]}", "no answer within 60 s", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, false},
        {"{\"faults\": 1, \"only\": [\"auth\"]}", "InvalidAuthenticationToken", CLOUD_AUTH,
         CLOUD_ACCOUNT, false},
    };
    struct cloud_machine m;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(cloud) struct cloud *c = open_as(NULL);
        struct cloud_request q = azure_request("r");
        cloud_model_begin(&model, "%s", cases[i].settings);
        enum cloud_failure failure = launch_as(c, &q, &m);
        CHECK(failure == cases[i].failure && world_error.scope == cases[i].scope &&
                  strstr(world_error.err.text, cases[i].text),
              "%s: %s", cases[i].settings, world_error.err.text);
        cloud_model_do(&model, "{\"settings\": {\"faults\": 0, \"denied\": []}}");
        cloud_model_pass(&model, 60);
        CHECK((look(c, "r", &m) != CLOUD_NOT_FOUND) == cases[i].leaves &&
                  (cases[i].leaves || !strstr(left(), "disk")),
              "leaves %s", *left() ? left() : "nothing");
    }
}

static void mistakes(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("r");
    q.region = "westus";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID, "another region: %s", world_error.err.text);
    q = azure_request("r");
    q.image = "windows";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID &&
              strstr(world_error.err.text, "ubuntu-22.04, debian-12, ubuntu-hpc-22.04"),
          "an unknown image: %s", world_error.err.text);
    q.image = "Canonical:none:1:latest";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED, "one that Azure does not have: %s",
          world_error.err.text);
    q = azure_request("r");
    q.instance_type = "Standard_X9";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_REGION,
          "an unknown size: %s", world_error.err.text);
    CHECK(strstr(world_error.err.text, "azure: ") && strstr(world_error.err.text, "eastus"),
          "which names cloud and region");
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct err e = {0};
    o.region = "us-east-1";
    CHECK(!cloud_open(&o, &e) && strstr(e.text, "such as eastus"), "no region of Azure: %s",
          e.text);
}

/* ---- answers that do not come ---- */

/* A launch whose answers are lost, called again: the machine is there, once. */
static void lost_answers(void)
{
    static const char *const faults[] = {"reset-after", "internal-after", "html-after",
                                         "hang-after", "truncated"};
    struct cloud_machine m;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        for (int strict = 0; strict < 2; strict++) {
            AUTO(cloud) struct cloud *c = open_as(NULL);
            struct cloud_request q = azure_request("lost");
            cloud_model_begin(&model,
                              "{\"faults\": 1, \"only\": [\"%s\"], \"strict\": %s,"
                              " \"of\": [\"PUT virtualMachines\"]}",
                              faults[i], strict ? "true" : "false");
            enum cloud_failure first = launch_as(c, &q, &m);
            /* A second PUT that is refused as a change tells that the first one was carried out. */
            CHECK(first == (strict ? CLOUD_FINE : CLOUD_UNKNOWN), "%s%s: %s", faults[i],
                  strict ? ", PUT again refused" : "", world_error.err.text);
            cloud_model_do(&model, "{\"settings\": {\"faults\": 0}}");
            CHECK(launch_as(c, &q, &m) == CLOUD_FINE &&
                      cloud_model_count(&model, "launched") == 1 &&
                      cloud_model_count(&model, "twins") == 0,
                  "launched once %s", world_error.err.text);
        }
    }
}

/* A refusal after tries without an answer: what they made is deleted, or the refusal is none. */
static void refused_after_silence(void)
{
    unsigned refused = 0, unsure = 0, wrong = 0;

    for (unsigned seed = 1; seed <= 30; seed++) {
        struct cloud_machine m;
        cloud_model_begin(&model,
                          "{\"seed\": %u, \"faults\": 1, \"only\": [\"reset-after\","
                          " \"permission\"], \"of\": [\"PUT virtualMachines\"]}",
                          seed);
        AUTO(cloud) struct cloud *c = open_as(NULL);
        struct cloud_request q = azure_request("r");
        enum cloud_failure failure = launch_as(c, &q, &m);
        refused += failure == CLOUD_PERMISSION;
        unsure += failure == CLOUD_UNKNOWN;
        cloud_model_pass(&model, 60);
        wrong += failure == CLOUD_PERMISSION && strstr(left(), "instance") != NULL;
    }
    CHECK(refused && unsure && !wrong,
          "of 30 launches %u are refused, %u perhaps, and %u of the refused are there", refused,
          unsure, wrong);
}

/* A process that died before the machine: another one goes on where it was, for a while. */
static void interrupted(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"reset-before\"],"
                              " \"of\": [\"PUT virtualMachines\"]}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = azure_request("i");
    CHECK(launch_as(c, &q, &m) == CLOUD_UNKNOWN, "no machine: %s", world_error.err.text);
    CHECK(look(c, "i", &m) == CLOUD_FINE && m.state == CLOUD_REQUESTED &&
              strcmp(listed(c), "i ") == 0,
          "its group is there and listed");
    q.instance_type = "Standard_D4s_v5";
    CHECK(launch_as(c, &q, &m) == CLOUD_CONFLICT, "it stands for its request: %s",
          world_error.err.text);
    q.instance_type = AZURE_SIZE;
    cloud_model_do(&model, "{\"settings\": {\"faults\": 0}}");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && cloud_model_count(&model, "launched") == 1,
          "the launch goes on");
    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"reset-before\"],"
                              " \"of\": [\"PUT virtualMachines\"]}");
    launch_as(c, &q, &m);
    cloud_model_do(&model, "{\"settings\": {\"faults\": 0}}");
    cloud_model_pass(&model, 11 * 60.0);
    CHECK(launch_as(c, &q, &m) == CLOUD_TRANSIENT && cloud_model_count(&model, "launched") == 0,
          "ten minutes later no more: %s", world_error.err.text);
    cloud_model_pass(&model, 5 * 60.0);
    CHECK(look(c, "i", &m) == CLOUD_FINE && m.state == CLOUD_GONE && strcmp(listed(c), "") == 0 &&
              launch_as(c, &q, &m) == CLOUD_FINE && m.state == CLOUD_GONE,
          "after a quarter of an hour it will never be");
}

/* Answers with Retry-After are followed no sooner. */
static void patience(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"throttle\"]}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    int64_t before_ms = *model.now_ms;
    look(c, "p", &m);
    CHECK(cloud_model_calls(&model, "GET resourcegroups") == 4 &&
              *model.now_ms - before_ms >= 21000,
          "four tries, at least 7 s apart: %lld ms", (long long)(*model.now_ms - before_ms));
    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"throttle-date\"]}");
    before_ms = *model.now_ms;
    look(c, "p", &m);
    CHECK(*model.now_ms - before_ms >= 30000, "or as a date: %lld ms",
          (long long)(*model.now_ms - before_ms));
}

/* Tokens of an hour end during a long run. */
static void tokens(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(look(c, "t", &m) == CLOUD_NOT_FOUND, "a call in hour %d", i);
        cloud_model_pass(&model, 3700);
    }
}

static const char *wrong_secret(void *context, const char *name)
{
    const struct cloud_options o = cloud_model_options(&model, w.home, "me");

    (void)context;
    if (strcmp(name, "AZURE_CLIENT_SECRET") == 0)
        return "not/the+secret";
    return o.outside.variable(o.outside.context, name);
}

static const char *no_subscription(void *context, const char *name)
{
    const struct cloud_options o = cloud_model_options(&model, w.home, "me");

    (void)context;
    return strcmp(name, "AZURE_SUBSCRIPTION_ID") == 0 ? NULL
                                                      : o.outside.variable(o.outside.context, name);
}

static void credentials(void)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    o.outside.variable = wrong_secret;
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    CHECK(look(c, "x", &m) == CLOUD_AUTH && strstr(world_error.err.text, "AADSTS7000215") &&
              !strstr(world_error.err.text, "not/the+secret"),
          "a wrong secret: %s", world_error.err.text);
    o.outside.variable = no_subscription;
    AUTO(cloud) struct cloud *d = cloud_open(&o, NULL);
    CHECK(look(d, "x", &m) == CLOUD_AUTH && strstr(world_error.err.text, "AZURE_SUBSCRIPTION_ID"),
          "no subscription: %s", world_error.err.text);
}

int main(void)
{
    azure_case_begin();
    refusals();
    mistakes();
    lost_answers();
    refused_after_silence();
    interrupted();
    patience();
    tokens();
    credentials();
    azure_case_end();
    return TAP_DONE();
}
