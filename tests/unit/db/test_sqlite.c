/* Several processes at one file: counting, waiting, dying. */
#include "db/db.h"

#include "base/time.h"
#include "scratch.h"
#include "tap.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_up(int times)
{
    struct err e = {0};
    AUTO(db) struct db *d = scratch_open("race.db");

    for (int i = 0; d && i < times; i++) {
        int64_t id = 0;

        if (db_begin(d, &e) < 0 || db_ids(d, "race", 1, &id, &e) < 0 ||
            scratch_add(d, id, "x", &e) < 0 || db_commit(d, &e) < 0) {
            printf("# %s\n", e.text);
            return 1;
        }
    }
    return !d;
}

/* 8 times 200; syncing each commit of all of them may take long under a sanitizer. */
static void check_race(void)
{
    int times = getenv("TRADEWIND_SLOW") ? 50 : 200;
    int good = 0;

    fflush(stdout);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            int code = count_up(times);

            fflush(stdout);
            _exit(code);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status = -1;

        wait(&status);
        good += status == 0;
    }
    AUTO(db) struct db *d = scratch_open("race.db");
    CHECK(good == 8, "8 processes count");
    CHECK(d && scratch_number(d, "SELECT count(*) FROM t") == 8 * times &&
              scratch_number(d, "SELECT max(id) FROM t") == 8 * times &&
              scratch_number(d, "SELECT min(id) FROM t") == 1,
          "to %d, without gaps", 8 * times);
}

static struct db *open_impatient(const char *name, struct err *e)
{
    return db_open(
        &(struct db_options){
            .url = scratch(name), .name = "the test", .migrations = scratch_schema, .busy_ms = 200},
        e);
}

static void check_busy(void)
{
    struct err e = {0};
    AUTO(db) struct db *writer = scratch_open("busy.db");
    AUTO(db) struct db *d = open_impatient("busy.db", &e);
    double start, waited_s;

    CHECK(writer && d && db_begin(writer, &e) == 0 && scratch_add(writer, 1, "x", &e) == 0,
          "somebody writes");
    start = time_monotonic_s();
    CHECK(db_begin(d, &e) < 0 && e.kind == ERR_RETRY &&
              !strcmp(e.text, "the test's database is busy: another process has been writing for "
                              "0.2 s; try again"),
          "a second writer is told so: %s", e.text);
    waited_s = time_monotonic_s() - start;
    CHECK(waited_s >= 0.2, "after it has waited");
    CHECK(scratch_add(d, 2, "x", &e) < 0 && e.kind == ERR_RETRY,
          "outside of a transaction, too: %s", e.text);
    CHECK(scratch_number(d, "SELECT count(*) FROM t") == 0, "reading goes on");
    AUTO(db) struct db *late = open_impatient("busy.db", &e);
    CHECK(late != NULL, "and so does opening %s", e.text);
    CHECK(db_commit(writer, &e) == 0 && db_begin(d, &e) == 0 && scratch_add(d, 2, "x", &e) == 0 &&
              db_commit(d, &e) == 0,
          "then the second writer has its turn %s", e.text);
}

/* An outer query keeps its old view while others write; a write on top of it cannot go on. */
static void check_old_view(void)
{
    struct err e = {0};
    AUTO(db) struct db *other = scratch_open("busy.db");
    AUTO(db) struct db *d = open_impatient("busy.db", &e);
    struct db_query *q = d ? db_prepare(d, "SELECT id FROM t", &e) : NULL;

    CHECK(other && q && db_step(q, &e) == 1 && scratch_add(other, 10, "x", &e) == 0,
          "a row is read, another process writes");
    CHECK(scratch_add(d, 11, "x", &e) < 0 && e.kind == ERR_RETRY && strstr(e.text, "meanwhile"),
          "the old view cannot be written to: %s", e.text);
    CHECK(db_begin(d, &e) == 0 && scratch_add(d, 11, "x", &e) == 0 && db_commit(d, &e) == 0,
          "a transaction starts from a new one %s", e.text);
}

/* Writes pairs until it is killed, a byte for each; the last transaction, too large for the cache,
 * stays open. */
static void write_forever(int out, bool relaxed)
{
    struct err e = {0};
    struct db *d = scratch_open("killed.db");

    if (d && relaxed)
        db_relax(d);
    for (int i = 0; d; i++) {
        if (db_begin(d, &e) < 0 || scratch_add(d, 2 * i, "left", &e) < 0 ||
            scratch_add(d, 2 * i + 1, "right", &e) < 0)
            break;
        if (i == 20)
            db_exec(d,
                    "INSERT INTO t (id, body) WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL"
                    " SELECT i + 1 FROM n WHERE i < 5000) SELECT i, zeroblob(9000) FROM n",
                    &e);
        else if (db_commit(d, &e) < 0)
            break;
        if (write(out, "x", 1) != 1)
            break;
        if (i == 20)
            pause();
    }
    printf("# %s\n", e.text);
    fflush(stdout);
    _exit(1);
}

static void check_killed(int after, bool relaxed)
{
    int progress[2];
    int status = 0;
    char byte;
    pid_t child;

    fflush(stdout);
    if (pipe(progress) < 0 || (child = fork()) < 0)
        return;
    if (child == 0) {
        close(progress[0]);
        write_forever(progress[1], relaxed);
    }
    close(progress[1]);
    for (int i = 0; i < after && read(progress[0], &byte, 1) == 1; i++)
        ;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(progress[0]);
    {
        AUTO(db) struct db *d = scratch_open("killed.db");
        int64_t rows = d ? scratch_number(d, "SELECT count(*) FROM t") : -1;

        CHECK(WIFSIGNALED(status) && rows >= 2 * (after < 20 ? after : 20) && rows % 2 == 0 &&
                  rows < 1000 && scratch_problems(d) == 0,
              "killed after %d commits%s: %lld rows, whole", after, relaxed ? ", relaxed" : "",
              (long long)rows);
        CHECK(d && db_exec(d, "DELETE FROM t", &(struct err){0}) == 0, "and it goes on");
    }
}

static void check_relaxed(void)
{
    AUTO(db) struct db *d = scratch_open("relaxed.db");

    CHECK(d && scratch_number(d, "PRAGMA synchronous") == 2, "every commit waits for the disk");
    if (d)
        db_relax(d);
    CHECK(d && scratch_number(d, "PRAGMA synchronous") == 1, "unless that is not asked for");
}

int main(void)
{
    scratch_begin();
    check_race();
    check_busy();
    check_old_view();
    for (int after = 1; after <= 21; after += 4)
        check_killed(after, false);
    for (int after = 1; after <= 21; after += 10)
        check_killed(after, true);
    check_relaxed();
    scratch_end();
    return TAP_DONE();
}
