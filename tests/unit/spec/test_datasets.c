#include "load.h"

#include <sys/stat.h>
#include <unistd.h>

static void sizes_flow(void)
{
    AUTO(spec)
    struct spec *s = load("name: a\n"
                          "inputs: {s3://b/raw: 10}\n"
                          "outputs: {clean: 9x, stats: 1GB}\n"
                          "---\n"
                          "name: b\n"
                          "outputs: {model: 0.1x}\n"
                          "---\n"
                          "name: c\n"
                          "inputs: [b.model, a.stats, 's3://b/raw', 's3://b/raw']\n"
                          "outputs: {all: 2x}\n");

    CHECK(s->stages[0].outputs[0].size_gb == 90 && s->stages[0].outputs[1].size_gb == 1,
          "outputs of the first stage");
    CHECK(s->stages[1].inputs[0].size_gb == 90 && s->stages[1].inputs[1].size_gb == 1 &&
              near(s->stages[1].outputs[0].size_gb, 9.1),
          "go into the second's");
    CHECK(s->stages[2].n_inputs == 3 && near(s->stages[2].outputs[0].size_gb, 2 * (9.1 + 1 + 10)),
          "each dataset counts once");
    CHECK(s->stages[2].inputs[2].size_gb == 10, "a size given at one mention holds at another");

    AUTO(spec)
    struct spec *back = load(
        "{name: a, needs: [b], outputs: {x: 3x}}\n---\n{name: b, needs: [], outputs: {y: 2}}\n");
    CHECK(back->stages[0].outputs[0].size_gb == 6, "in topological, not file order");

    AUTO(spec)
    struct spec *adopt = load(
        "name: a\noutputs: [x]\n---\nname: b\ninputs: {a.x: 7}\n---\nname: c\ninputs: [a.x]\n");
    CHECK(adopt->stages[0].outputs[0].size_gb == 7 && adopt->stages[2].inputs[0].size_gb == 7 &&
              adopt->guesses.n == 0,
          "a reader may say what the maker does not");
}

