/* job_submit: new jobs, and old ones once more. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/shell.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/host.h"
#include "broker/machine/cap.h"
#include "broker/pipeline/code.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"
#include "lake/core/path.h"
#include "lake/set/set.h"
#include "spec/config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MEMORY_DEFAULT "1GB"
#define TIME_LIMIT_S_MOST (10 * 365 * 86400.0)
/* Bytes of a message that lists groups. */
#define GROUPS_SHOWN 300
/* The exit code of a program that Ctrl-C ended. */
#define EXIT_INTERRUPTED 130

/* ---- resources ---- */

int job_read_cpus(const struct command_args *args, double *out, struct err *e)
{
    *out = 1;
    if (command_number(args, "--cpus", out, e) < 0)
        return -1;
    if (app_job_check_cpus(*out, e) < 0)
        return err_wrap(e, "--cpus %s", command_value(args, "--cpus"));
    return 0;
}

int job_read_memory(const struct command_args *args, uint64_t *out, struct err *e)
{
    const char *text = command_value(args, "--memory");

    if (app_job_read_memory(text ? text : MEMORY_DEFAULT, out, e) < 0)
        return err_wrap(e, "--memory");
    return 0;
}

/* ---- where ---- */

static void add_group(const char **names, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(names[i], name))
            return;
    names[(*n)++] = name;
}

static int unknown_group(const struct config *c, const char *on, struct err *e)
{
    AUTO_MEM const char **names = mem_zero(c->n_hosts + 2, sizeof *names);
    AUTO_CLEAR(buf) struct buf all;
    size_t n = 0;

    buf_init(&all, GROUPS_SHOWN);
    add_group(names, &n, "local");
    if (c->n_hosts)
        add_group(names, &n, HOST_ANY);
    for (size_t i = 0; i < c->n_hosts; i++)
        add_group(names, &n, c->hosts[i].pool);
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    const char *close = nearest(on, names, n);
    if (close)
        return err_set(e, ERR_USAGE, "--on %.60s: no such host group; did you mean %s?", on, close);
    if (c->n_hosts)
        return err_set(e, ERR_USAGE, "--on %.60s: no such host group; there are %s", on,
                       buf_str(&all));
    return err_set(e, ERR_USAGE,
                   "--on %.60s: there are no hosts but this machine (local); list others under "
                   "hosts: in %s",
                   on, c->file);
}

static int check_group(const char *on, const struct lake_job_request *r, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);

    if (!c)
        return -1;
    if (host_count(c, on) == 0)
        return unknown_group(c, on, e);
    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        bool is_in = !strcmp(on, HOST_ANY) || !strcmp(h->pool, on);
        if (is_in && (h->cpus <= 0 || r->cpus <= h->cpus) &&
            (h->memory_gb <= 0 || (double)r->memory_mb <= h->memory_gb * 1024))
            return 0;
    }
    return err_set(e, ERR_NOFIT, "no host of %.60s has %g CPUs and %llu MB of memory", on, r->cpus,
                   (unsigned long long)r->memory_mb);
}

/* ---- environment ---- */

/* Copies are of the arena of nobody: the pairs own their keys. */
struct environment {
    struct spec_pair *pairs;
    char **keys;
    size_t n;
};

static void environment_clear(struct environment *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->keys[i]);
    free(v->keys);
    free(v->pairs);
}

static int read_environment(const struct command_args *args, struct environment *out, struct err *e)
{
    out->pairs = mem_zero(args->n_given + 1, sizeof *out->pairs);
    out->keys = mem_zero(args->n_given + 1, sizeof *out->keys);
    for (size_t i = 0; i < args->n_given; i++) {
        const char *text = args->given[i].value;
        if (strcmp(args->given[i].option->name, "--env") != 0)
            continue;
        size_t n = strcspn(text, "=");
        if (!text[n] || !shell_is_variable(text, n))
            return err_set(e, ERR_USAGE, "--env: \"%.60s\" is not NAME=VALUE", text);
        if (strncmp(text, "TRADEWIND_", 10) == 0)
            return err_set(e, ERR_USAGE, "--env: names that begin with TRADEWIND_ are our own");
        out->keys[out->n] = mem_printf("%.*s", (int)n, text);
        out->pairs[out->n] = (struct spec_pair){.key = out->keys[out->n], .value = text + n + 1};
        out->n++;
    }
    return 0;
}

