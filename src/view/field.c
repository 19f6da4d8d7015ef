#include "view/field.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/money.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "view/record.h"
#include "view/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Integers beyond 2^53 are not exact in the programs that read our JSON. */
#define INT_MAX_EXACT 9007199254740992.0
#define SHOWN 60

const char *field_option(const struct field *f, char out[static 64])
{
    if (f->option)
        return f->option;
    snprintf(out, 64, "--%s", f->name);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return out;
}

const void *field_at(const struct field *f, const void *record)
{
    return (const char *)record + f->offset;
}

/* How a member is stored decides what is none, and most of what is done with it. */
enum storage { POINTER, SIGNED, UNSIGNED, REAL, CHOICE, FLAG, LIST };
static const struct {
    const char *text;
    enum storage storage;
} types[] = {
    [FIELD_TEXT] = {"text", POINTER},     [FIELD_INT] = {"integer", SIGNED},
    [FIELD_COUNT] = {"count", UNSIGNED},  [FIELD_REAL] = {"number", REAL},
    [FIELD_MONEY] = {"dollars", SIGNED},  [FIELD_BYTES] = {"bytes", UNSIGNED},
    [FIELD_TIME] = {"time", SIGNED},      [FIELD_DURATION] = {"seconds", REAL},
    [FIELD_ENUM] = {"choice", CHOICE},    [FIELD_BOOL] = {"boolean", FLAG},
    [FIELD_LIST] = {"list", LIST},        [FIELD_INTS] = {"integers", LIST},
    [FIELD_RECORD] = {"object", POINTER}, [FIELD_RECORDS] = {"objects", LIST},
    [FIELD_JSON] = {"any", POINTER},
};

static enum storage storage_of(const struct field *f)
{
    return types[f->type].storage;
}

bool field_is_number(const struct field *f)
{
    enum storage storage = storage_of(f);

    return storage == UNSIGNED || storage == REAL || (storage == SIGNED && f->type != FIELD_TIME);
}

bool field_is_list(const struct field *f)
{
    return f->type == FIELD_LIST || f->type == FIELD_INTS;
}

const char *field_type_text(enum field_type type)
{
    return types[type].text;
}

/* ---- text -> JSON ---- */

static json_t *number_from_text(const struct field *f, const char *text)
{
    double v;

    if (f->unit && strcmp(f->unit, "USD") == 0 && text[0] == '$')
        text++;
    if (f->prefix && strncmp(text, f->prefix, strlen(f->prefix)) == 0)
        text += strlen(f->prefix);
    if (f->type == FIELD_DURATION &&
        time_parse_duration(text, f->bare_unit_s > 0 ? f->bare_unit_s : 1, &v, NULL) == 0)
        return json_real(v);
    if (!number_parse(text, &v))
        return NULL;
    bool whole = fabs(v) <= INT_MAX_EXACT && v >= floor(v) && v <= floor(v);
    return whole ? json_integer((json_int_t)v) : json_real(v);
}

json_t *field_json_from_text(const struct field *f, const char *text)
{
    json_t *out = NULL;

    if (field_is_number(f) || f->type == FIELD_INTS)
        out = number_from_text(f, text);
    else if (f->type == FIELD_BOOL && (!strcmp(text, "true") || !strcmp(text, "false")))
        out = json_boolean(text[0] == 't');
    else if (f->type == FIELD_JSON || f->type == FIELD_RECORD || f->type == FIELD_RECORDS)
        out = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!out)
        out = f->is_local ? json_string_nocheck(text) : json_string(text);
    return out && field_is_list(f) ? json_pack("[o]", out) : out;
}

/* ---- JSON -> member ---- */

/* A number as an error shows it: durations as people write them. */
static const char *value_text(const struct field *f, double v, char out[static 32])
{
    if (f->type == FIELD_DURATION)
        return time_text(v, out);
    snprintf(out, 32, "%.10g", v);
    return out;
}

/* What a value that does not fit should be, in words; the error quotes the value. */
static int refuse(const struct field *f,
                  const json_t *value,
                  enum field_spelling spelling,
                  const char *wanted,
                  struct err *e)
{
    char option[64], shown[SHOWN + 8] = "", text[32];
    const char *name =
        spelling == FIELD_AS_OPTION && !f->operand ? field_option(f, option) : f->name;

    if (json_is_string(value))
        snprintf(shown, sizeof shown, " \"%.*s\"", SHOWN, json_string_value(value));
    else if (json_is_number(value))
        snprintf(shown, sizeof shown, " %s", value_text(f, json_number_value(value), text));
    return err_set(e, ERR_USAGE, "%s%s: %s", name, shown, wanted);
}

