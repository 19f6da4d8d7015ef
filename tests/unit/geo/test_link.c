/* How long bytes take: by hand, from the round trip, the windows and the rates. */
#include "geo/model.h"

#include "tap.h"

#include <math.h>

static const struct geo_link far = {true, 0, 10e6, 0.1};
static const struct geo_link near = {true, 0, (double)INFINITY, 0};
static const struct geo_store store = {.connection_bytes_per_s = 85e6, .request_s = 0.1};

static int is(double got, double wanted)
{
    return fabs(got - wanted) <= 1e-12 * fmax(fabs(wanted), 1);
}

int main(void)
{
    const struct geo_link wide = {true, 0, 1e9, 0.1};

    CHECK(is(geo_link_rate(&far, &store, 1, (double)INFINITY), 10e6), "the link holds it back");
    CHECK(is(geo_link_rate(&wide, &store, 1, (double)INFINITY), 3 * 1048576 / 0.1),
          "a window of 3 MiB per round trip holds one connection back");
    CHECK(is(geo_link_rate(&wide, &store, 8, (double)INFINITY), 8 * 3 * 1048576 / 0.1),
          "eight have eight windows");
    CHECK(is(geo_link_rate(&wide, &store, 64, (double)INFINITY), 1e9), "until the link is full");
    CHECK(is(geo_link_rate(&wide, &store, 64, 125e6), 125e6), "or the machine's network");
    CHECK(is(geo_link_rate(&near, &store, 1, (double)INFINITY), 85e6),
          "within a place the store holds it back");
    CHECK(is(geo_link_handshake_s(&far), 0.2), "TCP and TLS take a round trip each");
    /* The window of 1 MB is full after 14600 * 2^7 >= 1e6: seven round trips carry 127 first
     * windows. */
    CHECK(is(geo_link_slow_start_s(&far, 20e6, 10e6, 1), 0.7 - 14600 * 127 / 10e6), "slow start");
    /* 14600, 29200 and 58400: three flights carry 100,000 bytes. */
    CHECK(is(geo_link_slow_start_s(&far, 100e3, 10e6, 1) + 100e3 / 10e6, 0.3),
          "what is over before takes its flights");
    CHECK(is(geo_link_slow_start_s(&far, 10e3, 10e6, 1) + 10e3 / 10e6, 0.1),
          "what fits the first window, one");
    CHECK(is(geo_link_slow_start_s(&near, 20e6, 85e6, 1), 0), "none without a round trip");
    /* Two connections begin with 29200 bytes and fill 1 MB after six. */
    CHECK(is(geo_link_slow_start_s(&far, 20e6, 10e6, 2), 0.6 - 29200 * 63 / 10e6),
          "two connections are through sooner");
    CHECK(is(geo_link_request_s(&far, &store, 20e6, 1, (double)INFINITY),
             0.1 + 0.1 + (0.7 - 0.18542) + 2),
          "a request: round trip, store, slow start, bytes");
    return TAP_DONE();
}
