/* record: a struct and the list of its fields. JSON, tables, CSV and documentation all come from
 * the list; there is no second place that knows what a record looks like. */
#ifndef VIEW_RECORD_H
#define VIEW_RECORD_H

#include "view/field.h"
#include "view/text.h"

#include <stdio.h>

struct record {
    const char *name;           /* "job" */
    size_t size;                /* of the struct */
    const struct field *fields; /* in the order in which JSON and tables show them */
    size_t n_fields;
    bool is_bare; /* the record is the value of its one field in JSON, and no object */
};

#define RECORD(title, type, list)                                                                  \
    {                                                                                              \
        .name = (title), .size = sizeof(type), .fields = (list),                                   \
        .n_fields = sizeof(list) / sizeof *(list)                                                  \
    }
/* The same for the one place that points to it. */
#define RECORD_AT(title, type, list) &(const struct record)RECORD(title, type, list)
/* A request that asks for nothing in particular. */
struct record_none {
    char unused;
};
extern const struct record record_none;

const struct field *record_field(const struct record *r, const char *name);

/* Adds one option or query parameter to a request. An unknown name and a wrong value are
 * record_decode's to refuse. A list's name given twice adds an item. ERR_USAGE: not UTF-8. */
int record_put_text(
    const struct record *r, json_t *object, const char *name, const char *text, struct err *e);

/* JSON -> struct, checked; unknown members are ERR_USAGE with the nearest name. Absent fields that
 * have a preset are added to object, so that object says what was asked for. *out borrows its texts
 * from object and its lists from a. */
int record_decode(const struct record *r,
                  json_t *object,
                  enum field_spelling spelling,
                  void *out,
                  struct arena *a,
                  struct err *e);

/* Makes every member none, which the fields describe. */
void record_set_none(const struct record *r, void *record);

/* Makes the texts of a record, and of its lists of texts, copies in a. ERR_NOFIT: a is full. */
int record_keep(const struct record *r, void *record, struct arena *a, struct err *e);

/* New reference. */
json_t *record_encode(const struct record *r, const void *record);

/* The record's fields as documentation has them: an array of objects with name, type, required,
 * help, and unit, choices, preset where there are any, and local for files of this machine. New
 * reference. */
json_t *record_describe(const struct record *r);

#endif
