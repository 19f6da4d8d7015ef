#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/client.h"
#include "cli/interrupt.h"
#include "cli/run_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 100000
/* As often as this a broker that went away is noticed, and another started. */
#define WAKE_LOOKS 10

struct watch {
    struct runs *runs;
    struct lake *lake;
    const char *home;
    int64_t id;
    bool json, terminal;
    struct told {
        enum run_stage_state state;
        int64_t job;
    } * told;       /* of each stage, as last shown */
    size_t lines;   /* on the terminal, to be drawn over */
    unsigned stops; /* asked so far */
    struct broker_client *broker;
    unsigned looks;
};

/* ---- asking it to stop ---- */

static int pass_on_interrupts(struct watch *w, struct err *e)
{
    unsigned seen = interrupt_count();

    if (seen <= w->stops)
        return 0;
    w->stops = seen;
    if (!w->json)
        fprintf(stderr, seen == 1 ? "\nStopping; what is finished stays. Ctrl-C again: at once.\n"
                                  : "\nStopping at once.\n");
    w->lines = 0;
    if (runs_ask_stop(w->runs, w->id, seen, e) < 0)
        return -1;
    return broker_client_wake(w->broker, e);
}

static int keep_broker(struct watch *w, struct err *e)
{
    if (!w->broker)
        w->broker = broker_client_open(w->home, true, e);
    if (!w->broker)
        return -1;
    return w->looks++ % WAKE_LOOKS == 0 ? broker_client_wake(w->broker, e) : 0;
}

/* ---- showing ---- */

static void put_times(FILE *out, const struct run_stage *s, const struct run_job *job)
{
    char took[32], planned[32], cost[32], planned_cost[32];
    double so_far = job->runtime_s;

    if (s->state == STAGE_GOING && job->started_ms)
        so_far = (double)(time_epoch_ms() - job->started_ms) / 1000;
    int64_t spent = s->state == STAGE_GOING
                        ? money_from_usd(so_far / 3600 * s->plan.price_usd_per_hour)
                        : job->cost_microusd;
    fprintf(out, "%s of %s, %s of %s", time_text(so_far, took),
            time_text(s->plan.planned_s, planned), money_text(spent, cost),
            money_text(s->plan.planned_microusd, planned_cost));
}

static void put_stage(FILE *out, const struct run_stage *s, const struct run_job *job)
{
    const char *state = s->state == STAGE_GOING ? job->state : run_stage_state_text(s->state);

    fprintf(out, "  %-20.40s %-10s ", s->plan.name, state);
    switch (s->state) {
    case STAGE_GOING:
    case STAGE_FINISHED:
        put_times(out, s, job);
        if (s->state == STAGE_GOING && s->reason[0])
            fprintf(out, " (%.60s)", s->reason);
        break;
    case STAGE_REUSED:
        fprintf(out, "from job %" PRId64, s->job);
        break;
    case STAGE_FAILED:
    case STAGE_SKIPPED:
    case STAGE_STOPPED:
        /* What the log says stands below the table at the end. */
        fprintf(out, "%.*s", (int)strcspn(s->reason, ";\n"), s->reason);
        break;
    case STAGE_WAITING:
        break;
    }
}

static int draw(struct watch *w, const struct run *r, struct err *e)
{
    if (w->lines)
        fprintf(stderr, "\033[%zuA", w->lines);
    for (size_t i = 0; i < r->n_stages; i++) {
        struct run_job job;
        if (run_job_get(w->lake, r->id, &r->stages[i], &job, e) < 0)
            return -1;
        fprintf(stderr, "\033[2K");
        put_stage(stderr, &r->stages[i], &job);
        fprintf(stderr, "\n");
    }
    w->lines = r->n_stages;
    return 0;
}

static int tell_stage(struct watch *w, const struct run_stage *s, struct err *e)
{
    struct run_job job;

    if (run_job_get(w->lake, w->id, s, &job, e) < 0)
        return -1;
    if (!w->json) {
        /* A line for each change, not for what comes in between. */
        if (s->state == STAGE_GOING)
            printf("  %-20.40s started    job %" PRId64 "%s%.300s", s->plan.name, s->job,
                   s->reason[0] ? ", " : "", s->reason);
        else
            put_stage(stdout, s, &job);
        putchar('\n');
        fflush(stdout);
        return 0;
    }
    AUTO_JSON json_t *event =
        json_pack("{s:s, s:I, s:s, s:s, s:I, s:s, s:o, s:o}", "event", "stage", "run",
                  (json_int_t)w->id, "stage", s->plan.name, "state", run_stage_state_text(s->state),
                  "job", (json_int_t)s->job, "reason", s->reason, "runtime_s",
                  json_number(job.runtime_s), "cost_usd", json_usd(job.cost_microusd));
    AUTO_MEM char *text = json_dumps(event, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    fflush(stdout);
    return 0;
}

static int tell_changes(struct watch *w, const struct run *r, struct err *e)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        struct run_stage s = r->stages[i];
        struct told before = w->told[i];
        /* One that waits to be tried again is told when it is. */
        if ((s.state == before.state && s.job == before.job) || s.state == STAGE_WAITING)
            continue;
        w->told[i] = (struct told){s.state, s.job};
        /* It may have begun and ended between two looks. */
        bool ran = s.job && s.state != STAGE_REUSED && s.state != STAGE_GOING;
        struct run_stage began = s;
        began.state = STAGE_GOING;
        began.reason = "";
        if (before.job != s.job && ran && tell_stage(w, &began, e) < 0)
            return -1;
        if (tell_stage(w, &s, e) < 0)
            return -1;
    }
    return 0;
}

/* 1: it is over. */
static int look(struct watch *w, struct run *r, struct err *e)
{
    if (runs_get(w->runs, w->id, r, e) < 0)
        return -1;
    if (!w->told) {
        w->told = mem_zero(r->n_stages + 1, sizeof *w->told);
        for (size_t i = 0; i < r->n_stages; i++)
            w->told[i].state = STAGE_WAITING;
    }
    int shown = w->terminal ? draw(w, r, e) : tell_changes(w, r, e);
    return shown < 0 ? -1 : r->state != RUN_GOING;
}

static int finish(const struct watch *w, const struct run *r, struct err *e)
{
    if (w->json) {
        AUTO_JSON json_t *bill = run_json(r, w->lake, e);
        AUTO_MEM char *text = bill ? json_dumps(bill, JSON_COMPACT) : NULL;
        if (!text)
            return -1;
        printf("%s\n", text);
    } else if (run_print(r, w->lake, stdout, e) < 0) {
        return -1;
    }
    return r->state == RUN_FINISHED ? 0 : r->state == RUN_STOPPED ? 130 : 1;
}

int run_watch(
    struct runs *runs, struct lake *l, const char *home, int64_t id, bool json, struct err *e)
{
    struct watch w = {.runs = runs,
                      .lake = l,
                      .home = home,
                      .id = id,
                      .json = json,
                      .terminal = !json && isatty(STDERR_FILENO)};
    int result;

    interrupt_watch_two();
    for (;;) {
        AUTO_CLEAR(run) struct run r = {0};
        result = look(&w, &r, e);
        if (result > 0)
            result = finish(&w, &r, e);
        else if (result == 0 && keep_broker(&w, e) == 0 && pass_on_interrupts(&w, e) == 0) {
            usleep(LOOK_US);
            continue;
        } else
            result = -1;
        break;
    }
    free(w.told);
    broker_client_free(w.broker);
    return result;
}
