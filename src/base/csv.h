/* csv: RFC 4180 rows from memory or from a plain or gzip file, one row at a time. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct csv;

struct csv_field {
    const char *text; /* NUL-terminated, unquoted; borrowed until the next row */
    size_t len;
};

/* Opens a plain or gzip-ed file and reads it whole (at most max_bytes unpacked, else ERR_USAGE
 * that names the limit). A UTF-8 byte-order mark is skipped. */
struct csv *csv_open(const char *path, size_t max_bytes, struct err *e);
/* Copies bytes. */
struct csv *csv_from_memory(const char *name, const void *bytes, size_t len);
/* Cuts the text up where it lies; it has a NUL behind it, stays the caller's and must outlive the
 * rows. */
struct csv *csv_in_place(const char *name, char *text, size_t len);
void csv_free(struct csv *c);
AUTO_DEFINE(csv)

/* The next row: 1 and its fields, 0 at the end, -1 on a malformed row (unclosed quote, text after
 * a closing quote, NUL byte, more than 256 fields); the message says name:line, and the next call
 * goes on at the line after it. Empty lines are skipped. */
int csv_next(struct csv *c, const struct csv_field **fields_out, size_t *n_out, struct err *e);
/* Line on which the row that csv_next returned last begins, from 1. */
size_t csv_line(const struct csv *c);
const char *csv_name(const struct csv *c);
/* What messages call it from now on: where a temporary file really came from. */
void csv_rename(struct csv *c, const char *name);

/* Reads a header row and says where each wanted column is: at[i] = field index of names[i], or
 * SIZE_MAX when absent. -1 on an empty file or a column that stands twice. */
int csv_header(struct csv *c, const char *const *names, size_t n_names, size_t *at, struct err *e);

struct buf;
/* Appends one field, quoted where needed (comma, quote, CR, LF, leading or trailing space). */
int csv_put(struct buf *b, const char *text, bool last_in_row);
/* Shortest decimal text that reads back as the same double; "" when it is not finite. */
int csv_put_number(struct buf *b, double value, bool last_in_row);

/* The content of a plain or gzip-ed file, unpacked and with a NUL behind it; the caller frees it.
 * More than max_bytes is ERR_USAGE that names the limit, and so are damaged packing and a file that
 * is not there. */
char *gzip_read(const char *path, size_t max_bytes, size_t *len_out, struct err *e);

#endif
