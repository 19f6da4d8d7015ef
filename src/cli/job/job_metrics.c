/* job_metrics: the series that a job printed. */
#include "base/buf.h"
#include "base/mem.h"
#include "broker/learn/usage.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"
#include "draw/chart.h"
#include "view/json_list.h"
#include "view/table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SPARK_COLUMNS 40
/* Steps of one series that are shown; more are for --json. */
#define ROWS_MAX 1000

struct series {
    char *name;
    double *steps, *values;
    size_t n, cap_steps, cap_values;
};

/* All of a job, at most a million points: lake_job_add_metrics takes no more. */
struct all_series {
    struct series *series;
    size_t n, cap;
};

static void all_series_clear(struct all_series *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->series[i].name);
        free(all->series[i].steps);
        free(all->series[i].values);
    }
    free(all->series);
}

/* They come by name. */
static int add_point(void *context, const struct lake_job_metric *m, struct err *e)
{
    struct all_series *all = context;

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (!all->n || strcmp(all->series[all->n - 1].name, m->name) != 0) {
        all->series = mem_room(all->series, all->n, &all->cap, sizeof *all->series);
        all->series[all->n++] = (struct series){.name = mem_dup(m->name)};
    }
    struct series *s = &all->series[all->n - 1];
    s->steps = mem_room(s->steps, s->n, &s->cap_steps, sizeof *s->steps);
    s->values = mem_room(s->values, s->n, &s->cap_values, sizeof *s->values);
    s->steps[s->n] = m->step;
    s->values[s->n++] = m->value;
    return 0;
}

/* ---- of its machine ---- */

static double at(const struct usage_point *p, size_t offset)
{
    double value;

    memcpy(&value, (const char *)p + offset, sizeof value);
    return value;
}

/* Series of the samples of its agent, steps are seconds. */
static int visit_node(const char *home,
                      int64_t id,
                      const char *name,
                      int (*visit)(void *context, const struct lake_job_metric *m, struct err *e),
                      void *context,
                      struct err *e)
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
                                              at(&u.points[k], series[i].offset)};
            /* Where there is no GPU there is no series. */
            if (m.value >= 0 && visit(context, &m, e) < 0)
                return -1;
        }
    }
    return 0;
}

static int visit_all(const struct job_desk *desk,
                     int64_t id,
                     const struct command_args *args,
                     int (*visit)(void *context, const struct lake_job_metric *m, struct err *e),
                     void *context,
                     struct err *e)
{
    const char *name = command_value(args, "--name");

    if (command_has(args, "--node"))
        return visit_node(desk->home, id, name, visit, context, e);
    return lake_job_metrics(desk->lake, id, name, visit, context, e);
}

/* ---- answers ---- */

static int add_json(void *context, const struct lake_job_metric *m, struct err *e)
{
    return json_list_add(context,
                         json_pack("{s:o, s:o, s:o}", "name", json_text(m->name), "step",
                                   json_number(m->step), "value", json_number(m->value)),
                         e);
}

static void print_all(const struct all_series *all)
{
    static const struct table_column columns[] = {
        {.title = "metric", .cut_rank = 1, .least = 12},
        {.title = "points", .right = true},
        {.title = "first", .right = true},
        {.title = "last", .right = true},
        {.title = "least", .right = true},
        {.title = "most", .right = true},
        {.title = "series", .cut_rank = 2, .least = 10},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    char count[32];

    for (size_t i = 0; i < all->n; i++) {
        const struct series *s = &all->series[i];
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
    table_print(table, stdout, 0, TEXT_COLUMNS, &look);
}

static void print_one(const struct series *s)
{
    const struct table_column columns[] = {
        {.title = "step", .right = true},
        {.title = s->name, .right = true},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *table = table_new(columns, 2);
    size_t from = s->n > ROWS_MAX ? s->n - ROWS_MAX : 0;
    char count[32];

    for (size_t i = from; i < s->n; i++) {
        table_printf(table, "%.15g", s->steps[i]);
        table_printf(table, "%.15g", s->values[i]);
    }
    if (from)
        printf("%s earlier steps are not shown; --json prints them.\n", text_count(from, count));
    table_print(table, stdout, 0, TEXT_COLUMNS, &look);
}

static int save_svg(const char *path, int64_t id, const struct all_series *all, struct err *e)
{
    AUTO_MEM struct chart_series *series = mem_zero(all->n + 1, sizeof *series);
    AUTO_MEM char *title = mem_printf("job %lld", (long long)id);
    AUTO_CLEAR(buf) struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    for (size_t i = 0; i < all->n; i++) {
        const struct series *s = &all->series[i];
        series[i] = (struct chart_series){s->name, s->steps, s->values, s->n};
    }
    chart_panels_svg(&svg, &(struct chart_panels){title, series, all->n});
    return chart_save(path, &svg, e);
}

/* ---- the command ---- */

static int none(int64_t id, const char *name, bool node, struct err *e)
{
    if (name)
        return err_set(e, ERR_NOTFOUND,
                       "job %lld has no metric \"%.60s\"; tradewind job metrics %lld lists them",
                       (long long)id, name, (long long)id);
    if (node) {
        printf("job %lld has not run for a second, which is when its machine is first looked at.\n",
               (long long)id);
        return 0;
    }
    printf("job %lld has printed no metrics: lines [TRADEWIND_METRIC] NAME STEP VALUE.\n",
           (long long)id);
    return 0;
}

static int show(const struct job_desk *desk,
                int64_t id,
                const struct command_args *args,
                struct err *e)
{
    const char *name = command_value(args, "--name"), *svg = command_value(args, "--svg");
    AUTO_CLEAR(all_series) struct all_series all = {0};

    if (visit_all(desk, id, args, add_point, &all, e) < 0)
        return -1;
    if (!all.n)
        return none(id, name, command_has(args, "--node"), e);
    if (svg && save_svg(svg, id, &all, e) < 0)
        return -1;
    if (name)
        print_one(&all.series[0]);
    else
        print_all(&all);
    return 0;
}

static int run_metrics(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(job_record) struct job_record r = {0};
    struct json_list list;

    if (command_has(args, "--json") && command_has(args, "--svg"))
        return err_set(e, ERR_USAGE, "--json and --svg exclude each other");
    if (job_open(args->operands[0], &desk, &r, e) < 0)
        return -1;
    interrupt_watch();
    if (!command_has(args, "--json"))
        return show(&desk, r.job.id, args, e);
    json_list_begin(&list, stdout);
    if (visit_all(&desk, r.job.id, args, add_json, &list, e) < 0)
        return -1;
    return json_list_end(&list, e);
}

static const struct command_option options[] = {
    {.name = "--name", .value = "NAME", .help = "One of them, step by step."},
    {.name = "--node",
     .help = "What its machine did instead, second by second: cpus, memory_mb, received_mbps and "
             "sent_mbps of its network, gpu_percent."},
    {.name = "--svg", .value = "FILE", .help = "Also draw them, a panel each."},
    {.name = "--json", .help = "Print an array of name, step and value."},
    {0},
};

const struct command command_job_metrics = {
    .name = "job metrics",
    .operands = "ID",
    .summary = "Show the numbers a job printed step by step",
    .details = "Lines [TRADEWIND_METRIC] NAME STEP VALUE of its log, as they come. A step that is "
               "printed again replaces the earlier value.",
    .example = "tradewind job metrics 7 --svg loss.svg",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_metrics,
};
