/* watch: the progress of a run on the terminal, as lines or as JSON events, until the run is over.
 */
#include "app/run/nodes.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/interrupt.h"
#include "cli/run/run.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LOOK_US 100000
/* Every tenth look wakes the broker, or starts another one. */
#define WAKE_LOOKS 10
#define LINE_COLUMNS 4000
#define BILL_MAX_BYTES ((size_t)256 << 20)

struct watch {
    struct app *app;
    int64_t id;
    bool json, terminal;
    bool follows; /* the run continues without the command: interrupts end the watching alone */
    struct told {
        enum run_stage_state state;
        int64_t job;
    } * told;                    /* of each stage, as shown last */
    struct open_bills open;      /* read once per look */
    struct app_run_nodes *nodes; /* of a training cluster; NULL = it is none */
    size_t lines;                /* on the terminal, to be drawn over */
    unsigned stops;              /* asked so far */
    unsigned looks;
};

/* ---- stopping the run ---- */

static int pass_on_interrupts(struct watch *w, struct err *e)
{
    unsigned seen = interrupt_count();

    if (seen <= w->stops)
        return 0;
    w->stops = seen;
    if (!w->json)
        fprintf(stderr,
                seen == 1
                    ? "\nStopping; finished stages keep their outputs. Ctrl-C again: at once.\n"
                    : "\nStopping at once.\n");
    w->lines = 0;
    return app_run_stop(w->app, w->id, seen > 1, e);
}

static int keep_broker(struct watch *w, struct err *e)
{
    return w->looks++ % WAKE_LOOKS == 0 ? app_wake_broker(w->app, e) : 0;
}

/* ---- showing ---- */

static void put_times(FILE *out, const struct run_stage *s, const struct app_run_job *job)
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

static void put_stage(FILE *out, const struct run_stage *s, const struct app_run_job *job)
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
        /* The lines of the log come below the table at the end. */
        fprintf(out, "%.*s", (int)strcspn(s->reason, ";\n"), s->reason);
        break;
    case STAGE_WAITING:
        break;
    }
}

/* Cuts the line to the width of the terminal: a wrapped line would move the cursor. */
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
    struct app_run_job job;

    if (app_run_job_so_far(w->app, &w->open, r->id, &r->stages[i], &job, e) < 0)
        return -1;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return err_set(e, ERR_IO, "no memory for a line");
    put_stage(out, &r->stages[i], &job);
    fclose(out);
    draw_line(text, columns);
    return 0;
}

/* The first stage to show when not all fit: the first that is not over. */
static size_t first_shown(const struct run *r, size_t shown)
{
    size_t first = 0;

    while (first < r->n_stages - shown && run_stage_state_final(r->stages[first].state))
        first++;
    return first;
}

/* "    1 worker  0.90 CPU  12 MB  3.10 Mbit/s in  3.00 out". New string. */
static char *usage_text(const struct run_stage *s, unsigned rank, const struct usage_point *p)
{
    AUTO_MEM char *gpu =
        p->gpu_percent >= 0 ? mem_printf("  %.0f %% GPU", p->gpu_percent) : mem_dup("");

    return mem_printf("    %3u %s  %5.2f CPU  %6.0f MB  %8.2f Mbit/s in  %8.2f out%s", rank,
                      app_run_node_role(s, rank), p->cpus, p->memory_mb, p->received_mbps,
                      p->sent_mbps, gpu);
}

