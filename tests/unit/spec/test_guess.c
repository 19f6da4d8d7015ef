#include "spec/guess.h"

#include "base/arena.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    AUTO(arena) struct arena *a = arena_new(1 << 16);
    struct guess_list list = {.arena = a};
    char what[32] = "a: run time";

    guess_add(&list, what, "1 h", "no estimate given");
    what[0] = 'b';
    CHECK(list.n == 1 && strcmp(list.items[0].what, "a: run time") == 0, "texts are copied");
    guess_add(&list, "a: run time", "1 h", "no estimate given");
    CHECK(list.n == 1, "the same guess is not added twice");
    guess_add(&list, "a: run time", "2 h", "no estimate given");
    guess_add(&list, "a: run time", "1 h", "another reason");
    CHECK(list.n == 3, "a guess that differs in one text is another");
    for (int i = 0; i < 50; i++) {
        snprintf(what, sizeof what, "stage-%d", i);
        guess_add(&list, what, "x", "y");
    }
    CHECK(list.n == 53 && strcmp(list.items[52].what, "stage-49") == 0 &&
              strcmp(list.items[0].value, "1 h") == 0,
          "the list grows and keeps its order");

    AUTO(arena) struct arena *small = arena_new(512);
    struct guess_list full = {.arena = small};
    for (int i = 0; i < 100; i++) {
        snprintf(what, sizeof what, "stage-%d", i);
        guess_add(&full, what, "x", "y");
    }
    CHECK(full.n < 100, "a full arena stops it quietly");
    return TAP_DONE();
}
