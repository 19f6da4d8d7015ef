/* shell: words as a shell reads them back, for commands that are shown to people. */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Appends the word, in quotes where it needs them, and a blank before it unless b is empty. */
void shell_put_word(struct buf *b, const char *word);

/* Whether the first n bytes are the name of a variable: letters, digits and _, no digit first. */
bool shell_is_variable(const char *text, size_t n);

#endif
