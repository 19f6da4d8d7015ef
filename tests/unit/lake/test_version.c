#include "base/file.h"
#include "base/parallel.h"
#include "base/time.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void numbers(struct lake *l)
{
    struct err e = {0};

    CHECK(scratch_put(l, "/data/train.json", "one", &e) == 1, "the first version: %s", e.text);
    CHECK(scratch_put(l, "/data/train.json", "two", &e) == 2, "then the second");
    CHECK(scratch_put(l, "/data/train.json", "two", &e) == 2, "unchanged content makes none");
    CHECK(scratch_put(l, "/data/train.json", "one", &e) == 3, "older content makes one");
    CHECK(scratch_put(l, "/data/other.json", "one", &e) == 1, "paths count for themselves");
    CHECK(scratch_number(l, "SELECT count(*) FROM object") == 2, "equal content is kept once");
}

static int add(struct lake *l, struct version_new v, struct version_done *done, struct err *e)
{
    struct lake_made made = {0};

    if (db_begin(l->db, e) < 0)
        return -1;
    v.object = scratch_object(l, "same");
    if (lake_made_new(l, l->user, &made, e) < 0 || scratch_version(l, &made, &v, done, e) < 0) {
        db_rollback(l->db);
        return -1;
    }
    return db_commit(l->db, e);
}

static void force(struct lake *l)
{
    struct version_done done;
    struct err e = {0};

    CHECK(add(l, (struct version_new){.path = "/f"}, &done, &e) == 0 && !done.unchanged, "new");
    CHECK(add(l, (struct version_new){.path = "/f"}, &done, &e) == 0 && done.unchanged &&
              done.number == 1,
          "unchanged");
    CHECK(add(l, (struct version_new){.path = "/f", .force = true}, &done, &e) == 0 &&
              !done.unchanged && done.number == 2,
          "force makes a version");
}

static void removes(struct lake *l, const char *ref)
{
    struct lake_remove_options options = {.recursive = true};
    struct err e = {0};
    uint64_t removed;

    CHECK(lake_remove(l, &ref, 1, &options, &removed, &e) == 0, "rm %s: %s", ref, e.text);
}

static void files_and_directories(struct lake *l)
{
    static const struct {
        const char *path, *part;
    } refused[] = {
        {"/d/e/f/g", "/d/e/f is a file"},
        {"/d/e/f/g/h/i", "/d/e/f is a file"},
        {"/d/e", "/d/e cannot be put: it is a directory"},
        {"/d", "/d cannot be put: it is a directory"},
        {"/d/", "is a directory"},
        {"d", "does not begin with '/'"},
    };
    struct err e = {0};

    CHECK(scratch_fake(l, "/d/e/f", "1", &e) == 1, "a file deep down");
    for (size_t i = 0; i < COUNT(refused); i++) {
        e = (struct err){0};
        CHECK(scratch_fake(l, refused[i].path, "1", &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, refused[i].part),
              "%s: %s", refused[i].path, e.text);
    }
    CHECK(scratch_fake(l, "/d/e/f-g", "1", &e) == 1 && scratch_fake(l, "/d/e0", "1", &e) == 1 &&
              scratch_fake(l, "/d/e.f", "1", &e) == 1,
          "names that begin alike are something else");
    removes(l, "/d/e/f");
    CHECK(scratch_fake(l, "/d/e/f/g", "1", &e) == 1, "below a file that was removed: %s", e.text);
    CHECK(scratch_fake(l, "/d/e/f", "1", &e) < 0, "which cannot come back now");
    removes(l, "/d/e/f/");
    CHECK(scratch_fake(l, "/d/e/f", "1", &e) == 2,
          "until it may; its number goes on, for unchanged content too: %s", e.text);
}

/* In one transaction the ancestors are remembered: that must not hide a conflict. */
static void within_one_act(struct lake *l)
{
    static const char *const order[] = {"/w/a/b", "/w/a/c", "/w/x/y", "/w/a/d/e"};
    struct version_new v = {0};
    struct version_done done;
    struct err e = {0};
    struct lake_made made = {0};

    CHECK(db_begin(l->db, &e) == 0 && lake_made_new(l, l->user, &made, &e) == 0, "one act");
    v.object = scratch_object(l, "w");
    for (size_t i = 0; i < COUNT(order); i++) {
        v.path = order[i];
        CHECK(scratch_version(l, &made, &v, &done, &e) == 0, "%s: %s", order[i], e.text);
    }
    v.path = "/w/a";
    CHECK(scratch_version(l, &made, &v, &done, &e) < 0, "a directory of this very act");
    v.path = "/w/a/b/z";
    CHECK(scratch_version(l, &made, &v, &done, &e) < 0, "below a file of this very act");
    v.path = "/w/a/d/f";
    CHECK(scratch_version(l, &made, &v, &done, &e) == 0, "a good one after bad ones: %s", e.text);
    CHECK(db_commit(l->db, &e) == 0, "commit");
}

