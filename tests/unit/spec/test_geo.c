/* The file of a training across regions: what is read, and what is said of mistakes. */
#include "spec/geo.h"

#include "tap.h"

#include <math.h>
#include <string.h>

#define WHOLE                                                                                      \
    "name: niser\n"                                                                                \
    "model: {size: 17MB}\n"                                                                        \
    "rounds: 100\n"                                                                                \
    "train: {run: python worker.py, seconds: 9, rounds_per_epoch: 20}\n"                           \
    "workers:\n"                                                                                   \
    "  - {place: aws/ap-south-1, instance_type: m5.large, count: 2, data: lake:/shards/in/}\n"     \
    "  - {location: 'GCP:europe-west2', seconds: 12, data: {from: s3://b/x, size: 2GB,\n"          \
    "     location: aws/us-east-1, cached: false}}\n"                                              \
    "aggregator: {function: any, store: aws/us-west-2, memory: 512MB, mb_per_s: 100}\n"            \
    "topology: fanout\n"                                                                           \
    "compression: topk:0.01\n"                                                                     \
    "quorum: 0.75\n"                                                                               \
    "connections: 4\n"                                                                             \
    "poll: 0.5\n"                                                                                  \
    "retries: 0.01\n"                                                                              \
    "same_region_usd_per_gb: 0.01\n"                                                               \
    "sites:\n"                                                                                     \
    "  aws/us-west-2: {on: lab, function_on: one, address: 10.0.0.7, port: 99,\n"                  \
    "    store: s3://b/p, endpoint: 'https://s3.example', region: r}\n"                            \
    "  gcp:europe-west2: {store: 'dir:/x'}\n"

static struct spec_geo *parse(const char *text, struct err *e)
{
    return spec_geo_parse("t.yaml", text, strlen(text), e);
}

static void whole(void)
{
    struct err e = {0};
    AUTO(spec_geo) struct spec_geo *s = parse(WHOLE, &e);

    CHECK(s, "a file with every field: %s", e.text);
    if (!s)
        return;
    CHECK(strcmp(s->name, "niser") == 0 && s->size_bytes == 17e6 && s->rounds == 100, "the model");
    CHECK(s->train_s == 9 && s->rounds_per_epoch == 20 && strcmp(s->run, "python worker.py") == 0,
          "the training");
    CHECK(s->n_workers == 2 && s->workers[0].count == 2 && isnan(s->workers[0].train_s) &&
              strcmp(s->workers[0].data, "lake:/shards/in/") == 0 && s->workers[0].line == 6,
          "a worker");
    const struct spec_geo_worker *w = &s->workers[1];
    CHECK(strcmp(w->place.cloud, "gcp") == 0 && w->train_s == 12 && w->data_bytes == 2e9 &&
              strcmp(w->data_place.region, "us-east-1") == 0 && !w->data_cached,
          "one with a colon in its place, a time and data of its own");
    CHECK(!s->function.cloud && strcmp(s->store.region, "us-west-2") == 0 &&
              s->memory_gb == 0.512 && s->average_mb_per_s == 100,
          "the aggregator");
    CHECK(s->topology == SPEC_GEO_FANOUT && s->compression == SPEC_GEO_TOPK && s->topk == 0.01 &&
              s->quorum == 0.75 && s->connections == 4 && s->poll_s == 0.5 && s->retries == 0.01 &&
              s->same_region_usd_per_gb == 0.01,
          "and how they talk");
    const struct spec_geo_site *site = spec_geo_site(s, "aws", "us-west-2");
    CHECK(s->n_sites == 2 && site && strcmp(site->on, "lab") == 0 &&
              strcmp(site->function_on, "one") == 0 && strcmp(site->address, "10.0.0.7") == 0 &&
              site->port == 99 && strcmp(site->store, "s3://b/p") == 0 &&
              strcmp(site->endpoint, "https://s3.example") == 0 && strcmp(site->region, "r") == 0,
          "and where it runs");
    CHECK(spec_geo_site(s, "gcp", "europe-west2") && !spec_geo_site(s, "gcp", "us-west-2"),
          "place by place");
    CHECK(spec_geo_check(s, &e) == 0, "nothing is missing");
}

