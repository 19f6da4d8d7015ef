/* Hosts of the user: which one is given, and who has it. */
#include "cloud/cloud.h"

#include "tap.h"
#include "world.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct cloud_host hosts[] = {
    {"desks", "desk1", 4, 16, NULL, 0, 0},        {"lab", "me@gpu1.lab", 32, 256, "A100", 4, 1.2},
    {"lab", "gpu2.lab", 64, 512, "A100", 8, 2.4}, {"lab", "old.lab", 64, 512, "K80", 1, 0.1},
    {"any", "unknown.lab", 0, 0, NULL, 0, 0},
};

static struct cloud_request ask(const char *token, const char *group, double cpus, double memory_gb)
{
    return (struct cloud_request){
        .token = token, .region = group, .cpus = cpus, .memory_gb = memory_gb};
}

static void choosing(void)
{
    static const struct {
        const char *group, *accelerator;
        double cpus, memory_gb, accelerators;
        const char *address; /* NULL = none fits */
    } cases[] = {
        {"", NULL, 1, 1, 0, "desk1"},          {"", NULL, 4, 16, 0, "desk1"},
        {"", NULL, 4.5, 16, 0, "me@gpu1.lab"}, {"", NULL, 4, 17, 0, "me@gpu1.lab"},
        {"", NULL, 33, 1, 0, "gpu2.lab"},      {"", NULL, 65, 1, 0, "unknown.lab"},
        {"lab", NULL, 1, 1, 0, "me@gpu1.lab"}, {"lab", "a100", 1, 1, 4, "me@gpu1.lab"},
        {"lab", "A100", 1, 1, 5, "gpu2.lab"},  {"", "K80", 1, 1, 1, "old.lab"},
        {"lab", "A100", 1, 1, 9, NULL},        {"", "H100", 1, 1, 1, NULL},
        {"lab", NULL, 65, 1, 0, NULL},         {"desks", "A100", 1, 1, 1, NULL},
        {"cellar", NULL, 1, 1, 0, NULL},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world w;
        struct cloud_machine m = {0};
        world_init(&w, "pool");
        w.options.hosts = hosts;
        w.options.n_hosts = COUNT(hosts);
        AUTO(cloud) struct cloud *c = world_open(&w);
        struct cloud_request q = ask("t", cases[i].group, cases[i].cpus, cases[i].memory_gb);
        q.accelerator = cases[i].accelerator;
        q.accelerators = cases[i].accelerators;
        enum cloud_failure failure = launch_as(c, &q, &m);
        CHECK(cases[i].address ? failure == CLOUD_FINE && strcmp(m.address, cases[i].address) == 0
                               : failure == CLOUD_UNSUPPORTED &&
                                     world_error.err.kind == ERR_NOFIT && !*listed(c),
              "%s", cases[i].address ? cases[i].address : world_error.err.text);
        world_clear(&w);
    }
}

static void told(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "pool");
    w.options.hosts = hosts;
    w.options.n_hosts = COUNT(hosts);
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = ask("a", "lab", 8, 8);
    q.instance_type = "p3.2xlarge";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && !*m.instance_type &&
              strcmp(m.exec_driver, "ssh") == 0 && strcmp(m.root, "~/.tradewind-jobs") == 0 &&
              strcmp(m.id, "me@gpu1.lab") == 0 && strcmp(m.region, "lab") == 0,
          "how to get there");
    CHECK(m.state == CLOUD_RUNNING && m.ready_ms == BEGIN_MS && cloud_next_ms(c) == INT64_MAX,
          "it is up");
    CHECK(m.cpus == 32 && m.memory_gb == 256 && strcmp(m.accelerator, "A100") == 0 &&
              m.accelerators == 4 && m.price_usd_per_hour == 1.2,
          "what it has and costs");
    q = ask("b", "any", 8, 8);
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.cpus == 8 && m.memory_gb == 8,
          "a host that says nothing has what was asked for");
    q = ask("c", "lab", 100, 8);
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED &&
              strstr(world_error.err.text, "no host of the pool lab has 100 cpus 8 GB: there are "
                                           "me@gpu1.lab 32 cpus 256 GB A100:4; gpu2.lab 64 cpus"),
          "says what there is: %s", world_error.err.text);
    q = ask("d", "", 0, 0);
    q.accelerator = "TPU";
    q.accelerators = 1;
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && strstr(world_error.err.text, "and 1 more"),
          "not all of a long list: %s", world_error.err.text);
    w.options.n_hosts = 0;
    AUTO(cloud) struct cloud *none = world_open(&w);
    CHECK(launch_as(none, &q, &m) == CLOUD_UNSUPPORTED &&
              strstr(world_error.err.text, "list them under hosts:"),
          "no hosts at all: %s", world_error.err.text);
    w.options.root = "/data/jobs";
    w.options.n_hosts = COUNT(hosts);
    AUTO(cloud) struct cloud *elsewhere = world_open(&w);
    q = ask("e", "desks", 1, 1);
    CHECK(launch_as(elsewhere, &q, &m) == CLOUD_FINE && strcmp(m.root, "/data/jobs") == 0,
          "another directory");
    world_clear(&w);
}

