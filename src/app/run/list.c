/* list: the operations run.list and run.compare, runs with their parameters and metrics. `tradewind
 * run ls` and `run compare` call them. */
#include "app/job/job.h"
#include "app/run/run.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/cap.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct list_request {
    int64_t limit;
    struct field_list metric;
    const char *sort;
    bool reverse;
    const char *where;
};

/* clang-format off */
#define LIST(TYPE, member) FIELD(TYPE, struct list_request, member)
static const struct field list_fields[] = {
    {"limit", LIST(INT, limit), .help = "List at most N runs.",
     .least = 1, .most = 1e9, .preset = "50", .value = "N"},
    {"metric", LIST(LIST, metric), .value = "NAME",
     .help = "Show the last value of this metric, or a parameter (may be repeated)."},
    {"sort", LIST(TEXT, sort), .value = "NAME",
     .help = "Sort by this metric, the best run first, or by this parameter, the least first."},
    {"reverse", LIST(BOOL, reverse), .help = "Reverse the order of --sort."},
    {"where", LIST(TEXT, where), .value = "EXPRESSION",
     .help = "Only runs whose parameters and metrics meet the conditions, as in 'LR>0.1 loss<0.4' "
             "(see tradewind help find)."},
};
/* clang-format on */

/* ---- one run ---- */

int app_run_values(
    struct app *app, const struct run *r, bool with_points, struct app_values *out, struct err *e)
{
    out->params = json_object();
    out->series = json_object();
    for (size_t i = 0; i < r->n_stages; i++) {
        const struct run_stage *s = &r->stages[i];
        struct err why = {0};
        /* A job that was removed has no values any more. */
        if (s->job && app_values_add(app, s->job, s->plan.name, with_points, out, &why) < 0 &&
            why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
    }
    return 0;
}

int app_run_cost(struct app *app,
                 const struct open_bills *open,
                 const struct run *r,
                 int64_t *microusd_out,
                 struct err *e)
{
    const struct config *c = app_config(app, e);
    struct lake *l = app_lake(app, e);

    if (!c || !l)
        return -1;
    return app_run_is_simulated(r)
               ? app_run_simulated_cost(app, r->id, microusd_out, e)
               : cap_run_spent(c, open, l, r->id, time_epoch_ms(), microusd_out, e);
}

/* ---- its values as find has them ---- */

struct values {
    struct lake_value *items;
    char **keys;
    size_t n, cap, cap_keys;
};

static void values_clear(struct values *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->keys[i]);
    free(v->keys);
    free(v->items);
}

/* Takes the key of item. */
static void push(struct values *v, char *key, struct lake_value item)
{
    v->items = mem_room(v->items, v->n, &v->cap, sizeof *v->items);
    v->keys = mem_room(v->keys, v->n, &v->cap_keys, sizeof *v->keys);
    item.key = v->keys[v->n] = key;
    v->items[v->n++] = item;
}

/* Takes key; what is null is no value. */
static void add(struct values *v, char *key, const json_t *value)
{
    struct lake_value item = {.kind = LAKE_VALUE_NONE};

    if (json_is_string(value)) {
        item.text = json_string_value(value);
        item.kind = meta_value_kind(item.text, &item.number);
    } else if (json_is_number(value)) {
        item.kind = LAKE_VALUE_NUMBER;
        item.number = json_number_value(value);
    }
    if (item.kind != LAKE_VALUE_NONE || json_is_true(value))
        push(v, key, item);
    else
        free(key);
}

/* A metric comes before a parameter of its name: the first of a key counts. */
static void collect(struct values *v, const struct app_values *of)
{
    static const char *const members[][2] = {
        {"last", ""}, {"min", ".min"}, {"max", ".max"}, {"steps", ".steps"}};
    const char *name;
    json_t *value;

    json_object_foreach(of->series, name, value)
    {
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            const json_t *member = json_object_get(value, members[i][0]);
            add(v, mem_printf("%s%s", name, members[i][1]), member);
            add(v, mem_printf("metric.%s%s", name, members[i][1]), member);
        }
    }
    json_object_foreach(of->params, name, value)
    {
        add(v, mem_dup(name), value);
        add(v, mem_printf("param.%s", name), value);
    }
}

static const struct lake_value *value_of(const struct values *v, const char *key)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->items[i].key, key) == 0)
            return &v->items[i];
    return NULL;
}

/* ---- run.list ---- */

struct listed {
    struct run run; /* shown borrows from it */
    struct app_run shown;
    struct values values;
};

