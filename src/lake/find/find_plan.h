/* find_plan: the choice of the index that a query starts from, so that few rows are read. */
#ifndef LAKE_FIND_FIND_PLAN_H
#define LAKE_FIND_FIND_PLAN_H

#include "lake/find/find_sql.h"

/* The answers of one kind, in order, as a query to be stepped; every row must pass find_accepts. */
struct db_query *find_plan(struct find_question *q, const struct find_scope *s, struct err *e);

/* What the database does not test: regular expressions and permissions. */
bool find_accepts(const struct find_question *q, struct db_query *row);

#endif
