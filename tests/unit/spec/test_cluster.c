/* The file of a training cluster: what is read, and what is said of mistakes. */
#include "spec/cluster.h"

#include "tap.h"

#include <math.h>
#include <string.h>

#define WHOLE                                                                                      \
    "name: cifar\n"                                                                                \
    "run: ./train --role $ROLE\n"                                                                  \
    "batch: 128\n"                                                                                 \
    "server: {types: [m4.large, m4.2xlarge]}\n"                                                    \
    "workers: {types: [c4.xlarge, p2.xlarge], max: 6}\n"                                           \
    "budget: 2.0\n"                                                                                \
    "work: 50000\n"                                                                                \
    "share: 0.9\n"                                                                                 \
    "place: aws/ap-southeast-1\n"                                                                  \
    "types:\n"                                                                                     \
    "  p2.xlarge: {price: 1.718, mbps: 200, per_s: 9.5}\n"                                         \
    "  m4.large: {network_mbps: 450}\n"

static struct spec_cluster *parse(const char *text, struct err *e)
{
    return spec_cluster_parse("t.yaml", text, strlen(text), e);
}

static void whole(void)
{
    struct err e = {0};
    AUTO(spec_cluster) struct spec_cluster *s = parse(WHOLE, &e);

    CHECK(s, "a file with every field: %s", e.text);
    if (!s)
        return;
    CHECK(s->n_servers == 2 && strcmp(s->servers[1], "m4.2xlarge") == 0 && s->servers_line == 4,
          "servers");
    CHECK(s->n_workers == 2 && strcmp(s->workers[0], "c4.xlarge") == 0 && s->max_workers == 6,
          "workers");
    CHECK(s->budget_usd == 2 && s->work == 50000 && s->batch == 128 && s->share == 0.9, "figures");
    CHECK(strcmp(s->place.region, "ap-southeast-1") == 0, "the place");
    const struct spec_cluster_type *p2 = spec_cluster_type(s, "p2.xlarge");
    CHECK(p2 && p2->usd_per_hour == 1.718 && p2->mbps == 200 && p2->per_s == 9.5 &&
              isnan(p2->network_mbps),
          "what is known of a type");
    CHECK(!spec_cluster_type(s, "x"), "and of none");
    CHECK(spec_cluster_set(s, "workers.type", "p2.xlarge", &e) == 0 && s->n_workers == 1 &&
              strcmp(s->workers[0], "p2.xlarge") == 0 && s->workers_line == 0,
          "the command line goes before");
    CHECK(spec_cluster_set(s, "budget", "-1", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
}

static void what_runs(void)
{
    struct err e = {0};
    AUTO(spec_cluster)
    struct spec_cluster *s = parse("name: x\nrun: ./train\nsetup: make\nworkdir: ps\n"
                                   "envs: {RATE: 0.1}\nsecrets: {TOKEN: null}\n"
                                   "inputs: {lake:/data: 1}\nworkers: {max: 2}\n",
                                   &e);

    CHECK(s && s->pipeline && s->pipeline->n_stages == 1, "what runs is a stage: %s", e.text);
    if (!s || !s->pipeline)
        return;
    const struct spec_stage *stage = &s->pipeline->stages[0];
    CHECK(strcmp(s->pipeline->name, "x") == 0 && strcmp(stage->name, "train") == 0 &&
              strcmp(stage->run, "./train") == 0 && strcmp(stage->setup, "make") == 0 &&
              strcmp(stage->workdir, "ps") == 0,
          "with its command and code");
    CHECK(stage->n_envs == 1 && strcmp(stage->envs[0].value, "0.1") == 0 && stage->n_secrets == 1 &&
              stage->n_inputs == 1 && stage->inputs[0].source == SPEC_FROM_LAKE,
          "variables and data");
    CHECK(stage->n_outputs == 1 && strcmp(stage->outputs[0].name, "model") == 0,
          "and makes a model unless it says what");
}

static void mistakes(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.yaml: the file is empty"},
        {"- 1\n", "t.yaml:1: a cluster is a map of fields, not a list"},
        {"run: x\nenvs: {1A: 2}\n",
         "t.yaml:2: stage train: envs.1A: is not a variable name: use letters, digits and _"},
        {"name: x\nwoker: 1\n", "t.yaml:2: unknown field \"woker\": did you mean work"},
        {"stages: []\n", "t.yaml:1: unknown field \"stages\": remove it"},
        {"server: {tpye: m4.large}\n",
         "t.yaml:1: unknown field \"server.tpye\": did you mean type"},
        {"server: {types: []}\n", "server.types: must be a list of 1 to 1000 types"},
        {"workers: {max: 0}\n", "t.yaml:1: workers.max: \"0\" is out of range"},
        {"workers: {max: 2.5}\n", "workers.max: \"2.5\" is not a whole number"},
        {"budget: 0\n", "t.yaml:1: budget: \"0\" is out of range"},
        {"budget: much\n", "is not an amount of dollars"},
        {"share: 1.5\n", "share: \"1.5\" is out of range: 0 to 1"},
        {"work: 0\n", "work: must be above 0"},
        {"place: aws\n", "t.yaml:1: place: \"aws\" names no region"},
        {"location: aws\n", "t.yaml:1: location: \"aws\" names no region"},
        {"types: [a]\n", "types: must be a map"},
        {"types:\n  a: {mbps: x}\n", "t.yaml:2: types.a.mbps: \"x\" is not a number"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO(spec_cluster) struct spec_cluster *s = parse(cases[i].text, &e);
        CHECK(!s && e.kind == ERR_USAGE && strstr(e.text, cases[i].message), "mistake: %s", e.text);
    }
}

int main(void)
{
    whole();
    what_runs();
    mistakes();
    return TAP_DONE();
}
