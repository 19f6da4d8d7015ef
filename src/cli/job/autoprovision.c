/* autoprovision: the command `autoprovision`, which runs a profiled command on the size of a
 * machine that is fastest within a cost, or cheapest within a time. */
#include "app/job/profile.h"
#include "app/job/resources.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "draw/chart.h"

#include <math.h>
#include <stdint.h>
#include <unistd.h>

#define ANSWER_BYTES ((size_t)64 << 20)
#define SIZE_BYTES 300

/* ---- texts ---- */

static void put_size(struct buf *b, const struct app_size *size)
{
    const struct app_size_offer *offer = size->offer;
    char memory[32];

    buf_printf(b, "%g vCPU and %s", size->vcpus,
               app_job_memory_text((uint64_t)size->memory_mb, memory));
    if (offer)
        buf_printf(b, " (%s in %s/%s)", offer->instance_type, offer->cloud, offer->region);
}

/* Sums end at a largest amount. */
static const char *cost_text(int64_t microusd, char out[static 64])
{
    char text[32];

    snprintf(out, 64, "%s%s", microusd >= money_from_usd(MONEY_MAX_USD) ? "more than " : "",
             money_text(microusd, text));
    return out;
}

static const char *limit_text(const struct app_autoprovision *a, char out[static 32])
{
    return a->max_cost_microusd != FIELD_NONE ? money_text(a->max_cost_microusd, out)
                                              : time_text(a->max_time_s, out);
}

static void refuse(const struct app_autoprovision *a, struct err *e)
{
    const struct app_size *nearest = a->nearest;
    AUTO_CLEAR(buf) struct buf size;
    char limit[32], time[32], cost[64];

    buf_init(&size, SIZE_BYTES);
    put_size(&size, nearest);
    err_set(e, ERR_NOFIT,
            "no size is within %s: the %s of %lld, %s, takes %s and costs %s; nothing was "
            "submitted",
            limit_text(a, limit), a->max_cost_microusd != FIELD_NONE ? "cheapest" : "fastest",
            (long long)a->considered, buf_str(&size),
            time_text(nearest->prediction.predicted_s, time),
            cost_text(nearest->cost_microusd, cost));
}

static void print_answer(struct operate_text *t, const void *record)
{
    const struct app_autoprovision *a = record;
    const struct app_prediction *got = &a->size.prediction;
    char time[32], low[32], high[32], cost[64];

    if (!a->feasible) {
        refuse(a, &t->error);
        return;
    }
    AUTO_CLEAR(buf) struct buf size;
    buf_init(&size, SIZE_BYTES);
    put_size(&size, &a->size);
    fprintf(t->out, "%s: %s for %s, the best of %lld sizes\n", buf_str(&size),
            time_text(got->predicted_s, time), cost_text(a->size.cost_microusd, cost),
            (long long)a->considered);
    fprintf(t->out, "95 of 100 such runs take between %s and %s\n", time_text(got->low_s, low),
            time_text(got->high_s, high));
    cli_job_print_outside(t->out, got);
    if (a->job != FIELD_NONE)
        fprintf(t->out, "job %lld\ntradewind job logs -f %lld follows its log\n", (long long)a->job,
                (long long)a->job);
    fflush(t->out);
}

static int exit_code(const void *head)
{
    return ((const struct app_autoprovision *)head)->feasible ? 0 : err_exit_code(ERR_NOFIT);
}

/* ---- the chart ---- */

/* The cell of the grid that was chosen; SIZE_MAX = none. */
static size_t chosen_cell(const struct app_autoprovision *a)
{
    const struct app_size_cell *cells = a->grid.items;

    for (size_t i = 0; a->feasible && !a->size.offer && i < a->grid.n; i++)
        if (fabs(cells[i].vcpus - a->size.vcpus) < 1e-9 && cells[i].memory_mb == a->size.memory_mb)
            return i;
    return SIZE_MAX;
}

static int draw(void *context, const void *record, struct err *e)
{
    const struct app_autoprovision *a = record;
    const struct app_size *best = a->feasible ? &a->size : a->nearest;
    const struct app_size_cell *cells = a->grid.items;
    size_t n = a->grid.n, n_memory = 0;
    AUTO_MEM double *vcpus = mem_zero(n + 1, sizeof *vcpus);
    AUTO_MEM double *memory_mb = mem_zero(n + 1, sizeof *memory_mb);
    AUTO_MEM double *time_s = mem_zero(n + 1, sizeof *time_s);
    AUTO_MEM bool *within = mem_zero(n + 1, sizeof *within);
    AUTO_CLEAR(buf) struct buf svg;
    char limit[32], time[32], cost[32];

    /* For each number of vCPUs come all sizes of memory. */
    while (n_memory < n && !(cells[n_memory].vcpus > cells[0].vcpus))
        n_memory++;
    for (size_t i = 0; i < n; i++) {
        vcpus[i / n_memory] = cells[i].vcpus;
        memory_mb[i % n_memory] = (double)cells[i].memory_mb;
        time_s[i] = cells[i].predicted_s;
        within[i] = cells[i].feasible;
    }
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    AUTO_MEM char *title = mem_printf("profile %s: predicted time by size", a->profile);
    AUTO_MEM char *past = mem_printf("past %s", limit_text(a, limit));
    AUTO_MEM char *chosen = mem_printf("%s, %s", time_text(best->prediction.predicted_s, time),
                                       money_text(best->cost_microusd, cost));
    const struct chart_grid grid = {
        .title = title,
        .limit = past,
        .vcpus = vcpus,
        .memory_mb = memory_mb,
        .n_vcpus = n_memory ? n / n_memory : 0,
        .n_memory = n_memory,
        .time_s = time_s,
        .within = within,
        .chosen = chosen_cell(a),
        .chosen_text = chosen,
    };
    chart_grid_svg(&svg, &grid);
    return chart_save(context, &svg, e);
}

