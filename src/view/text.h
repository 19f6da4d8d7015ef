/* text: what a terminal can show, and text made safe and measured for it. */
#ifndef VIEW_TEXT_H
#define VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

/* Lines of people's output stay within this many columns where no terminal says otherwise. */
#define TEXT_COLUMNS 100
/* No table is made for less, or for more. */
#define TEXT_COLUMNS_LEAST 60
#define TEXT_COLUMNS_MOST 1000

struct text_look {
    bool utf8;      /* the locale says so; else plain ASCII */
    bool colour;    /* out is a terminal that has some, and NO_COLOR is not set */
    size_t columns; /* of a line; 0 = TEXT_COLUMNS */
};

/* Reads LC_ALL, LC_CTYPE, LANG, TERM, NO_COLOR, and COLUMNS, without which a terminal says its
 * width. */
struct text_look text_look_for(FILE *out);
static inline size_t text_columns(const struct text_look *look)
{
    return look->columns ? look->columns : TEXT_COLUMNS;
}

/* Columns the text takes: wide characters two, combining marks none. */
size_t text_width(const char *s);

/* Appends s cut to max_columns (an ellipsis replaces what goes). Control characters, which could
 * steer a terminal, and bytes that are no UTF-8 become '?'; without utf8 so does all beyond ASCII.
 */
void text_put(struct buf *b, const char *s, size_t max_columns, bool utf8);

/* The same, printed. */
void text_print(FILE *out, const char *s, size_t max_columns);
/* Each line of s as text_print has it; lines after the first begin with `indent` spaces. Ends with
 * a newline. */
void text_print_lines(FILE *out, const char *s, size_t max_columns, size_t indent);

/* Prints a paragraph broken at spaces within the look's columns: the first line begins with the
 * spaces that s begins with, all others with `indent`. A word longer than a line is cut; the same
 * care as text_put for what it holds. */
void text_paragraph(FILE *out, const char *s, size_t indent, const struct text_look *look);

/* "218,004", written into out and returned. */
const char *text_count(size_t n, char out[static 32]);
/* "0 B", "1,000 B", "8.0 KiB", "1.5 GiB"; written into out and returned. */
const char *text_bytes(uint64_t n, char out[static 32]);

#endif
