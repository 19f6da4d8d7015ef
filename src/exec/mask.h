/* mask: takes the values of secrets out of what a job prints, before it is written anywhere: three
 * stars stand for a value, and for each line of one that has several, however long they are; also
 * for values that overlap or follow each other without a gap. Values and lines of fewer than
 * MASK_LEAST bytes stay: they are everywhere. In which pieces the text comes makes no difference.
 * base alone. */
#ifndef EXEC_MASK_H
#define EXEC_MASK_H

#include "exec/jobfile.h"

#include <stdbool.h>
#include <stddef.h>

#define MASK_LEAST 4

struct mask {
    struct mask_value *values; /* borrowed from the job */
    size_t n, cap_values;
    char *seen, *out; /* as they came, and with stars */
    size_t cap;
    size_t held;     /* bytes at the beginning of seen that may begin a secret */
    size_t n_marked; /* so many of them end one that began before */
    bool covered;    /* stars stand for the byte before seen */
};

/* job stays until mask_clear. */
void mask_init(struct mask *m, const struct jobfile *job);
void mask_clear(struct mask *m);
/* What can be written of what was held and these bytes: *out_out, borrowed until the next call. The
 * end is held when it may begin a secret, however long nothing more comes. */
size_t mask_take(struct mask *m, const char *bytes, size_t n, const char **out_out);
/* What was held, when nothing more comes. */
size_t mask_rest(struct mask *m, const char **out_out);

#endif
