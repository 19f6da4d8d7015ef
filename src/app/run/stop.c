/* stop: the operation that asks a run to stop. `tradewind run stop` calls it. */
#include "app/run/run.h"

#include <inttypes.h>

struct stop_request {
    int64_t run;
    bool now;
};

/* clang-format off */
static const struct field request_fields[] = {
    APP_RUN_FIELD(struct stop_request, run),
    {"now", FIELD(BOOL, struct stop_request, now),
     .help = "Stop at once: running jobs get no time to end by themselves."},
};

static const struct field stopped_fields[] = {
    {"run", FIELD(INT, struct app_run_stopped, run), .help = "Number of the run."},
    {"state", FIELD(ENUM, struct app_run_stopped, state), FIELD_CHOICES(app_run_state_choices),
     .help = "State before the request."},
    {"was_over", FIELD(BOOL, struct app_run_stopped, was_over),
     .help = "Whether the run was over already."},
    {"now", FIELD(BOOL, struct app_run_stopped, now),
     .help = "Whether running jobs are killed at once."},
};
/* clang-format on */

static int run_stop(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct stop_request *q = request;
    AUTO_CLEAR(run) struct run r = {0};

    if (app_run_load(app, q->run, &r, e) < 0)
        return -1;
    struct app_run_stopped done = {.run = r.id, .state = r.state, .was_over = r.state != RUN_GOING};
    if (done.was_over)
        return answer_head(out, &done, e);
    if (app_run_is_simulated(&r))
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " is simulated: it ends with the command that simulates it",
                       r.id);
    /* A second request does not wait for jobs that ignored the first. */
    done.now = q->now || r.stop_asked;
    if (runs_ask_stop(app_runs(app, e), r.id, done.now ? 2 : 1, e) < 0 ||
        app_wake_broker(app, e) < 0)
        return -1;
    return answer_head(out, &done, e);
}

const struct operation run_stop_operation = {
    .name = "run.stop",
    .summary = "Stop a run; finished stages keep their outputs.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct stop_request, request_fields),
    .answer = RECORD_AT("run_stopped", struct app_run_stopped, stopped_fields),
    .run = run_stop,
};
