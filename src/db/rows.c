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
    struct db_value value;
    size_t at; /* in copies, which move */
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

/* Where the copy begins. */
static size_t copy(struct db_rows *r, const void *bytes, size_t n)
{
    size_t at = r->copies_len, end = at + n + 1; /* a text's NUL */

    if (end > r->copies_cap) {
        r->copies_cap = 2 * end;
        r->copies = mem_grow(r->copies, r->copies_cap, 1);
    }
    if (n) /* bytes may be NULL otherwise */
        memcpy(r->copies + at, bytes, n);
    r->copies[end - 1] = 0;
    r->copies_len = end;
    return at;
}

static void add_cell(struct db_rows *r, struct db_value v)
{
    size_t at = 0;

    if (v.type == DB_TYPE_TEXT && !v.as.text)
        v = DB_NULL;
    else if (v.type == DB_TYPE_TEXT)
        at = copy(r, v.as.text, strlen(v.as.text));
    else if (v.type == DB_TYPE_BYTES)
        at = copy(r, v.as.bytes.data, v.as.bytes.n);
    r->cells = mem_room(r->cells, r->n_cells, &r->cap_cells, sizeof *r->cells);
    r->cells[r->n_cells++] = (struct cell){v, at};
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
    if (c->value.type == DB_TYPE_TEXT)
        return DB_TEXT(r->copies + c->at);
    if (c->value.type == DB_TYPE_BYTES)
        return DB_BYTES(r->copies + c->at, c->value.as.bytes.n);
    return c->value;
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

int db_rows_add_values(struct db_rows *r, const struct db_value *values, struct err *e)
{
    for (size_t i = 0; i < r->columns; i++) {
        assert(values[i].type != DB_TYPE_END);
        add_cell(r, values[i]);
    }
    assert(values[r->columns].type == DB_TYPE_END);
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
