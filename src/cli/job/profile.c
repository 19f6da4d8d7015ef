/* profile: runs a command on a grid of sizes and values, and learns how long it takes. */
#include "app/job/batch.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/profile_parts.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit code of a program that Ctrl-C ended. */
#define EXIT_INTERRUPTED 130
#define WAIT_FOR_DEFAULT 0.95

static const double default_cpus[] = {0.5, 1, 2}, default_mems_mb[] = {512, 1024, 2048};

struct asked {
    const char *name;
    struct template *template;
    struct profile_sizes cpus, mems_mb;
    double wait_for;
};

static void asked_clear(struct asked *a)
{
    template_free(a->template);
    profile_sizes_clear(&a->cpus);
    profile_sizes_clear(&a->mems_mb);
}

/* ---- what is asked for ---- */

static void copy_sizes(struct profile_sizes *to, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        profile_sizes_add(to, values[i]);
}

/* Without a command it is the one of before, on the sizes of before. */
static int read_known(struct asked *a, const char *home, struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(home, a->name, e);

    if (!p)
        return -1;
    a->template = TAKE(p->template);
    copy_sizes(&a->cpus, p->cpus.values, p->cpus.n);
    copy_sizes(&a->mems_mb, p->mems_mb.values, p->mems_mb.n);
    return 0;
}

static int read_command(struct asked *a, const struct command_args *args, struct err *e)
{
    a->template = template_new(args->operands + 1, args->n_operands - 1, e);
    if (!a->template || template_check_args(a->template, e) < 0)
        return -1;
    copy_sizes(&a->cpus, default_cpus, 3);
    copy_sizes(&a->mems_mb, default_mems_mb, 3);
    if (template_combinations(a->template) == 1)
        fprintf(stderr, "the command has no list, so only sizes are tried; a shell may have taken "
                        "it apart: write '{1,2,5}' in quotes\n");
    return 0;
}

static int check_room(const struct asked *a, struct err *e)
{
    const struct lake_job_request largest = {.cpus = a->cpus.values[a->cpus.n - 1],
                                             .memory_mb =
                                                 (uint64_t)a->mems_mb.values[a->mems_mb.n - 1]};

    if (app_job_check_local(&largest, e) < 0)
        return err_wrap(e, "--cpus and --mems");
    return 0;
}

static int read_asked(struct asked *a,
                      const struct command_args *args,
                      const char *home,
                      struct err *e)
{
    a->name = args->operands[0];
    a->wait_for = WAIT_FOR_DEFAULT;
    if (broker_profile_name_check(a->name, e) < 0 ||
        (args->n_operands > 1 ? read_command(a, args, e) : read_known(a, home, e)) < 0 ||
        profile_sizes_read(args, "--cpus", APP_JOB_CPU_STEP, &a->cpus, e) < 0 ||
        profile_sizes_read(args, "--mems", APP_JOB_MEMORY_STEP_MB, &a->mems_mb, e) < 0 ||
        command_number(args, "--wait-for", &a->wait_for, e) < 0)
        return -1;
    if (!(a->wait_for > 0 && a->wait_for <= 1))
        return err_set(e, ERR_USAGE, "--wait-for: a share above 0 and up to 1, as in 0.95");
    return check_room(a, e);
}

/* ---- running it ---- */

static int submit(const struct asked *a,
                  struct app_job_batch *batch,
                  const struct job_desk *desk,
                  const struct app_job_source *source,
                  struct err *e)
{
    int lock = broker_profile_lock(desk->home, e);

    if (lock < 0)
        return -1;
    int result = broker_profile_extend(desk->home, a->name, a->template, &a->cpus, &a->mems_mb, e);
    if (result == 0)
        result = app_job_batch_submit(batch, desk->app, source, e);
    close(lock);
    return result;
}

static int end_stragglers(struct app_job_batch *batch, const struct job_desk *desk, struct err *e)
{
    size_t n;

    if (app_job_batch_kill(batch, desk->app, &n, e) < 0)
        return -1;
    if (n)
        fprintf(stderr, "%zu straggler%s ended\n", n, n == 1 ? " is" : "s are");
    return 0;
}

