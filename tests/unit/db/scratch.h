/* scratch: databases of a test, in a directory that goes with it. */
#ifndef DB_SCRATCH_H
#define DB_SCRATCH_H

#include "db/db.h"

/* Makes the directory; every user may look into it. */
void scratch_begin(void);
void scratch_end(void);
/* The path of that name in it; good for the next three calls. */
const char *scratch(const char *name);

/* t (id, name, body, x) and an index. */
extern const struct db_migration scratch_schema[];

/* Opens the database of that name with scratch_schema; a failure is printed, and NULL. */
struct db *scratch_open(const char *name);

/* Runs SQL that gives one number; -1 when it fails. */
int64_t scratch_number(struct db *d, const char *sql);
/* INSERT INTO t (id, name). */
int scratch_add(struct db *d, int64_t id, const char *name, struct err *e);
/* Problems that db_check tells; -1 when it fails. */
int scratch_problems(struct db *d);

#endif
