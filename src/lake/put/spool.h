/* spool: standard input as a file, so that it can be measured, hashed and read again. */
#ifndef LAKE_PUT_SPOOL_H
#define LAKE_PUT_SPOOL_H

#include "lake/put/source.h"

/* A nameless file below TMPDIR with everything standard input gives; closing it removes it. */
int spool_stdin(const struct source_patience *patience, struct err *e);

#endif
