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

FED_INLINE void add_narrow(enum fed_dtype t,
                           double *sum,
                           const void *const *in,
                           const double *weights,
                           size_t n_in,
                           size_t count)
{
    size_t k = 0;

    for (; k + FED_GROUP <= n_in; k += FED_GROUP)
        add_group(t, sum, in + k, weights + k, count);
    for (; k < n_in; k++)
        add_one(t, sum, in[k], weights[k], count);
}

FED_INLINE void add(enum fed_dtype t,
                    double *sum,
                    double *rest,
                    const void *const *in,
                    const double *weights,
                    size_t n_in,
                    size_t count)
{
    switch ((int)t) {
    case FED_F64:
        for (size_t k = 0; k < n_in; k++)
            add_wide(sum, rest, in[k], weights[k], count);
        break;
    case FED_F32:
        add_narrow(FED_F32, sum, in, weights, n_in, count);
        break;
    case FED_F16:
        add_narrow(FED_F16, sum, in, weights, n_in, count);
        break;
    default:
        add_narrow(FED_BF16, sum, in, weights, n_in, count);
    }
}

/* Where a sum is not finite, what it lost means nothing. */
FED_INLINE double with_rest(double sum, double rest)
{
    return fabs(sum) <= DBL_MAX ? sum + rest : sum;
}

FED_INLINE size_t finish_narrow(
    enum fed_dtype t, const double *restrict sum, double total, void *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(t, out, i, sum[i] / total);
    return count_nonfinite(t, out, count);
}

FED_INLINE size_t finish(enum fed_dtype t,
                         const double *restrict sum,
                         const double *restrict rest,
                         double total,
                         void *restrict out,
                         size_t count)
{
    switch ((int)t) {
    case FED_F64:
        for (size_t i = 0; i < count; i++)
            store(FED_F64, out, i, with_rest(sum[i], rest[i]) / total);
        return count_nonfinite(FED_F64, out, count);
    case FED_F32:
        return finish_narrow(FED_F32, sum, total, out, count);
    case FED_F16:
        return finish_narrow(FED_F16, sum, total, out, count);
    default:
        return finish_narrow(FED_BF16, sum, total, out, count);
    }
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

FED_INLINE size_t trimmed_of(enum fed_dtype t,
                             const void *const *in,
                             size_t n_in,
                             size_t drop,
                             double *rows,
                             void *out,
                             size_t count)
{
    for (size_t from = 0; from < count; from += FED_LANES) {
        size_t lanes = count - from < FED_LANES ? count - from : FED_LANES;
        double nans[FED_LANES] = {0}, means[FED_LANES];
        for (size_t k = 0; k < n_in; k++)
            fill_row(t, rows + k * FED_LANES, nans, in[k], from, lanes);
        sort_rows(rows, n_in);
        mean_of_rows(rows + drop * FED_LANES, n_in - 2 * drop, nans, (double)drop, means);
        for (size_t j = 0; j < lanes; j++)
            store(t, out, from + j, means[j]);
    }
    return count_nonfinite(t, out, count);
}

FED_INLINE size_t trimmed(enum fed_dtype t,
                          const void *const *in,
                          size_t n_in,
                          size_t drop,
                          double *rows,
                          void *out,
                          size_t count)
{
    switch ((int)t) {
    case FED_F64:
        return trimmed_of(FED_F64, in, n_in, drop, rows, out, count);
    case FED_F32:
        return trimmed_of(FED_F32, in, n_in, drop, rows, out, count);
    case FED_F16:
        return trimmed_of(FED_F16, in, n_in, drop, rows, out, count);
    default:
        return trimmed_of(FED_BF16, in, n_in, drop, rows, out, count);
    }
}

size_t fed_first_nonfinite(enum fed_dtype t, const void *in, size_t count)
{
    size_t i = 0;

    while (i < count && fabs(load(t, in, i)) <= DBL_MAX)
        i++;
    return i;
}

/* ---- one set for each processor ---- */

static void add_plain(enum fed_dtype t,
                      double *sum,
                      double *rest,
                      const void *const *in,
                      const double *weights,
                      size_t n_in,
                      size_t count)
{
    add(t, sum, rest, in, weights, n_in, count);
}

static size_t finish_plain(
    enum fed_dtype t, const double *sum, const double *rest, double total, void *out, size_t count)
{
    return finish(t, sum, rest, total, out, count);
}

static size_t trimmed_plain(enum fed_dtype t,
                            const void *const *in,
                            size_t n_in,
                            size_t drop,
                            double *rows,
                            void *out,
                            size_t count)
{
    return trimmed(t, in, n_in, drop, rows, out, count);
}

static const struct fed_kernels plain = {add_plain, finish_plain, trimmed_plain};

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))
_Static_assert(FED_GROUP == 8, "add_floats and add_group add eight inputs");

