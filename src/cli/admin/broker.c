#include "broker/daemon/broker.h"
#include "app/core/lake_open.h"
#include "app/job/resources.h"
#include "base/mem.h"
#include "base/number.h"
#include "broker/daemon/client.h"
#include "cli/core/commands.h"
#include "exec/exec.h"
#include "spec/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IDLE_S 60.0
#define STORE_WAIT_S 25.0
#define SECONDS_MAX 1e9

static struct lake *open_lake(void *context, struct err *e)
{
    (void)context;
    return lake_open_here(e);
}

/* As the environment has it; *s stays where it has nothing. */
static int take_seconds(const char *name, double *s, struct err *e)
{
    const char *text = getenv(name);

    if (text && (!number_parse(text, s) || !(*s >= 0 && *s <= SECONDS_MAX)))
        return err_set(e, ERR_USAGE, "%s=\"%s\" is no number of seconds", name, text);
    return 0;
}

static int retire(const char *home, struct err *e)
{
    struct err why = {0};
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, false, &why);

    if (c)
        return broker_client_retire(c, e);
    if (why.kind == ERR_NOTFOUND) {
        puts("No broker was running.");
        return 0;
    }
    *e = why;
    return -1;
}

static int run(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);

    if (!c)
        return -1;
    AUTO_MEM char *home = lake_open_absolute(c->home, e);
    if (!home)
        return -1;
    if (command_has(args, "--stop"))
        return retire(home, e);
    AUTO_MEM char *agent = exec_find_agent(e);
    if (!agent)
        return -1;
    struct app_job_room room = app_job_local_room();
    struct broker_options options = {.home = home,
                                     .open_lake = open_lake,
                                     .agent = agent,
                                     .cpus = room.cpus,
                                     .memory_mb = room.memory_mb,
                                     .idle_s = IDLE_S,
                                     .store_wait_s = STORE_WAIT_S,
                                     .ready_fd = STDOUT_FILENO};
    if (take_seconds("TRADEWIND_BROKER_IDLE_S", &options.idle_s, e) < 0 ||
        take_seconds("TRADEWIND_BROKER_STORE_WAIT_S", &options.store_wait_s, e) < 0)
        return -1;
    return broker_serve(&options, e);
}

static const struct command_option options[] = {
    {.name = "--stop", .help = "End the broker that runs; its jobs go on, and are found again."},
    {0},
};

const struct command command_broker = {
    .name = "broker",
    .summary = "serve this home's jobs; started by itself when it is needed",
    .details =
        "Moves jobs from the queue to machines and on to their end. Commands that need it start it "
        "in the background; it ends when there has been nothing to do for a minute "
        "(TRADEWIND_BROKER_IDLE_S). An output that changes while it is read is tried ten times, up "
        "to 25 s apart (TRADEWIND_BROKER_STORE_WAIT_S). Everything it knows is in the lake or with "
        "the jobs' agents: "
        "killed, it loses nothing. Its messages go to broker.log in $TRADEWIND_HOME.",
    .example = "tradewind broker --stop",
    .options = options,
    .run = run,
};
