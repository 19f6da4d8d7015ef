/* What holds for every cloud: options, requests, the life of a machine, and what it costs. */
#include "cloud/cloud.h"

#include "base/time.h"
#include "tap.h"
#include "world.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct cloud_host hosts[] = {
    {.group = "lab", .address = "a.lab"},
    {.group = "lab", .address = "b.lab", .accelerator = "v100", .accelerators = 1},
    {.group = "lab", .address = "c.lab", .accelerator = "V100", .accelerators = 2},
};

/* ---- options ---- */

static void refused_options(void)
{
    static const struct cloud_host nameless = {.group = "g"};
    static const struct cloud_host wild = {
        .group = "g", .address = "a", .price_usd_per_hour = (double)INFINITY};
    struct world w;
    struct err e;
    static const struct {
        const char *what, *text;
        struct cloud_options options;
    } cases[] = {
        {"an unknown driver", "no cloud is named \"aws2\"", {.name = "aws2"}},
        {"no driver", "no cloud is named \"\"", {.name = NULL}},
        {"no owner", "is not an owner", {.name = "sim", .owner = ""}},
        {"a wild owner", "is not an owner", {.name = "sim", .owner = "me/you"}},
        {"no home", "no home", {.name = "pool", .home = ""}},
        {"a boot before its start", "boot_s", {.name = "sim", .boot_s = -1}},
        {"a boot that is no number", "boot_s", {.name = "sim", .boot_s = (double)NAN}},
        {"too many preemptions", "preemptions", {.name = "sim", .preemptions_per_hour = 1e5}},
        {"troubles that are none", "line 1", {.name = "sim", .troubles = "trouble"}},
        {"an empty root", "directory of jobs", {.name = "pool", .root = ""}},
        {"a host without name", "no name", {.name = "pool", .hosts = &nameless, .n_hosts = 1}},
        {"a host with a wild price", "price", {.name = "pool", .hosts = &wild, .n_hosts = 1}},
    };

    world_init(&w, "sim");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cloud_options o = cases[i].options;
        o.home = o.home ? o.home : w.home;
        o.owner = o.owner ? o.owner : "me";
        e = (struct err){0};
        AUTO(cloud) struct cloud *c = cloud_open(&o, &e);
        CHECK(!c && e.kind == ERR_USAGE && strstr(e.text, cases[i].text), "%s: %s", cases[i].what,
              e.text);
    }
    w.options.home = "/proc/none";
    e = (struct err){0};
    AUTO(cloud) struct cloud *nowhere = cloud_open(&w.options, &e);
    CHECK(!nowhere && strstr(e.text, "/proc/none"), "a home that cannot be made: %s", e.text);
    world_clear(&w);
}

/* ---- requests ---- */

static void refused_requests(void)
{
    static const char long_text[] =
        "x123456789012345678901234567890123456789012345678901234567890123456789";
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    const struct cloud_request good = world_request("t");
    struct cloud_request bad[12];
    for (size_t i = 0; i < COUNT(bad); i++)
        bad[i] = good;
    bad[0].token = "";
    bad[1].token = NULL;
    bad[2].token = "UPPER";
    bad[3].token = "../../etc/passwd";
    bad[4].token = long_text;
    bad[5].owner = "nobody else's";
    bad[6].region = long_text;
    bad[7].zone = "a\nb";
    bad[8].instance_type = "\xff\xfe";
    bad[9].cpus = (double)NAN;
    bad[10].price_usd_per_hour = -1;
    bad[11].accelerator = long_text;
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(launch_as(c, &bad[i], &m) == CLOUD_INVALID && world_error.err.kind == ERR_USAGE,
              "refused: %s", world_error.err.text);
    CHECK(look(c, "no/token", &m) == CLOUD_INVALID && terminate(c, ".") == CLOUD_INVALID,
          "look and terminate check tokens too");
    CHECK(strcmp(listed(c), "") == 0, "and nothing was rented");
    world_clear(&w);
}

static void texts(void)
{
    static const struct {
        enum cloud_failure failure;
        enum err_kind kind;
    } cases[] = {
        {CLOUD_AUTH, ERR_DENIED},        {CLOUD_PERMISSION, ERR_DENIED},
        {CLOUD_QUOTA, ERR_NOFIT},        {CLOUD_CAPACITY, ERR_NOFIT},
        {CLOUD_UNSUPPORTED, ERR_NOFIT},  {CLOUD_THROTTLE, ERR_RETRY},
        {CLOUD_TRANSIENT, ERR_RETRY},    {CLOUD_CONFLICT, ERR_USAGE},
        {CLOUD_NOT_FOUND, ERR_NOTFOUND}, {CLOUD_INVALID, ERR_USAGE},
        {CLOUD_UNKNOWN, ERR_RETRY},      {CLOUD_FINE, ERR_NONE},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(cloud_failure_kind(cases[i].failure) == cases[i].kind, "kind of failure %d",
              (int)cases[i].failure);
}

/* ---- the life of a machine, on every driver ---- */

static bool same_machine(const struct cloud_machine *a, const struct cloud_machine *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->token, b->token) == 0 &&
           a->launched_ms == b->launched_ms && a->price_usd_per_hour == b->price_usd_per_hour;
}

