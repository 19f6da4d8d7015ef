/* find_pattern: regular expressions (POSIX, extended) from outside, with bounds on what they cost.
 */
#ifndef LAKE_FIND_FIND_PATTERN_H
#define LAKE_FIND_FIND_PATTERN_H

#include "base/err.h"

#include <regex.h>

#define FIND_PATTERN_MAX 256

/* Bytes, not characters: '.' is one byte. ERR_USAGE: not a regular expression, longer than
 * FIND_PATTERN_MAX, repeats too much, or refers back to a group, which may take forever. */
int find_pattern_compile(const char *pattern, regex_t *out, struct err *e);

/* A text that everything the pattern matches begins with ("^/data/.*x" -> "/data/"), "" when there
 * is none; its last byte is ASCII. Written into out and returned. */
const char *find_pattern_prefix(const char *pattern, char out[static FIND_PATTERN_MAX + 1]);

#endif
