/* run: the command `geo run`, which plans a training, asks, runs it and prints its bill. */
#include "cli/run/run.h"
#include "app/geo/geo.h"
#include "app/job/cloud.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "view/table.h"

#include <inttypes.h>
#include <string.h>

/* Of many quick rounds one per second is printed. */
#define ROUND_S 1.0

static void print_stage(const struct app_geo_run_stage *s)
{
    const struct app_offer *o = s->offer;

    printf("  %-28s %-20s on %s", s->name, s->location, o ? o->provider : s->on);
    if (o)
        printf(" %s, $%.4g per hour", o->instance_type, o->price_usd_per_hour);
    putchar('\n');
}

static int show_plan(void *context, const void *head, struct err *e)
{
    const struct cli_run *c = context;
    const struct app_geo_run_plan *p = ((const struct app_geo_report *)head)->plan;
    const struct app_geo_run_stage *stages = p->stages.items;
    char cost[32], time[32];

    (void)e;
    if (c->json)
        return 1;
    printf("%s: %" PRIu64 " workers, %.0f round%s, %s; function at %s, store at %s\n", p->name,
           p->workers, p->rounds, p->rounds > 1 ? "s" : "", p->topology, p->function, p->store);
    printf("In the clouds it would cost %s and take %s; per round $%.6f and %.2f s.\n",
           money_text(p->cost_microusd, cost), time_text(p->time_s, time), p->round_usd,
           p->round_s);
    for (size_t i = 0; i < p->stages.n; i++)
        print_stage(&stages[i]);
    return 1;
}

/* ---- while it runs ---- */

struct following {
    struct cli_run *c;
    FILE *log; /* NULL = none is wanted */
    double told_s;
};

/* Lines of the event log go to their file; Ctrl-C needs the number of the run. */
static bool take_event(struct operate_text *t, const void *record)
{
    const struct app_geo_run_event *x = record;
    struct following *f = t->state;

    f->c->run = x->run;
    if (!x->detail)
        return false;
    AUTO_MEM char *text = json_dumps(x->detail, JSON_COMPACT | JSON_REAL_PRECISION(17));
    fprintf(f->log, "%s\n", text ? text : "{}");
    return true;
}

static void print_event(struct operate_text *t, const void *record)
{
    const struct app_geo_run_event *x = record;
    struct following *f = t->state;
    double now_s = time_monotonic_s();

    if (x->round == FIELD_NONE) {
        fprintf(t->out, "Run %" PRId64 "\n", x->run);
    } else if (now_s - f->told_s >= ROUND_S || x->round + 1 == x->rounds) {
        f->told_s = now_s;
        fprintf(t->out, "  round %" PRId64 " of %" PRId64 "  %.2f s\n", x->round + 1, x->rounds,
                x->time_s);
    }
}

/* ---- the bill ---- */

static void print_end(const struct app_geo_report *r, FILE *out)
{
    const struct app_geo_failure *failures = r->failures.items;

    fprintf(out, "\nRun %" PRId64 " of %s: %s", r->run, r->name, app_run_state_choices[r->state]);
    if (r->reason[0])
        fprintf(out, ": %s", r->reason);
    if (r->model && r->model[0])
        fprintf(out, "; the model is %s", r->model);
    fputs("\n", out);
    for (size_t i = 0; i < r->failures.n; i++)
        fprintf(out, "  %s, job %" PRId64 ": %s\n", failures[i].stage, failures[i].job,
                failures[i].reason);
}

static void print_phases(const struct app_geo_report *r, const struct operate_text *o)
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
    table_print(t, o->out, 0, &o->look);
}

static void print_counts(const struct app_geo_report *r, FILE *out)
{
    const struct geo_counts *c = r->counts;
    double n = r->rounds;

    fprintf(
        out,
        "per round: %.3f MB between regions, %.1f invocations, %.1f reads (%.1f found nothing), "
        "%.1f writes, %.1f lists\n",
        c->wan_bytes / n / 1e6, c->invocations / n, c->reads / n, c->failed_polls / n,
        c->writes / n, c->lists / n);
}

static void print_bill(const struct app_geo_report *r, const struct operate_text *o)
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
    table_print(t, o->out, 0, &o->look);
}

static void print_report(struct operate_text *t, const void *record)
{
    const struct app_geo_report *r = record;

    print_end(r, t->out);
    if (!r->phases)
        return;
    fputs("\n", t->out);
    print_phases(r, t);
    fputs("\n", t->out);
    print_counts(r, t->out);
    fputs("\n", t->out);
    print_bill(r, t);
}

static int exit_code(const void *head)
{
    return cli_run_exit_code(((const struct app_geo_report *)head)->state);
}

/* ---- the command ---- */

static int run_training(const struct command_args *args, struct err *e)
{
    static const struct command_text text = {
        .take = take_event, .item = print_event, .head = print_report, .exit_code = exit_code};
    const struct operation *op = &geo_run_operation;
    const char *path = command_value(args, "--events");
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    struct following f = {.c = &c};
    int code = cli_run_ask(&c, op, request, show_plan, NULL, e);
    if (code <= 0)
        return code;
    if (path && !(f.log = fopen(path, "we")))
        return file_error(e, "write", path);
    if (path)
        json_object_set_new(request, "log", json_true());
    cli_run_stop_on_interrupt(&c);
    code = operate_call_with(args, terminal, op, request, &text, &f, e);
    if (f.log && fclose(f.log) != 0 && code >= 0)
        return file_error(e, "write", path);
    return code;
}

static const struct command_option options[] = {
    {.name = "--events",
     .value = "FILE",
     .help = "Write the event log to this file, one JSON object per line."},
    CLI_RUN_YES_OPTION,
    {.name = "--json",
     .help =
         "Print one JSON object per line: {event: started}, {event: round} for each round, last "
         "{event: run, state, model, rounds, phases, counts, bill, forecast, planned}."},
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
