/* Prepared statements: prepared once per connection, bound, stepped and reset. db.h declares the
 * functions. */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/driver.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    d->driver->finish(q->statement);
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
    q->db->driver->reset(q->statement);
    q->unfinished = false;
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

struct db_query *db_prepare(struct db *d, const char *sql, struct err *e)
{
    uint64_t hash = hash_text(sql);
    uint32_t known = map_find(d->by_sql, hash, same_sql, d->all, sql);
    struct db_query *q;
    struct db_statement *statement;

    if (known != MAP_NONE) {
        q = d->all[known];
        db_reset(q);
        d->driver->unbind(q->statement);
        mark_used(d, q);
        return q;
    }
    statement = d->driver->prepare(d, sql, e);
    if (!statement)
        return NULL;
    make_room(d);
    q = mem_zero(1, sizeof *q);
    q->db = d;
    q->statement = statement;
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

void db_bind(struct db_query *q, int i, struct db_value v)
{
    assert(v.type != DB_TYPE_BYTES || v.as.bytes.data || v.as.bytes.n == 0);
    db_reset(q);
    if (is_null(&v))
        v = DB_NULL;
    else if (v.type == DB_TYPE_BYTES && !v.as.bytes.data)
        v = DB_BYTES("", 0);
    q->db->driver->bind(q->statement, i, &v);
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

    /* A new start from the first row would look like more rows. */
    assert(!q->cut);
    assert(d->transaction != DB_TRANSACTION_READ || !d->driver->writes(q->statement));
    if (db_allowed(d, q->sql, e) < 0)
        return -1;
    if (!q->unfinished) {
        mark_used(d, q);
        q->unfinished = true;
        d->unfinished++;
    }
    return d->driver->step(q->statement, e);
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
static struct db_statement *row_of(struct db_query *q, int column)
{
    assert(q->unfinished && column >= 0 && column < q->db->driver->columns(q->statement));
    return q->statement;
}

int64_t db_int(struct db_query *q, int column)
{
    return q->db->driver->get_int(row_of(q, column), column);
}

double db_real(struct db_query *q, int column)
{
    return q->db->driver->get_real(row_of(q, column), column);
}

const char *db_text(struct db_query *q, int column)
{
    return q->db->driver->get_text(row_of(q, column), column);
}

const void *db_bytes(struct db_query *q, int column, size_t *n_out)
{
    return q->db->driver->get_bytes(row_of(q, column), column, n_out);
}

bool db_is_null(struct db_query *q, int column)
{
    return q->db->driver->is_null(row_of(q, column), column);
}
