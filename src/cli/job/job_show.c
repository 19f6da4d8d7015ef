/* job_show: the commands `job ls` and `job show`. */
#include "app/job/cloud.h"
#include "app/job/resources.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/shell.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LABEL_COLUMNS 10
#define STATE_COLUMNS 11
#define TEXT_MAX 4000
#define REASON_COLUMNS 2000
#define REASON_INDENT 4

void cli_job_print_reason(FILE *out, const char *reason)
{
    text_print_lines(out, app_job_reason_text(reason), REASON_COLUMNS, REASON_INDENT);
}

/* What becomes of an output that is not stored. */
static void print_kept(FILE *out, const struct app_job *job)
{
    long long id = (long long)job->id;

    if (job->state == LAKE_JOB_UNSAVED && job->saves_later)
        fprintf(out,
                "Its output stays where it is, and is stored when that passes; tradewind job save "
                "%lld tries now.\n",
                id);
    else if (job->state == LAKE_JOB_UNSAVED)
        fprintf(out,
                "Its output stays where it is: tradewind job save %lld [--output SET] [--rename] "
                "stores it, job rm %lld removes it.\n",
                id, id);
}

void cli_job_print_end(FILE *out, const struct app_job *job)
{
    char time[32];

    fprintf(out, "job %lld %s%s", (long long)job->id,
            job->state == LAKE_JOB_UNSAVED ? "is "
            : job->state > LAKE_JOB_FAILED ? "was "
                                           : "",
            lake_job_state_texts[job->state]);
    if (!isnan(job->runtime_s))
        fprintf(out, " %s %s", job->state == LAKE_JOB_RUNNING ? "since" : "after",
                time_text(job->runtime_s, time));
    if (job->output)
        fprintf(out, "; %s %s", job->reproduced ? "reproduced" : "output", job->output);
    if (job->state != LAKE_JOB_FINISHED && job->reason) {
        fputs(": ", out);
        cli_job_print_reason(out, job->reason);
    } else {
        fputc('\n', out);
    }
    print_kept(out, job);
}

/* ---- lines ---- */

/* "label     text"; a text too long for the line stands below, in several lines. */
__attribute__((format(printf, 3, 4))) static void line(FILE *out,
                                                       const char *label,
                                                       const char *fmt,
                                                       ...)
{
    const struct text_look look = text_look_for(out);
    AUTO_CLEAR(buf) struct buf b;
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_init(&b, TEXT_MAX + 64);
    if (text_width(text) <= text_columns(&look) - LABEL_COLUMNS) {
        fprintf(out, "%-*s", LABEL_COLUMNS, label);
        text_print(out, text, TEXT_MAX);
        fputc('\n', out);
        return;
    }
    if (*label)
        fprintf(out, "%s\n", label);
    buf_printf(&b, "%*s%s", LABEL_COLUMNS, "", text);
    text_paragraph(out, buf_str(&b), LABEL_COLUMNS, &look);
}

static void line_if(FILE *out, const char *label, const char *text)
{
    if (text && *text)
        line(out, label, "%s", text);
}

/* A command of several lines keeps them, so that people can copy it. */
static void print_command(FILE *out, const struct field_list *words)
{
    AUTO_CLEAR(buf) struct buf command;

    buf_init(&command, TEXT_MAX);
    for (size_t i = 0; i < words->n; i++)
        shell_put_word(&command, words->items[i]);
    if (!strchr(buf_str(&command), '\n')) {
        line(out, "command", "%s", buf_str(&command));
        return;
    }
    fprintf(out, "command\n%*s", LABEL_COLUMNS, "");
    text_print_lines(out, buf_str(&command), TEXT_MAX, LABEL_COLUMNS);
}

/* A value of several lines is one line: \n separates them. */
static void print_env(FILE *out, const char *label, const struct spec_pair *env)
{
    AUTO_CLEAR(buf) struct buf value;

    buf_init(&value, TEXT_MAX);
    for (const char *c = env->value ? env->value : ""; *c; c++)
        if (*c == '\n')
            buf_puts(&value, "\\n");
        else
            buf_add(&value, c, 1);
    line(out, label, "%s=%s", env->key, buf_str(&value));
}

static void print_offer(FILE *out, const struct app_job *job)
{
    char text[256];

    if (!job->offer)
        return;
    job_offer_text(&job->details.offer, text);
    line(out, "offer", "%s, $%.4g per hour", text, job->details.offer.price_usd_per_hour);
}

