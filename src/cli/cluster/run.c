/* run: the commands `cluster run` and `cluster measure`, which prepare a cluster, ask, and start
 * it. */
#include "cli/run/run.h"
#include "app/cluster/cluster.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <stdio.h>

#define ARENA_BYTES ((size_t)1 << 20)

/* ---- cluster run ---- */

static void print_prepared(const struct app_cluster_prepared *p)
{
    printf("%s: a server%s%s and %u worker%s%s%s, each with %g CPU%s and %.1f GB%s\n",
           p->cluster.spec->name, *p->server_type ? " " : "", p->server_type, p->workers,
           p->workers == 1 ? "" : "s", *p->worker_type ? " " : "", p->worker_type, p->room.cpus,
           p->room.cpus == 1 ? "" : "s", (double)p->room.memory_mb / 1024,
           p->request.elastic ? ", elastic" : "");
    cli_run_say_location(&p->location);
    fflush(stdout);
}

static int run_cluster(const struct command_args *args, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_JSON json_t *request = operate_request(args, &cluster_run_operation, e);
    AUTO_CLEAR(app_cluster_prepared) struct app_cluster_prepared p = {0};
    struct app_cluster_run_request q = {0};
    bool json = command_has(args, "--json");
    int64_t id;

    if (!request ||
        record_decode(cluster_run_operation.request, request, FIELD_AS_OPTION, &q, arena, e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    struct app *app = operate_app(door);
    if (app_cluster_prepare(app, &q, &p, e) < 0)
        return -1;
    if (!json)
        print_prepared(&p);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    if (app_cluster_start(app, &p, &id, e) < 0)
        return -1;
    operate_terminal_quiet(door);
    if (!command_has(args, "--detach"))
        return cli_run_watch(app, id, json, e);
    cli_run_say_detached(id, json);
    return 0;
}

static const struct command_option run_options[] = {
    CLI_RUN_YES_OPTION,
    CLI_RUN_DETACH_OPTION,
    {.name = "--json",
     .help = "Print one JSON object per line: every change, every line of the logs with its rank, "
             "last the bill."},
    {0},
};

const struct command command_cluster_run = {
    .name = "cluster run",
    .operands = "FILE",
    .summary = "Train on a cluster of a parameter server and workers",
    .details =
        "Every node runs the file's command, with its role and the addresses of all nodes in "
        "variables: TRADEWIND_ROLE, TRADEWIND_SERVER, TF_CONFIG, MASTER_ADDR, RANK and others that "
        "docs/cluster.md lists. All nodes get the code and the data, and begin together. The files "
        "that the server, rank 0, leaves in $TRADEWIND_OUTPUT become the set NAME.train, with "
        "their provenance.\n"
        "\n"
        "Logs of all nodes are printed as they come, each line behind its rank. When a node fails, "
        "the others are stopped; with --elastic they continue after a worker has failed, as long "
        "as one is left.\n"
        "\n"
        "Ctrl-C stops the run; a second Ctrl-C stops it at once. The exit code is 0 when it "
        "finished, 1 when it failed, 130 when it was stopped.",
    .example = "tradewind cluster run examples/cluster/digits.yaml --workers 2 --yes",
    .options = run_options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &cluster_run_operation,
    .run = run_cluster,
};

/* ---- cluster measure ---- */

static int print_measurement(const struct app_cluster_measurement *m, bool json, struct err *e)
{
    if (json) {
        AUTO_JSON json_t *root = record_encode(&app_cluster_measurement_record, m);
        return json_write(stdout, root, e);
    }
    printf("%s on %s: one worker sends and receives %.4g Mbit/s and does %.4g iterations per "
           "second\n",
           m->name, m->type, m->mbps, m->per_s);
    if (m->again)
        printf("Measured for %.1f s in run %" PRId64 "; recorded in %s/%s\n", m->seconds, m->run,
               m->home, CLUSTER_MEASURED_FILE);
    else
        printf("Measured before; --again measures it once more.\n");
    return 0;
}

static int measure(const struct command_args *args,
                   struct operate_terminal *door,
                   const struct app_cluster_prepared *p,
                   struct err *e)
{
    AUTO_MEM char *question = mem_printf("Measure %s on a server and a worker of %s?",
                                         p->cluster.spec->name, p->location.on);
    struct app_cluster_measurement m;

    int agreed = cli_run_confirm(command_has(args, "--yes"), question, e);
    if (agreed <= 0)
        return agreed;
    interrupt_watch();
    if (app_cluster_measure(operate_app(door), p, &m, e) < 0)
        return -1;
    operate_terminal_quiet(door);
    return m.was_interrupted ? CLI_RUN_INTERRUPTED
                             : print_measurement(&m, command_has(args, "--json"), e);
}

static int run_measure(const struct command_args *args, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    const struct operation *op = &cluster_measure_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);
    AUTO_CLEAR(app_cluster_prepared) struct app_cluster_prepared p = {0};
    struct app_cluster_run_request q = {0};
    struct app_cluster_measurement before;

    if (!request || record_decode(op->request, request, FIELD_AS_OPTION, &q, arena, e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    if (app_cluster_measure_prepare(operate_app(door), &q, &p, e) < 0)
        return -1;
    if (!q.again && app_cluster_measured_before(&p, &before))
        return print_measurement(&before, command_has(args, "--json"), e);
    return measure(args, door, &p, e);
}

static const struct command_option measure_options[] = {CLI_RUN_YES_OPTION, {0}};

const struct command command_cluster_measure = {
    .name = "cluster measure",
    .operands = "FILE",
    .summary = "Measure the network traffic and iterations per second of one worker",
    .details =
        "Runs the file's command on one server and one worker for a short while, without keeping "
        "its output. Records two rates: the Mbit/s through all network interfaces of the worker's "
        "machine, both ways together and without the loopback, and the iterations per second, "
        "which are the steps of the [TRADEWIND_METRIC] NAME STEP VALUE lines that the worker "
        "prints. measured.csv of the home directory has them per command, batch size and type. "
        "Existing rates are not measured again unless --again is given.",
    .example = "tradewind cluster measure examples/cluster/digits.yaml --on lab",
    .options = measure_options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &cluster_measure_operation,
    .run = run_measure,
};