/* ---- submitting ---- */

struct ending {
    bool wait, json;
};

static int print_submitted(int64_t id, bool json, struct err *e)
{
    if (json) {
        AUTO_JSON json_t *o = json_pack("{s:I, s:s}", "id", (json_int_t)id, "state", "queued");
        return json_write(stdout, o, e);
    }
    printf("job %lld\ntradewind job logs -f %lld follows it, tradewind job show %lld tells how it "
           "stands.\n",
           (long long)id, (long long)id, (long long)id);
    return 0;
}

static int wait_and_print(struct job_desk *desk, int64_t id, bool json, struct err *e)
{
    AUTO_CLEAR(job_record) struct job_record r = {0};
    int over = app_job_wait(desk->app, id, -1, e);

    if (over < 0)
        return -1;
    if (!over) {
        fprintf(stderr,
                "job %lld goes on; tradewind job wait %lld waits again, tradewind job kill %lld "
                "ends it\n",
                (long long)id, (long long)id, (long long)id);
        return EXIT_INTERRUPTED;
    }
    if (job_record_load(desk->app, id, &r, e) < 0)
        return -1;
    if (json) {
        AUTO_JSON json_t *o = job_json_whole(desk, &r, e);
        if (!o || json_write(stdout, o, e) < 0)
            return -1;
    } else {
        job_print_end(stdout, &r.job);
    }
    return app_job_exit_code(&r.job);
}

/* What is submitted stays submitted, whatever becomes of the broker. */
static int submit(struct job_desk *desk,
                  const struct lake_job_request *request,
                  const struct ending *ending,
                  struct err *e)
{
    int64_t id;

    if (ending->wait)
        interrupt_watch();
    if (lake_job_submit(desk->lake, request, 1, &id, e) < 0)
        return -1;
    if (!ending->wait && print_submitted(id, ending->json, e) < 0)
        return -1;
    if (ending->wait && !ending->json)
        printf("job %lld\n", (long long)id);
    fflush(stdout);
    if (app_wake_broker(desk->app, e) < 0)
        return err_wrap(e, "job %lld is queued, but nobody runs it", (long long)id);
    return ending->wait ? wait_and_print(desk, id, ending->json, e) : 0;
}

/* ---- job submit ---- */

/* Records are JSON, which holds no other text. */
static int check_words(const struct command_args *args, struct err *e)
{
    for (size_t i = 0; i < args->n_operands; i++) {
        AUTO_JSON json_t *word = json_string(args->operands[i]);
        if (!word)
            return err_set(e, ERR_USAGE,
                           "word %zu of the command is no UTF-8 text; pass it in a file", i + 1);
    }
    return 0;
}

static int read_request(const struct command_args *args,
                        struct lake_job_request *r,
                        const char **on_out,
                        struct err *e)
{
    const char *on = command_value(args, "--on"), *output = command_value(args, "--output");

    r->name = command_value(args, "--name");
    r->command = args->operands;
    r->n_command = args->n_operands;
    r->output = output && output[0] == '@' ? output + 1 : output;
    if (check_words(args, e) < 0 || job_read_cpus(args, &r->cpus, e) < 0 ||
        job_read_memory(args, &r->memory_mb, e) < 0 ||
        command_duration(args, "--time-limit", 1, &r->time_limit_s, e) < 0)
        return -1;
    if (command_has(args, "--time-limit") && r->time_limit_s <= 0)
        return err_set(e, ERR_USAGE, "--time-limit: no job ends in no time");
    if (r->time_limit_s > TIME_LIMIT_S_MOST)
        return err_set(e, ERR_USAGE, "--time-limit %s: more than ten years",
                       command_value(args, "--time-limit"));
    if (r->output && lake_path_check_set(r->output, e) < 0)
        return err_wrap(e, "--output");
    *on_out = on && *on ? on : "local";
    return strcmp(*on_out, "local") == 0 ? app_job_check_local(r, e) : check_group(*on_out, r, e);
}

