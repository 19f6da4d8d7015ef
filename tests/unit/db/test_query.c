/* Values in and out, the query cache, and what ends a query. */
#include "db/db.h"

#include "scratch.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static void check_values(struct db *d)
{
    static const char bytes[] = {'a', 0, 'b', 0, (char)0xff};
    struct err e = {0};
    struct db_query *q =
        db_prepare(d, "INSERT INTO t (x, id, body, name) VALUES ($4, $1, $3, $2)", &e);
    const void *got;
    size_t n = 99;

    CHECK(q != NULL, "parameters in any order");
    db_bind(q, 1, DB_INT(INT64_MAX));
    db_bind(q, 2, DB_TEXT("Größe 湖 \xf0\x9f\x90\x8b ' ; --"));
    db_bind(q, 3, DB_BYTES(bytes, sizeof bytes));
    db_bind(q, 4, DB_REAL(-0.1));
    CHECK(db_finish(q, &e) == 0 && db_changes(d) == 1, "a row goes in %s", e.text);
    db_bind(q, 1, DB_INT(INT64_MIN));
    db_bind(q, 2, DB_TEXT(NULL));
    db_bind(q, 3, DB_NULL);
    db_bind(q, 4, DB_NULL);
    CHECK(db_finish(q, &e) == 0, "and one of NULLs %s", e.text);
    db_bind(q, 1, DB_INT(7));
    db_bind(q, 2, DB_TEXT(""));
    db_bind(q, 3, DB_BYTES(NULL, 0));
    db_bind(q, 4, DB_REAL(1e308));
    CHECK(db_finish(q, &e) == 0, "and one of empty values %s", e.text);

    q = db_prepare(d, "SELECT id, name, body, x FROM t ORDER BY id", &e);
    CHECK(q && db_step(q, &e) == 1 && db_int(q, 0) == INT64_MIN, "the smallest number");
    CHECK(db_is_null(q, 1) && db_is_null(q, 2) && db_is_null(q, 3) && !db_is_null(q, 0), "NULLs");
    CHECK(!db_text(q, 1) && !db_bytes(q, 2, &n) && n == 0 && db_real(q, 3) == 0 &&
              db_int(q, 3) == 0,
          "read as nothing");
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == 7 && !db_is_null(q, 1) && !db_is_null(q, 2),
          "empty is not NULL");
    got = db_bytes(q, 2, &n);
    CHECK(got && n == 0 && !strcmp(db_text(q, 1), "") && db_real(q, 3) == 1e308, "but empty");
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == INT64_MAX, "the largest number");
    CHECK(!strcmp(db_text(q, 1), "Größe 湖 \xf0\x9f\x90\x8b ' ; --"), "text of any script");
    got = db_bytes(q, 2, &n);
    CHECK(n == sizeof bytes && !memcmp(got, bytes, n), "bytes with zeros");
    CHECK(fabs(db_real(q, 3) + 0.1) < 1e-17, "a real number");
    CHECK(db_step(q, &e) == 0, "and no more");
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == INT64_MIN, "after the end it starts over");
    db_reset(q);
}

static void check_parameters(struct db *d)
{
    char sql[4096] = "SELECT 0";
    struct err e = {0};
    struct db_query *q;

    for (int i = 120; i >= 1; i--) {
        size_t len = strlen(sql);

        snprintf(sql + len, sizeof sql - len, " + %d * $%d", i % 7, i);
    }
    q = db_prepare(d, sql, &e);
    CHECK(q != NULL, "120 parameters %s", e.text);
    int64_t want = 0;
    for (int i = 1; i <= 120; i++) {
        db_bind(q, i, DB_INT(i));
        want += (i % 7) * i;
    }
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == want, "each has its own value");

    q = db_prepare(d, "SELECT $1 + $1 * 10", &e);
    db_bind(q, 1, DB_INT(4));
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == 44, "one may stand in two places");
    db_bind(q, 1, DB_INT(5));
    CHECK(db_step(q, &e) == 1 && db_int(q, 0) == 55, "binding anew resets");
    q = db_prepare(d, "SELECT $1 + $1 * 10", &e);
    CHECK(db_step(q, &e) == 1 && db_is_null(q, 0), "asking for the query again unbinds");
    db_reset(q);
}

static int64_t sum_until(struct db *d, int64_t most)
{
    AUTO_RESET struct db_query *q = db_query(d, NULL, "SELECT id FROM s ORDER BY id", DB_NONE);
    int64_t sum = 0;

    while (db_step(q, NULL) == 1) {
        sum += db_int(q, 0);
        if (sum >= most)
            return sum; /* the query ends here */
    }
    return sum;
}

