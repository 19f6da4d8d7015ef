/* digits: handwriting of a kind, made up as it is needed, and a small network that reads it. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stddef.h>
#include <stdint.h>

enum {
    SIDE = 8,
    PIXELS = SIDE * SIDE,
    CLASSES = 10,
    MAX_HIDDEN = 4096,
    TEST_FROM = 1 << 30, /* examples from here on are never trained on */
    TEST_COUNT = 1000,
};

struct example {
    float pixels[PIXELS];
    unsigned label;
};
/* Example number i, the same everywhere: a digit, shifted, faded and spotted. */
void digits_make(uint32_t number, struct example *out);

/* One hidden layer. Its weights are one block: [hidden][PIXELS], hidden, [CLASSES][hidden],
 * CLASSES. */
size_t model_size(unsigned hidden);
/* The same first weights for the same seed. */
void model_begin(unsigned hidden, uint64_t seed, float *weights);

/* Of some examples: sums, so that those of several workers can be added up. */
struct learned {
    double loss;
    unsigned right; /* guessed right */
};
/* Adds the derivatives of the loss for one example to gradient. */
void model_learn(unsigned hidden,
                 const float *weights,
                 const struct example *x,
                 double *gradient,
                 struct learned *sum);
/* Of TEST_COUNT examples, the share that is guessed right. */
double model_test(unsigned hidden, const float *weights);

#endif