static int check_bounds(const struct field *f,
                        const json_t *value,
                        double v,
                        enum field_spelling spelling,
                        struct err *e)
{
    char wanted[120], least[32], most[32];
    const char *of = f->type == FIELD_TEXT ? " characters" : f->type == FIELD_LIST ? " items" : "";

    if ((f->least == 0 && f->most == 0) || (v >= f->least && v <= f->most)) /* exact on purpose */
        return 0;
    value_text(f, f->least, least);
    if (isinf(f->most))
        snprintf(wanted, sizeof wanted, "must be at least %s%s", least, of);
    else
        snprintf(wanted, sizeof wanted, "must be from %s to %s%s", least,
                 value_text(f, f->most, most), of);
    return refuse(f, value, spelling, wanted, e);
}

static int read_number(const struct field *f,
                       const json_t *value,
                       enum field_spelling spelling,
                       double *out,
                       struct err *e)
{
    bool is_unsigned = f->type == FIELD_BYTES || f->type == FIELD_COUNT;
    bool whole = f->type == FIELD_INT || is_unsigned;
    char number[80];
    const char *wanted = f->prefix                   ? number
                         : whole                     ? "must be a whole number"
                         : f->type == FIELD_DURATION ? "must be a time such as 90s, 10m, 3h or 2d"
                         : f->type == FIELD_MONEY    ? "must be a number of dollars"
                                                     : "must be a number";

    snprintf(number, sizeof number, "must be a number, as in 7 or %s7", f->prefix ? f->prefix : "");
    *out = json_number_value(value);
    if (!json_is_number(value) || !isfinite(*out) ||
        (whole && (*out > floor(*out) || fabs(*out) > INT_MAX_EXACT)) ||
        (is_unsigned && *out < 0) || (f->prefix && !(*out >= f->least && *out <= f->most)))
        return refuse(f, value, spelling, wanted, e);
    if (f->type == FIELD_MONEY && fabs(*out) > MONEY_MAX_USD)
        return refuse(f, value, spelling, "is more than a billion dollars", e);
    return check_bounds(f, value, *out, spelling, e);
}

static void store_number(const struct field *f, double v, void *at)
{
    if (f->type == FIELD_MONEY)
        *(int64_t *)at = money_from_usd(v);
    else if (storage_of(f) == REAL)
        *(double *)at = v;
    else
        *(int64_t *)at = (int64_t)v; /* the same bits as uint64_t: at most 2^53 */
}

static int read_enum(const struct field *f,
                     const json_t *value,
                     enum field_spelling spelling,
                     unsigned *out,
                     struct err *e)
{
    char wanted[300] = "must be ";
    const char *text = json_string_value(value);

    for (unsigned i = 1; i < f->n_choices && text; i++)
        if (strcmp(text, f->choices[i]) == 0) {
            *out = i;
            return 0;
        }
    const char *close = text ? nearest(text, f->choices + 1, f->n_choices - 1) : NULL;
    if (close) {
        snprintf(wanted, sizeof wanted, "did you mean %s?", close);
        return refuse(f, value, spelling, wanted, e);
    }
    for (unsigned i = 1; i < f->n_choices; i++) {
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s%s",
                 i == 1                  ? ""
                 : i + 1 == f->n_choices ? " or "
                                         : ", ",
                 f->choices[i]);
    }
    return refuse(f, value, spelling, wanted, e);
}

/* Room for the items of an array; NULL: value is refused. */
static void *list_room(const struct field *f,
                       const json_t *value,
                       enum field_spelling spelling,
                       size_t size,
                       struct arena *a,
                       struct err *e)
{
    void *items = arena_alloc(a, json_array_size(value), size);
    char wanted[60];

    snprintf(wanted, sizeof wanted, "must be a list of %s",
             f->type == FIELD_LIST ? "texts" : types[f->type].text);
    if (!json_is_array(value))
        refuse(f, value, spelling, wanted, e);
    else if (!items)
        refuse(f, value, spelling, "is too long", e);
    return json_is_array(value) ? items : NULL;
}

static int read_list(const struct field *f,
                     const json_t *value,
                     enum field_spelling spelling,
                     struct field_list *out,
                     struct arena *a,
                     struct err *e)
{
    size_t n = json_array_size(value);
    const char **items = list_room(f, value, spelling, sizeof *items, a, e);

    for (size_t i = 0; items && i < n; i++) {
        items[i] = json_string_value(json_array_get(value, i));
        if (!items[i])
            return refuse(f, json_array_get(value, i), spelling, "must be a list of texts", e);
    }
    *out = (struct field_list){items, n};
    return items ? check_bounds(f, value, (double)n, spelling, e) : -1;
}

static int read_ints(const struct field *f,
                     const json_t *value,
                     enum field_spelling spelling,
                     struct field_ints *out,
                     struct arena *a,
                     struct err *e)
{
    size_t n = json_array_size(value);
    int64_t *items = list_room(f, value, spelling, sizeof *items, a, e);
    struct field one = *f;
    double v;

