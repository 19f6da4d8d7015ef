/* conformance: what store.h promises of every kind of store, tried on one. */
#ifndef UNIT_STORE_CONFORMANCE_H
#define UNIT_STORE_CONFORMANCE_H

#include "store/store.h"

#include <stdbool.h>

/* Tells of each check; the caller counts them. */
typedef void conformance_tell(bool good, const char *what);

/* The store must be empty in the projects "alpha" and "beta"; they are emptied again. */
void conformance_run(const struct store_settings *settings, conformance_tell *tell);

/* ---- shared with the tests of single drivers ---- */

/* Opens it, or ends the program. */
struct store *conformance_open(const struct store_settings *settings);
/* n bytes that depend on seed alone. */
void conformance_fill(unsigned char *bytes, size_t n, uint64_t seed);
/* An unnamed file with these n bytes; -1 when that fails. */
int conformance_file(const void *bytes, size_t n);
/* A small content, written but not flushed. -1 when the store fails. */
int conformance_put_small(struct store_writer *w,
                          uint64_t seed,
                          size_t n,
                          struct store_content *out);
/* Does the content of conformance_put_small read back? */
bool conformance_is_small(struct store *s,
                          const char *project,
                          const struct store_content *c,
                          uint64_t seed);
/* Blobs of the project, unfinished ones apart. */
struct conformance_count {
    size_t blobs, unfinished;
};
struct conformance_count conformance_count(struct store *s, const char *project);
/* Deletes all of them. */
void conformance_empty(struct store *s, const char *project);

#endif