/* Why there is nothing to begin with, or NULL. */
static const char *no_checkpoint(const char *home, const struct job_record *r)
{
    if (r->job.state == LAKE_JOB_FINISHED)
        return "finished, and a job that finishes leaves no checkpoint";
    if (!(r->details.checkpoint_s > 0))
        return "never had a checkpoint: it was submitted without --checkpoint";
    if (checkpoint_is_there(home, r->job.id))
        return NULL;
    return "has no checkpoint: it saved nothing, or a job that continued it finished, or it ended "
           "more than a week ago";
}

static int read_checkpoint(const struct command_args *args,
                           const struct job_desk *desk,
                           struct job_details *d,
                           struct err *e)
{
    const char *continues = command_value(args, "--continue");
    AUTO_CLEAR(job_record) struct job_record r = {0};

    if (command_duration(args, "--checkpoint", 1, &d->checkpoint_s, e) < 0)
        return -1;
    if (command_has(args, "--checkpoint") && d->checkpoint_s <= 0)
        return err_set(e, ERR_USAGE, "--checkpoint: no time at all");
    if (!continues)
        return 0;
    if (app_job_id_parse(continues, &d->continues, e) < 0 ||
        job_record_load(desk->app, d->continues, &r, e) < 0)
        return err_wrap(e, "--continue");
    if (!lake_job_state_final(r.job.state))
        return err_set(e, ERR_USAGE, "--continue %s: job %lld is not over yet", continues,
                       (long long)d->continues);
    const char *why = no_checkpoint(desk->home, &r);
    if (why)
        return err_set(e, ERR_USAGE, "--continue %s: job %lld %s", continues,
                       (long long)d->continues, why);
    return 0;
}

static int run_submit(const struct command_args *args, struct err *e)
{
    const struct ending ending = {command_has(args, "--wait"), command_has(args, "--json")};
    const char *input = command_value(args, "--input"), *dir = command_value(args, "--code");
    struct lake_job_request r = {0};
    struct job_details d = {0};
    AUTO_CLEAR(environment) struct environment env = {0};
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(code) struct code code = {0};
    bool is_set = false;

    if (read_request(args, &r, &d.on, e) < 0 || read_environment(args, &env, e) < 0 ||
        job_desk_open(&desk, e) < 0 || read_checkpoint(args, &desk, &d, e) < 0)
        return -1;
    if (input && app_job_check_input(desk.app, input, &is_set, e) < 0)
        return err_wrap(e, "--input");
    if (app_job_check_month(desk.app, e) < 0)
        return -1;
    if (dir && code_store(desk.lake, desk.home, dir, &code, e) < 0)
        return err_wrap(e, "--code");
    AUTO_MEM char *exact = input ? app_job_make_input(desk.app, input, is_set, e) : NULL;
    if (input && !exact)
        return err_wrap(e, "--input");
    AUTO_MEM char *pattern = job_pattern(r.command, r.n_command);
    d.envs = env.pairs;
    d.n_envs = env.n;
    d.git_commit = code.commit;
    d.git_dirty = code.dirty;
    d.pattern = pattern;
    AUTO_MEM char *details = job_details_text(&d, e);
    if (!details)
        return -1;
    r.details = details;
    r.input = exact;
    r.code = code.ref;
    return submit(&desk, &r, &ending, e);
}

