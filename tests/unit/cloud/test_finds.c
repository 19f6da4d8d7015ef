#include "cloud/finds.h"

#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SEEKERS 16
#define NOW_MS ((int64_t)1000)

static atomic_uint sought;

static bool has(struct cloud_finds *f, const char *key, int64_t now_ms, int expected)
{
    int got = 0;

    return cloud_finds_get(f, key, now_ms, &got, sizeof got) && got == expected;
}

static void put(struct cloud_finds *f, const char *key, int value)
{
    cloud_finds_put(f, key, NOW_MS, &value, sizeof value);
}

static void test_keeping(void)
{
    AUTO(cloud_finds) struct cloud_finds *f = cloud_finds_new();

    CHECK(!has(f, "image", NOW_MS, 7), "nothing is known at first");
    put(f, "image", 7);
    CHECK(has(f, "image", NOW_MS, 7), "what was found is kept");
    CHECK(has(f, "image", NOW_MS + CLOUD_FINDS_MS - 1, 7), "for two minutes");
    CHECK(!has(f, "image", NOW_MS + CLOUD_FINDS_MS, 7), "and no longer");
    put(f, "image", 8);
    CHECK(!has(f, "other", NOW_MS, 8), "another key is another thing");
    cloud_finds_fail(f, "other");
    CHECK(!has(f, "other", NOW_MS, 0), "what was not found is not kept");
    put(f, "other", 9);
    cloud_finds_drop(f);
    CHECK(!has(f, "image", NOW_MS, 8) && !has(f, "other", NOW_MS, 9), "all can be forgotten");
}

static void test_none(void)
{
    CHECK(!has(NULL, "image", NOW_MS, 0), "without finds nothing is known");
    put(NULL, "image", 1);
    cloud_finds_fail(NULL, "image");
    cloud_finds_drop(NULL);
    CHECK(!has(NULL, "image", NOW_MS, 1), "and nothing kept");
}

static void test_many(void)
{
    AUTO(cloud_finds) struct cloud_finds *f = cloud_finds_new();
    char key[CLOUD_FINDS_KEY + 10];
    unsigned known = 0;

    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "%d", i);
        known += has(f, key, NOW_MS, i);
        put(f, key, i);
    }
    CHECK(known == 0, "many keys are asked for");
    CHECK(has(f, "0", NOW_MS, 0), "the first are kept");
    CHECK(!has(f, "2999", NOW_MS, 2999), "there is a bound");
    memset(key, 'a', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    CHECK(!has(f, key, NOW_MS, 0) && !has(f, key, NOW_MS, 0), "a long key is never waited for");
}

/* The first thread fails, the second finds it, and all others have it from there. */
static void *seek(void *context)
{
    int value = 0;

    if (!cloud_finds_get(context, "group", NOW_MS, &value, sizeof value)) {
        if (atomic_fetch_add(&sought, 1) == 0) {
            cloud_finds_fail(context, "group");
            return NULL;
        }
        value = 5;
        cloud_finds_put(context, "group", NOW_MS, &value, sizeof value);
    }
    return value == 5 ? context : NULL;
}

static void test_threads(void)
{
    AUTO(cloud_finds) struct cloud_finds *f = cloud_finds_new();
    pthread_t threads[SEEKERS];
    unsigned found = 0;
    void *result;

    for (unsigned i = 0; i < SEEKERS; i++)
        pthread_create(&threads[i], NULL, seek, f);
    for (unsigned i = 0; i < SEEKERS; i++) {
        pthread_join(threads[i], &result);
        found += result != NULL;
    }
    CHECK(sought == 2, "one thread at a time looks for a thing: %u", sought);
    CHECK(found == SEEKERS - 1, "and all but the one that failed have it: %u", found);
}

int main(void)
{
    test_keeping();
    test_none();
    test_many();
    test_threads();
    return TAP_DONE();
}
