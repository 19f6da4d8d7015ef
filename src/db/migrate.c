/* Numbered migrations: brings the tables of a database up to the version that the program needs.
 * db_open calls it. */
#include "db/internal.h"

#include <assert.h>
#include <stddef.h>

/* The first step is the room's own: which steps were taken, and the ids given out by db_ids. */
static const char *const own_tables[] = {
    "CREATE TABLE db_migration (number INTEGER PRIMARY KEY)",
    "CREATE TABLE counter (kind TEXT PRIMARY KEY, next BIGINT NOT NULL)",
    NULL,
};
static const struct db_migration own = {0, own_tables};

/* The newest step taken; -1 when the database is empty. */
static int find_newest(struct db *d, int known, int64_t *out, struct err *e)
{
    int64_t ours = 0, tables = 0;

    *out = -1;
    if (db_get_int(d, e, &tables, "SELECT count(*) FROM sqlite_master", DB_NONE) < 0 ||
        db_get_int(d, e, &ours, "SELECT 1 FROM sqlite_master WHERE name = 'db_migration'",
                   DB_NONE) < 0)
        return -1;
    if (tables == 0)
        return 0;
    if (!ours)
        return err_set(e, ERR_USAGE, "%s: a database of another program; nothing was changed",
                       d->url);
    if (db_get_int(d, e, out, "SELECT max(number) FROM db_migration", DB_NONE) < 0)
        return -1;
    if (*out > known)
        return err_set(e, ERR_USAGE,
                       "%s: made by a newer tradewind (schema %lld, this one knows %d); use that "
                       "version",
                       d->url, (long long)*out, known);
    return 0;
}

static int take_step(struct db *d, const struct db_migration *m, struct err *e)
{
    for (const char *const *sql = m->sqlite; *sql; sql++)
        if (db_exec(d, *sql, e) < 0)
            return -1;
    return db_run(d, e, "INSERT INTO db_migration (number) VALUES ($1)", DB_INT(m->number));
}

/* Does nothing when another process was faster. */
static int apply(struct db *d, const struct db_migration *m, int known, struct err *e)
{
    int64_t newest;

    if (db_begin(d, e) < 0)
        return -1;
    int result = find_newest(d, known, &newest, e);
    if (result == 0 && newest < m->number)
        result = take_step(d, m, e);
    return db_end(d, result, e);
}

static int count(const struct db_migration *migrations)
{
    int n = 0;

    while (migrations[n].number != 0) {
        assert(migrations[n].number == n + 1);
        n++;
    }
    return n;
}

int db_migrate(struct db *d, const struct db_migration *migrations, struct err *e)
{
    int known = count(migrations);
    int64_t newest;

    if (find_newest(d, known, &newest, e) < 0)
        return err_wrap(e, "open %s", d->name);
    if (newest < known && !d->writable)
        return err_set(e, ERR_DENIED,
                       "%s: %s must be brought up to date first, and there is no permission to "
                       "write to it",
                       d->url, d->name);
    for (int64_t i = newest + 1; i <= known; i++) {
        if (apply(d, i == 0 ? &own : &migrations[i - 1], known, e) < 0)
            return err_wrap(e, "bring %s up to date (step %lld)", d->name, (long long)i);
    }
    return 0;
}
