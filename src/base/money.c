#include "base/money.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MICROUSD_PER_CENT 10000

int64_t money_from_usd(double usd)
{
    assert(fabs(usd) <= MONEY_MAX_USD);
    return (int64_t)floor(usd * 1e6 + 0.5);
}

double money_to_usd(int64_t microusd)
{
    return (double)microusd / 1e6;
}

/* An amount of 1 to 9999 micro-dollars with two significant digits: 4210 is 0.0042. */
static void small_text(const char *sign, uint64_t microusd, char out[static 32])
{
    uint64_t step = 1;
    int decimals = 6;

    while (microusd / step >= 100 || (microusd + step / 2) / step >= 100) {
        step *= 10;
        decimals--;
    }
    snprintf(out, 32, "%s$0.%0*" PRIu64, sign, decimals, (microusd + step / 2) / step);
}

const char *money_text(int64_t microusd, char out[static 32])
{
    const char *sign = microusd < 0 ? "-" : "";
    uint64_t size = microusd < 0 ? -(uint64_t)microusd : (uint64_t)microusd;

    if (size > 0 && size < MICROUSD_PER_CENT - 50) {
        small_text(sign, size, out);
        return out;
    }
    uint64_t cents = (size + MICROUSD_PER_CENT / 2) / MICROUSD_PER_CENT;
    snprintf(out, 32, "%s$%" PRIu64 ".%02" PRIu64, sign, cents / 100, cents % 100);
    return out;
}

const char *money_typed_text(int64_t microusd, char out[static 32])
{
    const int64_t cent = 10000;

    if (microusd < 10 * cent)
        snprintf(out, 32, "%.6f", money_to_usd(microusd));
    else
        snprintf(out, 32, "%.2f", money_to_usd((microusd + cent - 1) / cent * cent));
    return out;
}
