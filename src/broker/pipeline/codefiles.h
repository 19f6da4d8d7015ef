/* codefiles: the files of a stored version of code with their digests: what decides whether a stage
 * with other code is run again. */
#ifndef BROKER_PIPELINE_CODEFILES_H
#define BROKER_PIPELINE_CODEFILES_H

#include "base/arena.h"
#include "base/hash.h"
#include "broker/pipeline/usedcode.h"
#include "lake/core/lake.h"

struct codefiles {
    struct arena *arena;
    int64_t set_version;
    struct codefile *list; /* by path */
    size_t n, cap;
    /* Of paths and executable bits of all files, without those that no program looks for
     * (.gitignore, .github/ ...): a new file may be found before another one. */
    struct sha256_digest names;
    struct sha256_digest whole; /* of paths, executable bits and contents of all files */
};
void codefiles_free(struct codefiles *c);
AUTO_DEFINE(codefiles)

/* A few of them, by set version: stages share their code. Zero = empty. */
#define CODEFILES_CACHED 4
struct codefiles_cache {
    struct codefiles *items[CODEFILES_CACHED];
    size_t next;
};
void codefiles_cache_clear(struct codefiles_cache *c);

/* Those of a reference that code_store made, or one of its set versions; borrowed from the cache
 * until CODEFILES_CACHED others were asked for. NULL: e. */
const struct codefiles *codefiles_of(struct lake *l,
                                     struct codefiles_cache *cache,
                                     const char *ref,
                                     struct err *e);
const struct codefile *codefiles_find(const struct codefiles *c, const char *path);

/* Whether the path is one that `pattern` of a stage's `code:` names: a file, a directory with
 * everything below it, or a pattern with * and ?. */
bool codefiles_picks(const char *pattern, const char *path);
/* Of the picked files alone. */
struct sha256_digest codefiles_picked(const struct codefiles *c,
                                      const char *const *patterns,
                                      size_t n);
/* The first pattern that names no file; NULL: all do. */
const char *codefiles_unmatched(const struct codefiles *c, const char *const *patterns, size_t n);
/* Whether `names` leaves the path out. */
bool codefiles_is_unseen(const char *path);

#endif
