/* Inserts many rows with few statements: rows are collected and written in the order of their
 * key. db.h declares the functions. */
#include "base/buf.h"
#include "base/mem.h"
#include "db/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one statement. Each table and index is looked up once for all of them, and rows that rise
 * find their place from the one before. */
#define GROUP 64
#define SQL_BYTES_MAX ((size_t)64 << 10)

/* A value whose text or bytes lie in db_rows.copies. */
struct cell {
    enum db_type type;
    int64_t integer;
    size_t at, n;
};

struct db_rows {
    struct db *db;
    const char *into, *after;
    char *sql_one, *sql_group; /* NULL until it is needed */
    struct cell *cells;
    size_t columns, n_cells, cap_cells;
    char *copies;
    size_t copies_len, copies_cap;
    int64_t added, changed;
};

struct db_rows *db_rows_new(struct db *d, const char *into, size_t columns, const char *after)
{
    struct db_rows *r = mem_zero(1, sizeof *r);

    assert(columns > 0);
    r->db = d;
    r->into = into;
    r->after = after;
    r->columns = columns;
    return r;
}

void db_rows_free(struct db_rows *r)
{
    if (!r)
        return;
    free(r->sql_one);
    free(r->sql_group);
    free(r->cells);
    free(r->copies);
    free(r);
}

static struct cell *next_cell(struct db_rows *r)
{
    assert(r->n_cells < GROUP * r->columns);
    r->cells = mem_room(r->cells, r->n_cells, &r->cap_cells, sizeof *r->cells);
    return &r->cells[r->n_cells++];
}

void db_rows_int(struct db_rows *r, int64_t v)
{
    *next_cell(r) = (struct cell){.type = DB_TYPE_INT, .integer = v};
}

static void copy(struct db_rows *r, enum db_type type, const void *bytes, size_t n)
{
    size_t end = r->copies_len + n + 1; /* a text's NUL */

    if (end > r->copies_cap) {
        r->copies_cap = 2 * end;
        r->copies = mem_grow(r->copies, r->copies_cap, 1);
    }
    memcpy(r->copies + r->copies_len, bytes, n);
    r->copies[end - 1] = 0;
    *next_cell(r) = (struct cell){.type = type, .at = r->copies_len, .n = n};
    r->copies_len = end;
}

void db_rows_text(struct db_rows *r, const char *s)
{
    copy(r, DB_TYPE_TEXT, s, strlen(s));
}

void db_rows_bytes(struct db_rows *r, const void *bytes, size_t n)
{
    copy(r, DB_TYPE_BYTES, bytes, n);
}

void db_rows_null(struct db_rows *r)
{
    *next_cell(r) = (struct cell){.type = DB_TYPE_NULL};
}

/* INTO VALUES ($1, $2), ($3, $4) AFTER */
static char *write_sql(const struct db_rows *r, size_t rows)
{
    AUTO_CLEAR(buf) struct buf sql;

    buf_init(&sql, SQL_BYTES_MAX);
    buf_printf(&sql, "%s VALUES ", r->into);
    for (size_t row = 0, n = 1; row < rows; row++) {
        buf_puts(&sql, row ? ", (" : "(");
        for (size_t column = 0; column < r->columns; column++)
            buf_printf(&sql, "%s$%zu", column ? ", " : "", n++);
        buf_puts(&sql, ")");
    }
    buf_printf(&sql, " %s", r->after);
    assert(!sql.full);
    return mem_dup(buf_str(&sql));
}

static struct db_value value_of(const struct db_rows *r, const struct cell *c)
{
    switch (c->type) {
    case DB_TYPE_INT:
        return DB_INT(c->integer);
    case DB_TYPE_TEXT:
        return DB_TEXT(r->copies + c->at);
    case DB_TYPE_BYTES:
        return DB_BYTES(r->copies + c->at, c->n);
    case DB_TYPE_REAL:
    case DB_TYPE_NULL:
    case DB_TYPE_END:
        break;
    }
    return DB_NULL;
}

static int write_rows(struct db_rows *r, char **sql, size_t first_row, size_t rows, struct err *e)
{
    if (!*sql)
        *sql = write_sql(r, rows);
    struct db_query *q = db_prepare(r->db, *sql, e);
    if (!q)
        return -1;
    for (size_t i = 0; i < rows * r->columns; i++)
        db_bind(q, (int)i + 1, value_of(r, &r->cells[first_row * r->columns + i]));
    if (db_finish(q, e) < 0)
        return -1;
    r->added += (int64_t)rows;
    r->changed += db_changes(r->db);
    return 0;
}

int db_rows_next(struct db_rows *r, struct err *e)
{
    assert(r->n_cells > 0 && r->n_cells % r->columns == 0);
    if (r->n_cells < GROUP * r->columns)
        return 0;
    if (write_rows(r, &r->sql_group, 0, GROUP, e) < 0)
        return -1;
    r->n_cells = r->copies_len = 0;
    return 0;
}

int db_rows_flush(struct db_rows *r, struct err *e)
{
    for (size_t row = 0; row < r->n_cells / r->columns; row++)
        if (write_rows(r, &r->sql_one, row, 1, e) < 0)
            return -1;
    r->n_cells = r->copies_len = 0;
    return 0;
}

bool db_rows_all_changed(const struct db_rows *r)
{
    return r->changed == r->added;
}
