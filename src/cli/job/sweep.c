/* sweep: the commands `sweep`, `sweep show` and `sweep ls`: a hyper-parameter search, its trials by
 * rank, and all searches. */
#include "app/sweep/sweep.h"

#include "app/job/cloud.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_SHOWN 12
#define PRICE_BYTES ((size_t)1 << 20)
#define COLUMNS_MAX (PARAMS_SHOWN + 8)

/* ---- machines of clouds ---- */

struct pricing {
    bool is_silent, launches;
};

static int show_price(void *context, const void *record, struct err *e)
{
    const struct app_job_price *price = record;
    struct pricing *p = context;

    (void)e;
    p->launches = price->offer != NULL;
    if (p->is_silent || !p->launches)
        return 0;
    AUTO_MEM char *line = mem_printf("Each trial launches %s: $%.4g per hour. Terminates it after "
                                     "the trial.",
                                     price->basis, price->high_usd_per_hour);
    text_print(stdout, line, strlen(line));
    putchar('\n');
    return 0;
}

/* What a job of a trial costs, if it launches a machine: the fields of the request that job.price
 * has, too; of a pipeline's trials, where they run alone. */
static int ask_price(struct operate_terminal *terminal,
                     const json_t *request,
                     struct pricing *p,
                     bool is_pipeline,
                     struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(PRICE_BYTES);
    AUTO_JSON json_t *asked = json_object();
    struct answer answer = {.arena = arena, .head = show_price, .context = p};

    for (size_t i = 0; i < job_price_operation.request->n_fields; i++) {
        const char *name = job_price_operation.request->fields[i].name;
        if (json_object_get(request, name) && (!is_pipeline || !strcmp(name, "on")))
            json_object_set(asked, name, json_object_get(request, name));
    }
    return operation_call(operate_app(terminal), &job_price_operation, asked, FIELD_AS_OPTION,
                          &answer, e);
}

/* 1: start; 0: the user does not want to; -1. */
static int ask(const struct command_args *args,
               struct operate_terminal *terminal,
               json_t *request,
               struct err *e)
{
    const char *on = json_string_value(json_object_get(request, "on"));

    if (!on || !strcmp(on, "local"))
        return 1;
    bool is_pipeline = command_has(args, "--param");
    struct pricing p = {.is_silent = is_pipeline || command_has(args, "--json")};
    if (ask_price(terminal, request, &p, is_pipeline, e) < 0)
        return -1;
    if (!p.launches)
        return 1;
    if (is_pipeline)
        fprintf(command_has(args, "--json") ? stderr : stdout,
                "Each trial launches the machines of its plan (--on %s), and terminates them.\n",
                on);
    fflush(stdout);
    operate_terminal_quiet(terminal);
    return command_has(args, "--yes")
               ? 1
               : operate_confirm("Start the trials?",
                                 "no terminal to confirm the price on: --yes starts them", e);
}

int cli_job_run_batch(const struct command_args *args, struct err *e)
{
    const struct command *c = args->command;
    AUTO_JSON json_t *request = operate_request(args, c->operation, e);

    if (!request)
        return -1;
    json_object_set_new(request, "wait", json_true());
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    int agreed = ask(args, terminal, request, e);
    if (agreed <= 0)
        return agreed;
    int result = operate_call(args, terminal, c->operation, request, c->text, e);
    if (result >= 0 || !interrupt_seen())
        return result;
    operate_terminal_quiet(terminal);
    fprintf(stderr, "the jobs continue; the same command resumes\n");
    return CLI_JOB_EXIT_INTERRUPTED;
}

/* ---- the table of trials ---- */

/* Of both commands; begins as the state of `job compare`. */
struct shown {
    struct cli_job_compared compared;
    bool is_ranked; /* the trials were printed: no table of jobs */
    json_t *trials;
    const char *metric; /* NULL = none */
    const char *set;    /* version of the best; NULL = none */
};

/* Names of parameters in order of appearance. */
static size_t param_names(const json_t *trials, const char *names[static PARAMS_SHOWN])
{
    size_t n = 0, i;
    json_t *trial, *value;
    const char *key;

    json_array_foreach(trials, i, trial)
    {
        json_object_foreach(json_object_get(trial, "params"), key, value)
        {
            size_t k = 0;
            while (k < n && strcmp(names[k], key) != 0)
                k++;
            if (k == n && n < PARAMS_SHOWN)
                names[n++] = key;
        }
    }
    return n;
}

