/* Prepared statements: prepared once per connection, bound, stepped and reset. db.h declares the
 * functions. */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Of a query made of parts; SQLite's own limit for ?1 ?2 ... */
#define PARAMETERS_MAX 32766

static bool same_sql(const void *all, uint32_t i, const void *sql)
{
    struct db_query *const *queries = all;

    return strcmp(queries[i]->sql, sql) == 0;
}

static void use_list_remove(struct db *d, struct db_query *q)
{
    *(q->newer ? &q->newer->older : &d->newest) = q->older;
    *(q->older ? &q->older->newer : &d->oldest) = q->newer;
}

static void use_list_add(struct db *d, struct db_query *q)
{
    q->newer = NULL;
    q->older = d->newest;
    *(d->newest ? &d->newest->newer : &d->oldest) = q;
    d->newest = q;
}

static void mark_used(struct db *d, struct db_query *q)
{
    if (d->newest == q)
        return;
    use_list_remove(d, q);
    use_list_add(d, q);
}

static void forget(struct db *d, struct db_query *q)
{
    map_remove(d->by_sql, q->hash, q->number);
    d->all[q->number] = NULL;
    use_list_remove(d, q);
    d->queries--;
    d->unfinished -= q->unfinished;
    sqlite3_finalize(q->statement);
    free(q->index);
    free(q->sql);
    free(q);
}

void db_forget_queries(struct db *d)
{
    while (d->newest)
        forget(d, d->newest);
}

static void make_room(struct db *d)
{
    struct db_query *q = d->oldest;

    if (d->queries < DB_QUERIES_MAX)
        return;
    while (q && q->unfinished)
        q = q->newer;
    /* No caller reads hundreds of queries at once: some were never reset. */
    assert(q);
    forget(d, q);
}

static void end_rows(struct db_query *q)
{
    if (!q->unfinished)
        return;
    sqlite3_reset(q->statement);
    q->unfinished = q->has_row = false;
    q->db->unfinished--;
}

void db_cut_queries(struct db *d)
{
    for (struct db_query *q = d->newest; q && d->unfinished > 0; q = q->older) {
        if (!q->unfinished)
            continue;
        end_rows(q);
        q->cut = true;
    }
}

/* The number in "$12". */
static int parameter_number(const char *name)
{
    int number = 0;

    assert(name && name[0] == '$' && name[1] != '\0');
    for (const char *p = name + 1; *p; p++) {
        assert(*p >= '0' && *p <= '9' && number <= PARAMETERS_MAX);
        number = number * 10 + (*p - '0');
    }
    assert(number >= 1 && number <= PARAMETERS_MAX);
    return number;
}

/* To SQLite $1 is a name like any other, and indexes go by first appearance. */
static void map_parameters(struct db_query *q)
{
    int n = sqlite3_bind_parameter_count(q->statement);

    for (int i = 1; i <= n; i++) {
        int number = parameter_number(sqlite3_bind_parameter_name(q->statement, i));

        if (number > q->parameters)
            q->parameters = number;
    }
    q->index = mem_zero((size_t)q->parameters + 1, sizeof *q->index);
    for (int i = 1; i <= n; i++)
        q->index[parameter_number(sqlite3_bind_parameter_name(q->statement, i)) - 1] = i;
}

