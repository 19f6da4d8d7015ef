/* sweep: the operation sweep.start, one job per combination of hyper-parameters. `tradewind sweep`
 * calls it. */
#include "app/job/batch.h"
#include "app/job/resources.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct sweep_request {
    const char *name;
    struct field_list command;
    const char *input, *code;
    double cpus;
    const char *memory;
    bool wait;
};

/* clang-format off */
#define SWEEP(TYPE, member) FIELD(TYPE, struct sweep_request, member)
static const struct field sweep_fields[] = {
    {"name", SWEEP(TEXT, name), .required = true, .operand = true, .help = "Name of the sweep."},
    {"command", SWEEP(LIST, command), .required = true, .operand = true,
     .help = "Words of the command, with lists as in --rate={0.1,0.2}."},
    {"input", SWEEP(TEXT, input), .value = "REF",
     .help = "Set, or file or directory of the lake: its files are in $TRADEWIND_INPUT."},
    {"code", SWEEP(TEXT, code), .value = "DIR", .is_local = true,
     .help = "Directory or archive to run in, as it is now."},
    {"cpus", SWEEP(REAL, cpus), .value = "N", .preset = "1",
     .help = "CPUs per job, in halves (default 1)."},
    {"memory", SWEEP(TEXT, memory), .value = "SIZE", .preset = "1GB",
     .help = "Memory per job, as in 512 or 2GB (default 1GB)."},
    {"wait", SWEEP(BOOL, wait), .is_remote_only = true,
     .help = "Answer when all jobs are over, instead of at once."},
};

static const struct field started_fields[] = {
    {"name", FIELD(TEXT, struct app_sweep, name), .help = "Name of the sweep."},
    {"finished", FIELD(INT, struct app_sweep, finished), .help = "Jobs that finished."},
    {"jobs_count", FIELD(INT, struct app_sweep, jobs), .help = "All jobs."},
};
/* clang-format on */

static int read_template(const struct sweep_request *q, struct template **out, struct err *e)
{
    *out = template_new(q->command.items, q->command.n, e);
    if (!*out)
        return -1;
    if ((*out)->combinations == 1)
        return err_set(e, ERR_USAGE,
                       "the command has no list of values: write one in quotes, as in --lr "
                       "'{0.1,0.2}'");
    return 0;
}

static int read_batch(const struct sweep_request *q,
                      const struct answer *out,
                      struct app_job_batch *batch,
                      struct err *e)
{
    AUTO(template) struct template *template = NULL;
    struct lake_job_request size = {0};

    if (broker_profile_name_check(q->name, e) < 0 || read_template(q, &template, e) < 0 ||
        app_job_read_size(q->cpus, q->memory, out, &size, e) < 0 ||
        app_job_check_local(&size, e) < 0)
        return -1;
    double mem_mb = (double)size.memory_mb;
    const struct profile_sizes cpus = {&size.cpus, 1}, mems_mb = {&mem_mb, 1};
    return app_job_batch_init(batch, "sweep", q->name, template, &cpus, &mems_mb, e);
}

static int answer_jobs(struct app *app,
                       const struct sweep_request *q,
                       const struct app_job_batch *batch,
                       struct answer *out,
                       struct err *e)
{
    AUTO_MEM int64_t *ids = mem_zero(batch->n, sizeof *ids);
    const struct app_sweep head = {
        .name = q->name,
        .finished = (int64_t)app_job_batch_finished(batch),
        .jobs = (int64_t)batch->n,
    };

    for (size_t i = 0; i < batch->n; i++)
        ids[i] = batch->items[i].id;
    return answer_head(out, &head, e) < 0 ? -1 : app_job_compare(app, ids, batch->n, out, e);
}

static int run_sweep(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct sweep_request *q = request;
    AUTO_CLEAR(app_job_batch) struct app_job_batch batch = {0};
    AUTO_CLEAR(app_job_source) struct app_job_source source = {0};

    if (read_batch(q, out, &batch, e) < 0 || !app_home(app, e) ||
        app_job_source_read(app, q->input, q->code, out, &source, e) < 0 ||
        app_job_batch_submit(&batch, app, &source, e) < 0)
        return -1;
    int over = q->wait ? app_job_batch_wait(&batch, app, batch.n, e) : app_wake_broker(app, e);
    if (over < 0 || (q->wait && !over))
        return over < 0 ? -1 : app_check_cancelled(app, e);
    return answer_jobs(app, q, &batch, out, e);
}

const struct operation sweep_start_operation = {
    .name = "sweep.start",
    .summary = "Submit a command with every combination of values, one job each.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct sweep_request, sweep_fields),
    .answer = RECORD_AT("sweep", struct app_sweep, started_fields),
    .item = &app_job_compared_record,
    .items_name = "jobs",
    .run = run_sweep,
};
