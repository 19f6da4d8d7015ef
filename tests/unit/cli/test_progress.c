#include "cli/core/progress.h"
#include "tap.h"

#include <string.h>

static const struct {
    uint64_t done[2], all[2];
    double elapsed_s;
    const char *text;
} cases[] = {
    {{3, 0}, {0, 0}, 0.5, "storing 3 files"},
    {{1204, 12 << 20},
     {20000, 36 << 20},
     2,
     "storing 1,204 of 20,000 files, 12.0 MiB of 36.0 MiB, 6.0 MiB/s, 4.0 s left"},
    /* The first second says nothing about the rate. */
    {{1, 1 << 20}, {2, 2 << 20}, 0.9, "storing 1 of 2 files, 1.0 MiB of 2.0 MiB"},
    /* Files alone: gc removes blobs of unknown size. */
    {{10, 0}, {30, 0}, 5, "storing 10 of 30 files, 10.0 s left"},
    {{30, 5}, {30, 5}, 5, "storing 30 of 30 files, 5 B of 5 B, 1 B/s"},
};

int main(void)
{
    char text[160];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        progress_text("storing", cases[i].done, cases[i].all, cases[i].elapsed_s, text);
        CHECK(strcmp(text, cases[i].text) == 0, "%s: %s", cases[i].text, text);
    }
    return TAP_DONE();
}
