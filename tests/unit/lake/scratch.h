/* scratch: lakes in temporary directories, for the tests of lake/. */
#ifndef TEST_LAKE_SCRATCH_H
#define TEST_LAKE_SCRATCH_H

#include "base/mem.h"
#include "lake/core/files.h"
#include "lake/core/internal.h"
#include "lake/meta/meta.h"
#include "lake/set/set.h"

struct scratch {
    char home[64];
    char url[80];   /* dir:HOME/objects */
    int64_t now_ms; /* what the lake takes for the time; moves on by one at each look */
    /* Fails the database call that comes after so many; -1 = none. */
    int64_t calls_left;
};

/* A new directory; the test ends when that fails. */
void scratch_init(struct scratch *s);
/* In memory where that is possible: for thousands of transactions, which would each wait for the
 * disk. */
void scratch_init_fast(struct scratch *s);
void scratch_clear(struct scratch *s); /* removes it */

/* Options for an admin "ann" of project "default"; change what matters. *s must stay. */
struct lake_options scratch_options(struct scratch *s);
/* Opens it, or ends the test with a failed check. */
struct lake *scratch_open(struct scratch *s);
struct lake *scratch_open_as(struct scratch *s, const char *project, const char *user, bool admin);

/* Stores the text as content (through store_writer and object_keep) and adds a version of path with
 * it, each in a transaction of its own. The number, or -1 and e. */
int64_t scratch_put(struct lake *l, const char *path, const char *text, struct err *e);
/* The same without a store: the content is a row that claims to lie in a blob. Fast. */
int64_t scratch_fake(struct lake *l, const char *path, const char *text, struct err *e);
/* In a transaction of the caller: the next version of one path, as version_rows_add has it. */
int scratch_version(struct lake *l,
                    const struct lake_made *made,
                    const struct version_new *v,
                    struct version_done *out,
                    struct err *e);
/* In a transaction of the caller: fake content's id, and an act that makes versions. */
int64_t scratch_object(struct lake *l, const char *text);

/* Resolves and returns lake_ref_text, or "ERR_KIND-NUMBER: text" of the error; freed by the caller.
 */
char *scratch_resolve(struct lake *l, const char *text, unsigned access);

/* A set version of these files as they are now (paths in order), without parents; its id. */
int64_t scratch_set(struct lake *l, const char *name, const char *const *paths, size_t n);

/* First column of the first row of a query without parameters, as a number; -1 when there is none.
 */
int64_t scratch_number(struct lake *l, const char *sql);

#endif
