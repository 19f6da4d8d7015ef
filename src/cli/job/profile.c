/* profile: the commands on profiles, which learn how long a command takes. */
#include "app/job/profile.h"
#include "base/buf.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/table.h"

#include <stdint.h>

#define COMMAND_COLUMNS 2000
#define RANGE_BYTES 4000

/* ---- a profile ---- */

/* "1 to 8", "a, b" */
static void put_range(struct buf *b, const json_t *range)
{
    json_t *value;
    size_t i;

    json_array_foreach(range, i, value)
    {
        if (json_is_string(value))
            buf_printf(b, "%s%s", i ? ", " : "", json_string_value(value));
        else
            buf_printf(b, "%s%g", i ? " to " : "", json_number_value(value));
    }
}

static void print_coefficients(FILE *out, const struct app_profile *p)
{
    static const struct table_column columns[] = {
        {.title = "coefficient"},
        {.title = "value", .right = true},
        {.title = "runs had", .cut_rank = 1, .least = 10},
    };
    const struct text_look look = text_look_for(out);
    AUTO(table) struct table *table = table_new(columns, 3);
    json_t *value;
    const char *name;

    json_object_foreach(json_object_get(p->model, "coefficients"), name, value)
    {
        AUTO_CLEAR(buf) struct buf range;
        buf_init(&range, RANGE_BYTES);
        put_range(&range, json_object_get(p->box, name));
        table_put(table, name);
        if (json_is_number(value))
            table_printf(table, "%.4f", json_number_value(value));
        else
            table_put(table, "-");
        table_put(table, buf_str(&range));
    }
    table_print(table, out, 0, &look);
}

static void print_sizes(FILE *out, const char *before, const json_t *sizes, const char *unit)
{
    json_t *value;
    size_t i;

    fputs(before, out);
    json_array_foreach(sizes, i, value)
    {
        fprintf(out, "%s%g", i ? ", " : "", json_number_value(value));
    }
    fprintf(out, " %s", unit);
}

static void print_profile(struct operate_text *t, const void *record)
{
    const struct app_profile *p = record;

    fprintf(t->out, "profile %s: ", p->name);
    text_print(t->out, p->template ? p->template : "no command, only imported runs",
               COMMAND_COLUMNS);
    fputc('\n', t->out);
    if (p->imported)
        fprintf(t->out, "%lld imported runs; ", (long long)p->imported);
    fprintf(t->out, "%lld jobs, %lld finished", (long long)p->runs, (long long)p->done);
    print_sizes(t->out, "; on ", p->cpus, "CPUs");
    print_sizes(t->out, " and ", p->memories_mb, "MB\n");
    if (!p->model) {
        fprintf(t->out, "nothing learned yet\n");
        return;
    }
    fprintf(t->out, "model %s, learned from %lld runs: leave-one-out error %.1f %%, R2 %.4f\n\n",
            json_string_value(json_object_get(p->model, "kind")),
            (long long)json_integer_value(json_object_get(p->model, "runs")), 100 * p->loo_error,
            json_number_value(json_object_get(p->model, "r2")));
    print_coefficients(t->out, p);
}

static const struct command_text profile_text = {.head = print_profile};

/* ---- profile ---- */

const struct command command_profile = {
    .name = "profile",
    .operands = "NAME [-- CMD...]",
    .summary = "Run a command with many values on many sizes, and learn how long it takes",
    .details =
        "A list of values in braces, anywhere within a word of the command, expands to one command "
        "per value: --epoch '{1,2,5}' is three commands, and another list multiplies them. Each "
        "command runs as a job on each number of CPUs with each size of memory, at most 10,000 "
        "jobs in all. When "
        "nearly all jobs are over, Tradewind learns a model of the run time from all finished jobs "
        "of this command, profiled or not.\n"
        "\n"
        "Most shells expand braces themselves: write lists in quotes. A brace that begins no list "
        "stays as it is; \\{ never begins one, and \\, is a comma within a value.\n"
        "\n"
        "Jobs of a profile run once: the same command resumes the profile, no command continues "
        "it as it was, and other values in its lists or other sizes extend it. Failed jobs are "
        "retried. After Ctrl-C the jobs continue.",
    .example = "tradewind profile mnist --code . -- python train.py --epoch '{1,2,5}'",
    .operation = &profile_run_operation,
    .text = &profile_text,
    .run = cli_job_run_batch,
};

/* ---- profile show, profile fit, profile ls ---- */

const struct command command_profile_show = {
    .name = "profile show",
    .operands = "NAME",
    .summary = "Show a profile and its model of the run time",
    .details = "Runs are the jobs that the profile submitted. The model may have been learned from "
               "more: every finished job of the command counts.",
    .example = "tradewind profile show mnist",
    .operation = &profile_get_operation,
    .text = &profile_text,
};

const struct command command_profile_fit = {
    .name = "profile fit",
    .operands = "NAME",
    .summary = "Fit the model of a profile again, to every finished job of its command",
    .details = "Jobs that were not profiled count as well: all finished jobs whose command is that "
               "of the profile with other values. An option without a list that differs between "
               "them becomes a feature of the model too.",
    .example = "tradewind profile fit mnist",
    .operation = &profile_fit_operation,
    .text = &profile_text,
};

static void print_end(struct operate_text *t)
{
    if (!t->n_items)
        fprintf(stderr, "no profiles yet: tradewind profile NAME -- COMMAND makes one\n");
}

const struct command command_profile_ls = {
    .name = "profile ls",
    .summary = "List profiles, their jobs and how well they predict",
    .example = "tradewind profile ls",
    .operation = &profile_list_operation,
    .text = &(const struct command_text){.end = print_end},
};

/* ---- profile predict ---- */

void cli_job_print_outside(FILE *out, const struct app_prediction *prediction)
{
    const char *feature;
    json_t *factor;

    json_object_foreach(prediction->outside_by, feature, factor)
    {
        fprintf(out, "%.3g x outside the runs in %s: the interval is wider for it\n",
                json_number_value(factor), feature);
    }
}

static void print_prediction(struct operate_text *t, const void *record)
{
    const struct app_prediction *got = record;
    char predicted[32], low[32], high[32];

    fprintf(t->out, "%s, 95 of 100 runs between %s and %s\n",
            time_text(got->predicted_s, predicted), time_text(got->low_s, low),
            time_text(got->high_s, high));
    cli_job_print_outside(t->out, got);
}

const struct command command_profile_predict = {
    .name = "profile predict",
    .operands = "NAME [KEY=VALUE...]",
    .summary = "Predict how long a command takes, with an interval",
    .details =
        "The time is the median; 95 of 100 such runs lie in the interval. Outside the values "
        "of the runs the command says by which factor: the interval widens with the distance, as "
        "if "
        "each exponent might be off by 0.1.",
    .example = "tradewind profile predict mnist --values epoch=20 --cpus 2",
    .operation = &profile_predict_operation,
    .text = &(const struct command_text){.head = print_prediction},
};
