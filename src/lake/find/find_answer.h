/* find_answer: the built-in keys and the metadata of one file, set or job. */
#ifndef LAKE_FIND_FIND_ANSWER_H
#define LAKE_FIND_FIND_ANSWER_H

#include "base/buf.h"
#include "lake/core/internal.h"
#include "lake/meta/meta.h"

/* Used again and again; what it holds is borrowed until the next time. */
struct find_answer {
    struct lake_value *values;
    size_t n, cap;
    struct buf texts; /* of keys and values */
    struct find_place {
        size_t key, text; /* offsets, since the buffer moves while it grows */
    } * places;           /* of values */
    size_t places_cap;
    char *ref;
    bool readable; /* for the caller */
};
void find_answer_init(struct find_answer *a);
void find_answer_clear(struct find_answer *a);

/* 1: found, and *out is filled in; 0: there is no such thing; -1. */
int find_answer_get(struct lake *l,
                    struct find_answer *a,
                    enum lake_item kind,
                    int64_t item,
                    struct lake_found *out,
                    struct err *e);

#endif
