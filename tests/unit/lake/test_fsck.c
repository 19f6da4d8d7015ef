#include "lake/clean/clean.h"
#include "lake/core/files.h"
#include "scratch.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct told {
    char text[2000];
    uint64_t n;
    struct lake_fsck_summary summary;
};

static int tell(void *context, const char *text, struct err *e)
{
    struct told *t = context;

    (void)e;
    t->n++;
    strncat(t->text, text, sizeof t->text - strlen(t->text) - 2);
    strcat(t->text, "\n");
    return 0;
}

static struct told fsck(struct lake *l)
{
    struct told t = {0};
    struct err e = {0};

    CHECK(lake_fsck(l, NULL, tell, &t, &t.summary, &e) == 0 && t.n == t.summary.problems,
          "fsck works: %s", e.text);
    return t;
}

/* Two files with the same content, one with another; a set of two of them. */
static struct lake *begin(struct scratch *s)
{
    static const char *const held[] = {"/a", "/c"};
    struct err e = {0};

    scratch_init(s);
    struct lake *l = scratch_open(s);
    if (scratch_put(l, "/a", "first content", &e) < 0 ||
        scratch_put(l, "/b", "first content", &e) < 0 || scratch_put(l, "/c", "second", &e) < 0) {
        CHECK(false, "put: %s", e.text);
        exit(TAP_DONE());
    }
    scratch_set(l, "S", held, 2);
    return l;
}

/* The only pack of the lake, opened. */
static int open_pack(const struct scratch *s, const struct lake *l, char path[static 300])
{
    char dir[200];
    struct dirent *entry;

    snprintf(dir, sizeof dir, "%s/objects/%s/packs", s->home, l->area);
    DIR *d = opendir(dir);
    path[0] = '\0';
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] != '.')
            snprintf(path, 300, "%s/%.90s", dir, entry->d_name);
    }
    if (d)
        closedir(d);
    return open(path, O_RDWR);
}

static void test_sound(void)
{
    struct scratch s;
    AUTO(lake) struct lake *l = begin(&s);
    struct told t = fsck(l);

    CHECK(t.n == 0 && t.summary.files == 3 && t.summary.bytes == 13 + 6,
          "three versions in two contents of 19 bytes");
    scratch_clear(&s);
}

/* rm leaves numbers behind, which is no gap. */
static void test_removed(void)
{
    static const char *const removed[] = {"/a#2", "@S:2"};
    struct scratch s;
    AUTO(lake) struct lake *l = begin(&s);
    struct lake_remove_options plain = {0};
    struct err e = {0};
    uint64_t n;

    scratch_put(l, "/a", "again", &e);
    scratch_set(l, "S", (const char *const[]){"/a"}, 1);
    CHECK(lake_remove(l, removed, 2, &plain, &n, &e) == 0, "rm of the newest: %s", e.text);
    CHECK(fsck(l).n == 0, "is no problem");
    scratch_clear(&s);
}

static void test_damaged_pack(void)
{
    struct scratch s;
    AUTO(lake) struct lake *l = begin(&s);
    char path[300];
    int fd = open_pack(&s, l, path);
    int64_t at = scratch_number(l, "SELECT MIN(at) FROM object");

    CHECK(fd >= 0 && pwrite(fd, "X", 1, at + 4) == 1, "one byte of the first content is changed");
    struct told t = fsck(l);
    CHECK(t.n == 2 && strstr(t.text, "/a#1: ") && strstr(t.text, "/b#1: ") && !strstr(t.text, "/c"),
          "both files with it are named, the other is not: %s", t.text);
    CHECK(t.summary.files == 1 && t.summary.bytes == 6, "the other was verified");
    CHECK(ftruncate(fd, at + 3) == 0, "the pack is cut off");
    t = fsck(l);
    CHECK(t.n == 3, "all three are named: %s", t.text);
    close(fd);
    CHECK(unlink(path) == 0, "the pack is gone");
    AUTO(lake) struct lake *again = scratch_open(&s);
    t = fsck(again);
    CHECK(t.n == 3 && strstr(t.text, "/c#1: "), "all three are named: %s", t.text);
    scratch_clear(&s);
}

