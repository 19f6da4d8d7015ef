/* file_ls: the commands `ls` and `log`. */
#include "base/time.h"
#include "cli/data/data.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>

/* Of everything that -l prints before the path. */
#define DETAILS_COLUMNS 71

/* "2026-11-15 22:36" */
static const char *time_short(int64_t epoch_ms, char out[static 32])
{
    time_iso(epoch_ms, out);
    if (strlen(out) > 16) {
        out[10] = ' ';
        out[16] = 0;
    }
    return out;
}

/* "    #2     1.2 KiB  2026-11-15 22:36  " */
static void print_version(FILE *out, const struct data_file *f)
{
    char size[32], time[32], number[32];

    snprintf(number, sizeof number, "#%" PRId64, f->version);
    fprintf(out, "%6s  %10s  %s  ", number, text_bytes(f->bytes, size),
            time_short(f->created_ms, time));
}

static void print_file(struct operate_text *t, const void *record)
{
    const struct data_file *f = record;
    char mode[10];

    if (command_has(t->args, "--long") && f->version == FIELD_NONE) {
        fprintf(t->out, "%*s", DETAILS_COLUMNS, "");
    } else if (command_has(t->args, "--long")) {
        fprintf(t->out, "%s  ", cli_data_rights_text(f->mode, f->executable, mode));
        cli_data_print(t, f->owner, 10);
        fputs("  ", t->out);
        cli_data_print(t, f->group ? f->group : "-", 8);
        fputs("  ", t->out);
        print_version(t->out, f);
    }
    cli_data_print(t, f->path, 0);
    putc('\n', t->out);
}

const struct command command_ls = {
    .name = "ls",
    .operands = "[REF]",
    .summary = "List files in the lake",
    .details = "Lists a directory (/ when none is named), one version of a file (/p, /p#2), or the "
               "files of a set (@S, @S:1, /dir/@S).",
    .example = "tradewind ls -r /data/",
    .operation = &file_list_operation,
    .text = &(const struct command_text){.item = print_file},
    .is_long = true,
};

static void print_history(struct operate_text *t, const void *record)
{
    const struct data_file *f = record;

    print_version(t->out, f);
    cli_data_print(t, f->creator, 16);
    fprintf(t->out, "  %.16s%s\n", f->sha256,
            f->removed && f->gone ? "  removed, content gone"
            : f->removed          ? "  removed"
            : f->gone             ? "  content gone"
                                  : "");
}

const struct command command_log = {
    .name = "log",
    .operands = "/PATH",
    .summary = "Show all versions of a file, the newest first",
    .details = "Shows version, size, time (UTC), creator and the first digits of the SHA-256 of "
               "each version, and which versions are removed.",
    .example = "tradewind log /data/train.json",
    .operation = &file_history_operation,
    .text = &(const struct command_text){.item = print_history},
    .is_long = true,
};
