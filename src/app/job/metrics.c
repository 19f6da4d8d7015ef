/* metrics: the operation job.metrics, the series that a job printed or that its machine made.
 * `tradewind job metrics` calls it. */
#include "app/job/job.h"
#include "broker/learn/usage.h"

#include <stddef.h>
#include <string.h>

struct metrics_request {
    int64_t id;
    const char *name;
    bool node;
};

/* clang-format off */
static const struct field metrics_fields[] = {
    {"id", FIELD(INT, struct metrics_request, id), APP_JOB_NUMBER, .required = true,
     .operand = true, .help = "Number of the job."},
    {"name", FIELD(TEXT, struct metrics_request, name), .value = "NAME",
     .help = "Only this metric, step by step."},
    {"node", FIELD(BOOL, struct metrics_request, node),
     .help = "Metrics of the machine instead, one sample per second: cpus, memory_mb, "
             "received_mbps and sent_mbps of its network, gpu_percent."},
};

static const struct field point_fields[] = {
    {"name", FIELD(TEXT, struct lake_job_metric, name), .help = "Name of the metric."},
    {"step", FIELD(REAL, struct lake_job_metric, step), .help = "Step, or second of the machine."},
    {"value", FIELD(REAL, struct lake_job_metric, value), .help = "Value at the step."},
};
/* clang-format on */

static int show_point(void *context, const struct lake_job_metric *m, struct err *e)
{
    return answer_listed(context, m, e);
}

static double value_at(const struct usage_point *p, size_t offset)
{
    double value;

    memcpy(&value, (const char *)p + offset, sizeof value);
    return value;
}

/* Samples of the agent; steps are seconds. */
static int show_node(
    struct answer *out, const char *home, int64_t id, const char *name, struct err *e)
{
    static const struct {
        const char *name;
        size_t offset;
    } series[] = {
        {"cpus", offsetof(struct usage_point, cpus)},
        {"gpu_percent", offsetof(struct usage_point, gpu_percent)},
        {"memory_mb", offsetof(struct usage_point, memory_mb)},
        {"received_mbps", offsetof(struct usage_point, received_mbps)},
        {"sent_mbps", offsetof(struct usage_point, sent_mbps)},
    };
    AUTO_CLEAR(usage) struct usage u = {0};

    if (usage_read(home, id, &u, e) < 0)
        return -1;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        if (name && strcmp(name, series[i].name) != 0)
            continue;
        for (size_t k = 0; k < u.n; k++) {
            const struct lake_job_metric m = {series[i].name, u.points[k].at_s,
                                              value_at(&u.points[k], series[i].offset)};
            /* A machine without a GPU has no such series. */
            if (m.value >= 0 && show_point(out, &m, e) < 0)
                return -1;
        }
    }
    return 0;
}

static int run_metrics(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct metrics_request *q = request;
    const char *home = app_home(app, e);
    struct lake_job job;

    if (!home || app_job_load(app, q->id, NULL, &job, e) < 0)
        return -1;
    if (q->node)
        return show_node(out, home, q->id, q->name, e);
    return lake_job_metrics(app_lake(app, e), q->id, q->name, show_point, out, e);
}

const struct operation job_metrics_operation = {
    .name = "job.metrics",
    .summary = "List the metrics of a job, step by step.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct metrics_request, metrics_fields),
    .item = RECORD_AT("metric", struct lake_job_metric, point_fields),
    .is_live = true,
    .run = run_metrics,
};
