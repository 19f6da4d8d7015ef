/* job_compare: the command `job compare`, and the table of jobs side by side that `sweep` prints
 * too. */
#include "app/job/resources.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/table.h"

#include <stdint.h>
#include <string.h>

#define JOBS_MAX 1000
#define PROPERTIES_MAX 500
/* Up to this many jobs are columns; more are rows. */
#define COLUMNS_MAX 3
#define TITLE_BYTES 32

/* What a row or column shows of every job: a member of the job, of its metrics or of its tags. */
struct property {
    const char *name, *key;
    bool is_always_shown; /* even when all jobs have the same */
    enum { NUMBER, SECONDS, DOLLARS, MEGABYTES } unit;
    const char *of; /* "metrics", "tags"; NULL = the job itself */
};
static const struct property fixed[] = {
    {"state", "state", true, .of = NULL},
    {"runtime", "runtime_s", true, SECONDS, NULL},
    {"cost", "cost_usd", true, DOLLARS, NULL},
    {"cpus", "cpus", false, .of = NULL},
    {"memory", "memory_mb", false, MEGABYTES, NULL},
    {"machine", "machine", false, .of = NULL},
    {"input", "input", false, .of = NULL},
    {"code", "code", false, .of = NULL},
    {"output", "output", false, .of = NULL},
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

/* A metric that has the name of a tag stands for both. */
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

/* A property for each metric, or tag, that one of the jobs has. */
static void add_keys(struct properties *all, const json_t *jobs, const char *of)
{
    json_t *job, *value;
    const char *key;
    size_t i;

    json_array_foreach(jobs, i, job)
        json_object_foreach(json_object_get(job, of), key,
                            value) if (all->n < PROPERTIES_MAX && !has_property(all, key))
            all->items[all->n++] =
        (struct property){key, key, .is_always_shown = strcmp(of, "metrics") == 0, .of = of};
}

static void find_properties(struct properties *all, const json_t *jobs)
{
    size_t shown = 0;

    memcpy(all->items, fixed, sizeof fixed);
    all->n = sizeof fixed / sizeof *fixed;
    add_keys(all, jobs, "metrics");
    add_keys(all, jobs, "tags");
    for (size_t i = 0; i < all->n; i++)
        if (is_shown(jobs, &all->items[i]))
            all->items[shown++] = all->items[i];
    all->n = shown;
}

/* ---- the table ---- */

static void put_value(struct table *table, const json_t *job, const struct property *p)
{
    char text[32];
    const char *value = value_text(job, p, text);

    table_put(table, value ? value : "-");
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
        snprintf(titles[k], TITLE_BYTES, "job %" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(job, "id")));
        columns[k + 1] = (struct table_column){.title = titles[k], .cut_rank = 1, .least = 12};
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
    json_t *job;
    size_t k;

    columns[0] = (struct table_column){.title = "job", .right = true};
    for (size_t i = 0; i < all->n; i++)
        columns[i + 1] =
            (struct table_column){.title = all->items[i].name, .cut_rank = 1, .least = 6};
    struct table *table = table_new(columns, all->n + 1);
    json_array_foreach(jobs, k, job)
    {
        table_printf(table, "%" JSON_INTEGER_FORMAT,
                     json_integer_value(json_object_get(job, "id")));
        for (size_t i = 0; i < all->n; i++)
            put_value(table, job, &all->items[i]);
    }
    return table;
}

void cli_job_compare_print(struct operate_text *t)
{
    const json_t *jobs = ((const struct cli_job_compared *)t->state)->jobs;
    AUTO_MEM struct properties *all = mem_zero(1, sizeof *all);
    char titles[COLUMNS_MAX][TITLE_BYTES];

    if (!jobs)
        return;
    find_properties(all, jobs);
    AUTO(table)
    struct table *table = json_array_size(jobs) <= COLUMNS_MAX ? jobs_as_columns(jobs, all, titles)
                                                               : jobs_as_rows(jobs, all);
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

/* ---- the command ---- */

const struct command command_job_compare = {
    .name = "job compare",
    .operands = "ID ID...",
    .summary = "Show jobs side by side: time, cost, differing arguments, metrics, tags",
    .details =
        "Metrics are shown with their last value. Arguments, tags, input, code and resources "
        "are shown where the jobs differ.",
    .example = "tradewind job compare 7 8 9",
    .operation = &job_compare_operation,
    .text = &(const struct command_text){.item = cli_job_compare_add,
                                         .end = cli_job_compare_print,
                                         .clear = cli_job_compare_clear,
                                         .state_size = sizeof(struct cli_job_compared)},
    .is_long = true,
    .min_operands = 2,
    .max_operands = JOBS_MAX,
};
