/* Operations as tools of assistants. Tools that start work which costs money answer first with its
 * cost and a token, and start with the second call that has the token. mcp.c calls this file. */
#include "base/mem.h"
#include "view/schema.h"
#include "web/mcp/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ANSWER_MAX_BYTES ((size_t)256 << 20)
/* More than an assistant can read. */
#define ITEMS_MAX 1000
#define TEXT_MAX_BYTES ((size_t)4 << 20)
#define NAME_BYTES 64

static const char confirm_help[] =
    "Token of an earlier call with the same arguments, which showed the cost: starts the work. "
    "Without it the call starts nothing and answers with the cost and a token.";

/* ---- the list ---- */

/* Names of tools have no dots: job.list becomes job_list. */
static const char *tool_name(const struct operation *op, char out[static NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s", op->name);
    for (char *c = out; *c; c++)
        *c = *c == '.' ? '_' : *c;
    return out;
}

static bool is_offered(const struct mcp_tools *t, const struct operation *op)
{
    return t->allow_write || (op->effect == OPERATION_READS && op->role == APP_VIEWER);
}

static json_t *input_schema(const struct operation *op)
{
    json_t *schema = schema_of_request(op->request);
    json_t *properties = json_object_get(schema, "properties");

    if (!op->bills)
        return schema;
    json_object_del(properties, "dry_run");
    json_object_set_new(properties, "confirm",
                        json_pack("{s:s, s:s}", "type", "string", "description", confirm_help));
    return schema;
}

/* An answer is an object: the head with its items, or the items alone. */
static json_t *output_schema(const struct operation *op)
{
    bool has_items = op->item != NULL, beside = has_items && (op->is_feed || !op->items_name);
    json_t *schema = op->answer && !op->answer->is_bare && !beside
                         ? schema_of_answer(op->answer)
                         : json_pack("{s:s, s:{}}", "type", "object", "properties");
    json_t *properties = json_object_get(schema, "properties");

    if (has_items)
        json_object_set_new(
            properties, beside ? "items" : op->items_name,
            json_pack("{s:s, s:o}", "type", "array", "items", schema_of_answer(op->item)));
    if (op->answer && (beside || op->answer->is_bare))
        json_object_set_new(properties, "answer", schema_of_answer(op->answer));
    return schema;
}

static json_t *describe(const struct operation *op)
{
    char name[NAME_BYTES];
    bool reads = op->effect == OPERATION_READS;
    AUTO_JSON json_t *about =
        op->bills ? json_sprintf("%s Costs money: the first call shows how much, a second one with "
                                 "the token of the first starts it.",
                                 op->summary)
                  : json_string(op->summary);
    json_t *tool =
        json_pack("{s:s, s:O, s:o, s:{s:b}}", "name", tool_name(op, name), "description", about,
                  "inputSchema", input_schema(op), "annotations", "readOnlyHint", reads);

    assert(tool);
    /* The first answer of what costs money is another one. */
    if (!op->bills)
        json_object_set_new(tool, "outputSchema", output_schema(op));
    return tool;
}

json_t *mcp_tools_list(const struct mcp_tools *t)
{
    json_t *tools = json_array();

    for (const struct operation *const *const *family = operation_families; *family; family++)
        for (const struct operation *const *op = *family; *op; op++)
            if (is_offered(t, *op))
                json_array_append_new(tools, describe(*op));
    return json_pack("{s:o}", "tools", tools);
}

static const struct operation *find_tool(const struct mcp_tools *t, const char *name)
{
    char own[NAME_BYTES];

    for (const struct operation *const *const *family = operation_families; *family; family++)
        for (const struct operation *const *op = *family; *op; op++)
            if (is_offered(t, *op) && !strcmp(tool_name(*op, own), name))
                return *op;
    return NULL;
}

/* ---- what an operation answers ---- */

struct collected {
    const struct operation *op;
    json_t *head, *items;
    bool more; /* items were left out */
};

static int take_head(void *context, const void *record, struct err *e)
{
    struct collected *c = context;

    (void)e;
    json_decref(c->head);
    c->head = record_encode(c->op->answer, record);
    return 0;
}

static int take_item(void *context, const void *record, struct err *e)
{
    struct collected *c = context;

    (void)e;
    if (json_array_size(c->items) == ITEMS_MAX)
        c->more = true;
    else
        json_array_append_new(c->items, record_encode(c->op->item, record));
    return 0;
}

/* As output_schema says. Takes over head and items. */
static json_t *structured(struct collected *c)
{
    const struct operation *op = c->op;
    bool beside = op->item && (op->is_feed || !op->items_name);
    bool head_is_all = c->head && json_is_object(c->head) && !beside;
    json_t *out = head_is_all ? json_incref(c->head) : json_object();

    if (op->item)
        json_object_set(out, beside ? "items" : op->items_name, c->items);
    if (c->head && !head_is_all)
        json_object_set(out, "answer", c->head);
    if (c->more)
        json_object_set_new(out, "more", json_true());
    return out;
}

/* ---- results ---- */

/* A failed operation is a result that the assistant reads, not an error of the protocol. */
static json_t *failed(const char *text)
{
    AUTO_JSON json_t *safe = json_text(text);

    return json_pack("{s:[{s:s, s:O}], s:b}", "content", "type", "text", "text", safe, "isError",
                     1);
}

static json_t *succeeded(const struct mcp_tools *t, const char *note, json_t *document)
{
    AUTO_MEM char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
    AUTO_JSON json_t *owned = document, *content = json_array();
    json_t *notice;
    size_t i;

    if (!text || strlen(text) > TEXT_MAX_BYTES)
        return failed("the answer is too large; ask for less, for example with limit");
    if (note)
        json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", note));
    json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", text));
    json_array_foreach(t->notices, i, notice)
    {
        json_array_append_new(content, json_pack("{s:s, s:O}", "type", "text", "text", notice));
    }
    return json_pack("{s:O, s:O, s:b}", "content", content, "structuredContent", owned, "isError",
                     0);
}

static json_t *run(struct mcp_tools *t, const struct operation *op, json_t *request)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_MAX_BYTES);
    AUTO_JSON json_t *items = json_array();
    struct collected c = {.op = op, .items = items};
    struct answer answer = {.arena = arena, .head = take_head, .item = take_item, .context = &c};
    struct err e = {0};
    json_t *out = NULL;

    int result = operation_call(t->app, op, request, FIELD_AS_NAME, &answer, &e);
    if (result < 0) {
        out = failed(e.text);
    } else if (answer.late.kind != ERR_NONE) {
        out = failed(answer.late.text);
    } else {
        c.more |= answer.more;
        out = succeeded(t, NULL, structured(&c));
    }
    json_decref(c.head);
    return out;
}

