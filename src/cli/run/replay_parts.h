/* replay_parts: recorded jobs once more: shown, asked for, run and compared. */
#ifndef CLI_RUN_REPLAY_PARTS_H
#define CLI_RUN_REPLAY_PARTS_H

#include "base/err.h"
#include "lake/core/lake.h"

#include <stdbool.h>

struct replay_order {
    const char *ref; /* "@S:3" */
    bool onwards;    /* rerun --from: what came of older versions, on this one */
    bool yes, json;
};
/* The exit code: 0, 1 failed, 130 stopped, or -1. */
int replay_carry_out(struct lake *l, const struct replay_order *order, struct err *e);

/* Adds to the error of a `get` the way to have the content again, for the first of these references
 * that jobs can make again; on a terminal asks, and replays: then 1, and the get is worth another
 * try. -1: e is what it was, or what went wrong. */
int replay_offer(struct lake *l, const char *const *refs, size_t n, bool json, struct err *e);

#endif
