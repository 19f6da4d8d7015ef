/* field: one member of a struct, described once: name, type, unit, bounds, help and column. */
#ifndef VIEW_FIELD_H
#define VIEW_FIELD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct record;

/* The form of a value in JSON, and the C type of its member. A member may hold "none": null in
 * JSON, empty in a table. Lists, records in lists and booleans always have a value. */
enum field_type {
    FIELD_TEXT,     /* string: const char *; none = NULL */
    FIELD_INT,      /* integer: int64_t; none = FIELD_NONE */
    FIELD_COUNT,    /* integer: uint64_t, shown as 12,345; none = UINT64_MAX */
    FIELD_REAL,     /* number: double; none = NAN or infinite */
    FIELD_MONEY,    /* number of dollars: int64_t micro-dollars; none = FIELD_NONE */
    FIELD_BYTES,    /* integer: uint64_t, at most INT64_MAX; none = UINT64_MAX */
    FIELD_TIME,     /* "2026-11-15T22:36:00.250Z": int64_t epoch milliseconds; none = FIELD_NONE */
    FIELD_DURATION, /* number of seconds: double; none = NAN or infinite */
    FIELD_ENUM,     /* one of choices: an enum whose values begin at 1; none = 0 */
    FIELD_BOOL,     /* true, false: bool */
    FIELD_LIST,     /* array of strings: struct field_list */
    FIELD_INTS,     /* array of integers: struct field_ints */
    FIELD_RECORD,   /* object: pointer to a struct of `record`, as const void *; none = NULL */
    FIELD_RECORDS,  /* array of objects: struct field_records, structs of `record` */
    FIELD_JSON,     /* any value, such as a map of tags: json_t *, borrowed; none = NULL */
};

#define FIELD_NONE INT64_MIN

struct field_list {
    const char *const *items;
    size_t n;
};

struct field_ints {
    const int64_t *items;
    size_t n;
};

struct field_records {
    const void *items;
    size_t n;
};

struct field {
    const char *name; /* in JSON, CSV and requests; ends in its unit: "cost_usd" */
    enum field_type type;
    size_t offset;               /* of the member; FIELD fills in type and offset */
    const char *unit;            /* "USD", "s"; NULL = none */
    const char *help;            /* one sentence */
    const char *const *choices;  /* of an enum, by value; choices[0] is NULL */
    size_t n_choices;            /* with choices[0] */
    const struct record *record; /* of FIELD_RECORD and FIELD_RECORDS */

    /* Of an answer. */
    bool omit_none; /* JSON leaves the member out when it is none or an empty list */
    /* JSON leaves the member out of this record; NULL = never. */
    bool (*is_absent)(const void *record);
    /* Makes the JSON value instead of the common form of the type: a new reference. */
    json_t *(*json)(const void *record);

    /* Of a table. */
    const char *heading; /* NULL = no column */
    bool is_column_only; /* not in JSON and CSV */
    bool is_detail;      /* a column only where details are asked for (--long) */
    bool left;           /* a number that is aligned as text is */
    unsigned cut_rank;   /* as in struct table_column */
    size_t least_width;
    bool is_optional;
    /* The cell of a real: "%.2f h" of the value times scale (0 = 1) for digits 2 and suffix " h";
     * both absent = "%g". */
    int digits;
    const char *suffix;
    double scale;
    const char *none; /* the cell of a member that is none; NULL = empty */
    /* Writes the cell instead of the common form of the type; NULL = the common form. */
    void (*cell)(const void *record, struct buf *out);

    /* Of a request. */
    bool required;
    double least, most;  /* value in its unit, characters, or items; both 0 = no bounds */
    const char *prefix;  /* of integers: "job:" where job:7 may be written for 7; NULL = none */
    double bare_unit_s;  /* of a duration given as a bare number; 0 = seconds */
    const char *preset;  /* what a request without the field gets, as text; NULL = none */
    const char *value;   /* in help: "USD", "FILE", "a|b"; NULL = by the type */
    const char *option;  /* on the command line, where it differs from the name: "--on" */
    const char *former;  /* an earlier option that still works, and help does not list: "--place" */
    char letter;         /* on the command line: 'r' for -r; 0 = none */
    bool operand;        /* on the command line: an operand, in the order of the fields */
    bool is_remote_only; /* the command line has no option for it, such as a cursor */
    bool is_local;       /* the name of a local file, which may be any bytes: text or list */
};

/* {"cost_usd", FIELD(MONEY, struct job, cost_microusd), ...}: does not compile unless the member
 * has the C type of a FIELD_MONEY. */
#define FIELD(TYPE, record_type, member)                                                           \
    .type = FIELD_##TYPE, .offset = _Generic(((record_type *)0)->member, FIELD_C_##TYPE            \
                                             : offsetof(record_type, member))
#define FIELD_CHOICES(names) .choices = (names), .n_choices = sizeof(names) / sizeof *(names)

#define FIELD_C_TEXT const char *
#define FIELD_C_INT int64_t
#define FIELD_C_COUNT uint64_t
#define FIELD_C_REAL double
#define FIELD_C_MONEY int64_t
#define FIELD_C_BYTES uint64_t
#define FIELD_C_TIME int64_t
#define FIELD_C_DURATION double
#define FIELD_C_ENUM unsigned int
#define FIELD_C_BOOL bool
#define FIELD_C_LIST struct field_list
#define FIELD_C_INTS struct field_ints
#define FIELD_C_RECORD const void *
#define FIELD_C_RECORDS struct field_records
#define FIELD_C_JSON json_t *

/* Who typed a value decides how an error spells the field: "max_cost" or "--max-cost". */
enum field_spelling { FIELD_AS_NAME, FIELD_AS_OPTION };
/* "--max-cost" for max_cost, or what `option` says. */
const char *field_option(const struct field *f, char out[static 64]);

/* The member of a struct that f describes. */
const void *field_at(const struct field *f, const void *record);

/* A text as options and queries have it becomes JSON. A text that does not fit the type becomes a
 * JSON string, which field_read refuses: there is one judge of values. New reference; NULL when
 * text is not UTF-8. */
json_t *field_json_from_text(const struct field *f, const char *text);

/* JSON -> member, checked; null and a missing value (NULL) mean none. Texts are borrowed from
 * value, lists live in a. ERR_USAGE names the field and says what to give instead. */
int field_read(const struct field *f,
               const json_t *value,
               enum field_spelling spelling,
               void *record,
               struct arena *a,
               struct err *e);

/* Makes the member none: zero where its type has no none. */
void field_set_none(const struct field *f, void *record);
/* Whether the member is none, or an empty list. */
bool field_is_none(const struct field *f, const void *record);
/* Whether the JSON of the record has the member. */
bool field_is_shown(const struct field *f, const void *record);
/* New reference. */
json_t *field_json(const struct field *f, const void *record);
/* The member as a table shows it; nothing for none. */
void field_cell(const struct field *f, const void *record, struct buf *out);
/* The type as documentation names it: "text", "dollars"; "one of a, b" for an enum is the
 * caller's. */
const char *field_type_text(enum field_type type);
bool field_is_number(const struct field *f);
/* Whether several texts make one value. */
bool field_is_list(const struct field *f);

#endif
