/* profile_run: the operation profile.run, which runs a command on a grid of sizes and values, and
 * learns how long it takes. `tradewind profile` calls it. */
#include "app/job/batch.h"
#include "app/job/profile.h"
#include "app/job/resources.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const double default_cpus[] = {0.5, 1, 2}, default_mems_mb[] = {512, 1024, 2048};

struct run_request {
    const char *name;
    struct field_list command;
    const char *cpus, *mems, *gpus, *input, *code;
    double wait_for;
    bool kill_stragglers, wait;
};

/* clang-format off */
#define RUN(TYPE, member) FIELD(TYPE, struct run_request, member)
static const struct field run_fields[] = {
    {"name", RUN(TEXT, name), .required = true, .operand = true, .help = "Name of the profile."},
    {"command", RUN(LIST, command), .operand = true,
     .help = "Words of the command, with lists as in --epoch={1,2,5}; none continues the profile."},
    {"cpus", RUN(TEXT, cpus), .value = "LIST",
     .help = "CPUs to try, in halves, with commas between them (default 0.5,1,2)."},
    {"mems", RUN(TEXT, mems), .value = "LIST",
     .help = "Memory to try, in steps of 256 MB (default 512,1024,2048)."},
    {"gpus", RUN(TEXT, gpus), .value = "N|TYPE:N",
     .help = "GPUs for each job alone, as in 1 or A100:2 (default: none)."},
    {"input", RUN(TEXT, input), .value = "REF",
     .help = "Set, or file or directory of the lake: its files are in $TRADEWIND_INPUT."},
    {"code", RUN(TEXT, code), .value = "DIR", .is_local = true,
     .help = "Directory or archive to run in, as it is now."},
    {"wait_for", RUN(REAL, wait_for), .value = "SHARE", .preset = "0.95",
     .help = "Share of the jobs that must be over before the model is learned (default 0.95)."},
    {"kill_stragglers", RUN(BOOL, kill_stragglers), .help = "Then kill the jobs that still run."},
    {"wait", RUN(BOOL, wait), .is_remote_only = true,
     .help = "Answer when the jobs are over and the model is learned, instead of at once."},
};
/* clang-format on */

struct grid {
    struct template *template;
    struct profile_sizes cpus, mems_mb;
};

static void grid_clear(struct grid *g)
{
    template_free(g->template);
    profile_sizes_clear(&g->cpus);
    profile_sizes_clear(&g->mems_mb);
}

/* ---- the grid ---- */

static void copy_sizes(struct profile_sizes *to, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        profile_sizes_add(to, values[i]);
}

/* Without a command the profile continues with its command and sizes. */
static int read_known(struct grid *g, struct app *app, const char *name, struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(app, name, e);

    if (!p)
        return -1;
    if (!p->template->n)
        return err_set(e, ERR_USAGE,
                       "profile %s has imported runs and no command; give it one: "
                       "tradewind profile %s -- COMMAND",
                       name, name);
    g->template = TAKE(p->template);
    copy_sizes(&g->cpus, p->cpus.values, p->cpus.n);
    copy_sizes(&g->mems_mb, p->mems_mb.values, p->mems_mb.n);
    return 0;
}

static int read_command(struct grid *g,
                        struct app *app,
                        const struct field_list *command,
                        struct err *e)
{
    g->template = template_new(command->items, command->n, e);
    if (!g->template || template_check_args(g->template, e) < 0)
        return -1;
    copy_sizes(&g->cpus, default_cpus, 3);
    copy_sizes(&g->mems_mb, default_mems_mb, 3);
    if (g->template->combinations == 1)
        app_notice(app, "the command has no list, so only sizes are tried; a shell may have "
                        "expanded it: write '{1,2,5}' in quotes");
    return 0;
}

/* "0.5,1,2", each a multiple of step; out is unchanged when text is NULL. */
static int read_sizes(const char *text, double step, struct profile_sizes *out, struct err *e)
{
    const char *at = text, *end;
    double value;

    if (!text)
        return 0;
    profile_sizes_clear(out);
    for (;; at = end + 1) {
        if (!number_prefix(at, &end, &value) || (*end && *end != ','))
            return err_set(e, ERR_USAGE,
                           "\"%.60s\" is not a list of numbers; give one such as %g,%g,%g", text,
                           step, 2 * step, 4 * step);
        if (value < step || value > 1e9 || fmod(value, step) != 0)
            return err_set(e, ERR_USAGE, "%g is not a multiple of %g", value, step);
        profile_sizes_add(out, value);
        if (out->n > PROFILE_SIZES_MAX)
            return err_set(e, ERR_USAGE, "more than %d sizes", PROFILE_SIZES_MAX);
        if (!*end)
            return 0;
    }
}

static int check_room(const struct grid *g, const struct answer *out, struct err *e)
{
    const struct lake_job_request largest = {
        .cpus = g->cpus.values[g->cpus.n - 1],
        .memory_mb = (uint64_t)g->mems_mb.values[g->mems_mb.n - 1],
    };
    char cpus[64], mems[64];

    if (app_job_check_local(&largest, e) < 0)
        return err_wrap(e, "%s and %s", answer_spell(out, "cpus", cpus),
                        answer_spell(out, "mems", mems));
    return 0;
}

