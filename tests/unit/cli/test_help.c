#include "base/auto.h"
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

int main(void)
{
    every_command();
    wrapping();
    return TAP_DONE();
}
