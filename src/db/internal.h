/* internal: a connection to a SQLite database and its prepared statements, for the files of src/db.
 */
#ifndef DB_INTERNAL_H
#define DB_INTERNAL_H

#include "db/db.h"

#include <sqlite3.h>

enum db_transaction { DB_TRANSACTION_NONE, DB_TRANSACTION_READ, DB_TRANSACTION_WRITE };

/* Queries kept prepared. Past that, the one unused for longest goes. */
#define DB_QUERIES_MAX 256

struct db_query {
    struct db *db;
    sqlite3_stmt *statement;
    int *index; /* of parameter $i, at [i - 1]; 0 = not in the text */
    int parameters, columns;
    int bind_rc; /* the first failure of a bind, for the next step to tell */
    char *sql;
    uint64_t hash;
    uint32_t number;                /* in db.all */
    struct db_query *newer, *older; /* by last use */
    bool unfinished;                /* stepped, the end not reached */
    bool has_row;                   /* the last step found one */
    bool cut;                       /* unfinished when a transaction began or ended */
};

/* Kinds of ids that one transaction reserves ahead. */
#define DB_IDS_KINDS 16

/* Ids [next, end) are reserved and not given out yet. */
struct db_ids {
    char kind[24];
    int64_t next, end;
    int64_t ahead; /* how many to reserve the next time */
};

struct db {
    sqlite3 *handle;
    char *url;  /* as given, for messages */
    char *path; /* never one that SQLite reads as an URI or a special name */
    char *name;
    bool writable;
    unsigned busy_ms;
    double give_up_s; /* when waiting ends; 0 = not waiting */
    bool (*allow)(void *context, const char *sql);
    void *context;
    enum db_transaction transaction;

    struct db_ids ids[DB_IDS_KINDS]; /* of this transaction */
    size_t n_ids;

    struct db_query *all[DB_QUERIES_MAX]; /* NULL where there is none */
    struct map *by_sql;                   /* to indices of all */
    struct db_query *newest, *oldest;
    size_t queries;
    size_t unfinished;
};

/* Whether a statement may go ahead: the test's hook, and a transaction that is still there. */
int db_allowed(struct db *d, const char *sql, struct err *e);
/* Says why a database that can only be read cannot be written. Returns -1. */
int db_read_only(const struct db *d, struct err *e);
/* Ends every unfinished query: it would hold locks past the end of a transaction, or an old view
 * into a new one. Stepping on in one is a bug that is caught. */
void db_cut_queries(struct db *d);
void db_forget_queries(struct db *d);
/* Returns what was reserved ahead; before a commit. */
int db_ids_return(struct db *d, struct err *e);
/* Brings the schema up to date; many processes may do so at once. */
int db_migrate(struct db *d, const struct db_migration *migrations, struct err *e);

/* ---- sqlite_open.c, sqlite_error.c ---- */

/* A missing database is made, empty, unless must_exist (ERR_NOTFOUND). One that may only be read is
 * opened for reading. */
int sqlite_open(struct db *d, bool must_exist, struct err *e);

/* Says in plain words why a call on this connection failed with rc: ERR_RETRY when waiting for
 * other writers was in vain. Returns -1. */
int sqlite_error(struct db *d, int rc, struct err *e);

/* Whether rc means that another process is in the way and that waiting helps. */
bool sqlite_is_busy(int rc);
/* Forgets how long was waited before. */
void sqlite_wait_start(struct db *d);
/* Sleeps a little, longer each time; false when the time is over. */
bool sqlite_wait(struct db *d, int times);
/* sqlite3_exec that waits. Returns SQLite's code. */
int sqlite_run(struct db *d, const char *sql);

#endif
