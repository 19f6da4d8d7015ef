/* stop: the operation that asks a run to stop. `tradewind run stop` calls it. */
#include "app/run/run.h"

#include <inttypes.h>

struct stop_request {
    int64_t run;
    bool now;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"run", FIELD(INT, struct stop_request, run), .help = "Number of the run.", .required = true,
     .least = 1, .most = 9e15, .operand = true, .value = "RUN"},
    {"now", FIELD(BOOL, struct stop_request, now),
     .help = "Stop at once: running jobs get no time to end by themselves."},
};
static const struct record request_record =
    RECORD("run_stop", struct stop_request, request_fields);

static const struct field stopped_fields[] = {
    {"run", FIELD(INT, struct app_run_stopped, run), .help = "Number of the run."},
    {"state", FIELD(TEXT, struct app_run_stopped, state),
     .help = "State before the request: going, finished, failed or stopped."},
    {"was_over", FIELD(BOOL, struct app_run_stopped, was_over),
     .help = "Whether the run was over already."},
    {"now", FIELD(BOOL, struct app_run_stopped, now),
     .help = "Whether running jobs are killed at once."},
};
/* clang-format on */
static const struct record stopped_record =
    RECORD("run_stopped", struct app_run_stopped, stopped_fields);

int app_run_stop(struct app *app, int64_t id, bool at_once, struct err *e)
{
    struct runs *runs = app_runs(app, e);

    return runs && runs_ask_stop(runs, id, at_once ? 2 : 1, e) == 0 ? app_wake_broker(app, e) : -1;
}

static int run_stop(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct stop_request *q = request;
    AUTO_CLEAR(run) struct run r = {0};

    if (app_run_load(app, q->run, &r, e) < 0)
        return -1;
    struct app_run_stopped done = {
        .run = r.id, .state = run_state_text(r.state), .was_over = r.state != RUN_GOING};
    if (done.was_over)
        return answer_head(out, &done, e);
    if (app_run_is_simulated(&r))
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " is simulated: it ends with the command that simulates it",
                       r.id);
    /* A second request does not wait for jobs that ignored the first. */
    done.now = q->now || r.stop_asked;
    return app_run_stop(app, r.id, done.now, e) < 0 ? -1 : answer_head(out, &done, e);
}

const struct operation run_stop_operation = {
    .name = "run.stop",
    .summary = "Stop a run; finished stages keep their outputs.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &request_record,
    .answer = &stopped_record,
    .run = run_stop,
};
