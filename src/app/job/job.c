#include "app/job/job.h"

#include "app/core/code_text.h"
#include "app/job/gpus.h"
#include "app/job/resources.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/client.h"
#include "broker/machine/cap.h"
#include "broker/pipeline/code.h"
#include "lake/set/set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file or directory as input becomes a set of this name. */
#define INPUT_SET "job-input"
/* How long a job is waited for before its state is looked at. */
#define TELL_S 2.0

/* ---- loading ---- */

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    (void)e;
    *(int64_t *)context = job->id;
    return 0;
}

/* Names the jobs next to one that does not exist. */
static int say_nearby(struct lake *l, int64_t id, struct err *e)
{
    const struct lake_job_filter last = {.newest_first = true, .limit = 1};
    const struct lake_job_filter above = {.after = id, .limit = 1};
    int64_t newest = 0, next = 0;
    struct err ignored;

    if (lake_job_list(l, &last, note_id, &newest, &ignored) < 0 ||
        lake_job_list(l, &above, note_id, &next, &ignored) < 0)
        return -1;
    if (!newest)
        return err_set(e, ERR_NOTFOUND,
                       "there is no job %lld yet: tradewind job submit -- COMMAND submits "
                       "one",
                       (long long)id);
    return err_set(e, ERR_NOTFOUND, "there is no job %lld; the %s one is job %lld", (long long)id,
                   next ? "next" : "last", (long long)(next ? next : newest));
}

int app_job_load(
    struct app *app, int64_t id, struct arena *arena, struct lake_job *out, struct err *e)
{
    struct lake *l = app_lake(app, e);

    if (!l)
        return -1;
    if (lake_job_load(l, id, arena, out, e) < 0)
        return e->kind == ERR_NOTFOUND ? say_nearby(l, id, e) : -1;
    return 0;
}

int app_job_check_ids(struct app *app, const struct field_ints *ids, struct err *e)
{
    struct lake_job job;

    if (!app_home(app, e))
        return -1;
    for (size_t i = 0; i < ids->n; i++)
        if (app_job_load(app, ids->items[i], NULL, &job, e) < 0)
            return -1;
    return 0;
}

void app_job_read_details(const struct lake_job *job, struct job_details *out)
{
    struct err why = {0};

    if (job_details_parse(job->asked.details ? job->asked.details : "{}", out, &why) == 0)
        return;
    log_warn("job", "job %lld is shown in part: %s", (long long)job->id, why.text);
    job_details_parse("{}", out, &why);
}

/* ---- how a job stands ---- */

double app_job_runtime_s(const struct lake_job *job)
{
    if (!job->started_ms)
        return -1;
    if (lake_job_state_final(job->state) || job->state > LAKE_JOB_RUNNING)
        return job->runtime_s;
    double until_now = (double)(time_epoch_ms() - job->started_ms) / 1e3;
    return until_now > 0 ? until_now : 0;
}

static bool is_cancelled(void *context)
{
    return app_cancelled(context);
}

/* Waiting may last as long as a disk is full. */
static void tell_unsaved(struct app *app, int64_t id, bool *is_told)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job job;
    struct err ignored;

    if (*is_told || app_job_load(app, id, arena, &job, &ignored) < 0 ||
        job.state != LAKE_JOB_UNSAVED)
        return;
    app_notice(app, "job %lld is unsaved, and waits for a better time: %s", (long long)id,
               job.reason);
    *is_told = true;
}

int app_job_wait(struct app *app, int64_t id, double timeout_s, struct err *e)
{
    struct broker_client *c = app_broker(app, e);
    double end_s = timeout_s < 0 ? (double)INFINITY : time_monotonic_s() + timeout_s;
    bool is_told = false;

    for (;;) {
        double left_s = fmax(end_s - time_monotonic_s(), 0);
        int result = c ? broker_client_wait(c, id, fmin(left_s, TELL_S), is_cancelled, app, e) : -1;
        if (result || app_cancelled(app) || left_s <= TELL_S)
            return result;
        tell_unsaved(app, id, &is_told);
    }
}

int app_job_exit_code(const struct lake_job *job)
{
    if (job->state == LAKE_JOB_FINISHED)
        return 0;
    return job->exited && job->exit_code ? job->exit_code : 1;
}

const char *app_job_reason_text(const char *reason)
{
    static const char said[] = "stopped: ";

    return strncmp(reason, said, sizeof said - 1) == 0 ? reason + sizeof said - 1 : reason;
}

/* ---- before a job is submitted ---- */

