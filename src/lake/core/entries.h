/* entries: the files of set versions, read from the chunks that sets share. References into sets,
 * lake/set, lake/put and lake/clean read sets through it. */
#ifndef LAKE_CORE_ENTRIES_H
#define LAKE_CORE_ENTRIES_H

#include "base/hash.h"
#include "lake/core/bits.h"
#include "lake/core/chunk.h"
#include "lake/core/internal.h"

/* ---- entries.c ---- */

/* Files of a set version below prefix ("/" = all), in order. No permissions are asked. */
int entries_each(struct lake *l,
                 int64_t set_version,
                 const char *prefix,
                 lake_visit_entry *visit,
                 void *context,
                 struct err *e);
/* The entry of one path: 1 (path in *out is the argument), 0 or -1. */
int entries_find(
    struct lake *l, int64_t set_version, const char *path, struct lake_entry *out, struct err *e);
/* Every distinct chunk of set versions that are not removed or are pinned, once: calls visit for
 * all its entries (paths included). except: as if these set versions (ids) were not there; NULL =
 * none. damaged: told of a chunk that cannot be read, in words that name a set version with it, and
 * the others follow; NULL = that ends it with ERR_IO. For gc and fsck. */
int entries_each_held(struct lake *l,
                      const struct bits *except,
                      lake_visit_entry *visit,
                      int (*damaged)(void *context, const char *why, struct err *e),
                      void *context,
                      struct err *e);
/* Entries that set versions hold which jobs read or made or will read: of files with these paths,
 * and of all below those that end with '/'; NULL among them is none. visit is told which of the n.
 */
int entries_each_used(
    struct lake *l,
    const char *const *paths,
    size_t n,
    int (*visit)(void *context, size_t i, const struct lake_entry *entry, struct err *e),
    void *context,
    struct err *e);
/* Set versions that hold this version of this path, removed ones included, each once. visit stands
 * in the middle of a query. */
int entries_each_holder(struct lake *l,
                        const char *path,
                        int64_t version,
                        int (*visit)(void *context, int64_t set_version, struct err *e),
                        void *context,
                        struct err *e);

/* ---- parts.c: the chunks of a set version, walked from path to path ---- */

/* A chunk, stored or about to be. */
struct part {
    int64_t chunk; /* id; 0: not stored, body is here */
    size_t files;
    uint64_t bytes;
    char *first, *last;
    struct sha256_digest hash;
    unsigned char *body;
    size_t body_len;
};

struct parts {
    struct part *items;
    size_t n, cap;
};
void parts_clear(struct parts *p);
/* Those that may hold paths below prefix ("/" = all), without their bodies. */
int parts_of(
    struct lake *l, int64_t set_version, const char *prefix, struct parts *out, struct err *e);
/* 1: out gets the next chunk behind id *chunk of a set version that is not removed or is pinned,
 * *chunk its id and *set_version_out one such version; out stays empty when the chunk's record is
 * damaged. 0: no more. */
int parts_next_held(
    struct lake *l, int64_t *chunk, struct parts *out, int64_t *set_version_out, struct err *e);
/* The chunks that next_held tells, without those that only set versions among `except` hold. */
int parts_held_without(struct lake *l,
                       const struct bits *except,
                       struct bits *chunks_out,
                       struct err *e);
/* Chunks of any set version among whose paths this one may be; each stands alone, in no order. */
int parts_around(struct lake *l, const char *path, struct parts *out, struct err *e);
/* The next chunks behind id `after`, PARTS_SOME at most, of set versions that jobs read or made
 * or will read, among whose paths some from `first` to `last` may be; each stands alone. */
#define PARTS_SOME 256
int parts_used(struct lake *l,
               int64_t after,
               const char *first,
               const char *last,
               struct parts *out,
               struct err *e);
/* Takes what was written, and leaves the chunk empty. */
void parts_add(struct parts *p, struct chunk *chunk);
/* ERR_IO that names the set version whose list of files is damaged. */
int entries_damaged(struct lake *l, int64_t set_version, struct err *e);

/* Entries of some parts below a prefix, in order; whole chunks can be stepped over unread. */
struct cursor {
    struct lake *l;
    struct parts *parts; /* borrowed */
    size_t at;           /* part */
    const char *prefix;  /* borrowed */
    size_t prefix_len;
    int64_t set_version;         /* for messages; 0 = none */
    struct set_open_chunk *open; /* NULL: stands before parts->items[at], unread */
    struct lake_entry entry;     /* when open */
    bool damaged;                /* what failed is the list itself */
};
/* All fields but the last three are the caller's; stands at the first entry below prefix. */
int cursor_start(struct cursor *c, struct err *e);
void cursor_clear(struct cursor *c);
/* Path of the next entry, NULL at the end. */
const char *cursor_path(const struct cursor *c);
/* The part that begins here and lies below prefix as a whole; NULL = it does not. */
const struct part *cursor_whole(const struct cursor *c);
/* Steps over it. */
int cursor_skip(struct cursor *c, struct err *e);
/* Makes `entry` valid: the one cursor_path told. */
int cursor_open(struct cursor *c, struct err *e);
/* To the next entry, after cursor_open. */
int cursor_next(struct cursor *c, struct err *e);

#endif
