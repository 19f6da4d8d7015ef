/* put: the command `put`. */
#include "cli/data/data.h"

static int print_file(struct operate_text *t, const void *record, struct err *e)
{
    const struct data_put_file *f = record;

    if (!t->state)
        t->state = arena_alloc(t->arena, 1, sizeof(struct data_put_lines));
    if (!t->state)
        return err_set(e, ERR_NOFIT, "put: out of memory");
    cli_data_print_put(t, t->state, f->ref, f->bytes, f->unchanged);
    return 0;
}

static int print_sum(struct operate_text *t, const void *record, struct err *e)
{
    static const struct data_put_lines none;

    (void)e;
    cli_data_print_put_sum(t->out, t->state ? t->state : &none, record);
    return 0;
}

static int run_put(const struct command_args *args, struct err *e)
{
    static const struct command_text text = {.head = print_sum, .item = print_file};
    AUTO_JSON json_t *request =
        cli_data_request_with_last(args, &data_put_operation, "destination", e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(true);
    return operate_call(args, door, &data_put_operation, request, &text, e);
}

const struct command command_put = {
    .name = "put",
    .operands = "FILE|DIR|-... /DEST",
    .summary = "Put files and directories into the lake",
    .details =
        "As cp -r: a destination that ends in '/' receives each source under its own name; "
        "otherwise the one source becomes exactly that path. DIR/. stands for the contents of DIR, "
        "- for standard input. In the destination %23, %3A, %40 and %25 stand for '#', ':', '@' "
        "and '%', as in references. The command follows links to files and skips links to "
        "directories and special files.\n"
        "\n"
        "Putting a path again creates its next version, unless the content is the same. A put is "
        "all or nothing: it makes data durable first, then numbers the versions in one "
        "transaction. "
        "An interrupted put leaves a session: the same command resumes it, and "
        "`tradewind session abort` removes it.",
    .example = "tradewind put data /data --set Corpus --tag source=web",
    .operation = &data_put_operation,
    .is_long = true,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_put,
};
