/* internal: the parts of gc and fsck, for the files of lake/clean. */
#ifndef LAKE_CLEAN_INTERNAL_H
#define LAKE_CLEAN_INTERNAL_H

#include "lake/clean/clean.h"
#include "lake/core/bits.h"
#include "lake/core/internal.h"

/* ---- need.c ---- */

struct need {
    struct bits versions; /* ids of file versions that a set or a pin holds */
    struct bits objects;  /* ids of contents that these, or a pending session, need */
};
void need_clear(struct need *n);

/* Everything that sets, pins and pending sessions of the project need, as of the transaction it is
 * called in. keep_latest: and the newest version of every listed file. except: set versions (ids)
 * that need nothing; NULL = none. */
int need_find(
    struct lake *l, bool keep_latest, const struct bits *except, struct need *out, struct err *e);
/* Adds the file versions that are pinned themselves to n->versions. */
int need_pinned(struct lake *l, struct need *n, struct err *e);

/* ---- repack.c ---- */

/* What the lake knows of a blob. */
struct repack_state {
    bool known;
    bool is_pack; /* it holds small contents only */
    uint64_t live_bytes;
};
int repack_state(struct lake *l, const char *blob, struct repack_state *out, struct err *e);

/* Moves what the pack holds into new packs and removes it. Content that is damaged stays where it
 * is, and the pack with it. */
int repack(struct lake *l, const char *blob, uint64_t *moved_bytes, struct err *e);

/* ---- spare.c ---- */

struct spares {
    struct lake_spare *items; /* by age; refs owned; only_bytes not filled in */
    size_t n, cap;
    /* Ids of set versions: these, and those made of them by hand, which come back with them. */
    struct bits without;
};
void spares_clear(struct spares *s);

/* only: ids; n 0 = all. As of the transaction it is called in. */
int spares_find(struct lake *l, const int64_t *only, size_t n, struct spares *out, struct err *e);
/* Ids of the contents they hold. */
int spares_contents(struct lake *l, const struct spares *s, struct bits *out, struct err *e);

/* ---- fsck_content.c ---- */

struct fsck {
    struct lake *l;
    const struct lake_progress *progress;
    int (*problem)(void *context, const char *text, struct err *e);
    void *context;
    struct lake_fsck_summary *summary;
    struct need need;              /* versions alone */
    uint64_t all_files, all_bytes; /* to be read */
    uint64_t read_bytes;
};

/* Counts a problem and tells it: -1 when the listener wants no more. */
int fsck_problem(struct fsck *f, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads and verifies every content that is there. */
int fsck_contents(struct fsck *f, struct err *e);
/* Counts blobs that no content lies in. */
int fsck_leftovers(struct fsck *f, struct err *e);

#endif
