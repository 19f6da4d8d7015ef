/* show: the commands `run ls`, `run show` and `run stop`, and the bill of a run for people. */
#include "app/job/job.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <string.h>

/* Rows of the table of machines; --json lists all. */
#define MACHINES_SHOWN 60
#define INDENT 2
#define REASON_COLUMNS 2000
#define REASON_INDENT 4

/* ---- the bill ---- */

static void print_notes(const struct app_run_stage *s, FILE *out)
{
    if (s->note[0])
        fprintf(out, "  %s: %s\n", s->name, s->note);
    if (s->attempts > 1)
        fprintf(out, "  %s: %" PRId64 " attempts, since machines were lost\n", s->name,
                s->attempts);
    if (s->resumed_job != FIELD_NONE)
        fprintf(out, "  %s: resumed from the checkpoint of job %" PRId64 "\n", s->name,
                s->resumed_job);
    bool is_bad = s->state >= STAGE_FAILED;
    if (s->reason[0] && (is_bad || (s->state == STAGE_FINISHED && s->is_elastic))) {
        fprintf(out, "  %s%s%s: ", s->name, is_bad ? " " : "",
                is_bad ? app_run_stage_choices[s->state] : "");
        text_print_lines(out, app_job_reason_text(s->reason), REASON_COLUMNS, REASON_INDENT);
    }
}

static void print_stages(const struct app_run *r, FILE *out)
{
    const struct app_run_stage *stages = r->stages.items;

    writer_list(&app_run_record, r, "stages", SIZE_MAX, INDENT, false, out);
    for (size_t i = 0; i < r->stages.n; i++)
        print_notes(&stages[i], out);
}

/* The machines of stages that followed prices, a line each. */
static void print_machines(const struct app_run *r, FILE *out)
{
    const struct app_run_machine *machines = r->machines.items;
    struct writer w;
    size_t n = 0;

    writer_init(&w, WRITER_TABLE, NULL, &app_run_machine_record, NULL, false, out);
    w.indent = INDENT;
    for (size_t i = 0; i < r->machines.n; i++)
        if (machines[i].follows_prices && n++ < MACHINES_SHOWN)
            writer_item(&w, &machines[i], NULL);
    if (n)
        fputs("\nMachines by price:\n\n", out);
    writer_end(&w, NULL);
    writer_clear(&w);
    if (n > MACHINES_SHOWN)
        fprintf(out, "  and %zu more, which --json lists\n", n - MACHINES_SHOWN);
}

static void print_sum(const struct app_run *r, FILE *out)
{
    const struct app_run_stage *first = r->stages.n ? r->stages.items : NULL;
    char cost[32], planned[32], took[32];

    time_text(r->busy_s, took);
    money_text(r->cost_microusd, cost);
    money_text(r->planned_microusd, planned);
    if (first && first->repeated_job != FIELD_NONE)
        fprintf(out, "\nIts jobs took %s and cost %s; the first time they cost %s.\n", took, cost,
                planned);
    else if (first && first->servers)
        fprintf(out, "\nIts %" PRId64 " nodes took %s in all, and cost %s.\n", first->nodes, took,
                cost);
    else if (!strcmp(r->on, "sim"))
        fprintf(out, "\nIts simulated machines cost %s. The plan: %s.\n", cost, planned);
    else if (!strcmp(r->on, "local"))
        fprintf(out,
                "\nIts jobs took %s here, worth %s at the prices of the planned machines.\n"
                "The plan: %s, with boots, transfers and storage.\n",
                took, cost, planned);
    else
        fprintf(out,
                "\nIts jobs took %s on the hosts of %s, and cost %s there.\n"
                "The plan: %s, with boots, transfers and storage.\n",
                took, r->on, cost, planned);
}

void cli_run_print(struct operate_text *t, const void *record)
{
    const struct app_run *r = record;

    fprintf(t->out, "\nRun %" PRId64 " of %s: %s%s%s\n\n", r->id, r->name,
            app_run_state_choices[r->state], r->reason[0] ? ", " : "", r->reason);
    print_stages(r, t->out);
    print_machines(r, t->out);
    print_sum(r, t->out);
}

int cli_run_exit_code(enum run_state state)
{
    return state == RUN_FINISHED ? 0 : state == RUN_STOPPED ? CLI_RUN_INTERRUPTED : 1;
}

/* ---- run show ---- */

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, &run_get_operation, e);

    if (!request || !command_has(args, "--follow"))
        return request ? operate_run(args, e) : -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    struct cli_run c = {.args = args, .terminal = terminal, .json = command_has(args, "--json")};
    /* Refuses a wrong number before the run is followed. */
    if (cli_run_call(&c, &run_get_operation, request, NULL, NULL, e) < 0)
        return -1;
    int code = cli_run_follow(&c, json_integer_value(json_object_get(request, "run")), e);
    return code < 0 && e->kind == ERR_RETRY && interrupt_seen() ? CLI_RUN_INTERRUPTED : code;
}

static const struct command_option show_options[] = {
    {.name = "--follow",
     .help = "Show its progress until it is over. Ctrl-C ends the display; `tradewind run stop` "
             "stops the run.",
     .letter = 'f'},
    {0},
};

const struct command command_run_show = {
    .name = "run show",
    .operands = "RUN",
    .summary = "Show the stages of a run with their jobs, times and costs beside the plan",
    .example = "tradewind run show 1",
    .options = show_options,
    .operation = &run_get_operation,
    .text = &(const struct command_text){.head = cli_run_print},
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};

/* ---- run ls ---- */

const struct command command_run_ls = {
    .name = "run ls",
    .summary = "List runs of pipelines, the newest first",
    .example = "tradewind run ls",
    .operation = &run_list_operation,
    .text =
        &(const struct command_text){.empty =
                                         "There are no runs; tradewind run PIPELINE starts one."},
};

/* ---- run stop ---- */

static void print_stopped(struct operate_text *t, const void *record)
{
    const struct app_run_stopped *s = record;

    if (s->was_over)
        fprintf(t->out, "run %" PRId64 " was over already: %s\n", s->run,
                app_run_state_choices[s->state]);
    else if (s->now)
        fprintf(t->out, "stopping run %" PRId64 " at once\n", s->run);
    else
        fprintf(t->out,
                "stopping run %" PRId64
                "; finished stages keep their outputs. Repeat the command to stop it at once.\n",
                s->run);
}

const struct command command_run_stop = {
    .name = "run stop",
    .operands = "RUN",
    .summary = "Stop a run; finished stages keep their outputs",
    .details = "Running jobs get SIGTERM, and SIGKILL after 30 seconds. With --now, or when the "
               "command is repeated, they are killed at once. `tradewind run PIPELINE --resume` "
               "continues the pipeline from there.",
    .example = "tradewind run stop 1",
    .operation = &run_stop_operation,
    .text = &(const struct command_text){.head = print_stopped},
    .min_operands = 1,
    .max_operands = 1,
};
