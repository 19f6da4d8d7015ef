/* run: the command that plans a pipeline, asks, starts it and watches it, or simulates it. */
#include "cli/run/run.h"
#include "app/run/start.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/plan/plan.h"
#include "view/table.h"

#include <inttypes.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define NAME_COLUMNS 20

/* ---- simulated runs ---- */

static void print_stage(const struct app_simulated_event *x)
{
    char took[32], planned[32], cost[32], planned_cost[32];

    printf(" %-9s", app_run_state_words(x->state));
    if (x->stage_state == STAGE_GOING && x->follows_prices)
        printf(" and follows prices");
    else if (x->stage_state == STAGE_GOING)
        printf(" on %s%s in %s/%s", x->on->instance_type, x->on->spot ? " (spot)" : "",
               x->on->provider, x->on->region);
    else if (x->stage_state == STAGE_FINISHED)
        printf(" %s of %s, %s of %s", time_text(x->runtime_s, took),
               time_text(x->plan->planned_s, planned), money_text(x->cost_microusd, cost),
               money_text(x->plan->planned_microusd, planned_cost));
    else
        printf(" %s", x->reason);
}

static int print_event(void *context, const struct app_simulated_event *x, struct err *e)
{
    const struct text_look *look = context;
    AUTO_CLEAR(buf) struct buf name;
    char clock[32];

    (void)e;
    buf_init(&name, 4096);
    text_put(&name, x->stage ? x->stage : "", NAME_COLUMNS, look->utf8);
    printf("  %9s  %-*s", cli_plan_clock_text(x->at_s, clock), NAME_COLUMNS, buf_str(&name));
    if (x->state)
        print_stage(x);
    else
        printf(" %s", x->text);
    putchar('\n');
    return 0;
}

static int print_event_json(void *context, const struct app_simulated_event *x, struct err *e)
{
    (void)context;
    (void)e;
    cli_run_print_event(&app_simulated_event_record, x);
    return 0;
}

static int print_bill(const struct app_simulated *b, struct err *e)
{
    const struct app_simulated_stage *stages = b->stages.items;
    char launched[32];
    struct writer w;

    snprintf(launched, sizeof launched, "%" PRId64 " launched", b->machines);
    const struct app_simulated_stage total = {.name = "total",
                                              .state = b->state,
                                              .instance_type = launched,
                                              .planned_s = b->planned_s,
                                              .took_s = b->time_s,
                                              .planned_microusd = b->planned_microusd,
                                              .cost_microusd = b->cost_microusd};
    writer_init(&w, WRITER_TABLE, NULL, &app_simulated_stage_record, NULL, false, stdout);
    for (size_t i = 0; i < b->stages.n; i++)
        writer_item(&w, &stages[i], e);
    table_rule(w.table);
    writer_item(&w, &total, e);
    printf("\nsimulated run %" PRId64 ", seed %" PRId64 "\n", b->run, b->seed);
    int result = writer_end(&w, e);
    writer_clear(&w);
    if (b->switches != FIELD_NONE)
        printf("switches: %" PRId64 ", preemptions: %" PRId64 "\n", b->switches, b->preemptions);
    if (*b->reason)
        printf("%s: %s\n", b->state, b->reason);
    return result;
}

static int simulate(struct app *app, const struct app_run_prepared *r, bool json, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct text_look look = text_look_for(stdout);
    struct app_simulation s = app_run_simulation(r);
    struct app_simulated bill;

    s.tell = json ? print_event_json : print_event;
    s.context = &look;
    interrupt_watch();
    if (app_run_simulate(app, r->plan, &s, arena, &bill, e) < 0)
        return -1;
    if (json)
        cli_run_print_event(&app_simulated_record, &bill);
    else if (print_bill(&bill, e) < 0)
        return -1;
    return app_simulated_check(&bill, e) < 0 ? -1 : cli_run_exit_code(bill.run_state);
}

/* ---- the command ---- */

static int show_plan(const struct app_run_prepared *r, bool json, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct app_plan *p = r->plan;
    bool exists = p->answer.status != PLAN_INFEASIBLE;
    struct app_plan_report report;

    if (json)
        return exists ? 0 : err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
    if ((exists && app_plan_ask_singles(p, e) < 0) || app_plan_report(p, arena, &report, e) < 0 ||
        cli_plan_print(&report, stdout, e) < 0)
        return -1;
    cli_run_say_location(&r->location);
    fflush(stdout);
    return 0;
}

static int run_prepared(struct operate_terminal *door,
                        const struct command_args *args,
                        const struct app_run_prepared *r,
                        struct err *e)
{
    struct app *app = operate_app(door);
    bool json = command_has(args, "--json");
    int64_t id;

    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    if (app_run_wants_simulation(&r->request))
        return simulate(app, r, json, e);
    if (app_run_start(app, r, &id, e) < 0)
        return -1;
    operate_terminal_quiet(door);
    if (!command_has(args, "--detach"))
        return cli_run_watch(app, id, json, e);
    cli_run_say_detached(id, json);
    return 0;
}

static int run_pipeline(const struct command_args *args, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_JSON json_t *json = operate_request(args, &run_start_operation, e);
    AUTO_CLEAR(app_run_prepared) struct app_run_prepared r = {0};
    struct app_run_request q;

    if (!json ||
        record_decode(run_start_operation.request, json, FIELD_AS_OPTION, &q, arena, e) < 0)
        return -1;
    if (app_run_wants_simulation(&q) && command_has(args, "--detach"))
        return err_set(e, ERR_USAGE,
                       "--detach: a simulated run is over in milliseconds, in this command: leave "
                       "it out");
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    if (app_run_prepare(operate_app(door), &q, &r, e) < 0 ||
        show_plan(&r, command_has(args, "--json"), e) < 0)
        return -1;
    return run_prepared(door, args, &r, e);
}

static const struct command_option options[] = {
    CLI_RUN_YES_OPTION,
    CLI_RUN_DETACH_OPTION,
    {.name = "--json", .help = "Print one JSON object per line: every change, last the bill."},
    {0},
};

const struct command command_run = {
    .name = "run",
    .operands = "PIPELINE",
    .summary = "Plan a pipeline, run it, and show its outputs and costs",
    .details =
        "Plans as `tradewind plan` does, asks, and runs the stages in the order of their needs. "
        "Each stage is a job: its input and code come from the lake, its output goes to the lake, "
        "with its provenance. A stage whose code, command and input have not changed is reused "
        "from an earlier run.\n\n"
        "A local run (--on local) does real work on this machine, within the planned CPUs and "
        "memory as far as the machine has them, and is priced as the planned machines. On hosts "
        "(--on ssh, --on GROUP) a stage gets its planned resources as far as a host has them, and "
        "costs the price of the host. A simulated run (--on sim) takes milliseconds: machines "
        "boot, are preempted and refused as the seed and --faults decide.\n\n"
        "Ctrl-C stops the run; finished stages keep their outputs, and --resume continues from "
        "there. A second Ctrl-C stops it at once. `tradewind run stop` stops a run that was "
        "started with --detach. The exit code is 0 when all stages finished, 1 when a stage "
        "failed, 130 when the run was stopped.",
    .example = "tradewind run examples/fashion.yaml --yes",
    .options = options,
    .operation = &run_start_operation,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_pipeline,
};
