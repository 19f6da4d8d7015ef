/* compare: the operation job.compare, jobs with their tags and last metrics. `tradewind job
 * compare` and `tradewind sweep` call it. */
#include "app/job/job.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/bill.h"

#include <stdlib.h>

struct compare_request {
    struct field_ints ids;
};

/* Points come by step, so the last one stays. */
static int note_metric(void *context, const struct lake_job_metric *m, struct err *e)
{
    (void)e;
    return json_object_set_new(context, m->name, json_number(m->value));
}

static int compare_one(
    struct app *app, int64_t id, const struct open_bills *bills, struct answer *out, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    AUTO_JSON json_t *metrics = json_object();
    struct lake_job job;

    if (app_job_load(app, id, arena, &job, e) < 0 ||
        lake_job_metrics(app_lake(app, e), id, NULL, note_metric, metrics, e) < 0)
        return -1;
    AUTO_JSON json_t *tags = app_job_tags(app, id, e);
    if (!tags)
        return -1;
    struct app_job_compared item = {.tags = tags, .metrics = metrics};
    bill_show(bills, &job);
    app_job_fill(&item.job, &job);
    int result = answer_item(out, &item, e);
    app_job_clear(&item.job);
    return result;
}

int app_job_compare(
    struct app *app, const int64_t *ids, size_t n, struct answer *out, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    const char *home = app_home(app, e);

    if (!home || open_bills_read(home, time_epoch_ms(), &bills, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (app_check_cancelled(app, e) < 0 || compare_one(app, ids[i], &bills, out, e) < 0)
            return -1;
    return 0;
}

static int run_compare(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct compare_request *q = request;

    return app_job_check_ids(app, &q->ids, e) < 0
               ? -1
               : app_job_compare(app, q->ids.items, q->ids.n, out, e);
}

static const struct field compare_fields[] = {
    APP_JOB_IDS_FIELD(struct compare_request),
};

const struct operation job_compare_operation = {
    .name = "job.compare",
    .summary = "Compare jobs: time, cost, arguments, last metrics and tags.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct compare_request, compare_fields),
    .item = &app_job_compared_record,
    .run = run_compare,
};
