/* Transactions, ids, and a disk that fails at every call in turn. */
#include "db/db.h"

#include "base/time.h"
#include "scratch.h"
#include "tap.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_transactions(struct db *d)
{
    struct err e = {0};
    struct db_query *q;

    CHECK(db_begin(d, &e) == 0 && scratch_add(d, 1, "one", &e) == 0 && db_commit(d, &e) == 0,
          "a transaction %s", e.text);
    CHECK(db_begin(d, &e) == 0 && scratch_add(d, 2, "two", &e) == 0, "another");
    db_rollback(d);
    db_rollback(d);
    CHECK(scratch_number(d, "SELECT count(*) FROM t") == 1, "is undone, as often as one likes");
    CHECK(db_begin(d, &e) == 0 && scratch_add(d, 3, "x", &e) == 0 && scratch_add(d, 1, "x", &e) < 0,
          "a statement fails: %s", e.text);
    CHECK(scratch_add(d, 4, "x", &e) == 0 && db_commit(d, &e) == 0 &&
              scratch_number(d, "SELECT sum(id) FROM t") == 1 + 3 + 4,
          "it alone is undone, the caller decides about the rest");
    CHECK(db_exec(d, "DELETE FROM t WHERE id > 1", &e) == 0 && db_changes(d) == 2,
          "db_exec outside of a transaction");
    CHECK(db_begin_read(d, &e) == 0 && (q = db_prepare(d, "SELECT name FROM t", &e)) &&
              db_step(q, &e) == 1 && !strcmp(db_text(q, 0), "one") && db_commit(d, &e) == 0,
          "a transaction that reads %s", e.text);
}

static void check_views(struct db *d)
{
    struct err e = {0};
    AUTO(db) struct db *other = scratch_open("db.db");

    CHECK(other && db_begin_read(other, &e) == 0 &&
              scratch_number(other, "SELECT count(*) FROM t") == 1,
          "a second connection reads");
    CHECK(scratch_add(d, 50, "x", &e) == 0 && scratch_number(other, "SELECT count(*) FROM t") == 1,
          "and keeps its view while the first writes");
    db_rollback(other);
    CHECK(scratch_number(other, "SELECT count(*) FROM t") == 2, "then it sees the new row");
    CHECK(db_begin(d, &e) == 0 && scratch_add(d, 51, "x", &e) == 0 &&
              scratch_number(other, "SELECT count(*) FROM t") == 2,
          "what is not committed is not seen");
    db_rollback(d);
}

static void check_ids(struct db *d)
{
    struct err e = {0};
    int64_t a = 0, b = 0, c = 0;

    CHECK(db_begin(d, &e) == 0 && db_ids(d, "file", 1, &a, &e) == 0 &&
              db_ids(d, "file", 1000000, &b, &e) == 0 && db_ids(d, "file", 1, &c, &e) == 0,
          "ids %s", e.text);
    CHECK(a == 1 && b == 2 && c == 1000002, "from 1 on, without gaps");
    CHECK(db_ids(d, "version", 5, &a, &e) == 0 && a == 1, "each kind counts for itself");
    CHECK(db_commit(d, &e) == 0 && db_begin(d, &e) == 0 && db_ids(d, "version", 5, &a, &e) == 0 &&
              a == 6,
          "and on in the next transaction");
    db_rollback(d);
    CHECK(db_begin(d, &e) == 0 && db_ids(d, "version", 1, &a, &e) == 0 && a == 6,
          "undone ids are given again");
    db_rollback(d);
}

/* Allows `left` calls, fails one, allows all that follow. */
static bool allow_but_one(void *context, const char *sql)
{
    int *left = context;

    return sql && (*left)-- != 0;
}

static struct db *open_failing(const char *name, int *left, struct err *e)
{
    return db_open(&(struct db_options){.url = scratch(name),
                                        .name = "the test",
                                        .migrations = scratch_schema,
                                        .allow = allow_but_one,
                                        .context = left},
                   e);
}

/* Adds two rows that belong together. */
static int add_pair(struct db *d, struct err *e)
{
    int64_t id = 0;

    if (db_begin(d, e) < 0)
        return -1;
    if (db_ids(d, "pair", 2, &id, e) < 0 || scratch_add(d, id, "left", e) < 0 ||
        scratch_add(d, id + 1, "right", e) < 0) {
        db_rollback(d);
        return -1;
    }
    return db_commit(d, e);
}

static void check_every_failure(void)
{
    int n = 0;
    bool failed = true, good = true;

    for (; failed && n < 100; n++) {
        struct err e = {0};
        int left = n;
        char name[32];
        int64_t rows;

        snprintf(name, sizeof name, "fail-%d.db", n);
        {
            AUTO(db) struct db *d = open_failing(name, &left, &e);
            failed = !d || add_pair(d, &e) < 0;
            if (failed && (e.kind != ERR_IO || !strstr(e.text, "injected")))
                good = false;
            /* The connection is of use after a failure. */
            if (failed && d && add_pair(d, &e) < 0)
                good = false;
        }
        AUTO(db) struct db *again = scratch_open(name);
        rows = again ? scratch_number(again, "SELECT count(*) FROM t") : -1;
        if (!again || scratch_problems(again) != 0 || (rows != 0 && rows != 2) ||
            (rows == 2 && scratch_number(again, "SELECT max(id) FROM t") != 2) ||
            add_pair(again, &(struct err){0}) < 0 ||
            scratch_number(again, "SELECT max(id) FROM t") != rows + 2)
            good = false;
        if (!good)
            printf("# failure of call %d: %s, %lld rows\n", n, e.text, (long long)rows);
    }
    CHECK(good, "whichever call fails, the database is whole and goes on");
    CHECK(n > 12 && n < 100, "%d calls were made to fail", n - 1);
}

