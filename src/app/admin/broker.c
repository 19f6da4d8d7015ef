/* broker: serves and stops the background broker of a home, for `tradewind broker`. */
#include "broker/daemon/broker.h"

#include "app/admin/admin.h"
#include "app/core/lake_open.h"
#include "app/job/resources.h"
#include "app/run/failover.h"
#include "base/mem.h"
#include "base/number.h"
#include "broker/daemon/client.h"
#include "exec/exec.h"

#define IDLE_S 60.0
#define STORE_WAIT_S 25.0
#define SECONDS_MAX 1e9

/* A variable of the environment; *s stays where it is not set. */
static int take_seconds(const struct app *app, const char *name, double *s, struct err *e)
{
    const char *text = app_variable(app, name);

    if (text && (!number_parse(text, s) || !(*s >= 0 && *s <= SECONDS_MAX)))
        return err_set(e, ERR_USAGE, "%s=\"%s\" is not a number of seconds", name, text);
    return 0;
}

int admin_broker_stop(struct app *app, struct err *e)
{
    const char *home = app_home(app, e);
    struct err why = {0};

    if (!home)
        return -1;
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, NULL, &why);
    if (c)
        return broker_client_retire(c, e) < 0 ? -1 : 1;
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

int admin_broker_serve(struct app *app, int ready_fd, struct err *e)
{
    const char *home = app_home(app, e);
    AUTO_MEM char *agent = home ? exec_find_agent(e) : NULL;

    if (!agent)
        return -1;
    const struct app_job_room room = app_job_local_room();
    struct broker_options options = {.home = home,
                                     .open_lake = app_lake_here,
                                     .agent = agent,
                                     .cpus = room.cpus,
                                     .memory_mb = room.memory_mb,
                                     .idle_s = IDLE_S,
                                     .store_wait_s = STORE_WAIT_S,
                                     .ready_fd = ready_fd,
                                     .replan = app_run_failover};
    if (take_seconds(app, "TRADEWIND_BROKER_IDLE_S", &options.idle_s, e) < 0 ||
        take_seconds(app, "TRADEWIND_BROKER_STORE_WAIT_S", &options.store_wait_s, e) < 0)
        return -1;
    return broker_serve(&options, e);
}
