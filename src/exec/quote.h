/* quote: words for a shell on another machine, which take them as they are. */
#ifndef EXEC_QUOTE_H
#define EXEC_QUOTE_H

#include "base/buf.h"

/* Adds word as one word of a shell command. */
void quote_word(struct buf *b, const char *word);
/* Adds a path: "~" and "~/..." stand for the home directory over there, the rest is taken as it is;
 * one that begins with '-' is no option. */
void quote_path(struct buf *b, const char *path);

#endif
