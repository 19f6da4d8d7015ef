/* doctor: the commands that check the installation and the accounts of clouds. */
#include "app/admin/admin.h"
#include "base/buf.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_MAX_BYTES 4000
#define VERDICT_COLUMNS 9

/* The verdict stands in the margin of the paragraph. */
static void print_line(FILE *out, const char *verdict, const char *text)
{
    const struct text_look look = text_look_for(out);
    char *lines = NULL;
    size_t n = 0;
    FILE *paragraph = open_memstream(&lines, &n);

    if (!paragraph)
        return;
    text_paragraph(paragraph, text, VERDICT_COLUMNS, &look);
    fclose(paragraph);
    if (n > VERDICT_COLUMNS)
        fprintf(out, "%-*s%s", VERDICT_COLUMNS, verdict, lines + VERDICT_COLUMNS);
    free(lines);
}

static void print_report(struct operate_text *t, const void *record)
{
    const struct doctor_report *report = record;
    const struct doctor_check *checks = report->checks.items;

    for (size_t i = 0; i < report->checks.n; i++) {
        const struct doctor_check *c = &checks[i];
        AUTO_CLEAR(buf) struct buf text;
        buf_init(&text, LINE_MAX_BYTES);
        buf_printf(&text, "%*s%s: %s%s%s", VERDICT_COLUMNS, "", c->check, c->found,
                   *c->fix ? "; " : "", c->fix);
        print_line(t->out, doctor_verdicts[c->verdict], buf_str(&text));
    }
}

static int exit_code(const void *head)
{
    return ((const struct doctor_report *)head)->ok ? 0 : 1;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Check what is installed and works here, and what is missing",
    .details =
        "Prints one line per check: ok, warning, missing (optional on this machine) or broken, "
        "with the fix. Runs a job that does nothing, to see which limits hold; tries the hosts of "
        "the configuration, five seconds each; shows where credentials were found, never their "
        "values. The exit code is 1 when jobs cannot run here.",
    .example = "tradewind doctor",
    .operation = &doctor_operation,
    .text = &(const struct command_text){.head = print_report, .exit_code = exit_code},
};

const struct command command_clouds_check = {
    .name = "clouds check",
    .summary = "Check the account of a cloud, and what is missing in it",
    .details =
        "Asks AWS, Azure or Google Cloud, changes nothing there, and prints one line per check: "
        "where the credentials were found and whose they are, regions, the network and the quotas "
        "of one "
        "region, and which permissions Tradewind lacks, with the fix. Shows no secret. The exit "
        "code is 1 when something is missing.",
    .example = "tradewind clouds check --region eu-west-1",
    .operation = &cloud_check_operation,
    .text = &(const struct command_text){.head = print_report, .exit_code = exit_code},
};
