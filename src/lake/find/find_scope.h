/* find_scope: what the files of find share: the kinds of things it knows with their tables and
 * built-in keys, and below it the files that write SQL, choose an index and read answers. */
#ifndef LAKE_FIND_FIND_SCOPE_H
#define LAKE_FIND_FIND_SCOPE_H

#include "base/buf.h"
#include "lake/core/internal.h"
#include "lake/find/find_parse.h"

/* A condition with what the database knows about its key. */
struct find_term {
    const struct find_condition *condition;
    int64_t key;    /* id in meta_key; users' keys alone */
    uint64_t count; /* things it holds for, when they were counted; else UINT64_MAX */
};

/* One question, in one order: by id, or by sort and then by id. */
struct find_question {
    struct lake *l;
    struct find_term terms[FIND_CONDITIONS_MAX + 1];
    size_t n;
    const struct find_term *sort; /* one of terms: what has it, by its value; NULL = by id */
    bool descending;
    uint64_t limit; /* UINT64_MAX = all */
};

#define FIND_TABLES_MAX 4

/* Tables are known by one letter: v versions, f files or sets, o content, d who made it and when.
 */
struct find_table {
    char letter;
    const char *name;
    const char *link; /* to the home table, or to the one `via`; NULL for itself */
    char via;         /* table between it and the home table; 0 = none */
};

struct find_scope {
    enum lake_item item;
    const char *kind;                          /* as users write it */
    const char *id;                            /* column */
    struct find_table tables[FIND_TABLES_MAX]; /* the first is home: it has a row for each thing */
    const char *columns[META_BUILTINS]; /* by built-in key; NULL = things of this kind lack it */
    const char *here;                   /* was not removed; NULL = none ever is */
    const char *rights;                 /* columns: owner, group and mode */
    bool gaps;                          /* a column may be NULL: this one lacks the key */
};

/* In order of enum lake_item; ends with NULL. */
extern const struct find_scope *const find_scopes[];

/* False when no thing of that kind can answer: kind=..., or keys it never has. */
bool find_scope_fits(const struct find_scope *s, const struct find_question *q);

/* Whether the condition has an index that a search may begin from. */
bool find_source_usable(const struct find_scope *s, const struct find_term *t);
/* Whether its things come in the order of the question. */
bool find_source_in_order(const struct find_question *q, const struct find_term *t);
/* The table whose index a built-in condition reads; that of all things for kind and NULL. */
const struct find_table *find_scope_table(const struct find_scope *s, const struct find_term *t);
/* The table that its link leads to, one step closer to the home table; NULL from there. */
const struct find_table *find_scope_next(const struct find_scope *s, const struct find_table *t);

/* ---- find_sql.c: the SQL of one query about one kind of item, from a chosen index. The text is
 * made of fixed pieces; everything that users wrote is bound. ---- */

/* Where the search begins: an index that a condition has, or all things of the kind (NULL). */
struct find_source {
    const struct find_term *term;
};

/* How many things the source has, counted up to most. */
int find_count(const struct find_question *q,
               const struct find_scope *s,
               const struct find_source *source,
               uint64_t most,
               uint64_t *out,
               struct err *e);

/* Columns of an answer; FIND_TEXTS on: what each MATCHES condition looks at. */
enum { FIND_ITEM, FIND_SORT, FIND_OWNER, FIND_TEAM, FIND_MODE, FIND_TEXTS };
/* Answers in order. candidates > 0: among the first `candidates` of the source, which is in order,
 * and the answers are then the first ones; 0 = all. The query is ready to be stepped. */
struct db_query *find_query(const struct find_question *q,
                            const struct find_scope *s,
                            const struct find_source *source,
                            uint64_t candidates,
                            uint64_t limit,
                            struct err *e);

/* ---- find_plan.c: the choice of the index that a query starts from, so that few rows are read
 * ---- */

/* The answers of one kind, in order, as a query to be stepped; every row must pass find_accepts. */
struct db_query *find_plan(struct find_question *q, const struct find_scope *s, struct err *e);

/* What the database does not test: regular expressions and permissions. */
bool find_accepts(const struct find_question *q, struct db_query *row);

/* ---- find_answer.c: the built-in keys and the metadata of one file, set or job ---- */

/* Used again and again; what it holds is borrowed until the next time. */
struct find_answer {
    struct lake_value *values;
    size_t n, cap;
    struct buf texts; /* of keys and values */
    struct find_place {
        size_t key, text; /* offsets, since the buffer moves while it grows */
    } * places;           /* of values */
    size_t places_cap;
    char *ref;
    bool readable; /* for the caller */
};
void find_answer_init(struct find_answer *a);
void find_answer_clear(struct find_answer *a);

/* 1: found, and *out is filled in; 0: there is no such thing; -1. */
int find_answer_get(struct lake *l,
                    struct find_answer *a,
                    enum lake_item kind,
                    int64_t item,
                    struct lake_found *out,
                    struct err *e);

#endif
