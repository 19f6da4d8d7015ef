/* submit: the operations job.submit and job.rerun. Their commands call them. */
#include "app/job/cloud.h"
#include "app/job/gang.h"
#include "app/job/gpus.h"
#include "app/job/image.h"
#include "app/job/job.h"
#include "app/job/resources.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/shell.h"
#include "base/time.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/host.h"
#include "broker/machine/clouds.h"
#include "broker/pipeline/code.h"
#include "lake/core/path.h"
#include "spec/config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TIME_LIMIT_S_MOST (10 * 365 * 86400.0)
/* Bytes of a message that lists groups. */
#define GROUPS_SHOWN 300

struct submit_request {
    struct field_list command;
    const char *name, *input, *output, *code;
    double cpus;
    const char *memory;
    double time_limit_s;
    struct field_list env;
    const char *on, *image, *gpus;
    int64_t nodes;
    double checkpoint_s;
    const char *metrics;
    int64_t continues;
    bool spot;
    const char *region;
    double max_hourly_usd;
    bool dry_run;
};

/* clang-format off */
#define SUBMIT(TYPE, member) FIELD(TYPE, struct submit_request, member)
static const struct field submit_fields[] = {
    {"command", SUBMIT(LIST, command), .required = true, .operand = true, .is_local = true,
     .help = "Words of the command."},
    {"name", SUBMIT(TEXT, name), .value = "NAME",
     .help = "Display name (default: the command)."},
    {"input", SUBMIT(TEXT, input), .value = "REF",
     .help = "Set, or file or directory of the lake, which becomes a set: its files are in "
             "$TRADEWIND_INPUT."},
    {"output", SUBMIT(TEXT, output), .value = "SET",
     .help = "Set whose next version takes the files of $TRADEWIND_OUTPUT at the end (default: "
             "job-ID)."},
    {"code", SUBMIT(TEXT, code), .value = "DIR", .is_local = true,
     .help = "Directory or archive to run in, as it is now; without the files that .gitignore and "
             ".tradewindignore leave out."},
    {"cpus", SUBMIT(REAL, cpus), .value = "N", .preset = "1",
     .help = "CPUs, in halves (default 1)."},
    {"memory", SUBMIT(TEXT, memory), .value = "SIZE", .preset = "1GB",
     .help = "Memory in steps of 256 MB, as in 512 or 2GB (default 1GB)."},
    {"gpus", SUBMIT(TEXT, gpus), .value = "N|TYPE:N",
     .help = "GPUs for the job alone, as in 1 or A100:2, all of one type (default: none)."},
    {"nodes", SUBMIT(INT, nodes), .value = "N", .preset = "1", .least = 1,
     .most = APP_JOB_NODES_MAX,
     .help = "Jobs that start together and end together, each with these CPUs, memory and GPUs "
             "(default 1)."},
    {"time_limit_s", SUBMIT(DURATION, time_limit_s), .option = "--time-limit", .value = "TIME",
     .unit = "s",
     .help = "Longest run time, as in 90s or 2h (default: no limit)."},
    {"env", SUBMIT(LIST, env), .value = "NAME=VALUE", .help = "Environment variable."},
    {"on", SUBMIT(TEXT, on), .value = "local|ssh|GROUP|cloud|aws|azure|gcp", .preset = "local",
     .help = "This machine (local, the default), any host of the configuration (ssh), a group of "
             "hosts, or the cheapest machine of any cloud (cloud) or of one (aws), which is "
             "launched for the job and terminated after it."},
    APP_JOB_MARKET_FIELDS(struct submit_request, ),
    {"image", SUBMIT(TEXT, image), .value = "NAME",
     .help = "Container image to run in, by podman or docker where the job runs."},
    {"checkpoint_s", SUBMIT(DURATION, checkpoint_s), .option = "--checkpoint", .value = "TIME",
     .unit = "s",
     .help = "How often $TRADEWIND_CHECKPOINT is saved, as in 10m; it is kept when the job does "
             "not finish."},
    {"metrics", SUBMIT(TEXT, metrics), .value = "json",
     .help = "json: printed lines such as {\"loss\": 0.4, \"step\": 10} are metrics, besides lines "
             "[TRADEWIND_METRIC] NAME STEP VALUE."},
    {"continue", SUBMIT(INT, continues), APP_JOB_NUMBER,
     .help = "Start from the checkpoint that this job left."},
    APP_DRY_RUN_FIELD(struct submit_request, dry_run),
};
/* clang-format on */

