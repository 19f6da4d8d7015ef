/* progress: one line on a terminal that says what takes so long. Nothing appears before two
 * seconds, nor when the stream is no terminal. */
#ifndef CLI_CORE_PROGRESS_H
#define CLI_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool terminal;
    bool shown;
    double began_s, last_s;
};

void progress_init(struct progress *p, FILE *out);
/* Replaces the line, a few times a second at most. */
void progress_show(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away; may be used again. */
void progress_clear(struct progress *p);

/* "storing 1,204 of 20,000 files, 12.3 MiB of 1.2 GiB, 310 MiB/s, 4 s left"; unknown parts are left
 * out. Written into out and returned. */
const char *progress_text(const char *verb,
                          const uint64_t done[2], /* files, bytes */
                          const uint64_t all[2],  /* the same; 0 = not known */
                          double elapsed_s,
                          char out[static 160]);

#endif
