#include "base/money.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    static const struct {
        double usd;
        int64_t microusd;
    } amounts[] = {
        {0, 0},
        {1, 1000000},
        {0.1, 100000},
        {1e-6, 1},
        {4e-7, 0},
        {0.5e-6, 1},
        {1.5e-6, 2},
        {2.5e-6, 3},
        {-1.5e-6, -1},
        {-2, -2000000},
        {0.0000004999, 0},
        {12.345678, 12345678},
        {1e9, 1000000000000000},
    };
    static const struct {
        int64_t microusd;
        const char *text;
    } texts[] = {
        {0, "$0.00"},
        {12345678, "$12.35"},
        {12344999, "$12.34"},
        {12345000, "$12.35"},
        {10000, "$0.01"},
        {9999, "$0.01"},
        {9950, "$0.01"},
        {9949, "$0.0099"},
        {4210, "$0.0042"},
        {4250, "$0.0043"},
        {4000, "$0.0040"},
        {999, "$0.0010"},
        {994, "$0.00099"},
        {123, "$0.00012"},
        {42, "$0.000042"},
        {5, "$0.000005"},
        {-1000000, "-$1.00"},
        {-7, "-$0.000007"},
        {1234567890000, "$1234567.89"},
        {INT64_MIN, "-$9223372036854.78"},
    };
    char out[32];

    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        CHECK(money_from_usd(amounts[i].usd) == amounts[i].microusd, "%.10g USD is %lld micro-USD",
              amounts[i].usd, (long long)amounts[i].microusd);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(strcmp(money_text(texts[i].microusd, out), texts[i].text) == 0,
              "%lld reads %s, got %s", (long long)texts[i].microusd, texts[i].text, out);
    CHECK(money_to_usd(12345678) == 12.345678, "and back to dollars");
    CHECK(!strcmp(money_typed_text(2241000, out), "2.25") &&
              !strcmp(money_typed_text(31200, out), "0.031200") &&
              !strcmp(money_typed_text(2250000, out), "2.25"),
          "typed: rounded up to cents, small amounts exact");
    return TAP_DONE();
}