/* "h1 h2 " */
static const char *free_hosts(struct cloud *c, const struct cloud_request *q)
{
    static char text[200];
    const char *found[4];
    size_t n;

    text[0] = 0;
    world_error.err = (struct err){0};
    cloud_free_hosts(c, q, found, COUNT(found), &n, &world_error);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", found[i]);
    return text;
}

static void named(void)
{
    static const struct cloud_host some[] = {
        {"x", "h1", 4, 16, NULL, 0, 0},
        {"x", "h2", 4, 16, NULL, 0, 0},
        {"y", "h1", 4, 16, NULL, 0, 0},
        {"y", "h3", 8, 16, NULL, 0, 0},
    };
    struct world w;
    struct cloud_machine m;

    world_init(&w, "pool");
    w.options.hosts = some;
    w.options.n_hosts = COUNT(some);
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = ask("a", "", 1, 1);
    CHECK(!strcmp(free_hosts(c, &q), "h1 h2 h3 "), "who is free, each once: %s", free_hosts(c, &q));
    CHECK(!*listed(c), "asking launches nothing");
    q.host = "h2";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && !strcmp(m.address, "h2"), "one by its name");
    q.token = "b";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY, "which nobody else can have");
    q.host = NULL;
    CHECK(!strcmp(free_hosts(c, &q), "h1 h3 "), "the others are free");
    q.cpus = 6;
    CHECK(!strcmp(free_hosts(c, &q), "h3 "), "those that are large enough");
    q.cpus = 60;
    CHECK(!*free_hosts(c, &q) && world_error.failure == CLOUD_UNSUPPORTED, "none ever will be");
    q.token = "a";
    q.cpus = 1;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && !strcmp(m.address, "h2"),
          "asked again, it is the same one");
    world_clear(&w);
}

static void one_tenant(void)
{
    static const struct cloud_host twice[] = {
        {"x", "h1", 4, 16, NULL, 0, 0},
        {"x", "h2", 4, 16, NULL, 0, 0},
        {"y", "h1", 4, 16, NULL, 0, 0},
    };
    struct world w;
    struct cloud_machine m;

    world_init(&w, "pool");
    w.options.hosts = twice;
    w.options.n_hosts = COUNT(twice);
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = ask("a", "x", 1, 1);
    launch_as(c, &q, &m);
    CHECK(strcmp(m.address, "h1") == 0, "the first host");
    q.token = "b";
    launch_as(c, &q, &m);
    CHECK(strcmp(m.address, "h2") == 0, "the next one");
    q.token = "c";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.err.kind == ERR_NOFIT &&
              world_error.scope == CLOUD_REGION && strstr(world_error.err.text, "h2 by b"),
          "all taken: %s", world_error.err.text);
    q.region = "y";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY, "a host in two pools is one host");
    CHECK(!*free_hosts(c, &q) && world_error.failure == CLOUD_CAPACITY, "none is free: %s",
          world_error.err.text);
    terminate(c, "a");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.address, "h1") == 0, "given back, free");
    terminate(c, "a");
    CHECK(strcmp(listed(c), "b c ") == 0, "the last tenant cannot give it back once more");
    w.options.n_hosts = 0;
    AUTO(cloud) struct cloud *smaller = world_open(&w);
    CHECK(strcmp(listed(smaller), "b c ") == 0 && terminate(smaller, "c") == CLOUD_FINE &&
              strcmp(listed(smaller), "b ") == 0,
          "hosts that left the configuration are still known");
    world_clear(&w);
}

#define TENANTS 10

static int rent_one(void *context, int number)
{
    struct world *w = context;
    struct err e = {0};
    AUTO(cloud) struct cloud *c = cloud_open(&w->options, &e);
    struct cloud_machine m;
    char token[16];

    snprintf(token, sizeof token, "p-%d", number);
    struct cloud_request q = ask(token, "", 1, 1);
    return !c || launch_as(c, &q, &m) != CLOUD_FINE;
}

static void crowd(void)
{
    static struct cloud_host many[TENANTS - 3];
    static char names[TENANTS - 3][8];
    struct world w;
    struct cloud_machine m;
    int taken = 0, doubles = 0;

    for (size_t i = 0; i < COUNT(many); i++) {
        snprintf(names[i], sizeof names[i], "h%zu", i);
        many[i] = (struct cloud_host){.group = "x", .address = names[i], .cpus = 1};
    }
    world_init(&w, "pool");
    w.options.hosts = many;
    w.options.n_hosts = COUNT(many);
    CHECK(world_fork(TENANTS, rent_one, &w) == 3, "ten processes, seven hosts: three get none");
    AUTO(cloud) struct cloud *c = world_open(&w);
    bool used[COUNT(many)] = {0};
    for (int i = 0; i < TENANTS; i++) {
        char token[16];
        snprintf(token, sizeof token, "p-%d", i);
        if (look(c, token, &m) != CLOUD_FINE)
            continue;
        size_t host = (size_t)strtoul(m.address + 1, NULL, 10);
        doubles += used[host];
        used[host] = true;
        taken++;
    }
    CHECK(taken == (int)COUNT(many) && doubles == 0, "every host has one tenant");
    world_clear(&w);
}

int main(void)
{
    choosing();
    told();
    named();
    one_tenant();
    crowd();
    return TAP_DONE();
}
