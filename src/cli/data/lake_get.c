#include "app/core/lake_open.h"
#include "base/json.h"
#include "cli/core/commands.h"
#include "cli/core/lake_progress.h"
#include "cli/core/operate.h"
#include "cli/run/run.h"
#include "lake/put/put.h"
#include "view/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int show_get(const struct lake_get_summary *s, bool json, struct err *e)
{
    char files[32], bytes[32], number[32];

    if (json) {
        AUTO_JSON json_t *root = json_pack(
            "{s:I, s:I, s:I, s:I}", "files", (json_int_t)s->files, "bytes", (json_int_t)s->bytes,
            "unchanged", (json_int_t)s->unchanged, "linked", (json_int_t)s->linked);
        return json_write(stdout, root, e);
    }
    printf("%s file%s, %s", text_count((size_t)s->files, files), s->files == 1 ? "" : "s",
           text_bytes(s->bytes, bytes));
    if (s->linked)
        printf("; %s linked", text_count((size_t)s->linked, number));
    if (s->unchanged)
        printf("; %s unchanged", text_count((size_t)s->unchanged, number));
    putchar('\n');
    return 0;
}

static int run_get(const struct command_args *args, struct err *e)
{
    struct lake_progress_line line;
    struct lake_get_summary summary;
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l)
        return -1;
    const struct lake_get_options options = {
        .refs = args->operands,
        .n_refs = args->n_operands - 1,
        .directory = args->operands[args->n_operands - 1],
        .force = command_has(args, "--force"),
        .link = command_has(args, "--link"),
        .progress = lake_progress_begin(&line, "fetching"),
    };
    int result = lake_get(l, &options, &summary, e);
    lake_progress_end(&line);
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    if (result < 0 && e->kind == ERR_NOTFOUND &&
        cli_run_offer_replay(operate_app(door), options.refs, options.n_refs,
                             command_has(args, "--json"), e) > 0)
        result = lake_get(l, &options, &summary, e);
    return result < 0 ? -1 : show_get(&summary, command_has(args, "--json"), e);
}

static const struct command_option get_options[] = {
    {.name = "--force", .help = "Overwrite files that differ."},
    {.name = "--link", .help = "Share storage with the lake (reflink, or read-only hard links)."},
    {.name = "--json", .help = "Print files, bytes, unchanged and linked as one object."},
    {0},
};

const struct command command_get = {
    .name = "get",
    .operands = "REF... DIR",
    .summary = "Write files of the lake below a directory",
    .details = "Recreates the full path of every file below DIR, without version numbers. Looks "
               "first: when files there differ, nothing is written unless --force. Files that are "
               "the same are not touched. Every content is verified; nothing is written through "
               "symbolic links inside DIR. Small files share storage with others and are copied "
               "even with --link.",
    .example = "tradewind get @Corpus:2 work",
    .options = get_options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_get,
};

static int to_stdout(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    if (fwrite(bytes, 1, n, stdout) == n)
        return 0;
    return err_set(e, ERR_IO, "write output: %s", strerror(errno));
}

static int run_cat(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l || lake_resolve(l, args->operands[0], LAKE_READ, &ref, e) < 0)
        return -1;
    return lake_cat(l, &ref, to_stdout, NULL, e);
}

const struct command command_cat = {
    .name = "cat",
    .operands = "REF",
    .summary = "Print the content of a file version",
    .details = "Nothing is printed that was not verified first.",
    .example = "tradewind cat /data/train.json#2",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_cat,
};