/* ---- confirming what costs money ---- */

/* The tool and its arguments; new string. */
static char *request_text(const struct operation *op, const json_t *request)
{
    AUTO_MEM char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);

    return mem_printf("%s %s", op->name, text ? text : "");
}

static const char *remember(struct mcp_tools *t, const struct operation *op, const json_t *request)
{
    struct mcp_shown *s = &t->shown[t->next_shown];
    unsigned char random[(MCP_TOKEN_BYTES - 1) / 2];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return NULL;
    t->next_shown = (t->next_shown + 1) % MCP_SHOWN_MAX;
    free(s->request);
    s->request = request_text(op, request);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(s->token + 2 * i, 3, "%02x", random[i]);
    return s->token;
}

/* Whether the cost of this very request was shown with the token, which is used up by that. */
static bool is_confirmed(struct mcp_tools *t,
                         const struct operation *op,
                         const json_t *request,
                         const char *token)
{
    AUTO_MEM char *text = request_text(op, request);

    for (size_t i = 0; i < MCP_SHOWN_MAX; i++) {
        struct mcp_shown *s = &t->shown[i];
        if (!*s->token || strcmp(s->token, token) != 0 || strcmp(s->request, text) != 0)
            continue;
        *s->token = 0;
        return true;
    }
    return false;
}

/* What the work would cost: the answer of the operation's quote, which gets the fields that it
 * shares with the operation, or of a dry run. */
static json_t *quote(struct mcp_tools *t, const struct operation *op, const json_t *request)
{
    const struct operation *quoting = op->quote ? op->quote : op;
    AUTO_JSON json_t *asked = json_object();

    for (size_t i = 0; i < quoting->request->n_fields; i++) {
        const struct field *f = &quoting->request->fields[i];
        const struct field *own = record_field(op->request, f->name);
        json_t *value = json_object_get(request, f->name);
        if (value && own && own->type == f->type)
            json_object_set(asked, f->name, value);
    }
    if (!op->quote)
        json_object_set_new(asked, "dry_run", json_true());
    return run(t, quoting, asked);
}

/* Arguments that the operation would refuse get no quote. */
static json_t *check(const struct operation *op, const json_t *request)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_MAX_BYTES);
    AUTO_JSON json_t *copy = json_deep_copy(request);
    void *decoded = arena_alloc(arena, 1, op->request->size);
    struct err e = {0};

    if (decoded && record_decode(op->request, copy, FIELD_AS_NAME, decoded, arena, &e) == 0)
        return NULL;
    return failed(decoded ? e.text : "the request is too large");
}

static json_t *show_cost(struct mcp_tools *t, const struct operation *op, const json_t *request)
{
    json_t *result = check(op, request);
    if (result)
        return result;
    result = quote(t, op, request);
    json_t *content = json_object_get(result, "content");

    if (json_is_true(json_object_get(result, "isError")))
        return result;
    const char *token = remember(t, op, request);
    if (!token) {
        json_decref(result);
        return failed("no random numbers for a token");
    }
    json_t *note =
        json_sprintf("Nothing was started. This is what it would cost. To start it, call "
                     "again with the same arguments and \"confirm\": \"%s\".",
                     token);
    json_array_insert_new(content, 0, json_pack("{s:s, s:o}", "type", "text", "text", note));
    json_object_set_new(json_object_get(result, "structuredContent"), "confirm",
                        json_string(token));
    return result;
}

/* Takes "confirm" out of the arguments. */
static json_t *call_billing(struct mcp_tools *t, const struct operation *op, json_t *request)
{
    AUTO_JSON json_t *confirm = json_incref(json_object_get(request, "confirm"));

    json_object_del(request, "confirm");
    if (json_object_get(request, "dry_run"))
        return failed("dry_run: leave it out; without confirm nothing is started");
    if (!confirm)
        return show_cost(t, op, request);
    const char *token = json_string_value(confirm);
    if (!token || !is_confirmed(t, op, request, token))
        return failed("confirm: no cost was shown with this token for these arguments; call "
                      "without confirm to see the cost");
    return run(t, op, request);
}

json_t *mcp_tools_call(struct mcp_tools *t, const char *name, const json_t *arguments)
{
    const struct operation *op = find_tool(t, name);
    AUTO_JSON json_t *request = arguments ? json_deep_copy(arguments) : json_object();

    if (!op)
        return NULL;
    json_array_clear(t->notices);
    return op->bills && json_is_object(request) ? call_billing(t, op, request)
                                                : run(t, op, request);
}

void mcp_tools_clear(struct mcp_tools *t)
{
    for (size_t i = 0; i < MCP_SHOWN_MAX; i++)
        free(t->shown[i].request);
    json_decref(t->notices);
    *t = (struct mcp_tools){0};
}
