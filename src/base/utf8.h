/* utf8: is a text from outside clean UTF-8? */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Offset of the first byte that no text file may hold: not UTF-8 (overlong forms, surrogates and
 * code points past U+10FFFF included), or a control character other than tab, CR and LF. len when
 * all is well. *line_out is the line of that byte, from 1. */
size_t utf8_first_bad(const char *text, size_t len, size_t *line_out);

/* Bytes of the character at text, which must be clean UTF-8. */
size_t utf8_width(const char *text);

#endif
