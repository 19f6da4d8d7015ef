#include "app/core/operation.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

int answer_head(struct answer *a, const void *record, struct err *e)
{
    return a->head ? a->head(a->context, record, e) : 0;
}

int answer_item(struct answer *a, const void *record, struct err *e)
{
    return a->item ? a->item(a->context, record, e) : 0;
}

int answer_listed(struct answer *a, const void *record, struct err *e)
{
    return app_check_cancelled(a->app, e) < 0 ? -1 : answer_item(a, record, e);
}

/* part, or NULL with the reason. */
static void *check_room(void *part, struct err *e)
{
    if (!part)
        err_set(e, ERR_NOFIT, "the answer is too large");
    return part;
}

void *answer_alloc(const struct answer *a, size_t n, size_t size, struct err *e)
{
    return check_room(arena_alloc(a->arena, n, size), e);
}

char *answer_text(const struct answer *a, struct err *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = arena_vprintf(a->arena, fmt, args);
    va_end(args);
    return check_room(text, e);
}

int answer_push(const struct answer *a,
                struct field_records *list,
                const void *record,
                size_t size,
                struct err *e)
{
    bool is_full = (list->n & (list->n - 1)) == 0; /* the room is 0, 1, 2, 4, 8 ... records */

    if (is_full) {
        void *items = answer_alloc(a, list->n ? 2 * list->n : 1, size, e);
        if (!items)
            return -1;
        if (list->n)
            memcpy(items, list->items, list->n * size);
        list->items = items;
    }
    /* The list is only read through items; the room behind them is the answer's own. */
    memcpy((char *)(uintptr_t)list->items + list->n++ * size, record, size);
    return 0;
}

/* The request without dry_run, which *is_dry_out has. New string. */
static char *request_key(const struct answer *a, const void *request, bool *is_dry_out)
{
    AUTO_JSON json_t *object = record_encode(a->request, request);
    AUTO_MEM char *text = NULL;

    *is_dry_out = json_is_true(json_object_get(object, "dry_run"));
    json_object_del(object, "dry_run");
    text = json_dumps(object, JSON_COMPACT);
    return mem_printf("%p %s", (const void *)a->request, text ? text : "");
}

void answer_leave(const struct answer *a,
                  struct app *app,
                  const void *request,
                  void *thing,
                  void (*release)(void *thing))
{
    bool is_dry;
    AUTO_MEM char *key = request_key(a, request, &is_dry);

    app_leave(app, key, thing, release);
}

void *answer_take(const struct answer *a, struct app *app, const void *request)
{
    bool is_dry;
    AUTO_MEM char *key = request_key(a, request, &is_dry);

    return is_dry ? NULL : app_take(app, key);
}

const char *answer_spell(const struct answer *a, const char *field, char out[static 64])
{
    const struct field *f = record_field(a->request, field);

    assert(f);
    return a->spelling == FIELD_AS_OPTION && !f->operand ? field_option(f, out) : f->name;
}

const struct operation *operation_find(const char *name)
{
    for (const struct operation *const *const *family = operation_families; *family; family++)
        for (const struct operation *const *op = *family; *op; op++)
            if (strcmp((*op)->name, name) == 0)
                return *op;
    return NULL;
}

int operation_allowed(const struct app *app, const struct operation *op, struct err *e)
{
    if (app_role(app) >= op->role)
        return 0;
    return err_set(e, ERR_DENIED, "%s needs the role %s; the caller is %s", op->name,
                   app_role_text(op->role), app_role_text(app_role(app)));
}

int operation_call(struct app *app,
                   const struct operation *op,
                   json_t *request,
                   enum field_spelling spelling,
                   struct answer *out,
                   struct err *e)
{
    void *decoded = arena_alloc(out->arena, 1, op->request->size);

    if (!decoded)
        return err_set(e, ERR_NOFIT, "%s: the request is too large", op->name);
    if (operation_allowed(app, op, e) < 0 ||
        record_decode(op->request, request, spelling, decoded, out->arena, e) < 0)
        return -1;
    if (op->is_live)
        app_refresh(app);
    out->app = app;
    out->request = op->request;
    out->spelling = spelling;
    return op->run(app, decoded, out, e);
}

json_t *operation_describe(const struct operation *op)
{
    json_t *out = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", op->name, "summary", op->summary,
                            "role", app_role_text(op->role), "effect",
                            op->effect == OPERATION_READS ? "reads" : "writes", "request",
                            record_describe(op->request));

    assert(out);
    json_object_set_new(out, "answer", op->answer ? json_string(op->answer->name) : json_null());
    json_object_set_new(out, "answer_fields",
                        op->answer ? record_describe(op->answer) : json_null());
    json_object_set_new(out, "items", op->item ? json_string(op->item->name) : json_null());
    json_object_set_new(out, "item_fields", op->item ? record_describe(op->item) : json_null());
    json_object_set_new(out, "items_name",
                        op->items_name ? json_string(op->items_name) : json_null());
    json_object_set_new(out, "feed", json_boolean(op->is_feed));
    return out;
}
