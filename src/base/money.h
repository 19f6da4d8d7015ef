/* money: amounts are int64_t micro-dollars. Rates (USD per hour, per GB) stay double, because
 * list prices go below a micro-dollar; a rate becomes an amount here, rounded half up. */
#ifndef BASE_MONEY_H
#define BASE_MONEY_H

#include <stdint.h>

/* floor(usd * 1e6 + 0.5); usd must be finite and at most MONEY_MAX_USD either way (asserted). */
int64_t money_from_usd(double usd);
double money_to_usd(int64_t microusd);

/* More than this in one amount is taken for a mistake; sums of nine thousand fit int64_t. */
#define MONEY_MAX_USD 1e9

/* "$12.35", "$0.0042" (two significant digits below a cent, never less than a micro-dollar),
 * "-$1.00". Written into out and returned. */
const char *money_text(int64_t microusd, char out[static 32]);
/* Dollars as options take them, rounded up to cents, below ten cents exact: "2.25", "0.031200". */
const char *money_typed_text(int64_t microusd, char out[static 32]);

#endif
