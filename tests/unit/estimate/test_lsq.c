#include "estimate/fit_internal.h"

#include "base/auto.h"
#include "simulate.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool close_to(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

/* y = 1, 2, 2, 5 at x = 1, 2, 3, 4, solved by hand: the means are 2.5, Sxy = 6, Sxx = 5, so
 * y = -0.5 + 1.2 x; residuals 0.3, 0.1, -1.1, 0.7; leverage 1/4 + (x - 2.5)^2 / 5;
 * X'X = (4 10; 10 30) of determinant 20. */
static void by_hand(void)
{
    static const double columns[] = {1, 1, 1, 1, 1, 2, 3, 4}, y[] = {1, 2, 2, 5};
    static const double residuals[] = {0.3, 0.1, -1.1, 0.7}, leverage[] = {0.7, 0.3, 0.3, 0.7};
    static const double inverse[] = {1.5, -0.5, -0.5, 0.2};
    AUTO_CLEAR(lsq) struct lsq s = {0};
    double beta[2], residual[4], got[4];

    lsq_init(&s, 4, 2, columns);
    double rss = lsq_solve(&s, y, residual, beta);
    lsq_inverse(&s, got);
    CHECK(s.rank == 2 && close_to(beta[0], -0.5, 1e-14) && close_to(beta[1], 1.2, 1e-14),
          "the line through four points");
    CHECK(close_to(rss, 1.8, 1e-14), "its sum of squares is 1.8");
    for (int i = 0; i < 4; i++) {
        CHECK(close_to(residual[i], residuals[i], 1e-14), "residual %d is %g", i, residuals[i]);
        CHECK(close_to(s.leverage[i], leverage[i], 1e-14), "leverage %d is %g", i, leverage[i]);
        CHECK(close_to(got[i], inverse[i], 1e-14), "entry %d of the inverse is %g", i, inverse[i]);
    }
}

#define N 30
#define P 5

/* Solves the normal equations by elimination in long double: another method, more digits. */
static void normal_equations(const double *columns, const double *y, double *beta)
{
    long double a[P][P + 1];

    for (int i = 0; i < P; i++)
        for (int j = 0; j <= P; j++) {
            a[i][j] = 0;
            for (int k = 0; k < N; k++)
                a[i][j] += (long double)columns[i * N + k] *
                           (long double)(j < P ? columns[j * N + k] : y[k]);
        }
    for (int i = 0; i < P; i++)
        for (int r = 0; r < P; r++) {
            long double times = a[r][i] / a[i][i];
            for (int j = 0; r != i && j <= P; j++)
                a[r][j] -= times * a[i][j];
        }
    for (int i = 0; i < P; i++)
        beta[i] = (double)(a[i][P] / a[i][i]);
}

/* With `nearly`, the last column is the one before it but for a thousandth. */
static void random_columns(double *columns, double *y, bool nearly, uint64_t *seed)
{
    for (int k = 0; k < N; k++) {
        y[k] = simulate_normal(seed);
        columns[k] = 1;
        for (int j = 1; j < P; j++)
            columns[j * N + k] = 3 * simulate_uniform(seed) + j;
        if (nearly)
            columns[(P - 1) * N + k] = columns[(P - 2) * N + k] + 1e-3 * columns[(P - 1) * N + k];
    }
}

static void second_method(void)
{
    uint64_t seed = 42;

    for (int nearly = 0; nearly < 2; nearly++) {
        double worst = 0;
        for (int round = 0; round < 100; round++) {
            double columns[N * P], y[N], residual[N], want[P], got[P];
            AUTO_CLEAR(lsq) struct lsq s = {0};
            random_columns(columns, y, nearly, &seed);
            normal_equations(columns, y, want);
            lsq_init(&s, N, P, columns);
            lsq_solve(&s, y, residual, got);
            for (int i = 0; i < P; i++)
                worst = fmax(worst, fabs(got[i] - want[i]) / fmax(1, fabs(want[i])));
        }
        CHECK(worst < 1e-8, "normal equations in long double agree%s (%.1e)",
              nearly ? " for nearly dependent columns" : "", worst);
    }
}

static void dependent_columns(void)
{
    /* one, x, twice one, x plus one, z */
    static const double columns[] = {1, 1, 1, 1, 1, 2, 3, 4, 2, 2, 2, 2, 2, 3, 4, 5, 1, 0, 0, 1};
    static const double alone[] = {1, 1, 1, 1, 1, 2, 3, 4, 1, 0, 0, 1}, y[] = {1, 2, 2, 5};
    AUTO_CLEAR(lsq) struct lsq s = {0}, t = {0};
    double beta[5], want[3], residual[4], inverse[25];

    lsq_init(&s, 4, 5, columns);
    lsq_init(&t, 4, 3, alone);
    double rss = lsq_solve(&s, y, residual, beta);
    double rss_alone = lsq_solve(&t, y, residual, want);
    CHECK(s.rank == 3 && !s.dropped[0] && !s.dropped[1] && s.dropped[2] && s.dropped[3] &&
              !s.dropped[4],
          "columns that others explain are dropped");
    CHECK(close_to(rss, rss_alone, 1e-13) && close_to(beta[0], want[0], 1e-13) &&
              close_to(beta[1], want[1], 1e-13) && close_to(beta[4], want[2], 1e-13),
          "the rest is as without them");
    lsq_inverse(&s, inverse);
    CHECK(beta[2] == 0 && beta[3] == 0 && inverse[12] == 0 && inverse[2] == 0 && inverse[18] == 0,
          "their coefficients and variances are 0");
}

/* Published tables of Student's t. */
static void student(void)
{
    static const struct {
        size_t df;
        double inside, t;
    } cases[] = {
        {1, 0.95, 12.7062}, {2, 0.95, 4.3027},   {3, 0.95, 3.1824},  {4, 0.95, 2.7764},
        {5, 0.95, 2.5706},  {10, 0.95, 2.2281},  {23, 0.95, 2.0687}, {30, 0.95, 2.0423},
        {60, 0.95, 2.0003}, {120, 0.95, 1.9799}, {10, 0.99, 3.1693}, {1, 0.5, 1.0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(fabs(lsq_student(cases[i].df, cases[i].inside) - cases[i].t) < 6e-5,
              "t of %zu degrees of freedom for %g is %g", cases[i].df, cases[i].inside, cases[i].t);
    CHECK(fabs(lsq_student(100000, 0.95) - 1.959964) < 5e-5, "and comes near the normal's 1.96");
}

int main(void)
{
    by_hand();
    second_method();
    dependent_columns();
    student();
    return TAP_DONE();
}
