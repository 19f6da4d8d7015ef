/* get: the commands `get`, `cat` and `url`. */
#include "cli/data/data.h"
#include "cli/run/run.h"
#include "view/text.h"

#include <errno.h>
#include <string.h>

/* ---- get ---- */

static void print_got(struct operate_text *t, const void *record)
{
    const struct lake_get_summary *got = record;
    char files[32], bytes[32], number[32];

    fprintf(t->out, "%s file%s, %s", text_count((size_t)got->files, files),
            got->files == 1 ? "" : "s", text_bytes(got->bytes, bytes));
    if (got->linked)
        fprintf(t->out, "; %s linked", text_count((size_t)got->linked, number));
    if (got->unchanged)
        fprintf(t->out, "; %s unchanged", text_count((size_t)got->unchanged, number));
    putc('\n', t->out);
}

/* Content that jobs can make again is offered to be made again. */
static int run_get(const struct command_args *args, struct err *e)
{
    static const struct command_text text = {.head = print_got};
    AUTO_JSON json_t *request = operate_request(args, &data_get_operation, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    int result = operate_call(args, terminal, &data_get_operation, request, &text, e);
    if (result >= 0 || e->kind != ERR_NOTFOUND ||
        cli_run_offer_replay(args, terminal, args->operands, args->n_operands - 1, e) <= 0)
        return result;
    return operate_call(args, terminal, &data_get_operation, request, &text, e);
}

const struct command command_get = {
    .name = "get",
    .operands = "REF... DIR",
    .summary = "Write files of the lake below a directory",
    .details = "Recreates the full path of every file below DIR, without version numbers. The "
               "command compares first: when files there differ, it writes nothing unless --force. "
               "It does not touch files that are the same, verifies every content, and writes "
               "nothing through symbolic links inside DIR. Small files share storage with others "
               "and are copied even with --link.",
    .example = "tradewind get @Corpus:2 work",
    .operation = &data_get_operation,
    .is_long = true,
    .run = run_get,
};

/* ---- cat ---- */

static int to_stdout(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    if (fwrite(bytes, 1, n, stdout) == n)
        return 0;
    return err_set(e, ERR_IO, "write output: %s", strerror(errno));
}

static int run_cat(const struct command_args *args, struct err *e)
{
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);

    return app_data_cat(operate_app(terminal), args->operands[0], to_stdout, NULL, e);
}

const struct command command_cat = {
    .name = "cat",
    .operands = "REF",
    .summary = "Print the content of a file version",
    .details = "The command prints verified content only.",
    .example = "tradewind cat /data/train.json#2",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_cat,
};

/* ---- url ---- */

static void print_url(struct operate_text *t, const void *record)
{
    const struct data_url *url = record;

    fprintf(t->out, "%s\n", url->url);
    if (url->header)
        fprintf(stderr, "Send this header with it: %s\n", url->header);
}

const struct command command_url = {
    .name = "url",
    .operands = "REF",
    .summary = "Make a URL with which anyone can read one file version for a limited time",
    .details = "For lakes on S3. A small file is stored in a pack with others: its URL is signed "
               "together with a Range header that covers this file alone. The command prints the "
               "header on standard error; requests must carry it unchanged.",
    .example = "tradewind url /models/bert.bin#3 --expires 2h",
    .operation = &url_get_operation,
    .text = &(const struct command_text){.head = print_url},
};
