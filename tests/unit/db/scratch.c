#include "scratch.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[256];

void scratch_begin(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(root, sizeof root, "%s/tradewind-db-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root) || chmod(root, 0755) < 0) {
        perror(root);
        exit(EXIT_FAILURE);
    }
}

void scratch_end(void)
{
    file_remove_tree(root);
}

const char *scratch(const char *name)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof *paths, "%s/%s", root, name);
    return path;
}

static const char *const tables[] = {
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, body BLOB, x DOUBLE PRECISION)",
    "CREATE INDEX t_name ON t (name)",
    NULL,
};
const struct db_migration scratch_schema[] = {{1, tables}, {0}};

struct db *scratch_open(const char *name)
{
    struct err e = {0};
    struct db *d = db_open(&(struct db_options){.url = scratch(name),
                                                .name = "the test",
                                                .migrations = scratch_schema},
                           &e);

    if (!d)
        printf("# %s\n", e.text);
    return d;
}

int64_t scratch_number(struct db *d, const char *sql)
{
    struct err e = {0};
    struct db_query *q = db_prepare(d, sql, &e);
    int64_t number = -1;

    if (q && db_step(q, &e) > 0) {
        number = db_int(q, 0);
        db_reset(q);
    } else {
        printf("# %s\n", e.text);
    }
    return number;
}

int scratch_add(struct db *d, int64_t id, const char *name, struct err *e)
{
    struct db_query *q = db_prepare(d, "INSERT INTO t (id, name) VALUES ($1, $2)", e);

    if (!q)
        return -1;
    db_bind(q, 1, DB_INT(id));
    db_bind(q, 2, DB_TEXT(name));
    return db_finish(q, e);
}

static void count_problem(void *context, const char *text)
{
    printf("# %s\n", text);
    ++*(int *)context;
}

int scratch_problems(struct db *d)
{
    struct err e = {0};
    int problems = 0;

    return db_check(d, count_problem, &problems, &e) < 0 ? -1 : problems;
}
