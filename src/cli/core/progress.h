/* progress: one line on a terminal that says what takes so long. Nothing appears before two
 * seconds, nor when the stream is no terminal. */
#ifndef CLI_CORE_PROGRESS_H
#define CLI_CORE_PROGRESS_H

#include <stdbool.h>
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

#endif
