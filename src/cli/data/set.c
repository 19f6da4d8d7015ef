/* set: the commands `set create`, `set ls`, `set show`, `set diff` and `alias`. */
#include "base/time.h"
#include "cli/data/data.h"
#include "view/text.h"

#include <inttypes.h>

/* Conflicts that are shown; the others are counted. */
#define CONFLICTS_SHOWN 20

/* "@train:2: 3 files, 1.2 KiB" */
static void print_set(FILE *out, const struct data_set *set)
{
    char files[32], bytes[32];

    fprintf(out, "@%s:%" PRId64 ": %s file%s, %s\n", set->name, set->version,
            text_count((size_t)set->files, files), set->files == 1 ? "" : "s",
            text_bytes(set->bytes, bytes));
}

/* "from @A:1, @B:2", nothing for a set that was made from files. */
static void print_parents(FILE *out, const struct field_list *parents)
{
    for (size_t i = 0; i < parents->n; i++)
        fprintf(out, "%s%s%s", i ? ", " : "from ", parents->items[i],
                i + 1 == parents->n ? "\n" : "");
}

/* ---- set create ---- */

static void print_conflict(const struct operate_text *t, const struct data_conflict *c)
{
    cli_data_print(t, c->path, 0);
    fprintf(t->out, ": #%" PRId64 " of ", c->kept);
    cli_data_print(t, c->kept_of, 0);
    fprintf(t->out, " wins over #%" PRId64 " of ", c->dropped);
    cli_data_print(t, c->dropped_of, 0);
    putc('\n', t->out);
}

static void print_created(struct operate_text *t, const void *record)
{
    const struct data_set_created *made = record;
    const struct data_conflict *conflicts = made->conflicts.items;
    char count[32];

    print_set(t->out, &made->set);
    print_parents(t->out, &made->parents);
    for (size_t i = 0; i < made->conflicts.n && i < CONFLICTS_SHOWN; i++)
        print_conflict(t, &conflicts[i]);
    if (made->n_conflicts > CONFLICTS_SHOWN)
        fprintf(t->out, "and %s more conflicts, in each of which the later reference wins\n",
                text_count((size_t)made->n_conflicts - CONFLICTS_SHOWN, count));
}

const struct command command_set_create = {
    .name = "set create",
    .operands = "NAME REF...",
    .summary = "Create the next version of a file set from files, directories and other sets",
    .details = "A set version is a list of file versions, and never changes. @A @B merges two "
               "sets, @A /new/file updates one (its next version, when NAME is A), /dir/@A takes "
               "the part of one below a directory, /dir/ the latest version of everything below "
               "it. A set never contains two versions of the same file: where two references hold "
               "different ones, the later reference wins and the command says so.",
    .example = "tradewind set create train @raw /data/labels.json",
    .operation = &set_create_operation,
    .text = &(const struct command_text){.head = print_created},
    .is_long = true,
};

/* ---- set ls ---- */

static const struct command_option ls_options[] = {
    {.name = "--long", .letter = 'l', .help = "Also list permissions, owner and group."},
    {0},
};

const struct command command_set_ls = {
    .name = "set ls",
    .operands = "[NAME]",
    .summary = "List file sets",
    .example = "tradewind set ls --all train",
    .options = ls_options,
    .operation = &set_list_operation,
    .text =
        &(const struct command_text){.empty = "There are no sets; tradewind set create makes one."},
    .is_long = true,
};

/* ---- set show ---- */

static void print_shown(struct operate_text *t, const void *record)
{
    const struct data_set_shown *shown = record;
    const struct data_set *set = &shown->set;
    char time[32], mode[10];

    print_set(t->out, set);
    fprintf(t->out, "created %s by ", time_iso(set->created_ms, time));
    cli_data_print(t, set->creator, 0);
    fprintf(t->out, "\n%s, owner ", cli_data_rights_text(set->mode, false, mode));
    cli_data_print(t, set->owner, 0);
    fputs(set->group ? ", group " : "", t->out);
    cli_data_print(t, set->group ? set->group : "", 0);
    putc('\n', t->out);
    print_parents(t->out, &shown->parents);
}

