#include "cli/core/operate.h"

#include "base/mem.h"
#include "base/time.h"
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX_BYTES ((size_t)1 << 30)

/* ---- the terminal as front end ---- */

struct operate_terminal {
    struct app *app;
    struct progress line;
    double began_s;
    bool (*interrupted)(void *context);
    void *context;
};

static void print_notice(void *context, const char *text)
{
    operate_terminal_quiet(context);
    fprintf(stderr, "%s\n", text);
}

static void show_progress(void *context,
                          const char *verb,
                          uint64_t files,
                          uint64_t bytes,
                          uint64_t all_files,
                          uint64_t all_bytes)
{
    struct operate_terminal *d = context;
    const uint64_t done[] = {files, bytes}, all[] = {all_files, all_bytes};
    char text[160];

    if (d->line.terminal)
        progress_show(&d->line, "%s",
                      progress_text(verb, done, all, time_monotonic_s() - d->began_s, text));
}

static void show_status(void *context, const char *text)
{
    struct operate_terminal *d = context;

    progress_show(&d->line, "%s", text);
}

static bool is_interrupted(void *context)
{
    struct operate_terminal *d = context;

    return d->interrupted ? d->interrupted(d->context) : interrupt_seen();
}

static const char *variable(const char *name)
{
    return getenv(name);
}

struct operate_terminal *operate_terminal_new(bool is_long)
{
    struct operate_terminal *d = mem_zero(1, sizeof *d);
    struct app_options options = {
        .role = APP_PLATFORM_ADMIN,
        .program = APP_PROGRAM_SELF,
        .variable = variable,
        .listener = {.notice = print_notice,
                     .status = show_status,
                     .progress = show_progress,
                     .cancelled = is_interrupted,
                     .context = d},
    };

    d->began_s = time_monotonic_s();
    progress_init(&d->line, stderr);
    if (is_long) {
        interrupt_watch(1);
        interrupt_watch_terminal();
    }
    d->app = app_new(&options);
    return d;
}

void operate_terminal_free(struct operate_terminal *d)
{
    if (!d)
        return;
    operate_terminal_quiet(d);
    app_free(d->app);
    free(d);
}

struct app *operate_app(struct operate_terminal *d)
{
    return d->app;
}

void operate_on_interrupt(struct operate_terminal *d, bool (*interrupted)(void *), void *context)
{
    d->interrupted = interrupted;
    d->context = context;
}

void operate_terminal_quiet(struct operate_terminal *d)
{
    progress_clear(&d->line);
}

/* ---- arguments -> request ---- */

static int put_operands(const struct command_args *args,
                        const struct operation *op,
                        json_t *request,
                        struct err *e)
{
    size_t at = 0, left = 0; /* operands that fields behind a list take */

    for (size_t i = 0; i < op->request->n_fields; i++)
        left += op->request->fields[i].operand;
    for (size_t i = 0; i < op->request->n_fields; i++) {
        const struct field *f = &op->request->fields[i];
        if (!f->operand)
            continue;
        left--;
        size_t end = !field_is_list(f)         ? at + 1
                     : args->n_operands > left ? args->n_operands - left
                                               : 0;
        for (; at < end && at < args->n_operands; at++)
            if (record_put_text(op->request, request, f->name, args->operands[at], e) < 0)
                return -1;
    }
    return 0;
}

json_t *operate_request(const struct command_args *args, const struct operation *op, struct err *e)
{
    AUTO_JSON json_t *request = json_object();

    if (put_operands(args, op, request, e) < 0)
        return NULL;
    for (size_t i = 0; i < args->n_given; i++) {
        const struct field *f = args->given[i].option->field;
        const char *value = args->given[i].value, *sets = args->given[i].option->sets;
        if (sets)
            json_object_set_new(request, sets, json_true());
        if (f && record_field(op->request, f->name) &&
            record_put_text(op->request, request, f->name, value ? value : "true", e) < 0)
            return NULL;
    }
    return TAKE(request);
}

/* ---- answer -> text ---- */

struct printing {
    struct operate_terminal *terminal;
    const struct command_text *text; /* NULL: JSON or CSV, or nothing of its own */
    const struct command_text *told; /* whose exit code and files count */
    struct operate_text shown;
    struct writer writer;
    bool is_feed;
    int exit_code;
};

const struct command_text operate_silent;

void operate_print_nothing(struct operate_text *t, const void *record)
{
    (void)t;
    (void)record;
}

/* The error of a printer, if there is one. */
static int check_printed(const struct printing *p, struct err *e)
{
    const struct err *error = &p->shown.error;

    return error->kind == ERR_NONE ? 0 : err_set(e, error->kind, "%s", error->text);
}

