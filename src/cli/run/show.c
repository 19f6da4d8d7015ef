/* show: the commands `run ls`, `run show` and `run stop`, and the bill of a run for people. */
#include "app/job/job.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/shell.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/run/run.h"
#include "view/table.h"

#include <inttypes.h>
#include <string.h>

/* Rows of the table of machines; --json lists all. */
#define FILE_BYTES 4096
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
    if (s->reason[0] && (is_bad || s->state == STAGE_FINISHED)) {
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

/* What was tried before the machines that ran. */
static void print_refusals(const struct app_run *r, FILE *out)
{
    if (!r->refusals.n)
        return;
    fputs("\nRefused by clouds:\n\n", out);
    writer_list(&app_run_record, r, "refusals", MACHINES_SHOWN, INDENT, false, out);
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
                "The plan: %s, with setup, transfers and storage.\n",
                took, cost, planned);
    else if (first && first->offer)
        fprintf(out,
                "\nIts jobs took %s on machines of clouds, which cost %s.\n"
                "The plan: %s, with setup, transfers and storage.\n",
                took, cost, planned);
    else
        fprintf(out,
                "\nIts jobs took %s on the hosts of %s, and cost %s there.\n"
                "The plan: %s, with setup, transfers and storage.\n",
                took, r->on, cost, planned);
}

/* "params  LR=0.1, SEED=3" */
static void print_values(const struct app_run *r, FILE *out)
{
    const char *name, *before = "\n  params: ";
    json_t *value;

    json_object_foreach(r->values.params, name, value)
    {
        AUTO_MEM char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        fputs(before, out);
        text_print(out, name, TEXT_COLUMNS);
        if (!json_is_true(value)) {
            fputc('=', out);
            text_print(out, json_is_string(value) ? json_string_value(value) : text, TEXT_COLUMNS);
        }
        before = ", ";
    }
    fputs(json_object_size(r->values.params) ? "\n" : "", out);
}

static void print_metrics(const struct app_run *r, FILE *out)
{
    static const struct table_column columns[] = {{.title = "metric", .cut_rank = 1, .least = 12},
                                                  {.title = "last", .right = true},
                                                  {.title = "min", .right = true},
                                                  {.title = "max", .right = true},
                                                  {.title = "steps", .right = true}};
    static const char *const members[] = {"last", "min", "max"};
    const struct text_look look = text_look_for(out);
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    const char *name;
    json_t *series;

    json_object_foreach(r->values.series, name, series)
    {
        table_put(table, name);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            const json_t *value = json_object_get(series, members[i]);
            if (json_is_number(value))
                table_printf(table, "%.6g", json_number_value(value));
            else
                table_put(table, "nan");
        }
        table_printf(table, "%" JSON_INTEGER_FORMAT,
                     json_integer_value(json_object_get(series, "steps")));
    }
    if (!json_object_size(r->values.series))
        return;
    fputc('\n', out);
    table_print(table, out, INDENT, &look);
}

/* What to look at, and how to go on. */
static void print_next(const struct app_run *r, FILE *out)
{
    const struct app_run_stage *stages = r->stages.items;
    size_t i = 0;

    while (i < r->stages.n && (stages[i].state != STAGE_FAILED || stages[i].job == FIELD_NONE))
        i++;
    if (r->state != RUN_FAILED || i == r->stages.n || !r->file || !*r->file ||
        stages[i].is_simulated || stages[i].repeated_job != FIELD_NONE || stages[i].servers > 0)
        return;
    AUTO_CLEAR(buf) struct buf file;
    buf_init(&file, FILE_BYTES);
    shell_put_word(&file, r->file);
    fprintf(out, "tradewind job logs %" PRId64 " shows what it printed; tradewind run ",
            stages[i].job);
    text_print(out, buf_str(&file), FILE_BYTES);
    fputs(" --resume continues.\n", out);
}

