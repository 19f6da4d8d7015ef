#include "view/record.h"

#include "base/buf.h"
#include "base/nearest.h"

#include <assert.h>
#include <string.h>

#define CANDIDATES_MAX 128

const struct record record_none = {.name = "none", .size = sizeof(struct record_none)};

const struct field *record_field(const struct record *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (strcmp(r->fields[i].name, name) == 0)
            return &r->fields[i];
    return NULL;
}

int record_put_text(
    const struct record *r, json_t *object, const char *name, const char *text, struct err *e)
{
    const struct field *f = record_field(r, name);
    json_t *value = f ? field_json_from_text(f, text) : json_string(text);
    json_t *before = json_object_get(object, name);

    if (!value)
        return err_set(e, ERR_USAGE, "%s: the value is not UTF-8", name);
    if (!json_is_array(before) || !json_is_array(value)) {
        json_object_set_new(object, name, value);
        return 0;
    }
    json_array_extend(before, value);
    json_decref(value);
    return 0;
}

static int refuse_unknown(const struct record *r, const char *name, struct err *e)
{
    const char *names[CANDIDATES_MAX];
    size_t n = 0;

    for (; n < r->n_fields && n < CANDIDATES_MAX; n++)
        names[n] = r->fields[n].name;
    const char *close = nearest(name, names, n);
    return err_set(e, ERR_USAGE, "unknown field \"%.60s\"%s%s%s", name,
                   close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
}

int record_decode(const struct record *r,
                  json_t *object,
                  enum field_spelling spelling,
                  void *out,
                  struct arena *a,
                  struct err *e)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return err_set(e, ERR_USAGE, "must be an object");
    json_object_foreach(object, name, value)
    {
        if (!record_field(r, name))
            return refuse_unknown(r, name, e);
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        const struct field *f = &r->fields[i];
        if (f->preset && !json_object_get(object, f->name))
            json_object_set_new(object, f->name, field_json_from_text(f, f->preset));
        if (field_read(f, json_object_get(object, f->name), spelling, out, a, e) < 0)
            return -1;
    }
    return 0;
}

void record_set_none(const struct record *r, void *record)
{
    memset(record, 0, r->size);
    for (size_t i = 0; i < r->n_fields; i++)
        field_set_none(&r->fields[i], record);
}

static bool keep_text(const char **text, struct arena *a)
{
    return !*text || (*text = arena_dup(a, *text)) != NULL;
}

static bool keep_list(struct field_list *list, struct arena *a)
{
    const char **items = arena_alloc(a, list->n, sizeof *items);
    bool fits = items != NULL;

    for (size_t i = 0; i < list->n && fits; i++) {
        items[i] = list->items[i];
        fits = keep_text(&items[i], a);
    }
    list->items = items;
    return fits;
}

int record_keep(const struct record *r, void *record, struct arena *a, struct err *e)
{
    bool fits = true;

    for (size_t i = 0; i < r->n_fields && fits; i++) {
        void *at = (char *)record + r->fields[i].offset;
        if (r->fields[i].type == FIELD_TEXT)
            fits = keep_text(at, a);
        else if (r->fields[i].type == FIELD_LIST)
            fits = keep_list(at, a);
    }
    return fits ? 0 : err_set(e, ERR_NOFIT, "the %s is too large", r->name);
}

json_t *record_encode(const struct record *r, const void *record)
{
    if (r->is_bare)
        return field_json(r->fields, record);
    json_t *out = json_object();
    for (size_t i = 0; i < r->n_fields; i++)
        if (field_is_shown(&r->fields[i], record))
            json_object_set_new(out, r->fields[i].name, field_json(&r->fields[i], record));
    return out;
}

static json_t *choices_json(const struct field *f)
{
    json_t *out = json_array();

    for (size_t i = 1; i < f->n_choices; i++)
        json_array_append_new(out, json_string(f->choices[i]));
    return out;
}

static json_t *describe_field(const struct field *f)
{
    json_t *out = json_pack("{s:s, s:s, s:b, s:s?}", "name", f->name, "type",
                            field_type_text(f->type), "required", f->required, "help", f->help);

    assert(out);
    if (f->unit)
        json_object_set_new(out, "unit", json_string(f->unit));
    if (f->n_choices)
        json_object_set_new(out, "choices", choices_json(f));
    if (f->preset)
        json_object_set_new(out, "preset", json_string(f->preset));
    if (f->is_local)
        json_object_set_new(out, "local", json_true());
    if (f->record)
        json_object_set_new(out, "fields", record_describe(f->record));
    return out;
}

json_t *record_describe(const struct record *r)
{
    json_t *out = json_array();

    for (size_t i = 0; i < r->n_fields; i++)
        if (!r->fields[i].is_column_only)
            json_array_append_new(out, describe_field(&r->fields[i]));
    return out;
}
