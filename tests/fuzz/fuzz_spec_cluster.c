/* Any bytes: a cluster that loads is within its limits, one that does not says why. */
#include "spec/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    AUTO(spec_cluster)
    struct spec_cluster *s = spec_cluster_parse("fuzz", (const char *)data, size, &e);

    if (!s) {
        assert(e.kind == ERR_USAGE && e.text[0]);
        return 0;
    }
    assert(s->pipeline && s->pipeline->n_stages == 1 && s->pipeline->stages[0].n_outputs > 0);
    assert(s->share > 0 && s->share <= 1 && !(s->budget_usd <= 0) && !(s->work <= 0));
    assert(!(s->max_workers < 1) && !(s->max_workers > SPEC_CLUSTER_MAX_WORKERS));
    for (size_t i = 0; i < s->n_types; i++)
        assert(s->types[i].name && !(s->types[i].mbps <= 0) && !(s->types[i].usd_per_hour <= 0));
    for (size_t i = 0; i < s->n_servers; i++)
        assert(s->servers[i][0]);
    for (size_t i = 0; i < s->n_workers; i++)
        assert(s->workers[i][0]);
    return 0;
}
