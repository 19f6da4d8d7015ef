/* clean: the commands `gc`, `fsck` and `pin`. */
#include "cli/data/data.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>

/* Versions and sets that people see; --json lists all. */
#define VERSIONS_SHOWN 20
#define SETS_SHOWN 40

/* ---- gc ---- */

static void print_versions(struct operate_text *t, const void *record)
{
    const struct data_gc *gc = record;
    const struct lake_gc_summary *s = &gc->sum;
    char count[32], bytes[32];

    memcpy(t->state, gc, sizeof *gc);
    if (s->versions || s->objects)
        fprintf(t->out, "%s the content of %s file %s in no set, job or pin, %s\n",
                gc->removed ? "Removed" : "Would remove", text_count((size_t)s->versions, count),
                s->versions == 1 ? "version" : "versions", text_bytes(s->bytes, bytes));
}

static void print_version(struct operate_text *t, const void *record)
{
    const struct data_gc_file *f = record;
    char bytes[32];

    fprintf(t->out, "  %s  %s\n", f->ref, text_bytes(f->bytes, bytes));
}

static void print_rest(struct operate_text *t)
{
    const struct data_gc *gc = t->state;
    const struct lake_gc_summary *s = &gc->sum;
    char count[32], bytes[32];

    if (t->more)
        fprintf(t->out, "  and %s more (--json lists all)\n",
                text_count((size_t)s->versions - VERSIONS_SHOWN, count));
    if (s->latest_versions)
        fprintf(t->out,
                "%s of them %s the newest of a listed file: keep %s with `tradewind pin`, a set "
                "or --keep-latest.\n",
                text_count((size_t)s->latest_versions, count),
                s->latest_versions == 1 ? "is" : "are", s->latest_versions == 1 ? "it" : "them");
    if (s->leftovers)
        fprintf(t->out, "%s %s %s of interrupted writers, %s\n",
                gc->removed ? "Removed" : "Would remove", text_count((size_t)s->leftovers, count),
                s->leftovers == 1 ? "leftover" : "leftovers", text_bytes(s->leftover_bytes, bytes));
    if (s->rewritten_bytes)
        fprintf(t->out, "Packs rewritten: %s moved\n", text_bytes(s->rewritten_bytes, bytes));
    if (s->busy)
        fprintf(t->out, "%s skipped: another process writes there\n",
                text_count((size_t)s->busy, count));
    if (gc->jobs.logs)
        fprintf(t->out,
                "Logs of %s %s take %s; `tradewind job rm ID...` removes jobs with theirs.\n",
                text_count((size_t)gc->jobs.logs, count), gc->jobs.logs == 1 ? "job" : "jobs",
                text_bytes(gc->jobs.log_bytes, bytes));
    if (gc->jobs.outputs)
        fprintf(t->out,
                "Outputs of %s unsaved or failed %s, which are in no set, take %s; `tradewind job "
                "save` and `job rm` are for them.\n",
                text_count((size_t)gc->jobs.outputs, count), gc->jobs.outputs == 1 ? "job" : "jobs",
                text_bytes(gc->jobs.output_bytes, bytes));
    if (!s->versions && !s->objects && !s->leftovers)
        fputs("Nothing to remove.\n", t->out);
    else if (!gc->removed)
        fputs("Nothing was removed; `tradewind gc --yes` removes it.\n", t->out);
}

/* ---- gc --economic ---- */

static void print_terms(struct operate_text *t, const void *record)
{
    const struct data_gc_economic *s = record;

    memcpy(t->state, s, sizeof *s);
    if (s->n_sets)
        fprintf(t->out, "Sets that jobs made, at $%g per GB-month (%s), kept for %g %s:\n\n",
                s->gb_month_usd, s->price_basis, s->horizon_months,
                s->horizon_months > 1 || s->horizon_months < 1 ? "months" : "month");
}

/* The command that removes what this one only showed, on the same terms. */
static void print_hint(const struct operate_text *t)
{
    fputs("Nothing was removed; this removes it:\n  tradewind gc", t->out);
    for (size_t i = 0; i < t->args->n_given; i++)
        fprintf(t->out, " %s%s%s", t->args->given[i].option->name,
                t->args->given[i].value ? " " : "",
                t->args->given[i].value ? t->args->given[i].value : "");
    fputs(" --yes\n", t->out);
}

static void print_verdict(struct operate_text *t)
{
    const struct data_gc_economic *s = t->state;
    char text[32];

    if (!s->n_sets) {
        fputs("No set that a job made could lose its content.\n", t->out);
        return;
    }
    if (t->more)
        fprintf(t->out, "and %" PRIu64 " more (--json lists all)\n", s->n_sets - SETS_SHOWN);
    putc('\n', t->out);
    if (s->n_going == 0) {
        fputs("None is cheaper to recreate than to keep.\n", t->out);
    } else if (s->removed) {
        fprintf(t->out,
                "Removed the content of %" PRIu64 " %s, %s. Versions, digests and provenance stay; "
                "`tradewind\nreplay` recreates the content.\n",
                s->n_going, s->n_going == 1 ? "set" : "sets", text_bytes(s->bytes, text));
    } else {
        fprintf(t->out, "Would remove the content of %" PRIu64 " %s, %s. ", s->n_going,
                s->n_going == 1 ? "set" : "sets", text_bytes(s->own_bytes, text));
        print_hint(t);
    }
}

static const struct command_text gc_text = {.head = print_versions,
                                            .item = print_version,
                                            .end = print_rest,
                                            .state_size = sizeof(struct data_gc)};
static const struct command_text economic_text = {
    .head = print_terms, .end = print_verdict, .state_size = sizeof(struct data_gc_economic)};

