/* start: what starts runs, for the operations of this room and of others. */
#include "app/run/run.h"

#include <stdlib.h>

const char *app_run_user(const struct app *app)
{
    const char *user = app_user(app) ? app_user(app) : getenv("USER");

    return user ? user : "";
}

int app_run_begin(struct app *app, struct run *run, struct err *e)
{
    struct runs *runs = app_runs(app, e);

    return runs && runs_add(runs, run, e) == 0 ? app_wake_broker(app, e) : -1;
}
