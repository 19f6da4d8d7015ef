/* schema: the lake's tables. */
#ifndef LAKE_SCHEMA_H
#define LAKE_SCHEMA_H

#include "db/db.h"

/* The state of a job (enum lake_job_state) as text, in SQL: an index has it, and finds it by these
 * very words. table: "" or "f." */
#define LAKE_JOB_STATE_SQL(table)                                                                  \
    "CASE " table "state WHEN 1 THEN 'queued' WHEN 2 THEN 'launching' WHEN 3 THEN 'fetching'"      \
    " WHEN 4 THEN 'running' WHEN 5 THEN 'storing' WHEN 6 THEN 'finished' WHEN 7 THEN 'failed'"     \
    " WHEN 8 THEN 'killed' WHEN 9 THEN 'lost' END"

/* Everybody in the project may read a job, its user may write: 0644. */
#define LAKE_JOB_MODE_SQL "420"

extern const struct db_migration lake_migrations[];

#endif
