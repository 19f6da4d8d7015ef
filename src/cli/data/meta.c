/* meta: the commands `tag` and `untag`. */
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"
#include "cli/data/data.h"
#include "view/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_known(struct operate_text *t, const void *record)
{
    static const struct table_column columns[] = {
        {.title = "key", .cut_rank = 1, .least = 20},
        {.title = "value", .cut_rank = 2, .least = 20},
    };
    const struct data_found *found = record;
    AUTO(table) struct table *table = table_new(columns, 2);
    const char *text;

    for (size_t i = 0; i < found->n_values; i++) {
        table_put(table, app_data_found_at(found, i, &text));
        table_put(table, text);
    }
    if (t->n_items > 1)
        putc('\n', t->out);
    text_paragraph(t->out, found->ref, 0, &t->look);
    table_print(table, t->out, 2, &t->look);
}

/* ---- lines ---- */

/* Longer than any line of a reference and some of the longest values. */
#define LINE_MAX_BYTES ((size_t)16 << 20)

struct lines {
    char *line;
    size_t cap;
    uint64_t n;
    struct progress progress;
    enum { LINES_GOOD, LINES_NUL, LINES_LONG, LINES_FAILED, LINES_INTERRUPTED } state;
};

static void lines_clear(struct lines *r)
{
    free(r->line);
}

static const char *next_line(void *context)
{
    struct lines *r = context;

    if (interrupt_seen()) {
        r->state = LINES_INTERRUPTED;
        return NULL;
    }
    ssize_t n = getline(&r->line, &r->cap, stdin);
    if (n < 0) {
        r->state = ferror(stdin) ? LINES_FAILED : LINES_GOOD;
        return NULL;
    }
    r->n++;
    progress_show(&r->progress, "tagging, line %llu", (unsigned long long)r->n);
    if (strlen(r->line) != (size_t)n || (size_t)n > LINE_MAX_BYTES) {
        r->state = (size_t)n > LINE_MAX_BYTES ? LINES_LONG : LINES_NUL;
        /* No valid line: ends the transaction with an error. */
        return "\"";
    }
    return r->line;
}

/* The reason that the lake cannot know. */
static int explain(const struct lines *r, struct err *e)
{
    unsigned long long n = (unsigned long long)r->n;

    switch (r->state) {
    case LINES_NUL:
        return err_set(e, ERR_USAGE, "line %llu holds a zero byte", n);
    case LINES_LONG:
        return err_set(e, ERR_USAGE, "line %llu is longer than %zu MB", n, LINE_MAX_BYTES >> 20);
    case LINES_FAILED:
        return err_set(e, ERR_IO, "read standard input: %s", strerror(errno));
    case LINES_INTERRUPTED:
        return err_set(e, ERR_RETRY, "interrupted; nothing was tagged");
    case LINES_GOOD:
        break;
    }
    return -1;
}

static int print_tagged(const struct data_tagged *tagged, bool json, struct err *e)
{
    char count[32];

    if (json) {
        AUTO_JSON json_t *root = record_encode(&data_tagged_record, tagged);
        return json_write(stdout, root, e);
    }
    printf("Tagged %s.\n", text_count((size_t)tagged->lines, count));
    return 0;
}

static int run_lines(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lines) struct lines r = {.state = LINES_GOOD};
    struct data_tagged tagged;

    if (args->n_operands > 1)
        return err_set(e, ERR_USAGE, "tag -: keys and values come on the lines, after REF");
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    progress_init(&r.progress, stderr);
    int result = app_data_tag_lines(operate_app(terminal), next_line, &r, &tagged, e);
    progress_clear(&r.progress);
    return result < 0 ? explain(&r, e) : print_tagged(&tagged, command_has(args, "--json"), e);
}

/* ---- commands ---- */

static int run_tag(const struct command_args *args, struct err *e)
{
    static const struct command_text known = {.item = print_known};

    if (strcmp(args->operands[0], "-") == 0)
        return run_lines(args, e);
    if (args->n_operands == 1)
        return operate_with(args, &tag_get_operation, &known, e);
    return operate_with(args, &tag_set_operation, &operate_silent, e);
}

const struct command command_tag = {
    .name = "tag",
    .operands = "REF|- [KEY[=VALUE]...]",
    .summary = "Set tags on files and sets, or show their metadata",
    .details =
        "KEY=VALUE sets or changes a value, KEY alone sets a tag without one. Values that look "
        "like "
        "a number or a time (2026-11-15, 2026-11-15T10:30Z) compare as such in `tradewind find`. "
        "Without keys the command shows all metadata of REF.\n\n"
        "/p is the latest version of a file, /p#2 that version, /p#* the file as a whole, @S:1 a "
        "set version; /dir/ and /dir/@S stand for each file below. On an error nothing "
        "changes.\n\n"
        "With - the command reads lines \"REF KEY=VALUE ...\" from standard input and carries them "
        "out in one transaction. Quote what holds blanks.",
    .example = "tradewind tag @BERT:3 precision=0.91 reviewed",
    .operation = &tag_get_operation,
    .is_long = true,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_tag,
};

const struct command command_untag = {
    .name = "untag",
    .operands = "REF KEY...",
    .summary = "Remove tags from files and sets",
    .details = "A missing key is an error, and nothing changes.",
    .example = "tradewind untag @BERT:3 reviewed",
    .operation = &tag_remove_operation,
    .text = &operate_silent,
};
