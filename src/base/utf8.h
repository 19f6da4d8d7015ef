/* utf8: decoding and checking of texts that come from outside. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character that begins the len bytes at text: its length, or 0 when it is not UTF-8
 * (overlong forms, surrogates and code points past U+10FFFF included). len must not be 0. */
size_t utf8_decode(const char *text, size_t len, uint32_t *out);

/* Offset of the first byte that no text file may hold: not UTF-8, or a control character other than
 * tab, CR and LF. len when all is well. *line_out is the line of that byte, from 1. */
size_t utf8_first_bad(const char *text, size_t len, size_t *line_out);

/* Control characters other than tab and LF, which could steer a terminal, become '?', and so does
 * each byte that is not UTF-8, such as half a character at a cut. */
void utf8_disarm(char *text);

/* Bytes of the character at text, which must be clean UTF-8. */
size_t utf8_width(const char *text);

#endif