static const struct field submitted_fields[] = {
    {"id", FIELD(INT, struct app_job_submitted, id), .omit_none = true,
     .help = "Number of the job."},
    {"state", FIELD(ENUM, struct app_job_submitted, state), FIELD_CHOICES(lake_job_state_texts),
     .omit_none = true, .help = "State of the job: queued."},
    {"nodes", FIELD(INT, struct app_job_submitted, nodes), .omit_none = true,
     .help = "Number of nodes: this job and those that follow it."},
    {"price", FIELD(RECORD, struct app_job_submitted, price), .record = &app_job_price_record,
     .omit_none = true, .help = "Of a dry run: the machine that would be launched, and its price."},
};
static const struct record submitted_record =
    RECORD("job_submitted", struct app_job_submitted, submitted_fields);

/* A submitted job stays submitted, whatever becomes of the broker. */
static int submit(struct app *app,
                  const struct lake_job_request *request,
                  const struct job_details *details,
                  struct answer *out,
                  struct err *e)
{
    struct app_job_submitted made = {.state = LAKE_JOB_QUEUED,
                                     .nodes = details->nodes > 1 ? details->nodes : FIELD_NONE};

    if (app_job_gang_submit(app, request, details, &made.id, e) < 0 ||
        answer_head(out, &made, e) < 0)
        return -1;
    if (app_wake_broker(app, e) < 0)
        return err_wrap(e, "job %lld is queued, but no broker runs it", (long long)made.id);
    return 0;
}

/* ---- where ---- */

/* An empty text, as of a variable that is not set, means this machine. */
static const char *host_group(const struct submit_request *q)
{
    return *q->on ? q->on : "local";
}

static void add_group(const char **names, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(names[i], name))
            return;
    names[(*n)++] = name;
}

static int unknown_group(const struct config *c, const char *on, struct err *e)
{
    AUTO_MEM const char **names = mem_zero(c->n_hosts + 16, sizeof *names);
    AUTO_CLEAR(buf) struct buf all;
    size_t n = 0;

    buf_init(&all, GROUPS_SHOWN);
    add_group(names, &n, "local");
    add_group(names, &n, CLOUDS_ANY);
    for (size_t i = 0; cloud_providers[i]; i++)
        add_group(names, &n, cloud_providers[i]);
    if (c->n_hosts)
        add_group(names, &n, HOST_ANY);
    for (size_t i = 0; i < c->n_hosts; i++)
        add_group(names, &n, c->hosts[i].pool);
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    const char *close = nearest(on, names, n);
    if (close)
        return err_set(e, ERR_USAGE, "no such host group; did you mean %s?", close);
    if (c->n_hosts)
        return err_set(e, ERR_USAGE, "no such host group; there are %s", buf_str(&all));
    return err_set(e, ERR_USAGE,
                   "there are no hosts but this machine (local), and no such cloud (%s); list "
                   "hosts under hosts: in %s",
                   buf_str(&all) + strlen("local, " CLOUDS_ANY ", "), c->file);
}

static int check_group(struct app *app,
                       const char *on,
                       unsigned nodes,
                       const struct lake_job_request *r,
                       const struct answer *out,
                       struct err *e)
{
    const struct config *c = app_config(app, e);
    unsigned fitting = 0;
    char option[64];

    if (!c)
        return -1;
    if (host_count(c, on) == 0) {
        unknown_group(c, on, e);
        return err_wrap(e, "%s %.60s", answer_spell(out, "on", option), on);
    }
    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        bool is_in = !strcmp(on, HOST_ANY) || !strcmp(h->pool, on);
        fitting += is_in && (h->cpus <= 0 || r->cpus <= h->cpus) &&
                   (h->memory_gb <= 0 || (double)r->memory_mb <= h->memory_gb * 1024);
    }
    if (fitting == 0)
        return err_set(e, ERR_NOFIT, "no host of %.60s has %g CPUs and %llu MB of memory", on,
                       r->cpus, (unsigned long long)r->memory_mb);
    if (fitting < nodes)
        return err_set(e, ERR_NOFIT,
                       "%u nodes need %u hosts with %g CPUs and %llu MB of memory; %.60s has %u",
                       nodes, nodes, r->cpus, (unsigned long long)r->memory_mb, on, fitting);
    return 0;
}

/* All nodes at once. */
static int check_here(const struct lake_job_request *r, unsigned nodes, struct err *e)
{
    struct lake_job_request all = *r;

    all.cpus *= nodes;
    all.memory_mb *= nodes;
    if (app_job_check_local(&all, e) == 0)
        return 0;
    return nodes > 1 ? err_wrap(e, "%u nodes at once", nodes) : -1;
}