/* Records that contradict each other, one at a time. */
static void test_records(void)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE file SET latest = 2 WHERE path = '/b'", "/b: 1 versions"},
        {"UPDATE version SET number = 2 WHERE file = (SELECT id FROM file WHERE path = '/b')",
         "/b: 1 versions, numbered 2 to 2"},
        {"UPDATE version SET object = 99 WHERE file = (SELECT id FROM file WHERE path = '/b')",
         "/b#1: no record of its content"},
        {"UPDATE fileset SET latest = 3", "@S: 1 versions"},
        {"UPDATE set_version SET files = 5", "@S:1: lists 2 files (19 bytes) where 5"},
        {"INSERT INTO edge (child, parent, kind, job, seq) SELECT id, id, 1, 0, 0 FROM set_version",
         "provenance"},
        {"UPDATE object SET blob = NULL, at = NULL WHERE size = 6", "/c#1: its content is gone"},
        {"DELETE FROM version WHERE file = (SELECT id FROM file WHERE path = '/c')",
         "/c#1: a set holds it"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scratch s;
        struct err e = {0};
        AUTO(lake) struct lake *l = begin(&s);
        CHECK(db_exec(l->db, cases[i].sql, &e) == 0, "%s %s", cases[i].sql, e.text);
        struct told t = fsck(l);
        CHECK(t.n >= 1 && strstr(t.text, cases[i].says), "\"%s\" in: %s", cases[i].says, t.text);
        scratch_clear(&s);
    }
}

/* The list of one set is damaged: the others, and all contents, are checked all the same. */
static void test_damaged_lists(void)
{
    static const struct {
        const char *sql, *what;
    } cases[] = {
        {"UPDATE set_chunk SET body = X'0100022F6101020001' WHERE first = '/a'", "another list"},
        {"UPDATE set_chunk SET first = '/z' WHERE first = '/a'", "impossible bounds"},
        {"UPDATE set_chunk SET last = '/d' WHERE first = '/a'", "wrong bounds"},
    };
    const struct lake_gc_options yes = {.remove = true};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scratch s;
        struct lake_gc_summary sum;
        struct err e = {0};
        AUTO(lake) struct lake *l = begin(&s);
        scratch_set(l, "T", (const char *const[]){"/b"}, 1);
        CHECK(db_exec(l->db, cases[i].sql, &e) == 0, "%s %s", cases[i].sql, e.text);
        struct told t = fsck(l);
        CHECK(t.n == 1 && strncmp(t.text, "@S:1: its list of files is damaged", 34) == 0 &&
                  t.summary.files == 3,
              "%s: one problem, which names the set version, and all contents are read: %s",
              cases[i].what, t.text);
        CHECK(lake_gc(l, &yes, NULL, NULL, &sum, &e) < 0 && e.kind == ERR_IO &&
                  strstr(e.text, "@S:1"),
              "%s: gc does not guess what is needed: %s", cases[i].what, e.text);
        CHECK(db_exec(l->db,
                      "UPDATE object SET blob = NULL WHERE id ="
                      " (SELECT v.object FROM version v JOIN file f ON f.id = v.file"
                      "  WHERE f.path = '/b')",
                      &e) == 0,
              "the content of a file of the other set is gone");
        t = fsck(l);
        CHECK(t.n >= 2 && strstr(t.text, "/b#1: its content is gone"),
              "%s: what other sets need is known: %s", cases[i].what, t.text);
        scratch_clear(&s);
    }
}

/* Chunks that are each sound, in an order in which nothing can be found. */
static void test_order(void)
{
    struct scratch s;
    AUTO(lake) struct lake *l = begin(&s);
    struct err e = {0};

    scratch_set(l, "T", (const char *const[]){"/b"}, 1);
    CHECK(db_exec(l->db,
                  "INSERT INTO set_part (set_version, seq, chunk) SELECT v.id, 1, c.id"
                  " FROM set_version v, set_chunk c, fileset s"
                  " WHERE s.name = 'S' AND v.fileset = s.id AND c.first = '/b'",
                  &e) == 0 &&
              db_exec(l->db,
                      "UPDATE set_version SET files = 3, bytes = 32 WHERE fileset ="
                      " (SELECT id FROM fileset WHERE name = 'S')",
                      &e) == 0,
          "@S lists /b behind /c: %s", e.text);
    struct told t = fsck(l);
    CHECK(t.n == 1 && strncmp(t.text, "@S:1: its list of files is out of order", 39) == 0,
          "which is a problem: %s", t.text);
    scratch_clear(&s);
}

static void test_stops(void)
{
    struct scratch s;
    AUTO(lake) struct lake *l = begin(&s);
    struct lake_fsck_summary summary;
    struct err e = {0};
    AUTO(lake) struct lake *bob = scratch_open_as(&s, "default", "bob", false);

    CHECK(lake_fsck(bob, NULL, NULL, NULL, &summary, &e) < 0 && e.kind == ERR_DENIED, "%s", e.text);
    s.calls_left = 5;
    CHECK(lake_fsck(l, NULL, NULL, NULL, &summary, &e) < 0 && e.kind == ERR_IO,
          "a failing database is an error, not a problem of a file: %s", e.text);
    scratch_clear(&s);
}

int main(void)
{
    test_sound();
    test_removed();
    test_damaged_pack();
    test_records();
    test_damaged_lists();
    test_order();
    test_stops();
    return TAP_DONE();
}