static void life(const char *driver)
{
    struct world w;
    struct cloud_machine a, b, again;

    world_init(&w, driver);
    w.options.hosts = hosts;
    w.options.n_hosts = COUNT(hosts);
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("one");
    q.region = strcmp(driver, "pool") == 0 ? "lab" : "us-east-1";
    CHECK(strcmp(cloud_name(c), driver) == 0, "%s", driver);
    CHECK(look(c, "one", &a) == CLOUD_NOT_FOUND && world_error.err.kind == ERR_NOTFOUND,
          "a token nobody used is not found");
    CHECK(terminate(c, "one") == CLOUD_FINE, "and can be given back");
    CHECK(launch_as(c, &q, &a) == CLOUD_FINE, "launched");
    CHECK(a.run == 3 && a.job == 17 && a.expires_ms == BEGIN_MS + DAY_MS &&
              strcmp(a.owner, "me") == 0 && strcmp(a.token, "one") == 0,
          "with our tags");
    CHECK(a.launched_ms == BEGIN_MS && a.ended_ms == 0 && a.notice_ms == 0, "from now on");
    w.now_ms += 1000;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && same_machine(&a, &again),
          "the same token gives the same machine");
    struct cloud_request other = q;
    other.expires_ms++;
    other.price_usd_per_hour = 1;
    CHECK(launch_as(c, &other, &again) == CLOUD_FINE && same_machine(&a, &again),
          "also when price and expiry changed");
    other = q;
    other.job++;
    CHECK(launch_as(c, &other, &again) == CLOUD_CONFLICT && strstr(world_error.err.text, a.id),
          "but not for another job: %s", world_error.err.text);
    CHECK(look(c, "one", &again) == CLOUD_FINE && same_machine(&a, &again), "looked at");
    q.token = "two";
    CHECK(launch_as(c, &q, &b) == CLOUD_FINE, "a second one");
    CHECK(strcmp(listed(c), "one two ") == 0, "both may bill");
    CHECK(terminate(c, "one") == CLOUD_FINE && terminate(c, "one") == CLOUD_FINE,
          "given back, and once more");
    w.now_ms += 60 * 1000;
    CHECK(look(c, "one", &again) == CLOUD_FINE && again.state == CLOUD_GONE &&
              again.ended_ms == BEGIN_MS + 1000,
          "gone since it was given back");
    CHECK(strcmp(listed(c), "two ") == 0, "and no longer listed");
    q.token = "one";
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && again.state == CLOUD_GONE &&
              same_machine(&a, &again),
          "its token never makes a second machine");
    AUTO(cloud) struct cloud *later = world_open(&w);
    CHECK(strcmp(listed(later), "two ") == 0 && look(later, "two", &again) == CLOUD_FINE &&
              same_machine(&b, &again),
          "another process, or we after a crash, see the same");
    CHECK(terminate(later, "two") == CLOUD_FINE, "who gives it back there");
    w.now_ms += 60 * 1000;
    CHECK(strcmp(listed(c), "") == 0 && look(c, "two", &b) == CLOUD_FINE && b.state == CLOUD_GONE,
          "is seen here");
    world_clear(&w);
}

static void clock_set_back(const char *driver)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, driver);
    w.options.hosts = hosts;
    w.options.n_hosts = COUNT(hosts);
    w.options.boot_s = 0;
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    q.region = "";
    launch_as(c, &q, &m);
    w.now_ms -= HOUR_MS;
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.ready_ms == BEGIN_MS &&
              strcmp(listed(c), "a ") == 0,
          "%s: a clock set back hides no machine", driver);
    CHECK(cloud_cost_microusd(&m, w.now_ms) == 0, "and bills nothing");
    terminate(c, "a");
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.ended_ms == BEGIN_MS &&
              m.state == (strcmp(driver, "sim") == 0 ? CLOUD_DELETING : CLOUD_GONE),
          "it is given back when it was launched");
    world_clear(&w);
}