static void check_full_disk(struct db *d)
{
    struct err e = {0};
    struct db_query *q;
    int status = 0;

    CHECK(db_exec(d, "PRAGMA max_page_count=40", &e) == 0, "a disk of 40 pages");
    CHECK(db_begin(d, &e) == 0, "begin");
    for (int i = 0; i < 200 && status == 0; i++) {
        q = db_prepare(d, "INSERT INTO t (id, body) VALUES ($1, zeroblob(3000))", &e);
        db_bind(q, 1, DB_INT(10000 + i));
        status = db_finish(q, &e);
    }
    CHECK(status < 0 && e.kind == ERR_IO && strstr(e.text, "disk is full") &&
              strstr(e.text, "db.db"),
          "is full: %s", e.text);
    db_rollback(d);
    CHECK(scratch_number(d, "SELECT count(*) FROM t WHERE id >= 10000") == 0, "all is undone");
    CHECK(db_exec(d, "PRAGMA max_page_count=1000000", &e) == 0 &&
              scratch_add(d, 10000, "x", &e) == 0 && scratch_problems(d) == 0,
          "with space again, it goes on");
}

/* The commit itself does not fit: files may not grow past a few pages. Runs in a child. */
static int commit_past_limit(void)
{
    struct err e = {0};
    AUTO(db) struct db *d = scratch_open("limit.db");
    struct rlimit limit;
    int bad = 0;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    bad |= !d || db_begin(d, &e) < 0;
    for (int i = 1; i <= 100; i++)
        bad |= bad || scratch_add(d, i, "a row that takes some space, more than a few bytes", &e);
    if (bad)
        return 1;
    limit.rlim_cur = 1 << 14;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (db_commit(d, &e) == 0 || e.kind != ERR_IO)
        return 2;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (scratch_number(d, "SELECT count(*) FROM t") != 0)
        return 3;
    if (db_begin(d, &e) < 0 || scratch_add(d, 1, "x", &e) < 0 || db_commit(d, &e) < 0)
        return 4;
    return scratch_number(d, "SELECT count(*) FROM t") == 1 ? 0 : 5;
}

static void check_failing_commit(void)
{
    pid_t child;
    int status = -1;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int code = commit_past_limit();

        fflush(stdout);
        _exit(code);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a commit that does not fit undoes everything and leaves no transaction (%d)", status);
}

static void check_opening(void)
{
    struct err e = {0};
    struct stat st;
    struct db_options options = {.url = scratch("none.db"),
                                 .name = "the test",
                                 .migrations = scratch_schema,
                                 .must_exist = true};

    CHECK(!db_open(&options, &e) && e.kind == ERR_NOTFOUND && strstr(e.text, "none.db") &&
              stat(options.url, &st) < 0,
          "nothing there, nothing made: %s", e.text);
    options.must_exist = false;
    options.url = scratch("no/none.db");
    CHECK(!db_open(&options, &e) && e.kind == ERR_IO && strstr(e.text, "no/none.db"),
          "no directory: %s", e.text);
    options.url = scratch("");
    CHECK(!db_open(&options, &e) && e.kind == ERR_USAGE, "a directory: %s", e.text);
    options.url = "postgresql://host/lake";
    CHECK(!db_open(&options, &e) && e.kind == ERR_USAGE && strstr(e.text, "postgresql://host/lake"),
          "another kind of database: %s", e.text);
    CHECK(stat(scratch("db.db"), &st) == 0 && (st.st_mode & 0777) == 0600,
          "a new database is the user's alone");
}

static void note_speed(void)
{
    enum { ROWS = 20000 };
    struct err e = {0};
    AUTO(db) struct db *d = scratch_open("speed.db");
    double start = time_monotonic_s();
    int status = d ? db_begin(d, &e) : -1;

    for (int i = 0; i < ROWS && status == 0; i++)
        status = scratch_add(d, i, "/data/train/n01440764/n01440764_10026.JPEG", &e);
    CHECK(status == 0 && db_commit(d, &e) == 0 &&
              scratch_number(d, "SELECT count(*) FROM t") == ROWS,
          "%d rows in one transaction", ROWS);
    printf("# %.0f rows/s\n", ROWS / (time_monotonic_s() - start));
}

int main(void)
{
    struct db *d;

    scratch_begin();
    d = scratch_open("db.db");
    CHECK(d != NULL, "open");
    if (d) {
        check_transactions(d);
        check_views(d);
        check_ids(d);
        check_full_disk(d);
    }
    check_every_failure();
    check_failing_commit();
    check_opening();
    note_speed();
    db_free(d);
    scratch_end();
    return TAP_DONE();
}
