#include "db/db.h"

#include "base/map.h"
#include "base/mem.h"
#include "db/driver.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/statvfs.h>

/* Longer than any writer holds the lake in one transaction. */
#define BUSY_MS_DEFAULT 60000

static const struct db_driver *const drivers[] = {&db_sqlite, NULL};

static const struct db_driver *driver_for(const char *url)
{
    for (const struct db_driver *const *p = drivers; *p; p++) {
        if ((*p)->accepts(url))
            return *p;
    }
    return NULL;
}

struct db *db_open(const struct db_options *options, struct err *e)
{
    const struct db_driver *driver = driver_for(options->url);
    AUTO(db) struct db *d = NULL;

    if (!driver) {
        err_set(e, ERR_USAGE, "%s: no such kind of database is known; give the path of a file",
                options->url);
        return NULL;
    }
    d = mem_zero(1, sizeof *d);
    d->driver = driver;
    d->url = mem_dup(options->url);
    d->name = mem_dup(options->name);
    d->busy_ms = options->busy_ms ? options->busy_ms : BUSY_MS_DEFAULT;
    d->allow = options->allow;
    d->context = options->context;
    d->by_sql = map_new();
    if (driver->open(d, options->must_exist, e) < 0 || db_migrate(d, options->migrations, e) < 0)
        return NULL;
    return TAKE(d);
}

void db_free(struct db *d)
{
    if (!d)
        return;
    db_rollback(d);
    db_forget_queries(d);
    d->driver->close(d);
    map_free(d->by_sql);
    free(d->url);
    free(d->name);
    free(d);
}

int db_allowed(struct db *d, const char *sql, struct err *e)
{
    if (d->allow && !d->allow(d->context, sql))
        return err_set(e, ERR_IO, "%s: injected failure", d->url);
    /* What follows would otherwise be committed statement by statement. */
    if (d->transaction != DB_TRANSACTION_NONE && !d->driver->in_transaction(d))
        return err_set(e, ERR_IO, "%s: an earlier failure has undone the transaction", d->url);
    return 0;
}

int db_read_only(const struct db *d, struct err *e)
{
    struct statvfs disk;

    if (statvfs(d->url, &disk) == 0 && (disk.f_flag & ST_RDONLY))
        return err_set(e, ERR_DENIED, "%s: may only be read: the disk is read-only", d->url);
    return err_set(e, ERR_DENIED, "%s: may only be read: no permission to write to it", d->url);
}

static int begin(struct db *d, enum db_transaction kind, struct err *e)
{
    assert(d->transaction == DB_TRANSACTION_NONE);
    if (db_allowed(d, "BEGIN", e) < 0)
        return -1;
    db_cut_queries(d);
    if (kind == DB_TRANSACTION_WRITE && !d->driver->writable(d))
        return db_read_only(d, e);
    if (d->driver->begin(d, kind, e) < 0)
        return -1;
    d->n_ids = 0;
    d->transaction = kind;
    return 0;
}

int db_begin(struct db *d, struct err *e)
{
    return begin(d, DB_TRANSACTION_WRITE, e);
}

int db_begin_read(struct db *d, struct err *e)
{
    return begin(d, DB_TRANSACTION_READ, e);
}

int db_commit(struct db *d, struct err *e)
{
    int status;

    assert(d->transaction != DB_TRANSACTION_NONE);
    status = db_ids_return(d, e);
    db_cut_queries(d);
    if (status == 0)
        status = db_allowed(d, "COMMIT", e);
    if (status == 0)
        status = d->driver->commit(d, e);
    if (status < 0)
        db_rollback(d);
    d->transaction = DB_TRANSACTION_NONE;
    return status;
}

void db_rollback(struct db *d)
{
    if (d->transaction == DB_TRANSACTION_NONE)
        return;
    db_cut_queries(d);
    if (d->driver->in_transaction(d))
        d->driver->rollback(d);
    d->transaction = DB_TRANSACTION_NONE;
}

int db_exec(struct db *d, const char *sql, struct err *e)
{
    if (db_allowed(d, sql, e) < 0)
        return -1;
    return d->driver->exec(d, sql, e);
}

int64_t db_changes(struct db *d)
{
    return d->driver->changes(d);
}

void db_relax(struct db *d)
{
    d->driver->relax(d);
}

void db_spare_memory(struct db *d)
{
    d->driver->spare_memory(d);
}

int db_check(struct db *d,
             void (*problem)(void *context, const char *text),
             void *context,
             struct err *e)
{
    if (db_allowed(d, "CHECK", e) < 0)
        return -1;
    return d->driver->check(d, problem, context, e);
}
