/* encoder: many records as JSON, each on one line. Everything that is the same in all of them is
 * written once, beforehand, and texts and choices take the shortest way: a list of a million
 * records spends its time here. writer.c uses it, and operations that remember requests by their
 * JSON. */
#ifndef VIEW_ENCODER_H
#define VIEW_ENCODER_H

#include "view/record.h"

struct buf;

/* Begins as {0}. */
struct encoder {
    const struct record *record;
    struct encoder_step *steps; /* by field */
};

/* Whatever was encoded before. */
void encoder_begin(struct encoder *x, const struct record *r);
void encoder_clear(struct encoder *x);
/* Appends what record_encode makes of a record. */
void encoder_put(const struct encoder *x, const void *record, struct buf *out);
/* The same of a single record. */
void encoder_put_one(const struct record *r, const void *record, struct buf *out);

#endif
