#include "fed/half.h"

#include "tap.h"

#include <math.h>
#include <stdbool.h>

/* IEEE 754: sign, exponent with a bias, fraction. */
struct kind {
    const char *name;
    unsigned fraction_bits, bias;
    float (*widen)(uint16_t h);
    uint16_t (*narrow)(double v);
};

static float widen_f16(uint16_t h)
{
    return fed_widen_f16(h);
}

static float widen_bf16(uint16_t h)
{
    return fed_widen_bf16(h);
}

static uint16_t narrow_f16(double v)
{
    return fed_narrow_f16(v);
}

static uint16_t narrow_bf16(double v)
{
    return fed_narrow_bf16(v);
}

static const struct kind kinds[] = {{"f16", 10, 15, widen_f16, narrow_f16},
                                    {"bf16", 7, 127, widen_bf16, narrow_bf16}};

/* By the definition of the format; NaN and infinity by name. */
static double meaning(const struct kind *k, uint16_t h)
{
    unsigned fraction = h & ((1u << k->fraction_bits) - 1);
    unsigned exponent = (h & 0x7fffu) >> k->fraction_bits;
    int unit = 1 - (int)k->bias - (int)k->fraction_bits;
    double v;

    if (exponent == 2 * k->bias + 1)
        v = fraction ? (double)NAN : HUGE_VAL;
    else if (exponent == 0)
        v = ldexp((double)fraction, unit);
    else
        v = ldexp((double)(fraction + (1u << k->fraction_bits)), unit + (int)exponent - 1);
    return h & 0x8000 ? -v : v;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_all_values(const struct kind *k)
{
    unsigned wide = 0, back = 0;
    uint16_t quiet = k->narrow((double)NAN);

    for (unsigned h = 0; h < 65536; h++) {
        double v = meaning(k, (uint16_t)h);
        wide += !same((double)k->widen((uint16_t)h), v);
        back += k->narrow(v) != (isnan(v) ? quiet : h);
    }
    CHECK(wide == 0, "%s: all 65,536 values mean what the format says", k->name);
    CHECK(back == 0, "%s: and come back, every NaN as the same", k->name);
    CHECK(isnan(meaning(k, quiet)) && !(quiet & 0x8000) && quiet >> (k->fraction_bits - 1) & 1,
          "%s: which is a quiet one", k->name);
}

/* Between two neighbours: the half way goes to the even one, everything else to the nearer. */
static void check_rounding(const struct kind *k)
{
    unsigned infinity = (2 * k->bias + 1) << k->fraction_bits, wrong = 0;

    for (unsigned h = 0; h + 1 < infinity; h++) {
        double low = meaning(k, (uint16_t)h), high = meaning(k, (uint16_t)(h + 1));
        double half = low + (high - low) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        wrong += k->narrow(half) != even;
        wrong += k->narrow(-half) != (even | 0x8000);
        wrong += k->narrow(nextafter(half, 0)) != h;
        wrong += k->narrow(nextafter(half, HUGE_VAL)) != h + 1;
        wrong += k->narrow(-nextafter(half, HUGE_VAL)) != ((h + 1) | 0x8000);
    }
    CHECK(wrong == 0, "%s: between neighbours the nearer one, at half way the even one", k->name);
}

static void check_ends(const struct kind *k)
{
    uint16_t infinity = (uint16_t)((2 * k->bias + 1) << k->fraction_bits);
    double largest = meaning(k, (uint16_t)(infinity - 1));
    double beyond = ldexp(1, (int)k->bias + 1);
    double limit = largest + (beyond - largest) / 2;
    double least = meaning(k, 1);

    CHECK(k->narrow(limit) == infinity && k->narrow(nextafter(limit, 0)) == infinity - 1,
          "%s: half a unit beyond the largest is infinite, less is not", k->name);
    CHECK(k->narrow(1e300) == infinity && k->narrow(-1e300) == (infinity | 0x8000),
          "%s: and so is what is far beyond", k->name);
    CHECK(k->narrow(least / 2) == 0 && k->narrow(nextafter(least / 2, 1)) == 1,
          "%s: half of the least is 0, more is the least", k->name);
    CHECK(k->narrow(-1e-300) == 0x8000 && k->narrow(0x1p-1074) == 0 && k->narrow(-0.0) == 0x8000,
          "%s: zeros keep their sign", k->name);
}

int main(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        check_all_values(&kinds[i]);
        check_rounding(&kinds[i]);
        check_ends(&kinds[i]);
    }
    /* 1 + 2^-11 + 2^-40: a float would forget the last bit, find a tie and round it down. */
    CHECK(fed_narrow_f16(1 + 0x1p-11 + 0x1p-40) == 0x3c01, "a double is rounded once, not twice");
    return TAP_DONE();
}