static const struct command_option submit_options[] = {
    {.name = "--name", .value = "NAME", .help = "What people call it; the command unless given."},
    {.name = "--input",
     .value = "REF",
     .help = "A set, or a file or directory of the lake, which become one: its files are in "
             "$TRADEWIND_INPUT."},
    {.name = "--output",
     .value = "SET",
     .help = "What is in $TRADEWIND_OUTPUT at the end becomes the next version of this set."},
    {.name = "--code",
     .value = "DIR",
     .help = "A directory or archive to run in, as it is now; without what .gitignore and "
             ".tradewindignore leave out."},
    {.name = "--cpus", .value = "N", .help = "Share of the processors, in halves; 1 unless given."},
    {.name = "--memory",
     .value = "SIZE",
     .help = "In steps of 256 MB, as in 512 or 2GB; 1GB unless given."},
    {.name = "--time-limit",
     .value = "TIME",
     .help = "The longest it may run, as in 90s or 2h; without it, for ever."},
    {.name = "--env",
     .value = "NAME=VALUE",
     .repeatable = true,
     .help = "A variable of its environment."},
    {.name = "--on",
     .value = "local|ssh|GROUP",
     .help = "This machine, any host of the configuration, or one of a group of them; local unless "
             "given."},
    {.name = "--checkpoint",
     .value = "TIME",
     .help =
         "How often $TRADEWIND_CHECKPOINT is saved, as in 10m; it is kept when the job does not "
         "finish."},
    {.name = "--continue", .value = "ID", .help = "Begin with the checkpoint that this job left."},
    {.name = "--wait", .help = "Wait for its end, and end with its exit code."},
    {.name = "--json",
     .help = "Print id and state; with --wait, what job show --json prints at the end."},
    {0},
};

const struct command command_job_submit = {
    .name = "job submit",
    .operands = "-- CMD...", /* COMMAND would be completed as one of ours */
    .summary = "Run a command in the background, and keep what it was, did and made",
    .details =
        "The job waits in the queue of its user until its processors and its memory are free, and "
        "runs in a private copy of the code. $TRADEWIND_INPUT holds the input's files, "
        "$TRADEWIND_OUTPUT takes the output, and $TRADEWIND_JOB is its number. Exit code 0 "
        "is success: the output becomes a set version that knows where it came from. Anything else "
        "is failure, and takes no version.\n"
        "\n"
        "Lines that it prints are kept: [TRADEWIND_TAG] KEY:VALUE tags the job and its output, "
        "[TRADEWIND_TAG_NUM] the same for numbers, and [TRADEWIND_METRIC] NAME STEP VALUE adds to "
        "a "
        "series (job metrics).\n"
        "\n"
        "Interrupted while it waits (--wait), the command ends with 130 and the job goes on.",
    .example = "tradewind job submit --input @train --output model --code . -- python train.py "
               "--epoch 20",
    .options = submit_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_submit,
};

/* ---- job rerun ---- */

static int run_rerun(const struct command_args *args, struct err *e)
{
    const struct ending ending = {command_has(args, "--wait"), command_has(args, "--json")};
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(job_record) struct job_record r = {0};

    if (job_open(args->operands[0], &desk, &r, e) < 0)
        return -1;
    if (r.details.n_secrets)
        return err_set(e, ERR_USAGE,
                       "job %lld was given secrets, which are not kept; submit it anew",
                       (long long)r.job.id);
    if (r.details.nodes > 1)
        return err_set(e, ERR_USAGE, "job %lld ran together with others; run its pipeline again",
                       (long long)r.job.id);
    if (app_job_check_month(desk.app, e) < 0)
        return -1;
    struct lake_job_request again = r.job.asked;
    again.rerun_of = r.job.id;
    again.run = 0;
    return submit(&desk, &again, &ending, e);
}

static const struct command_option rerun_options[] = {
    {.name = "--wait", .help = "Wait for its end, and end with its exit code."},
    {.name = "--json",
     .help = "Print id and state; with --wait, what job show --json prints at the end."},
    {0},
};

const struct command command_job_rerun = {
    .name = "job rerun",
    .operands = "ID",
    .summary = "Submit a job once more, as a new one",
    .details = "The same command with the same version of input and code, the same environment and "
               "resources. A job runs once: what comes of it is another job, which says which one "
               "it repeats.",
    .example = "tradewind job rerun 7",
    .options = rerun_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_rerun,
};