static void tell_rest(const struct asked *a, const struct app_job_batch *batch, bool ended)
{
    size_t over = app_job_batch_over(batch), finished = app_job_batch_finished(batch);

    if (over < batch->n && !ended)
        fprintf(stderr, "%zu still run; tradewind profile fit %s learns from them, too\n",
                batch->n - over, a->name);
    if (over <= finished)
        return;
    fprintf(stderr, "%zu did not finish:", over - finished);
    size_t shown = 0;
    for (size_t i = 0; i < batch->n && shown < 5; i++) {
        const struct app_job_item *item = &batch->items[i];
        if (!item->id || !lake_job_state_final(item->state) || item->state == LAKE_JOB_FINISHED)
            continue;
        fprintf(stderr, " job %lld %s;", (long long)item->id, lake_job_state_text(item->state));
        shown++;
    }
    fprintf(stderr, " the same command tries them again\n");
}

static int learn_and_print(const struct asked *a,
                           const struct command_args *args,
                           const struct job_desk *desk,
                           struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(desk->home, a->name, e);

    if (!p || broker_profile_learn(desk->home, desk->lake, p, e) < 0)
        return -1;
    if (!command_has(args, "--json"))
        return profile_print(desk->lake, p, e);
    AUTO_JSON json_t *o = profile_json(desk->lake, p, e);
    return o ? json_write(stdout, o, e) : -1;
}

static int run_profile(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(asked) struct asked a = {0};
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(app_job_batch) struct app_job_batch batch = {0};
    AUTO_CLEAR(app_job_source) struct app_job_source source = {0};

    if (job_desk_open(&desk, e) < 0 || read_asked(&a, args, desk.home, e) < 0 ||
        app_job_batch_init(&batch, "profile", a.name, a.template, &a.cpus, &a.mems_mb, e) < 0 ||
        job_read_source(args, desk.app, &source, e) < 0)
        return -1;
    interrupt_watch();
    if (submit(&a, &batch, &desk, &source, e) < 0)
        return -1;
    int over =
        app_job_batch_wait(&batch, desk.app, (size_t)ceil(a.wait_for * (double)batch.n - 1e-9), e);
    if (over < 0)
        return -1;
    if (!over) {
        fprintf(stderr, "the jobs go on; the same command, or tradewind profile %s, resumes\n",
                a.name);
        return EXIT_INTERRUPTED;
    }
    bool end = command_has(args, "--kill-stragglers");
    if (end && end_stragglers(&batch, &desk, e) < 0)
        return -1;
    tell_rest(&a, &batch, end);
    return learn_and_print(&a, args, &desk, e);
}

static const struct command_option options[] = {
    {.name = "--cpus",
     .value = "LIST",
     .help = "CPUs to try, in halves, with commas between them; 0.5,1,2 unless given."},
    {.name = "--mems",
     .value = "LIST",
     .help = "Memory to try, in steps of 256 MB; 512,1024,2048 unless given."},
    {.name = "--input",
     .value = "REF",
     .help = "A set, or a file or directory of the lake: its files are in $TRADEWIND_INPUT."},
    {.name = "--code", .value = "DIR", .help = "A directory or archive to run in, as it is now."},
    {.name = "--wait-for",
     .value = "SHARE",
     .help = "The share of jobs that must be over before it learns; 0.95 unless given."},
    {.name = "--kill-stragglers", .help = "Then end those that still run."},
    {.name = "--json", .help = "Print what profile show --json prints."},
    {0},
};

const struct command command_profile = {
    .name = "profile",
    .operands = "NAME [-- CMD...]",
    .summary = "Run a command with many values on many sizes, and learn how long it takes",
    .details =
        "A list in braces, anywhere within a word of the command, stands for each of its texts: "
        "--epoch '{1,2,5}' is three commands, and another list multiplies them. Each of them runs "
        "as a job on each number of CPUs with each size of memory, at most 10,000 in all. When "
        "nearly all are over, a model of the run time is learned from all finished jobs of this "
        "command, profiled or not.\n"
        "\n"
        "Most shells take braces apart themselves: write lists in quotes. A brace that begins no "
        "list stays as it is; \\{ never begins one, and \\, belongs to a text.\n"
        "\n"
        "A profile is never done twice: the same command resumes it, without a command it goes on "
        "as it was, and with other texts in its lists or other sizes it is extended. Jobs that "
        "failed are tried again. After Ctrl-C the jobs go on.",
    .example = "tradewind profile mnist --code . -- python train.py --epoch '{1,2,5}'",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_profile,
};
