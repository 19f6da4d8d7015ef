#include "load.h"

static const char *env(const struct spec_stage *stage, const char *key)
{
    for (size_t i = 0; i < stage->n_envs; i++)
        if (same(stage->envs[i].key, key))
            return stage->envs[i].value;
    return "absent";
}

int main(void)
{
    AUTO(spec)
    struct spec *s = load("defaults:\n"
                          "  num_nodes: 2\n"
                          "  setup: pip install\n"
                          "  envs: {A: 1, B: 2}\n"
                          "  outputs: {log: 1}\n"
                          "  workdir: {url: u, ref: r}\n"
                          "  checkpoint: 10m\n"
                          "  inputs: [{from: s3://b/x, size: 1}]\n"
                          "---\n"
                          "name: a\n"
                          "num_nodes: 3\n"
                          "envs: {B: 5, C: null}\n"
                          "outputs: {model: 2}\n"
                          "workdir: {ref: other}\n"
                          "---\n"
                          "name: b\n"
                          "setup: null\n"
                          "envs:\n"
                          "outputs: [{name: model, size: 3}]\n"
                          "workdir: here\n"
                          "inputs: []\n");
    const struct spec_stage *a = &s->stages[0], *b = &s->stages[1];

    CHECK(a->num_nodes == 3 && b->num_nodes == 2, "a value of its own wins");
    CHECK(same(a->setup, "pip install") && !b->setup, "null takes a default away");
    CHECK(same(env(a, "A"), "1") && same(env(a, "B"), "5") && !env(a, "C") && a->n_envs == 3,
          "maps merge key by key");
    CHECK(b->n_envs == 0, "a map that is null is none");
    CHECK(a->n_outputs == 2 && b->n_outputs == 1, "a map merges, a list replaces");
    CHECK(same(a->workdir, "u") && same(a->workdir_ref, "other"), "workdir merges too");
    CHECK(same(b->workdir, "here") && !b->workdir_ref, "text replaces a map");
    CHECK(a->checkpoint_s == 600 && b->checkpoint_s == 600, "what no stage names holds for all");
    CHECK(a->n_inputs == 1 && b->n_inputs == 0, "inputs of its own, even none");

    AUTO(spec) struct spec *one = load("run: x\ndefaults: {num_nodes: 4}\n");
    CHECK(one->stages[0].num_nodes == 4, "defaults in a file of one stage");

    static const struct refused bad[] = {
        {"defaults:\n  num_nods: 2\n---\nrun: x\n---\nrun: y\n", 2, "did you mean num_nodes?"},
        {"defaults:\n  num_nodes: 0\n---\nrun: x\n---\nrun: y\n", 2, "\"0\" is out of range"},
    };
    check_all_refused(bad, COUNT(bad));

    struct spec_finding *findings;
    struct err e;
    size_t n;
    const char *text = bad[0].text;
    spec_parse("t", text, strlen(text), NULL, &findings, &n, &e);
    CHECK(n == 1, "a mistake in the defaults is reported once, not for every stage");
    spec_findings_free(findings, n);
    return TAP_DONE();
}
