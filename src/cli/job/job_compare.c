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

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 1000
#define PROPERTIES_MAX 500
/* Up to this many jobs are columns; more are rows. */
#define COLUMNS_MAX 3

/* Properties that every job has, in the order of the table. The first ALWAYS_SHOWN are shown even
 * when all jobs have the same. */
enum {
    PROPERTY_STATE,
    PROPERTY_RUNTIME,
    PROPERTY_COST,
    ALWAYS_SHOWN,
    PROPERTY_CPUS = ALWAYS_SHOWN,
    PROPERTY_MEMORY,
    PROPERTY_MACHINE,
    PROPERTY_INPUT,
    PROPERTY_CODE,
    PROPERTY_OUTPUT,
    N_FIXED
};

/* One property of all jobs. */
struct property {
    const char *name;
    const char **values; /* in the order of the jobs; NULL = this job has none */
    bool only_differing; /* not shown when all jobs have the same */
};

/* One job. */
struct row {
    int64_t id;
    const char *fixed[N_FIXED]; /* NULL = none */
    /* Metrics, then tags: */
    const char **keys, **values;
    size_t n_metrics, n;
    struct row *next;
};

struct comparison {
    struct row *first, *last;
    size_t n;
    struct property *properties;
    size_t n_properties;
};
_Static_assert(sizeof(struct comparison) <= CLI_JOB_COMPARE_STATE, "the state of the printers");

/* ---- collecting ---- */

static const char *value_text(struct arena *a, const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    if (json_is_true(value))
        return "yes";
    if (json_is_string(value))
        return arena_dup(a, json_string_value(value));
    return arena_printf(a, "%.6g", json_number_value(value));
}

static const char *copy(struct arena *a, const char *text)
{
    return text ? arena_dup(a, text) : NULL;
}

static void take_fixed(struct row *row, const struct app_job *job, struct arena *a)
{
    char text[32];

    row->fixed[PROPERTY_STATE] = lake_job_state_texts[job->state];
    if (!isnan(job->runtime_s))
        row->fixed[PROPERTY_RUNTIME] = arena_dup(a, time_text(job->runtime_s, text));
    if (job->cost_basis)
        row->fixed[PROPERTY_COST] = arena_dup(a, money_text(job->cost_microusd, text));
    row->fixed[PROPERTY_CPUS] = arena_printf(a, "%g", job->cpus);
    row->fixed[PROPERTY_MEMORY] = arena_dup(a, app_job_memory_text((uint64_t)job->memory_mb, text));
    row->fixed[PROPERTY_MACHINE] = copy(a, job->machine);
    row->fixed[PROPERTY_INPUT] = copy(a, job->input);
    row->fixed[PROPERTY_CODE] = copy(a, job->code);
    row->fixed[PROPERTY_OUTPUT] = copy(a, job->output);
}

static void take_keys(struct row *row, const json_t *object, struct arena *a)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        row->keys[row->n] = arena_dup(a, key);
        row->values[row->n++] = value_text(a, value);
    }
}

static void refuse(struct operate_text *t)
{
    err_set(&t->error, ERR_NOFIT, "the jobs are too many to compare; --json prints them");
}

void cli_job_compare_add(struct operate_text *t, const void *record)
{
    const struct app_job_compared *item = record;
    struct comparison *c = t->state;
    struct row *row = arena_alloc(t->arena, 1, sizeof *row);
    size_t n = json_object_size(item->metrics) + json_object_size(item->tags);

    if (!row || !(row->keys = arena_alloc(t->arena, n + 1, sizeof *row->keys)) ||
        !(row->values = arena_alloc(t->arena, n + 1, sizeof *row->values))) {
        refuse(t);
        return;
    }
    row->id = item->job.id;
    take_fixed(row, &item->job, t->arena);
    take_keys(row, item->metrics, t->arena);
    row->n_metrics = row->n;
    take_keys(row, item->tags, t->arena);
    *(c->last ? &c->last->next : &c->first) = row;
    c->last = row;
    c->n++;
}

/* ---- properties ---- */

static const char *row_value(const struct row *row, const char *key, bool metrics)
{
    for (size_t i = metrics ? 0 : row->n_metrics; i < (metrics ? row->n_metrics : row->n); i++)
        if (strcmp(row->keys[i], key) == 0)
            return row->values[i];
    return NULL;
}

static struct property *add_property(struct comparison *c,
                                     const char *name,
                                     bool only_differing,
                                     struct arena *a)
{
    struct property *p = &c->properties[c->n_properties++];

    *p = (struct property){.name = name, .only_differing = only_differing};
    p->values = arena_alloc(a, c->n, sizeof *p->values);
    return p;
}