static void rollback(struct lake *l)
{
    struct version_new v = {.path = "/r"};
    struct version_done done;
    struct err e = {0};
    struct lake_made made = {0};

    CHECK(db_begin(l->db, &e) == 0 && lake_made_new(l, l->user, &made, &e) == 0,
          "an act that fails");
    v.object = scratch_object(l, "r");
    CHECK(scratch_version(l, &made, &v, &done, &e) == 0 && done.number == 1, "had number 1");
    db_rollback(l->db);
    CHECK(scratch_fake(l, "/r", "r2", &e) == 1, "the next one has it again");
}

static int64_t gaps(struct lake *l)
{
    return scratch_number(l, "SELECT count(*) FROM file f WHERE f.latest <> (SELECT count(*) FROM"
                             " version v WHERE v.file = f.id) OR f.latest <> (SELECT max(number)"
                             " FROM version v WHERE v.file = f.id)");
}

/* Processes at once on one path: every put gets a number of its own. */
static void race(struct scratch *s)
{
    enum { PROCESSES = 6, PUTS = 40 };
    pid_t children[PROCESSES];
    bool good = true;

    for (int p = 0; p < PROCESSES; p++) {
        fflush(stdout);
        children[p] = fork();
        if (children[p] != 0)
            continue;
        struct err e = {0};
        struct lake *l = scratch_open_as(s, "race", "ann", true);
        int64_t last = 0;
        for (int i = 0; i < PUTS; i++) {
            AUTO_MEM char *text = mem_printf("%d %d", p, i);
            int64_t number = scratch_fake(l, "/one/path", text, &e);
            if (number <= last)
                _exit(1);
            last = number;
        }
        lake_free(l);
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        good &= children[p] > 0 && waitpid(children[p], &status, 0) > 0 && WIFEXITED(status) &&
                WEXITSTATUS(status) == 0;
    }
    AUTO(lake) struct lake *l = scratch_open_as(s, "race", "ann", true);
    CHECK(good, "all processes put all their versions");
    CHECK(scratch_number(l, "SELECT latest FROM file WHERE path = '/one/path'") == PROCESSES * PUTS,
          "none was lost");
    CHECK(gaps(l) == 0, "and there are no gaps");
}

/* Writers one after the other, each with its own connection now and then. */
static void in_turn(struct scratch *s)
{
    int writers = getenv("TRADEWIND_SLOW") ? 2000 : 10000;
    AUTO(lake) struct lake *l = scratch_open_as(s, "turn", "ann", true);
    struct err e = {0};
    double began = time_monotonic_s();
    bool good = true;

    for (int i = 1; i <= writers && good; i++) {
        if (i % 1000 == 0) {
            lake_free(l);
            l = scratch_open_as(s, "turn", "ann", true);
        }
        AUTO_MEM char *text = mem_printf("%d", i);
        good = scratch_fake(l, "/turn", text, &e) == i;
    }
    printf("# %d writers in turn: %.1f s\n", writers, time_monotonic_s() - began);
    CHECK(good && gaps(l) == 0, "%d writers in turn have consecutive numbers: %s", writers, e.text);
}

/* Work of this thread, which other processes do not change. */
static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Many files in one act, as put does. A scan per file would make the last tenth cost nineteen times
 * as much as the first. */
static void many(struct scratch *s)
{
    int files = getenv("TRADEWIND_SLOW") ? 5000 : 50000;
    AUTO(lake) struct lake *l = scratch_open_as(s, "many", "ann", true);
    struct version_new v = {0};
    struct version_done done;
    struct err e = {0};
    struct lake_made made = {0};
    double tenth_s[10] = {0};
    bool good = db_begin(l->db, &e) == 0 && lake_made_new(l, l->user, &made, &e) == 0;

    v.object = good ? scratch_object(l, "x") : 0;
    for (int i = 0; i < files && good; i++) {
        AUTO_MEM char *path = mem_printf("/deep/down/dir%d/file%d", i / 100, i);
        double began_s = cpu_s();
        v.path = path;
        good = scratch_version(l, &made, &v, &done, &e) == 0;
        tenth_s[i * 10 / files] += cpu_s() - began_s;
    }
    CHECK(good && db_commit(l->db, &e) == 0, "%d versions in one act: %s", files, e.text);
    CHECK(tenth_s[9] < 8 * tenth_s[0], "the last tenth took %.3f s, the first %.3f s", tenth_s[9],
          tenth_s[0]);
}

