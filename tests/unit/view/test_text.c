#include "base/buf.h"
#include "tap.h"
#include "view/text.h"

#include <stdint.h>
#include <string.h>

static void check_widths(void)
{
    static const struct {
        const char *name, *text;
        size_t width;
    } cases[] = {
        {"nothing", "", 0},
        {"ASCII", "preprocess", 10},
        {"two bytes, one column", "h\xc3\xa9", 2},
        {"a combining mark takes no column", "e\xcc\x81", 1},
        {"Chinese is two columns wide", "\xe4\xb8\xad\xe6\x96\x87", 4},
        {"a byte that is no UTF-8 is one column", "a\xff", 2},
        {"a cut character at the end", "a\xe4\xb8", 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(text_width(cases[i].text) == cases[i].width, "width: %s", cases[i].name);
}

static void check_put(void)
{
    static const struct {
        const char *name, *text;
        size_t max_columns;
        bool utf8;
        const char *want;
    } cases[] = {
        {"short enough stays", "train", 5, true, "train"},
        {"cut in UTF-8", "training", 5, true, "trai\xe2\x80\xa6"},
        {"cut in ASCII", "training", 5, false, "tr..."},
        {"no room for the ellipsis", "training", 2, false, ""},
        {"a wide character is not halved", "\xe4\xb8\xad\xe6\x96\x87", 3, true,
         "\xe4\xb8\xad\xe2\x80\xa6"},
        {"escape sequences are defused", "a\033[2Jb", 99, true, "a?[2Jb"},
        {"C1 controls are defused", "a\xc2\x9b", 99, true, "a?"},
        {"text direction cannot be turned", "a\xe2\x80\xae", 99, true, "a?"},
        {"no UTF-8", "a\xff", 99, true, "a?"},
        {"overlong encoding", "\xc0\xaf", 99, true, "??"},
        {"surrogate", "\xed\xa0\x80", 99, true, "???"},
        {"beyond ASCII without UTF-8", "h\xc3\xa9", 99, false, "h?"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b;
        buf_init(&b, 100);
        text_put(&b, cases[i].text, cases[i].max_columns, cases[i].utf8);
        CHECK(!strcmp(buf_str(&b), cases[i].want), "put: %s", cases[i].name);
        buf_clear(&b);
    }
}

static void check_paragraph(void)
{
    char word[TEXT_COLUMNS + 21], text[512], *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);

    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    snprintf(text, sizeof text, " one  two\nthree %.90s four %s five", word, word);
    text_paragraph(out, text, 2, &(struct text_look){0});
    fclose(out);
    /* "one two three" and 90 x are 105 columns; a word longer than a line is cut. */
    char want[512];
    snprintf(want, sizeof want, " one two three\n  %.90s four\n  %.95s...\n  five\n", word, word);
    CHECK(!strcmp(printed, want), "a paragraph breaks at spaces and is indented");
    free(printed);
}

static void check_look(void)
{
    static const struct {
        const char *all, *ctype, *lang;
        bool utf8;
    } cases[] = {
        {"", "", "", false},        {"", "", "en_US.UTF-8", true}, {"", "C", "en_US.UTF-8", false},
        {"C.utf8", "C", "C", true}, {"C", "", "C.UTF-8", false},   {"", "de_DE.utf8", "C", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("LC_ALL", cases[i].all, 1);
        setenv("LC_CTYPE", cases[i].ctype, 1);
        setenv("LANG", cases[i].lang, 1);
        CHECK(text_look_for(stdout).utf8 == cases[i].utf8, "locale '%s' '%s' '%s'", cases[i].all,
              cases[i].ctype, cases[i].lang);
    }
    static const struct {
        const char *told;
        size_t columns;
    } widths[] = {{"80", 80}, {"200", 200}, {"5", 60},  {"99999", 1000},
                  {"", 100},  {"x", 100},   {"0", 100}, {"-80", 100}};
    FILE *file = tmpfile();
    for (size_t i = 0; file && i < sizeof widths / sizeof *widths; i++) {
        setenv("COLUMNS", widths[i].told, 1);
        struct text_look look = text_look_for(file);
        CHECK(text_columns(&look) == widths[i].columns, "COLUMNS='%s'", widths[i].told);
    }
    CHECK(file && !text_look_for(file).colour, "no colour in a file");
    if (file)
        fclose(file);
}

static void check_count(void)
{
    static const struct {
        size_t n;
        const char *text;
    } cases[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {218004, "218,004"},
        {1234567, "1,234,567"},
        {SIZE_MAX, "18,446,744,073,709,551,615"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        CHECK(!strcmp(text_count(cases[i].n, text), cases[i].text), "%s", cases[i].text);
    }
}

static void check_bytes(void)
{
    static const struct {
        uint64_t n;
        const char *text;
    } cases[] = {
        {0, "0 B"},           {1000, "1,000 B"},       {1023, "1,023 B"},
        {1024, "1.0 KiB"},    {8192, "8.0 KiB"},       {1048524, "1023.9 KiB"},
        {1048575, "1.0 MiB"}, {1610612736, "1.5 GiB"}, {UINT64_MAX, "16.0 EiB"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        CHECK(!strcmp(text_bytes(cases[i].n, text), cases[i].text), "%s: %s", cases[i].text, text);
    }
}

int main(void)
{
    check_widths();
    check_put();
    check_paragraph();
    check_look();
    check_count();
    check_bytes();
    return TAP_DONE();
}