static void put_value(struct table *table, const json_t *value)
{
    if (json_is_string(value))
        table_put(table, json_string_value(value));
    else if (json_is_number(value))
        table_printf(table, "%.6g", json_number_value(value));
    else
        table_put(table, json_is_true(value) ? "yes" : "");
}

static void put_trial(
    struct table *table, const json_t *trial, const char *const *names, size_t n, bool has_metric)
{
    const json_t *rank = json_object_get(trial, "rank"), *run = json_object_get(trial, "run");
    const json_t *jobs = json_object_get(trial, "jobs");
    char text[32];

    if (json_is_integer(rank))
        table_printf(table, "%lld", (long long)json_integer_value(rank));
    else
        table_put(table, "");
    table_put(table, json_string_value(json_object_get(trial, "state")));
    for (size_t i = 0; i < n; i++)
        put_value(table, json_object_get(json_object_get(trial, "params"), names[i]));
    if (has_metric) {
        put_value(table, json_object_get(trial, "value"));
        table_put(table, json_is_true(json_object_get(trial, "best")) ? "*" : "");
    }
    table_put(table, time_text(json_number_value(json_object_get(trial, "runtime_s")), text));
    table_put(
        table,
        money_text(money_from_usd(json_number_value(json_object_get(trial, "cost_usd"))), text));
    const json_t *job = json_array_get(jobs, json_array_size(jobs) - 1);
    table_printf(table, "%s %lld", run ? "run" : "job",
                 (long long)json_integer_value(run ? run : job));
    const json_t *output = json_object_get(trial, "output");
    table_put(table, json_is_string(output) ? json_string_value(output) : "");
}

static void print_trials(struct operate_text *t)
{
    const struct shown *s = t->state;
    const char *names[PARAMS_SHOWN];
    struct table_column columns[COLUMNS_MAX] = {{.title = "rank", .right = true},
                                                {.title = "state"}};
    size_t n = param_names(s->trials, names), c = 2, i;
    json_t *trial;

    for (size_t k = 0; k < n; k++)
        columns[c++] = (struct table_column){.title = names[k]};
    if (s->metric) {
        columns[c++] = (struct table_column){.title = s->metric};
        columns[c++] = (struct table_column){.title = ""};
    }
    columns[c++] = (struct table_column){.title = "time", .right = true};
    columns[c++] = (struct table_column){.title = "cost", .right = true};
    columns[c++] = (struct table_column){.title = "in"};
    columns[c++] = (struct table_column){.title = "output", .cut_rank = 1, .least = 10};
    AUTO(table) struct table *table = table_new(columns, c);
    json_array_foreach(s->trials, i, trial)
    {
        put_trial(table, trial, names, n, s->metric);
    }
    table_print(table, t->out, 0, &t->look);
    if (s->set)
        fprintf(t->out, "\n* best: %s\n", s->set);
}

static void keep_head(struct operate_text *t, const struct app_sweep *head)
{
    struct shown *s = t->state;

    s->metric = head->metric ? arena_dup(t->arena, head->metric) : NULL;
    s->set = head->best ? arena_dup(t->arena, head->best) : NULL;
    s->trials = s->trials ? s->trials : json_array();
}

static void shown_clear(struct operate_text *t)
{
    cli_job_compare_clear(t);
    json_decref(((struct shown *)t->state)->trials);
}

/* ---- sweep ---- */

static int exit_code(const void *head)
{
    const struct app_sweep *sweep = head;

    return sweep->finished + sweep->stopped < sweep->jobs;
}

/* Without a metric the jobs are compared instead. */
static void print_head(struct operate_text *t, const void *record)
{
    const struct app_sweep *head = record;
    const struct app_sweep_trial *trials = head->trials.items;
    struct shown *s = t->state;

    s->is_ranked =
        head->is_pipeline || command_has(t->args, "--metric") || command_has(t->args, "--search");
    if (!s->is_ranked)
        return;
    keep_head(t, head);
    for (size_t i = 0; i < head->trials.n; i++)
        json_array_append_new(s->trials, record_encode(&app_sweep_trial_record, &trials[i]));
}

static void add_job(struct operate_text *t, const void *compared)
{
    if (!((const struct shown *)t->state)->is_ranked)
        cli_job_compare_add(t, compared);
}

static void print_end(struct operate_text *t)
{
    if (((const struct shown *)t->state)->is_ranked)
        print_trials(t);
    else
        cli_job_compare_print(t);
}

