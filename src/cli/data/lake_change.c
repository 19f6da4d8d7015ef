/* lake_change: rm, chmod and chown. */
#include "base/json.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "lake/core/files.h"
#include "view/text.h"

#include <stdint.h>
#include <stdio.h>

static int run_rm(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = lake_open_here(e);
    struct lake_remove_options options = {
        .recursive = command_has(args, "--recursive"),
        .replayable = command_has(args, "--replayable"),
    };
    uint64_t removed;
    char count[32];

    if (!l || lake_remove(l, args->operands, args->n_operands, &options, &removed, e) < 0)
        return -1;
    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_object();
        json_object_set_new(root, "removed_versions", json_integer((json_int_t)removed));
        return json_write(stdout, root, e);
    }
    printf("Removed %s version%s.\n", text_count((size_t)removed, count), removed == 1 ? "" : "s");
    return 0;
}

/* Both are silent as their namesakes, unless they are asked. */
static int report_change(const struct command_args *args, const char *what, struct err *e)
{
    if (!command_has(args, "--json"))
        return 0;
    AUTO_JSON json_t *root = json_object();
    json_t *refs = json_array();
    json_object_set_new(root, what, json_text(args->operands[0]));
    json_object_set_new(root, "refs", refs);
    for (size_t i = 1; i < args->n_operands; i++)
        json_array_append_new(refs, json_text(args->operands[i]));
    return json_write(stdout, root, e);
}

static int run_chmod(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l || lake_chmod(l, args->operands[0], args->operands + 1, args->n_operands - 1, e) < 0)
        return -1;
    return report_change(args, "mode", e);
}

static int run_chown(const struct command_args *args, struct err *e)
{
    AUTO(lake) struct lake *l = lake_open_here(e);

    if (!l || lake_chown(l, args->operands[0], args->operands + 1, args->n_operands - 1, e) < 0)
        return -1;
    return report_change(args, "owner", e);
}

static const struct command_option rm_options[] = {
    {.name = "--recursive", .letter = 'r', .help = "Directories with everything below them."},
    {.name = "--replayable",
     .help = "Also versions that a job used, which could then not be repeated as it was."},
    {.name = "--json", .help = "Print an object with removed_versions."},
    {0},
};

const struct command command_rm = {
    .name = "rm",
    .operands = "REF...",
    .summary = "Take files, versions or set versions out of the lake",
    .details =
        "/p removes a file with all its versions, /p#2 that version, @S:3 that version of a set "
        "(@S "
        "the latest), from which no other may have been made. All of it happens, or on an error "
        "nothing.\n\n"
        "Numbers are never given again: a file that is put once more goes on counting. Sets that "
        "hold a removed version keep it, and content stays until `tradewind gc` finds that nothing "
        "needs it.",
    .example = "tradewind rm /data/train.json#2",
    .options = rm_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_rm,
};

static const struct command_option chmod_options[] = {
    {.name = "--json", .help = "Print mode and refs, as given."},
    {0},
};

const struct command command_chmod = {
    .name = "chmod",
    .operands = "MODE REF...",
    .summary = "Change who may read and write files and sets",
    .details = "MODE is three digits for owner, group and others, each the sum of 4 (read) and 2 "
               "(write), or changes as in chmod(1): o-w, g=r,o=. New files and sets have 666: the "
               "whole project may read and write. Directories stand for the files below them.",
    .example = "tradewind chmod o-w /data/train.json",
    .options = chmod_options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_chmod,
};

static const struct command_option chown_options[] = {
    {.name = "--json", .help = "Print owner and refs, as given."},
    {0},
};

const struct command command_chown = {
    .name = "chown",
    .operands = "OWNER[:GROUP] REF...",
    .summary = "Change owner and group of files and sets",
    .details = "OWNER, OWNER:GROUP or :GROUP; with nothing behind the colon there is no group. "
               "Directories stand for the files below them.",
    .example = "tradewind chown ann:vision /data/",
    .options = chown_options,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .run = run_chown,
};
