#include "catalog/intern.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    struct catalog_intern *t = catalog_intern_new(1 << 20);
    size_t wrong = 0;
    char text[32];

    CHECK(catalog_intern_count(t) == 1 && catalog_intern(t, "", 0) == 0, "id 0 is nothing");
    uint32_t a = catalog_intern(t, "aws", 3), b = catalog_intern(t, "awsome", 3);
    CHECK(a == b && a == 1, "equal texts are one id");
    CHECK(catalog_intern(t, "awsome", 6) == 2, "a longer text is another");
    CHECK(strcmp(catalog_intern_text(t, a), "aws") == 0, "the text of an id ends where it ended");
    /* Enough to grow the table many times. */
    for (unsigned i = 0; i < 20000; i++) {
        int n = snprintf(text, sizeof text, "name-%u", i);
        wrong += catalog_intern(t, text, (size_t)n) != i + 3;
    }
    for (unsigned i = 0; i < 20000; i++) {
        int n = snprintf(text, sizeof text, "name-%u", i);
        wrong += catalog_intern(t, text, (size_t)n) != i + 3 ||
                 strcmp(catalog_intern_text(t, i + 3), text) != 0;
    }
    CHECK(wrong == 0, "20,000 texts keep their ids");
    CHECK(catalog_intern_count(t) == 20003, "and none is counted twice");
    catalog_intern_free(t);
    t = catalog_intern_new(64);
    memset(text, 'x', sizeof text);
    uint32_t last = 0;
    for (size_t len = 1; len < sizeof text && last != CATALOG_INTERN_FULL; len++)
        last = catalog_intern(t, text, len);
    CHECK(last == CATALOG_INTERN_FULL, "texts past the cap are refused");
    CHECK(catalog_intern(t, text, 1) == 1, "and those inside it still found");
    catalog_intern_free(t);
    catalog_intern_free(NULL);
    return TAP_DONE();
}