/* ---- the request ---- */

int app_job_read_envs(const struct field_list *env,
                      struct answer *out,
                      struct job_details *d,
                      struct err *e)
{
    struct spec_pair *pairs = arena_alloc(out->arena, env->n + 1, sizeof *pairs);
    char option[64];

    const char *spelled = answer_spell(out, "env", option);
    for (size_t i = 0; i < env->n && pairs; i++) {
        const char *text = env->items[i];
        size_t n = strcspn(text, "=");
        if (!text[n] || !shell_is_variable(text, n))
            return err_set(e, ERR_USAGE, "%s: \"%.60s\" is not NAME=VALUE", spelled, text);
        if (strncmp(text, "TRADEWIND_", 10) == 0)
            return err_set(e, ERR_USAGE, "%s: names that begin with TRADEWIND_ are reserved",
                           spelled);
        pairs[i] =
            (struct spec_pair){.key = arena_dup_n(out->arena, text, n), .value = text + n + 1};
    }
    if (!pairs)
        return err_set(e, ERR_NOFIT, "%s: too many variables", spelled);
    d->envs = pairs;
    d->n_envs = env->n;
    return 0;
}

/* Records are JSON, which holds no other text. */
static int check_words(const struct field_list *command, struct err *e)
{
    for (size_t i = 0; i < command->n; i++) {
        AUTO_JSON json_t *word = json_string(command->items[i]);
        if (!word)
            return err_set(e, ERR_USAGE,
                           "word %zu of the command is not UTF-8 text; pass it in a file", i + 1);
    }
    return 0;
}

static int read_sizes(const struct submit_request *q,
                      const struct answer *out,
                      struct lake_job_request *r,
                      struct err *e)
{
    char option[64];

    if (app_job_read_size(q->cpus, q->memory, out, r, e) < 0)
        return -1;
    r->time_limit_s = isnan(q->time_limit_s) ? 0 : q->time_limit_s;
    if (q->time_limit_s <= 0 || q->time_limit_s > TIME_LIMIT_S_MOST)
        return err_set(e, ERR_USAGE, "%s: must be more than 0 and at most ten years",
                       answer_spell(out, "time_limit_s", option));
    return 0;
}

static int read_request(struct app *app,
                        const struct submit_request *q,
                        struct answer *out,
                        struct lake_job_request *r,
                        struct err *e)
{
    char option[64];

    r->name = q->name;
    r->command = q->command.items;
    r->n_command = q->command.n;
    r->output = q->output && q->output[0] == '@' ? q->output + 1 : q->output;
    if (check_words(&q->command, e) < 0 || read_sizes(q, out, r, e) < 0)
        return -1;
    if (r->output && lake_path_check_set(r->output, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "output", option));
    const char *on = host_group(q);
    unsigned nodes = (unsigned)q->nodes;
    const struct config *c = app_config(app, e);
    if (!c || app_job_is_cloud(c, on))
        return c ? 0 : -1;
    if (app_job_check_market(app_job_market_field(q->spot, q->region, q->max_hourly_usd), out, e) <
        0)
        return -1;
    return strcmp(on, "local") == 0 ? check_here(r, nodes, e)
                                    : check_group(app, on, nodes, r, out, e);
}

/* Why a job left no checkpoint, or NULL. */
static const char *no_checkpoint(const char *home,
                                 const struct lake_job *job,
                                 const struct job_details *d)
{
    if (!lake_job_state_final(job->state))
        return "is not over yet";
    if (job->state == LAKE_JOB_FINISHED)
        return "finished, and a job that finishes leaves no checkpoint";
    if (!(d->checkpoint_s > 0))
        return "never had a checkpoint: it was submitted without one";
    if (checkpoint_is_there(home, job->id))
        return NULL;
    return "has no checkpoint: it saved nothing, or a job that continued it finished, or it ended "
           "more than a week ago";
}

