/* find: the command `find`. */
#include "base/buf.h"
#include "cli/data/data.h"
#include "view/table.h"

/* Rows whose widths are measured together; the titles come again after as many rows. */
#define PAGE_ROWS 1000
#define EXPRESSION_MAX ((size_t)1 << 20)

struct page {
    struct table_column columns[DATA_FOUND_KEYS_MAX + 1]; /* the reference, and the keys */
    size_t n_keys;
    struct table *table; /* NULL = no rows */
    size_t rows;
};

static void begin(struct operate_text *t, const void *record)
{
    const struct data_found_keys *head = record;
    struct page *page = t->state;

    page->columns[0] = (struct table_column){.title = "ref", .cut_rank = 2, .least = 24};
    for (; page->n_keys < head->keys.n && page->n_keys < DATA_FOUND_KEYS_MAX; page->n_keys++)
        page->columns[page->n_keys + 1] =
            (struct table_column){.title = arena_dup(t->arena, head->keys.items[page->n_keys]),
                                  .cut_rank = 1,
                                  .least = 6};
}

static void print_page(struct operate_text *t, struct page *page)
{
    if (page->table)
        table_print(page->table, t->out, 0, &t->look);
    table_free(TAKE(page->table));
    page->rows = 0;
}

static void add_row(struct operate_text *t, const void *record)
{
    const struct data_found *found = record;
    struct page *page = t->state;
    char room[32];

    if (!page->table)
        page->table = table_new(page->columns, page->n_keys + 1);
    table_put(page->table, found->ref);
    for (size_t i = 0; i < page->n_keys; i++) {
        const char *text = app_data_found_text(found, page->columns[i + 1].title, room);
        table_put(page->table, text ? text : "-");
    }
    if (++page->rows == PAGE_ROWS)
        print_page(t, page);
}

static void end(struct operate_text *t)
{
    print_page(t, t->state);
}

static void clear(struct operate_text *t)
{
    table_free(((struct page *)t->state)->table);
}

static const struct command_text find_text = {.head = begin,
                                              .item = add_row,
                                              .end = end,
                                              .clear = clear,
                                              .empty = "Nothing found.",
                                              .state_size = sizeof(struct page)};

static int run_find(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(buf) struct buf expression;
    struct command_args joined = *args;

    buf_init(&expression, EXPRESSION_MAX);
    for (size_t i = 0; i < args->n_operands; i++)
        buf_printf(&expression, "%s%s", i ? " " : "", args->operands[i]);
    if (expression.full)
        return err_set(e, ERR_USAGE, "the expression is too long");
    joined.operands = (const char *const[]){buf_str(&expression)};
    joined.n_operands = 1;
    return operate_with(&joined, &find_operation, &find_text, e);
}

const struct command command_lake_find = {
    .name = "find",
    .operands = "[EXPRESSION...]",
    .summary = "Find files, sets and jobs by their metadata",
    .details =
        "All conditions of the expression must hold; blanks or AND join them:\n\n"
        "    key          has that key\n"
        "    !key         does not have it\n"
        "    key=value    equal\n"
        "    key!=value   has the key, with another value\n"
        "    key<value    also <=, > and >=\n"
        "    key=a..b     from a to b, both included\n"
        "    key~regex    matches (POSIX extended)\n\n"
        "A value with blanks is quoted, \"so\" or 'so'. Bare values are numbers, times "
        "(2026-11-15, 2026-11-15T10:30Z; UTC without a zone) or else text; quoted ones are text. "
        "Numbers compare with numbers, times with times, text with text. A date or minute stands "
        "for all of it: create_time=2026-11-15 is any time that day, > means after it.\n\n"
        "Built-in keys: create_time, creator, kind (file, path, set, job), "
        "size (takes units: 10MB, 4KiB), version, path of files, name of sets and jobs; of jobs "
        "also state, cpus, memory_mb, time_limit_s, runtime_s, cost_usd, exit_code, machine, run, "
        "input, output, and every argument of the command.\n\n"
        "A job and the set that it makes have its parameters (LR, or param.LR) and its metrics: "
        "loss, or metric.loss, is the last value; loss.min, loss.max and loss.steps are there "
        "too.\n\n"
        "Each version of a file or set is an answer of its own; whole files (/p#*, kind path) "
        "answer when the "
        "expression asks for a kind or for a key of theirs. Without --sort answers come by kind "
        "and then by creation.",
    .example = "tradewind find 'kind=job LR=0.5 loss<0.4' --min loss",
    .operation = &find_operation,
    .is_long = true,
    .max_operands = SIZE_MAX,
    .run = run_find,
};
