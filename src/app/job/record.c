/* record: jobs as operations answer with them, and the fields of those answers. The operations on
 * jobs of this room call it. */
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "app/job/resources.h"
#include "base/buf.h"
#include "base/money.h"
#include "base/shell.h"
#include "base/time.h"
#include "lake/job/job.h"

#include <math.h>

#define COMMAND_COLUMNS 1000

static const char *text_or_none(const char *text)
{
    return text && *text ? text : NULL;
}

static int64_t number_or_none(int64_t number)
{
    return number ? number : FIELD_NONE;
}

void app_job_fill(struct app_job *out, const struct lake_job *job)
{
    const struct lake_job_request *asked = &job->asked;
    double runtime_s = app_job_runtime_s(job);

    *out = (struct app_job){
        .id = job->id,
        .state = job->state,
        .exit_code = job->exited ? job->exit_code : FIELD_NONE,
        .user = job->user,
        .project = job->project,
        .name = text_or_none(asked->name),
        .input = text_or_none(asked->input),
        .output = text_or_none(job->output_set),
        .reproduced = job->reproduced ? text_or_none(job->output_set) : NULL,
        .output_set = text_or_none(asked->output),
        .code = text_or_none(asked->code),
        .command = {asked->command, asked->n_command},
        .cpus = asked->cpus,
        .memory_mb = (int64_t)asked->memory_mb,
        .gpus = FIELD_NONE,
        .nodes = FIELD_NONE,
        .time_limit_s = asked->time_limit_s > 0 ? asked->time_limit_s : (double)NAN,
        .queued_ms = number_or_none(job->queued_ms),
        .started_ms = number_or_none(job->started_ms),
        .finished_ms = number_or_none(job->finished_ms),
        .runtime_s = runtime_s >= 0 ? runtime_s : (double)NAN,
        .cost_microusd = text_or_none(job->cost_basis) ? job->cost_microusd : FIELD_NONE,
        .cost_basis = text_or_none(job->cost_basis),
        .machine = text_or_none(job->machine),
        .limits = text_or_none(job->limits),
        .reason = text_or_none(job->reason),
        .run = number_or_none(asked->run),
        .rerun_of = number_or_none(asked->rerun_of),
        .is_stop_asked = job->stop_asked,
        .saves_later = job->saves_later,
    };
    app_job_read_details(job, &out->details);
    out->commit = text_or_none(out->details.git_commit);
    out->image = text_or_none(out->details.image);
    out->on = out->details.on;
    if (out->details.gpus) {
        out->gpus = out->details.gpus;
        out->gpu_type = text_or_none(out->details.gpu_type);
        out->devices = text_or_none(job->devices);
    }
    if (out->details.nodes > 1)
        out->nodes = out->details.nodes;
    out->stage = text_or_none(out->details.stage);
    out->because = text_or_none(out->details.because);
}

void app_job_clear(struct app_job *job)
{
    job_details_clear(&job->details);
    *job = (struct app_job){0};
}

/* ---- values that no type has ---- */

static json_t *dirty_json(const void *record)
{
    const struct app_job *job = record;

    return job->commit ? json_boolean(job->details.git_dirty) : json_null();
}

static json_t *pairs_json(const struct spec_pair *pairs, size_t n)
{
    json_t *env = json_object();

    for (size_t i = 0; i < n; i++)
        json_object_set_new(env, pairs[i].key, json_text(pairs[i].value));
    return env;
}

static json_t *env_json(const void *record)
{
    const struct job_details *d = &((const struct app_job *)record)->details;

    return pairs_json(d->envs, d->n_envs);
}

static json_t *submitter_json(const void *record)
{
    const struct job_details *d = &((const struct app_job *)record)->details;

    return pairs_json(d->submitter, d->n_submitter);
}

/* ---- cells ---- */

static void memory_cell(const void *record, struct buf *out)
{
    const struct app_job *job = record;
    char text[32];

    buf_puts(out, app_job_memory_text((uint64_t)job->memory_mb, text));
}

/* "2026-11-16 09:31" */
static void queued_cell(const void *record, struct buf *out)
{
    const struct app_job *job = record;
    char text[32];

    time_iso(job->queued_ms, text);
    buf_printf(out, "%.10s %.5s", text, text + 11);
}

static void runtime_cell(const void *record, struct buf *out)
{
    const struct app_job *job = record;
    char text[32];

    buf_puts(out, isnan(job->runtime_s) ? "-" : time_text(job->runtime_s, text));
}

static void cost_cell(const void *record, struct buf *out)
{
    const struct app_job *job = record;
    char text[32];

    buf_puts(out, job->cost_basis ? money_text(job->cost_microusd, text) : "-");
}

/* The shell text of a stage, which a run hands to bash with the setup before it; NULL = the job is
 * no stage. */
static const char *stage_text(const struct app_job *job)
{
    size_t n = job->command.n;

    return job->run != FIELD_NONE && (n == 3 || n == 6) && !strcmp(job->command.items[0], "bash") &&
                   !strcmp(job->command.items[1], "-c")
               ? job->command.items[n - 1]
               : NULL;
}

