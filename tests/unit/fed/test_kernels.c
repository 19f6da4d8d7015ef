#include "fed/kernels.h"

#include "fed/half.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define N 70 /* more than two rows of lanes, and a rest */
#define INPUTS 19

static const enum fed_dtype floats[] = {FED_F64, FED_F32, FED_F16, FED_BF16};

static uint64_t state = 1;

static uint64_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11;
}

static double uniform(void)
{
    return (double)next() / 0x1p53 * 2 - 1;
}

static void put(enum fed_dtype t, void *to, size_t i, double v)
{
    if (t == FED_F64)
        ((double *)to)[i] = v;
    else if (t == FED_F32)
        ((float *)to)[i] = (float)v;
    else
        ((uint16_t *)to)[i] = t == FED_F16 ? fed_narrow_f16(v) : fed_narrow_bf16(v);
}

static double got(enum fed_dtype t, const void *from, size_t i)
{
    if (t == FED_F64)
        return ((const double *)from)[i];
    if (t == FED_F32)
        return (double)((const float *)from)[i];
    uint16_t h = ((const uint16_t *)from)[i];
    return (double)(t == FED_F16 ? fed_widen_f16(h) : fed_widen_bf16(h));
}

static double in[INPUTS][N]; /* room for any type */
static double weights[INPUTS];
static const void *inputs[INPUTS];

static void fill(enum fed_dtype t, bool odd)
{
    static const double odd_ones[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 60000, -1e-7, 1};

    for (size_t k = 0; k < INPUTS; k++) {
        inputs[k] = in[k];
        weights[k] = 1 + (double)(next() % 100);
        for (size_t i = 0; i < N; i++)
            put(t, in[k], i, odd && next() % 8 == 0 ? odd_ones[next() % 8] : uniform());
    }
}

static size_t mean(
    const struct fed_kernels *kernels, enum fed_dtype t, const double *w, size_t n, double *out)
{
    double sum[N], rest[N], total = 0;

    for (size_t k = 0; k < n; k++)
        total += w[k];
    for (size_t i = 0; i < N; i++)
        sum[i] = rest[i] = -0.0;
    const struct fed_block b = {.dtype = t,
                                .count = N,
                                .in = inputs,
                                .n_in = n,
                                .weights = w,
                                .sum = sum,
                                .rest = rest,
                                .total = total,
                                .out = out};
    kernels->add(&b);
    return kernels->finish(&b);
}

static size_t trimmed(
    const struct fed_kernels *kernels, enum fed_dtype t, size_t n, size_t drop, double *out)
{
    double rows[INPUTS * FED_LANES];
    const struct fed_block b = {
        .dtype = t, .count = N, .in = inputs, .n_in = n, .drop = drop, .rows = rows, .out = out};

    return kernels->trimmed(&b);
}

/* ---- every processor gives the same bits ---- */

static bool is_same_mean(enum fed_dtype t, const double *w, size_t n)
{
    double a[N] = {0}, b[N] = {0};
    size_t bad = mean(fed_kernels_plain(), t, w, n, a);

    return bad == mean(fed_kernels_best(), t, w, n, b) && memcmp(a, b, sizeof a) == 0;
}

static void check_same_bits(enum fed_dtype t)
{
    double a[N] = {0}, b[N] = {0}, ones[INPUTS];
    unsigned wrong = 0;

    for (size_t k = 0; k < INPUTS; k++)
        ones[k] = 1;

    for (unsigned round = 0; round < 20; round++) {
        fill(t, round % 2);
        for (size_t n = 1; n <= INPUTS; n++) {
            wrong += !is_same_mean(t, weights, n) || !is_same_mean(t, ones, n);
            size_t drop = (n - 1) / 3;
            size_t x = trimmed(fed_kernels_plain(), t, n, drop, a);
            wrong += x != trimmed(fed_kernels_best(), t, n, drop, b) || memcmp(a, b, sizeof a);
        }
    }
    CHECK(wrong == 0, "%s: plain C and vector instructions give the same bits", fed_dtype_name(t));
}

/* ---- sums, beside the definition in quadruple precision ---- */

#ifdef __x86_64__
typedef __float128 quad;
#else
typedef long double quad;
#endif

static quad magnitude(quad v)
{
    return v < 0 ? -v : v;
}

/* Half the distance to the next larger number of the type. */
static double half_unit(enum fed_dtype t, double v)
{
    static const int digits[] = {[FED_F64] = 53, [FED_F32] = 24, [FED_F16] = 11, [FED_BF16] = 8};
    static const int least[] = {
        [FED_F64] = -1074, [FED_F32] = -149, [FED_F16] = -24, [FED_BF16] = -133};
    int exponent = v == 0 ? least[t] : ilogb(v) - digits[t] + 1;

    return ldexp(1, (exponent < least[t] ? least[t] : exponent) - 1);
}

static double bound(enum fed_dtype t, bool weighted, size_t n, double result, double m)
{
    const double u = 0x1p-53;
    double count = (double)n;

    if (t == FED_F64)
        return 3 * half_unit(t, result) + count * count * u * u * m +
               (weighted ? count * u * m : 0);
    return half_unit(t, result) + (2 * count + 1) * u * m;
}

static unsigned beyond_bound(enum fed_dtype t, const double *w, bool weighted, size_t n)
{
    double out[N];
    unsigned wrong = 0;

    mean(fed_kernels_best(), t, w, n, out);
    for (size_t i = 0; i < N; i++) {
        quad sum = 0, sizes = 0, total = 0;
        for (size_t k = 0; k < n; k++) {
            quad v = (quad)got(t, in[k], i);
            sum += (quad)w[k] * v;
            sizes += (quad)w[k] * magnitude(v);
            total += (quad)w[k];
        }
        double result = got(t, out, i);
        wrong += magnitude((quad)result - sum / total) >
                 (quad)(bound(t, weighted, n, result, (double)(sizes / total)) * (1 + 0x1p-40));
    }
    return wrong;
}

