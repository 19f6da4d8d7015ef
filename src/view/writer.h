/* writer: an answer as JSON, CSV or a table, made from the fields of its records. An answer is one
 * record (the head), a stream of records (the items), or both: in JSON the items then are a member
 * of the head's object. Items are written as they come, so that a million of them need no memory,
 * except in a table, whose columns have to be measured. */
#ifndef VIEW_WRITER_H
#define VIEW_WRITER_H

#include "base/auto.h"
#include "base/buf.h"
#include "view/encoder.h"

/* WRITER_LINES: every record is one line of JSON, as it comes. */
enum writer_format { WRITER_TABLE, WRITER_JSON, WRITER_CSV, WRITER_LINES };

struct table;

struct writer {
    enum writer_format format;
    FILE *out;
    const struct record *head, *item; /* NULL = none */
    /* Of the items' member in JSON; NULL = JSON is an array of the items, without the head. */
    const char *items_name;
    size_t n_items;
    bool has_head, with_details;
    bool in_object, list_ended; /* JSON: of the head */
    bool list_begun;            /* JSON: the list has an item */
    size_t indent;              /* of a table; 0 unless set after writer_init */
    struct encoder encoder;
    struct buf page; /* lines of JSON that are not written yet */
    struct table *table;
};

/* The records and out are borrowed. */
void writer_init(struct writer *w,
                 enum writer_format format,
                 const struct record *head,
                 const struct record *item,
                 const char *items_name,
                 bool with_details, /* a table has the columns of details */
                 FILE *out);
void writer_clear(struct writer *w);
/* The head comes once: before the items, or after them. */
int writer_head(struct writer *w, const void *record, struct err *e);
int writer_item(struct writer *w, const void *record, struct err *e);
/* Writes what is left: the end of a list, the table. */
int writer_end(struct writer *w, struct err *e);

/* The first `most` records of a member that is a list, as a table by their headings. */
void writer_list(const struct record *r,
                 const void *record,
                 const char *member,
                 size_t most,
                 size_t indent,
                 bool with_details,
                 FILE *out);

#endif