/* The usage of each node of a training cluster, as far as the terminal has lines. */
static void draw_nodes(struct watch *w, const struct run *r, size_t most, size_t columns)
{
    const struct run_stage *s = &r->stages[0];
    struct usage_point p;

    if (!w->nodes || s->state != STAGE_GOING)
        return;
    for (unsigned rank = 0; rank < s->plan.nodes && w->lines < most; rank++) {
        if (!app_run_nodes_usage(w->nodes, s, rank, &p))
            continue;
        AUTO_MEM char *text = usage_text(s, rank, &p);
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
    draw_nodes(w, r, most, columns);
    if (shown < r->n_stages) {
        AUTO_MEM char *rest = mem_printf("  and %zu more", r->n_stages - shown);
        draw_line(rest, columns);
        w->lines++;
    }
    fprintf(stderr, "\033[J"); /* clears lines below, left by a larger terminal */
    return 0;
}

static int tell_stage(struct watch *w, const struct run_stage *s, struct err *e)
{
    struct app_run_job job;

    if (app_run_job_so_far(w->app, &w->open, w->id, s, &job, e) < 0)
        return -1;
    if (!w->json) {
        /* One line per change. */
        if (s->state == STAGE_GOING)
            printf("  %-20.40s started    job %" PRId64 "%s%.300s", s->plan.name, s->job,
                   s->reason[0] ? ", " : "", s->reason);
        else
            put_stage(stdout, s, &job);
        putchar('\n');
        fflush(stdout);
        return 0;
    }
    cli_run_print_event(&app_run_change_record,
                        &(struct app_run_change){.event = "stage",
                                                 .run = w->id,
                                                 .stage = s->plan.name,
                                                 .state = run_stage_state_text(s->state),
                                                 .job = s->job,
                                                 .reason = s->reason,
                                                 .runtime_s = job.runtime_s,
                                                 .cost_microusd = job.cost_microusd});
    fflush(stdout);
    return 0;
}

static int tell_changes(struct watch *w, const struct run *r, struct err *e)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        struct run_stage s = r->stages[i];
        struct told before = w->told[i];
        /* A stage that waits for its next attempt is shown when the attempt starts. */
        if ((s.state == before.state && s.job == before.job) || s.state == STAGE_WAITING)
            continue;
        w->told[i] = (struct told){s.state, s.job};
        /* A stage may start and end between two looks. */
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

/* Prints new lines of the nodes of a training cluster; on a terminal above the stages. last: the
 * nodes are over. */
static void tell_logs(struct watch *w, const struct run *r, bool last)
{
    const struct run_stage *s = r->n_stages ? &r->stages[0] : NULL;
    struct app_run_log line;

    if (!s || !s->plan.servers)
        return;
    if (!w->nodes)
        w->nodes = app_run_nodes_new(app_home(w->app, NULL));
    if (!app_run_nodes_look(w->nodes, s) && !last)
        return;
    if (w->terminal && w->lines && isatty(STDOUT_FILENO)) {
        fprintf(stderr, "\033[%zuA\033[J", w->lines);
        fflush(stderr);
        w->lines = 0;
    }
    while (app_run_nodes_next(w->nodes, s, last, &line)) {
        if (w->json) {
            cli_run_print_event(&app_run_log_record, &line);
            continue;
        }
        printf("[%" PRId64 " %s] ", line.rank, line.role);
        text_print(stdout, line.text, LINE_COLUMNS);
        putchar('\n');
    }
    fflush(stdout);
}

/* 1: it is over. */
static int look(struct watch *w, struct run *r, struct err *e)
{
    open_bills_clear(&w->open);
    if (app_run_load(w->app, w->id, r, e) < 0 || app_run_open_bills(w->app, &w->open, e) < 0)
        return -1;
    if (!w->told) {
        w->told = mem_zero(r->n_stages + 1, sizeof *w->told);
        for (size_t i = 0; i < r->n_stages; i++)
            w->told[i].state = STAGE_WAITING;
    }
    bool over = r->state != RUN_GOING;
    /* The line of its start comes before its logs, the line of its end after them. */
    if (w->terminal || over)
        tell_logs(w, r, over);
    int shown = w->terminal ? draw(w, r, e) : tell_changes(w, r, e);
    if (!w->terminal && !over)
        tell_logs(w, r, false);
    return shown < 0 ? -1 : over;
}

static int finish(const struct watch *w, const struct run *r, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(BILL_MAX_BYTES);
    struct app_run bill;

    if (app_run_read(w->app, r, arena, &bill, e) < 0)
        return -1;
    if (w->json)
        cli_run_print_event(&app_run_record, &bill);
    else if (cli_run_print(&bill, stdout, e) < 0)
        return -1;
    return cli_run_exit_code(r->state);
}

static int watch_to_the_end(struct watch *w, struct err *e)
{
    for (;;) {
        AUTO_CLEAR(run) struct run r = {0};
        int result = look(w, &r, e);
        if (result != 0)
            return result < 0 ? -1 : finish(w, &r, e);
        if (w->follows && interrupt_seen())
            return CLI_RUN_INTERRUPTED;
        if (keep_broker(w, e) < 0 || (!w->follows && pass_on_interrupts(w, e) < 0))
            return -1;
        usleep(LOOK_US);
    }
}

static int watch(struct watch *w, struct err *e)
{
    w->terminal = !w->json && isatty(STDERR_FILENO);
    int result = watch_to_the_end(w, e);
    free(w->told);
    open_bills_clear(&w->open);
    app_run_nodes_free(w->nodes);
    return result;
}

int cli_run_watch(struct app *app, int64_t id, bool json, struct err *e)
{
    struct watch w = {.app = app, .id = id, .json = json};

    interrupt_watch_two();
    return watch(&w, e);
}

int cli_run_follow(struct app *app, int64_t id, bool json, struct err *e)
{
    struct watch w = {.app = app, .id = id, .json = json, .follows = true};

    interrupt_watch();
    return watch(&w, e);
}
