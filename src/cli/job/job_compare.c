/* job_compare: the commands `job compare` and `run compare`, and the table of jobs side by side
 * that `sweep` prints too. */
#include "app/job/resources.h"
#include "app/job/values.h"
#include "app/run/run.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "draw/chart_overlay.h"
#include "view/table.h"

#include <stdint.h>
#include <string.h>

#define JOBS_MAX 1000
#define PROPERTIES_MAX 500
/* Up to this many jobs are columns; more are rows. */
#define COLUMNS_MAX 3
#define TITLE_BYTES 32
#define BEST_MARK "*"
/* Longer tags are left out. */
#define TAG_BYTES 40

/* What a row or column shows of every job: a member of the job, of its metrics or of its tags. */
struct property {
    const char *name, *key;
    bool is_always_shown; /* even when all jobs have the same */
    enum { NUMBER, SECONDS, DOLLARS, MEGABYTES } unit;
    const char *of;     /* "params", "metrics", "series", "tags"; NULL = the job itself */
    const char *member; /* of a series: "min" or "max"; NULL = the value itself */
};
static const struct property fixed[] = {
    {.name = "state", .key = "state", .is_always_shown = true},
    {.name = "runtime", .key = "runtime_s", .is_always_shown = true, .unit = SECONDS},
    {.name = "cost", .key = "cost_usd", .is_always_shown = true, .unit = DOLLARS},
    {.name = "cpus", .key = "cpus"},
    {.name = "memory", .key = "memory_mb", .unit = MEGABYTES},
    {.name = "machine", .key = "machine"},
    {.name = "input", .key = "input"},
    {.name = "code", .key = "code"},
    {.name = "output", .key = "output"},
};

struct properties {
    struct property items[PROPERTIES_MAX];
    size_t n;
};

void cli_job_compare_add(struct operate_text *t, const void *record)
{
    struct cli_job_compared *c = t->state;

    c->jobs = c->jobs ? c->jobs : json_array();
    json_array_append_new(c->jobs, record_encode(&app_job_compared_record, record));
}

void cli_job_compare_clear(struct operate_text *t)
{
    json_decref(((struct cli_job_compared *)t->state)->jobs);
}

/* ---- properties ---- */

/* NULL = the job has none. */
static const char *value_text(const json_t *job, const struct property *p, char out[static 32])
{
    const json_t *value = json_object_get(p->of ? json_object_get(job, p->of) : job, p->key);
    value = p->member ? json_object_get(value, p->member) : value;
    double number = json_number_value(value);

    if (!value || json_is_null(value))
        return NULL;
    if (json_is_true(value) || json_is_string(value))
        return json_is_true(value) ? "yes" : json_string_value(value);
    switch (p->unit) {
    case SECONDS:
        return time_text(number, out);
    case DOLLARS:
        return money_text(money_from_usd(number), out);
    case MEGABYTES:
        return app_job_memory_text((uint64_t)number, out);
    case NUMBER:
        break;
    }
    snprintf(out, 32, "%.6g", number);
    return out;
}

static bool has_property(const struct properties *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return true;
    return false;
}

static bool is_shown(const json_t *jobs, const struct property *p)
{
    char first_text[32], text[32];
    const char *first = value_text(json_array_get(jobs, 0), p, first_text);
    bool any = first, differs = false;

    for (size_t i = 1; i < json_array_size(jobs); i++) {
        const char *value = value_text(json_array_get(jobs, i), p, text);
        any = any || value;
        differs = differs || !value != !first || (value && strcmp(value, first) != 0);
    }
    return p->is_always_shown ? any : differs;
}

static void add_property(struct properties *all, struct property p)
{
    if (all->n < PROPERTIES_MAX && !has_property(all, p.name))
        all->items[all->n++] = p;
}

/* A property for each parameter, metric or tag that one of the jobs has. */
static void add_keys(struct properties *all, const json_t *jobs, const char *of)
{
    bool is_metric = strcmp(of, "metrics") == 0;
    json_t *job, *value;
    const char *key;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        json_object_foreach(json_object_get(job, of), key, value) add_property(
            all,
            (struct property){.name = key, .key = key, .is_always_shown = is_metric, .of = of});
    }
}

