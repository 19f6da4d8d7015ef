/* internal: builders, chunks and cursors of set versions, for the files of lake/set; the builder
 * and the walks over all sets also for lake/put and lake/clean. */
#ifndef LAKE_SET_INTERNAL_H
#define LAKE_SET_INTERNAL_H

#include "base/hash.h"
#include "lake/core/bits.h"
#include "lake/core/internal.h"
#include "lake/set/set_chunk.h"

/* ---- set_build.c, set_read.c ---- */

/* Builds the next version of a set, inside one transaction. Paths come in rising byte order, each
 * once; one that lies below another is ERR_USAGE. Needs LAKE_WRITE on a set that exists. */
struct set_builder;
struct set_builder *set_builder_new(struct lake *l,
                                    const char *name,
                                    const struct lake_made *made,
                                    struct err *e);
void set_builder_free(struct set_builder *b);
AUTO_DEFINE(set_builder)
int set_builder_add(struct set_builder *b, const struct lake_entry *entry, struct err *e);
/* parents: ids of set versions, in order of the request; repeated ones count once. */
int set_builder_finish(struct set_builder *b,
                       const int64_t *parents,
                       size_t n_parents,
                       struct lake_set *out,
                       struct err *e);
/* Every distinct chunk of set versions that are not removed or are pinned, once: calls visit for
 * all its entries (paths included). damaged: told of a chunk that cannot be read, in words that
 * name a set version with it, and the others follow; NULL = that ends it with ERR_IO. For gc and
 * fsck. */
int set_each_held(struct lake *l,
                  int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
                  int (*damaged)(void *context, const char *why, struct err *e),
                  void *context,
                  struct err *e);

/* The same as if the set versions of `except` (ids) were not there; damage ends it. */
struct bits;
int set_each_held_without(struct lake *l,
                          const struct bits *except,
                          int (*visit)(void *context,
                                       const struct lake_entry *entry,
                                       struct err *e),
                          void *context,
                          struct err *e);
/* Entries that set versions hold which jobs read or made or will read: of files with these paths,
 * and of all below those that end with '/'; NULL among them is none. visit is told which of the n.
 */
int set_each_used(
    struct lake *l,
    const char *const *paths,
    size_t n,
    int (*visit)(void *context, size_t i, const struct lake_entry *entry, struct err *e),
    void *context,
    struct err *e);
/* Set versions that hold this version of this path, removed ones included, each once. */
int set_each_holder(struct lake *l,
                    const char *path,
                    int64_t version,
                    int (*visit)(void *context, int64_t set_version, struct err *e),
                    void *context,
                    struct err *e);

/* ---- set_parts.c: the chunks of a set version, walked from path to path ---- */

/* A chunk, stored or about to be. */
struct set_part {
    int64_t chunk; /* id; 0: not stored, body is here */
    size_t files;
    uint64_t bytes;
    char *first, *last;
    struct sha256_digest hash;
    unsigned char *body;
    size_t body_len;
};

struct set_parts {
    struct set_part *items;
    size_t n, cap;
};
void set_parts_clear(struct set_parts *p);
/* Those that may hold paths below prefix ("/" = all), without their bodies. */
int set_parts_of(
    struct lake *l, int64_t set_version, const char *prefix, struct set_parts *out, struct err *e);
/* 1: out gets the next chunk behind id *chunk of a set version that is not removed or is pinned,
 * *chunk its id and *set_version_out one such version; out stays empty when the chunk's record is
 * damaged. 0: no more. */
int set_parts_next_held(
    struct lake *l, int64_t *chunk, struct set_parts *out, int64_t *set_version_out, struct err *e);
/* The chunks that next_held tells, without those that only set versions among `except` hold. */
int set_parts_held_without(struct lake *l,
                           const struct bits *except,
                           struct bits *chunks_out,
                           struct err *e);
/* Chunks of any set version among whose paths this one may be; each stands alone, in no order. */
int set_parts_around(struct lake *l, const char *path, struct set_parts *out, struct err *e);
/* The next chunks behind id `after`, SET_PARTS_SOME at most, of set versions that jobs read or made
 * or will read, among whose paths some from `first` to `last` may be; each stands alone. */
#define SET_PARTS_SOME 256
int set_parts_used(struct lake *l,
                   int64_t after,
                   const char *first,
                   const char *last,
                   struct set_parts *out,
                   struct err *e);
/* Takes what was written, and leaves the chunk empty. */
void set_parts_add(struct set_parts *p, struct set_chunk *chunk);
/* ERR_IO that names the set version whose list of files is damaged. */
int set_damaged(struct lake *l, int64_t set_version, struct err *e);

/* Entries of some parts below a prefix, in order; whole chunks can be stepped over unread. */
struct set_cursor {
    struct lake *l;
    struct set_parts *parts; /* borrowed */
    size_t at;               /* part */
    const char *prefix;      /* borrowed */
    size_t prefix_len;
    int64_t set_version;         /* for messages; 0 = none */
    struct set_open_chunk *open; /* NULL: stands before parts->items[at], unread */
    struct lake_entry entry;     /* when open */
    bool damaged;                /* what failed is the list itself */
};
/* All fields but the last three are the caller's; stands at the first entry below prefix. */
int set_cursor_start(struct set_cursor *c, struct err *e);
void set_cursor_clear(struct set_cursor *c);
/* Path of the next entry, NULL at the end. */
const char *set_cursor_path(const struct set_cursor *c);
/* The part that begins here and lies below prefix as a whole; NULL = it does not. */
const struct set_part *set_cursor_whole(const struct set_cursor *c);
/* Steps over it. */
int set_cursor_skip(struct set_cursor *c, struct err *e);
/* Makes `entry` valid: the one set_cursor_path told. */
int set_cursor_open(struct set_cursor *c, struct err *e);
/* To the next entry, after set_cursor_open. */
int set_cursor_next(struct set_cursor *c, struct err *e);

/* ---- more of the builder of internal.h ---- */

/* Whether a part can be added as it is, unread: it begins and ends where this set's chunks do, and
 * no file of it can lie below one that was added. 1, 0 or -1. */
int set_builder_takes_part(struct set_builder *b, const struct set_part *part, struct err *e);
/* The same as adding every entry of a part that it takes, without reading it. */
int set_builder_add_part(struct set_builder *b, const struct set_part *part, struct err *e);
/* ERR_IO for an entry that a chunk does not take. */
int set_entry_damaged(const struct lake_entry *entry, struct err *e);

#endif