static void add_fixed(struct comparison *c, struct arena *a)
{
    static const char *const names[N_FIXED] = {"state",   "runtime", "cost", "cpus",  "memory",
                                               "machine", "input",   "code", "output"};

    for (size_t i = 0; i < N_FIXED; i++) {
        struct property *p = add_property(c, names[i], i >= ALWAYS_SHOWN, a);
        size_t k = 0;
        for (const struct row *row = c->first; row && p->values; row = row->next)
            p->values[k++] = row->fixed[i];
    }
}

/* A metric that has the name of a tag stands for both. */
static bool has_property(const struct comparison *c, const char *name)
{
    for (size_t i = 0; i < c->n_properties; i++)
        if (strcmp(c->properties[i].name, name) == 0)
            return true;
    return false;
}

/* A property for each metric, or tag, that one of the jobs has. */
static void add_keys(struct comparison *c, bool metrics, struct arena *a)
{
    for (const struct row *row = c->first; row; row = row->next)
        for (size_t i = metrics ? 0 : row->n_metrics; i < (metrics ? row->n_metrics : row->n);
             i++) {
            if (has_property(c, row->keys[i]) || c->n_properties >= PROPERTIES_MAX)
                continue;
            struct property *p = add_property(c, row->keys[i], !metrics, a);
            size_t k = 0;
            for (const struct row *other = c->first; other && p->values; other = other->next)
                p->values[k++] = row_value(other, row->keys[i], metrics);
        }
}

static bool is_shown(const struct comparison *c, const struct property *p)
{
    bool any = false, differs = false;

    for (size_t k = 0; k < c->n && p->values; k++) {
        any = any || p->values[k];
        differs = differs || !p->values[k] != !p->values[0] ||
                  (p->values[k] && strcmp(p->values[k], p->values[0]) != 0);
    }
    return p->only_differing ? differs : any;
}

/* ---- the table ---- */

static void print_as_columns(FILE *out, const struct comparison *c)
{
    struct table_column columns[COLUMNS_MAX + 1] = {{.title = "", .cut_rank = 2, .least = 10}};
    const struct text_look look = text_look_for(out);
    char titles[COLUMNS_MAX][32];
    size_t n = 0;

    for (const struct row *row = c->first; row; row = row->next, n++) {
        snprintf(titles[n], sizeof titles[n], "job %lld", (long long)row->id);
        columns[n + 1] = (struct table_column){.title = titles[n], .cut_rank = 1, .least = 12};
    }
    AUTO(table) struct table *table = table_new(columns, c->n + 1);
    for (size_t i = 0; i < c->n_properties; i++) {
        const struct property *p = &c->properties[i];
        if (!is_shown(c, p))
            continue;
        table_put(table, p->name);
        for (size_t k = 0; k < c->n; k++)
            table_put(table, p->values[k] ? p->values[k] : "-");
    }
    table_print(table, out, 0, TEXT_COLUMNS, &look);
}

static void print_as_rows(FILE *out, const struct comparison *c)
{
    AUTO_MEM struct table_column *columns = mem_zero(c->n_properties + 1, sizeof *columns);
    AUTO_MEM const struct property **shown = mem_zero(c->n_properties + 1, sizeof *shown);
    const struct text_look look = text_look_for(out);
    size_t n = 0, k = 0;

    columns[0] = (struct table_column){.title = "job", .right = true};
    for (size_t i = 0; i < c->n_properties; i++)
        if (is_shown(c, &c->properties[i])) {
            shown[n++] = &c->properties[i];
            columns[n] =
                (struct table_column){.title = c->properties[i].name, .cut_rank = 1, .least = 6};
        }
    AUTO(table) struct table *table = table_new(columns, n + 1);
    for (const struct row *row = c->first; row; row = row->next, k++) {
        table_printf(table, "%lld", (long long)row->id);
        for (size_t i = 0; i < n; i++)
            table_put(table, shown[i]->values[k] ? shown[i]->values[k] : "-");
    }
    table_print(table, out, 0, TEXT_COLUMNS, &look);
}

void cli_job_compare_print(struct operate_text *t)
{
    struct comparison *c = t->state;

    if (!c->n)
        return;
    c->properties = arena_alloc(t->arena, PROPERTIES_MAX, sizeof *c->properties);
    if (!c->properties) {
        refuse(t);
        return;
    }
    add_fixed(c, t->arena);
    add_keys(c, true, t->arena);
    add_keys(c, false, t->arena);
    if (c->n <= COLUMNS_MAX)
        print_as_columns(t->out, c);
    else
        print_as_rows(t->out, c);
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
                                         .state_size = CLI_JOB_COMPARE_STATE},
    .is_long = true,
    .min_operands = 2,
    .max_operands = JOBS_MAX,
};
