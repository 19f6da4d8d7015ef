/* file_change: the commands `rm`, `chmod` and `chown`. */
#include "cli/data/data.h"
#include "view/text.h"

static void print_removed(struct operate_text *t, const void *record)
{
    const struct data_removed *removed = record;
    char count[32];

    fprintf(t->out, "Removed %s version%s.\n", text_count((size_t)removed->versions, count),
            removed->versions == 1 ? "" : "s");
}

const struct command command_rm = {
    .name = "rm",
    .operands = "REF...",
    .summary = "Remove files, file versions or set versions from the lake",
    .details =
        "/p removes a file with all its versions, /p#2 that version, @S:3 that version of a set "
        "(@S the latest) unless another set was made from it. On an error nothing is removed.\n\n"
        "Version numbers are not reused: a file that is put again continues its count. Sets that "
        "contain a removed version keep it, and content stays until `tradewind gc` finds that "
        "nothing needs it.",
    .example = "tradewind rm /data/train.json#2",
    .operation = &file_remove_operation,
    .text = &(const struct command_text){.head = print_removed},
};

const struct command command_chmod = {
    .name = "chmod",
    .operands = "MODE REF...",
    .summary = "Change who may read and write files and sets",
    .details = "MODE is three digits for owner, group and others, each the sum of 4 (read) and 2 "
               "(write), or changes as in chmod(1): o-w, g=r,o=. New files and sets have 666: the "
               "whole project may read and write. A directory stands for the files below it.",
    .example = "tradewind chmod o-w /data/train.json",
    .operation = &file_chmod_operation,
    .text = &operate_silent,
};

const struct command command_chown = {
    .name = "chown",
    .operands = "OWNER[:GROUP] REF...",
    .summary = "Change the owner and group of files and sets",
    .details = "Give OWNER, OWNER:GROUP or :GROUP. An empty group after the colon removes the "
               "group. A directory stands for the files below it.",
    .example = "tradewind chown ann:vision /data/",
    .operation = &file_chown_operation,
    .text = &operate_silent,
};
