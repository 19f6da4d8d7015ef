/* start: a planned pipeline started as a run. */
#ifndef APP_RUN_START_H
#define APP_RUN_START_H

#include "app/run/compose.h"

#define APP_RUN_ARENA_BYTES ((size_t)256 << 20)

/* How a planned pipeline is to run. */
struct app_run_wish {
    const struct app_run_location *location;
    int64_t max_microusd; /* spending cap; 0 = none */
    struct field_list secrets;
    bool resume, no_cache;
};

/* Composes a run from p, whose plan is solved, stores it and wakes the broker. */
int app_run_start(struct app *app,
                  const struct app_plan *p,
                  const struct app_run_wish *wish,
                  int64_t *id_out,
                  struct err *e);

#endif
