/* kernels: the arithmetic of averages, a block of numbers at a time. Every version gives the same
 * bits: sums are double, element by element in the order of the inputs, never fused. */
#ifndef FED_KERNELS_H
#define FED_KERNELS_H

#include "fed/tensor_file.h"

#include <stddef.h>

/* Inputs are best added this many at a time. */
#define FED_GROUP 8
/* fed_trimmed works on this many numbers at a time. */
#define FED_LANES 32

struct fed_kernels {
    /* sum[i] += weights[k] * in[k][i], for each of the n_in inputs in turn. With `rest` (wanted for
     * F64) it gets what each addition lost. Both begin as -0.0, which adds nothing to anything. */
    void (*add)(enum fed_dtype t,
                double *sum,
                double *rest,
                const void *const *in,
                const double *weights,
                size_t n_in,
                size_t count);
    /* out[i] = (sum[i] + rest[i]) / total, rounded to the type. How many are not finite. */
    size_t (*finish)(enum fed_dtype t,
                     const double *sum,
                     const double *rest,
                     double total,
                     void *out,
                     size_t count);
    /* The mean of what is left of each element without the `drop` smallest and `drop` largest; NaN
     * is larger than all numbers. rows has room for n_in * FED_LANES. How many are not finite. */
    size_t (*trimmed)(enum fed_dtype t,
                      const void *const *in,
                      size_t n_in,
                      size_t drop,
                      double *rows,
                      void *out,
                      size_t count);
};

/* Plain C, and the best for this processor (perhaps the same). */
const struct fed_kernels *fed_kernels_plain(void);
const struct fed_kernels *fed_kernels_best(void);

/* The first element that is NaN or infinite, or count. */
size_t fed_first_nonfinite(enum fed_dtype t, const void *in, size_t count);

#endif
