/* content: what a file holds, for tests that write one. */
#ifndef CONTENT_H
#define CONTENT_H

#include <stdio.h>

/* The first 4 KB as text, "" when there is no such file; good until the next call. */
static inline const char *content_of(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

#endif
