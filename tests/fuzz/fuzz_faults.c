/* Any text as troubles of the cloud on paper: what is read is within its bounds and can be asked.
 */
#include "base/auto.h"
#include "base/mem.h"
#include "cloud/faults.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    const struct cloud_request q = {.provider = "aws",
                                    .region = "us-east-1",
                                    .zone = "us-east-1a",
                                    .instance_type = "p3.2xlarge"};
    AUTO_MEM char *text = mem_zero(size + 1, 1);

    memcpy(text, data, size);
    AUTO(cloud_faults) struct cloud_faults *t = cloud_faults_new(text, &e);
    assert(t ? e.kind == ERR_NONE : e.kind == ERR_USAGE && *e.text);
    for (size_t i = 0; t && i < t->n; i++) {
        assert(t->n <= CLOUD_FAULTS_MAX && t->items[i].left != 0);
        assert(t->items[i].seconds >= 0 && t->items[i].seconds <= 366 * 86400.0);
        assert(!t->items[i].provider || *t->items[i].provider);
    }
    for (int kind = CLOUD_FAULT_CAPACITY; t && kind <= CLOUD_FAULT_LIST_EMPTY; kind++) {
        const struct cloud_fault *any = cloud_faults_find(t, (enum cloud_fault_kind)kind, NULL);
        const struct cloud_fault *met = cloud_faults_find(t, (enum cloud_fault_kind)kind, &q);
        assert(!met || (any && any <= met));
    }
    return 0;
}
