/* find_scope: the kinds of things that find knows: their tables, and the columns that answer to
 * built-in keys. */
#ifndef LAKE_FIND_FIND_SCOPE_H
#define LAKE_FIND_FIND_SCOPE_H

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

#endif
