/* job_compare: jobs beside one another. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/machine/bill.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"
#include "view/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 1000
#define PROPERTIES_MAX 500
/* Up to so many stand beside one another; more below one another. */
#define BESIDE_MAX 3

/* One property of all jobs. */
struct property {
    char *name;
    char **values;       /* NULL = this job has none */
    bool only_differing; /* not worth a line when all have the same */
};

struct comparison {
    const struct job_desk *desk;
    size_t n; /* jobs */
    struct job_record *records;
    json_t *tags;    /* an object each */
    json_t *metrics; /* the same: last values */
    struct property *properties;
    size_t n_properties, cap_properties;
};

static void comparison_clear(struct comparison *c)
{
    for (size_t i = 0; i < c->n_properties; i++) {
        for (size_t k = 0; k < c->n; k++)
            free(c->properties[i].values[k]);
        free(c->properties[i].values);
        free(c->properties[i].name);
    }
    free(c->properties);
    for (size_t i = 0; c->records && i < c->n; i++)
        job_record_clear(&c->records[i]);
    free(c->records);
    json_decref(c->tags);
    json_decref(c->metrics);
}

/* ---- collecting ---- */

/* Points come by step, so the last one stays. */
static int note_metric(void *context, const struct lake_job_metric *m, struct err *e)
{
    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    return json_object_set_new(context, m->name, json_number(m->value));
}

static int load(struct comparison *c, const int64_t *ids, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    struct lake *l = c->desk->lake;

    if (open_bills_read(c->desk->home, time_epoch_ms(), &bills, e) < 0)
        return -1;
    c->records = mem_zero(c->n + 1, sizeof *c->records);
    c->tags = json_array();
    c->metrics = json_array();
    for (size_t i = 0; i < c->n; i++) {
        json_t *last = json_object();
        json_array_append_new(c->metrics, last);
        if (job_record_load(c->desk->app, ids[i], &c->records[i], e) < 0 ||
            lake_job_metrics(l, ids[i], NULL, note_metric, last, e) < 0)
            return -1;
        bill_show(&bills, &c->records[i].job);
        json_t *tags = job_tags_json(l, ids[i], e);
        if (!tags)
            return -1;
        json_array_append_new(c->tags, tags);
    }
    return 0;
}

/* ---- properties ---- */

static struct property *add_property(struct comparison *c, const char *name, bool only_differing)
{
    c->properties =
        mem_room(c->properties, c->n_properties, &c->cap_properties, sizeof *c->properties);
    struct property *p = &c->properties[c->n_properties++];
    *p = (struct property){.name = mem_dup(name), .only_differing = only_differing};
    p->values = mem_zero(c->n, sizeof *p->values);
    return p;
}

static char *dup_if(const char *text)
{
    return text && *text ? mem_dup(text) : NULL;
}

static char *runtime_value(const struct lake_job *job)
{
    double s = app_job_runtime_s(job);
    char text[32];

    return s < 0 ? NULL : mem_dup(time_text(s, text));
}

static char *cost_value(const struct lake_job *job)
{
    char text[32];

    return *job->cost_basis ? mem_dup(money_text(job->cost_microusd, text)) : NULL;
}

static void add_fixed(struct comparison *c)
{
    struct property p[9];
    static const char *const names[9] = {"state",   "runtime", "cost", "cpus",  "memory",
                                         "machine", "input",   "code", "output"};

    for (size_t i = 0; i < 9; i++)
        p[i] = *add_property(c, names[i], i >= 3);
    for (size_t k = 0; k < c->n; k++) {
        const struct lake_job *job = &c->records[k].job;
        char memory[32];
        p[0].values[k] = mem_dup(lake_job_state_text(job->state));
        p[1].values[k] = runtime_value(job);
        p[2].values[k] = cost_value(job);
        p[3].values[k] = mem_printf("%g", job->asked.cpus);
        p[4].values[k] = mem_dup(app_job_memory_text(job->asked.memory_mb, memory));
        p[5].values[k] = dup_if(job->machine);
        p[6].values[k] = dup_if(job->asked.input);
        p[7].values[k] = dup_if(job->asked.code);
        p[8].values[k] = dup_if(job->output_set);
    }
}

static char *value_text(const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    if (json_is_true(value))
        return mem_dup("yes");
    if (json_is_string(value))
        return mem_dup(json_string_value(value));
    return mem_printf("%.6g", json_number_value(value));
}

/* A tag that has the name of a metric is told by the metric. */
static bool has_property(const struct comparison *c, const char *name)
{
    for (size_t i = 0; i < c->n_properties; i++)
        if (strcmp(c->properties[i].name, name) == 0)
            return true;
    return false;
}

