/* job_metrics: the command `job metrics`, series as a table and as a chart. */
#include "base/buf.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "draw/chart.h"
#include "view/table.h"

#include <string.h>

#define SPARK_COLUMNS 40
/* Steps of one series that are shown; --json prints all. */
#define ROWS_MAX 1000

struct series {
    const char *name;
    double *steps, *values;
    size_t n, cap_steps, cap_values;
    struct series *next;
};

/* The lake keeps at most a million points of a job. */
struct all_series {
    struct series *first, *last;
    size_t n;
};

/* ---- collecting ---- */

/* The points come by name. */
static struct series *series_of(struct operate_text *t, const char *name)
{
    struct all_series *all = t->state;

    if (all->last && strcmp(all->last->name, name) == 0)
        return all->last;
    struct series *s = arena_alloc(t->arena, 1, sizeof *s);
    if (!s || !(s->name = arena_dup(t->arena, name)))
        return NULL;
    *(all->last ? &all->last->next : &all->first) = s;
    all->last = s;
    all->n++;
    return s;
}

static void add_point(struct operate_text *t, const void *record)
{
    const struct lake_job_metric *m = record;
    struct series *s = series_of(t, m->name);

    if (s) {
        s->steps = arena_room(t->arena, s->steps, s->n, &s->cap_steps, sizeof *s->steps);
        s->values = arena_room(t->arena, s->values, s->n, &s->cap_values, sizeof *s->values);
    }
    if (!s || !s->steps || !s->values) {
        err_set(&t->error, ERR_NOFIT, "the metrics are too many to show; --json prints them");
        return;
    }
    s->steps[s->n] = m->step;
    s->values[s->n++] = m->value;
}

/* ---- tables and chart ---- */

static void print_all(FILE *out, const struct all_series *all)
{
    static const struct table_column columns[] = {
        {.title = "metric", .cut_rank = 1, .least = 12},
        {.title = "points", .right = true},
        {.title = "first", .right = true},
        {.title = "last", .right = true},
        {.title = "min", .right = true},
        {.title = "max", .right = true},
        {.title = "series", .cut_rank = 2, .least = 10},
    };
    const struct text_look look = text_look_for(out);
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    char count[32];

    for (const struct series *s = all->first; s; s = s->next) {
        AUTO_CLEAR(buf) struct buf spark;
        double least = s->values[0], most = least;
        for (size_t k = 1; k < s->n; k++) {
            least = s->values[k] < least ? s->values[k] : least;
            most = s->values[k] > most ? s->values[k] : most;
        }
        buf_init(&spark, (size_t)8 * SPARK_COLUMNS);
        chart_spark(&spark, s->values, s->n, SPARK_COLUMNS, &look);
        table_put(table, s->name);
        table_put(table, text_count(s->n, count));
        table_printf(table, "%.6g", s->values[0]);
        table_printf(table, "%.6g", s->values[s->n - 1]);
        table_printf(table, "%.6g", least);
        table_printf(table, "%.6g", most);
        table_put(table, buf_str(&spark));
    }
    table_print(table, out, 0, &look);
}

static void print_one(FILE *out, const struct series *s)
{
    const struct table_column columns[] = {
        {.title = "step", .right = true},
        {.title = s->name, .right = true},
    };
    const struct text_look look = text_look_for(out);
    AUTO(table) struct table *table = table_new(columns, 2);
    size_t from = s->n > ROWS_MAX ? s->n - ROWS_MAX : 0;
    char count[32];

    for (size_t i = from; i < s->n; i++) {
        table_printf(table, "%.15g", s->steps[i]);
        table_printf(table, "%.15g", s->values[i]);
    }
    if (from)
        fprintf(out, "%s earlier steps are not shown; --json prints them.\n",
                text_count(from, count));
    table_print(table, out, 0, &look);
}

static int save_svg(const char *path, const char *id, const struct all_series *all, struct err *e)
{
    AUTO_MEM struct chart_series *series = mem_zero(all->n + 1, sizeof *series);
    AUTO_MEM char *title = mem_printf("job %s", id);
    AUTO_CLEAR(buf) struct buf svg;
    size_t n = 0;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    for (const struct series *s = all->first; s; s = s->next)
        series[n++] = (struct chart_series){s->name, s->steps, s->values, s->n};
    chart_panels_svg(&svg, &(struct chart_panels){title, series, n});
    return chart_save(path, &svg, e);
}

/* ---- the command ---- */

/* "7" of "job:7". */
static const char *number_of(const char *id)
{
    return strncmp(id, "job:", 4) == 0 ? id + 4 : id;
}

static void print_none(struct operate_text *t, const char *id)
{
    const char *name = command_value(t->args, "--name");

    if (name)
        err_set(&t->error, ERR_NOTFOUND,
                "job %s has no metric \"%.60s\"; tradewind job metrics %s lists them", id, name,
                id);
    else if (command_has(t->args, "--node"))
        fprintf(t->out, "job %s has not run for a second; the first sample is taken then.\n", id);
    else
        fprintf(t->out,
                "job %s has printed no metrics: lines [TRADEWIND_METRIC] NAME STEP VALUE.\n", id);
}

static void print_series(struct operate_text *t)
{
    const char *id = number_of(t->args->operands[0]), *svg = command_value(t->args, "--svg");
    const struct all_series *all = t->state;

    if (!all->n)
        print_none(t, id);
    else if (svg && save_svg(svg, id, all, &t->error) < 0)
        return;
    else if (command_has(t->args, "--name"))
        print_one(t->out, all->first);
    else
        print_all(t->out, all);
}

static int run_metrics(const struct command_args *args, struct err *e)
{
    if (command_has(args, "--json") && command_has(args, "--svg"))
        return err_set(e, ERR_USAGE, "--json and --svg exclude each other");
    return operate_run(args, e);
}

static const struct command_option options[] = {
    {.name = "--svg", .value = "FILE", .help = "Also draw the metrics, one panel each."},
    {0},
};

const struct command command_job_metrics = {
    .name = "job metrics",
    .operands = "ID",
    .summary = "Show the metrics of a job, step by step",
    .details =
        "A job prints metrics as lines [TRADEWIND_METRIC] NAME STEP VALUE of its log. A step "
        "that is printed again replaces the earlier value.",
    .example = "tradewind job metrics 7 --svg loss.svg",
    .options = options,
    .operation = &job_metrics_operation,
    .text = &(const struct command_text){.item = add_point,
                                         .end = print_series,
                                         .state_size = sizeof(struct all_series)},
    .is_long = true,
    .run = run_metrics,
};