void cli_run_print(struct operate_text *t, const void *record)
{
    const struct app_run *r = record;

    fprintf(t->out, "\nRun %" PRId64 " of %s: %s%s%s\n\n", r->id, r->name,
            app_run_state_choices[r->state], r->reason[0] ? ", " : "", r->reason);
    print_stages(r, t->out);
    print_machines(r, t->out);
    print_refusals(r, t->out);
    print_values(r, t->out);
    print_metrics(r, t->out);
    print_sum(r, t->out);
    print_next(r, t->out);
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
    struct cli_run c = {.args = args,
                        .terminal = terminal,
                        .json = command_has(args, "--json"),
                        .quiet = command_has(args, "--quiet")};
    /* Refuses a wrong number before the run is followed. */
    if (cli_run_call(&c, &run_get_operation, request, NULL, NULL, e) < 0)
        return -1;
    int code = cli_run_follow(&c, json_integer_value(json_object_get(request, "run")), e);
    return code < 0 && e->kind == ERR_RETRY && interrupt_seen() ? CLI_RUN_INTERRUPTED : code;
}

static const struct command_option show_options[] = {
    {.name = "--follow",
     .help = "Show its progress and what its stages print until it is over. Ctrl-C ends the "
             "display; `tradewind run stop` "
             "stops the run.",
     .letter = 'f'},
    CLI_RUN_QUIET_OPTION,
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

/* Metrics and parameters that are columns. */
#define NAMES_MAX 16

struct listed {
    const char *names[NAMES_MAX];
    size_t n;
    struct table *table;
};

static void add_name(struct listed *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->names[i], name))
            return;
    if (l->n < NAMES_MAX)
        l->names[l->n++] = name;
}

/* --metric and --sort, in the order given. */
static void find_names(struct listed *l, const struct command_args *args)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].option->name, "--metric") ||
            !strcmp(args->given[i].option->name, "--sort"))
            add_name(l, args->given[i].value);
}

/* The runs of a table with further columns. */
static struct table *new_table(const struct listed *l)
{
    struct table_column columns[NAMES_MAX + 5] = {
        {.title = "run", .right = true},
        {.title = "pipeline", .cut_rank = 2, .least = 8},
        {.title = "state"},
        {.title = "started"},
        {.title = "cost", .right = true},
    };

    for (size_t i = 0; i < l->n; i++)
        columns[5 + i] =
            (struct table_column){.title = l->names[i], .right = true, .cut_rank = 1, .least = 6};
    return table_new(columns, 5 + l->n);
}

static void put_value(struct table *table, const struct app_run *r, const char *name)
{
    const json_t *value = json_object_get(r->values.metrics, name);

    value = value ? value : json_object_get(r->values.params, name);
    if (json_is_number(value))
        table_printf(table, "%.6g", json_number_value(value));
    else
        table_put(table, json_is_string(value) ? json_string_value(value)
                         : json_is_true(value) ? "yes"
                                               : "-");
}

static void list_run(struct operate_text *t, const void *record)
{
    const struct app_run *r = record;
    struct listed *l = t->state;
    char text[32];

    if (!l->table) {
        find_names(l, t->args);
        l->table = new_table(l);
    }
    table_printf(l->table, "%" PRId64, r->id);
    table_put(l->table, r->name);
    table_put(l->table, app_run_state_choices[r->state]);
    table_put(l->table, time_iso(r->created_ms, text));
    table_put(l->table, money_text(r->cost_microusd, text));
    for (size_t i = 0; i < l->n; i++)
        put_value(l->table, r, l->names[i]);
}

static void end_list(struct operate_text *t)
{
    const struct listed *l = t->state;

    if (l->table)
        table_print(l->table, t->out, 0, &t->look);
    else
        fprintf(t->out, "%s\n",
                command_has(t->args, "--where")
                    ? "No run meets the conditions."
                    : "There are no runs; tradewind run PIPELINE starts one.");
}

static void clear_list(struct operate_text *t)
{
    table_free(((struct listed *)t->state)->table);
}

static int run_ls(const struct command_args *args, struct err *e)
{
    static const struct command_text plain = {
        .empty = "There are no runs; tradewind run PIPELINE starts one."};
    static const struct command_text with_values = {.item = list_run,
                                                    .end = end_list,
                                                    .clear = clear_list,
                                                    .state_size = sizeof(struct listed)};
    bool is_plain = !command_has(args, "--metric") && !command_has(args, "--sort") &&
                    !command_has(args, "--where");

    return operate_with(args, &run_list_operation, is_plain ? &plain : &with_values, e);
}

const struct command command_run_ls = {
    .name = "run ls",
    .summary = "List runs of pipelines, the newest first or the best by a metric",
    .example = "tradewind run ls --metric accuracy --sort accuracy --where 'LR>0.1'",
    .operation = &run_list_operation,
    .run = run_ls,
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