/* A property for each key that one of the objects has. */
static void add_keys(struct comparison *c, const json_t *objects, bool only_differing)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(objects, i), key, value)
        {
            if (has_property(c, key) || c->n_properties >= PROPERTIES_MAX)
                continue;
            struct property *p = add_property(c, key, only_differing);
            for (size_t k = 0; k < c->n; k++)
                p->values[k] = value_text(json_object_get(json_array_get(objects, k), key));
        }
    }
}

static bool is_shown(const struct comparison *c, const struct property *p)
{
    bool any = false, differs = false;

    for (size_t k = 0; k < c->n; k++) {
        any = any || p->values[k];
        differs = differs || !p->values[k] != !p->values[0] ||
                  (p->values[k] && strcmp(p->values[k], p->values[0]) != 0);
    }
    return p->only_differing ? differs : any;
}

/* ---- for people ---- */

static void print_beside(const struct comparison *c)
{
    struct table_column columns[BESIDE_MAX + 1] = {{.title = "", .cut_rank = 2, .least = 10}};
    const struct text_look look = text_look_for(stdout);
    char titles[BESIDE_MAX][32];

    for (size_t k = 0; k < c->n; k++) {
        snprintf(titles[k], sizeof titles[k], "job %lld", (long long)c->records[k].job.id);
        columns[k + 1] = (struct table_column){.title = titles[k], .cut_rank = 1, .least = 12};
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
    table_print(table, stdout, 0, TEXT_COLUMNS, &look);
}

static void print_below(const struct comparison *c)
{
    AUTO_MEM struct table_column *columns = mem_zero(c->n_properties + 1, sizeof *columns);
    const struct text_look look = text_look_for(stdout);
    size_t n = 0;

    columns[n++] = (struct table_column){.title = "job", .right = true};
    for (size_t i = 0; i < c->n_properties; i++)
        if (is_shown(c, &c->properties[i]))
            columns[n++] =
                (struct table_column){.title = c->properties[i].name, .cut_rank = 1, .least = 6};
    AUTO(table) struct table *table = table_new(columns, n);
    for (size_t k = 0; k < c->n; k++) {
        table_printf(table, "%lld", (long long)c->records[k].job.id);
        for (size_t i = 0; i < c->n_properties; i++)
            if (is_shown(c, &c->properties[i]))
                table_put(table, c->properties[i].values[k] ? c->properties[i].values[k] : "-");
    }
    table_print(table, stdout, 0, TEXT_COLUMNS, &look);
}

/* ---- the command ---- */

static json_t *as_json(const struct comparison *c)
{
    json_t *all = json_array();

    for (size_t k = 0; k < c->n; k++) {
        json_t *o = job_json(&c->records[k].job, &c->records[k].details);
        json_object_set(o, "tags", json_array_get(c->tags, k));
        json_object_set(o, "metrics", json_array_get(c->metrics, k));
        json_array_append_new(all, o);
    }
    return all;
}

json_t *job_compare_json(const struct job_desk *desk, const int64_t *ids, size_t n, struct err *e)
{
    AUTO_CLEAR(comparison) struct comparison c = {.desk = desk, .n = n};

    return load(&c, ids, e) < 0 ? NULL : as_json(&c);
}

int job_compare_print(
    const struct job_desk *desk, const int64_t *ids, size_t n, bool json, struct err *e)
{
    AUTO_CLEAR(comparison) struct comparison c = {.desk = desk, .n = n};

    if (load(&c, ids, e) < 0)
        return -1;
    if (json) {
        AUTO_JSON json_t *all = as_json(&c);
        return json_write(stdout, all, e);
    }
    add_fixed(&c);
    add_keys(&c, c.metrics, false);
    add_keys(&c, c.tags, true);
    if (c.n <= BESIDE_MAX)
        print_beside(&c);
    else
        print_below(&c);
    return 0;
}

static int run_compare(const struct command_args *args, struct err *e)
{
    AUTO_MEM int64_t *ids = job_ids_parse(args, e);
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};

    if (!ids || job_desk_open(&desk, e) < 0)
        return -1;
    interrupt_watch();
    return job_compare_print(&desk, ids, args->n_operands, command_has(args, "--json"), e);
}

static const struct command_option options[] = {
    {.name = "--json",
     .help = "Print an array of what job show prints, without transitions and with metrics (the "
             "last value of each)."},
    {0},
};

const struct command command_job_compare = {
    .name = "job compare",
    .operands = "ID ID...",
    .summary = "Show jobs side by side: time, cost, differing arguments, metrics, tags",
    .details = "Of each metric the last value is shown; of arguments, tags, input, code and "
               "resources only what is not the same for all.",
    .example = "tradewind job compare 7 8 9",
    .options = options,
    .min_operands = 2,
    .max_operands = JOBS_MAX,
    .run = run_compare,
};
