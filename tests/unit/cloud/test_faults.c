/* How the cloud on paper fails: the text, and each trouble. */
#include "cloud/faults.h"

#include "tap.h"
#include "world.h"

#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void parsed(void)
{
    static const struct {
        const char *text;
        struct cloud_fault expected;
    } cases[] = {
        {"capacity aws/us-east-1 p3.2xlarge 2x",
         {CLOUD_FAULT_CAPACITY, "aws", "us-east-1", NULL, "p3.2xlarge", CLOUD_REGION, 5, 2}},
        {"  quota\t# of everything\r\n\n# nothing\n",
         {CLOUD_FAULT_QUOTA, NULL, NULL, NULL, NULL, CLOUD_REGION, 5, -1}},
        {"capacity", {CLOUD_FAULT_CAPACITY, NULL, NULL, NULL, NULL, CLOUD_ZONE, 5, -1}},
        {"unsupported aws/us-east-1/us-east-1b * 1x",
         {CLOUD_FAULT_UNSUPPORTED, "aws", "us-east-1", "us-east-1b", NULL, CLOUD_ZONE, 5, 1}},
        {"quota gcp 3x", {CLOUD_FAULT_QUOTA, "gcp", NULL, NULL, NULL, CLOUD_ACCOUNT, 5, 3}},
        {"capacity */us-east-1 2x",
         {CLOUD_FAULT_CAPACITY, NULL, "us-east-1", NULL, NULL, CLOUD_REGION, 5, 2}},
        {"auth", {CLOUD_FAULT_AUTH, NULL, NULL, NULL, NULL, CLOUD_ACCOUNT, 5, -1}},
        {"throttle 3x", {CLOUD_FAULT_THROTTLE, NULL, NULL, NULL, NULL, CLOUD_ACCOUNT, 5, 3}},
        {"throttle 90s 3x", {CLOUD_FAULT_THROTTLE, NULL, NULL, NULL, NULL, CLOUD_ACCOUNT, 90, 3}},
        {"slow-visible 5s",
         {CLOUD_FAULT_SLOW_VISIBLE, NULL, NULL, NULL, NULL, CLOUD_ACCOUNT, 5, -1}},
        {"preempt-after aws/r t 1h30m 999999999x",
         {CLOUD_FAULT_PREEMPT_AFTER, "aws", "r", NULL, "t", CLOUD_REGION, 5400, 999999999}},
        {"timeout-after-launch 1x",
         {CLOUD_FAULT_TIMEOUT_AFTER_LAUNCH, NULL, NULL, NULL, NULL, CLOUD_ACCOUNT, 5, 1}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err e = {0};
        const struct cloud_fault *want = &cases[i].expected;
        AUTO(cloud_faults) struct cloud_faults *t = cloud_faults_new(cases[i].text, &e);
        const struct cloud_fault *got = t && t->n == 1 ? &t->items[0] : NULL;
        CHECK(got && got->kind == want->kind && same(got->provider, want->provider) &&
                  same(got->region, want->region) && same(got->zone, want->zone) &&
                  same(got->instance_type, want->instance_type) && got->scope == want->scope &&
                  got->seconds == want->seconds && got->left == want->left,
              "trouble %zu is read%s%s", i, e.kind ? ": " : "", e.text);
    }
    struct err e = {0};
    AUTO(cloud_faults) struct cloud_faults *none = cloud_faults_new("", &e);
    CHECK(none && none->n == 0, "no faults");
}

static void misread(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"quota\ncapasity", "line 2: no fault is named \"capasity\": did you mean capacity?"},
        {"capacity 0x", "a count is 1x or more"},
        {"capacity 1000000000x", "a count is 1x or more"},
        {"capacity aws/r/z/more", "a location is PROVIDER"},
        {"capacity /r", "a location is PROVIDER"},
        {"auth aws", "auth cannot have \"aws\""},
        {"capacity aws t more", "capacity cannot have \"more\""},
        {"slow-visible", "slow-visible needs a time"},
        {"slow-boot aws 2x", "slow-boot needs a time"},
        {"slow-boot 5parsecs", "parsecs"},
        {"slow-boot 400d", "longer than a year"},
        {"capacity a b c d e f g", "more than 6 words"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err e = {0};
        AUTO(cloud_faults) struct cloud_faults *t = cloud_faults_new(cases[i].text, &e);
        CHECK(!t && e.kind == ERR_USAGE && strstr(e.text, cases[i].message), "%s", e.text);
    }
    static char many[CLOUD_FAULTS_BYTES_MAX + 2];
    for (size_t i = 0; i < CLOUD_FAULTS_MAX + 1; i++)
        memcpy(many + 5 * i, "auth\n", 5);
    struct err e = {0};
    AUTO(cloud_faults) struct cloud_faults *t = cloud_faults_new(many, &e);
    CHECK(!t && strstr(e.text, "more than 1000 faults"), "too many: %s", e.text);
    memset(many, '\n', sizeof many - 1);
    AUTO(cloud_faults) struct cloud_faults *u = cloud_faults_new(many, &e);
    CHECK(!u && strstr(e.text, "more than 65536 bytes"), "too long: %s", e.text);
}

