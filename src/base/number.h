/* number: decimal numbers as people write them; no hexadecimal, no "inf", no leading space. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest decimal number text begins with ("-1.5e3", ".5", "2."), exactly as strtod rounds it.
 * false when there is none or it is too large for a double. */
bool number_prefix(const char *text, const char **end_out, double *out);
/* The whole text is one finite decimal number. */
bool number_parse(const char *text, double *out);
/* The same for a share given in percent, with or without the sign: "1%" and "1" are 0.01. */
bool number_percent(const char *text, double *out);

/* How many significant digits, 15 to 17, a finite number needs to be read back as it is. */
int number_digits(double v);

/* The value of a hexadecimal digit in either case, 0 .. 15, or -1. */
int number_hex(char c);

/* The digits of v, written at the end of out; returns where they begin. Some ten times as fast as
 * snprintf, for lists of a million numbers. */
const char *number_text(int64_t v, char out[static 24]);

/* Order of two doubles, neither NaN, for qsort and bsearch. */
int number_compare(const void *a, const void *b);
/* Sorts the numbers and drops repeats; returns how many stay. */
size_t number_sort_unique(double *numbers, size_t n);

#endif
