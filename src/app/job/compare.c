/* compare: the operation job.compare, jobs with their parameters and metrics side by side.
 * `tradewind job compare` and `tradewind sweep` call it. */
#include "app/job/job.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "broker/machine/bill.h"

#include <stdlib.h>
#include <string.h>

/* Hexadecimal digits that make a digest. */
#define DIGEST_LEAST 32

struct compare_request {
    struct field_ints ids;
    bool points;
};

static bool is_digest(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t n = 0;

    while (text && number_hex(text[n]) >= 0)
        n++;
    return text && n >= DIGEST_LEAST && !text[n];
}

/* Tags that say nothing to people are left out. */
static void drop_digests(json_t *tags)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(tags, next, key, value) if (is_digest(value))
        json_object_del(tags, key);
}

static int answer_one(struct app *app,
                      int64_t id,
                      const struct app_values *values,
                      const struct open_bills *bills,
                      struct answer *out,
                      struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job job;

    if (app_job_load(app, id, arena, &job, e) < 0)
        return -1;
    AUTO_JSON json_t *tags = app_job_tags(app, id, e);
    if (!tags)
        return -1;
    drop_digests(tags);
    struct app_job_compared item = {.tags = tags, .values = *values};
    bill_show(bills, &job);
    app_job_fill(&item.job, &job);
    int result = answer_item(out, &item, e);
    app_job_clear(&item.job);
    return result;
}

struct compared {
    struct app_values *values;
    size_t n;
};

static void compared_clear(struct compared *c)
{
    for (size_t i = 0; i < c->n; i++)
        app_values_clear(&c->values[i]);
    free(c->values);
}

static int compare(struct app *app,
                   const int64_t *ids,
                   size_t n,
                   bool with_points,
                   struct answer *out,
                   struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    AUTO_CLEAR(compared)
    struct compared c = {mem_zero(n + 1, sizeof *c.values), n};
    const char *home = app_home(app, e);

    if (!home || open_bills_read(home, time_epoch_ms(), &bills, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (app_check_cancelled(app, e) < 0 ||
            app_values_add(app, ids[i], NULL, with_points, &c.values[i], e) < 0)
            return -1;
    app_values_best(c.values, n);
    for (size_t i = 0; i < n; i++)
        if (answer_one(app, ids[i], &c.values[i], &bills, out, e) < 0)
            return -1;
    return 0;
}

int app_job_compare(
    struct app *app, const int64_t *ids, size_t n, struct answer *out, struct err *e)
{
    return compare(app, ids, n, false, out, e);
}

static int run_compare(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct compare_request *q = request;

    return app_job_check_ids(app, &q->ids, e) < 0
               ? -1
               : compare(app, q->ids.items, q->ids.n, q->points, out, e);
}

static const struct field compare_fields[] = {
    APP_JOB_IDS_FIELD(struct compare_request),
    {"points", FIELD(BOOL, struct compare_request, points), .is_remote_only = true,
     .help = "Answer with the points of the metrics, too."},
};

const struct operation job_compare_operation = {
    .name = "job.compare",
    .summary = "Compare jobs: parameters, metrics and the best of them, time, cost and tags.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct compare_request, compare_fields),
    .item = &app_job_compared_record,
    .is_live = true,
    .run = run_compare,
};
