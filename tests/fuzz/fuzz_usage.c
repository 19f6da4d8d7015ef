/* Any bytes as a state file, which comes from other machines: rates are numbers, and never below 0.
 */
#include "broker/learn/usage.h"

#include "base/auto.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(usage) struct usage u = {0};

    usage_parse((const char *)data, size, &u);
    for (size_t i = 0; i < u.n; i++)
        assert(u.points[i].cpus >= 0 && u.points[i].received_mbps >= 0 &&
               u.points[i].sent_mbps >= 0);
    return 0;
}
