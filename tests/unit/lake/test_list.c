#include "scratch.h"
#include "tap.h"

#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct seen {
    char text[1024];
    size_t n;
};

static int see(void *context, const struct lake_file *f, struct err *e)
{
    struct seen *s = context;
    size_t n = strlen(s->text);

    (void)e;
    s->n++;
    if (f->number)
        snprintf(s->text + n, sizeof s->text - n, "%s#%lld ", f->path, (long long)f->number);
    else
        snprintf(s->text + n, sizeof s->text - n, "%s ", f->path);
    return 0;
}

static void put(struct lake *l, const char *path, const char *text)
{
    struct err e = {0};

    if (scratch_fake(l, path, text, &e) < 0)
        CHECK(false, "put %s: %s", path, e.text);
}

static void lists(struct lake *l, const char *text, bool recursive, const char *wanted)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct seen seen = {0};
    struct err e = {0};

    CHECK(lake_resolve(l, text, LAKE_READ, &ref, &e) == 0 &&
              lake_list(l, &ref, recursive, see, &seen, &e) == 0 && strcmp(seen.text, wanted) == 0,
          "ls%s %s: %s(%s)", recursive ? " -r" : "", text, seen.text, e.text);
}

static void removes(struct lake *l, const char *ref)
{
    struct lake_remove_options options = {.recursive = true};
    struct err e = {0};
    uint64_t removed;

    CHECK(lake_remove(l, &ref, 1, &options, &removed, &e) == 0, "rm %s: %s", ref, e.text);
}

static void directories(struct lake *l)
{
    static const char *const members[] = {"/a/b/c", "/a/x"};

    lists(l, "/", false, "");
    lists(l, "/", true, "");
    put(l, "/a/b/c", "1");
    put(l, "/a/b/d", "1");
    put(l, "/a/b-c", "1");
    put(l, "/a/b0", "1"); /* the first name after everything below /a/b/ */
    put(l, "/a/x", "1");
    put(l, "/a/x", "2");
    put(l, "/z", "1");
    lists(l, "/", false, "/a/ /z#1 ");
    lists(l, "/a", false, "/a/b-c#1 /a/b/ /a/b0#1 /a/x#2 ");
    lists(l, "/a/", true, "/a/b-c#1 /a/b/c#1 /a/b/d#1 /a/b0#1 /a/x#2 ");
    lists(l, "/a/b/", false, "/a/b/c#1 /a/b/d#1 ");
    lists(l, "/a/x", false, "/a/x#2 ");
    lists(l, "/a/x#1", false, "/a/x#1 ");
    lists(l, "/a/x#*", false, "/a/x#2 ");
    scratch_set(l, "S", members, 2);
    lists(l, "@S", false, "/a/b/c#1 /a/x#2 ");
    lists(l, "/a/b/@S", false, "/a/b/c#1 ");
    removes(l, "/a/b/");
    lists(l, "/a", false, "/a/b-c#1 /a/b0#1 /a/x#2 ");
    lists(l, "@S", true, "/a/b/c#1 /a/x#2 ");
    removes(l, "/a/x#2");
    lists(l, "/a/x", false, "/a/x#1 ");
    lists(l, "/", true, "/a/b-c#1 /a/b0#1 /a/x#1 /z#1 ");
}

struct version {
    struct lake_file f;
    char creator[32];
};

struct log {
    struct version v[8];
    size_t n;
};

static int take(void *context, const struct lake_file *f, struct err *e)
{
    struct log *log = context;

    (void)e;
    if (log->n == COUNT(log->v))
        return 0;
    log->v[log->n].f = *f;
    snprintf(log->v[log->n++].creator, 32, "%s", f->origin.creator);
    return 0;
}

