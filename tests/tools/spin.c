/* spin: work for one processor that takes time in proportion to --n, with a metric at the end.
 * usage: spin --n N [--seed S] [--fail] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A few milliseconds on any machine of these years. */
#define STEPS_PER_UNIT 2000000

int main(int argc, char **argv)
{
    uint64_t state = 1, n = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--fail") == 0)
            return EXIT_FAILURE;
        if (i + 1 < argc && strcmp(argv[i], "--n") == 0)
            n = strtoull(argv[i + 1], NULL, 10);
        if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            state = strtoull(argv[i + 1], NULL, 10) | 1;
    }
    for (uint64_t i = 0; i < n * STEPS_PER_UNIT; i++) {
        state ^= state << 13; /* xorshift: each step needs the one before it */
        state ^= state >> 7;
        state ^= state << 17;
    }
    printf("[TRADEWIND_METRIC] digest 1 %llu\n", (unsigned long long)(state % 1000));
    return EXIT_SUCCESS;
}
