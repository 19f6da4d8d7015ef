/* get: the operation job.get, one job with its states, parameters, metrics, tags, usage and
 * warnings. `tradewind job show` calls it. */
#include "app/core/lake_open.h"
#include "app/job/cloud.h"
#include "app/job/gpus.h"
#include "app/job/job.h"
#include "app/job/values.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/learn/usage.h"
#include "broker/machine/bill.h"
#include "lake/meta/meta.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WARNINGS_MAX 100
#define WARNING_BYTES 1024

/* ---- parts ---- */

struct transitions {
    const struct answer *out;
    struct field_records list;
};

static int add_transition(void *context, const struct lake_job_transition *t, struct err *e)
{
    struct transitions *s = context;

    const struct app_job_transition item = {
        .state = t->state,
        .at_ms = t->at_ms,
        .reason = t->reason && *t->reason ? arena_dup(s->out->arena, t->reason) : NULL,
    };
    return answer_push(s->out, &s->list, &item, sizeof item, e);
}

static int take_value(void *context, const struct lake_value *v, struct err *e)
{
    (void)e;
    return json_object_set_new(context, v->key, lake_value_json(v));
}

json_t *app_job_tags(struct app *app, int64_t id, struct err *e)
{
    AUTO_JSON json_t *tags = json_object();
    struct lake *l = app_lake(app, e);

    return l && lake_job_tags(l, id, take_value, tags, e) == 0 ? TAKE(tags) : NULL;
}

int app_job_warnings(
    struct app *app, int64_t id, struct arena *a, struct field_list *out, struct err *e)
{
    const char *home = app_home(app, e);
    const char **lines = arena_alloc(a, WARNINGS_MAX, sizeof *lines);
    char line[WARNING_BYTES];
    size_t n = 0;

    if (!home || !lines)
        return home ? err_set(e, ERR_NOFIT, "the answer is too large") : -1;
    AUTO_MEM char *path = broker_job_path(home, id, "warnings");
    FILE *in = fopen(path, "re");
    while (in && n < WARNINGS_MAX && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        lines[n++] = arena_dup(a, line);
    }
    if (in)
        fclose(in);
    *out = (struct field_list){lines, n};
    return 0;
}

static int read_usage(
    const char *home, int64_t id, const struct answer *a, const void **out, struct err *e)
{
    AUTO_CLEAR(usage) struct usage u = {0};
    struct app_job_usage *used = answer_alloc(a, 1, sizeof *used, e);

    if (!used || usage_read(home, id, &u, e) < 0)
        return -1;
    if (u.seconds <= 0)
        return 0;
    double gpu = u.n ? u.points[u.n - 1].gpu_percent : -1;
    *used = (struct app_job_usage){
        .cpus = u.cpu_s / u.seconds,
        .peak_memory_mb = u.peak_mb,
        .received_mb = (double)u.received / 1e6,
        .sent_mb = (double)u.sent / 1e6,
        .received_mbps = (double)u.received * 8e-6 / u.seconds,
        .sent_mbps = (double)u.sent * 8e-6 / u.seconds,
        .gpu_percent = gpu >= 0 ? gpu : (double)NAN,
        .samples = (int64_t)u.n,
    };
    *out = used;
    return 0;
}

/* While a job has hosts its record lacks part of the cost. */
static int bill_so_far(const char *home,
                       const struct job_details *details,
                       struct lake_job *job,
                       struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};

    if (!strcmp(details->on, "local"))
        return 0;
    if (open_bills_read(home, time_epoch_ms(), &open, e) < 0)
        return -1;
    bill_show(&open, job);
    return 0;
}

/* ---- job.get ---- */

static int answer_whole(struct app *app,
                        struct app_job_whole *whole,
                        struct answer *out,
                        struct err *e)
{
    struct transitions states = {.out = out};
    AUTO_JSON json_t *tags = app_job_tags(app, whole->job.id, e);
    AUTO_CLEAR(app_values) struct app_values values = {0};

    if (!tags || app_values_add(app, whole->job.id, NULL, false, &values, e) < 0 ||
        lake_job_transitions(app_lake(app, e), whole->job.id, add_transition, &states, e) < 0 ||
        read_usage(app_home(app, e), whole->job.id, out, &whole->usage, e) < 0 ||
        app_job_refusals(app, whole->job.id, 0, out->arena, &whole->refusals, e) < 0 ||
        app_job_offer_now(app, whole->job.id, &whole->job.details.offer, e) < 0 ||
        app_offer_show(&whole->job.details.offer, out->arena, &whole->job.offer, e) < 0 ||
        app_job_warnings(app, whole->job.id, out->arena, &whole->warnings, e) < 0)
        return -1;
    whole->transitions = states.list;
    whole->tags = tags;
    whole->params = values.params;
    whole->series = values.series;
    return answer_head(out, whole, e);
}

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct app_job_id *q = request;
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct app_job_whole whole = {0};
    struct lake_job job;

    if (!app_home(app, e) || app_job_load(app, q->id, out->arena, &job, e) < 0)
        return -1;
    app_job_read_details(&job, &details);
    if (bill_so_far(app_home(app, e), &details, &job, e) < 0)
        return -1;
    app_job_fill(&whole.job, &job);
    if (job.state == LAKE_JOB_QUEUED && !whole.job.reason &&
        app_job_gpus_wait_text(app, &details, out->arena, &whole.job.reason, e) < 0) {
        app_job_clear(&whole.job);
        return -1;
    }
    int result = answer_whole(app, &whole, out, e);
    app_job_clear(&whole.job);
    return result;
}

const struct operation job_get_operation = {
    .name = "job.get",
    .summary = "Get a job with its states, tags, usage and warnings.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &app_job_id_record,
    .answer = &app_job_whole_record,
    .is_live = true,
    .run = run_get,
};
