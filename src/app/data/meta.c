/* meta: operations on metadata: tags on files, sets and jobs, and searches. `tradewind tag`,
 * `untag` and `find` call them. */
#include "lake/meta/meta.h"
#include "app/core/lake_open.h"
#include "app/data/data.h"
#include "base/log.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

/* ---- what is known about a thing ---- */

static json_t *meta_json(const void *record)
{
    const struct data_found *f = record;

    if (f->meta)
        return json_incref(f->meta);
    json_t *meta = json_object();
    for (size_t i = 0; i < f->n_values; i++)
        json_object_set_new(meta, f->values[i].key, lake_value_json(&f->values[i]));
    return meta;
}

/* Whole numbers and short ones stay as they were written: 1048576, 0.50. */
static const char *value_text(const struct lake_value *v, char room[static 32])
{
    if (v->kind != LAKE_VALUE_NUMBER || strlen(v->text) <= 8 || !strpbrk(v->text, ".eE"))
        return v->text ? v->text : "";
    snprintf(room, 32, "%.6g", v->number);
    return room;
}

const char *app_data_found_text(const struct data_found *f, const char *key, char room[static 32])
{
    for (size_t i = 0; i < f->n_values; i++)
        if (strcmp(f->values[i].key, key) == 0)
            return value_text(&f->values[i], room);
    /* Of param.LR and metric.loss there is the bare name where that means the same. */
    size_t skip = strncmp(key, "param.", 6) == 0 ? 6 : strncmp(key, "metric.", 7) == 0 ? 7 : 0;
    return skip ? app_data_found_text(f, key + skip, room) : NULL;
}

const char *app_data_found_at(const struct data_found *f, size_t i, const char **text_out)
{
    *text_out = f->values[i].text ? f->values[i].text : "";
    return f->values[i].key;
}

/* clang-format off */
static const struct field found_fields[] = {
    {"ref", FIELD(TEXT, struct data_found, ref), .help = "Reference: /p#2, /p#*, @S:1 or job:7."},
    {"kind", FIELD(TEXT, struct data_found, kind), .help = "One of file, path, set and job."},
    {"meta", FIELD(JSON, struct data_found, meta), .json = meta_json,
     .help = "All keys with their values; a tag without a value is true."},
};
/* clang-format on */
static const struct record found_record = RECORD("found", struct data_found, found_fields);

static int tell(void *context, const struct lake_found *found, struct err *e)
{
    const struct data_found item = {
        .ref = found->ref,
        .kind = found->kind,
        .values = found->values,
        .n_values = found->n_values,
    };

    return answer_listed(context, &item, e);
}

/* ---- tag.get, tag.set, tag.remove ---- */

struct tag_request {
    const char *ref;
    struct field_list tags;
};

/* clang-format off */
#define TAGGED_REF                                                                                 \
    {"ref", FIELD(TEXT, struct tag_request, ref), .required = true, .operand = true,               \
     .help = "A file (/p, /p#2, /p#* for all versions), a set version, or each file below a "      \
             "directory (/dir/, /dir/@S)."}

static const struct field get_fields[] = {TAGGED_REF};
static const struct field set_fields[] = {
    TAGGED_REF,
    {"tags", FIELD(LIST, struct tag_request, tags), .required = true, .operand = true,
     .help = "KEY=VALUE, or KEY for a tag without a value."},
};
static const struct field remove_fields[] = {
    TAGGED_REF,
    {"tags", FIELD(LIST, struct tag_request, tags), .required = true, .operand = true,
     .help = "The keys to remove."},
};
/* clang-format on */

/* Changes the tags by `change` (NULL = not at all) and answers with what is known then. */
static int change_tags(struct app *app,
                       const struct tag_request *q,
                       int (*change)(struct lake *l,
                                     const struct lake_ref *ref,
                                     const char *const *tags,
                                     size_t n,
                                     struct err *e),
                       struct answer *out,
                       struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, q->ref, change ? LAKE_WRITE : LAKE_READ, &ref, e) < 0 ||
        (change && change(l, &ref, q->tags.items, q->tags.n, e) < 0))
        return -1;
    return out->item ? lake_describe(l, &ref, tell, out, e) : 0;
}

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return change_tags(app, request, NULL, out, e);
}

static int run_set(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return change_tags(app, request, lake_tag, out, e);
}

static int run_remove(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return change_tags(app, request, lake_untag, out, e);
}

const struct operation tag_get_operation = {
    .name = "tag.get",
    .summary = "Show the metadata of files and sets.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct tag_request, get_fields),
    .item = &found_record,
    .run = run_get,
};

const struct operation tag_set_operation = {
    .name = "tag.set",
    .summary = "Set tags on files and sets.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct tag_request, set_fields),
    .item = &found_record,
    .run = run_set,
};