static void history(struct scratch *s, struct lake *l)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", true);
    struct log log = {0};
    struct err e = {0};
    struct sha256_digest abc;

    s->now_ms = INT64_C(1800000000000);
    put(l, "/h", "a");
    s->now_ms = INT64_C(1800000005000);
    put(bob, "/h", "abc");
    s->now_ms = INT64_C(1799999990000); /* the clock was set right by 15 s */
    put(l, "/h", "b");
    removes(l, "/h#1");
    CHECK(lake_resolve(l, "/h", LAKE_READ, &ref, &e) == 0 &&
              lake_log(l, &ref, take, &log, &e) == 0 && log.n == 3,
          "three versions");
    CHECK(log.v[0].f.number == 3 && log.v[1].f.number == 2 && log.v[2].f.number == 1,
          "newest first");
    CHECK(!log.v[0].f.removed && log.v[2].f.removed && !log.v[2].f.gone, "the oldest was removed");
    CHECK(log.v[1].f.origin.create_time_ms == INT64_C(1800000005000) &&
              strcmp(log.v[1].creator, "bob") == 0 && strcmp(log.v[0].creator, "ann") == 0,
          "who and when");
    CHECK(log.v[0].f.origin.create_time_ms == INT64_C(1800000005000),
          "a clock set back a little gives the last time again");
    s->now_ms = INT64_C(1700000000000); /* it had been years ahead */
    put(l, "/late", "b");
    AUTO_CLEAR(lake_ref) struct lake_ref late = {0};
    struct log late_log = {0};
    CHECK(lake_resolve(l, "/late", LAKE_READ, &late, &e) == 0 &&
              lake_log(l, &late, take, &late_log, &e) == 0 &&
              late_log.v[0].f.origin.create_time_ms / 1000 == INT64_C(1700000000),
          "one set back by years was wrong before, and is believed");
    CHECK(sha256_parse("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", &abc,
                       &e) == 0 &&
              sha256_equal(&abc, &log.v[1].f.digest) && log.v[1].f.size == 3,
          "digest and size of \"abc\"");
    lake_ref_clear(&ref);
    CHECK(lake_resolve(l, "/a/", LAKE_READ, &ref, &e) == 0 &&
              lake_log(l, &ref, take, &log, &e) < 0 && e.kind == ERR_USAGE,
          "a directory has no log");
}

/* Work of this thread, which other processes do not change. */
static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double list_s(struct lake *l, bool recursive, int times)
{
    double began = cpu_s();
    struct err e = {0};

    for (int i = 0; i < times; i++) {
        struct seen seen = {0};
        if (lake_list(l, NULL, recursive, see, &seen, &e) < 0)
            CHECK(false, "list: %s", e.text);
    }
    return cpu_s() - began;
}

/* Many files in two directories: listing the top must not walk them. */
static void many(struct scratch *s)
{
    enum { FILES = 20000 };
    AUTO(lake) struct lake *l = scratch_open_as(s, "many", "ann", true);
    struct err e = {0};
    struct version_new v = {0};
    struct version_done done;
    struct lake_made made;
    bool good = db_begin(l->db, &e) == 0 && lake_made_new(l, l->user, &made, &e) == 0;

    v.object = good ? scratch_object(l, "x") : 0;
    for (int i = 0; i < FILES && good; i++) {
        AUTO_MEM char *path = mem_printf("/%s/%06d", i % 2 ? "a" : "b", i);
        v.path = path;
        good = scratch_version(l, &made, &v, &done, &e) == 0;
    }
    CHECK(good && db_commit(l->db, &e) == 0, "%d files: %s", FILES, e.text);
    lists(l, "/", false, "/a/ /b/ ");
    /* Three short queries against a walk over 20,000 rows: more than a hundred times faster. */
    CHECK(list_s(l, false, 10) < list_s(l, true, 1), "ten listings are faster than one walk");
}

static void isolation(struct scratch *s)
{
    AUTO(lake) struct lake *other = scratch_open_as(s, "other", "eve", true);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};

    lists(other, "/", true, "");
    CHECK(lake_resolve(other, "/a/x", LAKE_READ, &ref, &e) < 0 && e.kind == ERR_NOTFOUND,
          "a file of another project is not there");
    CHECK(lake_resolve(other, "@S", LAKE_READ, &ref, &e) < 0 && e.kind == ERR_NOTFOUND,
          "nor is a set");
    put(other, "/a/x", "mine");
    lists(other, "/", true, "/a/x#1 ");
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    struct lake *l = scratch_open(&s);
    directories(l);
    history(&s, l);
    isolation(&s);
    many(&s);
    lake_free(l);
    scratch_clear(&s);
    return TAP_DONE();
}