/* Whether the best value of some job's series is not its last. */
static bool has_better(const json_t *jobs, const char *name, const char *member)
{
    json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        const json_t *series = json_object_get(json_object_get(job, "series"), name);
        const json_t *best = json_object_get(series, member);
        if (json_is_number(best) && !json_equal(best, json_object_get(series, "last")))
            return true;
    }
    return false;
}

/* "loss.min" beside "loss", "accuracy.max" beside "accuracy". */
static void add_extremes(struct properties *all, const json_t *jobs, struct arena *arena)
{
    for (size_t i = 0, n = all->n; i < n; i++) {
        const struct property metric = all->items[i];
        if (!metric.of || strcmp(metric.of, "metrics") != 0)
            continue;
        const char *member = app_metric_falls(metric.key) ? "min" : "max";
        if (!has_better(jobs, metric.key, member))
            continue;
        const char *name = arena_printf(arena, "%s.%s", metric.key, member);
        if (name)
            add_property(all, (struct property){.name = name,
                                                .key = metric.key,
                                                .is_always_shown = true,
                                                .of = "series",
                                                .member = member});
    }
}

/* A parameter with the name of a metric is param.NAME, as in find. */
static void tell_apart(struct properties *all, const json_t *jobs, struct arena *arena)
{
    AUTO_MEM struct properties *metrics = mem_zero(1, sizeof *metrics);

    add_keys(metrics, jobs, "metrics");
    for (size_t i = 0; i < all->n; i++) {
        const char *name = all->items[i].of && has_property(metrics, all->items[i].name)
                               ? arena_printf(arena, "param.%s", all->items[i].key)
                               : NULL;
        all->items[i].name = name ? name : all->items[i].name;
    }
}

/* Scripts and other texts too long to compare by eye. */
static bool is_long(const json_t *jobs, const struct property *p)
{
    json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        const char *text = json_string_value(json_object_get(json_object_get(job, p->of), p->key));
        if (text && strlen(text) > TAG_BYTES)
            return true;
    }
    return false;
}

/* Those that say something: results always, what was asked for where it differs. */
static void find_properties(struct properties *all, const json_t *jobs, struct arena *arena)
{
    size_t shown = 0;

    memcpy(all->items, fixed, sizeof fixed);
    all->n = sizeof fixed / sizeof *fixed;
    add_keys(all, jobs, "params");
    for (size_t i = 0; i < all->n; i++)
        if (is_shown(jobs, &all->items[i]))
            all->items[shown++] = all->items[i];
    all->n = shown;
    tell_apart(all, jobs, arena);
    add_keys(all, jobs, "metrics");
    add_extremes(all, jobs, arena);
    shown = all->n;
    add_keys(all, jobs, "tags");
    for (size_t i = shown; i < all->n; i++)
        if (!is_long(jobs, &all->items[i]) && is_shown(jobs, &all->items[i]))
            all->items[shown++] = all->items[i];
    all->n = shown;
}

/* ---- the table ---- */

static bool is_best(const json_t *job, const struct property *p)
{
    json_t *name;
    size_t i;

    if (!p->of || strcmp(p->of, "metrics") != 0)
        return false;
    json_array_foreach(json_object_get(job, "best"), i, name)
    {
        if (strcmp(json_string_value(name), p->key) == 0)
            return true;
    }
    return false;
}

static void put_value(struct table *table, const json_t *job, const struct property *p)
{
    char text[32];
    const char *value = value_text(job, p, text);

    if (value && is_best(job, p))
        table_printf(table, "%s " BEST_MARK, value);
    else
        table_put(table, value ? value : "-");
}

/* "job 7" or "run 3". */
static const char *title_of(const json_t *job, char out[static TITLE_BYTES])
{
    const json_t *id = json_object_get(job, "id");

    snprintf(out, TITLE_BYTES, "%s %" JSON_INTEGER_FORMAT, id ? "job" : "run",
             json_integer_value(id ? id : json_object_get(job, "run")));
    return out;
}

