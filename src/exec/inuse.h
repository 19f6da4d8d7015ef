/* inuse: what the files say that homes leave on a host: which of them has it
 * ("OWNER TOKEN UNTIL LABEL", a line), and how long agents wait for their broker (seconds, a line).
 * base alone. */
#ifndef EXEC_INUSE_H
#define EXEC_INUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INUSE_WORD_MAX 255

struct inuse {
    char by[INUSE_WORD_MAX + 1]; /* the name of a home's directory of jobs; "" = no home */
    char token[INUSE_WORD_MAX + 1];
    int64_t until_ms; /* epoch */
    char label[INUSE_WORD_MAX + 1];
};

/* Whether the text can be a token or the name of a directory of jobs. */
bool inuse_is_word(const char *text);
/* New memory. */
char *inuse_text(const struct inuse *l);
/* Of the first line. A line of another form has no owner. */
void inuse_parse(const char *text, struct inuse *out);

/* At least 0. False: the first line is no such number. */
bool inuse_lease(const char *text, double *seconds_out);

#endif
