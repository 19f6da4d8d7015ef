/* find_sql: the SQL of one query about one kind of item, from a chosen index. The text is made of
 * fixed pieces; everything that users wrote is bound. */
#ifndef LAKE_FIND_FIND_SQL_H
#define LAKE_FIND_FIND_SQL_H

#include "lake/find/find_scope.h"

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

#endif