/* On one line, without lines that are comments and without what continues lines. */
static void put_shell_text(struct buf *out, const char *text)
{
    while (*text && out->len < COMMAND_COLUMNS) {
        text += strspn(text, " \t\n");
        size_t line = strcspn(text, "\n"), n = *text == '#' ? 0 : line;
        while (n && strchr(" \t\\", text[n - 1]))
            n--;
        if (n)
            buf_printf(out, "%s%.*s", out->len ? " " : "",
                       (int)(n < COMMAND_COLUMNS ? n : COMMAND_COLUMNS), text);
        text += line;
    }
}

static void command_cell(const void *record, struct buf *out)
{
    const struct app_job *job = record;
    AUTO_CLEAR(buf) struct buf words;

    buf_init(&words, COMMAND_COLUMNS);
    if (stage_text(job)) {
        put_shell_text(out, stage_text(job));
        return;
    }
    for (size_t i = 0; i < job->command.n; i++)
        shell_put_word(&words, job->command.items[i]);
    buf_puts(out, buf_str(&words));
}

/* ---- fields ---- */

/* clang-format off */
#define JOB(TYPE, member) FIELD(TYPE, struct app_job, member)
/* For records whose first member is a struct app_job. */
#define JOB_FIELDS                                                                                 \
    {"id", JOB(INT, id), .help = "Number of the job.", .heading = "job"},                          \
    {"state", JOB(ENUM, state), FIELD_CHOICES(lake_job_state_texts),                               \
     .help = "State of the job.", .heading = "state"},                                             \
    {"exit_code", JOB(INT, exit_code),                                                             \
     .help = "Exit code of the command, as a shell has it: 128 + signal."},                        \
    {"user", JOB(TEXT, user), .help = "User who submitted the job.", .heading = "user",            \
     .cut_rank = 3, .least_width = 4, .is_optional = true},                                        \
    {"project", JOB(TEXT, project), .help = "Project of the job."},                                \
    {"name", JOB(TEXT, name), .help = "Display name."},                                            \
    {"input", JOB(TEXT, input), .help = "Set version that the job reads."},                        \
    {"output", JOB(TEXT, output), .help = "Set version that the job stored."},                     \
    {"reproduced", JOB(TEXT, reproduced), .omit_none = true,                                       \
     .help = "Set version that has exactly the output of the job, which made no new one."},        \
    {"output_set", JOB(TEXT, output_set), .help = "Set that takes the output."},                   \
    {"code", JOB(TEXT, code), .help = "Set version of the working directory."},                    \
    {"image", JOB(TEXT, image), .help = "Container image that the job runs in."},                   \
    {"commit", JOB(TEXT, commit), .help = "Git commit of the working directory."},                 \
    {"dirty", .type = FIELD_BOOL, .json = dirty_json,                                              \
     .help = "Whether the working directory differed from the commit."},                           \
    {"command", JOB(LIST, command), .help = "Words of the command."},                              \
    {"env", .type = FIELD_JSON, .json = env_json, .help = "Environment that the request set."},    \
    {"submitter_env", .type = FIELD_JSON, .json = submitter_json,                                  \
     .help = "PATH and the like of the shell that submitted the job to this machine."},            \
    {"on", JOB(TEXT, on), .help = "Host group, cloud, or local."},                                 \
    {"offer", JOB(RECORD, offer), .record = &app_offer_record, .omit_none = true,                  \
     .help = "Machine of a cloud that the job has, or is planned for."},                        \
    {"cpus", JOB(REAL, cpus), .help = "CPUs of the job.", .heading = "cpus", .is_optional = true}, \
    {"memory_mb", JOB(INT, memory_mb), .unit = "MB", .help = "Memory of the job.",                 \
     .heading = "memory", .cell = memory_cell, .is_optional = true},                                                 \
    {"gpus", JOB(INT, gpus), .help = "GPUs that the job asks for."},                               \
    {"gpu_type", JOB(TEXT, gpu_type), .help = "Their type, as asked for."},                        \
    {"devices", JOB(TEXT, devices),                                                                \
     .help = "GPUs of this machine that the job has, as in nvidia:0,nvidia:1."},                   \
    {"nodes", JOB(INT, nodes), .help = "Jobs that start and end together with this one."},         \
    {"time_limit_s", JOB(DURATION, time_limit_s), .unit = "s", .help = "Longest run time."},       \
    {"queued_at", JOB(TIME, queued_ms), .help = "Time of submission.", .heading = "queued",        \
     .cell = queued_cell},                                                                         \
    {"started_at", JOB(TIME, started_ms), .help = "Time when the command started."},               \
    {"finished_at", JOB(TIME, finished_ms), .help = "Time of the final state."},                   \
    {"runtime_s", JOB(DURATION, runtime_s), .unit = "s", .help = "Run time of the command.",       \
     .heading = "runtime", .cell = runtime_cell},                                                  \
    {"cost_usd", JOB(MONEY, cost_microusd), .unit = "USD", .help = "Cost so far.",                 \
     .heading = "cost", .cell = cost_cell},                                                        \
    {"cost_basis", JOB(TEXT, cost_basis), .help = "How the cost was found."},                      \
    {"machine", JOB(TEXT, machine), .help = "Machine that runs the job."},                         \
    {"limits", JOB(TEXT, limits), .help = "How CPU and memory limits are enforced."},              \
    {"reason", JOB(TEXT, reason), .help = "Reason of the last change of state."},                  \
    {"run", JOB(INT, run), .help = "Run of a pipeline that the job belongs to."},                  \
    {"stage", JOB(TEXT, stage), .help = "Stage of that pipeline."},                                \
    {"because", JOB(TEXT, because), .omit_none = true,                                             \
     .help = "What changed since the stage last finished."},                                       \
    {"rerun_of", JOB(INT, rerun_of), .help = "Job that this one repeats."},                        \
    {"stop_asked", JOB(BOOL, is_stop_asked), .help = "Whether its end was asked for."},            \
    {"saves_later", JOB(BOOL, saves_later),                                                        \
     .help = "Whether the output of an unsaved job will be stored when the reason passes."}

