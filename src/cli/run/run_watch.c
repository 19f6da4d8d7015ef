#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/daemon/client.h"
#include "cli/core/interrupt.h"
#include "cli/run/run_crew.h"
#include "cli/run/run_parts.h"
#include "spec/config.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LOOK_US 100000
/* As often as this a broker that went away is noticed, and another started. */
#define WAKE_LOOKS 10
/* The exit code, as a shell has it after Ctrl-C. */
#define INTERRUPTED 130

struct watch {
    struct runs *runs;
    struct lake *lake;
    const char *home;
    int64_t id;
    bool json, terminal;
    bool follows; /* the run is another's: interrupts are ours alone */
    struct config *config;
    struct told {
        enum run_stage_state state;
        int64_t job;
    } * told;              /* of each stage, as last shown */
    struct run_crew *crew; /* of a training cluster; NULL = it is none */
    size_t lines;          /* on the terminal, to be drawn over */
    unsigned stops;        /* asked so far */
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

    if (s->plan.servers && s->plan.planned_s <= 0)
        fprintf(out, "%s, %s", time_text(job->runtime_s, took),
                money_text(job->cost_microusd, cost));
    else
        fprintf(out, "%s of %s, %s of %s", time_text(job->runtime_s, took),
                time_text(s->plan.planned_s, planned), money_text(job->cost_microusd, cost),
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

/* A line that is wider than the terminal would take two, and the way back up would be wrong. */
static void draw_line(const char *text, size_t columns)
{
    AUTO_CLEAR(buf) struct buf cut;

    buf_init(&cut, 4 * columns + 16);
    text_put(&cut, text, columns, text_look_for(stderr).utf8);
    fprintf(stderr, "\033[2K%s\n", buf_str(&cut));
}

static int draw_stage(struct watch *w, const struct run *r, size_t i, size_t columns, struct err *e)
{
    AUTO_MEM char *text = NULL;
    size_t len;
    struct run_job job;

    if (run_job_so_far(w->config, w->lake, r->id, &r->stages[i], &job, e) < 0)
        return -1;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return err_set(e, ERR_IO, "no memory for a line");
    put_stage(out, &r->stages[i], &job);
    fclose(out);
    draw_line(text, columns);
    return 0;
}

/* Where not all stages fit: from the first that is not over. */
static size_t first_shown(const struct run *r, size_t shown)
{
    size_t first = 0;

    while (first < r->n_stages - shown && run_stage_state_final(r->stages[first].state))
        first++;
    return first;
}

/* What the machines of a cluster do, as far as there is room. */
static void draw_crew(struct watch *w, const struct run *r, size_t most, size_t columns)
{
    for (unsigned rank = 0; w->crew && rank < r->stages[0].plan.nodes && w->lines < most; rank++) {
        AUTO_MEM char *text = run_crew_usage(w->crew, &r->stages[0], rank);
        if (!text || r->stages[0].state != STAGE_GOING)
            continue;
        draw_line(text, columns);
        w->lines++;
    }
}

static int draw(struct watch *w, const struct run *r, struct err *e)
{
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    size_t columns = known ? size.ws_col : 80,
           most = known && size.ws_row > 2 ? size.ws_row - 1 : 23;
    size_t shown = r->n_stages <= most ? r->n_stages : most - 1;
    size_t first = first_shown(r, shown);

    if (w->lines)
        fprintf(stderr, "\033[%zuA", w->lines < most ? w->lines : most);
    for (size_t i = first; i < first + shown; i++)
        if (draw_stage(w, r, i, columns, e) < 0)
            return -1;
    w->lines = shown;
    draw_crew(w, r, most, columns);
    if (shown < r->n_stages) {
        AUTO_MEM char *rest = mem_printf("  and %zu more", r->n_stages - shown);
        draw_line(rest, columns);
        w->lines++;
    }
    fprintf(stderr, "\033[J"); /* what a larger terminal had below */
    return 0;
}

static int tell_stage(struct watch *w, const struct run_stage *s, struct err *e)
{
    struct run_job job;

    if (run_job_so_far(w->config, w->lake, w->id, s, &job, e) < 0)
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
    AUTO_MEM char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
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

/* Of a cluster, what its nodes have printed since; on a terminal above what is drawn there. last:
 * they are over. */
static void tell_logs(struct watch *w, const struct run *r, bool last)
{
    const struct run_stage *s = r->n_stages ? &r->stages[0] : NULL;

    if (!s || !s->plan.servers)
        return;
    if (!w->crew)
        w->crew = run_crew_new(w->home);
    if (!run_crew_look(w->crew, s) && !last)
        return;
    if (w->terminal && w->lines && isatty(STDOUT_FILENO)) {
        fprintf(stderr, "\033[%zuA\033[J", w->lines);
        fflush(stderr);
        w->lines = 0;
    }
    run_crew_print(w->crew, s, w->json, last, stdout);
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
    bool over = r->state != RUN_GOING;
    /* That it began stands before what it prints, that it ended behind. */
    if (w->terminal || over)
        tell_logs(w, r, over);
    int shown = w->terminal ? draw(w, r, e) : tell_changes(w, r, e);
    if (!w->terminal && !over)
        tell_logs(w, r, false);
    return shown < 0 ? -1 : over;
}

static int finish(const struct watch *w, const struct run *r, struct err *e)
{
    if (w->json) {
        AUTO_JSON json_t *bill = run_json(r, w->lake, e);
        AUTO_MEM char *text =
            bill ? json_dumps(bill, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
        if (!text)
            return -1;
        printf("%s\n", text);
    } else if (run_print(r, w->lake, stdout, e) < 0) {
        return -1;
    }
    return r->state == RUN_FINISHED ? 0 : r->state == RUN_STOPPED ? INTERRUPTED : 1;
}

static int watch_to_the_end(struct watch *w, struct err *e)
{
    for (;;) {
        AUTO_CLEAR(run) struct run r = {0};
        int result = look(w, &r, e);
        if (result != 0)
            return result < 0 ? -1 : finish(w, &r, e);
        if (w->follows && interrupt_seen())
            return INTERRUPTED;
        if (keep_broker(w, e) < 0 || (!w->follows && pass_on_interrupts(w, e) < 0))
            return -1;
        usleep(LOOK_US);
    }
}

static int watch(struct watch *w, struct err *e)
{
    w->terminal = !w->json && isatty(STDERR_FILENO);
    w->config = config_load(w->home, e);
    int result = w->config ? watch_to_the_end(w, e) : -1;
    config_free(w->config);
    free(w->told);
    run_crew_free(w->crew);
    broker_client_free(w->broker);
    return result;
}

int run_watch(
    struct runs *runs, struct lake *l, const char *home, int64_t id, bool json, struct err *e)
{
    struct watch w = {.runs = runs, .lake = l, .home = home, .id = id, .json = json};

    interrupt_watch_two();
    return watch(&w, e);
}

int run_follow(
    struct runs *runs, struct lake *l, const char *home, int64_t id, bool json, struct err *e)
{
    struct watch w = {
        .runs = runs, .lake = l, .home = home, .id = id, .json = json, .follows = true};

    interrupt_watch();
    return watch(&w, e);
}
