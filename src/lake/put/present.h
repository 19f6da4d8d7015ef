/* present: whether content in the database is still in the store: users delete blobs by hand. The
 * store is asked once per blob. */
#ifndef LAKE_PUT_PRESENT_H
#define LAKE_PUT_PRESENT_H

#include "lake/core/internal.h"

struct present {
    struct lake *l;
    struct present_blob {
        int64_t id;
        uint64_t size;
    } * blobs; /* those asked for */
    size_t n, cap;
    struct map *by_id; /* to indices of blobs */
};

void present_init(struct present *p, struct lake *l);
void present_clear(struct present *p);
/* 1: the blob is there and long enough, 0: it is not, -1. Nothing is read of it. */
int present_object(struct present *p, int64_t object, struct err *e);

#endif
