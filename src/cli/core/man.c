/* man: the manual page tradewind(1), made from the command table; help --man prints it. */
#include "cli/core/help.h"

#include <string.h>

/* Text as roff shows it unchanged: no requests at the line's begin, ASCII quotes and dashes. */
static void put_text(FILE *out, const char *text, size_t len)
{
    static const char special[] = "\\-'`^~";
    static const char *const roff[] = {"\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"};

    if (len && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < len; i++) {
        const char *at = strchr(special, text[i]);
        if (at)
            fputs(roff[at - special], out);
        else
            putc(text[i], out);
    }
}

static void put(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
}

/* font: 'B' (bold) or 'I' (italic). */
static void put_in(FILE *out, char font, const char *text)
{
    fprintf(out, "\\f%c", font);
    put(out, text);
    fputs("\\fR", out);
}

/* Details of a command; the layout is that of struct command. */
static void put_paragraphs(FILE *out, const char *text)
{
    bool fresh = true;

    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        if (!len) {
            fputs(".PP\n", out);
            fresh = true;
            continue;
        }
        bool as_it_stands = text[0] == ' ';
        fputs(as_it_stands ? ".EX\n" : fresh ? "" : ".br\n", out);
        put_text(out, text, len);
        fputs(as_it_stands ? "\n.EE\n" : "\n", out);
        fresh = false;
    }
}

static void put_entries(FILE *out, const char *title, const struct help_entry *entries)
{
    fprintf(out, ".SH %s\n", title);
    for (; entries->term; entries++) {
        fputs(".TP\n", out);
        put_in(out, 'B', entries->term);
        putc('\n', out);
        put(out, entries->text);
        putc('\n', out);
    }
}

static void put_option(FILE *out, const struct command_option *o)
{
    char letter[] = {'-', o->letter, 0};

    fputs(".TP\n", out);
    if (o->letter) {
        put_in(out, 'B', letter);
        fputs(", ", out);
    }
    put_in(out, 'B', o->name);
    if (o->value) {
        putc(' ', out);
        put_in(out, 'I', o->value);
    }
    putc('\n', out);
    put(out, o->help);
    fputs(o->repeatable ? " May be repeated.\n" : "\n", out);
}

static void put_command(FILE *out, const struct command *c)
{
    AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
    const struct command_option *options = command_options(c, arena);

    fputs(".SS \"tradewind ", out);
    put(out, c->name);
    if (options->name)
        fputs(" [OPTIONS]", out);
    if (c->operands) {
        putc(' ', out);
        put(out, c->operands);
    }
    fputs("\"\n", out);
    put(out, c->summary);
    fputs(".\n", out);
    if (c->details) {
        fputs(".PP\n", out);
        put_paragraphs(out, c->details);
    }
    for (const struct command_option *o = options; o->name; o++)
        put_option(out, o);
    if (c->example) {
        fputs(".PP\nExample:\n.RS\n.PP\n.EX\n", out);
        put(out, c->example);
        fputs("\n.EE\n.RE\n", out);
    }
}

void help_man_page(FILE *out)
{
    fputs(".TH TRADEWIND 1 \"\" \"tradewind " TRADEWIND_VERSION "\" \"User Commands\"\n", out);
    fputs(".SH NAME\ntradewind \\- ", out);
    put(out, help_summary);
    fputs("\n.SH SYNOPSIS\n.B tradewind\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIOPERANDS\\fR]\n", out);
    fputs(".br\n.B tradewind\n\\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n.SH DESCRIPTION\n", out);
    put_paragraphs(out, help_description);
    fputs(".SH COMMANDS\n", out);
    for (const struct command *const *c = commands; *c; c++)
        put_command(out, *c);
    put_entries(out, "ENVIRONMENT", help_environment);
    put_entries(out, "FILES", help_files);
    put_entries(out, "EXIT STATUS", help_exit_codes);
}
