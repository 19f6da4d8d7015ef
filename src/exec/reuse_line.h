/* reuse_line: a line of the list of large files that an agent gets before a directory is sent:
 * "SHA256 SIZE MODE MTIME PATH" and a newline, the mode octal. base alone. */
#ifndef EXEC_REUSE_LINE_H
#define EXEC_REUSE_LINE_H

#include "exec/digest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Bytes of a line with its newline and NUL. */
#define REUSE_LINE_MAX 4352

struct reuse_line {
    char name[DIGEST_TEXT]; /* of the content */
    uint64_t size;
    mode_t mode; /* permissions alone */
    int64_t mtime_s;
    const char *path; /* in the line; relative, and never leads out of its directory */
};

void reuse_line_write(const struct reuse_line *l, FILE *out);
/* Cuts the line up. False: it is none. */
bool reuse_line_parse(char *line, struct reuse_line *out);

#endif
