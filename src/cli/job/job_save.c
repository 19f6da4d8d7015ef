/* job_save: the commands `job save` and `job rm`. */
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"
#include "view/text.h"

/* ---- job save ---- */

static void print_saved(struct operate_text *t, const void *record)
{
    const struct app_job_saved *saved = record;
    const struct app_job_renamed *renamed = saved->renamed.items;
    long long id = (long long)saved->id;

    for (size_t i = 0; i < saved->renamed.n; i++)
        fprintf(t->out, "%s is %s now\n", renamed[i].from, renamed[i].to);
    if (saved->was_saved)
        fprintf(t->out, "job %lld was saved already%s%s\n", id, saved->output ? ": output " : "",
                saved->output ? saved->output : "");
    else if (saved->output)
        fprintf(t->out, "job %lld finished; output %s\n", id, saved->output);
    else
        fprintf(t->out, "job %lld finished; its output is empty\n", id);
}

const struct command command_job_save = {
    .name = "job save",
    .operands = "ID",
    .summary = "Store the output of an unsaved job",
    .details = "The output of a job that ended well and could not be stored stays in its "
               "directory, and the job is unsaved. Tradewind stores it by itself once a full disk "
               "has room or a store answers again; anything else is for this command. The job "
               "then counts as finished: run --resume takes its output.",
    .example = "tradewind job save 7 --output models --rename",
    .operation = &job_save_operation,
    .text = &(const struct command_text){.head = print_saved},
    .is_long = true,
};

/* ---- job rm ---- */

static void print_removed(struct operate_text *t, const void *record)
{
    const struct app_job_removed *job = record;
    char size[32];

    fprintf(t->out, "job %lld is removed, with %s: %s\n", (long long)job->id,
            job->was_unsaved ? "its unsaved output" : "its log", text_bytes(job->bytes, size));
}

const struct command command_job_rm = {
    .name = "job rm",
    .operands = "ID...",
    .summary = "Remove jobs that are over and that nothing needs",
    .details = "Removes log, record, metadata and metrics, all jobs or none; the output of an "
               "unsaved job goes, too. A job stays while a set version that it made is there, "
               "while its run is not over, and while another job continues its checkpoint. Bills "
               "keep what it cost.",
    .example = "tradewind job rm 7 8",
    .operation = &job_remove_operation,
    .text = &(const struct command_text){.item = print_removed},
};
