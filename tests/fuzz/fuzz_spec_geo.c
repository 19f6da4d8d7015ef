/* Any bytes: a training that loads is whole and within its limits, one that does not says why. */
#include "spec/geo.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    AUTO(spec_geo) struct spec_geo *s = spec_geo_parse("fuzz", (const char *)data, size, &e);

    if (!s) {
        assert(e.kind == ERR_USAGE && e.text[0]);
        return 0;
    }
    assert(isfinite(s->size_bytes) && s->rounds >= 1 && s->quorum > 0 && s->quorum <= 1);
    assert(s->connections >= 1 && s->connections <= SPEC_GEO_MAX_CONNECTIONS && s->poll_s > 0);
    double n = 0;
    for (size_t i = 0; i < s->n_workers; i++) {
        assert(s->workers[i].place.cloud && s->workers[i].place.region && s->workers[i].count);
        n += s->workers[i].count;
    }
    assert(n <= SPEC_GEO_MAX_WORKERS);
    return 0;
}
