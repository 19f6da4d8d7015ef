#include "base/auto.h"
#include "base/mem.h"
#include "cli/core/help.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static size_t widest_line(const char *text)
{
    size_t widest = 0;

    while (*text) {
        size_t len = strcspn(text, "\n");
        widest = len > widest ? len : widest;
        text += len + (text[len] == '\n');
    }
    return widest;
}

static char *help_of(const struct command *c)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    help_command(out, c);
    fclose(out);
    return text;
}

/* Runs of blanks and newlines become one blank: help may wrap anywhere. */
static char *unwrapped(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || (to > text && to[-1] != ' '))
            *to++ = c;
    }
    *to = 0;
    return text;
}

static void every_command(void)
{
    for (const struct command *const *c = commands; *c; c++) {
        AUTO_MEM char *text = help_of(*c);
        CHECK(widest_line(text) <= 100, "help %s fits 100 columns", (*c)->name);
        unwrapped(text);
        CHECK(strstr(text, (*c)->summary), "help %s says what it does", (*c)->name);
        AUTO(arena) struct arena *arena = arena_new(COMMAND_OPTIONS_MAX_BYTES);
        for (const struct command_option *o = command_options(*c, arena); o->name; o++) {
            CHECK(strstr(text, o->name) && strstr(text, o->help), "help %s explains %s", (*c)->name,
                  o->name);
            CHECK(!o->value || strstr(text, o->value), "  and its value");
        }
        CHECK(!(*c)->example || strstr(text, (*c)->example), "help %s shows its example",
              (*c)->name);
    }
}

static void wrapping(void)
{
    static const struct command_option options[] = {
        {.name = "--an-option-that-is-very-long", .value = "one|two|three|four", .help = "help"},
        {.name = "--x",
         .help = "word word word word word word word word word word word word word "
                 "word word word word word word word word word word word word",
         .repeatable = true},
        {0},
    };
    static const struct command c = {
        .name = "c",
        .summary = "s",
        .details = "first\n\nsecond\n  kept   as it stands",
        .options = options,
    };
    AUTO_MEM char *text = help_of(&c);

    CHECK(widest_line(text) <= 100, "long help is wrapped");
    CHECK(strstr(text, "\n              word word"), "and goes on under its begin");
    CHECK(strstr(text, "word May be repeated.\n"), "repeatable options say so");
    CHECK(strstr(text, "four\n              help\n"), "a wide term gets a line of its own");
    CHECK(strstr(text, "\nfirst\n\nsecond\n  kept   as it stands\n"), "details keep their layout");
}

static size_t times_listed(const char *text, const char *name)
{
    AUTO_MEM char *line = mem_printf("\n  %s  ", name);
    size_t n = 0;

    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
        n++;
    return n;
}

static void whole_program(void)
{
    static const char *const titles[] = {"Everyday",    "Plan",    "Run",      "Data",
                                         "Experiments", "Markets", "Training", "Administration"};
    char *text = NULL;
    size_t len, n_everyday = 0;
    FILE *out = open_memstream(&text, &len);
    const char *last = NULL;

    help_program(out);
    fclose(out);
    for (const struct command *const *c = commands; *c; c++)
        CHECK(times_listed(text, (*c)->name) == 1, "help lists %s once", (*c)->name);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        AUTO_MEM char *line = mem_printf("\n\n%s:\n", titles[i]);
        const char *at = strstr(text, line);
        CHECK(at && (!last || at > last), "group %s, in its order", titles[i]);
        last = at;
    }
    while (commands_everyday[n_everyday])
        n_everyday++;
    CHECK(n_everyday == 12, "a dozen everyday commands");
    free(text);
}

int main(void)
{
    every_command();
    whole_program();
    wrapping();
    return TAP_DONE();
}
