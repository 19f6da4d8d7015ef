/* sweep: a command with many values, one job each, compared at the end. */
#include "app/job/batch.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/profile_parts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit code of a program that Ctrl-C ended. */
#define EXIT_INTERRUPTED 130

static int read_template(const struct command_args *args, struct template **out, struct err *e)
{
    *out = template_new(args->operands + 1, args->n_operands - 1, e);
    if (!*out)
        return -1;
    if (template_combinations(*out) == 1)
        return err_set(e, ERR_USAGE,
                       "there is no list in the command: write {1,2} where it is to vary, in "
                       "quotes, since a shell may take it apart itself");
    return 0;
}

static int read_batch(const struct command_args *args, struct app_job_batch *out, struct err *e)
{
    AUTO(template) struct template *template = NULL;
    struct lake_job_request size = {0};

    if (broker_profile_name_check(args->operands[0], e) < 0 ||
        read_template(args, &template, e) < 0 || job_read_cpus(args, &size.cpus, e) < 0 ||
        job_read_memory(args, &size.memory_mb, e) < 0 || app_job_check_local(&size, e) < 0)
        return -1;
    double mem_mb = (double)size.memory_mb;
    const struct profile_sizes cpus = {&size.cpus, 1}, mems_mb = {&mem_mb, 1};
    return app_job_batch_init(out, "sweep", args->operands[0], template, &cpus, &mems_mb, e);
}

static int submit(struct app_job_batch *batch,
                  const struct job_desk *desk,
                  const struct app_job_source *source,
                  struct err *e)
{
    int lock = broker_profile_lock(desk->home, e);

    if (lock < 0)
        return -1;
    int result = app_job_batch_submit(batch, desk->app, source, e);
    close(lock);
    return result;
}

static int compare(const struct app_job_batch *batch,
                   const struct job_desk *desk,
                   bool json,
                   struct err *e)
{
    AUTO_MEM int64_t *ids = mem_zero(batch->n, sizeof *ids);

    for (size_t i = 0; i < batch->n; i++)
        ids[i] = batch->items[i].id;
    if (!json)
        return job_compare_print(desk, ids, batch->n, false, e);
    AUTO_JSON json_t *jobs = job_compare_json(desk, ids, batch->n, e);
    if (!jobs)
        return -1;
    AUTO_JSON json_t *o = json_object();
    json_object_set_new(o, "name", json_text(batch->name + strlen("sweep ")));
    json_object_set_new(o, "finished", json_integer((json_int_t)app_job_batch_finished(batch)));
    json_object_set(o, "jobs", jobs);
    return json_write(stdout, o, e);
}

static int run_sweep(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(app_job_batch) struct app_job_batch batch = {0};
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(app_job_source) struct app_job_source source = {0};

    if (read_batch(args, &batch, e) < 0 || job_desk_open(&desk, e) < 0 ||
        job_read_source(args, desk.app, &source, e) < 0)
        return -1;
    interrupt_watch();
    if (submit(&batch, &desk, &source, e) < 0)
        return -1;
    int over = app_job_batch_wait(&batch, desk.app, batch.n, e);
    if (over < 0)
        return -1;
    if (!over) {
        fprintf(stderr, "the jobs go on; the same command resumes\n");
        return EXIT_INTERRUPTED;
    }
    if (compare(&batch, &desk, command_has(args, "--json"), e) < 0)
        return -1;
    return app_job_batch_finished(&batch) < batch.n;
}

static const struct command_option options[] = {
    {.name = "--input",
     .value = "REF",
     .help = "A set, or a file or directory of the lake: its files are in $TRADEWIND_INPUT."},
    {.name = "--code", .value = "DIR", .help = "A directory or archive to run in, as it is now."},
    {.name = "--cpus", .value = "N", .help = "CPUs of each job, in halves; 1 unless given."},
    {.name = "--memory",
     .value = "SIZE",
     .help = "Memory of each job, as in 512 or 2GB; 1GB unless given."},
    {.name = "--json",
     .help = "Print {name, finished, jobs}: jobs is what job compare --json prints."},
    {0},
};

const struct command command_sweep = {
    .name = "sweep",
    .operands = "NAME -- CMD...",
    .summary = "Run a command with every combination of values, and compare the jobs",
    .details =
        "A list in braces, anywhere within a word of the command, stands for each of its texts: "
        "--rate '{0.1,0.2}' is two jobs, and another list multiplies them, up to 10,000. Most "
        "shells take braces apart themselves: write lists in quotes. They are read as in tradewind "
        "profile.\n"
        "\n"
        "The same command resumes a sweep, and more texts extend it: what finished is not done "
        "again, what failed is tried again. After Ctrl-C the jobs go on. At the end stand the "
        "arguments that differ, state, time, cost, the last value of each metric, and tags. The "
        "exit code is 1 when a job did not finish.",
    .example =
        "tradewind sweep rates --code . -- python train.py --rate '{0.1,0.2}' --epoch '{1,5}'",
    .options = options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_sweep,
};