static int print_head(void *context, const void *record, struct err *e)
{
    struct printing *p = context;

    operate_terminal_quiet(p->terminal);
    if (p->told && p->told->exit_code)
        p->exit_code = p->told->exit_code(record);
    if (p->told && p->told->save && p->told->save(&p->shown, record, e) < 0)
        return -1;
    if (!p->text || !p->text->head)
        return writer_head(&p->writer, record, e);
    p->text->head(&p->shown, record);
    return check_printed(p, e);
}

static int print_item(void *context, const void *record, struct err *e)
{
    struct printing *p = context;

    operate_terminal_quiet(p->terminal);
    p->shown.n_items++;
    if (p->told && p->told->take && p->told->take(&p->shown, record))
        return 0;
    if (p->text && p->text->item)
        p->text->item(&p->shown, record);
    else if (writer_item(&p->writer, record, e) < 0)
        return -1;
    if (p->is_feed)
        fflush(p->shown.out);
    return check_printed(p, e);
}

static int print_end(struct printing *p, struct err *e)
{
    operate_terminal_quiet(p->terminal);
    if (p->text && p->text->empty && p->shown.n_items == 0)
        fprintf(p->shown.out, "%s\n", p->text->empty);
    if (writer_end(&p->writer, e) < 0)
        return -1;
    if (p->text && p->text->end)
        p->text->end(&p->shown);
    return check_printed(p, e);
}

static bool is_given(const struct command_args *args, const char *option)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, option) == 0)
            return true;
    return false;
}

static enum writer_format format_of(const struct command_args *args,
                                    const struct operation *op,
                                    const struct command_text *text)
{
    bool is_lines = op->is_feed || (text && text->is_lines);

    if ((op->answer || op->item) && is_given(args, "--json"))
        return is_lines ? WRITER_LINES : WRITER_JSON;
    return op->item && is_given(args, "--csv") ? WRITER_CSV : WRITER_TABLE;
}

int operate_call_with(const struct command_args *args,
                      struct operate_terminal *terminal,
                      const struct operation *op,
                      json_t *request,
                      const struct command_text *text,
                      void *state,
                      struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_MAX_BYTES);
    enum writer_format format = format_of(args, op, text);
    struct printing p = {
        .terminal = terminal,
        .text = format == WRITER_TABLE ? text : NULL,
        .told = text,
        .is_feed = op->is_feed,
        .shown = {.out = stdout,
                  .look = text_look_for(stdout),
                  .args = args,
                  .arena = arena,
                  .state = state},
    };
    bool is_silent = p.text == &operate_silent;
    struct answer answer = {.arena = arena,
                            .head = is_silent ? NULL : print_head,
                            .item = is_silent ? NULL : print_item,
                            .context = &p};

    if (!state && p.text && p.text->state_size)
        p.shown.state = arena_alloc(arena, 1, p.text->state_size);
    /* --long is an option of the terminal: which columns a table has. */
    writer_init(&p.writer, format, op->answer, op->item, op->items_name, is_given(args, "--long"),
                stdout);
    int result = operation_call(operate_app(terminal), op, request, FIELD_AS_OPTION, &answer, e);
    p.shown.more = answer.more;
    result = result < 0 ? -1 : print_end(&p, e);
    writer_clear(&p.writer);
    if (p.text && p.text->clear)
        p.text->clear(&p.shown);
    if (result == 0 && answer.late.kind != ERR_NONE)
        return err_set(e, answer.late.kind, "%s", answer.late.text);
    return result < 0 ? -1 : p.exit_code;
}

int operate_call(const struct command_args *args,
                 struct operate_terminal *terminal,
                 const struct operation *op,
                 json_t *request,
                 const struct command_text *text,
                 struct err *e)
{
    return operate_call_with(args, terminal, op, request, text, NULL, e);
}

int operate_with(const struct command_args *args,
                 const struct operation *op,
                 const struct command_text *text,
                 struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal)
    struct operate_terminal *terminal = operate_terminal_new(args->command->is_long);
    return operate_call(args, terminal, op, request, text, e);
}

int operate_run(const struct command_args *args, struct err *e)
{
    return operate_with(args, args->command->operation, args->command->text, e);
}

static const char *list_names(const struct record *r, struct arena *a)
{
    const char *text = "";

    for (size_t i = 0; i < r->n_fields; i++)
        if (!r->fields[i].is_column_only) {
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", r->fields[i].name);
            assert(text);
        }
    return text;
}

const char *operate_json_help(const struct operation *op, struct arena *a)
{
    const char *text;

    if (op->answer && op->item && op->items_name)
        text = arena_printf(a, "Print JSON: %s, and %s (%s).", list_names(op->answer, a),
                            op->items_name, list_names(op->item, a));
    else if (op->item)
        text = arena_printf(a, "Print a JSON array of %s.", list_names(op->item, a));
    else
        text = arena_printf(a, "Print JSON: %s.", list_names(op->answer, a));
    assert(text);
    return text;
}
