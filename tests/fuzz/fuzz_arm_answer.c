/* Any answer of Azure's Resource Manager: a verdict with words and a kind that fit it; a machine
 * with a state and times that make sense. */
#include "cloud/azure/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS ((int64_t)1700000000000)

static int64_t now_ms(void *context)
{
    (void)context;
    return NOW_MS;
}

static void judge(const uint8_t *data, json_t *root, bool is_empty)
{
    static const int statuses[] = {0, 200, 200, 201, 202, 400, 401, 403, 404, 409, 429, 500, 502};
    static const char *const methods[] = {"GET", "PUT", "DELETE"};
    struct cloud_error e = {0};
    struct cloud_rest_call x = {.name = "call",
                                .method = methods[data[0] % 3],
                                .status = statuses[data[1] % (sizeof statuses / sizeof(int))],
                                .root = root};
    const char *why = x.status == 0 ? "no answer" : !root && !is_empty ? "no JSON" : NULL;
    int result = arm_judge(&x, why, &e);

    assert((result < 0) == (e.failure != CLOUD_FINE));
    assert((result < 0) == (e.err.kind != ERR_NONE) && (result < 0) == (*e.err.text != 0));
    assert(result < 0 || (x.status >= 200 && x.status < 300));
}

static void read_machine(const struct arm *a, const json_t *root)
{
    struct arm_machine m = {0};
    const struct cloud_machine *x = &m.tagged.machine;

    arm_read_group(a, root, &m);
    arm_read_vm(a, NULL, &m);
    assert(!x->ended_ms == (x->state != CLOUD_GONE && x->state != CLOUD_PREEMPTED));
    arm_read_vm(a, root, &m);
    assert(m.has_vm && x->launched_ms && !x->ready_ms == (x->state != CLOUD_RUNNING));
}

/* The first two bytes choose method and status, the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cloud_options o = {.name = "azure",
                                    .home = "/nonexistent",
                                    .owner = "me",
                                    .region = "eastus",
                                    .now_ms = now_ms};

    if (size < 2)
        return 0;
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    assert(c);
    AUTO_JSON json_t *root = json_loadb((const char *)data + 2, size - 2, 0, NULL);
    judge(data, root, size == 2);
    if (json_is_object(root))
        read_machine(c->priv, root);
    return 0;
}