static void check_bound(struct db *d)
{
    struct err e = {0};
    int64_t n = -1;

    CHECK(db_exec(d, "CREATE TABLE s (id INTEGER, name TEXT, x REAL)", &e) == 0, "%s", e.text);
    for (int64_t i = 1; i <= 3; i++)
        CHECK(db_run(d, &e, "INSERT INTO s VALUES ($1, $2, $3)", DB_INT(i), DB_TEXT("n"),
                     i == 2 ? DB_NULL : DB_REAL(0.5)) == 0,
              "a statement in one call %s", e.text);
    CHECK(db_get_int(d, &e, &n, "SELECT count(x) FROM s WHERE name = $1", DB_TEXT("n")) == 1 &&
              n == 2,
          "a number in one call, NULL was NULL");
    CHECK(db_get_int(d, &e, &n, "SELECT id FROM s WHERE id > $1", DB_INT(9)) == 0 && n == 2,
          "no row leaves the number");
    CHECK(db_get_int(d, &e, &n, "SELECT max(id) FROM s WHERE id > $1", DB_INT(9)) == 0 && n == 2,
          "nor does NULL change it");
    CHECK(db_get_int(d, &e, &n, "SELECT id FROM s WHERE id = $2", DB_TEXT(NULL), DB_INT(3)) == 1 &&
              n == 3,
          "NULL may stand for a number that the SQL does not have");
    CHECK(sum_until(d, 3) == 3 && sum_until(d, 100) == 6, "a query ends with its scope");
    CHECK(db_begin(d, &e) == 0 && db_commit(d, &e) == 0, "and holds no lock %s", e.text);
    CHECK(db_run(d, &e, "SELEC 1", DB_NONE) < 0 && strstr(e.text, "SELEC") &&
              db_step(NULL, &e) < 0 && db_finish(NULL, &e) < 0,
          "a query that cannot be prepared fails at its first step");
    db_reset(NULL);
}

static void check_cache(struct db *d)
{
    struct err e = {0};
    struct db_query *kept = db_prepare(d, "SELECT 'kept', $1", &e);
    struct db_query *open = db_prepare(d, "SELECT id FROM t ORDER BY id", &e);
    bool good = true;

    CHECK(db_step(open, &e) == 1, "a query is left unfinished");
    CHECK(kept == db_prepare(d, "SELECT 'kept', $1", &e), "the same text is the same query");
    for (int i = 0; i < 1000 && good; i++) {
        char sql[64];
        struct db_query *q;

        snprintf(sql, sizeof sql, "SELECT %d", i);
        q = db_prepare(d, sql, &e);
        good = q && db_step(q, &e) == 1 && db_int(q, 0) == i;
        if (q)
            db_reset(q);
        db_bind(kept, 1, DB_INT(i));
        good = good && db_step(kept, &e) == 1 && db_int(kept, 1) == i;
        db_reset(kept);
    }
    CHECK(good, "a thousand other texts, and one in use stays %s", e.text);
    CHECK(db_step(open, &e) == 1 && db_int(open, 0) == 7, "the unfinished one stays, too");
    CHECK(db_begin(d, &e) == 0 && db_commit(d, &e) == 0, "and is not in the way of a commit %s",
          e.text);
    db_reset(open);
    CHECK(db_step(open, &e) == 1 && db_int(open, 0) == INT64_MIN, "reset, it starts over");
    db_reset(open);
}

static void check_unfinished_write(struct db *d)
{
    struct err e = {0};
    struct db_query *q;

    CHECK(db_begin(d, &e) == 0, "begin");
    q = db_prepare(d, "INSERT INTO t (id) VALUES (100), (101) RETURNING id", &e);
    CHECK(q && db_step(q, &e) == 1 && db_int(q, 0) == 100, "an INSERT with a row to go");
    CHECK(db_commit(d, &e) == 0, "does not block the commit %s", e.text);
    CHECK(scratch_number(d, "SELECT count(*) FROM t WHERE id IN (100, 101)") == 2,
          "and is done as a whole");
    q = db_prepare(d, "DELETE FROM t WHERE id >= $1 AND id < $2", &e);
    db_bind(q, 1, DB_INT(100));
    db_bind(q, 2, DB_INT(200));
    CHECK(db_finish(q, &e) == 0 && db_changes(d) == 2, "db_changes counts deleted rows");
}

static void check_mistakes(struct db *d)
{
    struct err e = {0};

    CHECK(!db_prepare(d, "SELEC 1", &e) && e.kind == ERR_IO && strstr(e.text, "SELEC") &&
              strstr(e.text, "values.db"),
          "bad SQL: %s", e.text);
    CHECK(!db_prepare(d, "SELECT \"text\"", &e), "double quotes hold names: %s", e.text);
    CHECK(db_exec(d, "CREATE TABLE t (a INTEGER)", &e) < 0 && strstr(e.text, "exists"),
          "a failing statement: %s", e.text);
    CHECK(scratch_add(d, 7, "again", &e) < 0 && e.kind == ERR_IO && strstr(e.text, "t.id"),
          "an id twice: %s", e.text);
}

int main(void)
{
    struct db *d;

    scratch_begin();
    d = scratch_open("values.db");
    CHECK(d != NULL, "open");
    if (d) {
        check_values(d);
        check_parameters(d);
        check_bound(d);
        check_cache(d);
        check_unfinished_write(d);
        check_mistakes(d);
        CHECK(scratch_problems(d) == 0, "no damage");
    }
    db_free(d);
    db_free(NULL);
    scratch_end();
    return TAP_DONE();
}
