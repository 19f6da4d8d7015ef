/* run: the command that plans a pipeline, asks, starts it and watches it, or simulates it. */
#include "cli/run/run.h"
#include "app/run/gpus.h"
#include "app/run/simulate.h"
#include "app/run/start.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/plan/plan.h"
#include "view/table.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>

#define NAME_COLUMNS 20

/* ---- simulated runs ---- */

static void print_stage(const struct app_simulated_event *x, FILE *out)
{
    char took[32], planned[32], cost[32], planned_cost[32];

    fprintf(out, " %-9s", app_run_stage_choices[x->state]);
    if (x->state == STAGE_GOING && x->follows_prices)
        fputs(" and follows prices", out);
    else if (x->state == STAGE_GOING)
        fprintf(out, " on %s%s in %s", x->instance_type, x->spot ? " (spot)" : "", x->location);
    else if (x->state == STAGE_FINISHED)
        fprintf(out, " %s (planned %s), %s (planned %s)", time_text(x->runtime_s, took),
                time_text(x->planned_s, planned), money_text(x->cost_microusd, cost),
                money_text(x->planned_microusd, planned_cost));
    else
        fprintf(out, " %s", x->reason);
}

static void print_event(struct operate_text *t, const void *record)
{
    const struct app_simulated_event *x = record;
    AUTO_CLEAR(buf) struct buf name;
    char clock[32];

    buf_init(&name, 4096);
    text_put(&name, x->stage ? x->stage : "", NAME_COLUMNS, t->look.utf8);
    fprintf(t->out, "  %9s  %-*s", cli_plan_clock_text(x->at_s, clock), NAME_COLUMNS,
            buf_str(&name));
    if (x->state)
        print_stage(x, t->out);
    else
        fprintf(t->out, " %s", x->text);
    putc('\n', t->out);
}

static void print_bill(struct operate_text *t, const void *record)
{
    const struct app_simulated *b = record;
    const struct app_simulated_stage *stages = b->stages.items;
    char launched[32];
    struct writer w;

    snprintf(launched, sizeof launched, "%" PRId64 " launched", b->machines);
    const struct app_simulated_stage total = {.name = "total",
                                              .state = b->state == RUN_FINISHED ? STAGE_FINISHED
                                                       : b->state == RUN_FAILED ? STAGE_FAILED
                                                                                : STAGE_STOPPED,
                                              .instance_type = launched,
                                              .planned_s = b->planned_s,
                                              .took_s = b->time_s,
                                              .planned_microusd = b->planned_microusd,
                                              .cost_microusd = b->cost_microusd};
    writer_init(&w, WRITER_TABLE, NULL, &app_simulated_stage_record, NULL, false, t->out);
    for (size_t i = 0; i < b->stages.n; i++)
        writer_item(&w, &stages[i], NULL);
    table_rule(w.table);
    writer_item(&w, &total, NULL);
    fprintf(t->out, "\nsimulated run %" PRId64 ", seed %" PRId64 "\n", b->run, b->seed);
    writer_end(&w, NULL);
    writer_clear(&w);
    if (b->switches != FIELD_NONE)
        fprintf(t->out, "switches: %" PRId64 ", preemptions: %" PRId64 "\n", b->switches,
                b->preemptions);
    if (*b->reason)
        fprintf(t->out, "%s: %s\n", app_run_state_choices[b->state], b->reason);
}

static int exit_code(const void *head)
{
    return cli_run_exit_code(((const struct app_simulated *)head)->state);
}

/* ---- why a stage is run again ---- */

static void print_sentence(struct operate_text *t, const char *text, size_t indent)
{
    AUTO_MEM char *line = mem_printf("%*s%s", (int)indent, "", text);

    text_paragraph(t->out, line, indent, &t->look);
}

static void print_why(struct operate_text *t, const void *record)
{
    const struct app_run_why *why = ((const struct app_run_started *)record)->why;
    bool has_finished = why->job != FIELD_NONE;
    AUTO_MEM char *first =
        why->is_reused ? mem_printf("%s is reused: nothing that it used has changed since job "
                                    "%" PRId64 ".",
                                    why->stage, why->job)
        : has_finished ? mem_printf("%s is run again. Since job %" PRId64 ":", why->stage, why->job)
                       : mem_printf("%s is run: it has not finished yet.", why->stage);

    print_sentence(t, first, 0);
    for (size_t i = 0; i < why->changes.n; i++)
        print_sentence(t, why->changes.items[i], 2);
    if (why->code)
        print_sentence(t, why->code, 0);
}

static int tell_why(const struct cli_run *c, json_t *request, struct err *e)
{
    static const struct command_text text = {.head = print_why};

    if (c->detach)
        return err_set(e, ERR_USAGE, "--why and --detach exclude each other");
    return operate_call(c->args, c->terminal, &run_start_operation, request, &text, e);
}

/* ---- the command ---- */

static int show_plan(const struct cli_run *c, const struct app_plan_report *plan, struct err *e)
{
    if (!c->json)
        return cli_plan_print(plan, stdout, e) < 0 ? -1 : 1;
    return plan->reason ? cli_plan_no_plan(plan, e) : 1;
}

static int show_simulation(void *context, const void *head, struct err *e)
{
    const struct cli_run *c = context;
    int shown = show_plan(c, ((const struct app_simulated *)head)->plan, e);

    if (shown > 0 && !c->json)
        puts("\nRunning in simulation (--on sim), in virtual time: nothing is launched, no work is "
             "done.");
    return shown;
}