static void places(void)
{
    static const struct {
        const char *input, *cloud, *region;
        bool is_guess;
    } cases[] = {
        {"{from: s3://b/x, size: 1}", "aws", NULL, true},
        {"{from: gs://b/x, size: 1}", "gcp", NULL, true},
        {"{from: az://b/x, size: 1}", "azure", NULL, true},
        {"{from: S3://b/x, size: 1}", "aws", NULL, true},
        {"{from: r2://b/x, size: 1}", "cloudflare", NULL, true},
        {"{from: s3://b/x, size: 1, place: aws/eu-west-1}", "aws", "eu-west-1", false},
        {"{from: s3://b/x, size: 1, place: '*/eu-west-1'}", "aws", "eu-west-1", false},
        {"{from: s3://b/x, size: 1, place: '*'}", "aws", NULL, true},
        {"{from: s3://b/x, size: 1, place: gcp/us-central1}", "gcp", "us-central1", false},
        {"{from: https://h/x, size: 1, place: local}", "local", "local", false},
        {"{from: https://h/x, size: 1, place: aws}", "aws", NULL, true},
        {"{from: 'lake:/x', size: 1}", "local", "local", false},
        {"{from: ./x, size: 1}", "local", "local", false},
        {"{from: ./x, size: 1, place: 'aws:us-east-1'}", "aws", "us-east-1", false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[200];
        snprintf(text, sizeof text, "name: a\ninputs: [%s]\n", cases[i].input);
        AUTO(spec) struct spec *s = load(text);
        const struct spec_place *p = &s->stages[0].inputs[0].place;
        CHECK(same(p->cloud, cases[i].cloud) && same(p->region, cases[i].region), "%s",
              cases[i].input);
        CHECK((s->guesses.n == 1) == cases[i].is_guess, "guesses of %s", cases[i].input);
    }
    AUTO(spec)
    struct spec *s = load("name: a\ninputs: [{from: s3://b/x, size: 1}]\n---\n"
                          "name: b\ninputs: [s3://b/x]\n");
    CHECK(guessed(s, "a: location of s3://b/x", "in the region of the stage that reads it") &&
              s->guesses.n == 1,
          "one guess for one dataset");
    AUTO(spec)
    struct spec *later = load("name: a\ninputs: [s3://b/x]\n---\n"
                              "name: b\ninputs: [{from: s3://b/x, size: 3, place: "
                              "aws/us-east-1}]\n");
    CHECK(later->guesses.n == 0 && later->stages[0].inputs[0].size_gb == 3 &&
              same(later->stages[0].inputs[0].place.region, "us-east-1"),
          "what a later stage says holds for an earlier one");
}

static char directory[] = "/tmp/tradewind-datasets-XXXXXX";

static void make_file(const char *name, long bytes)
{
    char path[200];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    if (f) {
        if (ftruncate(fileno(f), bytes) < 0)
            perror(path);
        fclose(f);
    }
}

static struct spec *load_there(const char *text, struct err *e)
{
    return spec_parse("t.yaml", text, strlen(text), directory, NULL, NULL, e);
}

static void local_sizes(void)
{
    char path[200];
    struct err e = {0};

    if (!mkdtemp(directory))
        exit(EXIT_FAILURE);
    snprintf(path, sizeof path, "%s/set", directory);
    mkdir(path, 0700);
    make_file("a.csv", 2000000);
    make_file("set/one", 1000);
    make_file("set/two", 500);

    AUTO(spec)
    struct spec *s =
        load_there("name: a\ninputs: [a.csv, set, {from: gone, size: 4}, ./a.csv]\n", &e);
    CHECK(s && s->stages[0].n_inputs == 4, "paths load");
    CHECK(s && s->stages[0].inputs[0].source == SPEC_FROM_LOCAL &&
              near(s->stages[0].inputs[0].size_gb, 0.002),
          "a file's size, though a stage has its first part's name");
    CHECK(s && near(s->stages[0].inputs[1].size_gb, 1.5e-6), "a tree's size");
    CHECK(s && s->stages[0].inputs[2].size_gb == 4 && s->guesses.n == 0,
          "a size given needs no file");
    AUTO(spec) struct spec *gone = load_there("name: a\ninputs:\n  - gone\n", &e);
    CHECK(!gone && e.kind == ERR_USAGE && strstr(e.text, "t.yaml:3: stage a: input \"gone\"") &&
              strstr(e.text, "give its size"),
          "a path that is not there");
    AUTO(spec)
    struct spec *mount = load_there("name: a\nfile_mounts:\n  /x: ./gone\n  /y: ./set\n", &e);
    CHECK(mount && warns(mount, 3, "\"./gone\"") && guessed(mount, "a: size of ./gone", "0 GB") &&
              near(mount->stages[0].inputs[1].size_gb, 1.5e-6),
          "a mount that is not there is a guess with a warning");
    static const char *const names[] = {"a.csv", "set/one", "set/two", "set", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        remove(path);
    }
}

int main(void)
{
    static const struct refused bad[] = {
        {"name: a\ninputs: {s3://b/x: 1}\n---\nname: b\ninputs:\n  - {from: s3://b/x, size: 2}\n",
         6, "stage b: input \"s3://b/x\": size 2 GB disagrees with line 2, which says 1 GB"},
        {"name: a\ninputs:\n  - {from: s3://b/x, size: 1}\n  - {from: s3://b/x, size: 2}\n", 4,
         "disagrees with line 3"},
        {"name: a\ninputs: [{from: s3://b/x, place: aws/a}]\n---\nname: b\n"
         "inputs: [{from: s3://b/x, place: aws/b}]\n",
         5, "location aws/b disagrees with line 2, which says aws/a"},
        {"name: a\noutputs: {x: 1}\n---\nname: b\ninputs: {a.x: 2}\n", 5,
         "size 2 GB disagrees with line 2, which makes it 1 GB"},
        {"name: a\ninputs: {s3://b/x: 1e9}\noutputs: {x: 9x}\n", 3, "is over 1e9 GB"},
        {"name: a\ninputs: [{from: ./x, size: 1, place: '*/us-east-1'}]\n", 2, "needs a location"},
    };

    sizes_flow();
    places();
    local_sizes();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
