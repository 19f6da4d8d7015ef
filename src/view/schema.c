#include "view/schema.h"

#include <assert.h>

enum direction { REQUESTED, ANSWERED };

static json_t *schema_of(const struct record *r, enum direction direction);

static const char *const json_types[] = {
    [FIELD_TEXT] = "string",   [FIELD_INT] = "integer",     [FIELD_COUNT] = "integer",
    [FIELD_REAL] = "number",   [FIELD_MONEY] = "number",    [FIELD_BYTES] = "integer",
    [FIELD_TIME] = "string",   [FIELD_DURATION] = "number", [FIELD_ENUM] = "string",
    [FIELD_BOOL] = "boolean",  [FIELD_LIST] = "array",      [FIELD_INTS] = "array",
    [FIELD_RECORDS] = "array",
};

/* The type, or the type and null. */
static json_t *type_json(const char *type, bool may_be_null)
{
    return may_be_null ? json_pack("[ss]", type, "null") : json_string(type);
}

static json_t *choices_json(const struct field *f, bool may_be_null)
{
    json_t *out = json_array();

    for (size_t i = 1; i < f->n_choices; i++)
        json_array_append_new(out, json_string(f->choices[i]));
    if (may_be_null)
        json_array_append_new(out, json_null());
    return out;
}

static json_t *items_json(const struct field *f, enum direction direction)
{
    if (f->type == FIELD_RECORDS)
        return schema_of(f->record, direction);
    return json_pack("{s:s}", "type", f->type == FIELD_INTS ? "integer" : "string");
}

/* Bounds of values, of the number of characters, or of the number of items. */
static void put_bounds(const struct field *f, json_t *out)
{
    const char *least = "minimum", *most = "maximum";

    if (!(f->least < f->most)) {
        if (f->type == FIELD_COUNT || f->type == FIELD_BYTES)
            json_object_set_new(out, least, json_integer(0));
        return;
    }
    if (f->type == FIELD_TEXT) {
        least = "minLength";
        most = "maxLength";
    } else if (field_is_list(f)) {
        least = "minItems";
        most = "maxItems";
    }
    if (f->least > -1e15)
        json_object_set_new(out, least, json_integer((json_int_t)f->least));
    if (f->most < 1e15)
        json_object_set_new(out, most, json_integer((json_int_t)f->most));
}

static void put_help(const struct field *f, json_t *out)
{
    AUTO_JSON json_t *help = f->unit ? json_sprintf("%s Unit: %s.", f->help ? f->help : "", f->unit)
                                     : json_string(f->help ? f->help : "");

    if (json_string_length(help))
        json_object_set(out, "description", help);
}

static json_t *field_schema(const struct field *f, enum direction direction)
{
    bool is_list = field_is_list(f) || f->type == FIELD_RECORDS;
    bool may_be_null = direction == ANSWERED && !is_list && f->type != FIELD_BOOL;
    json_t *out = f->type == FIELD_RECORD ? schema_of(f->record, direction) : json_object();

    if (f->type == FIELD_JSON || f->json) { /* any value */
        json_object_clear(out);
        put_help(f, out);
        return out;
    }
    if (f->type == FIELD_RECORD && may_be_null)
        out = json_pack("{s:[o, {s:s}]}", "anyOf", out, "type", "null");
    else if (f->type != FIELD_RECORD)
        json_object_set_new(out, "type", type_json(json_types[f->type], may_be_null));
    if (is_list)
        json_object_set_new(out, "items", items_json(f, direction));
    if (f->n_choices)
        json_object_set_new(out, "enum", choices_json(f, may_be_null));
    if (direction == REQUESTED)
        put_bounds(f, out);
    if (direction == REQUESTED && f->preset)
        json_object_set_new(out, "default", field_json_from_text(f, f->preset));
    put_help(f, out);
    return out;
}

static json_t *schema_of(const struct record *r, enum direction direction)
{
    AUTO_JSON json_t *properties = json_object(), *required = json_array();

    if (r->is_bare)
        return field_schema(r->fields, direction);
    for (size_t i = 0; i < r->n_fields; i++) {
        const struct field *f = &r->fields[i];
        if (f->is_column_only)
            continue;
        json_object_set_new(properties, f->name, field_schema(f, direction));
        if (direction == REQUESTED && f->required)
            json_array_append_new(required, json_string(f->name));
    }
    json_t *out = json_pack("{s:s, s:O}", "type", "object", "properties", properties);
    assert(out);
    if (json_array_size(required))
        json_object_set(out, "required", required);
    if (direction == REQUESTED)
        json_object_set_new(out, "additionalProperties", json_false());
    return out;
}

json_t *schema_of_request(const struct record *r)
{
    return schema_of(r, REQUESTED);
}

json_t *schema_of_answer(const struct record *r)
{
    return schema_of(r, ANSWERED);
}
