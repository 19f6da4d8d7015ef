/* run: the command `geo run`, which plans a training, asks, runs it and prints its bill. */
#include "cli/run/run.h"
#include "app/geo/geo.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "view/table.h"

#include <inttypes.h>

#define ARENA_BYTES ((size_t)16 << 20)
/* Of many quick rounds one per second is printed. */
#define ROUND_S 1.0

static int print_plan(const struct app_geo_run *g, struct arena *arena, struct err *e)
{
    struct app_geo_run_planned p;
    char cost[32], time[32];

    if (app_geo_run_plan(g, arena, &p, e) < 0)
        return -1;
    printf("%s: %zu workers, %.0f round%s, %s; function at %s, store at %s\n", p.name, p.workers,
           p.rounds, p.rounds > 1 ? "s" : "", p.topology, p.function, p.store);
    printf("In the clouds it would cost %s and take %s; per round $%.6f and %.2f s.\n",
           money_text(p.total->total_microusd, cost), time_text(p.total->time_s, time), p.round_usd,
           p.round_s);
    for (size_t i = 0; i < p.n_stages; i++)
        printf("  %-28s %-20s on %s\n", p.stages[i].name, p.stages[i].location, p.stages[i].on);
    return 0;
}

/* ---- while it runs ---- */

struct watching {
    struct operate_terminal *door;
    bool json;
    unsigned stops;
    double told_s;
};

static void print_round(void *context, const struct app_geo_round *r)
{
    struct watching *w = context;
    double now_s = time_monotonic_s();

    operate_terminal_quiet(w->door);
    if (w->json) {
        cli_run_print_event(&app_geo_round_record, r);
    } else if (now_s - w->told_s >= ROUND_S || (size_t)r->round + 1 == r->rounds) {
        w->told_s = now_s;
        printf("  round %" PRId64 " of %zu  %.2f s\n", r->round + 1, r->rounds, r->time_s);
    }
    fflush(stdout);
}

static unsigned count_stops(void *context)
{
    struct watching *w = context;
    unsigned seen = interrupt_count();

    if (seen > w->stops)
        fprintf(stderr,
                seen == 1 ? "\nStopping. Ctrl-C again: at once.\n" : "\nStopping at once.\n");
    w->stops = seen;
    return seen;
}

/* ---- the bill ---- */

static void print_end(const struct app_geo_report *r)
{
    const struct run *run = r->of;

    printf("\nRun %" PRId64 " of %s: %s", r->run, r->name, r->state);
    if (r->reason[0])
        printf(": %s", r->reason);
    if (r->has_figures && r->model[0])
        printf("; the model is %s", r->model);
    printf("\n");
    for (size_t i = 0; i < run->n_stages; i++)
        if (run->stages[i].state == STAGE_FAILED)
            printf("  %s, job %" PRId64 ": %s\n", run->stages[i].plan.name, run->stages[i].job,
                   run->stages[i].reason);
}