static int read_grid(struct grid *g,
                     struct app *app,
                     const struct run_request *q,
                     const struct answer *out,
                     struct err *e)
{
    char option[64];

    if (broker_profile_name_check(q->name, e) < 0 ||
        (q->command.n ? read_command(g, app, &q->command, e) : read_known(g, app, q->name, e)) < 0)
        return -1;
    if (read_sizes(q->cpus, APP_JOB_CPU_STEP, &g->cpus, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "cpus", option));
    if (read_sizes(q->mems, APP_JOB_MEMORY_STEP_MB, &g->mems_mb, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "mems", option));
    if (!(q->wait_for > 0 && q->wait_for <= 1))
        return err_set(e, ERR_USAGE, "%s: must be a share above 0 and up to 1, as in 0.95",
                       answer_spell(out, "wait_for", option));
    return check_room(g, out, e);
}

/* ---- the jobs ---- */

/* Adds the grid to the stored profile. */
static int extend(struct app *app, const char *name, const struct grid *g, struct err *e)
{
    const char *home = app_home(app, e);
    int lock = broker_profile_lock(home, e);

    if (lock < 0)
        return -1;
    int result = broker_profile_extend(home, name, g->template, &g->cpus, &g->mems_mb, e);
    close(lock);
    return result;
}

static int kill_stragglers(struct app *app, struct app_job_batch *batch, struct err *e)
{
    size_t n;

    if (app_job_batch_kill(batch, app, &n, e) < 0)
        return -1;
    if (n)
        app_notice(app, "%zu straggler%s killed", n, n == 1 ? " is" : "s are");
    return 0;
}

/* Names the first jobs that did not finish. */
static void notice_failed(const struct app *app, const struct app_job_batch *batch, size_t n)
{
    char text[300];
    size_t used = 0, shown = 0;

    text[0] = 0;
    for (size_t i = 0; i < batch->n && shown < 5; i++) {
        const struct app_job_item *item = &batch->items[i];
        if (!item->id || !item->is_over || item->state == LAKE_JOB_FINISHED)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, " job %lld %s;",
                                 (long long)item->id, lake_job_state_text(item->state));
        shown++;
    }
    app_notice(app, "%zu did not finish:%s the same command retries them", n, text);
}

static void notice_rest(const struct app *app,
                        const char *name,
                        const struct app_job_batch *batch,
                        bool killed)
{
    size_t over = app_job_batch_over(batch), finished = app_job_batch_finished(batch);

    if (over < batch->n && !killed)
        app_notice(app, "%zu job%s still running; tradewind profile fit %s learns from %s too",
                   batch->n - over, batch->n - over == 1 ? " is" : "s are", name,
                   batch->n - over == 1 ? "it" : "them");
    if (over > finished)
        notice_failed(app, batch, over - finished);
}

static int wait_and_learn(struct app *app,
                          const struct run_request *q,
                          struct app_job_batch *batch,
                          struct err *e)
{
    size_t wanted = (size_t)ceil(q->wait_for * (double)batch->n - 1e-9);
    int over = app_job_batch_wait(batch, app, wanted, e);

    if (over <= 0)
        return over < 0 ? -1 : app_check_cancelled(app, e);
    if (q->kill_stragglers && kill_stragglers(app, batch, e) < 0)
        return -1;
    notice_rest(app, q->name, batch, q->kill_stragglers);
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(app, q->name, e);
    return p ? broker_profile_learn(app_home(app, e), app_lake(app, e), p, e) : -1;
}

static int run_profile(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct run_request *q = request;
    AUTO_CLEAR(grid) struct grid g = {0};
    AUTO_CLEAR(app_job_batch) struct app_job_batch batch = {0};
    AUTO_CLEAR(app_job_source) struct app_job_source source = {0};

    if (!app_home(app, e) || !app_lake(app, e) || read_grid(&g, app, q, out, e) < 0 ||
        app_job_batch_init(&batch, "profile", q->name, g.template, &g.cpus, &g.mems_mb, e) < 0 ||
        app_job_gpus_read(app, q->gpus, 1, out, &batch.gpus, e) < 0 ||
        app_job_source_read(app, q->input, q->code, out, &source, e) < 0 ||
        extend(app, q->name, &g, e) < 0 || app_job_batch_submit(&batch, app, &source, e) < 0 ||
        (q->wait ? wait_and_learn(app, q, &batch, e) : app_wake_broker(app, e)) < 0)
        return -1;
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(app, q->name, e);
    return p ? app_profile_answer(app, p, answer_head, out, e) : -1;
}

const struct operation profile_run_operation = {
    .name = "profile.run",
    .summary = "Run a command with many values on many sizes, and learn how long it takes.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct run_request, run_fields),
    .answer = &app_profile_record,
    .bills = true,
    .quote = &job_price_operation,
    .run = run_profile,
};
