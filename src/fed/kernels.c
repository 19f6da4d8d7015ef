#include "fed/kernels.h"

#include "fed/half.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors in files are little-endian");

/* Bodies take the type as a constant and are inlined into a function for each processor, so that
 * one text becomes loops of vector instructions for every type and processor. */

FED_INLINE double load(enum fed_dtype t, const void *in, size_t i)
{
    switch ((int)t) {
    case FED_F64:
        return ((const double *)in)[i];
    case FED_F32:
        return (double)((const float *)in)[i];
    case FED_F16:
        return (double)fed_widen_f16(((const uint16_t *)in)[i]);
    default:
        return (double)fed_widen_bf16(((const uint16_t *)in)[i]);
    }
}

/* Rounds once. A NaN has one look, whatever the processor made of it. */
FED_INLINE void store(enum fed_dtype t, void *out, size_t i, double v)
{
    double wide = v == v ? v : (double)NAN;

    switch ((int)t) {
    case FED_F64:
        ((double *)out)[i] = wide;
        break;
    case FED_F32:
        ((float *)out)[i] = (float)wide;
        break;
    case FED_F16:
        ((uint16_t *)out)[i] = fed_narrow_f16(wide);
        break;
    default:
        ((uint16_t *)out)[i] = fed_narrow_bf16(wide);
    }
}

/* A loop of its own: together with storing, compilers make no vector instructions of it. */
FED_INLINE size_t count_nonfinite(enum fed_dtype t, const void *in, size_t count)
{
    size_t bad = 0;

    for (size_t i = 0; i < count; i++)
        bad += fabs(load(t, in, i)) <= DBL_MAX ? 0 : 1;
    return bad;
}

/* Calls f for the block with its type as a constant. */
#define OF_TYPE(f, b)                                                                              \
    ((b)->dtype == FED_F64   ? f(FED_F64, b)                                                       \
     : (b)->dtype == FED_F32 ? f(FED_F32, b)                                                       \
     : (b)->dtype == FED_F16 ? f(FED_F16, b)                                                       \
                             : f(FED_BF16, b))

/* ---- sums ---- */

FED_INLINE void add_one(
    enum fed_dtype t, double *restrict sum, const void *in, double weight, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += weight * load(t, in, i);
}

/* Sums stay in registers for the whole group. */
FED_INLINE void add_group(
    enum fed_dtype t, double *restrict sum, const void *const *in, const double *w, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] = sum[i] + w[0] * load(t, in[0], i) + w[1] * load(t, in[1], i) +
                 w[2] * load(t, in[2], i) + w[3] * load(t, in[3], i) + w[4] * load(t, in[4], i) +
                 w[5] * load(t, in[5], i) + w[6] * load(t, in[6], i) + w[7] * load(t, in[7], i);
}

/* What an addition loses is itself a double (Knuth, TAOCP 2, 4.2.2, theorem B). */
FED_INLINE void add_exactly(double *sum, double *rest, double v)
{
    double s = *sum + v, added = s - *sum;

    *rest += (*sum - (s - added)) + (v - added);
    *sum = s;
}

FED_INLINE void add_wide(double *restrict sum,
                         double *restrict rest,
                         const double *restrict in,
                         double weight,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_exactly(&sum[i], &rest[i], weight * in[i]);
}

FED_INLINE void add(enum fed_dtype t, const struct fed_block *b)
{
    size_t k = 0;

    for (; t == FED_F64 && k < b->n_in; k++)
        add_wide(b->sum, b->rest, b->in[k], b->weights[k], b->count);
    for (; k + FED_GROUP <= b->n_in; k += FED_GROUP)
        add_group(t, b->sum, b->in + k, b->weights + k, b->count);
    for (; k < b->n_in; k++)
        add_one(t, b->sum, b->in[k], b->weights[k], b->count);
}

/* Where a sum is not finite, what it lost means nothing. */
FED_INLINE double with_rest(double sum, double rest)
{
    return fabs(sum) <= DBL_MAX ? sum + rest : sum;
}

FED_INLINE size_t finish(enum fed_dtype t, const struct fed_block *b)
{
    const double *restrict sum = b->sum, *restrict rest = b->rest;
    void *restrict out = b->out;
    const double total = b->total;
    const size_t count = b->count;

    for (size_t i = 0; i < count; i++)
        store(t, out, i, (t == FED_F64 ? with_rest(sum[i], rest[i]) : sum[i]) / total);
    return count_nonfinite(t, out, count);
}

/* ---- trimmed means ---- */

FED_INLINE void exchange(double *restrict a, double *restrict b)
{
    for (size_t j = 0; j < FED_LANES; j++) {
        double lesser = a[j] < b[j] ? a[j] : b[j], greater = a[j] < b[j] ? b[j] : a[j];
        a[j] = lesser;
        b[j] = greater;
    }
}

/* Sorts each lane over the rows: Batcher's merge exchange (Knuth, TAOCP 3, 5.2.2, algorithm M),
 * whose comparisons do not depend on the numbers, so that all lanes make them together. */