static int run_gc(const struct command_args *args, struct err *e)
{
    bool is_economic = command_has(args, "--economic");
    const struct operation *op = is_economic ? &lake_gc_economic_operation : &lake_gc_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    if (is_economic && command_has(args, "--keep-latest"))
        return err_set(e, ERR_USAGE,
                       "--keep-latest has no effect on --economic, which only removes the content "
                       "of sets: pin what must stay");
    if (!is_economic && (command_value(args, "--horizon") || command_value(args, "--gb-month")))
        return err_set(e, ERR_USAGE, "--horizon and --gb-month need --economic");
    if (!command_has(args, "--json") && !command_has(args, "--csv"))
        json_object_set_new(request, "limit",
                            json_integer(is_economic ? SETS_SHOWN : VERSIONS_SHOWN));
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    return operate_call(args, terminal, op, request, is_economic ? &economic_text : &gc_text, e);
}

static const struct command_option gc_options[] = {
    {.name = "--economic",
     .help = "Instead, remove the content of sets that their jobs make again for less than storage "
             "costs."},
    {0},
};

const struct command command_gc = {
    .name = "gc",
    .summary = "Remove content that no set, job, pin or upload session needs",
    .details = "Lists the content that --yes removes. Files that are in no set are removed as "
               "well, the newest version included, unless they are pinned or --keep-latest is "
               "given.\n\n"
               "Versions keep their numbers, digests and provenance: only their bytes are removed, "
               "and putting the same content again restores them. Leftovers of interrupted "
               "commands are removed, too, once their session is over. "
               "Other commands may run at the same time.\n\n"
               "With --economic, the command compares for each set that a job made, unless the set "
               "is pinned or has an alias: what it costs to keep the content that only this set "
               "holds (--horizon, --gb-month), and what its jobs cost. Sets that are cheaper to "
               "make again lose their "
               "content, and `tradewind replay` restores it. With --json it prints gb_month_usd, "
               "price_basis, horizon_months and sets: set, job, own_bytes, keep_usd_per_month, "
               "keep_usd, replay_usd, replay_s, replay_jobs, goes and why.",
    .example = "tradewind gc --keep-latest",
    .options = gc_options,
    .operation = &lake_gc_operation,
    .also = &lake_gc_economic_operation,
    .is_long = true,
    .run = run_gc,
};

/* ---- fsck ---- */

static void print_problem(struct operate_text *t, const void *record)
{
    const struct data_problem *p = record;

    text_paragraph(t->out, p->text, 4, &(struct text_look){.utf8 = t->look.utf8});
}

static void print_fsck(struct operate_text *t, const void *record)
{
    const struct lake_fsck_summary *s = record;
    char files[32], bytes[32], count[32];

    fprintf(t->out, "%s file %s read and verified, %s; ", text_count((size_t)s->files, files),
            s->files == 1 ? "version" : "versions", text_bytes(s->bytes, bytes));
    if (s->problems)
        fprintf(t->out, "%s %s\n", text_count((size_t)s->problems, count),
                s->problems == 1 ? "problem" : "problems");
    else
        fputs("no problems\n", t->out);
    if (s->modes_fixed)
        fprintf(t->out, "%s %s others could read or write %s closed to them.\n",
                text_count((size_t)s->modes_fixed, count),
                s->modes_fixed == 1 ? "file or directory that" : "files and directories that",
                s->modes_fixed == 1 ? "is" : "are");
    if (s->leftovers)
        fprintf(t->out,
                "%s %s of interrupted writers, %s: `tradewind gc --yes` removes them once their "
                "session is over.\n",
                text_count((size_t)s->leftovers, count),
                s->leftovers == 1 ? "leftover" : "leftovers", text_bytes(s->leftover_bytes, bytes));
}

static int fsck_exit_code(const void *head)
{
    return ((const struct lake_fsck_summary *)head)->problems ? err_exit_code(ERR_IO) : 0;
}

const struct command command_fsck = {
    .name = "fsck",
    .summary = "Read everything in the lake and verify it against its digests",
    .details = "Checks the database, the numbering of versions, sets and provenance, and reads all "
               "content. Each problem names the file versions it concerns. Exit code 7 when there "
               "are problems.",
    .example = "tradewind fsck",
    .operation = &lake_fsck_operation,
    .text = &(const struct command_text){.head = print_fsck,
                                         .item = print_problem,
                                         .exit_code = fsck_exit_code},
    .is_long = true,
};

/* ---- pin ---- */

static void print_pin(struct operate_text *t, const void *record)
{
    fprintf(t->out, "%s\n", ((const struct data_ref *)record)->ref);
}

static int run_pin(const struct command_args *args, struct err *e)
{
    static const struct command_text list_text = {
        .item = print_pin, .empty = "Nothing is pinned; tradewind pin REF pins something."};
    bool remove = command_has(args, "--remove");

    if (remove && !args->n_operands)
        return err_set(e, ERR_USAGE, "pin --remove: name what to unpin");
    if (!args->n_operands)
        return operate_with(args, &pin_list_operation, &list_text, e);
    return operate_with(args, remove ? &pin_remove_operation : &pin_add_operation, &operate_silent,
                        e);
}

static const struct command_option pin_options[] = {
    {.name = "--remove", .help = "Unpin them."},
    {0},
};

const struct command command_pin = {
    .name = "pin",
    .operands = "[REF...]",
    .summary = "Pin file versions and set versions, so that gc keeps them, or list the pins",
    .details = "/p pins the version that is the latest now, /p#2 that version, @S:1 a set version "
               "with all its files. A pin does not cover versions that are put later.",
    .example = "tradewind pin /models/bert.bin#3 @release:2",
    .options = pin_options,
    .operation = &pin_list_operation,
    .max_operands = SIZE_MAX,
    .run = run_pin,
};
