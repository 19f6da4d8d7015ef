/* Any bytes: a pipeline that loads is whole and consistent, one that does not says why. */
#include "spec/spec.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stage(const struct spec *s, const struct spec_stage *stage)
{
    assert(stage->name && stage->num_nodes > 0 && stage->n_alternatives > 0);
    for (size_t i = 0; i < stage->n_needs; i++) {
        assert(&s->stages[stage->needs[i]] != stage && stage->needs[i] < s->n_stages);
        assert(i == 0 || stage->needs[i - 1] < stage->needs[i]);
    }
    for (size_t i = 0; i < stage->n_inputs; i++) {
        const struct spec_input *in = &stage->inputs[i];
        assert(in->from && isfinite(in->size_gb) && in->size_gb >= 0);
        if (in->source == SPEC_FROM_STAGE)
            assert(in->stage < s->n_stages && in->output < s->stages[in->stage].n_outputs);
        else
            assert(in->place.cloud);
    }
    for (size_t i = 0; i < stage->n_outputs; i++)
        assert(stage->outputs[i].name && isfinite(stage->outputs[i].size_gb) &&
               stage->outputs[i].size_gb >= 0 && stage->outputs[i].keep_s >= 0);
}

/* Needs before needers, every stage once. */
static void check_order(const struct spec *s)
{
    bool done[1000] = {false};

    assert(s->n_stages > 0 && s->n_stages <= 1000);
    for (size_t i = 0; i < s->n_stages; i++) {
        const struct spec_stage *stage = &s->stages[s->topological[i]];
        assert(!done[s->topological[i]]);
        for (size_t k = 0; k < stage->n_needs; k++)
            assert(done[stage->needs[k]]);
        done[s->topological[i]] = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_finding *findings;
    struct err e = {0};
    size_t n;
    AUTO(spec)
    struct spec *s = spec_parse("fuzz", (const char *)data, size, NULL, &findings, &n, &e);

    if (s) {
        check_order(s);
        for (size_t i = 0; i < s->n_stages; i++)
            check_stage(s, &s->stages[i]);
    } else {
        assert(e.kind == ERR_USAGE && e.text[0]);
    }
    spec_findings_free(findings, n);
    return 0;
}
