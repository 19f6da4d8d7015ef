/* Files that are damaged, no databases, or may only be read. */
#include "db/db.h"

#include "scratch.h"
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct db *open_it(const char *name, struct err *e)
{
    return db_open(&(struct db_options){.url = scratch(name),
                                        .name = "the test",
                                        .migrations = scratch_schema},
                   e);
}

static void make(const char *name, int rows)
{
    struct err e = {0};
    AUTO(db) struct db *d = open_it(name, &e);

    CHECK(d && db_begin(d, &e) == 0, "%s: made %s", name, e.text);
    for (int i = 1; d && i <= rows; i++)
        scratch_add(d, i, "a name of some length, so that there are many pages", &e);
    CHECK(d && db_commit(d, &e) == 0, "%s: filled %s", name, e.text);
}

static void overwrite(const char *name, off_t at, int byte, size_t n)
{
    char junk[4096];
    int fd = open(scratch(name), O_WRONLY);

    memset(junk, byte, sizeof junk);
    CHECK(fd >= 0 && n <= sizeof junk && pwrite(fd, junk, n, at) == (ssize_t)n,
          "%s: bytes from %lld on are changed", name, (long long)at);
    close(fd);
}

static void check_damage(void)
{
    struct err e = {0};

    make("head.db", 10);
    overwrite("head.db", 0, 'x', 100);
    CHECK(!open_it("head.db", &e) && e.kind == ERR_IO && strstr(e.text, "head.db") &&
              strstr(e.text, "backup"),
          "no head: %s", e.text);
    make("schema.db", 10);
    overwrite("schema.db", 100, 0xff, 200);
    CHECK(!open_it("schema.db", &e) && e.kind == ERR_IO && strstr(e.text, "schema.db") &&
              strstr(e.text, "damaged"),
          "no schema: %s", e.text);
    make("page.db", 2000);
    for (int page = 6; page < 12; page++)
        overwrite("page.db", (off_t)page * 4096, 0xff, 4096);
    AUTO(db) struct db *d = open_it("page.db", &e);
    CHECK(d && scratch_problems(d) >= 6, "each of 6 damaged pages is found");
    struct db_query *q =
        d ? db_prepare(d, "SELECT sum(length(name)) FROM t NOT INDEXED", &e) : NULL;
    CHECK(q && db_finish(q, &e) < 0 && e.kind == ERR_IO && strstr(e.text, "damaged"),
          "and reading them fails: %s", e.text);
}

static void check_names(void)
{
    static const char *const names[] = {"50% of a?b#c.db", "file:x.db", "日本 '\".db"};
    struct err e = {0};
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AUTO(db) struct db *d = open_it(names[i], &e);
        CHECK(d && stat(scratch(names[i]), &st) == 0 && st.st_size > 0, "the name %s", names[i]);
    }
    CHECK(chdir(scratch("")) == 0, "from within the directory");
    AUTO(db)
    struct db *d = db_open(
        &(struct db_options){.url = ":memory:", .name = "the test", .migrations = scratch_schema},
        &e);
    CHECK(d && stat(scratch(":memory:"), &st) == 0, "and :memory: are names like others");
}

/* What a user without permission to write sees. Runs in a child; 0 = as it should be. */
static int read_only(const char *name)
{
    struct err e = {0};
    AUTO(db) struct db *d = NULL;

    if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        return 1;
    d = open_it(name, &e);
    if (!d) {
        printf("# %s\n", e.text);
        return 2;
    }
    if (scratch_number(d, "SELECT count(*) FROM t") != 10 || scratch_problems(d) != 0)
        return 3;
    if (db_begin(d, &e) == 0 || e.kind != ERR_DENIED || !strstr(e.text, "may only be read"))
        return 4;
    if (scratch_add(d, 11, "x", &e) == 0 || e.kind != ERR_DENIED)
        return 5;
    printf("# %s\n", e.text);
    if (db_begin_read(d, &e) < 0 || scratch_number(d, "SELECT count(*) FROM t") != 10 ||
        db_commit(d, &e) < 0)
        return 6;
    return 0;
}

/* ERR_DENIED whose text has `word`. */
static int denied(const char *name, const char *word)
{
    struct err e = {0};
    AUTO(db) struct db *d = NULL;

    if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        return 1;
    d = open_it(name, &e);
    printf("# %s\n", d ? "opened" : e.text);
    return !d && e.kind == ERR_DENIED && strstr(e.text, word) && strstr(e.text, name) ? 0 : 2;
}

/* In a child that is not root: permissions do not bind root. denied when word is given. */
static int as_user(const char *name, const char *word)
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int code = word ? denied(name, word) : read_only(name);

        fflush(stdout);
        _exit(code);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(scratch(from), O_RDONLY);
    int out = open(scratch(to), O_WRONLY | O_CREAT, 0644);
    ssize_t n = read(in, bytes, sizeof bytes);

    CHECK(n > 0 && write(out, bytes, (size_t)n) == n, "%s is copied", from);
    close(in);
    close(out);
}

static void check_read_only(void)
{
    struct err e = {0};
    int code;

    mkdir(scratch("ro"), 0755);
    make("ro/a?b.db", 10);
    chmod(scratch("ro/a?b.db"), 0444);
    chmod(scratch("ro"), 0555);
    code = as_user("ro/a?b.db", NULL);
    CHECK(code == 0, "a read-only file in a read-only directory is read (%d)", code);
    chmod(scratch("ro/a?b.db"), 0666);
    code = as_user("ro/a?b.db", NULL);
    CHECK(code == 0, "a file in a read-only directory is read (%d)", code);
    chmod(scratch("ro/a?b.db"), 0);
    CHECK(as_user("ro/a?b.db", "Permission denied") == 0, "one that may not be read: denied");
    CHECK(as_user("ro/new.db", "Permission denied") == 0, "no new one there: denied");
    chmod(scratch("ro"), 0755);

    /* The log as a crash leaves it, copied away from under a live connection. */
    AUTO(db) struct db *d = open_it("live.db", &e);
    CHECK(d && scratch_add(d, 1, "x", &e) == 0, "a change in the log");
    mkdir(scratch("log"), 0755);
    copy("live.db", "log/c.db");
    copy("live.db-wal", "log/c.db-wal");
    chmod(scratch("log"), 0555);
    CHECK(as_user("log/c.db", "-wal") == 0, "changes that cannot be read are not passed over");
    chmod(scratch("log"), 0755);
    AUTO(db) struct db *recovered = open_it("log/c.db", &e);
    CHECK(recovered && scratch_number(recovered, "SELECT count(*) FROM t") == 1,
          "with permission to write they are there");
}

static void check_old_read_only(void)
{
    static const struct db_migration none[] = {{0}};
    struct err e = {0};

    mkdir(scratch("old"), 0755);
    {
        AUTO(db)
        struct db *d = db_open(&(struct db_options){.url = scratch("old/x.db"),
                                                    .name = "the test",
                                                    .migrations = none},
                               &e);
        CHECK(d != NULL, "a database of an older schema");
    }
    chmod(scratch("old/x.db"), 0444);
    chmod(scratch("old"), 0555);
    CHECK(as_user("old/x.db", "up to date") == 0, "cannot be brought up to date: denied");
    chmod(scratch("old"), 0755);
}

int main(void)
{
    scratch_begin();
    check_damage();
    check_names();
    check_read_only();
    check_old_read_only();
    scratch_end();
    return TAP_DONE();
}