static void mistakes(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.yaml: the file is empty"},
        {"[1]", "t.yaml:1: a training is a map of fields, not a list"},
        {"rounds: 1\nmodle: {size: 1MB}\n",
         "t.yaml:2: unknown field \"modle\": did you mean model?"},
        {"model: {size: -1}\n", "t.yaml:1: model.size: \"-1\" is not a size"},
        {"model: {size: 0}\n", "t.yaml:1: model.size: must be above 0"},
        {"rounds: 1.5\n", "t.yaml:1: rounds: \"1.5\" is not a whole number"},
        {"rounds: 0\n", "t.yaml:1: rounds: \"0\" is out of range"},
        {"workers: []\n", "t.yaml:1: workers: must be a list of workers"},
        {"workers:\n  - {count: 2}\n",
         "t.yaml:2: workers[0]: has no location: write location: CLOUD/REGION"},
        {"workers:\n  - {place: aws}\n", "t.yaml:2: workers[0].place: \"aws\" names no region"},
        {"workers:\n  - {location: a/b, place: a/b}\n",
         "t.yaml:2: workers[0].place: is the old name of location, which is given, too"},
        {"workers:\n  - {place: a/b, count: 600}\n  - {place: a/b, count: 600}\n",
         "workers: 1200 workers: at most 1000 can be planned"},
        {"topology: star\n", "\"star\" is not a topology: use central, regional, fanout or any"},
        {"compression: topk:2\n", "\"topk:2\" is not a compression: use none, int8 or topk:SHARE"},
        {"quorum: 0\n", "t.yaml:1: quorum: must be above 0"},
        {"poll: 0\n", "t.yaml:1: poll: \"0\" is too often"},
        {"aggregator: {memory: 64GB}\n", "functions have 128MB to 32GB"},
        {"aggregator: {function: a/b/c}\n", "is not a location"},
        {"sites: []\n", "t.yaml:1: sites: "},
        {"sites: {aws: {on: x}}\n", "t.yaml:1: sites.aws: names no region: write CLOUD/REGION"},
        {"sites: {a/b: {on: x}, 'a:b': {on: y}}\n", "sites.a:b: is given twice: remove one"},
        {"sites: {a/b: {address: 'u@h'}}\n",
         "is not a host name or address: leave out user, port and path"},
        {"sites: {a/b: {port: 70000}}\n", "sites.a/b.port: \"70000\" is out of range"},
        {"sites: {a/b: {store: 'x'}}\n",
         "\"x\" is not a store: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,"},
        {"sites: {a/b: {endpoint: 'x'}}\n", "\"x\" is not an address: write https://HOST:PORT"},
        {"rounds: 1\n---\nrounds: 2\n", "t.yaml:3: a second document: a training has one"},
        {"rounds: {1\n", "t.yaml"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO(spec_geo) struct spec_geo *s = parse(cases[i].text, &e);
        CHECK(!s && e.kind == ERR_USAGE && strstr(e.text, cases[i].message), "mistake: %s", e.text);
    }
}

static void settings(void)
{
    AUTO(spec_geo) struct spec_geo *s = spec_geo_new("here");
    struct err e = {0};

    CHECK(spec_geo_check(s, &e) < 0 && strstr(e.text, "there are no workers"),
          "workers must be said");
    CHECK(spec_geo_set_workers(s, "aws:eu-west-2,gcp/us-west1", &e) == 0 && s->n_workers == 2,
          "workers of the command line");
    CHECK(spec_geo_check(s, &e) < 0 && strstr(e.text, "--size 17MB"), "and a size");
    CHECK(spec_geo_set(s, "model.size", "49MB", &e) == 0 && s->size_bytes == 49e6, "a size");
    CHECK(spec_geo_check(s, &e) < 0 && strstr(e.text, "--train-s 9"), "and a time");
    CHECK(spec_geo_set(s, "train.seconds", "4", &e) == 0 && spec_geo_check(s, &e) == 0, "a time");
    CHECK(spec_geo_set(s, "quorum", "2", &e) < 0 && e.kind == ERR_USAGE &&
              strcmp(e.text, "quorum: \"2\" is out of range: 0 to 1") == 0,
          "a mistake has no line: %s", e.text);
    CHECK(spec_geo_set(s, "model.sise", "1", &e) < 0, "no such setting");
    CHECK(spec_geo_set_workers(s, "aws:eu-west-2,,", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(spec_geo_set_workers(s, "aws", &e) < 0 && strstr(e.text, "names no region"), "%s",
          e.text);
}

int main(void)
{
    whole();
    mistakes();
    settings();
    return TAP_DONE();
}
