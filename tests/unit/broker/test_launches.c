#include "broker/daemon/launches.h"

#include "tap.h"

#include <inttypes.h>

static int64_t turn(struct launches *l, const char *region, int64_t now_ms)
{
    return launches_turn_ms(l, "aws", region, 2, now_ms);
}

/* Two per second after five at once: what EC2 lets RunInstances do. */
static void test_rate(void)
{
    AUTO(launches) struct launches *l = launches_new();
    const int64_t expected[] = {1000, 1000, 1000, 1000, 1000, 1500, 2000, 2500};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int64_t got = turn(l, "us-east-1", 1000);
        CHECK(got == expected[i], "launch %zu has its turn at %" PRId64 ": %" PRId64, i + 1,
              expected[i], got);
    }
    CHECK(turn(l, "eu-west-1", 1000) == 1000, "another region has turns of its own");
    CHECK(launches_turn_ms(l, "gcp", "us-east-1", 2, 1000) == 1000, "and so has another cloud");
    /* Eight turns at 1000 are paid for until 5000. */
    CHECK(turn(l, "us-east-1", 4000) == 4000, "a pause gives turns back");
    CHECK(turn(l, "us-east-1", 4000) == 4000, "as many as the rate has in it");
    CHECK(turn(l, "us-east-1", 4000) == 4000, "up to now");
    CHECK(turn(l, "us-east-1", 4000) == 4500, "and no more");
}

static void test_pause(void)
{
    AUTO(launches) struct launches *l = launches_new();
    unsigned at_once = 0;

    turn(l, "us-east-1", 1000);
    while (turn(l, "us-east-1", 3600000) == 3600000)
        at_once++;
    CHECK(at_once == LAUNCHES_AT_ONCE, "after an hour as many go at once as at first: %u", at_once);
}

int main(void)
{
    test_rate();
    test_pause();
    return TAP_DONE();
}