/* The nth database call fails, for every n: nothing half done, and the next try works. */
static void failures(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open_as(s, "fail", "ann", true);
    struct err e = {0};
    int64_t n;
    bool clean = true;

    CHECK(scratch_fake(l, "/x/old", "1", &e) == 1, "a file");
    for (n = 0; n < 200; n++) {
        s->calls_left = n;
        int64_t first = scratch_fake(l, "/x/old", "2", &e);
        s->calls_left = -1;
        if (first > 0)
            break;
        clean &= e.kind == ERR_IO &&
                 scratch_number(l, "SELECT count(*) FROM version WHERE project = (SELECT id FROM"
                                   " project WHERE name = 'fail')") == 1 &&
                 gaps(l) == 0;
    }
    CHECK(n > 5 && n < 200 && clean, "%lld calls, each of which may fail", (long long)n);
    CHECK(scratch_fake(l, "/x/old", "3", &e) == 3, "numbers go on without a gap");
    for (n = 0; n < 200; n++) {
        AUTO_MEM char *path = mem_printf("/y/new%lld", (long long)n);
        s->calls_left = n;
        int64_t first = scratch_fake(l, path, path, &e);
        s->calls_left = -1;
        if (first > 0)
            break;
        AUTO_MEM char *got = scratch_resolve(l, path, LAKE_READ);
        clean &= got[0] == '2';
    }
    CHECK(n > 8 && n < 200 && clean && gaps(l) == 0, "the same for a new path, %lld calls",
          (long long)n);
}

static void stores(struct scratch *s)
{
    struct lake_options options = scratch_options(s);
    struct err e = {0};
    struct lake *l;

    options.store.url = "dir:/somewhere/else";
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE && strstr(e.text, "dir:objects") &&
              strstr(e.text, "dir:/somewhere/else"),
          "another store than the content's: %s", e.text);
    CHECK(lake_use_store(s->home, &options.store, false, &e) < 0 && e.kind == ERR_USAGE,
          "and init does not change it");
    options.store.url = "ftp://x";
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE, "no such store: %s", e.text);
    options = scratch_options(s);
    options.caller.project = "unknown";
    options.caller.admin = false;
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_NOTFOUND, "only an admin makes projects: %s", e.text);
    options.caller.project = "a/b";
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE, "no name of a project: %s", e.text);
}

static void empty_lake_changes_store(void)
{
    struct scratch s;
    struct err e = {0};

    scratch_init(&s);
    struct lake *l = scratch_open(&s);
    struct lake_options options = scratch_options(&s);
    lake_free(l);
    AUTO_MEM char *url = mem_printf("dir:%s/elsewhere", s.home);
    options.store.url = url;
    CHECK(lake_use_store(s.home, &options.store, false, &e) == 0, "an empty lake may: %s", e.text);
    l = lake_open(&options, &e);
    CHECK(l && scratch_fake(l, "/a", "1", &e) == 1, "and uses it: %s", e.text);
    lake_free(l);
    options.store.url = s.url;
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE, "now it is fixed");
    scratch_clear(&s);
}

/* The database is lost, the content is not. */
static void lost_database_is_told(void)
{
    struct scratch s;
    struct err e = {0};

    scratch_init(&s);
    struct lake_options options = scratch_options(&s);
    AUTO_MEM char *file = mem_printf("%s/lake.db", s.home);
    AUTO_MEM char *area = mem_printf("%s/default-0123456789abcdef/packs", s.url + strlen("dir:"));
    AUTO_MEM char *pack = mem_printf("%s/p-1", area);
    CHECK(file_make_dirs(area, 0700, &e) == 0, "a directory of another lake %s", e.text);
    struct lake *l = lake_open(&options, &e);
    CHECK(l, "without content, it is in nobody's way: %s", e.text);
    lake_free(l);
    FILE *f = fopen(pack, "w");
    CHECK(f && fputs("x", f) >= 0 && fclose(f) == 0, "it gets content");
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE && strstr(e.text, s.url) && strstr(e.text, s.home) &&
              strstr(e.text, "restore lake.db") && strstr(e.text, "init --new"),
          "an empty lake does not open: %s", e.text);
    CHECK(lake_use_store(s.home, &options.store, false, &e) < 0 && e.kind == ERR_USAGE,
          "nor is it pointed there: %s", e.text);
    CHECK(lake_use_store(s.home, &options.store, true, &e) == 0, "unless it is said %s", e.text);
    l = lake_open(&options, &e);
    CHECK(l && scratch_fake(l, "/a", "1", &e) == 1, "then it works %s", e.text);
    lake_free(l);
    l = lake_open(&options, &e);
    CHECK(l, "again %s", e.text);
    lake_free(l);
    unlink(file);
    l = lake_open(&options, &e);
    CHECK(!l && e.kind == ERR_USAGE, "until its database is lost: %s", e.text);
    scratch_clear(&s);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    struct lake *l = scratch_open(&s);
    numbers(l);
    force(l);
    files_and_directories(l);
    within_one_act(l);
    rollback(l);
    CHECK(gaps(l) == 0, "no gaps anywhere");
    lake_free(l);
    race(&s);
    in_turn(&s);
    many(&s);
    failures(&s);
    stores(&s);
    scratch_clear(&s);
    empty_lake_changes_store();
    lost_database_is_told();
    return TAP_DONE();
}