/* What a launch of a p3.2xlarge in aws/us-east-1/us-east-1a meets, and what is there afterwards. */
static void launches(void)
{
    static const struct {
        const char *troubles;
        enum cloud_failure failure;
        enum cloud_scope scope;
        const char *listed;
    } cases[] = {
        {"capacity aws/us-east-1 p3.2xlarge 1x", CLOUD_CAPACITY, CLOUD_REGION, ""},
        {"capacity 1x", CLOUD_CAPACITY, CLOUD_ZONE, ""},
        {"capacity aws/us-east-1/us-east-1a 1x", CLOUD_CAPACITY, CLOUD_ZONE, ""},
        {"capacity aws 1x", CLOUD_CAPACITY, CLOUD_ACCOUNT, ""},
        {"capacity gcp 1x", CLOUD_FINE, CLOUD_ZONE, "t "},
        {"capacity aws/us-west-2 1x", CLOUD_FINE, CLOUD_ZONE, "t "},
        {"capacity aws/us-east-1/us-east-1b 1x", CLOUD_FINE, CLOUD_ZONE, "t "},
        {"capacity * p3.8xlarge 1x", CLOUD_FINE, CLOUD_ZONE, "t "},
        {"quota aws/us-east-1 1x", CLOUD_QUOTA, CLOUD_REGION, ""},
        {"quota aws 1x", CLOUD_QUOTA, CLOUD_ACCOUNT, ""},
        {"unsupported */us-east-1 1x", CLOUD_UNSUPPORTED, CLOUD_REGION, ""},
        {"permission 1x", CLOUD_PERMISSION, CLOUD_ACCOUNT, ""},
        {"auth 1x", CLOUD_AUTH, CLOUD_ACCOUNT, ""},
        {"throttle 1x", CLOUD_THROTTLE, CLOUD_ACCOUNT, ""},
        {"transient 1x", CLOUD_TRANSIENT, CLOUD_ACCOUNT, ""},
        {"timeout-before-launch 1x", CLOUD_UNKNOWN, CLOUD_ACCOUNT, ""},
        {"timeout-after-launch 1x", CLOUD_UNKNOWN, CLOUD_ACCOUNT, "t "},
        {"terminate-fails 1x", CLOUD_FINE, CLOUD_ZONE, "t "},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world w;
        struct cloud_machine m;
        world_init(&w, "sim");
        w.options.troubles = cases[i].troubles;
        AUTO(cloud) struct cloud *c = world_open(&w);
        enum cloud_failure failure = launch(c, "t", &m);
        struct cloud_error met = world_error;
        CHECK(failure == cases[i].failure && met.scope == cases[i].scope, "%s: %s",
              cases[i].troubles, failure ? world_error.err.text : "launched");
        CHECK(strcmp(listed(c), cases[i].listed) == 0, "leaves \"%s\"", cases[i].listed);
        CHECK(failure != CLOUD_THROTTLE || met.retry_after_s == 5, "and says how long to wait");
        CHECK(launch(c, "t", &m) == CLOUD_FINE && strcmp(listed(c), "t ") == 0,
              "the same token again: exactly one machine");
        world_clear(&w);
    }
}

static void existing(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    w.options.troubles = "capacity\nquota";
    AUTO(cloud) struct cloud *full = world_open(&w);
    CHECK(launch(full, "a", &m) == CLOUD_FINE && launch(full, "b", &m) == CLOUD_QUOTA,
          "no capacity and no quota do not matter to a machine that is there");
    world_clear(&w);
}

