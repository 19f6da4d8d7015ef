#include "load.h"

static void fields(void)
{
    AUTO(spec)
    struct spec *s = load("name: train\n"
                          "run: |\n"
                          "  python train.py\n"
                          "  echo done\n"
                          "setup: pip install torch\n"
                          "workdir: ~/code\n"
                          "num_nodes: 4\n"
                          "checkpoint: 10m\n"
                          "envs: {A: text, B: 5, C: true, D: null, E: }\n"
                          "secrets: {TOKEN: null, KEY: s3cr3t}\n");
    const struct spec_stage *t = &s->stages[0];

    CHECK(same(t->name, "train") && same(s->name, "train") && t->line == 1, "name");
    CHECK(same(t->run, "python train.py\necho done\n") && same(t->setup, "pip install torch"),
          "scripts as they are");
    CHECK(same(t->workdir, "~/code") && !t->workdir_ref, "workdir");
    CHECK(t->num_nodes == 4 && t->checkpoint_s == 600, "numbers");
    CHECK(t->n_envs == 5 && same(t->envs[0].value, "text") && same(t->envs[1].value, "5") &&
              same(t->envs[2].value, "true") && !t->envs[3].value && !t->envs[4].value,
          "envs");
    CHECK(t->n_secrets == 2 && !t->secrets[0].value && same(t->secrets[1].value, "s3cr3t"),
          "secrets");

    AUTO(spec)
    struct spec *d = load("run:\nsetup: null\nworkdir: {url: https://x/y.git, ref: main}\n"
                          "num_nodes: null\nenvs:\nsecrets: ~\ncheckpoint:\nname:\n"
                          "file_mounts:\nresources:\nestimate:\noutputs:\n");
    t = &d->stages[0];
    CHECK(same(t->name, "stage-1") && same(d->name, "test") && !t->run && !t->setup &&
              t->num_nodes == 1 && t->n_envs == 0 && t->checkpoint_s == 0 &&
              t->n_alternatives == 1 && d->n_findings == 0,
          "everything null is the default");
    CHECK(same(t->workdir, "https://x/y.git") && same(t->workdir_ref, "main"), "a repository");
    AUTO(spec) struct spec *n = load("run: a\n---\nrun: b\nname: two\n---\nrun: c\n");
    CHECK(same(n->stages[0].name, "stage-1") && same(n->stages[1].name, "two") &&
              same(n->stages[2].name, "stage-3"),
          "stages are numbered in file order");
}

