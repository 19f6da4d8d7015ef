/* Least squares by orthogonal columns, with leave-one-out errors and intervals. The fit of run
 * times uses it. */
#include "base/mem.h"
#include "estimate/fit_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a column's length, what the columns before it must leave for it to say something of its own.
 * Logarithms carry rounding of 1e-16; the columns of a real profile leave a hundredth and more. */
#define DEPENDENT 1e-9

/* Four sums, since one has to wait for each of its additions. */
static double dot(const double *a, const double *b, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void subtract(double *from, double times, const double *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= times * what[i];
}

/* Makes column j orthogonal to those before it. Twice is enough to be orthogonal to the last bit,
 * however nearly dependent the column was (Giraud et al. 2005). */
static void orthogonalize(struct lsq *s, size_t j)
{
    double *column = s->q + j * s->n;
    double before = sqrt(dot(column, column, s->n));

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < j; i++) {
            double along = dot(s->q + i * s->n, column, s->n);
            s->r[i * s->p + j] += along;
            subtract(column, along, s->q + i * s->n, s->n);
        }
    double left = sqrt(dot(column, column, s->n));
    if (!(left > DEPENDENT * before)) {
        s->dropped[j] = true;
        memset(column, 0, s->n * sizeof *column);
        return;
    }
    s->rank++;
    s->r[j * s->p + j] = left;
    for (size_t i = 0; i < s->n; i++)
        column[i] /= left;
}

void lsq_init(struct lsq *s, size_t n, size_t p, const double *columns)
{
    assert(n && p);
    *s = (struct lsq){
        .n = n,
        .p = p,
        .q = mem_zero(n * p, sizeof(double)),
        .r = mem_zero(p * p, sizeof(double)),
        .leverage = mem_zero(n, sizeof(double)),
        .dropped = mem_zero(p, sizeof(bool)),
    };
    memcpy(s->q, columns, n * p * sizeof *columns);
    for (size_t j = 0; j < p; j++)
        orthogonalize(s, j);
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < n; i++)
            s->leverage[i] += s->q[j * n + i] * s->q[j * n + i];
}

void lsq_clear(struct lsq *s)
{
    free(s->q);
    free(s->r);
    free(s->leverage);
    free(s->dropped);
    *s = (struct lsq){0};
}

/* x = solution of Rx = x over the columns kept. */
static void back_substitute(const struct lsq *s, double *x)
{
    for (size_t j = s->p; j-- > 0;) {
        if (s->dropped[j]) {
            x[j] = 0;
            continue;
        }
        for (size_t i = j + 1; i < s->p; i++)
            x[j] -= s->r[j * s->p + i] * x[i];
        x[j] /= s->r[j * s->p + j];
    }
}

double lsq_solve(const struct lsq *s, const double *y, double *residual, double *beta)
{
    memmove(residual, y, s->n * sizeof *residual);
    for (size_t j = 0; j < s->p; j++) {
        double along = dot(s->q + j * s->n, residual, s->n);
        subtract(residual, along, s->q + j * s->n, s->n);
        if (beta)
            beta[j] = along;
    }
    if (beta)
        back_substitute(s, beta);
    return dot(residual, residual, s->n);
}

void lsq_inverse(const struct lsq *s, double *out)
{
    size_t p = s->p;
    double *columns = mem_zero(p * p, sizeof *columns); /* of the inverse of R, one after another */

    for (size_t j = 0; j < p; j++) {
        columns[j * p + j] = s->dropped[j] ? 0 : 1;
        back_substitute(s, columns + j * p);
    }
    memset(out, 0, p * p * sizeof *out);
    for (size_t c = 0; c < p; c++)
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j < p; j++)
                out[i * p + j] += columns[c * p + i] * columns[c * p + j];
    free(columns);
}

/* Probability that |T| <= tan(angle) sqrt(df): the finite series for whole degrees of freedom,
 * Abramowitz and Stegun 26.7.3 and 26.7.4. */
static double student_inside(size_t df, double angle)
{
    double c2 = cos(angle) * cos(angle);
    bool odd = df % 2;
    double term = odd ? cos(angle) : 1, sum = 0;

    for (size_t k = odd ? 1 : 0; k + 2 <= df; k += 2) {
        sum += term;
        term *= c2 * (double)(k + 1) / (double)(k + 2);
    }
    return odd ? (angle + sin(angle) * sum) * 2 / M_PI : sin(angle) * sum;
}

double lsq_student(size_t df, double inside)
{
    double low = 0, high = M_PI / 2;

    assert(df >= 1 && inside > 0 && inside < 1);
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (student_inside(df, middle) < inside)
            low = middle;
        else
            high = middle;
    }
    return tan(low) * sqrt((double)df);
}
