/* others: content of other lakes in a store. Lakes may share one, but a lake without content that
 * finds some is most likely one whose database was lost. */
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