FED_INLINE void sort_rows(double *rows, size_t n)
{
    size_t top = 1;

    while (top * 2 < n)
        top *= 2;
    for (size_t p = top; n > 1 && p > 0; p /= 2) {
        size_t q = top, r = 0, d = p;
        for (;;) {
            for (size_t i = 0; i + d < n; i++)
                if ((i & p) == r)
                    exchange(rows + i * FED_LANES, rows + (i + d) * FED_LANES);
            if (q == p)
                break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
}

/* A NaN goes where the largest go, and is counted. */
FED_INLINE void fill_row(enum fed_dtype t,
                         double *restrict row,
                         double *restrict nans,
                         const void *restrict in,
                         size_t from,
                         size_t count)
{
    for (size_t j = 0; j < count; j++) {
        double v = load(t, in, from + j);
        nans[j] += v == v ? 0 : 1;
        row[j] = v == v ? v : (double)INFINITY;
    }
}

FED_INLINE void mean_of_rows(
    const double *rows, size_t n, const double *nans, double drop, double *out)
{
    double sum[FED_LANES], rest[FED_LANES];

    for (size_t j = 0; j < FED_LANES; j++)
        sum[j] = rest[j] = -0.0;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < FED_LANES; j++)
            add_exactly(&sum[j], &rest[j], rows[k * FED_LANES + j]);
    for (size_t j = 0; j < FED_LANES; j++)
        out[j] = nans[j] > drop ? (double)NAN : with_rest(sum[j], rest[j]) / (double)n;
}

FED_INLINE size_t trimmed(enum fed_dtype t, const struct fed_block *b)
{
    double *rows = b->rows;

    for (size_t from = 0; from < b->count; from += FED_LANES) {
        size_t lanes = b->count - from < FED_LANES ? b->count - from : FED_LANES;
        double nans[FED_LANES] = {0}, means[FED_LANES];
        for (size_t k = 0; k < b->n_in; k++)
            fill_row(t, rows + k * FED_LANES, nans, b->in[k], from, lanes);
        sort_rows(rows, b->n_in);
        mean_of_rows(rows + b->drop * FED_LANES, b->n_in - 2 * b->drop, nans, (double)b->drop,
                     means);
        for (size_t j = 0; j < lanes; j++)
            store(t, b->out, from + j, means[j]);
    }
    return count_nonfinite(t, b->out, b->count);
}

size_t fed_first_nonfinite(enum fed_dtype t, const void *in, size_t count)
{
    size_t i = 0;

    while (i < count && fabs(load(t, in, i)) <= DBL_MAX)
        i++;
    return i;
}

/* ---- one set for each processor ---- */

static void add_plain(const struct fed_block *b)
{
    OF_TYPE(add, b);
}

static size_t finish_plain(const struct fed_block *b)
{
    return OF_TYPE(finish, b);
}

static size_t trimmed_plain(const struct fed_block *b)
{
    return OF_TYPE(trimmed, b);
}

static const struct fed_kernels plain = {add_plain, finish_plain, trimmed_plain};

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))
_Static_assert(FED_GROUP == 8, "add_floats and add_group add eight inputs");

/* Four numbers from the i-th on, times the weight. */
AVX2 FED_INLINE __m256d four(bool weighted, double weight, const float *in, size_t i)
{
    __m256d numbers = _mm256_cvtps_pd(_mm_loadu_ps(in + i));

    return weighted ? _mm256_mul_pd(_mm256_set1_pd(weight), numbers) : numbers;
}

/* As add_group. Compilers load eight floats, take them apart to widen each half, and run out of
 * registers: this takes two thirds of their time. Without weights, where every one is 1, as it
 * mostly is: products would take a tenth of the time. */
AVX2 FED_INLINE void add_floats(
    bool weighted, double *sum, const float *const *in, const double *w, size_t count)
{
    const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6],
                 w7 = w[7];
    size_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256d s = _mm256_loadu_pd(sum + i);
        s = _mm256_add_pd(s, four(weighted, w0, in[0], i));
        s = _mm256_add_pd(s, four(weighted, w1, in[1], i));
        s = _mm256_add_pd(s, four(weighted, w2, in[2], i));
        s = _mm256_add_pd(s, four(weighted, w3, in[3], i));
        s = _mm256_add_pd(s, four(weighted, w4, in[4], i));
        s = _mm256_add_pd(s, four(weighted, w5, in[5], i));
        s = _mm256_add_pd(s, four(weighted, w6, in[6], i));
        s = _mm256_add_pd(s, four(weighted, w7, in[7], i));
        _mm256_storeu_pd(sum + i, s);
    }
    for (; i < count; i++)
        for (size_t k = 0; k < FED_GROUP; k++)
            sum[i] += w[k] * (double)in[k][i];
}

static bool are_ones(const double *weights)
{
    for (size_t k = 0; k < FED_GROUP; k++)
        if (weights[k] < 1 || weights[k] > 1)
            return false;
    return true;
}

AVX2 static void add_avx2(const struct fed_block *block)
{
    struct fed_block b = *block;

    for (; b.dtype == FED_F32 && b.n_in >= FED_GROUP; b.n_in -= FED_GROUP) {
        if (are_ones(b.weights))
            add_floats(false, b.sum, (const float *const *)b.in, b.weights, b.count);
        else
            add_floats(true, b.sum, (const float *const *)b.in, b.weights, b.count);
        b.in += FED_GROUP;
        b.weights += FED_GROUP;
    }
    OF_TYPE(add, &b);
}

AVX2 static size_t finish_avx2(const struct fed_block *b)
{
    return OF_TYPE(finish, b);
}

AVX2 static size_t trimmed_avx2(const struct fed_block *b)
{
    return OF_TYPE(trimmed, b);
}

static const struct fed_kernels avx2 = {add_avx2, finish_avx2, trimmed_avx2};

#endif

const struct fed_kernels *fed_kernels_plain(void)
{
    return &plain;
}

const struct fed_kernels *fed_kernels_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return &avx2;
#endif
    return &plain;
}
