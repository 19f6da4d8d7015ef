/* table: rows in aligned columns, for people. */
#ifndef VIEW_TABLE_H
#define VIEW_TABLE_H

#include "base/auto.h"
#include "view/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
    const char *title;
    bool right; /* numbers */
    /* Where the table is wider than its limit, columns with the lowest non-zero rank are cut
     * first, down to least columns; 0 = never. */
    unsigned cut_rank;
    size_t least;
    /* Left out, the rightmost first, where the columns do not fit even when cut. */
    bool is_optional;
};

struct table;

/* The columns are copied, their titles borrowed. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *t);
AUTO_DEFINE(table)

/* Fills the next cell, from left to right, row after row. Texts are copied. */
void table_put(struct table *t, const char *text);
void table_printf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line across, between the rows above and the rows below. */
void table_rule(struct table *t);

/* Columns it takes once everything that may be cut is cut, optional columns included. */
size_t table_least_width(const struct table *t);

/* Prints the titles and the rows put so far; every line begins with indent spaces. A table that is
 * wider than the look's lines is cut; where cutting and leaving out are not enough, the columns
 * that do not fit follow as further tables, each with the first column again. */
void table_print(const struct table *t, FILE *out, size_t indent, const struct text_look *look);

#endif
