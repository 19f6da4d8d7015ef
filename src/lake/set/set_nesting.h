/* set_nesting: the rule that no file of a set lies below another: the two could not be written to
 * one directory. Checks the paths of a set that is being built, or of several that are written
 * together. Private to the set_*.c files and get.c. */
#ifndef LAKE_SET_SET_NESTING_H
#define LAKE_SET_SET_NESTING_H

#include "lake/core/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In byte order "/a", "/a-b", "/a/c" follow each other: whatever begins with the bytes of "/a"
 * stands together. So the files above a path are among the beginnings of the path before it. */
struct set_nesting {
    char last[LAKE_PATH_MAX + 1]; /* the path before; "" = none */
    size_t last_len;
    uint16_t files[LAKE_PATH_MAX + 1]; /* lengths of its beginnings that are files, rising */
    size_t n_files;
    size_t unread; /* up to this length it may begin with files that went by unread */
};

enum set_nesting_file { SET_NESTING_NO, SET_NESTING_YES, SET_NESTING_UNREAD };
/* Whether the first `length` bytes of `last` are a file. */
enum set_nesting_file set_nesting_is_file(const struct set_nesting *n, size_t length);

/* How many bytes of path may be a file above it: set_nesting_is_file has the answer. 0 = none. The
 * only ones to ask for, when all paths before were asked for so. */
size_t set_nesting_above(const struct set_nesting *n, const char *path);
/* Files of a chunk, of whose paths only these two are known, may lie below a file before it: the
 * next length that may be such a file, from `length` on; 0 = none. */
size_t set_nesting_above_some(const struct set_nesting *n,
                              const char *first,
                              const char *last,
                              size_t length);

/* Goes on to the next path, or past a chunk that is not read. */
void set_nesting_add(struct set_nesting *n, const char *path);
void set_nesting_pass(struct set_nesting *n, const char *first, const char *last);

#endif
