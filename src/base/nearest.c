#include "base/nearest.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Longer words are no typing errors, and the table stays on the stack. */
#define WORD_MAX 63
/* This number of letters of a candidate says which one is meant. */
#define PREFIX_MIN 3

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= n_b; j++)
        above[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = min_size(above[j - 1] + !same, min_size(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = min_size(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n_b];
}

/* One slip in a short word, then one for every three letters of the longer one: of "down" half
 * would have to change for "chown". The dashes of an option are no letters. */
static size_t slips_allowed(const char *longer)
{
    size_t letters = strlen(longer + strspn(longer, "-"));

    return letters < 6 ? 1 : letters / 3;
}

const char *nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t len = strlen(word), best = SIZE_MAX;
    const char *found = NULL;

    if (len == 0 || len > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t n_candidate = strlen(candidates[i]);
        if (n_candidate > WORD_MAX)
            continue;
        size_t d = distance(word, len, candidates[i], n_candidate);
        size_t limit = slips_allowed(len > n_candidate ? word : candidates[i]);
        if (len >= PREFIX_MIN && strncasecmp(word, candidates[i], len) == 0)
            d = min_size(d, limit);
        if (d <= limit && d < best && d < n_candidate) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}
