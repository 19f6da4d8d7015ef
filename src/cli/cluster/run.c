/* run: the commands `cluster run` and `cluster measure`, which prepare a cluster, ask, and start
 * it. */
#include "cli/run/run.h"
#include "app/cluster/cluster.h"
#include "app/job/cloud.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- cluster run ---- */

static void say_offer(const char *role, const struct app_offer *o)
{
    printf("%s: %s/%s %s, %s, $%.4g per hour\n", role, o->provider, o->zone ? o->zone : o->region,
           o->instance_type, o->market, o->price_usd_per_hour);
}

static void say_offers(const struct app_cluster_started *p)
{
    if (!p->server_offer)
        return;
    say_offer("server", p->server_offer);
    say_offer("each worker", p->worker_offer);
    printf("all: $%.4g per hour\n", p->price_usd_per_hour);
}

static int show_cluster(void *context, const void *head, struct err *e)
{
    const struct cli_run *c = context;
    const struct app_cluster_started *p = head;

    (void)e;
    if (c->json)
        return 1;
    printf("%s: a server%s%s and %" PRId64 " worker%s%s%s, each with %g CPU%s and %.1f GB%s\n",
           p->name, *p->server_type ? " " : "", p->server_type, p->workers,
           p->workers == 1 ? "" : "s", *p->worker_type ? " " : "", p->worker_type, p->cpus,
           p->cpus == 1 ? "" : "s", p->memory_gb, p->is_elastic ? ", elastic" : "");
    say_offers(p);
    cli_run_say_location(p->location);
    return 1;
}

static int run_cluster(const struct command_args *args, struct err *e)
{
    const struct operation *op = &cluster_start_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    c.detach = command_has(args, "--detach");
    int agreed = cli_run_ask(&c, op, request, show_cluster, NULL, e);
    return agreed <= 0 ? agreed : cli_run_start(&c, op, request, e);
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
    .operation = &cluster_start_operation,
    .run = run_cluster,
};

/* ---- cluster measure ---- */

static void print_measurement(struct operate_text *t, const void *record)
{
    const struct app_cluster_measurement *m = record;

    fprintf(t->out,
            "%s on %s: one worker sends and receives %.4g Mbit/s and does %.4g iterations per "
            "second\n",
            m->name, m->type, m->mbps, m->per_s);
    if (m->again)
        fprintf(t->out, "Measured for %.1f s in run %" PRId64 "; recorded in %s\n", m->seconds,
                m->run, m->file);
    else
        fputs("Measured before; --again measures it once more.\n", t->out);
}

/* Asks unless the worker was measured before. */
static int show_measurement(void *context, const void *head, struct err *e)
{
    const struct app_cluster_measurement *m = head;
    struct cli_run *c = context;

    (void)e;
    if (!isnan(m->mbps))
        c->yes = true;
    else if (!c->yes)
        fprintf(stderr, "%s is measured on a server and a worker of %s. ", m->name, m->on);
    return 1;
}

static int run_measure(const struct command_args *args, struct err *e)
{
    static const struct command_text text = {.head = print_measurement};
    const struct operation *op = &cluster_measure_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    int agreed = cli_run_ask(&c, op, request, show_measurement, "Measure it?", e);
    if (agreed <= 0)
        return agreed;
    interrupt_watch(1);
    int code = operate_call(args, terminal, op, request, &text, e);
    return code < 0 && interrupt_seen() ? CLI_RUN_INTERRUPTED : code;
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
