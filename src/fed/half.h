/* half: numbers of 16 bits (F16 is IEEE binary16, BF16 the upper half of an F32) to wider ones and
 * back. No branches, so that compilers make vector instructions of loops over them. */
#ifndef FED_HALF_H
#define FED_HALF_H

#include <stdint.h>
#include <string.h>

#define FED_INLINE static inline __attribute__((always_inline))

FED_INLINE float fed_float_of_bits(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

FED_INLINE double fed_double_of_bits(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

FED_INLINE uint64_t fed_bits_of_double(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

FED_INLINE float fed_widen_bf16(uint16_t h)
{
    return fed_float_of_bits((uint32_t)h << 16);
}

/* Exact. Subnormals become 2^-14 plus themselves, of which 2^-14 is taken away again. */
FED_INLINE float fed_widen_f16(uint16_t h)
{
    const uint32_t rebias = (uint32_t)(127 - 15) << 23, one = (uint32_t)1 << 23;
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = magnitude & (uint32_t)0x1f << 23;
    uint32_t normal = magnitude + rebias + (exponent == (uint32_t)0x1f << 23 ? rebias : 0);
    float least = fed_float_of_bits(rebias + one);
    float small = fed_float_of_bits(magnitude + rebias + one) - least;
    uint32_t small_bits;

    memcpy(&small_bits, &small, sizeof small_bits);
    return fed_float_of_bits(sign | (exponent ? normal : small_bits));
}

/* The nearest number with so many bits of fraction and this bias of the exponent, ties to even, in
 * one step from the double: by way of a float it would be rounded twice. What is too large becomes
 * infinite, every NaN the same quiet one. */
FED_INLINE uint16_t fed_narrow(double v, unsigned fraction_bits, unsigned bias)
{
    const unsigned shift = 52 - fraction_bits;
    const uint64_t infinity = (uint64_t)(2 * bias + 1) << fraction_bits;
    const uint64_t least_normal = (uint64_t)(1023 + 1 - bias) << 52;
    /* Added to this, a double has its last bit where the smallest subnormals have it. */
    const uint64_t round_small = (uint64_t)(1023 + 53 - bias - fraction_bits) << 52;
    uint64_t bits = fed_bits_of_double(v), magnitude = bits & INT64_MAX;
    uint64_t tie = ((uint64_t)1 << (shift - 1)) - 1 + (magnitude >> shift & 1);
    uint64_t normal = ((magnitude + tie) >> shift) - ((uint64_t)(1023 - bias) << fraction_bits);
    uint64_t small =
        fed_bits_of_double(fed_double_of_bits(magnitude) + fed_double_of_bits(round_small)) -
        round_small;
    uint64_t result = magnitude < least_normal ? small : normal < infinity ? normal : infinity;

    result |= bits >> 63 << 15;
    return (uint16_t)(v == v ? result : (infinity | (uint64_t)1 << (fraction_bits - 1)));
}

FED_INLINE uint16_t fed_narrow_f16(double v)
{
    return fed_narrow(v, 10, 15);
}

FED_INLINE uint16_t fed_narrow_bf16(double v)
{
    return fed_narrow(v, 7, 127);
}

#endif