static void real_clock(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.options.now_ms = NULL;
    AUTO(cloud) struct cloud *c = world_open(&w);
    int64_t before_ms = time_epoch_ms();
    launch(c, "a", &m);
    CHECK(m.launched_ms >= before_ms && m.launched_ms <= time_epoch_ms(),
          "without a clock of its own it is now");
    world_clear(&w);
}

static void owners(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *mine = world_open(&w);
    w.options.owner = "you";
    AUTO(cloud) struct cloud *yours = world_open(&w);
    launch(mine, "a", &m);
    launch(yours, "b", &m);
    CHECK(strcmp(listed(mine), "a ") == 0 && strcmp(listed(yours), "b ") == 0,
          "a list has the owner's own machines");
    CHECK(launch(yours, "a", &m) == CLOUD_CONFLICT, "a token of another owner is a conflict");
    world_clear(&w);
}

struct sweep {
    struct cloud *cloud;
    int visits, stop_at;
};

static int sweep_one(void *context, const struct cloud_machine *m, struct err *e)
{
    struct sweep *s = context;
    struct cloud_error why;

    if (++s->visits == s->stop_at)
        return err_set(e, ERR_USAGE, "enough");
    return cloud_terminate(s->cloud, m->token, &why);
}

static void sweeping(void)
{
    struct world w;
    struct cloud_machine m;
    struct cloud_error e;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    launch(c, "b", &m);
    launch(c, "c", &m);
    struct sweep s = {c, 0, 2};
    CHECK(cloud_list(c, sweep_one, &s, &e) < 0 && s.visits == 2 && strstr(e.err.text, "enough"),
          "a visit that fails ends the list");
    w.now_ms += HOUR_MS; /* in which the first one is gone */
    s = (struct sweep){c, 0, 0};
    CHECK(cloud_list(c, sweep_one, &s, &e) == 0 && s.visits == 2,
          "a visit may terminate what it is shown");
    w.now_ms += HOUR_MS;
    CHECK(strcmp(listed(c), "") == 0, "and then nothing is listed");
    world_clear(&w);
}

/* ---- cost ---- */

static void costs(void)
{
    static const struct {
        const char *what;
        double usd_per_hour, bill_min_s;
        int64_t ended_after_ms, now_after_ms, microusd;
    } cases[] = {
        {"an hour", 3.06, 0, 0, HOUR_MS, 3060000},
        {"a second of 3.06 an hour is 850 micro-dollars", 3.06, 0, 0, 1000, 850},
        {"a second that has begun counts", 3.06, 0, 0, 1001, 1700},
        {"a millisecond is one second", 3.06, 0, 0, 1, 850},
        /* 0.0416 * 90 / 3600 = 0.00104 */
        {"ninety seconds of 0.0416", 0.0416, 0, 0, 90000, 1040},
        /* 0.1 / 3600 = 27.77.. micro-dollars; 7 s = 194.44.., not 7 * 28 = 196 */
        {"rounded once", 0.1, 0, 0, 7000, 194},
        /* 0.0025 / 3600 = 0.69.. micro-dollars */
        {"more than half a micro-dollar is one", 0.0025, 0, 0, 1000, 1},
        {"less than half is none", 0.0009, 0, 0, 1000, 0},
        {"not after its end", 3.06, 0, 10000, HOUR_MS, 8500},
        {"not before its end", 3.06, 0, HOUR_MS, 10000, 8500},
        {"the least that is billed", 3.06, 60, 10000, HOUR_MS, 51000},
        {"the least that is billed, at once", 3.06, 60, 0, 0, 51000},
        {"more than the least", 3.06, 60, 61000, HOUR_MS, 51850},
        {"nothing before it was launched", 3.06, 60, 0, -1, 0},
        {"nothing for nothing", 0, 60, 0, HOUR_MS, 0},
        {"no more than a billion dollars", 1e9, 0, 0, 1000 * HOUR_MS, 1000000000000000},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cloud_machine m = {.price_usd_per_hour = cases[i].usd_per_hour,
                                  .bill_min_s = cases[i].bill_min_s,
                                  .launched_ms = BEGIN_MS};
        m.ended_ms = cases[i].ended_after_ms ? BEGIN_MS + cases[i].ended_after_ms : 0;
        int64_t cost = cloud_cost_microusd(&m, BEGIN_MS + cases[i].now_after_ms);
        CHECK(cost == cases[i].microusd, "%s: %lld", cases[i].what, (long long)cost);
    }
}

int main(void)
{
    refused_options();
    refused_requests();
    texts();
    life("pool");
    life("sim");
    clock_set_back("pool");
    clock_set_back("sim");
    real_clock();
    owners();
    sweeping();
    costs();
    return TAP_DONE();
}