static const struct field id_fields[] = {
    {"id", FIELD(INT, struct app_job_id, id), APP_JOB_NUMBER, .required = true, .operand = true,
     .help = "Number of the job."},
};
const struct record app_job_id_record = RECORD("job_id", struct app_job_id, id_fields);

static const struct field job_fields[] = {
    JOB_FIELDS,
    {"name_column", JOB(TEXT, name), .help = "Name, beside the command.", .heading = "name",
     .is_column_only = true, .cut_rank = 1, .least_width = 8},
    {"command_column", JOB(LIST, command), .help = "Command as a shell takes it.",
     .heading = "command", .is_column_only = true, .cell = command_cell, .cut_rank = 2,
     .least_width = 12},
};
const struct record app_job_record = RECORD("job", struct app_job, job_fields);

static const struct field transition_fields[] = {
    {"state", FIELD(ENUM, struct app_job_transition, state), FIELD_CHOICES(lake_job_state_texts),
     .help = "State that the job entered."},
    {"at", FIELD(TIME, struct app_job_transition, at_ms), .help = "Time of the change."},
    {"reason", FIELD(TEXT, struct app_job_transition, reason), .help = "Reason of the change."},
};
static const struct record transition_record =
    RECORD("transition", struct app_job_transition, transition_fields);

#define USAGE(TYPE, member) FIELD(TYPE, struct app_job_usage, member)
static const struct field usage_fields[] = {
    {"cpus", USAGE(REAL, cpus), .help = "CPUs busy on average."},
    {"peak_memory_mb", USAGE(REAL, peak_memory_mb), .unit = "MB", .help = "Most memory in use."},
    {"received_mb", USAGE(REAL, received_mb), .unit = "MB", .help = "Received by the network."},
    {"sent_mb", USAGE(REAL, sent_mb), .unit = "MB", .help = "Sent by the network."},
    {"received_mbps", USAGE(REAL, received_mbps), .unit = "Mbit/s",
     .help = "Received by the network, on average."},
    {"sent_mbps", USAGE(REAL, sent_mbps), .unit = "Mbit/s",
     .help = "Sent by the network, on average."},
    {"gpu_percent", USAGE(REAL, gpu_percent), .unit = "%", .help = "Last utilization of the GPUs."},
    {"samples", USAGE(INT, samples), .help = "Samples of the machine, one per second."},
};
static const struct record usage_record = RECORD("usage", struct app_job_usage, usage_fields);

static const struct field whole_fields[] = {
    JOB_FIELDS,
    {"transitions", FIELD(RECORDS, struct app_job_whole, transitions),
     .record = &transition_record, .help = "States of the job, the first one first."},
    {"refusals", FIELD(RECORDS, struct app_job_whole, refusals), .record = &app_refusal_record,
     .omit_none = true, .help = "Launches for the job that clouds refused, the first one first."},
    {"params", FIELD(JSON, struct app_job_whole, params),
     .help = "Parameters: environment, values of a sweep, options of the command."},
    {"metrics", FIELD(JSON, struct app_job_whole, series),
     .help = "Each metric with its last, least and greatest value and its number of steps."},
    {"tags", FIELD(JSON, struct app_job_whole, tags),
     .help = "Tags that the job printed, and its parameters."},
    {"usage", FIELD(RECORD, struct app_job_whole, usage), .record = &usage_record,
     .help = "What the machine did during the job."},
    {"warnings", FIELD(LIST, struct app_job_whole, warnings),
     .help = "Tags and metrics of the log that could not be read, the first 100."},
};
const struct record app_job_whole_record = RECORD("job_whole", struct app_job_whole, whole_fields);

static const struct field compared_fields[] = {
    JOB_FIELDS,
    {"tags", FIELD(JSON, struct app_job_compared, tags),
     .help = "Tags that the job printed, and its parameters; without digests."},
    APP_VALUES_FIELDS(struct app_job_compared),
};
const struct record app_job_compared_record =
    RECORD("job_compared", struct app_job_compared, compared_fields);
/* clang-format on */