static const struct command_option sweep_options[] = {
    {.name = "--yes", .letter = 'y', .help = "Launch machines of clouds without a question."},
    {0},
};

const struct command command_sweep = {
    .name = "sweep",
    .operands = "NAME -- CMD... | NAME PIPELINE",
    .summary = "Search hyper-parameters of a command or a pipeline, and rank the trials",
    .details =
        "A parameter in braces, anywhere within a word of the command, has one value in each "
        "trial:\n"
        " {0.1,0.2}              a list; --rate '{0.1,0.2}' is two trials, another list multiplies "
        "them\n"
        " {lr=0.1,0.2}           the same with a name, where no option has it\n"
        " {layers=2..8}          whole numbers, both ends included\n"
        " {lr=log:1e-5..1e-1}    numbers evenly spread by their logarithm; in a grid the powers of "
        "ten\n"
        " {x=0.1..0.9/5}         any number between; in a grid five of them\n"
        "Most shells expand braces themselves: write them in quotes. There are at most 10,000 "
        "trials. With --param NAME=VALUES each trial is a run of a pipeline, whose stages get the "
        "values as variables.\n"
        "\n"
        "Halving compares trials each time the steps of the metric have tripled. Of those that got "
        "so far the best third goes on; others are stopped by SIGTERM, with 30 s to write "
        "$TRADEWIND_CHECKPOINT, and continue from it once they are among the best. The command "
        "makes these decisions: they wait while it does not run.\n"
        "\n"
        "The same command resumes a sweep, also after Ctrl-C or kill -9, and more values or trials "
        "extend it: finished trials are not run again, failed ones are retried. Jobs continue "
        "without the command; with --parallel, --max-cost, halving and pipelines no further ones "
        "start. At the end a table shows parameters, state, time, cost and metrics; `tradewind "
        "sweep show NAME` ranks the trials at any time. The exit code is 1 when a trial did not "
        "finish, unless halving stopped it.",
    .example = "tradewind sweep rates --metric loss --output model -- python train.py --lr "
               "'{lr=log:1e-4..1e-1}'",
    .options = sweep_options,
    .operation = &sweep_start_operation,
    .text = &(const struct command_text){.head = print_head,
                                         .item = add_job,
                                         .end = print_end,
                                         .clear = shown_clear,
                                         .state_size = sizeof(struct shown),
                                         .exit_code = exit_code},
    .run = cli_job_run_batch,
};

/* ---- sweep show ---- */

static void print_shown(struct operate_text *t, const void *record)
{
    const struct app_sweep *head = record;

    keep_head(t, head);
    fprintf(t->out, "sweep %s: %s search, %lld trials, %lld finished", head->name, head->search,
            (long long)head->jobs, (long long)head->finished);
    if (head->stopped)
        fprintf(t->out, ", %lld stopped early", (long long)head->stopped);
    if (head->metric)
        fprintf(t->out, "; the %s %s is best", strcmp(head->goal, "min") ? "highest" : "lowest",
                head->metric);
    fprintf(t->out, "\n\n");
}

static void add_trial(struct operate_text *t, const void *trial)
{
    json_array_append_new(((struct shown *)t->state)->trials,
                          record_encode(&app_sweep_trial_record, trial));
}

const struct command command_sweep_show = {
    .name = "sweep show",
    .operands = "NAME",
    .summary = "Rank the trials of a sweep, with parameters, metric, time and cost",
    .details =
        "Finished trials come first, the best at the top. The metric is the last value of "
        "--metric of the sweep, else of the only metric, or of loss. Time and cost are those "
        "of all jobs of a trial.",
    .example = "tradewind sweep show rates",
    .operation = &sweep_get_operation,
    .text = &(const struct command_text){.head = print_shown,
                                         .item = add_trial,
                                         .end = print_trials,
                                         .clear = shown_clear,
                                         .state_size = sizeof(struct shown)},
};

/* ---- sweep ls ---- */

const struct command command_sweep_ls = {
    .name = "sweep ls",
    .summary = "List sweeps, with their trials, best value and cost",
    .details = "The best value is that of the metric by which `tradewind sweep show NAME` ranks "
               "the trials.",
    .example = "tradewind sweep ls",
    .operation = &sweep_list_operation,
    .text =
        &(const struct command_text){
            .empty = "There are no sweeps; tradewind sweep NAME -- COMMAND starts one."},
};