static void print_request(FILE *out, const struct app_job *job)
{
    bool limited = !isnan(job->time_limit_s);
    char memory[32], limit[32], gpus[128] = "";

    line_if(out, "name", job->name);
    print_command(out, &job->command);
    line_if(out, "input", job->input);
    if (job->reproduced)
        line(out, "output", "reproduced %s", job->reproduced);
    else if (job->output || job->output_set)
        line(out, "output", "%s%s", job->output ? job->output : job->output_set,
             job->output ? "" : " (no version)");
    if (job->code)
        line(out, "code", "%s%s%.12s%s", job->code, job->commit ? ", commit " : "",
             job->commit ? job->commit : "", job->details.git_dirty ? " with changes" : "");
    line_if(out, "image", job->image);
    for (size_t i = 0; i < job->details.n_mounts; i++)
        line(out, i ? "" : "mounts", "%s", job->details.mounts[i].key);
    for (size_t i = 0; i < job->details.n_envs; i++)
        print_env(out, i ? "" : "env", &job->details.envs[i]);
    if (job->gpus != FIELD_NONE)
        snprintf(gpus, sizeof gpus, ", %" PRId64 " %s%sGPU%s", job->gpus,
                 job->gpu_type ? job->gpu_type : "", job->gpu_type ? " " : "",
                 job->gpus == 1 ? "" : "s");
    line(out, "requested", "%g CPU%s, %s of memory%s%s%s, on %s", job->cpus,
         job->cpus == 1 ? "" : "s", app_job_memory_text((uint64_t)job->memory_mb, memory), gpus,
         limited ? ", at most " : "", limited ? time_text(job->time_limit_s, limit) : "", job->on);
    print_offer(out, job);
    if (job->nodes != FIELD_NONE)
        line(out, "gang", "rank %u of %" PRId64 ", jobs %" PRId64 " to %" PRId64, job->details.rank,
             job->nodes, job->id - job->details.rank, job->id - job->details.rank + job->nodes - 1);
    if (job->run != FIELD_NONE)
        line(out, "run", "%lld%s%s", (long long)job->run, job->stage ? ", stage " : "",
             job->stage ? job->stage : "");
    line_if(out, "because", job->because);
    if (job->rerun_of != FIELD_NONE)
        line(out, "rerun of", "job %lld", (long long)job->rerun_of);
}

static void print_result(FILE *out, const struct app_job *job)
{
    char text[32];

    if (!isnan(job->runtime_s))
        line(out, "runtime", "%s", time_text(job->runtime_s, text));
    if (job->cost_basis)
        line(out, "cost", "%s, %s", money_text(job->cost_microusd, text), job->cost_basis);
    line_if(out, "machine", job->machine);
    line_if(out, "GPUs", job->devices);
    line_if(out, "limits", job->limits);
    if (job->exit_code != FIELD_NONE)
        line(out, "exit code", "%lld", (long long)job->exit_code);
}

static void print_usage(FILE *out, const struct app_job_usage *u)
{
    if (u && u->samples)
        line(out, "used",
             "%.2f CPUs, %.0f MB at most; network %.4g MB in, %.4g MB out (%.3g and %.3g Mbit/s)",
             u->cpus, u->peak_memory_mb, u->received_mb, u->sent_mb, u->received_mbps,
             u->sent_mbps);
}

/* Whether it is a script that stands in the command, as in `sh -c SCRIPT`. */
static bool is_script(const struct app_job *job, const json_t *value)
{
    const char *const *words = job->command.items;
    const char *text = json_string_value(value);

    for (size_t i = 0; text && i < job->command.n; i++)
        if (strchr(text, ' ') && strcmp(words[i], text) == 0)
            return true;
    return false;
}

/* Of tags (job given) those that are neither parameters nor scripts. */
static void print_values(
    FILE *out, const char *label, json_t *values, const json_t *params, const struct app_job *job)
{
    AUTO_CLEAR(buf) struct buf b;
    const char *key;
    json_t *value;

    buf_init(&b, TEXT_MAX);
    json_object_foreach(values, key, value)
    {
        AUTO_MEM char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        if (job && (json_equal(value, json_object_get(params, key)) || is_script(job, value)))
            continue;
        buf_printf(&b, "%s%s", b.len ? ", " : "", key);
        if (!json_is_true(value))
            buf_printf(&b, "=%s", json_is_string(value) ? json_string_value(value) : text);
    }
    line_if(out, label, buf_str(&b));
}

