/* Any JSON as the details of a job: what is taken is written as a text that reads the same. */
#include "base/mem.h"
#include "broker/core/details.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_pairs(const struct spec_pair *a, size_t n_a, const struct spec_pair *b, size_t n_b)
{
    assert(n_a == n_b);
    for (size_t i = 0; i < n_a; i++)
        assert(strcmp(a[i].key, b[i].key) == 0 && strcmp(a[i].value, b[i].value) == 0);
}

static void same_names(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    assert(n_a == n_b);
    for (size_t i = 0; i < n_a; i++)
        assert(*a[i] && strcmp(a[i], b[i]) == 0);
}

static void same(const struct job_details *a, const struct job_details *b)
{
    same_pairs(a->envs, a->n_envs, b->envs, b->n_envs);
    same_pairs(a->submitter, a->n_submitter, b->submitter, b->n_submitter);
    same_pairs(a->mounts, a->n_mounts, b->mounts, b->n_mounts);
    same_names(a->secrets, a->n_secrets, b->secrets, b->n_secrets);
    same_names(a->outputs, a->n_outputs, b->outputs, b->n_outputs);
    same_names(a->inputs, a->n_inputs, b->inputs, b->n_inputs);
    assert(strcmp(a->stage, b->stage) == 0 && strcmp(a->git_commit, b->git_commit) == 0);
    assert(strcmp(a->image, b->image) == 0 && strcmp(a->gang, b->gang) == 0);
    assert(a->learn == b->learn && a->json_metrics == b->json_metrics);
    assert(a->git_dirty == b->git_dirty);
    if (a->nodes > 1)
        assert(a->rank == b->rank && a->nodes == b->nodes && a->servers == b->servers);
    if (a->continues > 0)
        assert(a->continues == b->continues);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct job_details d, again;
    struct err e = {0};

    memcpy(text, data, size);
    if (job_details_parse(text, &d, &e) < 0) {
        assert(e.kind == ERR_IO && *e.text && !d.root);
        return 0;
    }
    for (size_t i = 0; i < d.n_outputs; i++)
        assert(d.outputs[i][0] != '.' && !strchr(d.outputs[i], '/'));
    AUTO_MEM char *first = job_details_text(&d, &e);
    assert(first && job_details_parse(first, &again, &e) == 0);
    same(&d, &again);
    job_details_clear(&again);
    job_details_clear(&d);
    return 0;
}
