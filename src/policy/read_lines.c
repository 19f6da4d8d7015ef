/* Traces as JSON lines, joined to one object. read.c calls it. */
#include "base/mem.h"
#include "policy/internal.h"

#include <stdlib.h>
#include <string.h>

/* Where we are in the text. */
struct text {
    const char *at, *end;
    size_t line;
};

void policy_lines_clear(struct policy_lines *l)
{
    json_decref(l->prices);
    free(l->job_line);
    free(l->price_line);
    *l = (struct policy_lines){0};
}

static void advance(struct text *t, size_t n)
{
    for (; n > 0; n--)
        t->line += *t->at++ == '\n';
}

static bool skip_space(struct text *t)
{
    while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
        advance(t, 1);
    return t->at < t->end;
}

/* The next value; NULL with the line when it is none. */
static json_t *next_value(struct text *t, struct err *e)
{
    json_error_t wrong;
    json_t *value = json_loadb(t->at, (size_t)(t->end - t->at),
                               JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &wrong);

    if (value)
        advance(t, (size_t)wrong.position);
    else
        err_set(e, ERR_USAGE, "line %zu: %.200s", t->line + (size_t)wrong.line - 1, wrong.text);
    return value;
}

static void note(size_t **lines, size_t n, size_t *cap, size_t line)
{
    *lines = mem_room(*lines, n, cap, sizeof **lines);
    (*lines)[n] = line;
}

/* One more line, which the lists take over. */
static int add_line(json_t *jobs, struct policy_lines *l, json_t *taken, size_t line, struct err *e)
{
    AUTO_JSON json_t *value = taken;

    if (!json_is_object(value))
        return err_set(e, ERR_USAGE, "line %zu: expected an object: a job or prices", line);
    if (json_object_get(value, "types"))
        return err_set(e, ERR_USAGE, "line %zu: only the first line may have types", line);
    bool is_job = !json_object_get(value, "prices");
    if (!is_job && !l->prices)
        l->prices = json_array();
    json_t *list = is_job ? jobs : l->prices;
    if (is_job)
        note(&l->job_line, json_array_size(list), &l->cap_jobs, line);
    else
        note(&l->price_line, json_array_size(list), &l->cap_prices, line);
    json_array_append(list, value);
    return 0;
}

/* What the first line must be when others follow. */
static int check_first(const json_t *root, size_t next_line, struct err *e)
{
    if (!json_is_object(root) || json_object_get(root, "jobs"))
        return err_set(e, ERR_USAGE, "line %zu: end of file expected", next_line);
    if (!json_object_get(root, "types"))
        return err_set(
            e, ERR_USAGE,
            "line 1: the first line must have the types: {\"types\": [{\"name\": \"V100\", "
            "\"price_usd_per_hour\": 0.8, \"quota\": 4}]}");
    return 0;
}

json_t *policy_json_read(const char *bytes, size_t n, struct policy_lines *lines_out, struct err *e)
{
    struct text t = {bytes, bytes + n, 1};

    skip_space(&t);
    AUTO_JSON json_t *root = next_value(&t, e);
    if (!root)
        return NULL;
    if (!skip_space(&t))
        return json_incref(root);
    if (!lines_out) {
        err_set(e, ERR_USAGE, "line %zu: end of file expected", t.line);
        return NULL;
    }
    if (check_first(root, t.line, e) < 0)
        return NULL;
    json_t *jobs = json_array();
    json_object_set_new(root, "jobs", jobs);
    lines_out->used = true;
    do {
        size_t line = t.line;
        json_t *value = next_value(&t, e);
        if (!value || add_line(jobs, lines_out, value, line, e) < 0)
            return NULL;
    } while (skip_space(&t));
    return json_incref(root);
}