static void print_phases(const struct app_geo_report *r, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "per round"},
        {.title = "train", .right = true},
        {.title = "upload", .right = true},
        {.title = "wait", .right = true},
        {.title = "aggregate", .right = true},
        {.title = "download", .right = true},
        {.title = "in all", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    const struct geo_phases *rows[] = {r->planned_phases, r->phases};

    for (size_t i = 0; i < 2; i++) {
        table_put(t, i ? "measured" : "planned");
        const double phases[] = {rows[i]->train_s,    rows[i]->upload_s,
                                 rows[i]->wait_s,     rows[i]->aggregate_s,
                                 rows[i]->download_s, i ? r->round_s : r->planned_round_s};
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
            table_printf(t, "%.2f s", phases[k]);
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_counts(const struct app_geo_report *r)
{
    const struct geo_counts *c = r->counts;
    double n = r->rounds;

    printf("per round: %.3f MB between regions, %.1f invocations, %.1f reads (%.1f found nothing), "
           "%.1f writes, %.1f lists\n",
           c->wan_bytes / n / 1e6, c->invocations / n, c->reads / n, c->failed_polls / n,
           c->writes / n, c->lists / n);
}

static void print_bill(const struct app_geo_report *r, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "at cloud prices"},
        {.title = "planned", .right = true},
        {.title = "model, as measured", .right = true},
        {.title = "bill", .right = true},
    };
    static const char *const names[] = {"machines", "functions", "requests",
                                        "storage",  "transfer",  "total"};
    const struct geo_bill *bills[] = {r->planned, r->forecast, r->bill};
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        table_put(t, names[i]);
        for (size_t k = 0; k < 3; k++) {
            const struct geo_bill *b = bills[k];
            const double parts[] = {b->vm_usd,      b->faas_usd,     b->requests_usd,
                                    b->storage_usd, b->transfer_usd, geo_bill_usd(b)};
            table_printf(t, "$%.6f", parts[i]);
        }
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_report(const struct app_geo_report *r)
{
    const struct text_look look = text_look_for(stdout);

    print_end(r);
    if (!r->has_figures)
        return;
    printf("\n");
    print_phases(r, &look);
    printf("\n");
    print_counts(r);
    printf("\n");
    print_bill(r, &look);
}

static int write_events(const struct app_geo_run *g, const char *path, struct err *e)
{
    FILE *out = fopen(path, "we");

    if (!out)
        return file_error(e, "write", path);
    for (size_t i = 0; i < app_geo_run_n_events(g); i++) {
        AUTO_JSON json_t *o = app_geo_run_event(g, i);
        AUTO_MEM char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
        fprintf(out, "%s\n", text ? text : "{}");
    }
    return fclose(out) == 0 ? 0 : file_error(e, "write", path);
}

/* ---- the command ---- */

static int run_and_report(const struct command_args *args,
                          struct operate_terminal *door,
                          struct app_geo_run *g,
                          struct arena *arena,
                          struct err *e)
{
    struct app *app = operate_app(door);
    struct watching w = {.door = door, .json = command_has(args, "--json")};
    const struct app_geo_watcher watcher = {print_round, count_stops, &w};
    const char *events = command_value(args, "--events");
    struct app_geo_report report;
    int64_t id;

    if (app_geo_start(app, g, &id, e) < 0)
        return -1;
    operate_terminal_quiet(door);
    if (!w.json)
        printf("Run %" PRId64 "\n", id);
    fflush(stdout);
    interrupt_watch_two();
    if (app_geo_follow(app, g, &watcher, e) < 0)
        return -1;
    operate_terminal_quiet(door);
    if ((events && write_events(g, events, e) < 0) || app_geo_report(app, g, arena, &report, e) < 0)
        return -1;
    if (w.json)
        cli_run_print_event(&app_geo_report_record, &report);
    else
        print_report(&report);
    return cli_run_exit_code(report.of->state);
}

static int run_training(const struct command_args *args, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    const struct operation *op = &geo_run_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);
    struct app_geo_run_request q = {0};

    if (!request || record_decode(op->request, request, FIELD_AS_OPTION, &q, arena, e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    AUTO(app_geo_run) struct app_geo_run *g = app_geo_run_new(operate_app(door), &q, e);
    if (!g || (!command_has(args, "--json") && print_plan(g, arena, e) < 0))
        return -1;
    fflush(stdout);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    return agreed <= 0 ? agreed : run_and_report(args, door, g, arena, e);
}

static const struct command_option options[] = {
    {.name = "--events",
     .value = "FILE",
     .help = "Write the event log to this file, one JSON object per line."},
    CLI_RUN_YES_OPTION,
    {.name = "--json",
     .help = "Print one JSON object per line: {event: round} for each round, last {event: run, "
             "state, model, rounds, phases, counts, bill, forecast, planned}."},
    {0},
};

const struct command command_geo_run = {
    .name = "geo run",
    .operands = "FILE",
    .summary = "Run a geo-distributed training, and show its bill beside the forecast",
    .details =
        "Plans as `tradewind geo plan` does, takes the best placement, asks, and starts the "
        "training: workers as jobs on this machine or on host groups, the aggregator where the "
        "function belongs, gradients through the store of each region. Prints a round when all "
        "workers have its result.\n"
        "\n"
        "At the end it prints the model as a set version, the phases of a round, requests and "
        "bytes between regions, and the cost of all that at cloud prices: by the events, by the "
        "model for the measured times, and as planned.\n"
        "\n"
        "A worker that is killed is started again and continues its round; a worker that fails "
        "ends the run. Ctrl-C stops the run; a second Ctrl-C stops it at once. The exit code is 0 "
        "when it finished, 1 when it failed, 130 when it was stopped.",
    .example = "tradewind geo run shirts.yaml --on local",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &geo_run_operation,
    .run = run_training,
};
