/* job_show: everything that is known about one job. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/learn/usage.h"
#include "broker/machine/bill.h"
#include "cli/core/commands.h"
#include "cli/job/job_parts.h"
#include "view/text.h"

#include <stdarg.h>
#include <string.h>

#define LABEL_COLUMNS 10
#define STATE_COLUMNS 11
#define TEXT_MAX 4000

/* ---- lines ---- */

/* "label     text"; a text that is too long for it stands below, in as many lines as it takes. */
__attribute__((format(printf, 2, 3))) static void line(const char *label, const char *fmt, ...)
{
    const struct text_look look = text_look_for(stdout);
    AUTO_CLEAR(buf) struct buf b;
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_init(&b, TEXT_MAX + 64);
    if (text_width(text) <= TEXT_COLUMNS - LABEL_COLUMNS) {
        printf("%-*s", LABEL_COLUMNS, label);
        text_print(stdout, text, TEXT_COLUMNS);
        putchar('\n');
        return;
    }
    if (*label)
        puts(label);
    buf_printf(&b, "%*s%s", LABEL_COLUMNS, "", text);
    text_paragraph(stdout, buf_str(&b), LABEL_COLUMNS, &look);
}

/* In its own lines, so that it can be copied. */
static void print_command(const char *command)
{
    if (!strchr(command, '\n')) {
        line("command", "%s", command);
        return;
    }
    puts("command");
    AUTO_MEM char *lines = mem_dup(command);
    for (char *rest = lines, *one; (one = strsep(&rest, "\n"));) {
        printf("%*s", *one ? LABEL_COLUMNS : 0, "");
        text_print(stdout, one, TEXT_MAX);
        putchar('\n');
    }
}

static void line_unless_empty(const char *label, const char *text)
{
    if (text && *text)
        line(label, "%s", text);
}

/* A value of several lines is one here, too: they are parted by \n. */
static void print_env(const char *label, const struct spec_pair *env)
{
    AUTO_CLEAR(buf) struct buf value;

    buf_init(&value, TEXT_MAX);
    for (const char *c = env->value ? env->value : ""; *c; c++)
        if (*c == '\n')
            buf_puts(&value, "\\n");
        else
            buf_add(&value, c, 1);
    line(label, "%s=%s", env->key, buf_str(&value));
}

static void print_request(const struct job_record *r)
{
    const struct lake_job_request *asked = &r->job.asked;
    AUTO_CLEAR(buf) struct buf command;
    char memory[32], limit[32];

    buf_init(&command, TEXT_MAX);
    job_put_command(&command, asked->command, asked->n_command);
    line_unless_empty("name", asked->name);
    print_command(buf_str(&command));
    line_unless_empty("input", asked->input);
    if (asked->output)
        line("output", "%s%s", *r->job.output_set ? r->job.output_set : asked->output,
             *r->job.output_set ? "" : " (no version)");
    if (asked->code)
        line("code", "%s%s%.12s%s", asked->code, *r->details.git_commit ? ", commit " : "",
             r->details.git_commit, r->details.git_dirty ? " with changes" : "");
    for (size_t i = 0; i < r->details.n_envs; i++)
        print_env(i ? "" : "env", &r->details.envs[i]);
    line("asked", "%g CPU%s, %s of memory%s%s, on %s", asked->cpus, asked->cpus == 1 ? "" : "s",
         app_job_memory_text(asked->memory_mb, memory), asked->time_limit_s > 0 ? ", at most " : "",
         asked->time_limit_s > 0 ? time_text(asked->time_limit_s, limit) : "", r->details.on);
    if (asked->run)
        line("run", "%lld%s%s", (long long)asked->run, *r->details.stage ? ", stage " : "",
             r->details.stage);
    if (asked->rerun_of)
        line("rerun of", "job %lld", (long long)asked->rerun_of);
}

static void print_result(const struct lake_job *job)
{
    double runtime_s = app_job_runtime_s(job);
    char text[32];

    if (runtime_s >= 0)
        line("runtime", "%s", time_text(runtime_s, text));
    if (*job->cost_basis)
        line("cost", "%s, %s", money_text(job->cost_microusd, text), job->cost_basis);
    line_unless_empty("machine", job->machine);
    line_unless_empty("limits", job->limits);
    if (job->exited)
        line("exit code", "%d", job->exit_code);
}