    one.type = FIELD_INT;
    for (size_t i = 0; items && i < n; i++) {
        if (read_number(&one, json_array_get(value, i), spelling, &v, e) < 0)
            return -1;
        items[i] = (int64_t)v;
    }
    *out = (struct field_ints){items, n};
    return items ? 0 : -1;
}

static int read_records(const struct field *f,
                        const json_t *value,
                        enum field_spelling spelling,
                        struct field_records *out,
                        struct arena *a,
                        struct err *e)
{
    size_t n = json_array_size(value);
    char *items = list_room(f, value, spelling, f->record->size, a, e);

    for (size_t i = 0; items && i < n; i++)
        if (record_decode(f->record, json_array_get(value, i), FIELD_AS_NAME,
                          items + i * f->record->size, a, e) < 0)
            return err_wrap(e, "%s[%zu]", f->name, i);
    *out = (struct field_records){items, n};
    return items ? check_bounds(f, value, (double)n, spelling, e) : -1;
}

static int read_record(const struct field *f,
                       json_t *value,
                       enum field_spelling spelling,
                       const void **out,
                       struct arena *a,
                       struct err *e)
{
    void *item = arena_alloc(a, 1, f->record->size);

    if (!json_is_object(value))
        return refuse(f, value, spelling, "must be an object", e);
    if (!item)
        return refuse(f, value, spelling, "is too long", e);
    if (record_decode(f->record, value, FIELD_AS_NAME, item, a, e) < 0)
        return err_wrap(e, "%s", f->name);
    *out = item;
    return 0;
}

static int read_text(const struct field *f,
                     const json_t *value,
                     enum field_spelling spelling,
                     const char **out,
                     struct err *e)
{
    if (!json_is_string(value))
        return refuse(f, value, spelling, "must be a text", e);
    *out = json_string_value(value);
    return check_bounds(f, value, (double)strlen(*out), spelling, e);
}

/* "2026-11-15" is its first second. */
static int read_time(const struct field *f,
                     const json_t *value,
                     enum field_spelling spelling,
                     int64_t *out,
                     struct err *e)
{
    const char *text = json_string_value(value);
    char whole[32] = "";

    if (text && strlen(text) == strlen("2026-11-15"))
        snprintf(whole, sizeof whole, "%sT00:00:00Z", text);
    *out = text ? time_from_iso(*whole ? whole : text) : 0;
    if (*out == 0)
        return refuse(f, value, spelling, "must be a time such as 2026-11-15T22:36:00Z", e);
    return 0;
}

void field_set_none(const struct field *f, void *record)
{
    void *at = (char *)record + f->offset;

    switch (storage_of(f)) {
    case POINTER:
        *(void **)at = NULL;
        break;
    case SIGNED:
        *(int64_t *)at = FIELD_NONE;
        break;
    case UNSIGNED:
        *(uint64_t *)at = UINT64_MAX;
        break;
    case REAL:
        *(double *)at = (double)NAN;
        break;
    case CHOICE:
        *(unsigned *)at = 0;
        break;
    case FLAG:
        *(bool *)at = false;
        break;
    case LIST:
        *(struct field_list *)at = (struct field_list){0};
        break;
    }
}

int field_read(const struct field *f,
               const json_t *value,
               enum field_spelling spelling,
               void *record,
               struct arena *a,
               struct err *e)
{
    void *at = (char *)record + f->offset;
    json_t *any = (json_t *)(uintptr_t)value; /* which nested records get their presets in */
    double v;

    if (!value || json_is_null(value)) {
        field_set_none(f, record);
        return f->required ? refuse(f, NULL, spelling, "is missing", e) : 0;
    }
    switch (f->type) {
    case FIELD_TEXT:
        return read_text(f, value, spelling, at, e);
    case FIELD_TIME:
        return read_time(f, value, spelling, at, e);
    case FIELD_ENUM:
        return read_enum(f, value, spelling, at, e);
    case FIELD_BOOL:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? 0 : refuse(f, value, spelling, "must be true or false", e);
    case FIELD_LIST:
        return read_list(f, value, spelling, at, a, e);
    case FIELD_INTS:
        return read_ints(f, value, spelling, at, a, e);
    case FIELD_RECORD:
        return read_record(f, any, spelling, at, a, e);
    case FIELD_RECORDS:
        return read_records(f, value, spelling, at, a, e);
    case FIELD_JSON:
        *(json_t **)at = any;
        return 0;
    case FIELD_INT:
    case FIELD_REAL:
    case FIELD_MONEY:
    case FIELD_BYTES:
    case FIELD_COUNT:
    case FIELD_DURATION:
        break;
    }
    if (read_number(f, value, spelling, &v, e) < 0)
        return -1;
    store_number(f, v, at);
    return 0;
}

