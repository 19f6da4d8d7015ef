/* Any bytes as a file about a rented machine: what is read holds what a machine can be, reads back
 * the same when it is written again, and can be looked at at any time. An input that begins with
 * '{' gets the checksum it lacks, so that more than the seal is tried. */
#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/instances.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void looks(const struct instance *r, int64_t now_ms)
{
    struct cloud_machine m;
    int64_t next_ms = instance_next_ms(r, now_ms);

    instance_look(r, now_ms, &m);
    assert(next_ms > now_ms || next_ms == INSTANCE_NEVER);
    assert(strlen(m.token) < sizeof m.token && strlen(m.root) < sizeof m.root);
    bool is_over = m.state == CLOUD_GONE || m.state == CLOUD_PREEMPTED;
    assert(is_over == instance_is_over(r, now_ms));
    if (m.launched_ms < INT64_MAX / 2 && m.ended_ms < INT64_MAX / 2)
        assert(cloud_cost_microusd(&m, now_ms) >= 0);
}

static void reads_back(const struct instance *r)
{
    struct instance again;
    struct err e;
    AUTO_JSON json_t *value = instance_json(r);

    assert(instance_from_json(value, &again, &e) == 0);
    AUTO_JSON json_t *other = instance_json(&again);
    assert(json_equal(value, other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e;
    struct instance r;
    AUTO_MEM char *bytes = mem_zero(size + 32, 1);

    if (size > SUMFILE_BYTES_MAX)
        return 0;
    memcpy(bytes, data, size);
    if (size && bytes[0] == '{')
        size += (size_t)snprintf(bytes + size, 32, "\n%016" PRIx64 "\n", hash_xxh3(bytes, size));
    AUTO_JSON json_t *value = sumfile_parse(bytes, size, &e);
    if (!value || instance_from_json(value, &r, &e) < 0)
        return 0;
    reads_back(&r);
    looks(&r, 1);
    looks(&r, r.machine.launched_ms);
    looks(&r, r.taken_ms);
    looks(&r, 1700000000000);
    return 0;
}