static void print_metrics(FILE *out, json_t *series)
{
    const char *name, *label = "metrics";
    json_t *one;

    json_object_foreach(series, name, one)
    {
        long long steps = json_integer_value(json_object_get(one, "steps"));
        const json_t *last = json_object_get(one, "last"), *min = json_object_get(one, "min");
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, TEXT_MAX);
        buf_printf(&b, "%s=", name);
        if (json_is_number(last))
            buf_printf(&b, "%.6g", json_number_value(last));
        else
            buf_puts(&b, "nan");
        if (json_is_number(min) && steps > 1)
            buf_printf(&b, ", from %.6g to %.6g", json_number_value(min),
                       json_number_value(json_object_get(one, "max")));
        line(out, label, "%s, %lld step%s", buf_str(&b), steps, steps == 1 ? "" : "s");
        label = "";
    }
}

static void print_transitions(FILE *out, const struct field_records *transitions)
{
    const struct app_job_transition *all = transitions->items;
    char at[32];

    for (size_t i = 0; i < transitions->n; i++) {
        /* The lines of the log that may follow stand on top. */
        const char *reason = all[i].reason ? app_job_reason_text(all[i].reason) : "";
        int n = (int)strcspn(reason, "\n");
        line(out, i ? "" : "states", "%s  %-*s%.*s", time_iso_ms(all[i].at_ms, at),
             n ? STATE_COLUMNS : 0, lake_job_state_texts[all[i].state], n, reason);
    }
}

/* ---- job show ---- */

static void print_job(struct operate_text *t, const void *record)
{
    const struct app_job_whole *whole = record;
    const struct app_job *job = &whole->job;

    fprintf(t->out, "job %lld: %s%s", (long long)job->id, lake_job_state_texts[job->state],
            job->is_stop_asked && !lake_job_state_final(job->state) &&
                    job->state != LAKE_JOB_UNSAVED
                ? ", being killed"
                : "");
    if (job->reason) {
        fputs(": ", t->out);
        cli_job_print_reason(t->out, job->reason);
    } else {
        fputc('\n', t->out);
    }
    print_kept(t->out, job);
    line(t->out, "user", "%s, project %s", job->user, job->project);
    print_request(t->out, job);
    print_result(t->out, job);
    print_usage(t->out, whole->usage);
    print_values(t->out, "params", whole->params, NULL, NULL);
    print_metrics(t->out, whole->series);
    print_values(t->out, "tags", whole->tags, whole->params, job);
    print_transitions(t->out, &whole->transitions);
    if (whole->refusals.n) {
        fputs("refused\n", t->out);
        writer_list(&app_job_whole_record, whole, "refusals", SIZE_MAX, LABEL_COLUMNS, false,
                    t->out);
    }
    for (size_t i = 0; i < whole->warnings.n; i++)
        line(t->out, i ? "" : "warnings", "%s", whole->warnings.items[i]);
}

const struct command command_job_show = {
    .name = "job show",
    .operands = "ID",
    .summary = "Show a job: request, states, result, cost and usage",
    .example = "tradewind job show 7",
    .operation = &job_get_operation,
    .text = &(const struct command_text){.head = print_job},
};

/* ---- job ls ---- */

static bool is_filtered(const struct command_args *args)
{
    return command_has(args, "--state") || command_has(args, "--user") ||
           command_has(args, "--name") || command_has(args, "--run");
}

static void print_list_end(struct operate_text *t)
{
    if (!t->n_items)
        fprintf(t->out, "%s\n",
                is_filtered(t->args)
                    ? "No job matches."
                    : "There are no jobs; tradewind job submit -- COMMAND makes one.");
    else if (t->more)
        fprintf(t->out, "These are the first %zu; --all shows all of them.\n", t->n_items);
}

const struct command command_job_ls = {
    .name = "job ls",
    .summary = "List jobs, the newest first",
    .example = "tradewind job ls --state failed,lost --sort cost",
    .operation = &job_list_operation,
    .text = &(const struct command_text){.end = print_list_end},
    .is_long = true,
};