struct listing {
    struct app *app;
    const struct list_request *request;
    struct lake_where *where; /* NULL = all */
    struct open_bills open;   /* read once for all runs */
    int64_t *ids;
    size_t n_ids, cap_ids;
    struct listed *runs; /* that are kept to be sorted */
    size_t n, cap;
};

static void listed_clear(struct listed *l)
{
    app_values_clear(&l->shown.values);
    values_clear(&l->values);
    run_clear(&l->run);
}

static void listing_clear(struct listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        listed_clear(&l->runs[i]);
    free(l->runs);
    free(l->ids);
    lake_where_free(l->where);
    open_bills_clear(&l->open);
}

static int note_id(void *context, const struct run *r, struct err *e)
{
    struct listing *l = context;

    (void)e;
    l->ids = mem_room(l->ids, l->n_ids, &l->cap_ids, sizeof *l->ids);
    l->ids[l->n_ids++] = r->id;
    return 0;
}

/* By value: a metric by what is better, a parameter from the least; those without come last, and
 * the newest first among equals. */
static int by_value(const void *a, const void *b, void *context)
{
    const struct list_request *q = context;
    const struct listed *x = a, *y = b;
    const struct lake_value *v = value_of(&x->values, q->sort), *w = value_of(&y->values, q->sort);
    bool is_metric = json_object_get(x->shown.values.series, q->sort) != NULL;
    int order = 0;

    if (!v || !w)
        return !v - !w;
    if (v->kind != w->kind)
        return (v->kind > w->kind) - (v->kind < w->kind);
    if (v->kind == LAKE_VALUE_TEXT)
        order = strcmp(v->text, w->text);
    else
        order = (v->number > w->number) - (v->number < w->number);
    if (is_metric && !app_metric_falls(q->sort))
        order = -order;
    order = q->reverse ? -order : order;
    return order ? order : (x->shown.id < y->shown.id) - (x->shown.id > y->shown.id);
}

static int read_one(struct listing *l, int64_t id, struct listed *out, struct err *e)
{
    if (app_check_cancelled(l->app, e) < 0 || app_run_load(l->app, id, &out->run, e) < 0)
        return -1;
    out->shown = app_run_head(&out->run);
    if (app_run_cost(l->app, &l->open, &out->run, &out->shown.cost_microusd, e) < 0 ||
        app_run_values(l->app, &out->run, false, &out->shown.values, e) < 0)
        return -1;
    app_values_best(&out->shown.values, 1);
    collect(&out->values, &out->shown.values);
    push(&out->values, mem_dup("name"),
         (struct lake_value){.kind = LAKE_VALUE_TEXT, .text = out->shown.name});
    push(&out->values, mem_dup("state"),
         (struct lake_value){.kind = LAKE_VALUE_TEXT,
                             .text = app_run_state_choices[out->shown.state]});
    push(&out->values, mem_dup("cost_usd"),
         (struct lake_value){.kind = LAKE_VALUE_NUMBER,
                             .number = (double)out->shown.cost_microusd / 1e6});
    return 0;
}

/* 1: it is one of those asked for. */
static int read_next(struct listing *l, int64_t id, struct listed *out, struct err *e)
{
    if (read_one(l, id, out, e) < 0)
        return -1;
    return !l->where || lake_where_holds(l->where, out->values.items, out->values.n);
}

/* In order of their numbers: each is answered as it is read. */
static int answer_newest(struct listing *l, struct answer *out, struct err *e)
{
    int64_t left = l->request->limit;

    for (size_t i = 0; i < l->n_ids && left; i++) {
        struct listed one = {0};
        int fits = read_next(l, l->ids[i], &one, e);
        if (fits > 0 && answer_item(out, &one.shown, e) < 0)
            fits = -1;
        listed_clear(&one);
        if (fits < 0)
            return -1;
        left -= fits;
    }
    return 0;
}