/* titles, which the table borrows, are the caller's. */
static struct table *jobs_as_columns(const json_t *jobs,
                                     const struct properties *all,
                                     char (*titles)[TITLE_BYTES])
{
    struct table_column columns[COLUMNS_MAX + 1] = {{.title = "", .cut_rank = 2, .least = 10}};
    json_t *job;
    size_t k;

    json_array_foreach(jobs, k, job)
    {
        columns[k + 1] =
            (struct table_column){.title = title_of(job, titles[k]), .cut_rank = 1, .least = 12};
    }
    struct table *table = table_new(columns, json_array_size(jobs) + 1);
    for (size_t i = 0; i < all->n; i++) {
        table_put(table, all->items[i].name);
        json_array_foreach(jobs, k, job) put_value(table, job, &all->items[i]);
    }
    return table;
}

static struct table *jobs_as_rows(const json_t *jobs, const struct properties *all)
{
    AUTO_MEM struct table_column *columns = mem_zero(all->n + 1, sizeof *columns);
    char title[TITLE_BYTES];
    json_t *job;
    size_t k;

    const char *kind = json_object_get(json_array_get(jobs, 0), "id") ? "job" : "run";
    columns[0] = (struct table_column){.title = kind, .right = true};
    for (size_t i = 0; i < all->n; i++)
        columns[i + 1] =
            (struct table_column){.title = all->items[i].name, .cut_rank = 1, .least = 16};
    struct table *table = table_new(columns, all->n + 1);
    json_array_foreach(jobs, k, job)
    {
        table_put(table, title_of(job, title) + strlen(kind) + 1);
        for (size_t i = 0; i < all->n; i++)
            put_value(table, job, &all->items[i]);
    }
    return table;
}

static bool any_best(const json_t *jobs)
{
    json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        if (json_array_size(json_object_get(job, "best")))
            return true;
    }
    return false;
}

void cli_job_compare_print(struct operate_text *t)
{
    const json_t *jobs = ((const struct cli_job_compared *)t->state)->jobs;
    AUTO_MEM struct properties *all = mem_zero(1, sizeof *all);
    char titles[COLUMNS_MAX][TITLE_BYTES];

    if (!jobs)
        return;
    find_properties(all, jobs, t->arena);
    AUTO(table)
    struct table *table = json_array_size(jobs) <= COLUMNS_MAX ? jobs_as_columns(jobs, all, titles)
                                                               : jobs_as_rows(jobs, all);
    table_print(table, t->out, 0, &t->look);
    if (any_best(jobs))
        fputs("\n" BEST_MARK " the best last value of a metric\n", t->out);
}

/* ---- the picture ---- */

/* The points of one metric of one job, in the arena. */
static struct chart_series line_of(struct operate_text *t, const json_t *job, const char *name)
{
    const json_t *points = json_object_get(json_object_get(job, "points"), name);
    size_t n = json_array_size(points);
    double *x = arena_alloc(t->arena, n + 1, sizeof *x);
    double *y = arena_alloc(t->arena, n + 1, sizeof *y);

    for (size_t i = 0; x && y && i < n; i++) {
        const json_t *point = json_array_get(points, i);
        x[i] = json_number_value(json_array_get(point, 0));
        y[i] = json_number_value(json_array_get(point, 1));
    }
    return (struct chart_series){name, x, y, x && y ? n : 0};
}

/* A panel for each metric that has points. */
static size_t make_panels(struct operate_text *t,
                          const json_t *jobs,
                          struct chart_overlay_panel panels[static CHART_PANELS_MAX])
{
    AUTO_MEM struct properties *all = mem_zero(1, sizeof *all);
    size_t n_jobs = json_array_size(jobs), n = 0;

    add_keys(all, jobs, "points");
    for (size_t i = 0; i < all->n && n < CHART_PANELS_MAX; i++) {
        struct chart_series *lines = arena_alloc(t->arena, n_jobs, sizeof *lines);
        bool any = false;
        for (size_t k = 0; lines && k < n_jobs; k++) {
            lines[k] = line_of(t, json_array_get(jobs, k), all->items[i].key);
            any = any || lines[k].n;
        }
        if (any)
            panels[n++] = (struct chart_overlay_panel){all->items[i].key, lines};
    }
    return n;
}

