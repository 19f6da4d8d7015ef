#include "load.h"

static void input_forms(void)
{
    AUTO(spec)
    struct spec *s = load("name: a\n"
                          "inputs:\n"
                          "  s3://b/x: 100\n"
                          "  gs://b/y: 500MB\n"
                          "  az://b/z:\n"
                          "  https://h/w: {size: 1TB, location: 'gcp:us-central1'}\n");
    const struct spec_input *in = s->stages[0].inputs;

    CHECK(s->stages[0].n_inputs == 4, "a map of inputs");
    CHECK(same(in[0].from, "s3://b/x") && in[0].size_gb == 100 && in[0].line == 3 &&
              in[0].source == SPEC_FROM_URI,
          "gigabytes");
    CHECK(in[1].size_gb == 0.5 && in[2].size_gb == 0 && in[3].size_gb == 1000, "sizes");
    CHECK(same(in[3].place.cloud, "gcp") && same(in[3].place.region, "us-central1"), "a place");
    CHECK(guessed(s, "a: size of az://b/z", "0 GB"), "a size not given is a guess");

    AUTO(spec)
    struct spec *list = load("inputs:\n"
                             "  - s3://b/x\n"
                             "  - {from: data/set, size: 3, place: aws/us-east-1}\n"
                             "  - from: /data/@set:3\n"
                             "    size: 2GB\n"
                             "  - {from: 'lake:/data/x', size: null, place: null}\n"
                             "  - {from: /data/y#2}\n");
    in = list->stages[0].inputs;
    CHECK(list->stages[0].n_inputs == 5, "a list of inputs");
    CHECK(in[0].source == SPEC_FROM_URI && in[1].source == SPEC_FROM_LOCAL &&
              in[2].source == SPEC_FROM_LAKE && in[3].source == SPEC_FROM_LAKE &&
              in[4].source == SPEC_FROM_LAKE,
          "what each is");
    CHECK(same(in[1].place.cloud, "aws") && same(in[2].place.cloud, "local") &&
              same(in[2].place.region, "local"),
          "places said and not said");
    CHECK(guessed(list, "stage-1: size of lake:/data/x", "0 GB"), "a lake's size is a guess");
    AUTO(spec)
    struct spec *paths = load("inputs: [{from: ./a@b, size: 1}, {from: ../c#1, size: 1},"
                              " {from: ~/d@e, size: 1}, {from: a@b, size: 1}]\n");
    in = paths->stages[0].inputs;
    CHECK(in[0].source == SPEC_FROM_LOCAL && in[1].source == SPEC_FROM_LOCAL &&
              in[2].source == SPEC_FROM_LOCAL && in[3].source == SPEC_FROM_LAKE,
          "what begins as a path is one");
}

static void no_inputs(void)
{
    static const char *const empty[] = {"inputs: []", "inputs: {}"};

    for (size_t i = 0; i < COUNT(empty); i++) {
        char text[100];
        snprintf(text, sizeof text, "name: a\noutputs: {x: 1}\n---\nname: b\n%s\n", empty[i]);
        AUTO(spec) struct spec *s = load(text);
        CHECK(s->stages[1].n_inputs == 0 && s->stages[1].n_needs == 1, "%s reads nothing",
              empty[i]);
    }
    AUTO(spec) struct spec *s = load("name: a\noutputs: {x: 1}\n---\nname: b\ninputs:\n");
    CHECK(s->stages[1].n_inputs == 1, "inputs without a value is as if it were not there");
}

static void output_forms(void)
{
    AUTO(spec)
    struct spec *s = load("inputs: {s3://b/x: 10}\n"
                          "outputs:\n"
                          "  model: 5\n"
                          "  s3://b/out: 9x\n"
                          "  log:\n"
                          "  big: {size: 2TB, keep: 30}\n");
    const struct spec_output *out = s->stages[0].outputs;

    CHECK(s->stages[0].n_outputs == 4 && same(out[0].name, "model") && out[0].size_gb == 5 &&
              out[0].keep_s == 0 && out[0].line == 3,
          "a map of outputs");
    CHECK(same(out[1].name, "s3://b/out") && out[1].size_gb == 90, "nine times the input");
    CHECK(out[2].size_gb == 0 && guessed(s, "stage-1: size of log", "0 GB"), "no size is a guess");
    CHECK(out[3].size_gb == 2000 && out[3].keep_s == 30 * 86400.0, "30 to keep are days");

    AUTO(spec)
    struct spec *list =
        load("outputs:\n  - {name: a, size: 1, keep: 12h}\n  - b\n  - {name: c, size: 500MB}\n");
    out = list->stages[0].outputs;
    CHECK(list->stages[0].n_outputs == 3 && out[0].keep_s == 43200 && same(out[1].name, "b") &&
              out[2].size_gb == 0.5,
          "a list of outputs");
    AUTO(spec) struct spec *none = load("outputs: {a: 9x}\n");
    CHECK(none->stages[0].outputs[0].size_gb == 0 && warns(none, 1, "of no input is 0 GB"),
          "a multiple of no input is 0 with a warning");
}

