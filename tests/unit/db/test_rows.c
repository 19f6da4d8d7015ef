/* Many rows by few statements: every value where it belongs, whatever the number of rows, and
 * what was left out is known. */
#include "db/db.h"

#include "scratch.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static struct {
    int statements, fail_at; /* fail_at: the nth INSERT INTO t fails; 0 = none does */
} watch;

static bool allow(void *context, const char *sql)
{
    (void)context;
    if (strncmp(sql, "INSERT INTO t ", 14) != 0)
        return true;
    return ++watch.statements != watch.fail_at;
}

/* Row i: a name unless i is a multiple of 5, and i % 4 bytes of value i. */
static int add_row(struct db_rows *r, int64_t id, int i, struct err *e)
{
    char name[32], body[4];

    snprintf(name, sizeof name, "row %d", i);
    memset(body, i, sizeof body);
    int result = db_rows_add(r, e, DB_INT(id), i % 5 ? DB_TEXT(name) : DB_NULL,
                             DB_BYTES(body, (size_t)i % 4));
    memset(name, 'x', sizeof name); /* what was given is not needed any more */
    memset(body, 'x', sizeof body);
    return result;
}

static int add_rows(struct db *d, int n, struct err *e)
{
    AUTO(db_rows) struct db_rows *r = db_rows_new(d, "INSERT INTO t (id, name, body)", 3, "");

    for (int i = 0; i < n; i++)
        if (add_row(r, i + 1, i, e) < 0)
            return -1;
    return db_rows_flush(r, e);
}

static bool row_is_right(struct db_query *q, int i)
{
    char name[32];
    size_t n;
    const char *body = db_bytes(q, 2, &n);
    bool right = db_int(q, 0) == i + 1 && n == (size_t)i % 4;

    snprintf(name, sizeof name, "row %d", i);
    for (size_t k = 0; right && k < n; k++)
        right = (unsigned char)body[k] == i % 256;
    return right &&
           (i % 5 ? !db_is_null(q, 1) && strcmp(db_text(q, 1), name) == 0 : db_is_null(q, 1));
}

static void any_number(struct db *d)
{
    static const int numbers[] = {0, 1, 63, 64, 65, 128, 1000};

    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        struct err e = {0};
        int n = numbers[k], right = 0, rows = 0;
        watch.statements = 0;
        bool good = db_exec(d, "DELETE FROM t", &e) == 0 && db_begin(d, &e) == 0 &&
                    add_rows(d, n, &e) == 0 && db_commit(d, &e) == 0;
        int statements = watch.statements;
        struct db_query *q = db_prepare(d, "SELECT id, name, body FROM t ORDER BY id", &e);
        for (; q && db_step(q, &e) > 0; rows++)
            right += row_is_right(q, rows);
        CHECK(good && rows == n && right == n, "%d of %d rows are right %s", right, n, e.text);
        CHECK(statements == n / 64 + n % 64, "%d statements for them", statements);
    }
}

/* Ids 1 to 100, of which 50 is there. */
static void left_out(struct db *d)
{
    AUTO(db_rows)
    struct db_rows *r =
        db_rows_new(d, "INSERT INTO t (id, name, body)", 3, "ON CONFLICT (id) DO NOTHING");
    struct err e = {0};
    bool before = false;

    db_exec(d, "DELETE FROM t", &e);
    db_exec(d, "INSERT INTO t (id, name) VALUES (50, 'mine')", &e);
    CHECK(db_begin(d, &e) == 0, "begin %s", e.text);
    for (int i = 100; i >= 1; i--) {
        add_row(r, i, i, &e);
        if (i == 100)
            before = db_rows_all_changed(r);
    }
    CHECK(db_rows_flush(r, &e) == 0 && db_commit(d, &e) == 0, "written %s", e.text);
    CHECK(before && !db_rows_all_changed(r), "it is known that one was left out");
    CHECK(scratch_number(d, "SELECT count(*) FROM t") == 100 &&
              scratch_number(d, "SELECT count(*) FROM t WHERE name = 'mine'") == 1,
          "the one that was there");
}

static void failures(struct db *d)
{
    struct err e = {0};
    int failed = 0;

    db_exec(d, "DELETE FROM t", &e);
    for (watch.fail_at = 1; watch.fail_at <= 4; watch.fail_at++) {
        watch.statements = 0;
        e = (struct err){0};
        if (db_begin(d, &e) == 0 && add_rows(d, 130, &e) < 0 && e.kind == ERR_IO)
            failed++;
        db_rollback(d);
    }
    watch.fail_at = 0;
    CHECK(failed == 4, "each of 2 groups and 2 single rows can fail: %d", failed);
    CHECK(scratch_number(d, "SELECT count(*) FROM t") == 0, "and is undone");
}

int main(void)
{
    struct err e = {0};

    scratch_begin();
    const struct db_options options = {.url = scratch("rows.db"),
                                       .name = "the test",
                                       .migrations = scratch_schema,
                                       .allow = allow};
    struct db *d = db_open(&options, &e);
    CHECK(d != NULL, "open %s", e.text);
    if (d) {
        any_number(d);
        left_out(d);
        failures(d);
        CHECK(scratch_problems(d) == 0, "no damage");
    }
    db_free(d);
    scratch_end();
    return TAP_DONE();
}
