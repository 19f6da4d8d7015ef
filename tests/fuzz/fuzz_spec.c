/* Any bytes: a pipeline that loads is whole and consistent, one that does not says why. */
#include "base/shell.h"
#include "spec/image.h"
#include "spec/spec.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A path without parts that lead up. */
static void check_below(const char *path)
{
    size_t n = strlen(path);

    assert(n && strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
    assert(n < 3 || strcmp(path + n - 3, "/..") != 0);
}

static void check_data(const struct spec *s, const struct spec_stage *stage)
{
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
    for (size_t i = 0; i < stage->n_mounts; i++) {
        const struct spec_mount *m = &stage->mounts[i];
        assert(m->input < stage->n_inputs || m->input == SIZE_MAX);
        check_below(m->target);
    }
}

/* Named files are below the workdir. */
static void check_code(const struct spec_stage *stage)
{
    assert(!stage->all_code || !stage->n_code);
    assert(!stage->n_code || stage->workdir);
    for (size_t i = 0; i < stage->n_code; i++) {
        assert(*stage->code[i] != '/' && *stage->code[i] != '~');
        check_below(stage->code[i]);
    }
}

/* A later key of the same name would hide the first from the program that gets them. */
static void check_variables(const struct spec_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert(shell_is_variable(pairs[i].key, strlen(pairs[i].key)));
        for (size_t k = 0; k < i; k++)
            assert(strcmp(pairs[i].key, pairs[k].key) != 0);
    }
}

static void check_range(const struct spec_range *r)
{
    assert(r->min >= 0 && r->min <= r->max);
}

static void check_resources(const struct spec_resources *res)
{
    for (size_t i = 0; i < res->n_accelerators; i++)
        assert(*res->accelerators[i].name && isfinite(res->accelerators[i].count) &&
               res->accelerators[i].count > 0);
    check_range(&res->cpus);
    check_range(&res->memory_gb);
    assert(res->use_spot >= -1 && res->use_spot <= 1);
    assert(res->max_hourly_usd >= 0 && isfinite(res->disk_gb) && res->disk_gb >= 0);
    assert(!res->image || spec_is_image(res->image));
}

/* Zero is a time, too, and none an amount of work; a rate is above it. */
static void check_estimate(const struct spec_estimate *e)
{
    assert(isfinite(e->setup_s) && e->setup_s >= 0 && e->left >= 0 && e->left <= 1);
    assert(e->kind != SPEC_ESTIMATE_PROFILE || *e->profile);
    assert(e->kind != SPEC_ESTIMATE_ITERATIONS || (*e->model && e->iterations >= 0));
    for (size_t i = 0; i < e->n_rates; i++)
        assert(*e->rates[i].name && isfinite(e->rates[i].value) &&
               (e->kind == SPEC_ESTIMATE_SECONDS ? e->rates[i].value >= 0 : e->rates[i].value > 0));
}

static void check_stage(const struct spec *s, const struct spec_stage *stage)
{
    assert(stage->name && stage->num_nodes > 0 && stage->n_alternatives > 0);
    for (size_t i = 0; i < stage->n_needs; i++) {
        assert(&s->stages[stage->needs[i]] != stage && stage->needs[i] < s->n_stages);
        assert(i == 0 || stage->needs[i - 1] < stage->needs[i]);
    }
    check_data(s, stage);
    check_code(stage);
    check_variables(stage->envs, stage->n_envs);
    check_variables(stage->secrets, stage->n_secrets);
    for (size_t i = 0; i < stage->n_alternatives; i++)
        check_resources(&stage->alternatives[i]);
    check_estimate(&stage->estimate);
    assert(isfinite(stage->checkpoint_s) && stage->checkpoint_s >= 0);
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