int app_job_read_metrics(const char *metrics,
                         const struct answer *out,
                         bool *json_out,
                         struct err *e)
{
    char option[64];

    *json_out = metrics && strcmp(metrics, "json") == 0;
    return metrics && !*json_out ? err_set(e, ERR_USAGE, "%s %.60s: must be json",
                                           answer_spell(out, "metrics", option), metrics)
                                 : 0;
}

int app_job_read_size(double cpus,
                      const char *memory,
                      const struct answer *out,
                      struct lake_job_request *r,
                      struct err *e)
{
    char option[64];

    r->cpus = cpus;
    if (app_job_check_cpus(cpus, e) < 0)
        return err_wrap(e, "%s %g", answer_spell(out, "cpus", option), cpus);
    if (app_job_read_memory(memory, &r->memory_mb, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "memory", option));
    return 0;
}

int app_job_check_month(struct app *app, struct err *e)
{
    const char *home = app_home(app, e);
    const struct config *c = home ? app_config(app, e) : NULL;
    struct lake *l = c && broker_client_check_owner(home, e) == 0 ? app_lake(app, e) : NULL;

    return l ? cap_check_month(c, l, e) : -1;
}

void app_job_submitter_read(const struct app *app, struct app_job_submitter *out)
{
    out->n = 0;
    if (!app_variable(app, "PATH"))
        return;
    for (size_t i = 0; i < JOB_SUBMITTER_NAMES; i++) {
        const char *value = app_variable(app, job_submitter_names[i]);
        if (value)
            out->pairs[out->n++] =
                (struct spec_pair){.key = job_submitter_names[i], .value = value};
    }
}

int app_job_details_again(const struct app *app,
                          const struct job_details *d,
                          struct arena *arena,
                          struct app_job_again *out,
                          struct err *e)
{
    struct app_job_gpus gpus;

    out->details = *d;
    app_job_submitter_read(app, &out->submitter);
    if (!strcmp(d->on, "local") && out->submitter.n) {
        out->details.submitter = out->submitter.pairs;
        out->details.n_submitter = out->submitter.n;
    }
    if (app_job_gpus_again(app, d, arena, &gpus, e) < 0)
        return -1;
    app_job_gpus_set(&gpus, &out->details);
    return 0;
}

/* Before anything is stored. */
static int check_input(struct app *app, const char *input, bool *is_set_out, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, input, LAKE_READ, &ref, e) < 0)
        return -1;
    if (ref.kind == LAKE_REF_JOB)
        return err_set(e, ERR_USAGE, "%.60s: a job is not data; name its output set", input);
    *is_set_out = ref.set_version != 0;
    return 0;
}

/* A reference that names a set version stays; files and directories become one. New string. */
static char *make_input(struct app *app, const char *input, bool is_set, struct err *e)
{
    const char *const refs[] = {input};
    const struct lake_set_request request = {.name = INPUT_SET, .refs = refs, .n_refs = 1};
    struct lake *l = app_lake(app, e);
    struct lake_set set;

    if (l && is_set)
        return mem_dup(input);
    if (!l || lake_set_create(l, &request, &set, e) < 0)
        return NULL;
    return lake_ref_of_set(set.name, set.number);
}

void app_job_source_clear(struct app_job_source *s)
{
    free(s->input);
    free(s->code);
    *s = (struct app_job_source){0};
}

int app_job_source_read(struct app *app,
                        const char *input,
                        const char *code,
                        const struct answer *answer,
                        struct app_job_source *out,
                        struct err *e)
{
    AUTO_CLEAR(code) struct code stored = {0};
    const char *home = app_home(app, e);
    bool is_set = false;
    char option[64];

    if (!home)
        return -1;
    if (input && check_input(app, input, &is_set, e) < 0)
        return err_wrap(e, "%s", answer_spell(answer, "input", option));
    if (code)
        app_status(app, "storing the code of %.60s", code);
    if (code && code_store(app_lake(app, e), home, code, &stored, e) < 0)
        return err_wrap(e, "%s", answer_spell(answer, "code", option));
    if (code)
        app_tell_code(app, code, &stored);
    out->input = input ? make_input(app, input, is_set, e) : NULL;
    if (input && !out->input)
        return err_wrap(e, "%s", answer_spell(answer, "input", option));
    out->code = TAKE(stored.ref);
    out->dirty = stored.dirty;
    memcpy(out->commit, stored.commit, sizeof stored.commit);
    return 0;
}

_Static_assert(sizeof((struct app_job_source *)0)->commit == CODE_COMMIT, "copied whole");