static int read_checkpoint(struct app *app,
                           const struct submit_request *q,
                           struct answer *out,
                           struct job_details *d,
                           struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct lake_job job;
    char option[64];

    if (q->checkpoint_s <= 0)
        return err_set(e, ERR_USAGE, "%s: must be more than 0 s",
                       answer_spell(out, "checkpoint_s", option));
    d->checkpoint_s = isnan(q->checkpoint_s) ? 0 : q->checkpoint_s;
    if (q->continues == FIELD_NONE)
        return 0;
    d->continues = q->continues;
    const char *spelled = answer_spell(out, "continue", option);
    if (q->nodes > 1)
        return err_set(e, ERR_USAGE, "%s: not with several nodes", spelled);
    if (app_job_load(app, q->continues, out->arena, &job, e) < 0)
        return err_wrap(e, "%s", spelled);
    app_job_read_details(&job, &details);
    const char *why = no_checkpoint(app_home(app, e), &job, &details);
    return why ? err_set(e, ERR_USAGE, "%s: job %lld %s", spelled, (long long)q->continues, why)
               : 0;
}

/* ---- job.submit ---- */

static int read_image(const struct submit_request *q,
                      const struct answer *out,
                      struct job_details *d,
                      struct err *e)
{
    char option[64];

    if (!q->image)
        return 0;
    d->image = app_job_image_read(q->image, answer_spell(out, "image", option), e);
    if (!d->image)
        return -1;
    return strcmp(d->on, "local") == 0 ? app_job_check_image(d->image, e) : 0;
}

static int submit_with(struct app *app,
                       struct lake_job_request *r,
                       struct job_details *d,
                       const struct app_job_source *source,
                       struct answer *out,
                       struct err *e)
{
    struct app_job_submitter submitter = {.n = 0};

    if (!strcmp(d->on, "local"))
        app_job_submitter_read(app, &submitter);
    d->submitter = submitter.pairs;
    d->n_submitter = submitter.n;
    d->git_commit = source->commit;
    d->git_dirty = source->dirty;
    r->input = source->input;
    r->code = source->code;
    return submit(app, r, d, out, e);
}

static int read_gpus(struct app *app,
                     const struct submit_request *q,
                     const struct answer *out,
                     const struct lake_job_request *r,
                     struct job_details *d,
                     struct err *e)
{
    bool is_local = strcmp(d->on, "local") == 0;
    struct app_job_gpus found = {0};
    struct app_job_gpus_order order = {
        .on = d->on, .cpus = r->cpus, .memory_mb = r->memory_mb, .nodes = (unsigned)q->nodes};
    char option[64];

    d->nodes = order.nodes;
    if (is_local && app_job_gpus_read(app, q->gpus, d->nodes, out, &found, e) < 0)
        return -1;
    if (!is_local && q->gpus &&
        (gpus_wish_read(q->gpus, &order.wish, e) < 0 ||
         app_job_gpus_hosts(app_config(app, e), &order, out->arena, &found, e) < 0))
        return err_wrap(e, "%s", answer_spell(out, "gpus", option));
    app_job_gpus_set(&found, d);
    return 0;
}

/* What a dry run leaves for the job. */
static void release_planned(void *planned)
{
    app_job_planned_clear(planned);
    free(planned);
}

static struct app_job_planned *plan_machine(struct app *app,
                                            const struct submit_request *q,
                                            struct answer *out,
                                            const struct lake_job_request *r,
                                            struct err *e)
{
    struct app_job_planned *planned = answer_take(out, app, q);
    const struct app_job_wish wish = {.on = host_group(q),
                                      .cpus = r->cpus,
                                      .memory_mb = r->memory_mb,
                                      .gpus = q->gpus,
                                      .nodes = (unsigned)q->nodes,
                                      .time_limit_s = r->time_limit_s,
                                      .spot = q->spot,
                                      .region = q->region,
                                      .max_hourly_usd = q->max_hourly_usd};

    if (planned)
        return planned;
    planned = mem_zero(1, sizeof *planned);
    if (app_job_plan_cloud(app, &wish, out, planned, e) == 0)
        return planned;
    release_planned(planned);
    return NULL;
}

/* Without planned, nothing is launched. */
static int answer_price(const struct app_job_planned *planned,
                        unsigned nodes,
                        double time_limit_s,
                        struct answer *out,
                        struct err *e)
{
    struct app_job_submitted dry = {.id = FIELD_NONE, .nodes = FIELD_NONE};
    struct app_job_price price;

    if (planned && app_job_price_planned(planned, nodes, time_limit_s, out->arena, &price, e) < 0)
        return -1;
    dry.price = planned ? &price : NULL;
    return answer_head(out, &dry, e);
}

static int submit_checked(struct app *app,
                          const struct submit_request *q,
                          struct lake_job_request *r,
                          struct job_details *d,
                          struct answer *out,
                          struct err *e)
{
    AUTO_CLEAR(app_job_source) struct app_job_source source = {0};