/* Four numbers from the i-th on. */
AVX2 static inline __m256d widened(const float *in, size_t i)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(in + i));
}

AVX2 static inline __m256d four(__m256d weight, const float *in, size_t i)
{
    return _mm256_mul_pd(weight, widened(in, i));
}

/* As add_group. Compilers load eight floats, take them apart to widen each half, and run out of
 * registers: this takes two thirds of their time. */
AVX2 static void add_floats(double *sum, const float *const *in, const double *w, size_t count)
{
    const __m256d w0 = _mm256_set1_pd(w[0]), w1 = _mm256_set1_pd(w[1]), w2 = _mm256_set1_pd(w[2]),
                  w3 = _mm256_set1_pd(w[3]), w4 = _mm256_set1_pd(w[4]), w5 = _mm256_set1_pd(w[5]),
                  w6 = _mm256_set1_pd(w[6]), w7 = _mm256_set1_pd(w[7]);
    size_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256d s = _mm256_loadu_pd(sum + i);
        s = _mm256_add_pd(s, four(w0, in[0], i));
        s = _mm256_add_pd(s, four(w1, in[1], i));
        s = _mm256_add_pd(s, four(w2, in[2], i));
        s = _mm256_add_pd(s, four(w3, in[3], i));
        s = _mm256_add_pd(s, four(w4, in[4], i));
        s = _mm256_add_pd(s, four(w5, in[5], i));
        s = _mm256_add_pd(s, four(w6, in[6], i));
        s = _mm256_add_pd(s, four(w7, in[7], i));
        _mm256_storeu_pd(sum + i, s);
    }
    for (; i < count; i++)
        for (size_t k = 0; k < FED_GROUP; k++)
            sum[i] += w[k] * (double)in[k][i];
}

/* The same where every weight is 1, as it mostly is: products would take a tenth of the time. */
AVX2 static void add_unweighted_floats(double *sum, const float *const *in, size_t count)
{
    size_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256d s = _mm256_loadu_pd(sum + i);
        s = _mm256_add_pd(s, widened(in[0], i));
        s = _mm256_add_pd(s, widened(in[1], i));
        s = _mm256_add_pd(s, widened(in[2], i));
        s = _mm256_add_pd(s, widened(in[3], i));
        s = _mm256_add_pd(s, widened(in[4], i));
        s = _mm256_add_pd(s, widened(in[5], i));
        s = _mm256_add_pd(s, widened(in[6], i));
        s = _mm256_add_pd(s, widened(in[7], i));
        _mm256_storeu_pd(sum + i, s);
    }
    for (; i < count; i++)
        for (size_t k = 0; k < FED_GROUP; k++)
            sum[i] += (double)in[k][i];
}

static bool are_ones(const double *weights)
{
    for (size_t k = 0; k < FED_GROUP; k++)
        if (weights[k] < 1 || weights[k] > 1)
            return false;
    return true;
}

AVX2 static void add_avx2(enum fed_dtype t,
                          double *sum,
                          double *rest,
                          const void *const *in,
                          const double *weights,
                          size_t n_in,
                          size_t count)
{
    for (; t == FED_F32 && n_in >= FED_GROUP; n_in -= FED_GROUP) {
        if (are_ones(weights))
            add_unweighted_floats(sum, (const float *const *)in, count);
        else
            add_floats(sum, (const float *const *)in, weights, count);
        in += FED_GROUP;
        weights += FED_GROUP;
    }
    add(t, sum, rest, in, weights, n_in, count);
}

AVX2 static size_t finish_avx2(
    enum fed_dtype t, const double *sum, const double *rest, double total, void *out, size_t count)
{
    return finish(t, sum, rest, total, out, count);
}

AVX2 static size_t trimmed_avx2(enum fed_dtype t,
                                const void *const *in,
                                size_t n_in,
                                size_t drop,
                                double *rows,
                                void *out,
                                size_t count)
{
    return trimmed(t, in, n_in, drop, rows, out, count);
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