/* Such a run starts only where its user says so. */
static int show_lacks(const struct cli_run *c, const struct field_records *lacks, struct err *e)
{
    const struct app_run_lack *list = lacks->items;
    bool without = command_has(c->args, "--without-gpus");

    for (size_t i = 0; i < lacks->n && !c->json; i++)
        printf("Stage %s asks for %s%s: %s.\n", list[i].stage, list[i].accelerators,
               without ? " and runs without (--without-gpus)" : "", list[i].there);
    if (without)
        return 1;
    return err_set(e, ERR_NOFIT,
                   "stage %s asks for %s, and %s: --without-gpus runs it without, --on GROUP on "
                   "hosts",
                   list->stage, list->accelerators, list->there);
}

static void show_reads(const struct field_records *reads)
{
    const struct app_run_read_source *list = reads->items;

    for (size_t i = 0; i < reads->n; i++) {
        AUTO_MEM char *text = mem_printf("Stage %s reads %s%s%s.", list[i].stage, list[i].source,
                                         list[i].target ? ", which it finds at " : "",
                                         list[i].target ? list[i].target : "");
        text_print(stdout, text, strlen(text));
        putchar('\n');
    }
}

static int show_run(void *context, const void *head, struct err *e)
{
    const struct cli_run *c = context;
    const struct app_run_started *planned = head;
    int shown = show_plan(c, planned->plan, e);

    if (shown > 0 && !c->json)
        cli_run_say_location(planned->location);
    if (shown > 0 && !c->json)
        show_reads(&planned->reads);
    return shown > 0 && planned->lacks.n ? show_lacks(c, &planned->lacks, e) : shown;
}

static int simulate(struct cli_run *c, json_t *request, struct err *e)
{
    static const struct command_text text = {
        .item = print_event, .head = print_bill, .exit_code = exit_code};

    if (c->detach)
        return err_set(e, ERR_USAGE,
                       "--detach: a simulated run is over in milliseconds, in this command: leave "
                       "it out");
    int agreed = cli_run_ask(c, &run_simulate_operation, request, show_simulation, NULL, e);
    if (agreed <= 0)
        return agreed;
    interrupt_watch(1);
    return operate_call(c->args, c->terminal, &run_simulate_operation, request, &text, e);
}

/* Refuses options that the chosen operation does not have. */
static int check_options(const struct command_args *args, const struct operation *op, struct err *e)
{
    bool is_simulated = op == &run_simulate_operation;

    for (size_t i = 0; i < args->n_given; i++) {
        const struct command_option *o = args->given[i].option;
        if (!o->field || record_field(op->request, o->field->name) || !strcmp(o->name, "--on"))
            continue;
        return is_simulated
                   ? err_set(e, ERR_USAGE, "%s: a simulation (--on sim) has no use for it", o->name)
                   : err_set(e, ERR_USAGE, "%s needs --on sim", o->name);
    }
    return 0;
}

static int run_pipeline(const struct command_args *args, struct err *e)
{
    const char *on = command_value(args, "--on");
    bool is_simulated = on && !strcmp(on, "sim");
    const struct operation *op = is_simulated ? &run_simulate_operation : &run_start_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request || check_options(args, op, e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    c.detach = command_has(args, "--detach");
    c.quiet = command_has(args, "--quiet");
    if (is_simulated)
        return simulate(&c, request, e);
    if (command_has(args, "--why"))
        return tell_why(&c, request, e);
    int agreed = cli_run_ask(&c, op, request, show_run, NULL, e);
    return agreed <= 0 ? agreed : cli_run_start(&c, op, request, e);
}

static const struct command_option options[] = {
    CLI_RUN_YES_OPTION,
    CLI_RUN_DETACH_OPTION,
    CLI_RUN_QUIET_OPTION,
    {.name = "--json", .help = "Print one JSON object per line: every change, last the bill."},
    {0},
};

const struct command command_run = {
    .name = "run",
    .operands = "PIPELINE",
    .summary = "Plan a pipeline, run it, and show its outputs and costs",
    .details =
        "Plans as `tradewind plan` does, asks for confirmation, and runs the stages in the order "
        "of their needs. Each stage is a job: its input and code come from the lake, and its "
        "output is stored in the lake, with its provenance. A stage whose command, variables, "
        "input "
        "and used files of code have not changed is reused from an earlier run; --why STAGE says "
        "what changed.\n\n"
        "A local run (--on local) does real work on this machine, within the planned CPUs and "
        "memory as far as the machine has them, and is priced as the planned machines. On hosts "
        "(--on ssh, --on GROUP) a stage gets its planned resources as far as a host has them, and "
        "costs the price of the host. A simulated run (--on sim) takes milliseconds: machines "
        "boot, are preempted and refused as the seed and --faults decide.\n\n"
        "Lines that stages print appear as they come, each behind the name of its stage; `job "
        "logs` "
        "has them byte for byte, and all that a flood left out here.\n\n"
        "Ctrl-C stops the run; finished stages keep their outputs, and --resume continues from "
        "there. A second Ctrl-C stops it at once. `tradewind run stop` stops a run that was "
        "started with --detach. The exit code is 0 when all stages finished, 1 when a stage "
        "failed, 130 when the run was stopped.",
    .example = "tradewind run examples/fashion.yaml --yes",
    .options = options,
    .operation = &run_start_operation,
    .also = &run_simulate_operation,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_pipeline,
};
