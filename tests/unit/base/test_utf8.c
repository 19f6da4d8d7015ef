#include "base/utf8.h"

#include "tap.h"

#include <string.h>

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
    return TAP_DONE();
}
