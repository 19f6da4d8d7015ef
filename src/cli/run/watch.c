/* watch: the progress of a run on the terminal, as lines or as JSON events, until the run is over.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/interrupt.h"
#include "cli/run/run.h"
#include "view/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_COLUMNS 4000
#define LINE_BYTES_MAX 65536

/* ---- one stage ---- */

static void put_times(FILE *out, const struct app_run_progress *p)
{
    char took[32], planned[32], cost[32], planned_cost[32];

    time_text(p->runtime_s, took);
    money_text(p->cost_microusd, cost);
    if (isnan(p->planned_s))
        fprintf(out, "%s, %s", took, cost);
    else
        fprintf(out, "%s (planned %s), %s (planned %s)", took, time_text(p->planned_s, planned),
                cost, money_text(p->planned_microusd, planned_cost));
}

static void put_stage(FILE *out, const struct app_run_progress *p)
{
    fprintf(out, "  %-20.40s %-10s ", p->stage,
            p->state == STAGE_GOING ? p->job_state : app_run_stage_choices[p->state]);
    switch ((enum run_stage_state)p->state) {
    case STAGE_GOING:
    case STAGE_FINISHED:
        put_times(out, p);
        if (p->state == STAGE_GOING && p->reason[0])
            fprintf(out, " (%.60s)", p->reason);
        break;
    case STAGE_REUSED:
        fprintf(out, "from job %" PRId64, p->job);
        break;
    case STAGE_FAILED:
    case STAGE_SKIPPED:
    case STAGE_STOPPED:
        /* The lines of the log come below the table at the end. */
        fprintf(out, "%.*s", (int)strcspn(p->reason, ";\n"), p->reason);
        break;
    case STAGE_WAITING:
        break;
    }
}

/* ---- a terminal, drawn over ---- */

/* Cuts the line to the width of the terminal: a wrapped line would move the cursor. */
static void draw_line(struct cli_run *c, const char *text, size_t columns)
{
    AUTO_CLEAR(buf) struct buf cut;

    buf_init(&cut, 4 * columns + 16);
    text_put(&cut, text, columns, text_look_for(stderr).utf8);
    fprintf(stderr, "\033[2K%s\n", buf_str(&cut));
    c->drawn++;
}

static void draw_stage(struct cli_run *c, const struct app_run_progress *p, size_t columns)
{
    AUTO_MEM char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    put_stage(out, p);
    fclose(out);
    draw_line(c, text, columns);
}

/* The usage of each node of a training cluster, as far as the terminal has lines:
 * "    1 worker  0.90 CPU  12 MB  3.10 Mbit/s in  3.00 out". */
static void draw_nodes(struct cli_run *c,
                       const struct app_run_event *x,
                       size_t most,
                       size_t columns)
{
    const struct app_run_usage *nodes = x->nodes.items;

    for (size_t i = 0; i < x->nodes.n && c->drawn < most; i++) {
        const struct app_run_usage *p = &nodes[i];
        AUTO_MEM char *gpu =
            isnan(p->gpu_percent) ? mem_dup("") : mem_printf("  %.0f %% GPU", p->gpu_percent);
        AUTO_MEM char *text = mem_printf(
            "    %3" PRId64 " %s  %5.2f CPU  %6.0f MB  %8.2f Mbit/s in  %8.2f out%s", p->rank,
            p->role, p->cpus, p->memory_mb, p->received_mbps, p->sent_mbps, gpu);
        draw_line(c, text, columns);
    }
}

/* The first stage to show when not all fit: the first that is not over. */
static size_t first_shown(const struct app_run_event *x, size_t shown)
{
    const struct app_run_progress *stages = x->stages.items;
    size_t first = 0;

    while (first < x->stages.n - shown && run_stage_state_final(stages[first].state))
        first++;
    return first;
}

