/* shell: words as a shell reads them back, for commands that are shown to people. */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

struct buf;

/* Appends the word, in quotes where it needs them, and a blank before it unless b is empty. */
void shell_put_word(struct buf *b, const char *word);

#endif
