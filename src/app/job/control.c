/* control: the operations job.kill and job.wait. Their commands, `job submit --wait` and `job rerun
 * --wait` call them. */
#include "app/job/gang.h"
#include "app/job/job.h"
#include "base/time.h"

#include <math.h>

/* ---- job.kill ---- */

struct kill_request {
    struct field_ints ids;
    const char *reason;
};

/* clang-format off */
static const struct field kill_fields[] = {
    APP_JOB_IDS_FIELD(struct kill_request),
    {"reason", FIELD(TEXT, struct kill_request, reason), .value = "TEXT",
     .preset = "by its user", .help = "Reason, for the record of the job."},
};

static const struct field killed_fields[] = {
    {"id", FIELD(INT, struct app_job_killed, id), .help = "Number of the job."},
    {"state", FIELD(ENUM, struct app_job_killed, state), FIELD_CHOICES(lake_job_state_texts),
     .help = "State after the call; a running job ends soon."},
    {"was_over", FIELD(BOOL, struct app_job_killed, was_over),
     .help = "Whether the job was over before the call."},
};
/* clang-format on */

static int kill_one(struct app *app,
                    int64_t id,
                    const char *reason,
                    bool *is_pending,
                    struct answer *out,
                    struct err *e)
{
    struct lake_job before;
    bool over;

    if (app_job_load(app, id, NULL, &before, e) < 0 ||
        lake_job_ask_stop(app_lake(app, e), id, reason, &over, e) < 0)
        return -1;
    bool was_over = lake_job_state_final(before.state) || before.state == LAKE_JOB_UNSAVED;
    const struct app_job_killed item = {
        .id = id,
        .was_over = was_over,
        .state = over && !was_over ? LAKE_JOB_KILLED : before.state,
    };
    *is_pending = *is_pending || !over || before.state == LAKE_JOB_UNSAVED;
    return answer_item(out, &item, e);
}

static bool is_named(const struct kill_request *q, int64_t id)
{
    for (size_t i = 0; i < q->ids.n; i++)
        if (q->ids.items[i] == id)
            return true;
    return false;
}

/* The nodes of a gang have no use without each other. */
static int kill_others(struct app *app,
                       const struct kill_request *q,
                       int64_t id,
                       bool *is_pending,
                       struct answer *out,
                       struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job job;
    int64_t first;

    if (app_job_load(app, id, arena, &job, e) < 0)
        return -1;
    app_job_read_details(&job, &details);
    unsigned n = app_job_gang_of(&job, &details, &first);
    for (unsigned i = 0; i < n; i++)
        if (!is_named(q, first + i) && kill_one(app, first + i, q->reason, is_pending, out, e) < 0)
            return -1;
    return 0;
}

static int run_kill(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct kill_request *q = request;
    bool is_pending = false;

    if (app_job_check_ids(app, &q->ids, e) < 0)
        return -1;
    for (size_t i = 0; i < q->ids.n; i++)
        if (kill_one(app, q->ids.items[i], q->reason, &is_pending, out, e) < 0 ||
            kill_others(app, q, q->ids.items[i], &is_pending, out, e) < 0)
            return -1;
    return is_pending ? app_wake_broker(app, e) : 0;
}

const struct operation job_kill_operation = {
    .name = "job.kill",
    .summary = "Kill jobs, with every process they started.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct kill_request, kill_fields),
    .item = RECORD_AT("job_killed", struct app_job_killed, killed_fields),
    .run = run_kill,
};

/* ---- job.wait ---- */

struct wait_request {
    struct field_ints ids;
    double timeout_s;
};

static const char *const outcomes[] = {
    [APP_JOB_OVER] = "over", [APP_JOB_TIMEOUT] = "timeout", [APP_JOB_CANCELLED] = "cancelled"};

/* clang-format off */
static const struct field wait_fields[] = {
    APP_JOB_IDS_FIELD(struct wait_request),
    {"timeout_s", FIELD(DURATION, struct wait_request, timeout_s), .option = "--timeout",
     .value = "TIME", .unit = "s",
     .help = "Longest time to wait, as in 90s or 10m."},
};

static const struct field waited_fields[] = {
    {"outcome", FIELD(ENUM, struct app_job_waited, outcome), FIELD_CHOICES(outcomes),
     .help = "Why the waiting ended."},
    {"exit_code", FIELD(INT, struct app_job_waited, exit_code),
     .help = "Exit code of the first job that failed, else of the first that was killed or lost; 0 "
             "when all finished."},
    {"pending_id", FIELD(INT, struct app_job_waited, pending_id), .help = "Job that is not over."},
    {"pending_state", FIELD(ENUM, struct app_job_waited, pending_state),
     FIELD_CHOICES(lake_job_state_texts), .help = "State of that job."},
};
/* clang-format on */

static int answer_job(const struct lake_job *job, struct answer *out, struct err *e)
{
    AUTO_CLEAR(app_job) struct app_job item = {0};

    app_job_fill(&item, job);
    return answer_item(out, &item, e);
}

static int run_wait(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct wait_request *q = request;
    double until_s = time_monotonic_s() + q->timeout_s; /* NAN = for ever */
    struct app_job_waited waited = {.outcome = APP_JOB_OVER, .pending_id = FIELD_NONE};
    bool has_failed = false;

    if (app_job_check_ids(app, &q->ids, e) < 0 || app_wake_broker(app, e) < 0)
        return -1;
    for (size_t i = 0; i < q->ids.n && waited.outcome == APP_JOB_OVER; i++) {
        AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
        double left_s = isnan(until_s) ? -1 : fmax(until_s - time_monotonic_s(), 0);
        int64_t id = q->ids.items[i];
        struct lake_job job;
        int over = app_job_wait(app, id, left_s, e);
        if (over < 0 || app_job_load(app, id, arena, &job, e) < 0)
            return -1;
        if (over) {
            bool fails = job.state == LAKE_JOB_FAILED && !has_failed;
            if (fails || !waited.exit_code)
                waited.exit_code = app_job_exit_code(&job);
            has_failed = has_failed || fails;
            if (answer_job(&job, out, e) < 0)
                return -1;
            continue;
        }
        waited.outcome = app_cancelled(app) ? APP_JOB_CANCELLED : APP_JOB_TIMEOUT;
        waited.pending_id = id;
        waited.pending_state = job.state;
    }
    return answer_head(out, &waited, e);
}

const struct operation job_wait_operation = {
    .name = "job.wait",
    .summary = "Wait until jobs are over.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct wait_request, wait_fields),
    .answer = RECORD_AT("job_waited", struct app_job_waited, waited_fields),
    .item = &app_job_record,
    .items_name = "jobs",
    .run = run_wait,
};
