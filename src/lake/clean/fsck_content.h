/* fsck_content: the part of fsck that reads the store. */
#ifndef LAKE_CLEAN_FSCK_CONTENT_H
#define LAKE_CLEAN_FSCK_CONTENT_H

#include "lake/clean/clean.h"
#include "lake/clean/need.h"

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
