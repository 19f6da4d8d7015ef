/* nearest: the "did you mean" of error messages. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* The candidate that word is most likely a slip of (case does not count; a longer candidate that
 * word begins counts as close), the first among equals; NULL when none is close. Borrowed. */
const char *nearest(const char *word, const char *const *candidates, size_t n);

#endif