static int answer_sorted(struct listing *l, struct answer *out, struct err *e)
{
    for (size_t i = 0; i < l->n_ids; i++) {
        l->runs = mem_room(l->runs, l->n, &l->cap, sizeof *l->runs);
        l->runs[l->n] = (struct listed){0};
        int fits = read_next(l, l->ids[i], &l->runs[l->n], e);
        if (fits <= 0)
            listed_clear(&l->runs[l->n]);
        if (fits < 0)
            return -1;
        l->n += (size_t)fits;
    }
    union {
        const struct list_request *request;
        void *context;
    } by = {l->request};
    qsort_r(l->runs, l->n, sizeof *l->runs, by_value, by.context);
    for (size_t i = 0; i < l->n && (int64_t)i < l->request->limit; i++)
        if (answer_item(out, &l->runs[i].shown, e) < 0)
            return -1;
    return 0;
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    AUTO_CLEAR(listing) struct listing l = {.app = app, .request = q};
    uint64_t limit = q->where || q->sort ? 0 : (uint64_t)q->limit;
    char option[64], sort[64];

    if (q->reverse && !q->sort)
        return err_set(e, ERR_USAGE, "%s needs %s", answer_spell(out, "reverse", option),
                       answer_spell(out, "sort", sort));
    if (q->where && !(l.where = lake_where_new(q->where, e)))
        return err_wrap(e, "%s", answer_spell(out, "where", option));
    struct runs *runs = app_runs(app, e);
    if (!runs || app_run_open_bills(app, &l.open, e) < 0 ||
        runs_list(runs, false, limit, note_id, &l, e) < 0)
        return -1;
    return q->sort ? answer_sorted(&l, out, e) : answer_newest(&l, out, e);
}

const struct operation run_list_operation = {
    .name = "run.list",
    .summary = "List runs of pipelines, the newest first or the best by a metric.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .item = &app_run_listed_record,
    .is_live = true,
    .run = run_list,
};

/* ---- run.compare ---- */

struct compare_request {
    struct field_ints runs;
    bool points;
};

/* clang-format off */
static const struct field compare_fields[] = {
    {"runs", FIELD(INTS, struct compare_request, runs), .required = true, .operand = true,
     .value = "RUN", .least = 1, .most = 9e15, .help = "Numbers of runs."},
    {"points", FIELD(BOOL, struct compare_request, points), .is_remote_only = true,
     .help = "Answer with the points of the metrics, too."},
};
static const struct field compared_fields[] = {
    {"run", FIELD(INT, struct app_run_compared, id), .help = "Number of the run."},
    {"name", FIELD(TEXT, struct app_run_compared, name), .help = "Name of the pipeline."},
    {"state", FIELD(ENUM, struct app_run_compared, state), FIELD_CHOICES(app_run_state_choices),
     .help = "Its state."},
    {"created_at", FIELD(TIME, struct app_run_compared, created_ms), .help = "Time of its start."},
    {"runtime_s", FIELD(DURATION, struct app_run_compared, runtime_s), .unit = "s",
     .help = "Time from its start to its end, or until now."},
    {"cost_usd", FIELD(MONEY, struct app_run_compared, cost_microusd), .unit = "USD",
     .help = "Cost until now."},
    APP_VALUES_FIELDS(struct app_run_compared),
};
/* clang-format on */
const struct record app_run_compared_record =
    RECORD("run_compared", struct app_run_compared, compared_fields);

struct comparison {
    struct run *runs;
    struct app_values *values;
    size_t n;
};

static void comparison_clear(struct comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        run_clear(&c->runs[i]);
        app_values_clear(&c->values[i]);
    }
    free(c->runs);
    free(c->values);
}

static int answer_compared(struct app *app,
                           const struct run *r,
                           const struct app_values *values,
                           const struct open_bills *open,
                           struct answer *out,
                           struct err *e)
{
    int64_t end_ms = r->ended_ms ? r->ended_ms : time_epoch_ms();
    struct app_run_compared item = {.id = r->id,
                                    .name = r->name,
                                    .state = r->state,
                                    .created_ms = r->created_ms,
                                    .runtime_s = (double)(end_ms - r->created_ms) / 1000,
                                    .values = *values};

    return app_run_cost(app, open, r, &item.cost_microusd, e) < 0 ? -1 : answer_item(out, &item, e);
}

static int run_compare(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct compare_request *q = request;
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    AUTO_CLEAR(comparison)
    struct comparison c = {.runs = mem_zero(q->runs.n, sizeof *c.runs),
                           .values = mem_zero(q->runs.n, sizeof *c.values),
                           .n = q->runs.n};

    for (size_t i = 0; i < c.n; i++)
        if (app_run_load(app, q->runs.items[i], &c.runs[i], e) < 0 ||
            app_run_values(app, &c.runs[i], q->points, &c.values[i], e) < 0)
            return -1;
    app_values_best(c.values, c.n);
    if (app_run_open_bills(app, &open, e) < 0)
        return -1;
    for (size_t i = 0; i < c.n; i++)
        if (answer_compared(app, &c.runs[i], &c.values[i], &open, out, e) < 0)
            return -1;
    return 0;
}

const struct operation run_compare_operation = {
    .name = "run.compare",
    .summary = "Compare runs: parameters, metrics and the best of them, time and cost.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct compare_request, compare_fields),
    .item = &app_run_compared_record,
    .is_live = true,
    .run = run_compare,
};
