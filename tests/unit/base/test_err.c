#include "base/err.h"
#include "tap.h"

#include <string.h>

static void exit_codes(void)
{
    static const struct {
        enum err_kind kind;
        int code;
    } cases[] = {{ERR_NONE, 0},  {ERR_USAGE, 2}, {ERR_NOTFOUND, 3}, {ERR_DENIED, 4},
                 {ERR_NOFIT, 5}, {ERR_RETRY, 6}, {ERR_IO, 7}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(err_exit_code(cases[i].kind) == cases[i].code, "kind %d exits with %d", cases[i].kind,
              cases[i].code);
}

int main(void)
{
    struct err e = {0};
    char long_text[600];

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;

    CHECK(err_set(&e, ERR_USAGE, "no %s", "luck") == -1, "err_set returns -1");
    CHECK(e.kind == ERR_USAGE && strcmp(e.text, "no luck") == 0, "kind and text are set");
    CHECK(err_wrap(&e, "open %d", 7) == -1, "err_wrap returns -1");
    CHECK(e.kind == ERR_USAGE && strcmp(e.text, "open 7: no luck") == 0,
          "the intent goes in front, the kind stays");
    CHECK(err_set(NULL, ERR_IO, "x") == -1 && err_wrap(NULL, "x") == -1, "e may be NULL");

    err_set(&e, ERR_IO, "%s", long_text);
    CHECK(strlen(e.text) == sizeof e.text - 1 && strcmp(e.text + 396, "...") == 0,
          "a text that is cut ends in ...");
    err_set(&e, ERR_IO, "%.390s", long_text);
    err_wrap(&e, "a long way up");
    CHECK(strlen(e.text) == sizeof e.text - 1 && strcmp(e.text + 396, "...") == 0,
          "so does one that wrapping cuts");
    err_set(&e, ERR_IO, "fact");
    err_wrap(&e, "%s", long_text);
    CHECK(strlen(e.text) == sizeof e.text - 1 && strcmp(e.text + 396, "...") == 0,
          "and one whose wrapping is too long itself");
    err_set(&e, ERR_IO, "%.399s", long_text);
    CHECK(e.text[398] == 'x' && !e.text[399], "a text that just fits is left alone");
    err_set(&e, ERR_USAGE, "%s", "a\tb\nc \033[2J\r\007\177 \xc2\x9b \xc2\xa0 \xc3\xa9");
    CHECK(strcmp(e.text, "a\tb\nc ?[2J??? ?? \xc2\xa0 \xc3\xa9") == 0,
          "what could steer a terminal is left out: %s", e.text);
    err_set(&e, ERR_USAGE, "fact");
    err_wrap(&e, "\033]0;title\007");
    CHECK(strcmp(e.text, "?]0;title?: fact") == 0, "in what wraps it, too: %s", e.text);
    err_set(&e, ERR_USAGE, "%.5s \xff \xe2\x82", "\xc3\xa4\xc3\xa4\xc3\xa4");
    CHECK(strcmp(e.text, "\xc3\xa4\xc3\xa4? ? ??") == 0, "half a character is none: %s", e.text);
    err_set(&e, ERR_IO, "%.388s", long_text);
    err_wrap(&e, "long: \xc3\xa4\xc3\xa4");
    CHECK(strcmp(e.text + 396, "...") == 0 && e.text[395] == 'x', "a cut: %s", e.text);
    err_set(&e, ERR_IO, "%.389s\xc3\xa4\xc3\xa4\xc3\xa4", long_text);
    err_wrap(&e, "long");
    CHECK(strcmp(e.text + 395, "?...") == 0, "nor is there half of one before a cut: %s", e.text);
    exit_codes();
    return TAP_DONE();
}