const struct operation tag_remove_operation = {
    .name = "tag.remove",
    .summary = "Remove tags from files and sets.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct tag_request, remove_fields),
    .item = &found_record,
    .run = run_remove,
};

/* ---- many tags at once ---- */

static const struct field tagged_fields[] = {
    {"tagged", FIELD(COUNT, struct data_tagged, lines), .help = "How many lines were carried out."},
};
const struct record data_tagged_record = RECORD("tagged", struct data_tagged, tagged_fields);

int app_data_tag_lines(struct app *app,
                       const char *(*next_line)(void *context),
                       void *context,
                       struct data_tagged *out,
                       struct err *e)
{
    struct lake *l = app_lake(app, e);

    return l ? lake_tag_lines(l, next_line, context, &out->lines, e) : -1;
}

/* ---- find ---- */

struct find_request {
    const char *expression;
    const char *max, *min, *sort;
    bool reverse;
    uint64_t limit;
};

/* clang-format off */
static const struct field find_fields[] = {
    {"q", FIELD(TEXT, struct find_request, expression), .operand = true, .preset = "",
     .help = "Conditions on keys, all of which must hold."},
    {"max", FIELD(TEXT, struct find_request, max), .value = "KEY",
     .help = "Only the answer with the greatest KEY, or the first --limit answers."},
    {"min", FIELD(TEXT, struct find_request, min), .value = "KEY",
     .help = "Only the answer with the least KEY, or the first --limit answers."},
    {"sort", FIELD(TEXT, struct find_request, sort), .value = "KEY",
     .help = "Sort by KEY: numbers, times, texts, tags without a value, things without KEY."},
    {"reverse", FIELD(BOOL, struct find_request, reverse),
     .help = "With --sort: the greatest first."},
    {"limit", FIELD(COUNT, struct find_request, limit), .value = "N", .least = 1,
     .most = (double)INFINITY, .help = "At most N answers."},
};

static const struct field keys_fields[] = {
    {"columns", FIELD(LIST, struct data_found_keys, keys), .help = "Keys to show in a table."},
};
/* clang-format on */

struct choosing {
    const char *keys[DATA_FOUND_KEYS_MAX];
    size_t n;
    struct arena *arena;
};

/* The reference says these already. */
static bool is_in_ref(const char *key)
{
    return strcmp(key, "kind") == 0 || strcmp(key, "path") == 0 || strcmp(key, "name") == 0 ||
           strcmp(key, "version") == 0;
}

static int add_key(void *context, const char *key, struct err *e)
{
    struct choosing *c = context;

    (void)e;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->keys[i], key) == 0)
            return 0;
    if (c->n < DATA_FOUND_KEYS_MAX && !is_in_ref(key))
        c->keys[c->n++] = arena_dup(c->arena, key);
    return 0;
}

/* The keys that the expression and the order ask about; time and creator if there are none. */
static int answer_keys(const struct find_request *q, struct answer *out, struct err *e)
{
    struct choosing c = {.arena = out->arena};
    const char *order = q->max ? q->max : q->min ? q->min : q->sort;

    if (order)
        add_key(&c, order, e);
    if (lake_find_keys(q->expression, add_key, &c, e) < 0)
        return -1;
    if (c.n == 0) {
        add_key(&c, "create_time", e);
        add_key(&c, "creator", e);
    }
    return answer_head(out, &(struct data_found_keys){{c.keys, c.n}}, e);
}

static int check_order(const struct find_request *q, const struct answer *out, struct err *e)
{
    char max[64], min[64], sort[64];
    const char *sort_name = answer_spell(out, "sort", sort);

    if (!!q->max + !!q->min + !!q->sort > 1)
        return err_set(e, ERR_USAGE, "only one of %s, %s and %s can order the answers",
                       answer_spell(out, "max", max), answer_spell(out, "min", min), sort_name);
    if (q->reverse && !q->sort)
        return err_set(e, ERR_USAGE, "%s needs %s", answer_spell(out, "reverse", max), sort_name);
    return 0;
}

static int run_find(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct find_request *q = request;
    const struct lake_find_options options = {
        .max = q->max,
        .min = q->min,
        .sort = q->sort,
        .reverse = q->reverse,
        .limit = q->limit == UINT64_MAX ? 0 : q->limit,
    };

    if (check_order(q, out, e) < 0 || answer_keys(q, out, e) < 0)
        return -1;
    struct lake *l = app_lake(app, e);
    double began_s = time_monotonic_s();
    if (!l || lake_find(l, q->expression, &options, tell, out, e) < 0)
        return -1;
    log_debug("lake", "find took %.3f ms after opening", (time_monotonic_s() - began_s) * 1e3);
    return 0;
}

const struct operation find_operation = {
    .name = "lake.find",
    .summary = "Find files, sets and jobs by their metadata.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct find_request, find_fields),
    .answer = RECORD_AT("found_keys", struct data_found_keys, keys_fields),
    .item = &found_record,
    .run = run_find,
};
