/* schema: the lake's tables. */
#ifndef LAKE_CORE_SCHEMA_H
#define LAKE_CORE_SCHEMA_H

#include "db/db.h"

/* Everybody in the project may read a job, its user may write: 0644. */
#define LAKE_JOB_MODE_SQL "420"

extern const struct db_migration lake_migrations[];

#endif
