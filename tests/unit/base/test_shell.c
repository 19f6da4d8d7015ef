#include "base/shell.h"

#include "base/auto.h"
#include "base/buf.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    static const struct {
        const char *word, *shown;
    } cases[] = {
        {"train.py", "x train.py"},
        {"--rate=0.1", "x --rate=0.1"},
        {"", "x ''"},
        {"a b", "x 'a b'"},
        {"it's", "x 'it'\\''s'"},
        {"$HOME", "x '$HOME'"},
        {"a;b", "x 'a;b'"},
        {"~", "x '~'"},
        {"a\nb", "x 'a\nb'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, 100);
        shell_put_word(&b, "x");
        shell_put_word(&b, cases[i].word);
        CHECK(strcmp(buf_str(&b), cases[i].shown) == 0, "word %zu", i);
    }
    CHECK(shell_is_variable("HOME", 4) && shell_is_variable("_x1=2", 3), "names of variables");
    CHECK(!shell_is_variable("1x", 2) && !shell_is_variable("", 0) &&
              !shell_is_variable("a-b", 3) && !shell_is_variable("\xc3\xa4", 2),
          "and what is none");
    return TAP_DONE();
}