static int print_transition(void *context, const struct lake_job_transition *t, struct err *e)
{
    bool *first = context;
    char at[32];

    (void)e;
    /* The lines of the log that may follow stand on top. */
    const char *reason = app_job_reason_text(t->reason);
    int n = (int)strcspn(reason, "\n");
    line(*first ? "states" : "", "%s  %-*s%.*s", time_iso_ms(t->at_ms, at), n ? STATE_COLUMNS : 0,
         lake_job_state_text(t->state), n, reason);
    *first = false;
    return 0;
}

static void print_tags(json_t *tags)
{
    AUTO_CLEAR(buf) struct buf b;
    const char *key;
    json_t *value;

    buf_init(&b, TEXT_MAX);
    json_object_foreach(tags, key, value)
    {
        AUTO_MEM char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        buf_printf(&b, "%s%s", b.len ? ", " : "", key);
        if (!json_is_true(value))
            buf_printf(&b, "=%s", json_is_string(value) ? json_string_value(value) : text);
    }
    line_unless_empty("tags", buf_str(&b));
}

static void print_warnings(const struct job_desk *desk, int64_t id)
{
    AUTO_JSON json_t *all = job_warnings_json(desk->home, id);

    for (size_t i = 0; i < json_array_size(all); i++)
        line(i ? "" : "warnings", "%s", json_string_value(json_array_get(all, i)));
}

/* Of jobs that ran for a second or more. */
static int print_usage(const struct job_desk *desk, int64_t id, struct err *e)
{
    AUTO_CLEAR(usage) struct usage u = {0};

    if (usage_read(desk->home, id, &u, e) < 0)
        return -1;
    if (!u.n || u.seconds <= 0)
        return 0;
    line("used",
         "%.2f CPUs, %.0f MB at most; network %.4g MB in, %.4g MB out (%.3g and %.3g Mbit/s)",
         u.cpu_s / u.seconds, u.peak_mb, (double)u.received / 1e6, (double)u.sent / 1e6,
         (double)u.received * 8e-6 / u.seconds, (double)u.sent * 8e-6 / u.seconds);
    return 0;
}

/* ---- the command ---- */

static int print_job(struct job_desk *desk, const struct job_record *r, struct err *e)
{
    bool first = true;
    AUTO_JSON json_t *tags = job_tags_json(desk->lake, r->job.id, e);

    if (!tags)
        return -1;
    printf("job %lld: %s%s", (long long)r->job.id, lake_job_state_text(r->job.state),
           r->job.stop_asked && !lake_job_state_final(r->job.state) ? ", asked to end" : "");
    if (*r->job.reason) {
        fputs(": ", stdout);
        job_print_reason(stdout, r->job.reason);
    } else {
        putchar('\n');
    }
    line("user", "%s, project %s", r->job.user, r->job.project);
    print_request(r);
    print_result(&r->job);
    if (print_usage(desk, r->job.id, e) < 0)
        return -1;
    print_tags(tags);
    if (lake_job_transitions(desk->lake, r->job.id, print_transition, &first, e) < 0)
        return -1;
    print_warnings(desk, r->job.id);
    return 0;
}

/* As long as it has a host its record does not have all of it. */
static int bill_so_far(const struct job_desk *desk, struct job_record *r, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};

    if (!strcmp(r->details.on, "local"))
        return 0;
    if (open_bills_read(desk->home, time_epoch_ms(), &open, e) < 0)
        return -1;
    bill_show(&open, &r->job);
    return 0;
}

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(job_record) struct job_record r = {0};

    if (job_open(args->operands[0], &desk, &r, e) < 0 || bill_so_far(&desk, &r, e) < 0)
        return -1;
    if (!command_has(args, "--json"))
        return print_job(&desk, &r, e);
    AUTO_JSON json_t *o = job_json_whole(&desk, &r, e);
    return o ? json_write(stdout, o, e) : -1;
}

static const struct command_option options[] = {
    {.name = "--json",
     .help =
         "Print id, state, exit_code, user, project, name, input, output, output_set, code, "
         "commit, dirty, command, env, on, cpus, memory_mb, time_limit_s, queued_at, "
         "started_at, finished_at, runtime_s, cost_usd, cost_basis, machine, limits, reason, "
         "run, stage, rerun_of, transitions (state, at, reason), tags, usage (cpus, "
         "peak_memory_mb, received_mb, sent_mb, received_mbps, sent_mbps, gpu_percent, samples) "
         "and warnings; null is not "
         "known."},
    {0},
};

const struct command command_job_show = {
    .name = "job show",
    .operands = "ID",
    .summary = "Show what a job was asked to do, and what came of it",
    .example = "tradewind job show 7",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};