/* ---- member -> JSON ---- */

bool field_is_none(const struct field *f, const void *record)
{
    const void *at = field_at(f, record);

    switch (storage_of(f)) {
    case POINTER:
        return !*(const void *const *)at;
    case SIGNED:
        return *(const int64_t *)at == FIELD_NONE;
    case UNSIGNED:
        return *(const uint64_t *)at == UINT64_MAX;
    case REAL:
        return !isfinite(*(const double *)at);
    case CHOICE:
        return *(const unsigned *)at == 0;
    case LIST:
        return ((const struct field_list *)at)->n == 0;
    case FLAG:
        break;
    }
    return false;
}

static json_t *list_json(const struct field_list *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(out, json_text(list->items[i]));
    return out;
}

static json_t *records_json(const struct field *f, const struct field_records *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(
            out, record_encode(f->record, (const char *)list->items + i * f->record->size));
    return out;
}

static json_t *ints_json(const struct field_ints *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(out, json_integer(list->items[i]));
    return out;
}

bool field_is_shown(const struct field *f, const void *record)
{
    return !f->is_column_only && !(f->omit_none && field_is_none(f, record)) &&
           !(f->is_absent && f->is_absent(record));
}

json_t *field_json(const struct field *f, const void *record)
{
    const void *at = field_at(f, record);
    char time[32];

    if (f->json)
        return f->json(record);
    if (field_is_none(f, record) && storage_of(f) != LIST)
        return json_null();
    switch (f->type) {
    case FIELD_TEXT:
        return json_text(*(const char *const *)at);
    case FIELD_INT:
    case FIELD_BYTES:
    case FIELD_COUNT:
        return json_integer(*(const int64_t *)at);
    case FIELD_MONEY:
        return json_usd(*(const int64_t *)at);
    case FIELD_REAL:
    case FIELD_DURATION:
        return json_number(*(const double *)at);
    case FIELD_TIME:
        return json_string(time_iso_ms(*(const int64_t *)at, time));
    case FIELD_ENUM:
        assert(*(const unsigned *)at < f->n_choices);
        return json_string(f->choices[*(const unsigned *)at]);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_LIST:
        return list_json(at);
    case FIELD_INTS:
        return ints_json(at);
    case FIELD_RECORD:
        return record_encode(f->record, *(const void *const *)at);
    case FIELD_RECORDS:
        return records_json(f, at);
    case FIELD_JSON:
        break;
    }
    return json_incref(*(json_t *const *)at);
}

/* ---- member -> cell ---- */

static void list_cell(const struct field_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", list->items[i]);
}

static void real_cell(const struct field *f, double v, struct buf *out)
{
    if (f->digits || f->suffix)
        buf_printf(out, "%.*f%s", f->digits, f->scale > 0 ? v * f->scale : v,
                   f->suffix ? f->suffix : "");
    else
        buf_printf(out, "%g", v);
}

void field_cell(const struct field *f, const void *record, struct buf *out)
{
    const void *at = field_at(f, record);
    char text[32];

    if (f->cell) {
        f->cell(record, out);
        return;
    }
    if (field_is_none(f, record)) {
        buf_puts(out, f->none ? f->none : "");
        return;
    }
    switch (f->type) {
    case FIELD_TEXT:
        buf_puts(out, *(const char *const *)at);
        break;
    case FIELD_INT:
        buf_printf(out, "%" PRId64, *(const int64_t *)at);
        break;
    case FIELD_BYTES:
        buf_puts(out, text_bytes(*(const uint64_t *)at, text));
        break;
    case FIELD_COUNT:
        buf_puts(out, text_count((size_t) * (const uint64_t *)at, text));
        break;
    case FIELD_MONEY:
        buf_puts(out, money_text(*(const int64_t *)at, text));
        break;
    case FIELD_REAL:
        real_cell(f, *(const double *)at, out);
        break;
    case FIELD_DURATION:
        buf_puts(out, time_text(*(const double *)at, text));
        break;
    case FIELD_TIME:
        buf_puts(out, time_iso(*(const int64_t *)at, text));
        break;
    case FIELD_ENUM:
        buf_puts(out, f->choices[*(const unsigned *)at]);
        break;
    case FIELD_BOOL:
        buf_puts(out, *(const bool *)at ? "yes" : "no");
        break;
    case FIELD_LIST:
        list_cell(at, out);
        break;
    case FIELD_INTS:
    case FIELD_RECORD:
    case FIELD_RECORDS:
    case FIELD_JSON:
        break; /* tables show scalars; a field that is none needs a cell of its own */
    }
}