    return app_job_source_read(app, q->input, q->code, out, &source, e) < 0
               ? -1
               : submit_with(app, r, d, &source, out, e);
}

static int submit_to_cloud(struct app *app,
                           const struct submit_request *q,
                           struct lake_job_request *r,
                           struct job_details *d,
                           struct answer *out,
                           struct err *e)
{
    struct app_job_planned *planned = plan_machine(app, q, out, r, e);
    int result;

    if (!planned)
        return -1;
    d->nodes = (unsigned)q->nodes;
    if (q->dry_run) {
        result = answer_price(planned, d->nodes, r->time_limit_s, out, e);
        answer_leave(out, app, q, planned, release_planned);
        return result;
    }
    app_job_take_planned(planned, r, d);
    result = submit_checked(app, q, r, d, out, e);
    release_planned(planned);
    return result;
}

static int run_submit(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct submit_request *q = request;
    struct lake_job_request r = {0};
    struct job_details d = {.on = host_group(q)};

    if (read_request(app, q, out, &r, e) < 0 || app_job_read_envs(&q->env, out, &d, e) < 0 ||
        app_job_read_metrics(q->metrics, out, &d.json_metrics, e) < 0 ||
        read_image(q, out, &d, e) < 0 || !app_home(app, e) ||
        read_checkpoint(app, q, out, &d, e) < 0 || app_job_check_month(app, e) < 0)
        return -1;
    if (app_job_is_cloud(app_config(app, e), d.on))
        return submit_to_cloud(app, q, &r, &d, out, e);
    if (read_gpus(app, q, out, &r, &d, e) < 0)
        return -1;
    return q->dry_run ? answer_price(NULL, d.nodes, r.time_limit_s, out, e)
                      : submit_checked(app, q, &r, &d, out, e);
}

const struct operation job_submit_operation = {
    .name = "job.submit",
    .summary = "Submit a command as a job.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct submit_request, submit_fields),
    .answer = &submitted_record,
    .bills = true,
    .quote = &job_price_operation,
    .run = run_submit,
};

/* ---- job.rerun ---- */

struct rerun_request {
    int64_t id;
    bool dry_run;
};

static const struct field rerun_fields[] = {
    {"id", FIELD(INT, struct rerun_request, id), APP_JOB_NUMBER, .required = true, .operand = true,
     .help = "Number of the job."},
    APP_DRY_RUN_FIELD(struct rerun_request, dry_run),
};

static int rerun_as(struct app *app,
                    const struct rerun_request *q,
                    const struct lake_job *job,
                    struct job_details *details,
                    struct answer *out,
                    struct err *e)
{
    AUTO_CLEAR(app_job_planned) struct app_job_planned planned = {0};
    struct lake_job_request again = job->asked;
    struct app_job_again now;
    bool launches = details->offer.provider[0] != 0;

    if (app_job_check_month(app, e) < 0 ||
        (launches && app_job_plan_again(app, details, out, &planned, e) < 0))
        return -1;
    if (q->dry_run)
        return answer_price(launches ? &planned : NULL, details->nodes, again.time_limit_s, out, e);
    again.rerun_of = q->id;
    again.run = 0;
    if (app_job_details_again(app, details, out->arena, &now, e) < 0)
        return -1;
    if (launches)
        app_job_take_planned(&planned, &again, &now.details);
    return submit(app, &again, &now.details, out, e);
}

static int run_rerun(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct rerun_request *q = request;
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct lake_job job;
    int64_t id = q->id;

    if (!app_home(app, e) || app_job_load(app, id, out->arena, &job, e) < 0)
        return -1;
    app_job_read_details(&job, &details);
    if (details.n_secrets)
        return err_set(e, ERR_USAGE,
                       "job %lld was given secrets, which are not kept; submit it again",
                       (long long)id);
    if (details.nodes > 1 && job.asked.run)
        return err_set(e, ERR_USAGE, "job %lld ran together with others; run its pipeline again",
                       (long long)id);
    /* A gang as a whole: its first node has the request. */
    if (details.nodes > 1 && details.rank) {
        const struct rerun_request first = {.id = id - details.rank, .dry_run = q->dry_run};
        return run_rerun(app, &first, out, e);
    }
    return rerun_as(app, q, &job, &details, out, e);
}

const struct operation job_rerun_operation = {
    .name = "job.rerun",
    .summary = "Submit a job again, as a new job.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct rerun_request, rerun_fields),
    .answer = &submitted_record,
    .bills = true,
    .run = run_rerun,
};
