#include "base/auto.h"
#include "base/buf.h"
#include "load.h"

static const double inf = (double)INFINITY;

/* `resources` in one line, and what its only alternative must be. */
struct one {
    const char *resources;
    struct spec_resources want;
};

static bool same_resources(const struct spec_resources *a, const struct spec_resources *b)
{
    if (!same(a->cloud, b->cloud) || !same(a->region, b->region) || !same(a->zone, b->zone) ||
        !same(a->instance_type, b->instance_type) || a->n_accelerators != b->n_accelerators)
        return false;
    for (size_t i = 0; i < a->n_accelerators; i++)
        if (!same(a->accelerators[i].name, b->accelerators[i].name) ||
            a->accelerators[i].count != b->accelerators[i].count)
            return false;
    return a->cpus.min == b->cpus.min && a->cpus.max == b->cpus.max &&
           near(a->memory_gb.min, b->memory_gb.min) && near(a->memory_gb.max, b->memory_gb.max) &&
           a->use_spot == b->use_spot && a->max_hourly_usd == b->max_hourly_usd &&
           near(a->disk_gb, b->disk_gb) && same(a->image, b->image);
}

#define ANY .cpus = {0, inf}, .memory_gb = {0, inf}, .use_spot = -1, .max_hourly_usd = inf
#define GPUS(...)                                                                                  \
    .accelerators = (struct spec_accelerator[]){__VA_ARGS__},                                      \
    .n_accelerators =                                                                              \
        sizeof((struct spec_accelerator[]){__VA_ARGS__}) / sizeof(struct spec_accelerator)
#define ANY_SPOT(spot)                                                                             \
    .cpus = {0, inf}, .memory_gb = {0, inf}, .use_spot = spot, .max_hourly_usd = inf
#define ANY_CPUS(low, high)                                                                        \
    .cpus = {low, high}, .memory_gb = {0, inf}, .use_spot = -1, .max_hourly_usd = inf
#define ANY_MEMORY(low, high)                                                                      \
    .cpus = {0, inf}, .memory_gb = {low, high}, .use_spot = -1, .max_hourly_usd = inf

