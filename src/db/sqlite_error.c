/* SQLite's result codes as errors, and waiting for a database that another process holds. The
 * other sqlite files call it. */
#include "base/time.h"
#include "db/internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

bool sqlite_is_busy(int rc)
{
    /* An old view does not get younger by waiting. */
    if (rc == SQLITE_BUSY_SNAPSHOT)
        return false;
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

void sqlite_wait_start(struct db *d)
{
    d->give_up_s = 0;
}

bool sqlite_wait(struct db *d, int times)
{
    double now_s = time_monotonic_s();
    uint32_t random;
    struct timespec pause = {0};

    if (d->give_up_s == 0) /* read lazily: most statements never wait */
        d->give_up_s = now_s + d->busy_ms / 1000.0;
    if (now_s >= d->give_up_s)
        return false;
    /* Up to 1, 2, 4 ... 32 ms; by chance, so that waiting processes do not come back together. */
    sqlite3_randomness(sizeof random, &random);
    pause.tv_nsec = 100000 + (long)(random % (1000000U << (times < 5 ? times : 5)));
    nanosleep(&pause, NULL);
    return true;
}

int sqlite_run(struct db *d, const char *sql)
{
    int rc;
    int times = 0;

    sqlite_wait_start(d);
    do {
        rc = sqlite3_exec(d->handle, sql, NULL, NULL, NULL);
    } while (sqlite_is_busy(rc) && sqlite_wait(d, times++));
    return rc;
}

static int say_busy(struct db *d, int rc, struct err *e)
{
    if (rc == SQLITE_BUSY_SNAPSHOT)
        return err_set(e, ERR_RETRY,
                       "%s's database was changed by another process meanwhile; try again",
                       d->name);
    return err_set(e, ERR_RETRY,
                   "%s's database is busy: another process has been writing for %g s; try again",
                   d->name, d->busy_ms / 1000.0);
}

static int say_system(struct db *d, int number, const char *message, struct err *e)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return err_set(e, ERR_IO, "%s: the disk is full; free some space and try again", d->url);
    case EACCES:
    case EPERM:
    case EROFS:
        return err_set(e, ERR_DENIED, "%s: %s", d->url, strerror(number));
    case 0:
        return err_set(e, ERR_IO, "%s: %s", d->url, message);
    default:
        return err_set(e, ERR_IO, "%s: %s (%s)", d->url, message, strerror(number));
    }
}

int sqlite_error(struct db *d, int rc, struct err *e)
{
    const char *message = d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(rc);
    int number = d->handle ? sqlite3_system_errno(d->handle) : 0;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_PROTOCOL:
        return say_busy(d, rc, e);
    case SQLITE_FULL:
        return say_system(d, ENOSPC, message, e);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return db_read_only(d, e);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return say_system(d, number, message, e);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(e, ERR_IO, "%s: damaged (%s); put a copy of it back from a backup", d->url,
                       message);
    default:
        return err_set(e, ERR_IO, "%s: %s", d->url, message);
    }
}
