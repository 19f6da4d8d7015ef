/* find: things by what is known about them. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "app/core/lake_found.h"
#include "app/core/lake_open.h"
#include "lake/meta/meta.h"
#include "view/json_list.h"
#include "view/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows whose widths are looked at together; the titles come again after so many. */
#define PAGE_ROWS 1000
#define COLUMNS_MAX 8
#define EXPRESSION_MAX ((size_t)1 << 20)

struct show {
    bool json;
    struct text_look look;
    struct json_list list;
    struct table *table; /* a page */
    size_t rows;         /* of the page */
    bool any;
    char *keys[COLUMNS_MAX];
    struct table_column columns[COLUMNS_MAX + 1];
    size_t n_keys;
};

static void show_clear(struct show *s)
{
    for (size_t i = 0; i < s->n_keys; i++)
        free(s->keys[i]);
    table_free(s->table);
}

/* The reference says these already. */
static bool is_in_ref(const char *key)
{
    return strcmp(key, "kind") == 0 || strcmp(key, "path") == 0 || strcmp(key, "name") == 0 ||
           strcmp(key, "version") == 0;
}

static int add_key(void *context, const char *key, struct err *e)
{
    struct show *s = context;

    (void)e;
    for (size_t i = 0; i < s->n_keys; i++)
        if (strcmp(s->keys[i], key) == 0)
            return 0;
    if (s->n_keys < COLUMNS_MAX && !is_in_ref(key))
        s->keys[s->n_keys++] = mem_dup(key);
    return 0;
}

/* What the expression and the order ask about; when and by whom, if they do not. */
static int choose_columns(struct show *s,
                          const char *expression,
                          const struct lake_find_options *o,
                          struct err *e)
{
    const char *order = o->max ? o->max : o->min ? o->min : o->sort;

    if (order)
        add_key(s, order, e);
    if (lake_find_keys(expression, add_key, s, e) < 0)
        return -1;
    if (s->n_keys == 0) {
        add_key(s, "create_time", e);
        add_key(s, "creator", e);
    }
    s->columns[0] = (struct table_column){.title = "ref", .cut_rank = 2, .least = 24};
    for (size_t i = 0; i < s->n_keys; i++)
        s->columns[i + 1] = (struct table_column){.title = s->keys[i], .cut_rank = 1, .least = 6};
    return 0;
}

static void print_page(struct show *s)
{
    if (s->rows)
        table_print(s->table, stdout, 0, TEXT_COLUMNS, &s->look);
    table_free(TAKE(s->table));
    s->rows = 0;
}

static int show_found(void *context, const struct lake_found *found, struct err *e)
{
    struct show *s = context;

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->json)
        return json_list_add(&s->list, lake_found_json(found), e);
    s->any = true;
    if (!s->table)
        s->table = table_new(s->columns, s->n_keys + 1);
    table_put(s->table, found->ref);
    for (size_t i = 0; i < s->n_keys; i++) {
        const struct lake_value *v = lake_found_get(found, s->keys[i]);
        table_put(s->table, v ? lake_found_text(v) : "-");
    }
    if (++s->rows == PAGE_ROWS)
        print_page(s);
    return 0;
}

static int read_options(const struct command_args *args,
                        struct lake_find_options *out,
                        struct err *e)
{
    double limit = 0;

    *out = (struct lake_find_options){
        .max = command_value(args, "--max"),
        .min = command_value(args, "--min"),
        .sort = command_value(args, "--sort"),
        .reverse = command_has(args, "--reverse"),
    };
    if (command_number(args, "--limit", &limit, e) < 0)
        return -1;
    if (command_value(args, "--limit") && !(limit >= 1 && limit <= 1e15 && limit == floor(limit)))
        return err_set(e, ERR_USAGE, "--limit takes a whole number from 1 on");
    if (!!out->max + !!out->min + !!out->sort > 1)
        return err_set(e, ERR_USAGE, "only one of --max, --min and --sort can order the answers");
    if (out->reverse && !out->sort)
        return err_set(e, ERR_USAGE, "--reverse goes with --sort");
    out->limit = (uint64_t)limit;
    return 0;
}

static int run_find(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = NULL;
    AUTO_CLEAR(buf) struct buf expression = {0};
    AUTO_CLEAR(show)
    struct show s = {.json = command_has(args, "--json"), .look = text_look_for(stdout)};
    struct lake_find_options options;

    buf_init(&expression, EXPRESSION_MAX);
    for (size_t i = 0; i < args->n_operands; i++)
        buf_printf(&expression, "%s%s", i ? " " : "", args->operands[i]);
    if (expression.full)
        return err_set(e, ERR_USAGE, "the expression is too long");
    if (read_options(args, &options, e) < 0 ||
        choose_columns(&s, buf_str(&expression), &options, e) < 0)
        return -1;
    l = lake_open_here(e);
    if (!l)
        return -1;
    interrupt_watch();
    json_list_begin(&s.list, stdout);
    double began_s = time_monotonic_s();
    if (lake_find(l, buf_str(&expression), &options, show_found, &s, e) < 0)
        return -1;
    print_page(&s);
    log_debug("lake", "find took %.3f ms after opening", (time_monotonic_s() - began_s) * 1e3);
    if (s.json)
        return json_list_end(&s.list, e);
    if (!s.any)
        printf("Nothing found.\n");
    return 0;
}

static const struct command_option find_options[] = {
    {.name = "--max", .value = "KEY", .help = "The answer with the greatest KEY, or --limit many."},
    {.name = "--min", .value = "KEY", .help = "The answer with the least KEY, or --limit many."},
    {.name = "--sort",
     .value = "KEY",
     .help = "In order of KEY: numbers, times, text, tags without a value, then what has none."},
    {.name = "--reverse", .help = "With --sort: greatest first."},
    {.name = "--limit", .value = "N", .help = "At most N answers."},
    {.name = "--json", .help = "Print an array of ref, kind and meta: all keys with their values."},
    {0},
};

const struct command command_lake_find = {
    .name = "find",
    .operands = "[EXPRESSION...]",
    .summary = "Find files and sets by their metadata",
    .details =
        "All conditions of the expression must hold; they are joined by blanks or AND:\n\n"
        "    key          has that key\n"
        "    !key         has it not\n"
        "    key=value    equal\n"
        "    key!=value   has the key, with another value\n"
        "    key<value    also <=, > and >=\n"
        "    key=a..b     from a to b, both included\n"
        "    key~regex    matches (POSIX extended)\n\n"
        "A value with blanks is quoted, \"so\" or 'so'. Bare values are numbers, times "
        "(2026-11-15, 2026-11-15T10:30Z; UTC without a zone) or else text; quoted ones are text. "
        "Numbers compare with numbers, times with times, text with text. A date or minute stands "
        "for all of it: create_time=2026-11-15 is any time that day, > means after it.\n\n"
        "Keys that are there without asking: create_time, creator, kind (file, path, set, job), "
        "size (takes units: 10MB, 4KiB), version, path of files, name of sets and jobs; of jobs "
        "also state, cpus, memory_mb, time_limit_s, runtime_s, cost_usd, exit_code, machine, run, "
        "input, output, and every argument of the command. Each version of a "
        "file or set is an answer of its own; whole files (/p#*, kind path) answer when the "
        "expression asks for a kind or for a key of theirs. Without --sort answers come by kind "
        "and then as they were made.",
    .example = "tradewind find 'kind=set model=BERT precision>0.5' --max precision",
    .options = find_options,
    .max_operands = SIZE_MAX,
    .run = run_find,
};
