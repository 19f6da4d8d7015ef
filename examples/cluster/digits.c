#include "digits.h"

#include <math.h>
#include <string.h>

/* Eight rows each; a bit a pixel, the left one is the highest. */
static const uint8_t shapes[CLASSES][SIDE] = {
    {0x3c, 0x66, 0x66, 0x66, 0x66, 0x66, 0x3c, 0x00},
    {0x18, 0x38, 0x18, 0x18, 0x18, 0x18, 0x7e, 0x00},
    {0x3c, 0x66, 0x06, 0x0c, 0x18, 0x30, 0x7e, 0x00},
    {0x3c, 0x66, 0x06, 0x1c, 0x06, 0x66, 0x3c, 0x00},
    {0x0c, 0x1c, 0x3c, 0x6c, 0x7e, 0x0c, 0x0c, 0x00},
    {0x7e, 0x60, 0x7c, 0x06, 0x06, 0x66, 0x3c, 0x00},
    {0x3c, 0x60, 0x60, 0x7c, 0x66, 0x66, 0x3c, 0x00},
    {0x7e, 0x06, 0x0c, 0x18, 0x30, 0x30, 0x30, 0x00},
    {0x3c, 0x66, 0x66, 0x3c, 0x66, 0x66, 0x3c, 0x00},
    {0x3c, 0x66, 0x66, 0x3e, 0x06, 0x06, 0x3c, 0x00},
};

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* From -1 to 1. */
static float even(uint64_t *state)
{
    return (float)(next(state) >> 40) * 0x1p-23f - 1;
}

void digits_make(uint32_t number, struct example *out)
{
    uint64_t chance = number;
    unsigned label = (unsigned)(next(&chance) % CLASSES);
    int down = (int)(next(&chance) % 3) - 1, right = (int)(next(&chance) % 3) - 1;
    float ink = 0.8f + 0.2f * even(&chance);

    out->label = label;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int row = y - down, column = x - right;
            int inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
            int is_ink = inside && (shapes[label][row] >> (SIDE - 1 - column) & 1);
            out->pixels[y * SIDE + x] = (is_ink ? ink : 0) + 0.4f * even(&chance);
        }
}

size_t model_size(unsigned hidden)
{
    return (size_t)hidden * PIXELS + hidden + (size_t)CLASSES * hidden + CLASSES;
}

void model_begin(unsigned hidden, uint64_t seed, float *weights)
{
    size_t n = model_size(hidden);

    for (size_t i = 0; i < n; i++)
        weights[i] = 0.1f * even(&seed);
}

/* Scores become shares of 1. */
static void soften(double scores[CLASSES])
{
    double most = scores[0], sum = 0;

    for (int k = 1; k < CLASSES; k++)
        most = fmax(most, scores[k]);
    for (int k = 0; k < CLASSES; k++)
        sum += scores[k] = exp(scores[k] - most);
    for (int k = 0; k < CLASSES; k++)
        scores[k] /= sum;
}

static unsigned guess(
    unsigned hidden, const float *w, const struct example *x, double *h, double shares[CLASSES])
{
    const float *bias = w + (size_t)hidden * PIXELS, *out = bias + hidden;
    const float *out_bias = out + (size_t)CLASSES * hidden;
    unsigned best = 0;

    for (unsigned j = 0; j < hidden; j++) {
        double sum = (double)bias[j];
        for (int i = 0; i < PIXELS; i++)
            sum += (double)w[(size_t)j * PIXELS + (size_t)i] * (double)x->pixels[i];
        h[j] = tanh(sum);
    }
    for (unsigned k = 0; k < CLASSES; k++) {
        shares[k] = (double)out_bias[k];
        for (unsigned j = 0; j < hidden; j++)
            shares[k] += (double)out[(size_t)k * hidden + j] * h[j];
        best = shares[k] > shares[best] ? k : best;
    }
    soften(shares);
    return best;
}

void model_learn(unsigned hidden,
                 const float *weights,
                 const struct example *x,
                 double *gradient,
                 struct learned *sum)
{
    static double h[MAX_HIDDEN];
    const float *out = weights + (size_t)hidden * PIXELS + hidden;
    double *g_bias = gradient + (size_t)hidden * PIXELS, *g_out = g_bias + hidden;
    double *g_out_bias = g_out + (size_t)CLASSES * hidden, shares[CLASSES];

    sum->right += guess(hidden, weights, x, h, shares) == x->label;
    sum->loss -= log(fmax(shares[x->label], 1e-300));
    shares[x->label] -= 1; /* the derivatives of the loss by the scores */
    for (unsigned k = 0; k < CLASSES; k++) {
        g_out_bias[k] += shares[k];
        for (unsigned j = 0; j < hidden; j++)
            g_out[(size_t)k * hidden + j] += shares[k] * h[j];
    }
    for (unsigned j = 0; j < hidden; j++) {
        double back = 0;
        for (unsigned k = 0; k < CLASSES; k++)
            back += shares[k] * (double)out[(size_t)k * hidden + j];
        back *= 1 - h[j] * h[j];
        g_bias[j] += back;
        for (int i = 0; i < PIXELS; i++)
            gradient[(size_t)j * PIXELS + (size_t)i] += back * (double)x->pixels[i];
    }
}

double model_test(unsigned hidden, const float *weights)
{
    static double h[MAX_HIDDEN];
    double shares[CLASSES];
    unsigned right = 0;

    for (uint32_t i = 0; i < TEST_COUNT; i++) {
        struct example x;
        digits_make(TEST_FROM + i, &x);
        right += guess(hidden, weights, &x, h, shares) == x.label;
    }
    return (double)right / TEST_COUNT;
}
