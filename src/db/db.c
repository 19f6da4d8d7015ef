#include "db/db.h"

#include "base/map.h"
#include "base/mem.h"
#include "db/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* Longer than any writer holds the lake in one transaction. */
#define BUSY_MS_DEFAULT 60000
/* What a check looks for unless told otherwise; lines below one message count, too. */
#define PROBLEMS_MAX 100

struct db *db_open(const struct db_options *options, struct err *e)
{
    AUTO(db) struct db *d = NULL;

    /* As postgresql://... */
    if (!*options->url || strstr(options->url, "://")) {
        err_set(e, ERR_USAGE, "%s: unknown kind of database; give the path of a file",
                options->url);
        return NULL;
    }
    d = mem_zero(1, sizeof *d);
    d->url = mem_dup(options->url);
    d->name = mem_dup(options->name);
    d->busy_ms = options->busy_ms ? options->busy_ms : BUSY_MS_DEFAULT;
    d->allow = options->allow;
    d->context = options->context;
    d->by_sql = map_new();
    if (sqlite_open(d, options->must_exist, e) < 0 || db_migrate(d, options->migrations, e) < 0)
        return NULL;
    return TAKE(d);
}

void db_free(struct db *d)
{
    if (!d)
        return;
    db_rollback(d);
    db_forget_queries(d);
    sqlite3_close(d->handle);
    map_free(d->by_sql);
    free(d->url);
    free(d->path);
    free(d->name);
    free(d);
}

static bool in_transaction(const struct db *d)
{
    return d->handle && !sqlite3_get_autocommit(d->handle);
}

/* One statement without parameters or rows. */
static int exec(struct db *d, const char *sql, struct err *e)
{
    int rc = sqlite_run(d, sql);

    return rc == SQLITE_OK ? 0 : sqlite_error(d, rc, e);
}

int db_allowed(struct db *d, const char *sql, struct err *e)
{
    if (d->allow && !d->allow(d->context, sql))
        return err_set(e, ERR_IO, "%s: injected failure", d->url);
    /* What follows would otherwise be committed statement by statement. */
    if (d->transaction != DB_TRANSACTION_NONE && !in_transaction(d))
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
    if (kind == DB_TRANSACTION_WRITE && !d->writable)
        return db_read_only(d, e);
    if (exec(d, kind == DB_TRANSACTION_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", e) < 0)
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
        status = exec(d, "COMMIT", e);
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
    if (in_transaction(d))
        sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
    d->transaction = DB_TRANSACTION_NONE;
}

int db_end(struct db *d, int result, struct err *e)
{
    if (result >= 0)
        return db_commit(d, e);
    db_rollback(d);
    return -1;
}

int db_exec(struct db *d, const char *sql, struct err *e)
{
    return db_allowed(d, sql, e) < 0 ? -1 : exec(d, sql, e);
}

int64_t db_changes(struct db *d)
{
    return sqlite3_changes64(d->handle);
}

/* The log is synced when it is copied into the database, not at each commit. */
void db_relax(struct db *d)
{
    sqlite3_exec(d->handle, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
}

/* What is read in place counts as ours, 128 MB of it otherwise. */
void db_spare_memory(struct db *d)
{
    sqlite3_exec(d->handle, "PRAGMA mmap_size=16777216", NULL, NULL, NULL);
}

/* ---- damage ---- */

struct listener {
    void (*problem)(void *context, const char *text);
    void *context;
    int told;
};

/* One message may hold several problems, a line each, below a heading in stars. */
static void tell(struct listener *to, const char *text)
{
    while (*text && to->told < PROBLEMS_MAX) {
        size_t n = strcspn(text, "\n");
        AUTO_MEM char *line = mem_printf("%.*s", (int)(n < 1000 ? n : 1000), text);

        if (n > 0 && strcmp(line, "ok") != 0 && strncmp(line, "***", 3) != 0) {
            to->problem(to->context, line);
            to->told++;
        }
        text += n + (text[n] == '\n');
    }
}

int db_check(struct db *d,
             void (*problem)(void *context, const char *text),
             void *context,
             struct err *e)
{
    struct listener to = {problem, context, 0};
    AUTO_RESET struct db_query *q = db_query(d, e, "PRAGMA integrity_check", DB_NONE);
    int row;

    while ((row = db_step(q, e)) > 0)
        if (!db_is_null(q, 0))
            tell(&to, db_text(q, 0));
    /* Past some damage the check itself cannot go on; that is an answer, too. */
    if (row < 0 && (sqlite3_errcode(d->handle) & 0xff) == SQLITE_CORRUPT) {
        tell(&to, sqlite3_errmsg(d->handle));
        row = 0;
    }
    return row;
}
