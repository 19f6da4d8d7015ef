/* tfevents: scalars in the event files of TensorBoard (events.out.tfevents.*). The files come from
 * jobs: everything in them is checked. */
#ifndef BROKER_LEARN_TFEVENTS_H
#define BROKER_LEARN_TFEVENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name: as a metric of the lake may be called; value may be NAN or infinite. < 0 ends the call. */
struct tfevents_visitor {
    int (*scalar)(void *context, const char *name, double step, double value, struct err *e);
    void *context;
};

/* Records of bytes that a file continues with: 12 bytes of frame, an event, 4 bytes of frame.
 * *used_out: the whole records at its beginning, which were told. A record longer than
 * TFEVENTS_RECORD_MAX is never whole: *skip_out is its length, of which nothing is used. 0 or, with
 * e: ERR_CHANGED: a checksum is wrong, from there on the file cannot be read; what visit returned.
 */
#define TFEVENTS_RECORD_MAX ((size_t)1 << 20)
int tfevents_take(const struct tfevents_visitor *visitor,
                  const unsigned char *bytes,
                  size_t n,
                  size_t *used_out,
                  uint64_t *skip_out,
                  struct err *e);

/* All event files below the directory, in order of their paths. Scalars of one directory have their
 * tags as names; where there are several directories, the path below the deepest one that has all
 * of them comes before it: "train/loss". The end of a file that is still being written is left out.
 * warn: a file that cannot be read, and why; the others are read all the same. -1: what visit
 * returned, or the directory cannot be read. */
int tfevents_read_all(const char *directory,
                      const struct tfevents_visitor *visitor,
                      void (*warn)(void *context, const char *text),
                      struct err *e);

#endif
