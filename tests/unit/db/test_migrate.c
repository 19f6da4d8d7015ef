/* Schemas in steps: new, old, newer, broken, and those of other programs. */
#include "db/db.h"

#include "scratch.h"
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const one[] = {"CREATE TABLE a (id INTEGER PRIMARY KEY)",
                                  "INSERT INTO a (id) VALUES (1)", NULL};
static const char *const two[] = {"ALTER TABLE a ADD COLUMN name TEXT",
                                  "UPDATE a SET name = 'named'", "CREATE TABLE b (x TEXT)", NULL};
static const char *const bad[] = {"ALTER TABLE a ADD COLUMN name TEXT", "DELETE FROM a",
                                  "CREATE TABLE a (again TEXT)", NULL};
static const struct db_migration none[] = {{0}};
static const struct db_migration to_1[] = {{1, one}, {0}};
static const struct db_migration to_2[] = {{1, one}, {2, two}, {0}};
static const struct db_migration broken[] = {{1, one}, {2, bad}, {0}};

static struct db *open_with(const char *name, const struct db_migration *m, struct err *e)
{
    return db_open(&(struct db_options){.url = scratch(name), .name = "the test", .migrations = m},
                   e);
}

static void check_from(const char *name, const struct db_migration *before)
{
    struct err e = {0};

    if (before) {
        AUTO(db) struct db *d = open_with(name, before, &e);
        CHECK(d != NULL, "%s: before %s", name, e.text);
    }
    for (int i = 0; i < 2; i++) {
        AUTO(db) struct db *d = open_with(name, to_2, &e);
        CHECK(d && scratch_number(d, "SELECT count(*) FROM a WHERE name = 'named'") == 1 &&
                  scratch_number(d, "SELECT count(*) FROM b") == 0,
              "%s: up to date, each step once %s", name, e.text);
    }
}

static void check_newer(void)
{
    struct err e = {0};

    CHECK(!open_with("new.db", to_1, &e) && e.kind == ERR_USAGE && strstr(e.text, "new.db") &&
              strstr(e.text, "newer tradewind"),
          "a newer database is refused: %s", e.text);
    AUTO(db) struct db *d = open_with("new.db", to_2, &e);
    CHECK(d != NULL, "and is still good %s", e.text);
}

static void check_broken(void)
{
    struct err e = {0};

    {
        AUTO(db) struct db *d = open_with("broken.db", to_1, &e);
        CHECK(d != NULL, "step 1 %s", e.text);
    }
    CHECK(!open_with("broken.db", broken, &e) && e.kind == ERR_IO && strstr(e.text, "step 2"),
          "step 2 fails: %s", e.text);
    AUTO(db) struct db *d = open_with("broken.db", to_1, &e);
    CHECK(d && scratch_number(d, "SELECT count(*) FROM a") == 1 &&
              scratch_number(d, "SELECT count(*) FROM pragma_table_info('a')") == 1,
          "the database is as it was");
    CHECK(!open_with("broken-new.db", broken, &e), "also in a new one");
    AUTO(db) struct db *fixed = open_with("broken-new.db", to_2, &e);
    CHECK(fixed && scratch_number(fixed, "SELECT count(*) FROM a WHERE name = 'named'") == 1,
          "where a correct step 2 follows %s", e.text);
}

static void check_foreign(void)
{
    struct err e = {0};

    {
        AUTO(db) struct db *d = open_with("foreign.db", none, &e);
        CHECK(d && db_exec(d, "CREATE TABLE theirs (x TEXT)", &e) == 0 &&
                  db_exec(d, "DROP TABLE db_migration", &e) == 0,
              "a database without our tables %s", e.text);
    }
    CHECK(!open_with("foreign.db", to_1, &e) && e.kind == ERR_USAGE &&
              strstr(e.text, "another program"),
          "is refused: %s", e.text);
}

/* Many processes meet a new database at the same moment, when the last of them is there. */
static void check_together(void)
{
    enum { PROCESSES = 12 };
    int gate[2];
    int good = 0;
    char byte;

    fflush(stdout);
    if (pipe(gate) < 0)
        return;
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            struct err e = {0};

            close(gate[1]);
            if (read(gate[0], &byte, 1) < 0)
                _exit(2);
            struct db *d = open_with("together.db", to_2, &e);
            bool found = d && scratch_number(d, "SELECT count(*) FROM a") == 1;

            if (!found)
                printf("# %s\n", e.text);
            db_free(d);
            fflush(stdout);
            _exit(!found);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        wait(&status);
        good += status == 0;
    }
    CHECK(good == PROCESSES, "%d of %d processes open a new database at once", good, PROCESSES);
}

int main(void)
{
    scratch_begin();
    check_from("new.db", NULL);
    check_from("empty.db", none);
    check_from("one.db", to_1);
    close(open(scratch("zero-bytes.db"), O_CREAT | O_WRONLY, 0600));
    check_from("zero-bytes.db", NULL);
    check_newer();
    check_broken();
    check_foreign();
    check_together();
    scratch_end();
    return TAP_DONE();
}
