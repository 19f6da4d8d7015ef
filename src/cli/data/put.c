/* put: the command `put`. */
#include "cli/data/data.h"

static void print_file(struct operate_text *t, const void *record)
{
    const struct data_put_file *f = record;

    cli_data_print_put(t, t->state, f->ref, f->bytes, f->unchanged);
}

static void print_sum(struct operate_text *t, const void *record)
{
    cli_data_print_put_sum(t->out, t->state, record);
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
    .text = &(const struct command_text){.head = print_sum,
                                         .item = print_file,
                                         .state_size = sizeof(struct data_put_lines)},
    .is_long = true,
};
