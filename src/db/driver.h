/* driver: the functions of a database driver for db.h, and the structures that src/db shares. */
#ifndef DB_DRIVER_H
#define DB_DRIVER_H

#include "db/db.h"

/* A prepared statement, as the driver has it. */
struct db_statement;

enum db_transaction { DB_TRANSACTION_NONE, DB_TRANSACTION_READ, DB_TRANSACTION_WRITE };
enum db_contents { DB_CONTENTS_NONE, DB_CONTENTS_OURS, DB_CONTENTS_FOREIGN };

/* Waiting for other writers, up to db's busy_ms, is the driver's in every entry that can fail; when
 * it was in vain the error is ERR_RETRY. Failures name the database. */
struct db_driver {
    const char *name;
    bool (*accepts)(const char *url);
    /* Sets d->connection. A missing database is made, empty, unless must_exist (ERR_NOTFOUND). One
     * that may only be read is opened for reading. */
    int (*open)(struct db *d, bool must_exist, struct err *e);
    /* Also after a failed open: connection may be NULL. All statements are finished before. */
    void (*close)(struct db *d);
    bool (*writable)(struct db *d);
    /* OURS: the table db_migration is there. FOREIGN: it is not, and others are. */
    int (*contents)(struct db *d, enum db_contents *out, struct err *e);
    /* This driver's statements of a migration. */
    const char *const *(*statements)(const struct db_migration *m);

    /* READ or WRITE; see db_begin_read and db_begin. */
    int (*begin)(struct db *d, enum db_transaction kind, struct err *e);
    /* May leave the transaction open when it fails; the caller rolls back. */
    int (*commit)(struct db *d, struct err *e);
    void (*rollback)(struct db *d);
    /* False as well when a failing statement made the database undo the transaction by itself. */
    bool (*in_transaction)(struct db *d);

    /* One statement without parameters or rows. */
    int (*exec)(struct db *d, const char *sql, struct err *e);
    int64_t (*changes)(struct db *d);
    void (*relax)(struct db *d);
    void (*spare_memory)(struct db *d);
    int (*check)(struct db *d,
                 void (*problem)(void *context, const char *text),
                 void *context,
                 struct err *e);

    struct db_statement *(*prepare)(struct db *d, const char *sql, struct err *e);
    void (*finish)(struct db_statement *s);
    bool (*writes)(const struct db_statement *s);
    /* Ends the rows; the values stay bound. */
    void (*reset)(struct db_statement *s);
    void (*unbind)(struct db_statement *s);
    /* Of a statement that is reset. A value that cannot be bound makes the next step fail. Texts
     * and bytes are not NULL. */
    void (*bind)(struct db_statement *s, int i, const struct db_value *v);
    /* 1 row, 0 end, -1 failure. The caller resets after 0 and -1. */
    int (*step)(struct db_statement *s, struct err *e);
    /* Of the row stepped to; columns within range. */
    int (*columns)(const struct db_statement *s);
    bool (*is_null)(struct db_statement *s, int column);
    int64_t (*get_int)(struct db_statement *s, int column);
    double (*get_real)(struct db_statement *s, int column);
    const char *(*get_text)(struct db_statement *s, int column);
    const void *(*get_bytes)(struct db_statement *s, int column, size_t *n_out);
};

extern const struct db_driver db_sqlite;

/* Queries kept prepared. Past that, the one unused for longest goes. */
#define DB_QUERIES_MAX 256

struct db_query {
    struct db *db;
    struct db_statement *statement;
    char *sql;
    uint64_t hash;
    uint32_t number;                /* in db.all */
    struct db_query *newer, *older; /* by last use */
    bool unfinished;                /* stepped, the end not reached */
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
    const struct db_driver *driver;
    void *connection;
    char *url;
    char *name;
    unsigned busy_ms;
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
/* Gives back what was reserved ahead; before a commit. */
int db_ids_return(struct db *d, struct err *e);
/* Brings the schema up to date; many processes may do so at once. */
int db_migrate(struct db *d, const struct db_migration *migrations, struct err *e);

#endif