static void mounts(void)
{
    AUTO(spec)
    struct spec *s = load("name: a\n"
                          "envs: {BUCKET: data, EMPTY: null}\n"
                          "secrets: {TOKEN: hunter2}\n"
                          "file_mounts:\n"
                          "  /x: s3://b/x\n"
                          "  /y: {source: 'gs://b/y', mode: MOUNT, name: n, store: gcs}\n"
                          "  /z: {name: checkpoints, persistent: true}\n"
                          "  /w: s3://${BUCKET}/$BUCKET/${EMPTY}/${TOKEN}/$\n"
                          "  /v: {source: [./p, ./q]}\n"
                          "  /u: https://acct.blob.core.windows.net/c\n"
                          "  /t: https://h/f\n"
                          "  /again: s3://b/x\n");
    const struct spec_input *in = s->stages[0].inputs;

    CHECK(s->stages[0].n_inputs == 7, "mounts with a source are inputs, once");
    /* mode, name and store of /y; name and persistent of /z, and that it has no source */
    CHECK(s->n_findings == 6, "what a mount says and is not carried out: warnings");
    const struct spec_mount *m = s->stages[0].mounts;
    CHECK(s->stages[0].n_mounts == 9 && same(m[0].target, "/x") && m[0].input == 0 &&
              same(m[3].target, "/v/p") && m[3].input == 3 && same(m[4].target, "/v/q"),
          "each mount has its path; of a list the names below it");
    CHECK(same(m[7].target, "/again") && m[7].input == 0, "two paths of one input");
    CHECK(same(m[8].target, "/z") && m[8].input == SIZE_MAX, "a bucket has no source");
    CHECK(same(in[0].from, "s3://b/x") && same(in[1].from, "gs://b/y") &&
              same(in[1].place.cloud, "gcp"),
          "a URI, and a storage object's");
    CHECK(same(in[2].from, "s3://data/data/${EMPTY}/${TOKEN}/$"),
          "variables with a value are filled in, secrets never");
    CHECK(same(in[3].from, "./p") && in[4].source == SPEC_FROM_LOCAL, "a list of paths");
    CHECK(same(in[5].place.cloud, "azure") && !in[5].place.region, "Azure's web addresses");
    CHECK(same(in[6].place.cloud, "local") && guessed(s, "a: location of https://h/f", "local"),
          "another web address is a guess");

    AUTO(spec)
    struct spec *both = load("name: a\noutputs: {x: 1}\n---\nname: b\n"
                             "file_mounts: {/m: s3://b/x}\n");
    CHECK(both->stages[1].n_inputs == 2 && both->stages[1].inputs[0].source == SPEC_FROM_STAGE &&
              same(both->stages[1].inputs[1].from, "s3://b/x"),
          "mounts stand beside the outputs of the stages needed");
}

static void too_many(void)
{
    size_t room = 300000, n = 0;
    char *text = malloc(room);

    n += (size_t)snprintf(text + n, room - n, "inputs:\n");
    for (int i = 0; i <= 10000; i++)
        n += (size_t)snprintf(text + n, room - n, "- s3://b/%d\n", i);
    const struct refused c = {text, 10002, "more than 10000 inputs"};
    check_refused(&c);
    n = (size_t)snprintf(text, room, "outputs:\n");
    for (int i = 0; i <= 10000; i++)
        n += (size_t)snprintf(text + n, room - n, "- o%d\n", i);
    const struct refused o = {text, 1, "more than 10000 outputs"};
    check_refused(&o);
    free(text);
}

int main(void)
{
    static const struct refused bad[] = {
        {"inputs: s3://b/x\n", 1, "write a list"},
        {"inputs:\n  - {form: s3://b}\n", 2, "did you mean from?"},
        {"inputs:\n  - {size: 3}\n", 2, "needs from"},
        {"inputs:\n  - {from: s3://b, size: -1}\n", 2, "size: \"-1\" is not a size"},
        {"inputs:\n  - {from: s3://b, size: 9x}\n", 2, "size: \"9x\" is not a size"},
        {"inputs:\n  - {from: s3://b, size: .nan}\n", 2, "is not a size"},
        {"inputs:\n  - {from: s3://b, size: 1e12}\n", 2, "is not a size"},
        {"inputs:\n  - {from: s3://b, place: aws/a/b/c}\n", 2, "is not a location"},
        {"inputs:\n  - [a]\n", 2, "must be text, not a list"},
        {"inputs:\n  - ''\n", 2, "must be one line"},
        {"inputs:\n  '': 3\n", 2, "must be one line"},
        {"inputs:\n  s3://b: many\n", 2, "\"many\" is not a size"},
        {"inputs:\n  ftp://b: 3\n", 2, "\"ftp://b\": unknown scheme"},
        {"inputs:\n  htps://b: 3\n", 2, "did you mean https://?"},
        {"inputs:\n  https://b: 3\n", 2, "needs a location"},
        {"inputs:\n  hf://b: 3\n", 2, "needs a location"},
        {"inputs:\n  - {from: https://b, place: '*/us-east-1'}\n", 2, "needs a location"},
        {"outputs: model\n", 1, "write a map"},
        {"outputs:\n  m: -5\n", 2, "outputs.m: \"-5\" is not a size"},
        {"outputs:\n  m: [5]\n", 2, "a list is not a size"},
        {"outputs:\n  - {size: 5}\n", 2, "needs name"},
        {"outputs:\n  - {name: m, keeep: 5}\n", 2, "did you mean keep?"},
        {"outputs:\n  - {name: m, keep: -5}\n", 2, "cannot be negative"},
        {"outputs:\n  - {name: m, keep: 36526}\n", 2, "is longer than"},
        {"outputs:\n  - m\n  - m\n", 3, "output \"m\" is given twice: first on line 2"},
        {"file_mounts: [a]\n", 1, "must be a map, not a list"},
        {"file_mounts:\n  /x: {surce: s3://b}\n", 2, "did you mean source?"},
        {"file_mounts:\n  /x: [a]\n", 2, "must be text, not a list"},
        {"file_mounts:\n  /x: ftp://b\n", 2, "unknown scheme"},
        {"file_mounts:\n  /x: {source: [s3://b/p/..]}\n", 2, "no name to appear under"},
        {"file_mounts:\n  /x: {source: [./]}\n", 2, "no name to appear under"},
    };

    input_forms();
    no_inputs();
    output_forms();
    mounts();
    too_many();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
