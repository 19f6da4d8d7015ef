/* How far a job comes on one offer, by hand. Times in hours. */
#include "market/replay.h"

#include "tap.h"

#include <math.h>
#include <stdbool.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* Rented at 10, works from 11 on at twice the reference's speed; 0.5 h of writing after every 2. */
static void check_checkpoints(void)
{
    const struct market_stay s = {.speed = 2,
                                  .tau_s = 2,
                                  .write_s = 0.5,
                                  .begin_s = 10,
                                  .ready_s = 11,
                                  .max_s = (double)INFINITY};

    CHECK(near(market_stay_work(&s, 10.5), 0), "nothing while it starts");
    CHECK(near(market_stay_work(&s, 12.5), 3) && near(market_stay_saved(&s, 12.5), 0),
          "1.5 h of work, in no checkpoint yet");
    CHECK(near(market_stay_work(&s, 13.4), 4) && near(market_stay_saved(&s, 13.4), 0),
          "a checkpoint being written is none");
    CHECK(near(market_stay_work(&s, 14), 5) && near(market_stay_saved(&s, 14), 4),
          "the first one is there");
    /* 2 + 0.5 + 2: the last stretch needs none. */
    CHECK(near(market_stay_until(&s, 8), 15.5), "when 8 are done");
    CHECK(near(market_stay_until(&s, 9), 16.5), "when 9 are: a checkpoint and half an hour later");
}

/* A lease of 24 with 2 until it works again: 22 of work in the first (ready at 2), 22 in each
 * after. */
static void check_renewals(void)
{
    const struct market_stay s = {.speed = 1,
                                  .tau_s = (double)INFINITY,
                                  .begin_s = 0,
                                  .ready_s = 2,
                                  .max_s = 24,
                                  .renew_s = 2};

    CHECK(near(market_stay_renewals(&s, 23.9), 0) && near(market_stay_renewals(&s, 50), 2),
          "how often it was rented again");
    CHECK(near(market_stay_work(&s, 25), 22) && near(market_stay_work(&s, 27), 23),
          "nothing is done while it starts again, nothing is lost");
    CHECK(near(market_stay_saved(&s, 30), 22), "what was done before the renewal is saved");
    CHECK(near(market_stay_until(&s, 22), 24) && near(market_stay_until(&s, 23), 27),
          "when so much is done");
    const struct market_stay never = {
        .speed = 1, .tau_s = (double)INFINITY, .ready_s = 23, .max_s = 24, .renew_s = 24};
    CHECK(isinf(market_stay_until(&never, 2)), "leases that are all start-up never get there");
}

int main(void)
{
    check_checkpoints();
    check_renewals();
    return TAP_DONE();
}