static sqlite3_stmt *prepare(struct db *d, const char *sql, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    int rc;
    int times = 0;

    sqlite_wait_start(d);
    do { /* reads the schema where that has changed, for which others may be in the way */
        rc = sqlite3_prepare_v3(d->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    } while (sqlite_is_busy(rc) && sqlite_wait(d, times++));
    if (rc != SQLITE_OK)
        sqlite_error(d, rc, e);
    assert(rc != SQLITE_OK || statement); /* no text of ours is empty */
    return statement;
}

struct db_query *db_prepare(struct db *d, const char *sql, struct err *e)
{
    uint64_t hash = hash_text(sql);
    uint32_t known = map_find(d->by_sql, hash, same_sql, d->all, sql);
    struct db_query *q;

    if (known != MAP_NONE) {
        q = d->all[known];
        db_reset(q);
        sqlite3_clear_bindings(q->statement);
        q->bind_rc = SQLITE_OK;
        mark_used(d, q);
        return q;
    }
    sqlite3_stmt *statement = prepare(d, sql, e);
    if (!statement)
        return NULL;
    make_room(d);
    q = mem_zero(1, sizeof *q);
    q->db = d;
    q->statement = statement;
    map_parameters(q);
    q->columns = sqlite3_column_count(statement);
    q->sql = mem_dup(sql);
    q->hash = hash;
    while (d->all[q->number])
        q->number++;
    d->all[q->number] = q;
    map_add(d->by_sql, hash, q->number);
    use_list_add(d, q);
    d->queries++;
    return q;
}

static bool is_null(const struct db_value *v)
{
    return v->type == DB_TYPE_NULL || (v->type == DB_TYPE_TEXT && !v->as.text);
}

static int bind_value(sqlite3_stmt *s, int index, const struct db_value *v)
{
    switch (v->type) {
    case DB_TYPE_INT:
        return sqlite3_bind_int64(s, index, v->as.integer);
    case DB_TYPE_REAL:
        return sqlite3_bind_double(s, index, v->as.real);
    case DB_TYPE_TEXT:
        return sqlite3_bind_text64(s, index, v->as.text, strlen(v->as.text), SQLITE_STATIC,
                                   SQLITE_UTF8);
    case DB_TYPE_BYTES:
        return sqlite3_bind_blob64(s, index, v->as.bytes.data, v->as.bytes.n, SQLITE_STATIC);
    case DB_TYPE_NULL:
    case DB_TYPE_END:
        break;
    }
    return sqlite3_bind_null(s, index);
}

void db_bind(struct db_query *q, int i, struct db_value v)
{
    assert(v.type != DB_TYPE_BYTES || v.as.bytes.data || v.as.bytes.n == 0);
    assert(i >= 1 && i <= q->parameters && q->index[i - 1] > 0);
    db_reset(q);
    if (is_null(&v))
        v = DB_NULL;
    else if (v.type == DB_TYPE_BYTES && !v.as.bytes.data)
        v = DB_BYTES("", 0);
    int rc = bind_value(q->statement, q->index[i - 1], &v);
    if (q->bind_rc == SQLITE_OK)
        q->bind_rc = rc;
}

struct db_query *db_query_bound(struct db *d,
                                const char *sql,
                                const struct db_value *values,
                                struct err *e)
{
    struct db_query *q = db_prepare(d, sql, e);

    /* A parameter that is not bound is NULL. */
    for (int i = 0; q && values[i].type != DB_TYPE_END; i++)
        if (!is_null(&values[i]))
            db_bind(q, i + 1, values[i]);
    return q;
}

static int step(struct db_query *q, struct err *e)
{
    struct db *d = q->db;
    int times = 0;

    /* A new start from the first row would look like more rows. */
    assert(!q->cut);
    assert(d->transaction != DB_TRANSACTION_READ || sqlite3_stmt_readonly(q->statement));
    if (db_allowed(d, q->sql, e) < 0)
        return -1;
    if (!q->unfinished) {
        mark_used(d, q);
        q->unfinished = true;
        d->unfinished++;
    }
    if (q->bind_rc != SQLITE_OK)
        return err_set(e, ERR_IO, "%s: a value cannot be stored: %s", d->url,
                       sqlite3_errstr(q->bind_rc));
    sqlite_wait_start(d);
    int rc = sqlite3_step(q->statement);
    /* Before the first row nothing has happened yet; later, others cannot be in the way. */
    while (!q->has_row && sqlite_is_busy(rc) && sqlite_wait(d, times++)) {
        sqlite3_reset(q->statement);
        rc = sqlite3_step(q->statement);
    }
    q->has_row = rc == SQLITE_ROW;
    return q->has_row || rc == SQLITE_DONE ? q->has_row : sqlite_error(d, rc, e);
}

int db_step(struct db_query *q, struct err *e)
{
    int more = q ? step(q, e) : -1;

    if (q && more <= 0)
        end_rows(q);
    return more;
}

int db_finish(struct db_query *q, struct err *e)
{
    int more;

    do {
        more = db_step(q, e);
    } while (more > 0);
    return more;
}

int db_take_int(struct db_query *q, int64_t *out, struct err *e)
{
    int row = db_step(q, e);

    if (row <= 0)
        return row;
    bool known = !db_is_null(q, 0);
    if (known)
        *out = db_int(q, 0);
    db_reset(q);
    return known;
}

void db_reset(struct db_query *q)
{
    if (!q)
        return;
    end_rows(q);
    q->cut = false;
}

/* The statement, with the row that the caller is about to read. */
static sqlite3_stmt *row_of(struct db_query *q, int column)
{
    assert(q->unfinished && column >= 0 && column < q->columns);
    return q->statement;
}

int64_t db_int(struct db_query *q, int column)
{
    return sqlite3_column_int64(row_of(q, column), column);
}

double db_real(struct db_query *q, int column)
{
    return sqlite3_column_double(row_of(q, column), column);
}

const char *db_text(struct db_query *q, int column)
{
    return (const char *)sqlite3_column_text(row_of(q, column), column);
}

const void *db_bytes(struct db_query *q, int column, size_t *n_out)
{
    const void *bytes = sqlite3_column_blob(row_of(q, column), column);

    *n_out = (size_t)sqlite3_column_bytes(q->statement, column);
    /* SQLite gives NULL for no bytes, too. */
    return bytes || db_is_null(q, column) ? bytes : "";
}

bool db_is_null(struct db_query *q, int column)
{
    return sqlite3_column_type(row_of(q, column), column) == SQLITE_NULL;
}
