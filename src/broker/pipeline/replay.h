/* replay: recorded jobs once more, as the stages of a run: to make a set version again, or to make
 * the next versions of everything that older versions of a set led to. */
#ifndef BROKER_PIPELINE_REPLAY_H
#define BROKER_PIPELINE_REPLAY_H

#include "broker/core/runs.h"
#include "lake/core/lake.h"

struct arena;

/* The jobs it takes to make the set version ("@S:3") again, with recorded code, arguments and
 * input. Its own job always runs, those before it where their output is not there any more. Out of
 * the stages' jobs comes what was recorded, or a new version that says that it differs. All of *out
 * is in the arena. ERR_USAGE, ERR_NOTFOUND: it cannot be, and why. */
int replay_compose(
    struct lake *l, const char *text, struct arena *arena, struct run *out, struct err *e);

/* The jobs that worked on older versions of the set, or on what came of them, on this version and
 * on what comes of it: of every set they made, the newest. What is made from this version already
 * is taken as it is. n_stages 0: all is up to date. */
int rerun_compose(
    struct lake *l, const char *text, struct arena *arena, struct run *out, struct err *e);

#endif