/* Draws before anything is submitted: a file that cannot be written leaves no job behind. */
static int draw_grid(struct operate_terminal *terminal,
                     const json_t *request,
                     const char *path,
                     struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    AUTO_JSON json_t *with_grid = json_deep_copy(request);
    struct answer answer = {.arena = arena, .head = draw, .context = (void *)(uintptr_t)path};

    json_object_set_new(with_grid, "grid", json_true());
    json_object_del(with_grid, "yes");
    return operation_call(operate_app(terminal), &autoprovision_plan_operation, with_grid,
                          FIELD_AS_OPTION, &answer, e);
}

/* ---- the question ---- */

struct question {
    const struct command_args *args;
    bool is_far;
};

/* Shows a size that is far outside the runs. */
static int show_far(void *context, const void *record, struct err *e)
{
    const struct app_autoprovision *a = record;
    struct question *q = context;
    struct operate_text text = {.out = stderr, .args = q->args};

    (void)e;
    q->is_far = a->feasible && a->size.prediction.outside > APP_AUTOPROVISION_OUTSIDE_MAX;
    if (q->is_far)
        print_answer(&text, record);
    return 0;
}

/* On a terminal: 1 = go on, 0 = declined, -1: e. Elsewhere the operation refuses by itself. */
static int ask_far(const struct command_args *args,
                   struct operate_terminal *terminal,
                   json_t *request,
                   struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    struct question q = {.args = args};
    struct answer answer = {.arena = arena, .head = show_far, .context = &q};

    if (command_has(args, "--yes") || command_has(args, "--json") || !isatty(STDIN_FILENO))
        return 1;
    if (operation_call(operate_app(terminal), &autoprovision_plan_operation, request,
                       FIELD_AS_OPTION, &answer, e) < 0)
        return -1;
    if (!q.is_far)
        return 1;
    int go_on = operate_confirm("That is far outside the runs. Submit the job?", "", e);
    if (go_on > 0)
        json_object_set_new(request, "yes", json_true());
    return go_on;
}

/* ---- the command ---- */

static int run_autoprovision(const struct command_args *args, struct err *e)
{
    const struct operation *op = command_has(args, "--dry-run") ? &autoprovision_plan_operation
                                                                : &autoprovision_submit_operation;
    const char *svg = command_value(args, "--svg");
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    if (svg && draw_grid(terminal, request, svg, e) < 0)
        return -1;
    int go_on = op == &autoprovision_submit_operation ? ask_far(args, terminal, request, e) : 1;
    return go_on > 0 ? operate_call(args, terminal, op, request, args->command->text, e) : go_on;
}

static const struct command_option options[] = {
    {.name = "--dry-run", .help = "Only show the size; submit no job."},
    {.name = "--svg", .value = "FILE", .help = "Draw the grid of sizes, coloured by time."},
    {0},
};

const struct command command_autoprovision = {
    .name = "autoprovision",
    .operands = "NAME [KEY=VALUE...]",
    .summary = "Find the machine size that fits a cost or a time, and run there",
    .details =
        "The profile predicts every size from 0.5 to 8 vCPU in steps of 0.5 with 512 to 8192 MB in "
        "steps of 256, and the unit prices of the configuration price it. The best size within the "
        "limit gets the job: the command of the profile with these values, on the input and code "
        "of its last run. Of equal sizes the cheaper, then the smaller is chosen.\n"
        "\n"
        "A size or a value that is more than 4 times outside the runs of the profile is shown "
        "first, "
        "and the command asks; without a terminal it needs --yes.\n"
        "\n"
        "When no size is within the limit, the exit code is 5, and the command names the nearest.",
    .example = "tradewind autoprovision mnist --values epoch=20 --max-cost 0.05",
    .options = options,
    .operation = &autoprovision_submit_operation,
    .text = &(const struct command_text){.head = print_answer, .exit_code = exit_code},
    .run = run_autoprovision,
};
