/* average: the mean of many files of tensors, number by number, as a file like the first of them.
 *
 * Sums are double, number by number in the order of the inputs, and each result is rounded once to
 * its type: the bits depend neither on the processor nor on how many threads there are. With
 * u = 2^-53, n inputs and m the mean of the inputs' magnitudes, a result lies near the true mean,
 * to first order in u:
 *   F32, F16, BF16   within half a unit of its last place and (2n + 1) u m
 *   F64              within 1.5 units of its last place and n^2 u^2 m; with weights n u m more
 * Sums of F64 beyond its range become infinite. */
#ifndef FED_AVERAGE_H
#define FED_AVERAGE_H

#include "fed/tensor_file.h"

#define FED_INPUTS_MAX 100000

struct fed_average {
    enum fed_format format; /* of all inputs */
    const struct fed_source *inputs;
    size_t n;
    /* What each input counts, as its number of samples; NULL = all the same. One that counts 0 has
     * to match, and has no part in the mean. */
    const double *weights;
    /* Below 0.5: of each number, this share of the inputs (rounded down) is dropped at either end,
     * the smallest and the largest; NaN is larger than all. Not together with weights. */
    double trim;
    bool only_finite; /* NaN and infinite numbers are ERR_USAGE */
    unsigned threads; /* 0 = all cores */
    /* Processes instead of threads, which look at inputs in place: for a caller without other
     * threads. The sink is written to by them. Where one is ended, as by an input that is cut
     * meanwhile, threads do all of it again. */
    bool forked;
    /* Of each input at a time, a multiple of 8. 0 = 128 KiB, so that threads stay near one another
     * in inputs that come in order; files that lie in memory are looked at fastest at more. */
    size_t piece_bytes;
    /* Tells of bytes read so far, one call at a time; false stops it: ERR_RETRY "interrupted".
     * NULL = no. */
    bool (*progress)(void *context, uint64_t done_bytes, uint64_t all_bytes);
    void *context;
};

/* Inputs may be packed (fed/packing.h), each by itself; their mean is not. */
enum fed_packing { FED_PACKING_NONE, FED_PACKING_INT8, FED_PACKING_TOPK };

/* Where the mean goes. */
struct fed_sink {
    /* Once, after all inputs were found to match and before the first write. */
    int (*begin)(void *context, uint64_t size_bytes, struct err *e);
    /* Every byte of the result once, in any order, from several threads at once. */
    int (*write)(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e);
    void *context;
};

struct fed_summary {
    size_t tensors;
    size_t copied;    /* of them: integers, the same in all inputs */
    uint64_t numbers; /* averaged */
    uint64_t nonfinite;
    uint64_t bytes;           /* of the result */
    size_t dropped;           /* inputs, at either end */
    enum fed_packing packing; /* of the first input */
};

/* ERR_USAGE names the input and the tensor that do not match, are damaged, or hold what is not
 * averaged; integers are copied when they are the same in all inputs and ERR_USAGE otherwise. */
int fed_average(const struct fed_average *a,
                const struct fed_sink *sink,
                struct fed_summary *out,
                struct err *e);

#endif
