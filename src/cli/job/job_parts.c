#include "cli/job/job_parts.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/shell.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/learn/usage.h"
#include "app/core/lake_found.h"
#include "lake/meta/meta_value.h"
#include "view/text.h"

#include <stdlib.h>
#include <string.h>

#define WARNINGS_MAX 100
#define WARNING_BYTES 1024
#define REASON_INDENT 4

/* ---- the lake and the home ---- */

int job_desk_open(struct job_desk *out, struct err *e)
{
    *out = (struct job_desk){.door = operate_door_new(false)};
    out->app = operate_app(out->door);
    out->home = app_home(out->app, e);
    out->lake = out->home ? app_lake(out->app, e) : NULL;
    if (out->lake)
        return 0;
    job_desk_clear(out);
    return -1;
}

void job_desk_clear(struct job_desk *d)
{
    operate_door_free(d->door);
    *d = (struct job_desk){0};
}

/* ---- ids ---- */

int64_t *job_ids_parse(const struct command_args *args, struct err *e)
{
    AUTO_MEM int64_t *ids = mem_zero(args->n_operands + 1, sizeof *ids);

    for (size_t i = 0; i < args->n_operands; i++)
        if (app_job_id_parse(args->operands[i], &ids[i], e) < 0)
            return NULL;
    return TAKE(ids);
}

/* ---- records ---- */

void job_record_clear(struct job_record *r)
{
    job_details_clear(&r->details);
    arena_free(r->arena);
    *r = (struct job_record){0};
}

int job_record_load(struct app *app, int64_t id, struct job_record *out, struct err *e)
{
    *out = (struct job_record){.arena = arena_new(LAKE_JOB_ARENA_MAX)};
    if (app_job_load(app, id, out->arena, &out->job, e) < 0) {
        job_record_clear(out);
        return -1;
    }
    app_job_read_details(&out->job, &out->details);
    return 0;
}

int job_open(const char *id, struct job_desk *desk, struct job_record *out, struct err *e)
{
    int64_t number = 0;

    if (app_job_id_parse(id, &number, e) < 0 || job_desk_open(desk, e) < 0)
        return -1;
    return job_record_load(desk->app, number, out, e);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *s)
{
    return s && *s ? json_text(s) : json_null();
}

static json_t *time_or_null(int64_t ms)
{
    char text[32];

    return ms ? json_string(time_iso_ms(ms, text)) : json_null();
}

static json_t *number_or_null(double v, bool known)
{
    return known ? json_number(v) : json_null();
}

static json_t *id_or_null(int64_t id)
{
    return id ? json_integer(id) : json_null();
}

static json_t *command_json(const struct lake_job *job)
{
    json_t *words = json_array();

    for (size_t i = 0; i < job->asked.n_command; i++)
        json_array_append_new(words, json_text(job->asked.command[i]));
    return words;
}

static json_t *envs_json(const struct job_details *d)
{
    json_t *envs = json_object();

    for (size_t i = 0; i < d->n_envs; i++)
        json_object_set_new(envs, d->envs[i].key, json_text(d->envs[i].value));
    return envs;
}

json_t *job_json(const struct lake_job *job, const struct job_details *details)
{
    json_t *o = json_object();
    double runtime_s = app_job_runtime_s(job);

    json_object_set_new(o, "id", json_integer(job->id));
    json_object_set_new(o, "state", json_string(lake_job_state_text(job->state)));
    json_object_set_new(o, "exit_code", job->exited ? json_integer(job->exit_code) : json_null());
    json_object_set_new(o, "user", json_text(job->user));
    json_object_set_new(o, "project", json_text(job->project));
    json_object_set_new(o, "name", text_or_null(job->asked.name));
    json_object_set_new(o, "input", text_or_null(job->asked.input));
    json_object_set_new(o, "output", text_or_null(job->output_set));
    json_object_set_new(o, "output_set", text_or_null(job->asked.output));
    json_object_set_new(o, "code", text_or_null(job->asked.code));
    json_object_set_new(o, "commit", text_or_null(details->git_commit));
    json_object_set_new(o, "dirty",
                        *details->git_commit ? json_boolean(details->git_dirty) : json_null());
    json_object_set_new(o, "command", command_json(job));
    json_object_set_new(o, "env", envs_json(details));
    json_object_set_new(o, "on", json_text(details->on));
    json_object_set_new(o, "cpus", json_number(job->asked.cpus));
    json_object_set_new(o, "memory_mb", json_integer((json_int_t)job->asked.memory_mb));
    json_object_set_new(o, "time_limit_s",
                        number_or_null(job->asked.time_limit_s, job->asked.time_limit_s > 0));
    json_object_set_new(o, "queued_at", time_or_null(job->queued_ms));
    json_object_set_new(o, "started_at", time_or_null(job->started_ms));
    json_object_set_new(o, "finished_at", time_or_null(job->finished_ms));
    json_object_set_new(o, "runtime_s", number_or_null(runtime_s, runtime_s >= 0));
    json_object_set_new(o, "cost_usd",
                        job->cost_basis && *job->cost_basis ? json_usd(job->cost_microusd)
                                                            : json_null());
    json_object_set_new(o, "cost_basis", text_or_null(job->cost_basis));
    json_object_set_new(o, "machine", text_or_null(job->machine));
    json_object_set_new(o, "limits", text_or_null(job->limits));
    json_object_set_new(o, "reason", text_or_null(job->reason));
    json_object_set_new(o, "run", id_or_null(job->asked.run));
    json_object_set_new(o, "stage", text_or_null(details->stage));
    json_object_set_new(o, "rerun_of", id_or_null(job->asked.rerun_of));
    return o;
}

