#include "base/utf8.h"

#include "tap.h"

#include <string.h>

static void check_decode(void)
{
    static const struct {
        const char *text;
        size_t len, bytes;
        uint32_t c;
    } cases[] = {
        {"a", 1, 1, 'a'},
        {"\0", 1, 1, 0},
        {"\xc3\xa9x", 3, 2, 0xe9},
        {"\xe2\x82\xac", 3, 3, 0x20ac},
        {"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
        {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
        {"\xe2\x82\xac", 2, 0, 0},
        {"\x80", 1, 0, 0},
        {"\xc0\xaf", 2, 0, 0},
        {"\xed\xa0\x80", 3, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t c = 0;
        size_t n = utf8_decode(cases[i].text, cases[i].len, &c);
        CHECK(n == cases[i].bytes && c == cases[i].c, "decodes case %zu", i);
    }
}

int main(void)
{
    static const struct {
        const char *name, *text;
        size_t len, bad, line;
    } cases[] = {
        {"nothing", "", 0, 0, 1},
        {"ASCII with tab, CR and LF", "a\tb\r\nc", 6, 6, 2},
        {"two, three and four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 9, 1},
        {"a lone continuation byte", "ab\x80", 3, 2, 1},
        {"Latin-1", "a\n\n\xe9t\xe9", 6, 3, 3},
        {"an overlong slash", "\xc0\xaf", 2, 0, 1},
        {"an overlong three-byte form", "\xe0\x80\xaf", 3, 0, 1},
        {"a surrogate", "x\xed\xa0\x80", 4, 1, 1},
        {"past U+10FFFF", "\xf4\x90\x80\x80", 4, 0, 1},
        {"U+10FFFF", "\xf4\x8f\xbf\xbf", 4, 4, 1},
        {"cut in the middle", "a\xe2\x82", 3, 1, 1},
        {"NUL", "a\n\0b", 4, 2, 2},
        {"escape", "\x1b[0m", 4, 0, 1},
        {"delete", "a\x7f", 2, 1, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t line, bad = utf8_first_bad(cases[i].text, cases[i].len, &line);
        CHECK(bad == cases[i].bad && line == cases[i].line, "%s", cases[i].name);
    }
    CHECK(utf8_width("a") == 1 && utf8_width("\xc3\xa9") == 2 && utf8_width("\xe2\x82\xac") == 3 &&
              utf8_width("\xf0\x9f\x98\x80") == 4,
          "widths");
    check_decode();
    return TAP_DONE();
}
