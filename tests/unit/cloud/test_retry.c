/* When a failed call of a cloud is tried again. */
#include "cloud/retry.h"

#include "cloud/driver.h"
#include "cloud/images.h"
#include "tap.h"
#include "world.h"

#include <string.h>

static double waited_s;

static void note_wait(void *context, double seconds)
{
    (void)context;
    waited_s = seconds;
}

static void after_headers(void)
{
    /* 1994-11-06T08:49:37Z, as RFC 9110 writes dates */
    const int64_t now_ms = 784111777000 - 20000;

    CHECK(cloud_retry_after_s("7", now_ms) == 7, "seconds");
    CHECK(cloud_retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", now_ms) == 20, "a date");
    CHECK(cloud_retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", now_ms + 60000) == 0, "in the past");
    CHECK(cloud_retry_after_s(NULL, now_ms) == 0 && cloud_retry_after_s("soon", now_ms) == 0 &&
              cloud_retry_after_s("-5", now_ms) == 0,
          "none");
}

static void waits(struct cloud *c)
{
    struct cloud_error e = {.failure = CLOUD_TRANSIENT};
    struct cloud_retry r = {0};
    bool good = true;

    for (int i = 0; i < 90; i++) {
        unsigned n = (unsigned)i % 3 + 1;
        good = good && cloud_retry_again(c, &r, n, &e) && waited_s >= 0 &&
               waited_s <= (double)(1 << (n - 1));
        cloud_retry_well(&r, n + 1);
    }
    CHECK(good, "at most 1, 2, 4 s");
    CHECK(!cloud_retry_again(c, &r, 4, &e), "four tries at most");
    e = (struct cloud_error){.failure = CLOUD_THROTTLE, .retry_after_s = 7};
    good = true;
    for (int i = 0; i < 50; i++)
        good = good && cloud_retry_again(c, &r, 1, &e) && waited_s >= 7 && waited_s <= 7;
    CHECK(good, "never before the cloud says");
    e.retry_after_s = 600;
    CHECK(!cloud_retry_again(c, &r, 1, &e), "longer waits are the caller's");
    e = (struct cloud_error){.failure = CLOUD_CAPACITY};
    CHECK(!cloud_retry_again(c, &r, 1, &e), "a refusal is final");
}

static void budget(struct cloud *c)
{
    struct cloud_error e = {.failure = CLOUD_UNKNOWN};
    struct cloud_retry r = {0};
    int n = 0;

    while (cloud_retry_again(c, &r, 1, &e))
        n++;
    CHECK(n == 100, "500 tokens are 100 retries: %d", n);
    cloud_retry_well(&r, 1);
    CHECK(!cloud_retry_again(c, &r, 1, &e), "a call that goes well gives one back");
    cloud_retry_well(&r, 2);
    CHECK(cloud_retry_again(c, &r, 1, &e), "a retry that goes well gives all five back");
}

static void codes(void)
{
    static const struct cloud_code table[] = {
        {"A", "disk", CLOUD_QUOTA, CLOUD_REGION, false},
        {"A", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    };

    CHECK(cloud_code_find(table, 2, "A", "no disk left") == &table[0] &&
              cloud_code_find(table, 2, "A", "") == &table[1] &&
              !cloud_code_find(table, 2, "B", "disk"),
          "the first that fits code and message");
}

static void images(void)
{
    AUTO(arena) struct arena *a = arena_new(1 << 16);
    struct cloud_image image;
    struct err e = {0};

    CHECK(cloud_image_find(a, "aws", NULL, NULL, &image, &e) == 0 &&
              strcmp(image.name, "ubuntu-22.04") == 0 && strcmp(image.login, "ubuntu") == 0,
          "without GPUs: %s", image.name);
    CHECK(cloud_image_find(a, "aws", NULL, "V100", &image, &e) == 0 &&
              strcmp(image.name, "deep-learning") == 0,
          "with GPUs: %s", image.name);
    CHECK(cloud_image_find(a, "aws", "debian-12", "V100", &image, &e) == 0 &&
              strcmp(image.login, "admin") == 0,
          "by its name");
    CHECK(cloud_image_find(a, "gcp", NULL, NULL, &image, &e) == 0 &&
              strcmp(image.name, "ubuntu-22.04") == 0 && strcmp(image.login, "tradewind") == 0 &&
              strcmp(image.owner, "ubuntu-os-cloud") == 0,
          "another provider's: %s", image.pattern);
    CHECK(cloud_image_find(a, "aws", "windows", NULL, &image, &e) < 0 && e.kind == ERR_USAGE, "%s",
          e.text);
}

int main(void)
{
    struct world w;

    world_init(&w, "sim");
    w.options.outside.wait = note_wait;
    AUTO(cloud) struct cloud *c = world_open(&w);
    after_headers();
    waits(c);
    budget(c);
    codes();
    images();
    world_clear(&w);
    return TAP_DONE();
}