static void single_forms(void)
{
    const struct one cases[] = {
        {"{}", {ANY}},
        {"", {ANY}},
        {"{infra: aws}", {ANY, .cloud = "aws"}},
        {"{infra: AWS}", {ANY, .cloud = "aws"}},
        {"{infra: aws/us-east-1}", {ANY, .cloud = "aws", .region = "us-east-1"}},
        {"{infra: 'aws:us-east-1'}", {ANY, .cloud = "aws", .region = "us-east-1"}},
        {"{infra: aws/us-east-1/us-east-1a}",
         {ANY, .cloud = "aws", .region = "us-east-1", .zone = "us-east-1a"}},
        {"{infra: '*/us-east-1'}", {ANY, .region = "us-east-1"}},
        {"{infra: aws/*}", {ANY, .cloud = "aws"}},
        {"{infra: aws/*/us-east-1a}", {ANY, .cloud = "aws", .zone = "us-east-1a"}},
        {"{infra: '*'}", {ANY}},
        {"{infra: k8s/my/context:8}", {ANY, .cloud = "k8s", .region = "my/context:8"}},
        {"{cloud: GCP, region: us-central1, zone: us-central1-a}",
         {ANY, .cloud = "gcp", .region = "us-central1", .zone = "us-central1-a"}},
        {"{infra: aws/us-east-1, cloud: aws, region: us-east-1}",
         {ANY, .cloud = "aws", .region = "us-east-1"}},
        {"{cloud: null, region: ~}", {ANY}},
        {"{instance_type: m5.large}", {ANY, .instance_type = "m5.large"}},
        {"{accelerators: A100}", {ANY, GPUS({"A100", 1})}},
        {"{accelerators: 'A100:8'}", {ANY, GPUS({"A100", 8})}},
        {"{accelerators: 'A100:0.5'}", {ANY, GPUS({"A100", 0.5})}},
        {"{accelerators: {A100: 8}}", {ANY, GPUS({"A100", 8})}},
        {"{accelerators: {A100: null}}", {ANY, GPUS({"A100", 1})}},
        {"{accelerators: {A100:8, L4:1, tpu-v5e-8}}",
         {ANY, GPUS({"A100", 8}, {"L4", 1}, {"tpu-v5e-8", 1})}},
        {"{accelerators: {A100: 8, L4: 1}}", {ANY, GPUS({"A100", 8}, {"L4", 1})}},
        {"{accelerators: [A100, 'L4:2', {T4: 4}]}", {ANY, GPUS({"A100", 1}, {"L4", 2}, {"T4", 4})}},
        {"{accelerators: null}", {ANY}},
        {"{accelerators: []}", {ANY}},
        {"{accelerators: A100-80GB}", {ANY, GPUS({"A100-80GB", 1})}},
        {"{cpus: 4}", {ANY_CPUS(4, 4)}},
        {"{cpus: 4+}", {ANY_CPUS(4, inf)}},
        {"{cpus: 4-8}", {ANY_CPUS(4, 8)}},
        {"{cpus: null}", {ANY}},
        {"{memory: 16}", {ANY_MEMORY(16, 16)}},
        {"{memory: 16GB}", {ANY_MEMORY(16, 16)}},
        {"{memory: 16GB+}", {ANY_MEMORY(16, inf)}},
        {"{memory: 16-64}", {ANY_MEMORY(16, 64)}},
        {"{use_spot: true}", {ANY_SPOT(1)}},
        {"{use_spot: off}", {ANY_SPOT(0)}},
        {"{use_spot: null}", {ANY}},
        {"{disk_size: 256}", {ANY, .disk_gb = 256}},
        {"{disk_size: 1TB}", {ANY, .disk_gb = 1000}},
        {"{max_hourly_cost: $2.5}",
         {.cpus = {0, inf}, .memory_gb = {0, inf}, .use_spot = -1, .max_hourly_usd = 2.5}},
        {"{image_id: 'docker:registry.example.org:5000/a/b:1.2'}",
         {ANY, .image = "registry.example.org:5000/a/b:1.2"}},
        {"{image_id: null}", {ANY}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        snprintf(text, sizeof text, "run: x\nresources: %s\n", cases[i].resources);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->stages[0].n_alternatives == 1 &&
                  same_resources(&s->stages[0].alternatives[0], &cases[i].want),
              "resources: %s", cases[i].resources);
        bool any_cloud = strstr(cases[i].resources, "*/us-east-1'") != NULL;
        CHECK(s->n_findings == (any_cloud ? 1 : 0), "findings of %s", cases[i].resources);
    }
}

static void machine_image(void)
{
    AUTO(spec) struct spec *s = load("run: x\nresources: {image_id: ami-1, disk_size: 70}\n");
    const struct spec_resources *r = &s->stages[0].alternatives[0];

    CHECK(s->n_findings == 0 && !r->image && !strcmp(r->machine_image, "ami-1") &&
              r->disk_gb > 69 && r->disk_gb < 71,
          "the image and the disk of a machine");
}

