/* dense: the small dense matrix of the interior-point method. */
#include "policy/ipm_internal.h"

#include <math.h>

/* A tile of the square is kept in registers while all rows pass by. */
IPM_INLINE void subtract_tile(double *s, size_t stride, const double *a, const double *b, size_t n)
{
    double sum[IPM_LANES][IPM_LANES] = {{0}};

    for (size_t r = 0; r < n; r++, a += stride, b += stride)
        for (size_t i = 0; i < IPM_LANES; i++)
            for (size_t k = 0; k < IPM_LANES; k++)
                sum[i][k] += a[i] * b[k];
    for (size_t i = 0; i < IPM_LANES; i++)
        for (size_t k = 0; k < IPM_LANES; k++)
            s[i * stride + k] -= sum[i][k];
}

IPM_WIDE void dense_subtract_square(double *s, size_t stride, const double *a, size_t n)
{
    for (size_t i = 0; i < stride; i += IPM_LANES)
        for (size_t k = i; k < stride; k += IPM_LANES)
            subtract_tile(s + i * stride + k, stride, a + i, a + k, n);
}

IPM_WIDE void dense_factor(double *s, size_t stride, const double *least)
{
    for (size_t i = 0; i < stride; i++) {
        double *row = s + i * stride;
        double pivot = row[i] > least[i] ? row[i] : 1e100;
        row[i] = sqrt(pivot);
        for (size_t k = i + 1; k < stride; k++)
            row[k] /= row[i];
        for (size_t k = i + 1; k < stride; k++) {
            double *below = s + k * stride;
            for (size_t l = k; l < stride; l++)
                below[l] -= row[k] * row[l];
        }
    }
}

IPM_WIDE void dense_solve(const double *u, size_t stride, double *x)
{
    for (size_t i = 0; i < stride; i++) {
        x[i] /= u[i * stride + i];
        for (size_t k = i + 1; k < stride; k++)
            x[k] -= u[i * stride + k] * x[i];
    }
    for (size_t i = stride; i-- > 0;) {
        for (size_t k = i + 1; k < stride; k++)
            x[i] -= u[i * stride + k] * x[k];
        x[i] /= u[i * stride + i];
    }
}
