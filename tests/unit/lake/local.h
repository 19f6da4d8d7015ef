/* local: files outside the lake, and puts of them, for the tests of lake/. */
#ifndef TEST_LAKE_LOCAL_H
#define TEST_LAKE_LOCAL_H

#include "lake/put/put.h"
#include "scratch.h"

/* BASE/name; borrowed until the 64th call after this one. */
const char *local_path(const struct scratch *s, const char *name);
/* Writes the file and makes the directories above it. */
void local_write(const struct scratch *s, const char *name, const void *bytes, size_t n);
void local_text(const struct scratch *s, const char *name, const char *text);
/* n bytes that no other seed gives. */
void local_noise(const struct scratch *s, const char *name, size_t n, unsigned seed);
/* Whether both hold the same bytes. */
bool local_same(const char *one, const char *other);
/* Sets the time of the last change of its content an hour back. */
void local_age(const struct scratch *s, const char *name);

/* One source, no options. The summary may be NULL. */
int local_put(struct lake *l,
              const char *source,
              const char *destination,
              struct lake_put_summary *summary,
              struct err *e);
int local_get(struct lake *l,
              const char *ref,
              const char *directory,
              struct lake_get_summary *summary,
              struct err *e);
/* The content of a reference as text; freed by the caller, NULL on failure. */
char *local_cat(struct lake *l, const char *ref);
/* Bytes of all files in the store. */
uint64_t local_store_bytes(const struct scratch *s);

#endif
