#include "exec/inuse.h"

#include "base/auto.h"
#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text, *by, *label;
} claims[] = {
    {"a claim", "home-1 0a1b 1731740000123 ada on box\n", "home-1", "ada on box"},
    {"what follows is not read", "h t 5 l\nx y 6 z\n", "h", "l"},
    {"nothing", "", "", ""},
    {"no label", "h t 5\n", "", ""},
    {"a home elsewhere", "../h t 5 l\n", "", ""},
    {"a hidden home", ".h t 5 l\n", "", ""},
    {"a token that nobody writes", "h ../t 5 l\n", "", ""},
    {"no time", "h t 5x l\n", "", ""},
    {"a time beyond all", "h t 9223372036854775808 l\n", "", ""},
};

static const struct {
    const char *text;
    double seconds; /* < 0: it is none */
} leases[] = {
    {"300.000\n", 300}, {"0\n", 0},      {"5\n6\n", 5}, {"-1\n", -1},
    {"inf\n", -1},      {"1e400\n", -1}, {"", -1},      {"5 s\n", -1},
};

int main(void)
{
    struct inuse l;
    double seconds;

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        inuse_parse(claims[i].text, &l);
        CHECK(strcmp(l.by, claims[i].by) == 0 && strcmp(l.label, claims[i].label) == 0, "claim: %s",
              claims[i].name);
    }
    inuse_parse(claims[0].text, &l);
    AUTO_MEM char *text = inuse_text(&l);
    CHECK(strcmp(text, claims[0].text) == 0, "a claim is written as it was read");
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        bool good = inuse_lease(leases[i].text, &seconds);
        CHECK(good == (leases[i].seconds >= 0) && (!good || seconds == leases[i].seconds),
              "lease %zu", i);
    }
    return TAP_DONE();
}
