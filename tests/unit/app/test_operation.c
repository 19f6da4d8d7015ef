/* The table of operations: names are unique and whole, roles are checked, requests are decoded. */
#include "app/core/operation.h"
#include "tap.h"

#include <string.h>

struct echo_request {
    const char *word;
};
static const struct field echo_fields[] = {
    {"word", FIELD(TEXT, struct echo_request, word), .help = "Said again.", .required = true},
};
static const struct record echo_record = RECORD("echo", struct echo_request, echo_fields);

static int run_echo(struct app *app, const void *request, struct answer *out, struct err *e)
{
    (void)app;
    return answer_head(out, request, e);
}

static const struct operation echo = {
    .name = "test.echo",
    .summary = "Say a word again.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &echo_record,
    .answer = &echo_record,
    .run = run_echo,
};

static int hear(void *context, const void *record, struct err *e)
{
    (void)e;
    snprintf(context, 32, "%s", ((const struct echo_request *)record)->word);
    return 0;
}

static int call(enum app_role role, const char *json, char heard[static 32], struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    AUTO(app) struct app *app = app_new(&(struct app_options){.role = role});
    AUTO_JSON json_t *request = json_loads(json, 0, NULL);
    struct answer answer = {.arena = arena, .head = hear, .context = heard};

    heard[0] = 0;
    return operation_call(app, &echo, request, FIELD_AS_NAME, &answer, e);
}

static void test_call(void)
{
    char heard[32];
    struct err e = {0};

    CHECK(call(APP_MEMBER, "{\"word\": \"hi\"}", heard, &e) == 0 && !strcmp(heard, "hi"),
          "runs with the decoded request");
    CHECK(call(APP_VIEWER, "{\"word\": \"hi\"}", heard, &e) < 0 && e.kind == ERR_DENIED &&
              strstr(e.text, "member") && !*heard,
          "a lower role is refused: %s", e.text);
    CHECK(call(APP_ADMIN, "{}", heard, &e) < 0 && e.kind == ERR_USAGE &&
              !strcmp(e.text, "word: is missing"),
          "a missing field is refused: %s", e.text);
}

static void test_parts(void)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 10);
    const struct answer answer = {.arena = arena};
    struct field_records list = {0};
    struct err e = {0};
    int64_t i = 0;

    for (; i < 9 && answer_push(&answer, &list, &i, sizeof i, &e) == 0; i++)
        ;
    CHECK(i == 9 && list.n == 9, "a list of nine: %s", e.text);
    for (i = 0; i < 9; i++)
        CHECK(((const int64_t *)list.items)[i] == i, "item %d stays", (int)i);
    char *text = answer_text(&answer, &e, "%d.", 7);
    CHECK(text && !strcmp(text, "7."), "a text");
    CHECK(!answer_alloc(&answer, 2, 1 << 10, &e) && e.kind == ERR_NOFIT &&
              !strcmp(e.text, "the answer is too large"),
          "the cap is an error: %s", e.text);
    while (answer_push(&answer, &list, &i, sizeof i, &e) == 0)
        CHECK(list.n < 128, "the cap holds");
    CHECK(list.n == 32, "a list beyond the cap is refused with its items intact: %zu", list.n);
}

static void check_fields(const struct operation *op, const struct record *r)
{
    for (size_t i = 0; r && i < r->n_fields; i++) {
        const struct field *f = &r->fields[i];
        CHECK(f->name && f->help && f->help[strlen(f->help) - 1] == '.',
              "%s: field %s has a sentence of help", op->name, f->name);
        CHECK(record_field(r, f->name) == f, "%s: %s occurs once", op->name, f->name);
        CHECK((f->type == FIELD_ENUM) == (f->n_choices > 0), "%s: choices of %s", op->name,
              f->name);
        CHECK((f->type == FIELD_RECORD || f->type == FIELD_RECORDS) == (f->record != NULL),
              "%s: record of %s", op->name, f->name);
    }
}

static void test_table(void)
{
    size_t n = 0;

    for (const struct operation *const *const *family = operation_families; *family; family++)
        for (const struct operation *const *at = *family; *at; at++, n++) {
            const struct operation *op = *at;
            CHECK(operation_find(op->name) == op, "%s is there once", op->name);
            CHECK(strchr(op->name, '.') && op->summary[strlen(op->summary) - 1] == '.' &&
                      op->role >= APP_VIEWER && op->request && op->run,
                  "%s is whole", op->name);
            CHECK(!op->items_name || (op->answer && op->item), "%s names items beside a head",
                  op->name);
            check_fields(op, op->request);
            check_fields(op, op->answer);
            check_fields(op, op->item);
        }
    CHECK(n > 0 && !operation_find("no.such"), "%zu operations", n);
}

int main(void)
{
    test_call();
    test_parts();
    test_table();
    return TAP_DONE();
}
