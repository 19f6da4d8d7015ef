/* cluster run: a parameter server and workers, as one run. */
#include "base/mem.h"
#include "broker/machine/cap.h"
#include "cli/cluster/cluster_parts.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_BYTES ((size_t)256 << 20)

static const struct command_option options[] = {
    {.name = "--on",
     .value = "local|ssh|GROUP",
     .help = "Where to run: all nodes on this machine (the default), on all hosts of the "
             "configuration, or on those of a group of it."},
    {.name = "--server-on",
     .value = "GROUP",
     .help = "The server is on a host of this group, the workers on those of --on."},
    {.name = "--workers",
     .value = "N",
     .help = "So many workers; unless said, as many as `cluster recommend` says."},
    {.name = "--elastic",
     .help = "A worker that ends badly leaves the others going; else it ends all of them."},
    {.name = "--type", .value = "TYPE", .help = "Workers are of this type."},
    {.name = "--server", .value = "TYPE", .help = "The server is of this type."},
    {.name = "--place", .value = "PLACE", .help = "Prices are those of this place: aws/eu-west-2."},
    {.name = "--work", .value = "N", .help = "How many iterations are planned for."},
    CLI_CLUSTER_ROOM_OPTIONS,
    {.name = "--env",
     .value = "KEY=VALUE",
     .help = "A variable for all nodes, also instead of one of the file.",
     .repeatable = true},
    CLI_RUN_SECRET_OPTION,
    {.name = "--max-cost", .value = "USD", .help = "Stop when more than this is spent."},
    {.name = "--no-cache", .help = "Run it, even if nothing about it has changed."},
    CLI_RUN_YES_OPTION,
    CLI_RUN_DETACH_OPTION,
    {.name = "--json",
     .help = "Print one JSON object a line: every change, every line of the logs with its rank, "
             "the bill at last."},
    {0},
};

static int read_workers(const struct command_args *args, unsigned *out, struct err *e)
{
    double n = 0;

    if (command_number(args, "--workers", &n, e) < 0)
        return -1;
    if (command_has(args, "--workers") &&
        !(n >= 1 && n <= SPEC_CLUSTER_MAX_WORKERS && floor(n) == n))
        return err_set(e, ERR_USAGE, "--workers %s: a whole number from 1 to %d is wanted",
                       command_value(args, "--workers"), SPEC_CLUSTER_MAX_WORKERS);
    *out = (unsigned)n;
    return 0;
}

static void say(const struct cluster_desk *d, const struct cluster_order *o)
{
    printf("%s: a server%s%s and %u worker%s%s%s, each with %g CPU%s and %.1f GB%s\n",
           d->spec->name, *o->server_type ? " " : "", o->server_type, o->workers,
           o->workers == 1 ? "" : "s", *o->worker_type ? " " : "", o->worker_type, o->room.cpus,
           o->room.cpus == 1 ? "" : "s", (double)o->room.memory_mb / 1024,
           o->elastic ? ", elastic" : "");
    cli_run_say_location(&o->place);
    fflush(stdout);
}

static int start(const struct cluster_desk *d,
                 const struct command_args *args,
                 const struct cluster_order *order,
                 struct app *app,
                 int64_t *id_out,
                 struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct run run = {.no_cache = command_has(args, "--no-cache")};
    struct lake *l = app_lake(app, e);

    run.user = app_run_user(app);
    if (!l || cli_run_read_cap(args, &run.max_microusd, e) < 0 ||
        cap_check_month(d->config, l, e) < 0 ||
        cluster_order_compose(d, args, order, app, arena, &run, e) < 0)
        return -1;
    int result = app_run_begin(app, &run, e);
    *id_out = run.id;
    return result;
}

static int run_cluster(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cluster_desk) struct cluster_desk d = {0};
    AUTO_MEM struct cluster_order *order = mem_zero(1, sizeof *order);
    bool json = command_has(args, "--json");
    unsigned workers;
    int64_t id;

    if (read_workers(args, &workers, e) < 0 || cluster_desk_open(&d, args, e) < 0 ||
        cluster_order_find(&d, args, workers, order, e) < 0)
        return -1;
    order->elastic = command_has(args, "--elastic");
    if (!json)
        say(&d, order);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    if (start(&d, args, order, operate_app(door), &id, e) < 0)
        return -1;
    if (!command_has(args, "--detach"))
        return cli_run_watch(operate_app(door), id, json, e);
    cli_run_say_detached(id, json);
    return 0;
}

const struct command command_cluster_run = {
    .name = "cluster run",
    .operands = "FILE",
    .summary = "Train on a cluster: a parameter server and workers that begin together",
    .details =
        "Every node runs the file's command, with its role and the addresses of all in variables: "
        "TRADEWIND_ROLE, TRADEWIND_SERVER, TF_CONFIG, MASTER_ADDR, RANK and others that "
        "docs/cluster.md lists. Code and data are sent to all. What the server, which is rank 0, "
        "leaves in $TRADEWIND_OUTPUT is kept as the set NAME.train, with its provenance.\n"
        "\n"
        "Logs of all nodes are printed as they come, each line behind its rank. A node that ends "
        "badly ends the others; with --elastic a worker does not, as long as one is left.\n"
        "\n"
        "Ctrl-C stops the run; twice stops it at once. The exit code is 0 when it finished, 1 when "
        "it failed, 130 when it was stopped.",
    .example = "tradewind cluster run examples/cluster/digits.yaml --workers 2 --yes",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_cluster,
};
