/* tag and untag: keys and values on files and sets. */
#include "base/auto.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "app/core/lake_found.h"
#include "app/core/lake_open.h"
#include "cli/core/progress.h"
#include "lake/core/path.h"
#include "lake/meta/meta.h"
#include "view/json_list.h"
#include "view/table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known ---- */

struct show {
    bool json;
    struct text_look look;
    struct json_list list;
    size_t n;
};

static int show_found(void *context, const struct lake_found *found, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "key", .cut_rank = 1, .least = 20},
        {.title = "value", .cut_rank = 2, .least = 20},
    };
    struct show *s = context;

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->json)
        return json_list_add(&s->list, lake_found_json(found), e);
    AUTO(table) struct table *t = table_new(columns, 2);
    for (size_t i = 0; i < found->n_values; i++) {
        table_put(t, found->values[i].key);
        table_put(t, lake_found_text(&found->values[i]));
    }
    if (s->n++)
        putchar('\n');
    text_paragraph(stdout, found->ref, 0, &s->look);
    table_print(t, stdout, 2, TEXT_COLUMNS, &s->look);
    return 0;
}

static int show(struct lake *l, const struct lake_ref *ref, bool json, struct err *e)
{
    struct show s = {.json = json, .look = text_look_for(stdout)};

    json_list_begin(&s.list, stdout);
    if (lake_describe(l, ref, show_found, &s, e) < 0)
        return -1;
    return json ? json_list_end(&s.list, e) : 0;
}

/* ---- lines ---- */

/* The longest line anyone can mean: a reference and some of the longest values. */
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
        /* No line of ours: it ends the transaction with an error. */
        return "\"";
    }
    return r->line;
}

/* What the lake cannot know. */
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

static int run_lines(const struct command_args *args, struct lake *l, struct err *e)
{
    AUTO_CLEAR(lines) struct lines r = {.state = LINES_GOOD};
    uint64_t tagged;
    char count[32];

    if (args->n_operands > 1)
        return err_set(e, ERR_USAGE, "tag -: keys and values come on the lines, after REF");
    interrupt_watch();
    progress_init(&r.progress, stderr);
    int result = lake_tag_lines(l, next_line, &r, &tagged, e);
    progress_clear(&r.progress);
    if (result < 0)
        return explain(&r, e);
    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_object();
        json_object_set_new(root, "tagged", json_integer((json_int_t)tagged));
        return json_write(stdout, root, e);
    }
    printf("Tagged %s.\n", text_count((size_t)tagged, count));
    return 0;
}

/* ---- commands ---- */

static int run_tag(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = NULL;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    bool look = args->n_operands == 1, json = command_has(args, "--json");

    l = lake_open_here(e);
    if (!l)
        return -1;
    if (strcmp(args->operands[0], "-") == 0)
        return run_lines(args, l, e);
    if (lake_resolve(l, args->operands[0], look ? LAKE_READ : LAKE_WRITE, &ref, e) < 0)
        return -1;
    if (!look && lake_tag(l, &ref, args->operands + 1, args->n_operands - 1, e) < 0)
        return -1;
    return look || json ? show(l, &ref, json, e) : 0;
}

static int run_untag(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = NULL;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    bool json = command_has(args, "--json");

    l = lake_open_here(e);
    if (!l || lake_resolve(l, args->operands[0], LAKE_WRITE, &ref, e) < 0 ||
        lake_untag(l, &ref, args->operands + 1, args->n_operands - 1, e) < 0)
        return -1;
    return json ? show(l, &ref, json, e) : 0;
}

static const struct command_option tag_options[] = {
    {.name = "--json",
     .help = "Print an array of ref, kind and meta: all keys with their values, as find does."},
    {0},
};

const struct command command_tag = {
    .name = "tag",
    .operands = "REF|- [KEY[=VALUE]...]",
    .summary = "Put keys and values on files and sets, or show them",
    .details =
        "KEY=VALUE sets or changes a value, KEY alone a tag without one. Values that look like a "
        "number or a time (2026-11-15, 2026-11-15T10:30Z) compare as such in `tradewind find`. "
        "Without keys everything known about REF is shown.\n\n"
        "/p is the latest version of a file, /p#2 that version, /p#* the file as a whole, @S:1 a "
        "set version; /dir/ and /dir/@S stand for each file below. All is done, or on an error "
        "nothing.\n\n"
        "With - lines \"REF KEY=VALUE ...\" are read from standard input and done together; what "
        "holds blanks is quoted there.",
    .example = "tradewind tag @BERT:3 precision=0.91 reviewed",
    .options = tag_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_tag,
};

const struct command command_untag = {
    .name = "untag",
    .operands = "REF KEY...",
    .summary = "Remove keys from files and sets",
    .details = "A key that is not there is an error, and nothing changes.",
    .example = "tradewind untag @BERT:3 reviewed",
    .options = tag_options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_untag,
};