static void check_bound(enum fed_dtype t)
{
    double ones[INPUTS];
    unsigned wrong = 0, weighted = 0;

    for (size_t k = 0; k < INPUTS; k++)
        ones[k] = 1;
    for (unsigned round = 0; round < 40; round++) {
        fill(t, false);
        /* The last takes most of the sum away again. */
        for (size_t i = 0; round % 2 && i < N; i++)
            put(t, in[INPUTS - 1], i, -got(t, in[0], i) - got(t, in[1], i));
        for (size_t n = 1; n <= INPUTS; n++) {
            wrong += beyond_bound(t, ones, false, n);
            weighted += beyond_bound(t, weights, true, n);
        }
    }
    CHECK(wrong == 0, "%s: the mean is within its bound", fed_dtype_name(t));
    CHECK(weighted == 0, "%s: and with weights", fed_dtype_name(t));
}

/* ---- trimmed means, beside a plain sort ---- */

/* NaN last, as numpy sorts. */
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return x < y ? -1 : x > y;
}

static unsigned trimmed_wrong(enum fed_dtype t, size_t n, size_t drop)
{
    double out[N], column[INPUTS];
    size_t bad = 0, told = trimmed(fed_kernels_best(), t, n, drop, out);
    unsigned wrong = 0;

    for (size_t i = 0; i < N; i++) {
        quad sum = 0;
        for (size_t k = 0; k < n; k++)
            column[k] = got(t, in[k], i);
        qsort(column, n, sizeof *column, by_value);
        for (size_t k = drop; k < n - drop; k++)
            sum += (quad)column[k];
        double want = (double)(sum / (quad)(n - 2 * drop)), have = got(t, out, i);
        bad += isfinite(have) ? 0 : 1;
        if (isfinite(want))
            wrong += fabs(have - want) > 3.1 * half_unit(t, have) + 0x1p-80;
        else
            wrong += (isnan(want) ? isnan(have) : have == want) ? 0 : 1;
    }
    return wrong + (bad != told);
}

static void check_trimmed(enum fed_dtype t)
{
    unsigned wrong = 0;

    for (unsigned round = 0; round < 20; round++) {
        fill(t, round % 2);
        for (size_t n = 1; n <= INPUTS; n++)
            for (size_t drop = 0; 2 * drop < n; drop++)
                wrong += trimmed_wrong(t, n, drop);
    }
    CHECK(wrong == 0, "%s: a trimmed mean is the mean of a sorted column without its ends",
          fed_dtype_name(t));
}

/* ---- by hand ---- */

static size_t add_and_finish(const struct fed_block *b)
{
    fed_kernels_best()->add(b);
    return fed_kernels_best()->finish(b);
}

static void check_special(void)
{
    float a[] = {1, -0.0F, INFINITY, INFINITY, NAN, 3e38F, -0.0F},
          b[] = {2, -0.0F, 1, -INFINITY, 1, 3e38F, 0.0F}, out[7];
    const void *two[] = {a, b};
    const double ones[] = {1, 1};
    double sum[7], rest[7], wide[2][1] = {{DBL_MAX}, {DBL_MAX}}, mean_wide;
    uint32_t nan_bits;

    for (size_t i = 0; i < 7; i++)
        sum[i] = rest[i] = -0.0;
    size_t bad = add_and_finish(&(struct fed_block){FED_F32, 7, two, 2, .weights = ones, .sum = sum,
                                                    .rest = rest, .total = 2, .out = out});
    CHECK(out[0] == 1.5F, "1 and 2 make 1.5");
    CHECK(out[1] == 0 && signbit(out[1]) && out[6] == 0 && !signbit(out[6]),
          "-0 and -0 make -0, -0 and 0 make 0");
    memcpy(&nan_bits, &out[4], sizeof nan_bits);
    CHECK(isinf(out[2]) && isnan(out[3]) && nan_bits == 0x7fc00000 && bad == 3,
          "what is not finite stays so, and is counted");
    CHECK(out[5] == 3e38F, "sums do not leave the range of F32");
    const void *large[] = {wide[0], wide[1]};
    sum[0] = rest[0] = -0.0;
    bad = add_and_finish(&(struct fed_block){FED_F64, 1, large, 2, .weights = ones, .sum = sum,
                                             .rest = rest, .total = 2, .out = &mean_wide});
    CHECK(isinf(mean_wide) && bad == 1, "sums of F64 do leave its range, as infinity and not NaN");
    CHECK(fed_first_nonfinite(FED_F32, a, 7) == 2 && fed_first_nonfinite(FED_F32, a, 2) == 2,
          "the first number that is not finite is found");
}

/* 1e16 + 1 - 1e16: a plain sum of doubles gives 0, the true mean is 1/3. */
static void check_exact_sum(void)
{
    double x[3] = {1e16, 1, -1e16}, sum = -0.0, rest = -0.0, out;
    const void *three[] = {&x[0], &x[1], &x[2]};
    const double ones[] = {1, 1, 1};

    add_and_finish(&(struct fed_block){FED_F64, 1, three, 3, .weights = ones, .sum = &sum,
                                       .rest = &rest, .total = 3, .out = &out});
    CHECK(out == 1.0 / 3, "sums of F64 keep what an addition loses");
}

int main(void)
{
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        check_same_bits(floats[i]);
        check_bound(floats[i]);
        check_trimmed(floats[i]);
    }
    check_special();
    check_exact_sum();
    return TAP_DONE();
}
