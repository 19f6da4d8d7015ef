/* others: content of other lakes in the same store. Lakes may share a store; but a lake without
 * content that finds some has most likely lost its database. */
#ifndef LAKE_CORE_OTHERS_H
#define LAKE_CORE_OTHERS_H

#include "base/err.h"
#include "store/store.h"

/* A lake's mark: 64 bits as hexadecimal digits. */
#define OTHERS_MARK 17

/* ERR_USAGE, with the ways out, when the store has content of a lake with another mark than this
 * one ("" = none yet). home: where the database is that does not know it. */
int others_refuse(const struct store_settings *settings,
                  const char *mark,
                  const char *home,
                  struct err *e);

#endif
