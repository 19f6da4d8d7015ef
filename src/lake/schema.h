/* schema: the lake's tables. */
#ifndef LAKE_SCHEMA_H
#define LAKE_SCHEMA_H

#include "db/db.h"

extern const struct db_migration lake_migrations[];

#endif
