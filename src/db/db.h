/* db: one SQL interface to a SQLite database (WAL). Callers keep to SQL that PostgreSQL also reads:
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
/* db_commit, or db_rollback when result, that of the work in it, is negative: 0 or -1. */
int db_end(struct db *d, int result, struct err *e);
/* A consistent view over several queries, ended by db_commit or db_rollback. */
int db_begin_read(struct db *d, struct err *e);

/* A value for a parameter of a statement. Texts and bytes are borrowed until the query is reset or
 * ends; a NULL text is SQL's NULL. */
enum db_type { DB_TYPE_END, DB_TYPE_NULL, DB_TYPE_INT, DB_TYPE_REAL, DB_TYPE_TEXT, DB_TYPE_BYTES };
struct db_value {
    enum db_type type;
    union {
        int64_t integer;
        double real;
        const char *text;
        struct {
            const void *data;
            size_t n;
        } bytes;
    } as;
};
#define DB_INT(v) ((struct db_value){.type = DB_TYPE_INT, .as.integer = (v)})
#define DB_REAL(v) ((struct db_value){.type = DB_TYPE_REAL, .as.real = (v)})
#define DB_TEXT(s) ((struct db_value){.type = DB_TYPE_TEXT, .as.text = (s)})
#define DB_BYTES(p, size) ((struct db_value){.type = DB_TYPE_BYTES, .as.bytes = {(p), (size)}})
#define DB_NULL ((struct db_value){.type = DB_TYPE_NULL}) /* also of a number not in the SQL */
#define DB_NONE ((struct db_value){.type = DB_TYPE_END})  /* no parameters */

/* db_query(d, e, "SELECT ... $1 ... $2", DB_INT(id), DB_TEXT(name)): the query for this SQL,
 * prepared once and kept (found by its text), with these values for $1, $2, ...; the first row
 * comes with db_step. NULL: failed, and db_step of NULL fails too. Borrowed, in use until the next
 * query with the same text; a query not used while 256 others were may be gone. AUTO_RESET ends the
 * query at the end of the scope. */
#define db_query(d, e, sql, ...) db_query_bound((d), (sql), DB_VALUES(__VA_ARGS__), (e))
/* Runs one statement to its end; rows are ignored. */
#define db_run(d, e, sql, ...) db_finish(db_query(d, e, sql, __VA_ARGS__), (e))
/* The first column of the first row: 1: *out has it; 0: no row, or NULL: *out stays; -1. */
#define db_get_int(d, e, out, sql, ...) db_take_int(db_query(d, e, sql, __VA_ARGS__), (out), (e))

#define DB_VALUES(...) ((const struct db_value[]){__VA_ARGS__, DB_NONE})
struct db_query *db_query_bound(struct db *d,
                                const char *sql,
                                const struct db_value *values,
                                struct err *e);
int db_take_int(struct db_query *q, int64_t *out, struct err *e);

/* The same query with its values still to be bound, for SQL that is put together at run time. */
struct db_query *db_prepare(struct db *d, const char *sql, struct err *e);
/* Parameters count from 1, as $1. Binding resets. Values stay bound until the same text is asked
 * for again. */
void db_bind(struct db_query *q, int i, struct db_value v);

/* 1: a row is there; 0: no more (the query is reset); -1: failed (reset too), or q is NULL. */
int db_step(struct db_query *q, struct err *e);
/* Runs to the end, rows ignored. NULL: -1. */
int db_finish(struct db_query *q, struct err *e);
/* Ends a query whose rows are no longer wanted; harmless otherwise. NULL: nothing. */
void db_reset(struct db_query *q);
/* AUTO_RESET struct db_query *q = db_query(...); */
#define AUTO_RESET __attribute__((cleanup(db_auto_reset)))
static inline void db_auto_reset(struct db_query **q)
{
    db_reset(*q);
}
/* Rows the last finished INSERT, UPDATE or DELETE touched. */
int64_t db_changes(struct db *d);

/* Columns count from 0. Borrowed until the next step. NULL columns: 0, 0.0, NULL, NULL. */
int64_t db_int(struct db_query *q, int column);
double db_real(struct db_query *q, int column);
const char *db_text(struct db_query *q, int column);
const void *db_bytes(struct db_query *q, int column, size_t *n_out);
bool db_is_null(struct db_query *q, int column);

/* Many rows for one table, written by few statements: `into` is "INSERT INTO t (a, b)", `after`
 * what follows the values, or "". db_rows_add(rows, e, DB_INT(id), DB_TEXT(name)) adds one, with
 * the values in the order of the columns, which are copied. Rows may be written any time until
 * db_rows_flush, which writes the last. */
struct db_rows;
struct db_rows *db_rows_new(struct db *d, const char *into, size_t columns, const char *after);
void db_rows_free(struct db_rows *r);
AUTO_DEFINE(db_rows)
#define db_rows_add(r, e, ...) db_rows_add_values((r), DB_VALUES(__VA_ARGS__), (e))
int db_rows_add_values(struct db_rows *r, const struct db_value *values, struct err *e);
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
