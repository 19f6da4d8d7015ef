/* db: one SQL interface. SQLite (WAL) today; callers keep to SQL that PostgreSQL also reads:
 * parameters $1 $2 ..., RETURNING, ON CONFLICT, no rowid, no PRAGMA, ids from db_ids. */
#ifndef DB_DB_H
#define DB_DB_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_query;

/* One step of a schema, run once, in a transaction, in order of number (1, 2, ...). */
struct db_migration {
    int number;
    const char *const *sqlite; /* statements; ends with NULL */
};

struct db_options {
    const char *url;                       /* path of a SQLite file; its directory exists */
    const char *name;                      /* of the schema, for messages: "the lake" */
    const struct db_migration *migrations; /* ends with {0} */
    bool must_exist;                       /* else an empty database is made */
    unsigned busy_ms;                      /* how long to wait for other writers; 0 = 60 s */
    /* Tests: asked before each statement that reads or writes; false makes it fail as a broken disk
     * would (ERR_IO). NULL = never. */
    bool (*allow)(void *context, const char *sql);
    void *context;
};

/* One connection; not for several threads at once. A database made by a newer program is ERR_USAGE
 * that says so; a damaged file ERR_IO naming it. */
struct db *db_open(const struct db_options *options, struct err *e);
void db_free(struct db *d);
AUTO_DEFINE(db)

/* A transaction that will write: it waits for other writers at once, so that what it reads stays
 * true until db_commit. ERR_RETRY in plain words when the wait was in vain. Not nested. What was
 * committed survives a power cut. Beginning and ending one resets all queries; stepping on in one
 * that still had rows is caught as a bug. */
int db_begin(struct db *d, struct err *e);
/* Ends the transaction in any case: when it fails, everything is undone. */
int db_commit(struct db *d, struct err *e);
/* Undoes a transaction; without one it does nothing. */
void db_rollback(struct db *d);
/* A consistent view over several queries, ended by db_commit or db_rollback. */
int db_begin_read(struct db *d, struct err *e);

/* The query for this SQL, prepared once and kept (found by its text); reset and unbound. Borrowed,
 * in use until the next db_query with the same text; one not used while 256 others were may be
 * gone.
 */
struct db_query *db_query(struct db *d, const char *sql, struct err *e);

/* Parameters count from 1, as $1. Texts and bytes are borrowed until the query is reset or ends;
 * binding resets. Values stay bound until db_query is asked for the same text. */
void db_bind_int(struct db_query *q, int i, int64_t v);
void db_bind_real(struct db_query *q, int i, double v);
void db_bind_text(struct db_query *q, int i, const char *s); /* NULL binds NULL */
void db_bind_bytes(struct db_query *q, int i, const void *bytes, size_t n);
void db_bind_null(struct db_query *q, int i);

/* 1: a row is there; 0: no more (the query is reset); -1: failed (reset too). */
int db_step(struct db_query *q, struct err *e);
/* Runs to the end, rows ignored. */
int db_run(struct db_query *q, struct err *e);
/* Ends a query whose rows are no longer wanted; harmless otherwise. */
void db_reset(struct db_query *q);
/* Rows the last finished INSERT, UPDATE or DELETE touched. */
int64_t db_changes(struct db *d);

/* Columns count from 0. Borrowed until the next step. NULL columns: 0, 0.0, NULL, NULL. */
int64_t db_int(struct db_query *q, int column);
double db_real(struct db_query *q, int column);
const char *db_text(struct db_query *q, int column);
const void *db_bytes(struct db_query *q, int column, size_t *n_out);
bool db_is_null(struct db_query *q, int column);

/* Many rows for one table, written by few statements: `into` is "INSERT INTO t (a, b)", `after` what
 * follows the values, or "". Values are copied, and come in the order of the columns; db_rows_next
 * ends each row. Rows may be written any time until db_rows_flush, which writes the last. */
struct db_rows;
struct db_rows *db_rows_new(struct db *d, const char *into, size_t columns, const char *after);
void db_rows_free(struct db_rows *r);
AUTO_DEFINE(db_rows)
void db_rows_int(struct db_rows *r, int64_t v);
void db_rows_text(struct db_rows *r, const char *s);
void db_rows_bytes(struct db_rows *r, const void *bytes, size_t n);
void db_rows_null(struct db_rows *r);
int db_rows_next(struct db_rows *r, struct err *e);
int db_rows_flush(struct db_rows *r, struct err *e);
/* Of those written so far none was left out by `after`. */
bool db_rows_all_changed(const struct db_rows *r);

/* One statement without parameters or rows. */
int db_exec(struct db *d, const char *sql, struct err *e);

/* Reserves n consecutive ids of that kind ("file", "version", ...), the first is *first_out (1 for
 * the very first). Inside a transaction; undone with it. */
int db_ids(struct db *d, const char *kind, int64_t n, int64_t *first_out, struct err *e);

/* From now on what this connection commits survives any crash of the program, but the last of it
 * perhaps not a power cut: for many small transactions that are worth no wait for the disk. */
void db_relax(struct db *d);
/* From now on little of the database is kept in memory: for work that needs the memory itself. */
void db_spare_memory(struct db *d);

/* Looks for damage the database itself can see; each problem is told (the first hundred). Fails
 * only when it could not look. */
int db_check(struct db *d,
             void (*problem)(void *context, const char *text),
             void *context,
             struct err *e);

#endif
