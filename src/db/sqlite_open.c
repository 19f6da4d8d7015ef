/* Opens a SQLite database with its settings (WAL, synced commits, cache). db_open calls it. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "db/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FULL: the log is synced at each commit. Larger transactions than the cache spill into the log.
 * 4000 pages are 16 MB of log between checkpoints; after a huge transaction the log file is cut to
 * 64 MB. FAST: deleted rows are overwritten where that costs no extra writing. */
static const char writing_settings[] = "PRAGMA synchronous=FULL;"
                                       "PRAGMA wal_autocheckpoint=4000;"
                                       "PRAGMA journal_size_limit=67108864;"
                                       "PRAGMA secure_delete=FAST;";
/* A 32 MB cache, and 128 MB of the file read in place. Texts in "" are names, as in PostgreSQL, by
 * the connection's flags. */
static const char settings[] = "PRAGMA cache_size=-32768;"
                               "PRAGMA mmap_size=134217728;"
                               "PRAGMA trusted_schema=OFF;";

static int on_busy(void *context, int times)
{
    return sqlite_wait(context, times);
}

/* Made by ourselves: SQLite would make it readable for everybody, and its log files take over the
 * mode. Harmless when several processes do it at once. */
static int make_file(const char *path, struct err *e)
{
    int fd = file_open_own(path, O_RDWR | O_EXCL, FILE_OWN);

    if (fd < 0)
        return errno == EEXIST ? 0 : file_error(e, "create", path);
    close(fd);
    return 0;
}

/* Counting memory takes a lock that all threads share at every allocation. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* first: a setting that counts only before anything is read. */
static int open_handle(struct db *d, const char *name, int flags, const char *first)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, configure);
    int rc = sqlite3_open_v2(name, &d->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return rc;
    sqlite3_extended_result_codes(d->handle, 1);
    sqlite3_busy_handler(d->handle, on_busy, d);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(d->handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    rc = sqlite_run(d, first);
    return rc == SQLITE_OK ? sqlite_run(d, settings) : rc;
}

/* The first read opens the log and, after a crash, recovers from it. */
static int first_read(struct db *d)
{
    return sqlite_run(d, "SELECT count(*) FROM sqlite_master");
}

/* A missing permission hides behind several codes, depending on which of the files it concerns. */
static bool lacks_permission(const struct db *d, int rc)
{
    AUTO_MEM char *dir = mem_dup(d->path);
    char *slash = strrchr(dir, '/'); /* there is one: paths start with / or ./ */

    if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
        return false;
    slash[slash == dir] = '\0';
    return access(d->path, R_OK) == 0 && (access(dir, W_OK) < 0 || access(d->path, W_OK) < 0);
}

/* As an URI, with what has a meaning there escaped. */
static void put_uri(struct buf *uri, const char *path)
{
    buf_puts(uri, "file:");
    for (const char *p = path; *p; p++) {
        if (strchr("%?#", *p))
            buf_printf(uri, "%%%02X", (unsigned)(unsigned char)*p);
        else
            buf_add(uri, p, 1);
    }
    buf_puts(uri, "?mode=ro&immutable=1");
}

/* Without permission to make the log's files, SQLite reads a database only as one that no process
 * changes. That is true to the last commit when there is no log. */
static int open_immutable(struct db *d, struct err *e)
{
    AUTO_MEM char *log = mem_printf("%s-wal", d->path);
    AUTO_CLEAR(buf) struct buf uri;
    struct stat st;
    int rc;

    buf_init(&uri, (size_t)4 * PATH_MAX);
    if (stat(log, &st) == 0 && st.st_size > 0)
        return err_set(e, ERR_DENIED,
                       "%s: may only be read, and its newest changes are still in %s; open it once "
                       "with permission to write",
                       d->path, log);
    put_uri(&uri, d->path);
    sqlite3_close(d->handle);
    d->handle = NULL;
    rc = open_handle(d, buf_str(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, "");
    if (rc == SQLITE_OK)
        rc = first_read(d);
    return rc == SQLITE_OK ? 0 : sqlite_error(d, rc, e);
}

static int start_with(struct db *d, const char *first)
{
    int rc = open_handle(d, d->path, SQLITE_OPEN_READWRITE, first);

    if (rc == SQLITE_OK)
        rc = first_read(d);
    if (rc != SQLITE_OK)
        return rc;
    d->writable = sqlite3_db_readonly(d->handle, "main") == 0;
    if (d->writable)
        rc = sqlite_run(d, writing_settings);
    /* Changing to a log is refused without asking the busy handler, while others open the file; a
     * file system that cannot have one leaves the rollback journal, which is as safe. */
    return d->writable && rc == SQLITE_OK ? sqlite_run(d, "PRAGMA journal_mode=WAL") : rc;
}

static int start(struct db *d, struct err *e)
{
    int rc = start_with(d, "");

    /* A full disk has no room for the index of the log that processes share. One process at a time
     * can do with an index in memory: what is there can be read, and little things can be removed.
     */
    if (rc == SQLITE_IOERR_SHMSIZE) {
        sqlite3_close(d->handle);
        d->handle = NULL;
        rc = start_with(d, "PRAGMA locking_mode=EXCLUSIVE");
    }
    if (rc == SQLITE_OK)
        return 0;
    d->writable = false;
    return lacks_permission(d, rc) ? open_immutable(d, e) : sqlite_error(d, rc, e);
}

int sqlite_open(struct db *d, bool must_exist, struct err *e)
{
    struct stat st;

    d->path = d->url[0] == '/' ? mem_dup(d->url) : mem_printf("./%s", d->url);
    if (stat(d->path, &st) < 0) {
        if (errno != ENOENT)
            return file_error(e, "open", d->url);
        if (must_exist)
            return err_set(e, ERR_NOTFOUND, "%s: this database does not exist", d->url);
        if (make_file(d->path, e) < 0)
            return -1;
    } else if (!S_ISREG(st.st_mode)) {
        return err_set(e, ERR_USAGE, "%s: not a file, so no database", d->url);
    }
    return start(d, e);
}