static int add_transition(void *context, const struct lake_job_transition *t, struct err *e)
{
    char at[32];

    (void)e;
    return json_array_append_new(
        context, json_pack("{s:s, s:s, s:o}", "state", lake_job_state_text(t->state), "at",
                           time_iso_ms(t->at_ms, at), "reason", text_or_null(t->reason)));
}

static int take_meta(void *context, const struct lake_found *found, struct err *e)
{
    AUTO_JSON json_t *whole = lake_found_json(found);
    json_t *meta = json_object_get(whole, "meta"), *value;
    const char *key;

    (void)e;
    json_object_foreach(meta, key, value)
    {
        if (meta_job_builtin(key) == META_NONE)
            json_object_set(context, key, value);
    }
    return 0;
}

json_t *job_tags_json(struct lake *l, int64_t id, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_JSON json_t *tags = json_object();
    AUTO_MEM char *text = mem_printf("job:%lld", (long long)id);

    if (lake_resolve(l, text, LAKE_READ, &ref, e) < 0 ||
        lake_describe(l, &ref, take_meta, tags, e) < 0)
        return NULL;
    return TAKE(tags);
}

json_t *job_warnings_json(const char *home, int64_t id)
{
    AUTO_MEM char *path = broker_job_path(home, id, "warnings");
    char line[WARNING_BYTES];
    json_t *all = json_array();
    FILE *in = fopen(path, "re");

    while (in && json_array_size(all) < WARNINGS_MAX && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        json_array_append_new(all, json_text(line));
    }
    if (in)
        fclose(in);
    return all;
}

json_t *job_usage_json(const char *home, int64_t id, struct err *e)
{
    AUTO_CLEAR(usage) struct usage u = {0};

    if (usage_read(home, id, &u, e) < 0)
        return NULL;
    if (u.seconds <= 0)
        return json_null();
    double gpu = u.n ? u.points[u.n - 1].gpu_percent : -1;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "cpus",
                     json_number(u.cpu_s / u.seconds), "peak_memory_mb", json_number(u.peak_mb),
                     "received_mb", json_number((double)u.received / 1e6), "sent_mb",
                     json_number((double)u.sent / 1e6), "received_mbps",
                     json_number((double)u.received * 8e-6 / u.seconds), "sent_mbps",
                     json_number((double)u.sent * 8e-6 / u.seconds), "gpu_percent",
                     gpu >= 0 ? json_number(gpu) : json_null(), "samples", (json_int_t)u.n);
}

json_t *job_json_whole(const struct job_desk *desk, const struct job_record *r, struct err *e)
{
    AUTO_JSON json_t *o = job_json(&r->job, &r->details);
    json_t *transitions = json_array();

    json_object_set_new(o, "transitions", transitions);
    if (lake_job_transitions(desk->lake, r->job.id, add_transition, transitions, e) < 0)
        return NULL;
    json_t *tags = job_tags_json(desk->lake, r->job.id, e);
    if (!tags)
        return NULL;
    json_object_set_new(o, "tags", tags);
    json_t *usage = job_usage_json(desk->home, r->job.id, e);
    if (!usage)
        return NULL;
    json_object_set_new(o, "usage", usage);
    json_object_set_new(o, "warnings", job_warnings_json(desk->home, r->job.id));
    return TAKE(o);
}

/* ---- for people ---- */

void job_put_command(struct buf *b, const char *const *command, size_t n)
{
    for (size_t i = 0; i < n; i++)
        shell_put_word(b, command[i]);
}

void job_print_reason(FILE *out, const char *reason)
{
    text_print_lines(out, app_job_reason_text(reason), 2000, REASON_INDENT);
}

/* ---- the end of a job ---- */

void job_print_end(FILE *out, const struct lake_job *job)
{
    double runtime_s = app_job_runtime_s(job);
    char time[32];

    fprintf(out, "job %lld %s%s", (long long)job->id,
            lake_job_state_final(job->state) && job->state != LAKE_JOB_FINISHED &&
                    job->state != LAKE_JOB_FAILED
                ? "was "
                : "",
            lake_job_state_text(job->state));
    if (runtime_s >= 0)
        fprintf(out, " %s %s", job->state == LAKE_JOB_RUNNING ? "since" : "after",
                time_text(runtime_s, time));
    if (job->output_set && *job->output_set)
        fprintf(out, "; output %s", job->output_set);
    if (job->state != LAKE_JOB_FINISHED && job->reason && *job->reason) {
        fputs(": ", out);
        job_print_reason(out, job->reason);
    } else {
        fputc('\n', out);
    }
}
