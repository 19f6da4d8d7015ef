/* machines: the commands that list machines and terminate orphaned ones. */
#include "app/admin/admin.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- machines ls ---- */

static void end_list(struct operate_text *t)
{
    if (t->n_items == 0)
        fprintf(t->out, "%s\n",
                command_has(t->args, "--all") ? "No machine was ever launched."
                                              : "No machine is running.");
}

const struct command command_machines_ls = {
    .name = "machines ls",
    .summary = "List machines, their cost so far, and the jobs they run",
    .details = "Tradewind records a machine before it launches it and lists it until its cloud has "
               "confirmed that it is gone; --all lists it after that, too. Times of simulated "
               "machines are virtual.",
    .example = "tradewind machines ls --all",
    .operation = &machine_list_operation,
    .text = &(const struct command_text){.end = end_list},
};

/* ---- machines cleanup ---- */

static void print_orphan(struct operate_text *t, const void *record)
{
    const struct admin_orphan *o = record;
    const struct admin_machine *m = &o->machine;
    bool is_job = m->job && !m->run;

    fprintf(t->out, "%s %s in %s", m->cloud, m->type, m->location);
    if (m->job || m->run)
        fprintf(t->out, ", %s %" PRId64, is_job ? "job" : "run", is_job ? m->job : m->run);
    fprintf(t->out, ": %s", o->found);
    if (o->error)
        fprintf(t->out, "; not terminated yet: %s", o->error);
    else if (o->forgotten)
        fprintf(t->out, "; released without an answer");
    else if (command_has(t->args, "--yes"))
        fprintf(t->out, "; terminated");
    fputc('\n', t->out);
}

static void end_cleanup(struct operate_text *t)
{
    if (t->n_items && !command_has(t->args, "--yes"))
        fputs("Nothing was done: --yes terminates them.\n", t->out);
}

const struct command command_machines_cleanup = {
    .name = "machines cleanup",
    .former = "machines sweep",
    .summary = "Terminate orphaned machines",
    .details =
        "Compares the records with what each cloud lists, both ways. A machine is orphaned when "
        "its run or job is over, when its lease has expired, or when it carries this home's tag "
        "and has no record. The host of a running job belongs to that job, whatever its lease "
        "says. Without --yes the command only lists orphaned machines. It can be repeated at any "
        "time; the exit code is 6 while a cloud has not confirmed that all of them are gone.\n\n"
        "The command covers the hosts of the configuration and simulations whose process was "
        "killed. It ends and removes what a job left on a host before it releases the host. A "
        "host that does not answer stays reserved, so that no other job is sent there, and its "
        "job pays for it until its lease expires. --forget HOST releases the host without an "
        "answer; processes may go on there. Remove the host from the configuration then, or the "
        "next job tries it.\n\n"
        "It also deletes functions that `tradewind geo deploy` made and no record has, and what a "
        "`tradewind geo destroy` could not delete, in every region where this home deployed any.",
    .example = "tradewind machines cleanup --yes",
    .operation = &machine_cleanup_operation,
    .text = &(const struct command_text){.item = print_orphan,
                                         .end = end_cleanup,
                                         .empty = "No machine is orphaned."},
};
