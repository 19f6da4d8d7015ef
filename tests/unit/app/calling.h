/* calling: operations called in a scratch home, without a command line; answers as JSON. */
#ifndef UNIT_APP_CALLING_H
#define UNIT_APP_CALLING_H

#include "app/core/operation.h"
#include "base/file.h"
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answer of the last call, and what was noticed meanwhile. */
struct calling {
    char home[64];
    json_t *head, *items; /* NULL = no head; an array */
    char notices[2000];
    const struct operation *op;
    enum field_spelling spelling; /* of errors; FIELD_AS_NAME unless set */
    struct err err;
};

static inline void calling_open(struct calling *c)
{
    *c = (struct calling){.home = "/tmp/tradewind-unit-XXXXXX"};
    bool made = mkdtemp(c->home) != NULL;
    assert(made);
}

static inline void calling_close(struct calling *c)
{
    json_decref(c->head);
    json_decref(c->items);
    file_remove_tree(c->home);
}

/* A file below the home; directories are made. Returns its path in a static buffer. */
static inline const char *calling_put(const struct calling *c, const char *name, const char *text)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%s", c->home, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    int made = file_make_dirs(path, 0700, NULL);
    *slash = '/';
    FILE *out = fopen(path, "we");
    assert(made == 0 && out);
    fputs(text, out);
    fclose(out);
    return path;
}

static inline int calling_head(void *context, const void *record, struct err *e)
{
    struct calling *c = context;

    (void)e;
    c->head = record_encode(c->op->answer, record);
    return 0;
}

static inline int calling_item(void *context, const void *record, struct err *e)
{
    struct calling *c = context;

    (void)e;
    json_array_append_new(c->items, record_encode(c->op->item, record));
    return 0;
}

static inline void calling_notice(void *context, const char *text)
{
    struct calling *c = context;
    size_t used = strlen(c->notices);

    snprintf(c->notices + used, sizeof c->notices - used, "%s\n", text);
}

/* Calls an operation by its name as an admin of the home; takes request. 0 or -1, with c->err. */
static inline int calling_call(struct calling *c, const char *name, json_t *request)
{
    AUTO(arena) struct arena *arena = arena_new((size_t)64 << 20);
    AUTO(app)
    struct app *app = app_new(&(struct app_options){
        .home = c->home, .role = APP_ADMIN, .listener = {.notice = calling_notice, .context = c}});
    AUTO_JSON json_t *kept = request;
    struct answer answer = {
        .arena = arena, .head = calling_head, .item = calling_item, .context = c};

    c->op = operation_find(name);
    assert(c->op && kept);
    json_decref(c->head);
    json_decref(c->items);
    c->head = NULL;
    c->items = json_array();
    c->notices[0] = 0;
    c->err = (struct err){0};
    return operation_call(app, c->op, kept, c->spelling, &answer, &c->err);
}

/* A number of the head, or of an object. */
static inline double calling_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static inline const char *calling_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

#endif