static void ending(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.options.troubles = "terminate-fails 2x\ntimeout-after-terminate 1x\nlist-fails 1x\n"
                         "list-empty 1x";
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    CHECK(strcmp(listed(c), "failed") == 0 && world_error.failure == CLOUD_TRANSIENT,
          "a list that fails");
    CHECK(strcmp(listed(c), "") == 0 && look(c, "a", &m) == CLOUD_FINE, "a list that is blind");
    CHECK(strcmp(listed(c), "a ") == 0, "and one that is right");
    for (int i = 0; i < 2; i++)
        CHECK(terminate(c, "a") == CLOUD_TRANSIENT && look(c, "a", &m) == CLOUD_FINE &&
                  m.ended_ms == 0,
              "a machine that cannot be given back bills on");
    CHECK(terminate(c, "a") == CLOUD_UNKNOWN && look(c, "a", &m) == CLOUD_FINE &&
              m.state == CLOUD_DELETING,
          "an answer that is lost");
    CHECK(terminate(c, "a") == CLOUD_FINE, "and asked for again");
    world_clear(&w);
}

static void slowness(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.options.boot_s = 0;
    w.options.troubles = "slow-visible 5s 1x\nslow-boot * slow 100s 1x\nnever-boots * dead";
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    CHECK(look(c, "a", &m) == CLOUD_NOT_FOUND && strcmp(listed(c), "") == 0,
          "just launched, not to be seen");
    CHECK(terminate(c, "a") == CLOUD_FINE, "and overlooked when it is given back");
    CHECK(launch(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.ended_ms == 0,
          "but its token finds it");
    CHECK(cloud_next_ms(c) == BEGIN_MS + 5000, "until it shows up");
    w.now_ms += 5000;
    CHECK(look(c, "a", &m) == CLOUD_FINE && strcmp(listed(c), "a ") == 0, "then all see it");
    struct cloud_request q = world_request("slow");
    q.instance_type = "slow";
    launch_as(c, &q, &m);
    CHECK(m.state == CLOUD_REQUESTED && cloud_next_ms(c) == w.now_ms + 100 * 1000,
          "one boots for long");
    q = world_request("dead");
    q.instance_type = "dead";
    launch_as(c, &q, &m);
    w.now_ms += 365 * DAY_MS;
    CHECK(look(c, "dead", &m) == CLOUD_FINE && m.state == CLOUD_REQUESTED &&
              cloud_next_ms(c) == INT64_MAX,
          "one for ever");
    CHECK(cloud_cost_microusd(&m, w.now_ms) == 365LL * 24 * 3060000, "which bills");
    world_clear(&w);
}

static int one_launch(void *context, int number)
{
    struct world *w = context;
    struct err e = {0};
    AUTO(cloud) struct cloud *c = cloud_open(&w->options, &e);
    struct cloud_machine m;

    (void)number;
    /* 1 = refused for capacity */
    return c ? launch(c, "t", &m) == CLOUD_CAPACITY : 2;
}

static void counting(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.options.troubles = "capacity 3x";
    CHECK(world_fork(1, one_launch, &w) == 1 && world_fork(1, one_launch, &w) == 1,
          "two refusals in two processes");
    AUTO(cloud) struct cloud *c = world_open(&w);
    CHECK(launch(c, "t", &m) == CLOUD_CAPACITY && launch(c, "t", &m) == CLOUD_FINE,
          "a third one in ours, and no fourth");
    w.options.troubles = "capacity 1x";
    AUTO(cloud) struct cloud *other = world_open(&w);
    CHECK(launch(other, "u", &m) == CLOUD_CAPACITY && launch(other, "u", &m) == CLOUD_FINE,
          "another text begins anew");
    if (truncate(world_file(&w, "troubles"), 20) < 0)
        perror("truncate");
    AUTO(cloud) struct cloud *damaged = world_open(&w);
    CHECK(launch(damaged, "v", &m) == CLOUD_INVALID &&
              strstr(world_error.err.text, "/clouds/sim/troubles is damaged"),
          "damaged counts are refused: %s", world_error.err.text);
    world_clear(&w);
}

int main(void)
{
    parsed();
    misread();
    launches();
    existing();
    ending();
    slowness();
    counting();
    return TAP_DONE();
}
