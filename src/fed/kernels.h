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

/* As many numbers of each input, one for one, and what becomes of them. */
struct fed_block {
    enum fed_dtype dtype; /* of inputs and result */
    size_t count;         /* numbers of each input */
    const void *const *in;
    size_t n_in;
    const double *weights; /* one for each input */
    double *sum, *rest;    /* rest: what each addition lost; of F64 alone */
    double total;          /* of the weights of all blocks that were added */
    size_t drop;           /* numbers left out at either end */
    double *rows;          /* room for n_in * FED_LANES */
    void *out;
};

struct fed_kernels {
    /* sum[i] += weights[k] * in[k][i], for each of the inputs in turn. sum and rest begin as -0.0,
     * which adds nothing to anything. */
    void (*add)(const struct fed_block *b);
    /* out[i] = (sum[i] + rest[i]) / total, rounded to the type. How many are not finite. */
    size_t (*finish)(const struct fed_block *b);
    /* The mean of what is left of each element without the `drop` smallest and `drop` largest; NaN
     * is larger than all numbers. How many are not finite. */
    size_t (*trimmed)(const struct fed_block *b);
};

/* Plain C, and the best for this processor (perhaps the same). */
const struct fed_kernels *fed_kernels_plain(void);
const struct fed_kernels *fed_kernels_best(void);

/* The first element that is NaN or infinite, or count. */
size_t fed_first_nonfinite(enum fed_dtype t, const void *in, size_t count);

#endif
