/* sqlite: the connection and its helpers, for the files of the SQLite driver. */
#ifndef DB_SQLITE_H
#define DB_SQLITE_H

#include "db/driver.h"

#include <sqlite3.h>

struct sqlite {
    sqlite3 *handle;
    char *path; /* never one that SQLite reads as an URI or a special name */
    unsigned busy_ms;
    double give_up_s; /* when waiting ends; 0 = not waiting */
    bool writable;
};

int sqlite_open(struct db *d, bool must_exist, struct err *e);
void sqlite_close(struct db *d);

/* Says in plain words why a call on this connection failed with rc. Returns -1. */
int sqlite_error(struct db *d, int rc, struct err *e);

/* Whether rc means that another process is in the way and that waiting helps. */
bool sqlite_is_busy(int rc);
/* Forgets how long was waited before. */
void sqlite_wait_start(struct sqlite *c);
/* Sleeps a little, longer each time; false when the time is over. */
bool sqlite_wait(struct sqlite *c, int times);
/* sqlite3_exec that waits. Returns SQLite's code. */
int sqlite_run(struct sqlite *c, const char *sql);

#endif
