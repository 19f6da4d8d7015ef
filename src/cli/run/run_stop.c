#include "broker/daemon/client.h"
#include "cli/core/commands.h"
#include "cli/run/run_parts.h"
#include "spec/config.h"

#include <inttypes.h>
#include <stdio.h>

static int ask(struct runs *runs, const struct run *r, const char *home, bool now, struct err *e)
{
    unsigned how = now || r->stop_asked ? 2 : 1;
    AUTO(broker_client) struct broker_client *c = NULL;

    if (runs_ask_stop(runs, r->id, how, e) < 0)
        return -1;
    c = broker_client_open(home, true, e);
    if (!c || broker_client_wake(c, e) < 0)
        return -1;
    if (how == 1)
        printf("run %" PRId64 " is being stopped; what is finished stays. Once more: at once.\n",
               r->id);
    else
        printf("run %" PRId64 " is being stopped at once\n", r->id);
    return 0;
}

static int stop(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO(runs) struct runs *runs = c ? runs_open(c->home, e) : NULL;
    AUTO_CLEAR(run) struct run r = {0};
    int64_t id;

    if (!runs || run_id_parse(args->operands[0], &id, e) < 0 || runs_get(runs, id, &r, e) < 0)
        return -1;
    if (r.state != RUN_GOING) {
        printf("run %" PRId64 " was over already: %s\n", id, run_state_text(r.state));
        return 0;
    }
    if (run_is_on_paper(&r))
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " is on paper: it goes only as long as its own command does",
                       id);
    return ask(runs, &r, c->home, command_has(args, "--now"), e);
}

static const struct command_option options[] = {
    {.name = "--now", .help = "At once: what runs is not given the time to end by itself."},
    {0},
};

const struct command command_run_stop = {
    .name = "run stop",
    .operands = "RUN",
    .summary = "Stops a run: what runs may end by itself, what is finished stays",
    .details = "What runs gets SIGTERM, and SIGKILL after 30 seconds; stopped once more, or with "
               "--now, at once. `tradewind run PIPELINE --resume` goes on from there.",
    .example = "tradewind run stop 1",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = stop,
};