static int save_svg(struct operate_text *t, const json_t *jobs, const char *path, struct err *e)
{
    struct chart_overlay_panel panels[CHART_PANELS_MAX];
    size_t n = json_array_size(jobs), n_panels = make_panels(t, jobs, panels);
    AUTO_MEM const char **names = mem_zero(n + 1, sizeof *names);
    AUTO_CLEAR(buf) struct buf svg;
    char title[TITLE_BYTES];

    if (!n_panels)
        return err_set(e, ERR_NOTFOUND, "--svg: none of them has metrics with steps to draw");
    for (size_t i = 0; i < n; i++) {
        names[i] = arena_dup(t->arena, title_of(json_array_get(jobs, i), title));
        if (!names[i])
            return err_set(e, ERR_NOFIT, "the metrics are too many to draw");
    }
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_overlay_svg(&svg, &(struct chart_overlay){"metrics by step", names, n, panels, n_panels});
    return chart_save(path, &svg, e);
}

static void print_compared(struct operate_text *t)
{
    const json_t *jobs = ((const struct cli_job_compared *)t->state)->jobs;
    const char *svg = command_value(t->args, "--svg");

    if (!svg || save_svg(t, jobs, svg, &t->error) == 0)
        cli_job_compare_print(t);
}

/* ---- the commands ---- */

static int run_compare(const struct command_args *args, struct err *e)
{
    const struct command *command = args->command;

    if (command_has(args, "--json") && command_has(args, "--svg"))
        return err_set(e, ERR_USAGE, "--json and --svg exclude each other");
    AUTO_JSON json_t *request = operate_request(args, command->operation, e);
    if (!request)
        return -1;
    if (command_has(args, "--svg"))
        json_object_set_new(request, "points", json_true());
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    return operate_call(args, terminal, command->operation, request, command->text, e);
}

static const struct command_option compare_options[] = {
    {.name = "--svg", .value = "FILE", .help = "Also draw the metrics over each other."},
    {0},
};

static void add_run(struct operate_text *t, const void *record)
{
    struct cli_job_compared *c = t->state;

    c->jobs = c->jobs ? c->jobs : json_array();
    json_array_append_new(c->jobs, record_encode(&app_run_compared_record, record));
}

#define COMPARE_DETAILS                                                                            \
    "Parameters are shown where they differ, metrics with their last value, the best of them "     \
    "marked with " BEST_MARK ". A metric whose name has the word loss, error, err, perplexity, "   \
    "mse, mae, rmse, wer, cer, time, latency or cost is best at its least, any other at its "      \
    "greatest; its best value of all steps has a row of its own where that is not the last."

const struct command command_job_compare = {
    .name = "job compare",
    .operands = "ID ID...",
    .summary = "Show jobs side by side: parameters that differ, metrics, time and cost",
    .details = COMPARE_DETAILS " Tags, input, code and resources are shown where they differ.",
    .example = "tradewind job compare 7 8 9 --svg loss.svg",
    .options = compare_options,
    .operation = &job_compare_operation,
    .text = &(const struct command_text){.item = cli_job_compare_add,
                                         .end = print_compared,
                                         .clear = cli_job_compare_clear,
                                         .state_size = sizeof(struct cli_job_compared)},
    .is_long = true,
    .min_operands = 2,
    .max_operands = JOBS_MAX,
    .run = run_compare,
};

const struct command command_run_compare = {
    .name = "run compare",
    .operands = "RUN RUN...",
    .summary = "Show runs side by side: parameters that differ, metrics, time and cost",
    .details = COMPARE_DETAILS " A name that stages have with different values is STAGE.NAME.",
    .example = "tradewind run compare 3 7 9",
    .options = compare_options,
    .operation = &run_compare_operation,
    .text = &(const struct command_text){.item = add_run,
                                         .end = print_compared,
                                         .clear = cli_job_compare_clear,
                                         .state_size = sizeof(struct cli_job_compared)},
    .is_long = true,
    .min_operands = 2,
    .max_operands = JOBS_MAX,
    .run = run_compare,
};
