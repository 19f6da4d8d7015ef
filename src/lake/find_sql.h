/* find_sql: SQL for one question about one kind of thing, begun from a chosen place. Its text is
 * made of fixed pieces; everything that users wrote is bound. */
#ifndef LAKE_FIND_SQL_H
#define LAKE_FIND_SQL_H

#include "lake/find_parse.h"
#include "lake/internal.h"

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

/* One kind of thing: its tables and the columns that answer to built-in keys. */
struct find_scope;
extern const struct find_scope
    *const find_scopes[]; /* in order of enum lake_item; ends with NULL */
const char *find_scope_kind(const struct find_scope *s);
enum lake_item find_scope_item(const struct find_scope *s);
/* False when no thing of that kind can answer: kind=..., or keys it never has. */
bool find_scope_fits(const struct find_scope *s, const struct find_question *q);

/* Where the search begins: an index that a condition has, or all things of the kind (NULL). */
struct find_source {
    const struct find_term *term;
};
/* Whether there is an index to begin from. */
bool find_source_usable(const struct find_scope *s, const struct find_term *t);
/* Whether its things come in the order of the question. */
bool find_source_in_order(const struct find_question *q, const struct find_term *t);

/* How many things the source has, counted up to most. */
int find_count(const struct find_question *q,
               const struct find_scope *s,
               const struct find_source *source,
               uint64_t most,
               uint64_t *out,
               struct err *e);

/* Columns of an answer; FIND_TEXTS on: what each MATCHES condition looks at. */
enum { FIND_ITEM, FIND_SORT, FIND_OWNER, FIND_TEAM, FIND_MODE, FIND_TEXTS };
/* Answers in order. candidates > 0: among the first so many of the source, which is in order, and
 * the answers are then the first ones; 0 = all. The query is ready to be stepped. */
struct db_query *find_query(const struct find_question *q,
                            const struct find_scope *s,
                            const struct find_source *source,
                            uint64_t candidates,
                            uint64_t limit,
                            struct err *e);

#endif