/* Accepted, because SkyPilot has them, and not carried out. */
static void ignored(void)
{
    static const char *const cases[] = {"disk_tier: best", "ports: [80]", "labels: {a: b}",
                                        "autostop: true", "image_id: {r: ami}"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        snprintf(text, sizeof text, "run: x\nresources: {%s}\n", cases[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->n_findings == 1 && !s->findings[0].is_error && !s->stages[0].alternatives[0].image,
              "%s: a warning", cases[i]);
    }
}

static void alternatives(void)
{
    AUTO(spec)
    struct spec *s = load("run: x\n"
                          "resources:\n"
                          "  infra: aws/us-east-1/us-east-1a\n"
                          "  cpus: 4+\n"
                          "  any_of:\n"
                          "    - infra: gcp\n"
                          "    - region: us-west-2\n"
                          "      cpus: null\n"
                          "    - use_spot: true\n");
    const struct spec_resources *r = s->stages[0].alternatives;

    CHECK(s->stages[0].n_alternatives == 3 && !s->stages[0].ordered, "any_of: three");
    CHECK(same(r[0].cloud, "gcp") && !r[0].region && !r[0].zone && r[0].cpus.min == 4 &&
              r[0].line == 6,
          "another cloud drops region and zone, keeps the rest");
    CHECK(same(r[1].cloud, "aws") && same(r[1].region, "us-west-2") && !r[1].zone &&
              r[1].cpus.min == 0,
          "another region drops the zone; null drops a value");
    CHECK(same(r[2].zone, "us-east-1a") && r[2].use_spot == 1, "what is not named stays");

    AUTO(spec)
    struct spec *ordered =
        load("resources:\n  accelerators: A100\n  ordered: [{infra: aws}, {infra: gcp}]\n");
    CHECK(ordered->stages[0].ordered && ordered->stages[0].n_alternatives == 2 &&
              same(ordered->stages[0].alternatives[1].cloud, "gcp") &&
              ordered->stages[0].alternatives[1].n_accelerators == 1,
          "ordered: two over the base");

    AUTO(spec) struct spec *list = load("resources: [{cpus: 2}, {cpus: 4}]\n");
    CHECK(!list->stages[0].ordered && list->stages[0].n_alternatives == 2 &&
              list->stages[0].alternatives[1].cpus.max == 4,
          "a list is any_of");
}

static void inherited(void)
{
    AUTO(spec)
    struct spec *s =
        load("defaults:\n"
             "  resources: {infra: aws/us-east-1, cpus: 4+, any_of: [{use_spot: true}, {use_spot: "
             "false, memory: 8}]}\n"
             "---\n"
             "name: a\n"
             "---\n"
             "name: b\n"
             "resources: {cloud: gcp, use_spot: false}\n"
             "---\n"
             "name: c\n"
             "resources: {ordered: [{cpus: 1}], region: us-west-2}\n");
    const struct spec_stage *a = &s->stages[0], *b = &s->stages[1], *c = &s->stages[2];

    CHECK(a->n_alternatives == 2 && a->alternatives[0].use_spot == 1 &&
              same(a->alternatives[1].region, "us-east-1"),
          "a stage without resources has the defaults'");
    CHECK(b->n_alternatives == 2 && b->alternatives[0].use_spot == 0 &&
              same(b->alternatives[0].cloud, "gcp") && !b->alternatives[0].region &&
              b->alternatives[1].memory_gb.min == 8,
          "a stage's own values win over the defaults' alternatives too");
    CHECK(c->n_alternatives == 1 && c->ordered && c->alternatives[0].cpus.max == 1 &&
              same(c->alternatives[0].cloud, "aws") && same(c->alternatives[0].region, "us-west-2"),
          "a stage's own alternatives replace the defaults'");
}

static void warnings(void)
{
    static const char *const ignored[] = {
        "accelerator_args: {runtime_version: x}",
        "network_tier: best",
        "spot_recovery: failover",
        "job_recovery: {strategy: x}",
        "local_disk: nvme",
        "priority: 3",
        "cluster_name: x",
        "_secret_field: 1",
    };

    for (size_t i = 0; i < COUNT(ignored); i++) {
        char text[200];
        snprintf(text, sizeof text, "run: x\nresources:\n  %s\n", ignored[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->n_findings == 1 && warns(s, 3, "has no meaning here"), "warning: %s", ignored[i]);
    }
    static const char *const counts[] = {"A100x8", "8xA100", "{A100x8, L4}"};
    for (size_t i = 0; i < COUNT(counts); i++) {
        char text[200];
        snprintf(text, sizeof text, "run: x\nresources:\n  accelerators: %s\n", counts[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->n_findings == 1 && warns(s, 3, "for 8 of them write A100:8"), "warning: %s",
              counts[i]);
    }
    static const char *const names[] = {"rtx3090", "GTX10", "A100-80GB", "{A100x8: 2}"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char text[200];
        snprintf(text, sizeof text, "run: x\nresources:\n  accelerators: %s\n", names[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->n_findings == 0, "no warning: %s", names[i]);
    }
}

/* 257 entries behind this beginning are one too many. */
static void too_many_alternatives(void)
{
    static const struct {
        const char *begin, *entry, *end;
    } cases[] = {
        {"resources:\n  accelerators: [", "A100, ", "L4]\n"},
        {"resources:\n  any_of: [", "{cpus: 2}, ", "{cpus: 4}]\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_CLEAR(buf) struct buf text;
        buf_init(&text, 1 << 16);
        buf_puts(&text, cases[i].begin);
        for (int n = 0; n < 256; n++)
            buf_puts(&text, cases[i].entry);
        buf_puts(&text, cases[i].end);
        check_refused(&(struct refused){buf_str(&text), 2, "more than 256 alternatives"});
    }
}

int main(void)
{
    static const struct refused bad[] = {
        {"run: x\nresources:\n  cpu: 4\n", 3, "\"resources.cpu\": did you mean cpus?"},
        {"resources:\n  accelerator: A100\n", 2, "did you mean accelerators?"},
        {"resources:\n  cpus: 8x\n", 2, "resources.cpus: \"8x\" is not 4, 4+"},
        {"resources:\n  memory: 4x\n", 2, "resources.memory: \"4x\""},
        {"resources:\n  cpus: 0\n", 2, "\"0\""},
        {"resources:\n  cpus: [4]\n", 2, "a list is not"},
        {"resources:\n  memory: -16\n", 2, "\"-16\""},
        {"resources:\n  cpus: .nan\n", 2, "\".nan\""},
        {"resources:\n  cpus: 8-4\n", 2, "\"8-4\""},
        {"resources:\n  use_spot: maybe\n", 2, "\"maybe\" is not true or false"},
        {"resources:\n  disk_size: -1\n", 2, "disk_size: \"-1\" is not a size"},
        {"resources:\n  max_hourly_cost: free\n", 2, "\"free\" is not an amount"},
        {"resources:\n  accelerators: 'A100:0'\n", 2, "count \"0\""},
        {"resources:\n  accelerators: 'A100:-1'\n", 2, "count \"-1\""},
        {"resources:\n  accelerators: 'A100:x'\n", 2, "count \"x\""},
        {"resources:\n  accelerators: {A100: [1]}\n", 2, "count \"\""},
        {"resources:\n  accelerators: {'A100:8': 2}\n", 2, "two counts"},
        {"resources:\n  accelerators: ':8'\n", 2, "is not an accelerator"},
        {"resources:\n  accelerators: A100, L4\n", 2, "is not an accelerator"},
        {"resources:\n  accelerators:\n    - A100\n    - [L4]\n", 4,
         "a list is not an accelerator"},
        {"resources:\n  infra: aws/us/a/b\n", 2, "\"aws/us/a/b\" is not CLOUD"},
        {"resources:\n  infra: /us\n", 2, "is not CLOUD"},
        {"resources:\n  infra: aws/us-east-1\n  cloud: gcp\n", 3,
         "cloud \"gcp\" disagrees with infra on line 2, which says \"aws\""},
        {"resources:\n  infra: aws/us-east-1\n  region: us-west-2\n", 3, "region \"us-west-2\""},
        {"resources:\n  infra: aws/r/z\n  zone: y\n", 3, "zone \"y\""},
        {"resources:\n  any_of: []\n", 2, "is empty"},
        {"resources:\n  any_of: {cpus: 2}\n", 2, "must be a list of maps, not a map"},
        {"resources:\n  any_of: [{cpus: 2}]\n  ordered: [{cpus: 4}]\n", 3,
         "ordered beside any_of on line 2"},
        {"resources:\n  any_of:\n    - cpus: 2\n    - any_of: [{cpus: 1}]\n", 4,
         "alternatives of their own"},
        {"resources:\n  any_of:\n    - cpus: 2\n    - cpuz: 4\n", 4, "did you mean cpus?"},
        {"resources:\n  any_of:\n    - A100\n", 3, "must be a map, not text"},
        {"resources: A100\n", 1, "resources: must be a map, not text"},
        {"resources:\n  instance_type: [a]\n", 2, "instance_type: must be text, not a list"},
        {"defaults:\n  resources: {cpus: 8x}\n---\nname: a\n---\nname: b\n", 2, "\"8x\""},
    };

    single_forms();
    too_many_alternatives();
    machine_image();
    ignored();
    alternatives();
    inherited();
    warnings();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