static void print_entry(struct operate_text *t, const void *record)
{
    const struct data_set_file *f = record;
    char bytes[32], number[32];

    snprintf(number, sizeof number, "#%" PRId64, f->version);
    fprintf(t->out, "%6s  %10s  ", number, text_bytes(f->bytes, bytes));
    cli_data_print(t, f->path, 0);
    putc('\n', t->out);
}

const struct command command_set_show = {
    .name = "set show",
    .operands = "@SET[:VERSION]",
    .summary = "Show the files of a set version and the sets it was made from",
    .details = "/dir/@SET shows the files below a directory.",
    .example = "tradewind set show @train:2",
    .operation = &set_get_operation,
    .text = &(const struct command_text){.head = print_shown, .item = print_entry},
    .is_long = true,
};

/* ---- set diff ---- */

static void print_change(struct operate_text *t, const void *record)
{
    const struct data_set_change *c = record;

    fprintf(t->out, "%c ", c->change == DATA_ADDED ? '+' : c->change == DATA_REMOVED ? '-' : '~');
    cli_data_print(t, c->path, 0);
    if (c->change == DATA_CHANGED)
        fprintf(t->out, " #%" PRId64 " -> #%" PRId64 "\n", c->before, c->after);
    else
        fprintf(t->out, " #%" PRId64 "\n", c->change == DATA_ADDED ? c->after : c->before);
}

const struct command command_set_diff = {
    .name = "set diff",
    .operands = "@SET[:VERSION] @SET[:VERSION]",
    .summary = "List the files in which two set versions differ",
    .details =
        "Prints a line for each file that differs: + added, - removed, ~ in another version.",
    .example = "tradewind set diff @train:1 @train:2",
    .operation = &set_diff_operation,
    .text = &(const struct command_text){.item = print_change,
                                         .empty = "The same files in the same versions."},
    .is_long = true,
};

/* ---- alias ---- */

static void print_alias(struct operate_text *t, const void *record)
{
    const struct data_alias *a = record;

    fprintf(t->out, "@%s:%s stands for @%s:%" PRId64 "\n", a->set, a->alias, a->set, a->version);
}

static void print_alias_removed(struct operate_text *t, const void *record)
{
    const struct data_alias_removed *removed = record;

    fprintf(t->out, "%s is removed; the set version stays\n", removed->alias);
}

static const struct command_text list_text = {
    .empty = "There are no aliases; tradewind alias @SET:3 NAME makes one."};
static const struct command_text set_text = {.head = print_alias};
static const struct command_text removed_text = {.head = print_alias_removed};

static int run_alias(const struct command_args *args, struct err *e)
{
    const char *removed = command_value(args, "--remove");

    if (args->n_operands == 1 || (removed && args->n_operands > 0))
        return err_set(e, ERR_USAGE,
                       "alias takes a set version and a name (alias @SET:3 NAME), --remove "
                       "@SET:NAME, or nothing to list them");
    if (!removed)
        return args->n_operands == 0 ? operate_with(args, &alias_list_operation, &list_text, e)
                                     : operate_with(args, &alias_set_operation, &set_text, e);
    struct command_args named = *args;
    named.operands = &removed;
    named.n_operands = 1;
    return operate_with(&named, &alias_remove_operation, &removed_text, e);
}

static const struct command_option alias_options[] = {
    {.name = "--remove", .value = "@SET:NAME", .help = "Remove an alias; the set version stays."},
    {0},
};

const struct command command_alias = {
    .name = "alias",
    .operands = "[@SET:VERSION NAME]",
    .summary = "Give a set version an alias, as in @S:prod",
    .details = "The alias stands for that version until it is given to another one. Without "
               "operands all aliases are listed.",
    .example = "tradewind alias @train:3 prod",
    .options = alias_options,
    .operation = &alias_list_operation,
    .max_operands = 2,
    .run = run_alias,
};