static void ignored(void)
{
    static const char *const lines[] = {
        "service: {replicas: 2}", "pool: {workers: 3}",      "volumes: {/x: y}",
        "config: {a: 1}",         "event_callback: echo",    "job_recovery: {a: b}",
        "experimental: {a: b}",   "file_mounts_mapping: {}", "_internal: 1",
    };

    for (size_t i = 0; i < COUNT(lines); i++) {
        char text[100];
        snprintf(text, sizeof text, "run: x\n%s\n", lines[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->n_findings == 1 && warns(s, 2, "has no meaning here and is ignored"),
              "a warning for %s", lines[i]);
    }
}

/* Whatever is wrong with them, no message may hold a secret's value. */
static void secrets_stay_secret(void)
{
    static const char *const texts[] = {
        "secrets: hunter2\n",
        "secrets: [hunter2]\n",
        "secrets: {TOKEN: [hunter2]}\n",
        "secrets: {TOKEN: {a: hunter2}}\n",
        "secrets: {'bad name': hunter2}\n",
        "secrets: {TOKEN: hunter2, TOKEN: hunter2}\n",
        "secrets:\n  TOKEN: \"hunter2\nrun: x\n",
        "secrets: {TOKEN: hunter2}\nnope: 1\n",
        "envs: {TOKEN: [hunter2]}\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct spec_finding *findings;
        struct err e = {0};
        size_t n;
        struct spec *s = spec_parse("t", texts[i], strlen(texts[i]), NULL, &findings, &n, &e);
        bool shown = strstr(e.text, "hunter2");
        for (size_t k = 0; k < n; k++)
            shown |= strstr(findings[k].text, "hunter2") != NULL;
        CHECK(!s && !shown, "no secret in the messages of case %zu", i);
        spec_findings_free(findings, n);
        spec_free(s);
    }
}

int main(void)
{
    static const struct refused bad[] = {
        {"name: a\nrunn: x\n", 2, "stage a: unknown field \"runn\": did you mean run?"},
        {"name: a\nkitchen: x\n", 2, "unknown field \"kitchen\": remove it"},
        {"estimate: {kitchen: 1}\n", 1,
         "\"estimate.kitchen\": remove it; the fields here are hours, minutes, seconds, work, "
         "rate, "
         "iterations, model, profile, args and setup"},
        {"stages: [a]\n", 1, "unknown field \"stages\": write each stage as a document of its own"},
        {"name: a\n---\nsteps: []\n", 3, "\"steps\": write each stage as a document"},
        {"name: a\ncmd: x\n", 2, "unknown field \"cmd\": write run: COMMAND"},
        {"deps: [x]\n", 1, "\"deps\": write inputs: [STAGE.OUTPUT, FILE] for data, needs: [STAGE]"},
        {"outs: [x]\n", 1, "\"outs\": write outputs: {NAME: GIGABYTES}"},
        {"env: {A: b}\n", 1, "\"env\": write envs: {NAME: VALUE}"},
        {"gpus: 8\n", 1, "\"gpus\": write resources: {accelerators: A100:8}"},
        {"resources: {gpus: 8}\n", 1, "\"resources.gpus\": write accelerators: A100:8"},
        {"nodes: 2\n", 1, "\"nodes\": write num_nodes: N"},
        {"partition: long\n", 1, "\"partition\": write resources: {infra: CLOUD/REGION}"},
        {"accelerators: A100\n", 1, "\"accelerators\": write resources: {accelerators: ...}"},
        {"defaults: {}\ngpu: 1\n---\nrun: x\n", 2, "\"gpu\": write resources: {accelerators"},
        {"ste: 1\n", 1, "unknown field \"ste\""},
        {"'': 1\n", 1, "unknown field \"\": remove it"},
        {"name: ''\n", 1, "name: must have 1 to 256 bytes"},
        {"name: [a]\n", 1, "name: must be text, not a list"},
        {"name: \"a\\nb\"\n", 1, "must be one line"},
        {"name: a\nrun: [x]\n", 2, "run: must be text, not a list"},
        {"setup: {a: b}\n", 1, "setup: must be text, not a map"},
        {"workdir: [a]\n", 1, "workdir: must be text"},
        {"workdir: {ref: x}\n", 1, "needs url"},
        {"workdir: {url: x, branch: y}\n", 1, "unknown field \"workdir.branch\""},
        {"num_nodes: 0\n", 1, "num_nodes: \"0\" is out of range: 1 to 100000"},
        {"num_nodes: -2\n", 1, "out of range"},
        {"num_nodes: 1.5\n", 1, "\"1.5\" is not a whole number"},
        {"num_nodes: 100001\n", 1, "out of range"},
        {"num_nodes: two\n", 1, "\"two\" is not a number"},
        {"num_nodes: [1]\n", 1, "a list is not a number"},
        {"checkpoint: 0\n", 1, "must be longer than 0"},
        {"checkpoint: often\n", 1, "\"often\" is not a duration"},
        {"envs: [A]\n", 1, "envs: must be a map, not a list"},
        {"envs:\n  A B: 1\n", 2, "envs.A B: is not a variable name"},
        {"envs:\n  1A: 1\n", 2, "is not a variable name"},
        {"envs:\n  A: [1]\n", 2, "envs.A: must be text, not a list"},
        {"secrets:\n  T: {a: 1}\n", 2, "secrets.T: must be text, not a map"},
    };

    fields();
    ignored();
    secrets_stay_secret();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