static void draw(struct cli_run *c, const struct app_run_event *x)
{
    const struct app_run_progress *stages = x->stages.items;
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    size_t columns = known ? size.ws_col : 80,
           most = known && size.ws_row > 2 ? size.ws_row - 1 : 23;
    size_t n = x->stages.n, shown = n <= most ? n : most - 1;
    size_t first = first_shown(x, shown);

    if (c->drawn)
        fprintf(stderr, "\033[%zuA", c->drawn < most ? c->drawn : most);
    c->drawn = 0;
    for (size_t i = first; i < first + shown; i++)
        draw_stage(c, &stages[i], columns);
    draw_nodes(c, x, most, columns);
    if (shown < n) {
        AUTO_MEM char *rest = mem_printf("  and %zu more", n - shown);
        draw_line(c, rest, columns);
    }
    fprintf(stderr, "\033[J"); /* clears lines below, left by a larger terminal */
}

/* ---- events ---- */

/* "ESC [ ... letter" and "ESC ] ... BEL", which colour a line or move the cursor. 0: s begins with
 * neither. */
static size_t escape_length(const char *s)
{
    size_t n = 2;

    if (s[0] != '\033' || (s[1] != '[' && s[1] != ']'))
        return 0;
    if (s[1] == '[')
        n += strspn(s + n, "0123456789:;<=>?!\"#$%&'()*+,-./ ");
    else
        n += strcspn(s + n, "\a\033");
    return n + (s[n] != '\0');
}

/* Other control characters become '?'. */
static void print_safely(FILE *out, const char *text)
{
    AUTO_CLEAR(buf) struct buf plain;

    buf_init(&plain, LINE_BYTES_MAX);
    for (size_t n; *text; text += n) {
        n = escape_length(text);
        if (n == 0)
            buf_add(&plain, text, n = 1);
    }
    text_print(out, buf_str(&plain), LINE_COLUMNS);
}

/* Lines are printed above what is drawn. A terminal gets nothing that could steer it, a pipe what
 * was printed. */
static void print_log(struct cli_run *c, const struct app_run_event *x, FILE *out)
{
    bool is_terminal = isatty(STDOUT_FILENO);

    if (c->drawn && is_terminal) {
        fprintf(stderr, "\033[%zuA\033[J", c->drawn);
        fflush(stderr);
        c->drawn = 0;
    }
    if (!strcmp(x->event, "note"))
        fprintf(out, "  %-20.40s ", x->change.stage);
    else if (x->role)
        fprintf(out, "[%" PRId64 " %s] ", x->rank, x->role);
    else if (x->rank != FIELD_NONE)
        fprintf(out, "%s[%" PRId64 "] | ", x->change.stage, x->rank);
    else
        fprintf(out, "%s | ", x->change.stage);
    if (is_terminal || x->role)
        print_safely(out, x->text);
    else
        fputs(x->text, out);
    putc('\n', out);
    fflush(out);
}

/* One line per change, where nothing is drawn. */
static void print_change(const struct app_run_progress *p, FILE *out)
{
    if (p->state == STAGE_GOING)
        fprintf(out, "  %-20.40s started    job %" PRId64 "%s%.300s", p->stage, p->job,
                p->reason[0] ? ", " : "", p->reason);
    else
        put_stage(out, p);
    putc('\n', out);
}

static void print_event(struct operate_text *t, const void *record)
{
    const struct app_run_event *x = record;
    struct cli_run *c = t->state;

    if (x->stages.n)
        draw(c, x);
    else if (x->text)
        print_log(c, x, t->out);
    else if (!isatty(STDERR_FILENO))
        print_change(&x->change, t->out);
}

static int exit_code(const void *head)
{
    return cli_run_exit_code(((const struct app_run *)head)->state);
}

int cli_run_follow(struct cli_run *c, int64_t run, struct err *e)
{
    static const struct command_text text = {
        .item = print_event, .head = cli_run_print, .exit_code = exit_code};
    bool draws = !c->json && isatty(STDERR_FILENO);
    bool logs = !c->json && !c->quiet;
    AUTO_JSON json_t *request =
        json_pack("{s:I, s:b, s:b}", "run", (json_int_t)run, "progress", draws, "logs", logs);

    return operate_call_with(c->args, c->terminal, &run_follow_operation, request, &text, c, e);
}
