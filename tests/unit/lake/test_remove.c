#include "lake/set/graph.h"
#include "lake/set/set.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct lake_remove_options plain,
    recursive = {.recursive = true}, replayable = {.replayable = true}, both = {true, true};

static void put(struct lake *l, const char *path, const char *text)
{
    struct err e = {0};

    if (scratch_fake(l, path, text, &e) < 0)
        CHECK(false, "put %s: %s", path, e.text);
}

/* How many versions went; -1 and e. */
static int64_t rm(struct lake *l,
                  const char *ref,
                  const struct lake_remove_options *options,
                  struct err *e)
{
    uint64_t removed;

    *e = (struct err){0};
    return lake_remove(l, &ref, 1, options, &removed, e) < 0 ? -1 : (int64_t)removed;
}

static void is(struct lake *l, const char *text, const char *wanted)
{
    AUTO_MEM char *got = scratch_resolve(l, text, LAKE_READ);

    CHECK(strncmp(got, wanted, strlen(wanted)) == 0, "%s is %s (%s)", text, wanted, got);
}

static void files(struct lake *l)
{
    struct err e;

    put(l, "/a", "1");
    put(l, "/a", "2");
    put(l, "/a", "3");
    CHECK(rm(l, "/a#3", &plain, &e) == 1, "the newest version: %s", e.text);
    is(l, "/a", "/a#2");
    is(l, "/a#3", "2: version 3 of /a was removed");
    CHECK(rm(l, "/a#3", &plain, &e) < 0 && e.kind == ERR_NOTFOUND, "not twice");
    put(l, "/a", "3");
    is(l, "/a", "/a#4");
    CHECK(rm(l, "/a#1", &plain, &e) == 1, "the oldest");
    is(l, "/a", "/a#4");
    CHECK(rm(l, "/a", &plain, &e) == 2, "the file: versions 2 and 4");
    is(l, "/a", "2: /a was removed");
    CHECK(rm(l, "/a", &plain, &e) < 0 && e.kind == ERR_NOTFOUND, "which is gone");
    CHECK(rm(l, "/a#*", &plain, &e) < 0 && e.kind == ERR_NOTFOUND, "in every way: %s", e.text);
    put(l, "/a", "3");
    is(l, "/a", "/a#5");
    CHECK(rm(l, "/a#*", &plain, &e) == 1, "all its versions, by name");
    CHECK(scratch_number(l, "SELECT count(*) FROM version") == 5, "numbers and digests stay");
}

static void trees(struct lake *l)
{
    struct err e;

    put(l, "/t/a", "1");
    put(l, "/t/a", "2");
    put(l, "/t/u/b", "1");
    put(l, "/t0", "1");
    put(l, "/t-", "1");
    CHECK(rm(l, "/t", &plain, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "-r"),
          "a directory needs -r: %s", e.text);
    is(l, "/t/a", "/t/a#2");
    CHECK(rm(l, "/t", &recursive, &e) == 3, "three versions of two files: %s", e.text);
    is(l, "/t/", "2: there is no");
    is(l, "/t0", "/t0#1");
    is(l, "/t-", "/t-#1");
}

static void one_transaction(struct lake *l)
{
    const char *const refs[] = {"/t0", "/nowhere"};
    uint64_t removed = 7;
    struct err e = {0};

    CHECK(lake_remove(l, refs, 2, &plain, &removed, &e) < 0 && e.kind == ERR_NOTFOUND &&
              removed == 0,
          "one is missing: %s", e.text);
    is(l, "/t0", "/t0#1");
}

static void link_sets(struct lake *l, int64_t child, int64_t parent, enum lake_edge_kind kind)
{
    struct err e = {0};
    struct db_query *q = db_prepare(l->db,
                                    "INSERT INTO edge (child, parent, kind, job, seq)"
                                    " VALUES ($1, $2, $3, $4, 0)",
                                    &e);

    db_bind(q, 1, DB_INT(child));
    db_bind(q, 2, DB_INT(parent));
    db_bind(q, 3, DB_INT(kind));
    db_bind(q, 4, DB_INT(kind == LAKE_EDGE_JOB ? 7 : 0));
    CHECK(db_finish(q, &e) == 0, "an edge");
}

static void sets(struct lake *l)
{
    static const char *const members[] = {"/s/a"};
    struct err e;

    put(l, "/s/a", "1");
    int64_t first = scratch_set(l, "A", members, 1);
    int64_t second = scratch_set(l, "B", members, 1);
    link_sets(l, second, first, LAKE_EDGE_CREATE);
    CHECK(rm(l, "@A", &plain, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "@B:1 was made from @A:1"),
          "a set that another was made from stays: %s", e.text);
    CHECK(rm(l, "/s/@B", &recursive, &e) < 0 && e.kind == ERR_USAGE, "no part of a set: %s",
          e.text);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    CHECK(lake_resolve(l, "@B", LAKE_READ, &ref, &e) == 0 &&
              lake_alias_set(l, &ref, "prod", &e) == 0,
          "an alias");
    CHECK(rm(l, "@B:1", &plain, &e) < 0 && strstr(e.text, "@B:prod"), "is in the way: %s", e.text);
    CHECK(lake_alias_remove(l, "@B:prod", &e) == 0 && rm(l, "@B:1", &plain, &e) == 1, "no more: %s",
          e.text);
    is(l, "@B", "2: @B:1 was removed");
    CHECK(rm(l, "/s/a", &plain, &e) == 1, "a file that a set holds");
    is(l, "/s/a@A", "/s/a#1");
    CHECK(rm(l, "@A", &plain, &e) == 1, "now nothing is made from @A: %s", e.text);
    put(l, "/s/a", "2");
    scratch_set(l, "A", members, 1);
    is(l, "@A", "@A:2");
}

/* However many set versions jobs made, it is asked once what of them is in the way. */
static void many_jobs(struct scratch *s, struct lake *l)
{
    enum { SETS = 40, CALLS = 1000000 };
    static const char *const two[] = {"/m/a", "/m/held"};
    int64_t calls[2];
    uint64_t removed;
    struct err e;

    put(l, "/m/held", "1");
    for (int round = 0; round < 2; round++) {
        put(l, "/m/a", "1");
        s->calls_left = CALLS;
        CHECK(rm(l, "/m/a", &plain, &e) == 1, "a file goes: %s", e.text);
        calls[round] = CALLS - s->calls_left;
        s->calls_left = -1;
        for (int i = 0; i < SETS && round == 0; i++) {
            char path[32], name[32];
            const char *const paths[] = {path};
            snprintf(path, sizeof path, "/m/%s%d", i % 2 ? "0" : "z", i);
            snprintf(name, sizeof name, "Many%d", i);
            put(l, path, "1");
            int64_t set = scratch_set(l, name, paths, 1);
            link_sets(l, set, set - 1, LAKE_EDGE_JOB);
        }
    }
    CHECK(calls[0] == calls[1], "as many calls with %d job sets more: %lld, %lld", SETS,
          (long long)calls[0], (long long)calls[1]);
    link_sets(l, scratch_set(l, "Held", two + 1, 1), 1, LAKE_EDGE_JOB);
    put(l, "/m/a", "2");
    CHECK(lake_remove(l, two, 2, &plain, &removed, &e) < 0 && strstr(e.text, "/m/held#1"),
          "one of several is in the way: %s", e.text);
    is(l, "/m/a", "/m/a#3");
}

static void used_by_jobs(struct lake *l)
{
    static const char *const in[] = {"/j/in"}, *const out[] = {"/j/out"};
    struct err e;

    put(l, "/j/in", "1");
    put(l, "/j/in", "2");
    put(l, "/j/out", "1");
    put(l, "/j/free", "1");
    int64_t input = scratch_set(l, "In", in, 1), output = scratch_set(l, "Out", out, 1);
    put(l, "/j/in", "3");
    link_sets(l, output, input, LAKE_EDGE_JOB);
    CHECK(rm(l, "/j/in#2", &plain, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "--replayable"),
          "what a job read: %s", e.text);
    CHECK(rm(l, "/j/out#1", &plain, &e) < 0, "what it made");
    CHECK(rm(l, "/j/in", &plain, &e) < 0, "the whole file");
    CHECK(rm(l, "/j/", &recursive, &e) < 0, "the directory");
    is(l, "/j/free", "/j/free#1");
    CHECK(rm(l, "/j/in#1", &plain, &e) == 1 && rm(l, "/j/in#3", &plain, &e) == 1,
          "versions it did not use may go");
    CHECK(rm(l, "/j/free", &plain, &e) == 1, "and other files");
    CHECK(rm(l, "/j/in#2", &replayable, &e) == 1, "on demand: %s", e.text);
    CHECK(rm(l, "/j/", &both, &e) == 1, "the rest");
}

static int64_t gaps(struct lake *l)
{
    return scratch_number(l, "SELECT count(*) FROM file f WHERE f.latest <> (SELECT count(*) FROM"
                             " version v WHERE v.file = f.id)");
}

/* The nth database call fails: everything is as before. */
static void failures(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open_as(s, "fail", "ann", true);
    const char *const refs[] = {"/f/a#1", "/f/b", "/f/d/", "@S"};
    static const char *const members[] = {"/f/a"};
    bool clean = true;
    struct err e = {0};
    uint64_t removed;
    int64_t n;

    put(l, "/f/a", "1");
    put(l, "/f/a", "2");
    put(l, "/f/b", "1");
    put(l, "/f/d/e", "1");
    scratch_set(l, "S", members, 1);
    for (n = 0; n < 300; n++) {
        s->calls_left = n;
        int result = lake_remove(l, refs, COUNT(refs), &recursive, &removed, &e);
        s->calls_left = -1;
        if (result == 0)
            break;
        clean &= e.kind == ERR_IO && removed == 0 &&
                 scratch_number(l, "SELECT (SELECT count(*) FROM version WHERE removed = 1 AND"
                                   " project = (SELECT id FROM project WHERE name = 'fail')) +"
                                   " (SELECT count(*) FROM file WHERE removed = 1 AND project ="
                                   " (SELECT id FROM project WHERE name = 'fail'))") == 0;
    }
    CHECK(n > 10 && n < 300 && clean, "%lld calls, each of which may fail: %s", (long long)n,
          e.text);
    CHECK(removed == 4 && gaps(l) == 0, "then it works: 3 file versions and a set version");
}

static void permissions(struct scratch *s)
{
    AUTO(lake) struct lake *ann = scratch_open_as(s, "perm", "ann", true);
    AUTO(lake) struct lake *bob = scratch_open_as(s, "perm", "bob", false);
    const char *const refs[] = {"/p/kept"};
    struct err e;

    put(ann, "/p/kept", "1");
    put(bob, "/p/own", "1");
    CHECK(lake_chmod(ann, "644", refs, 1, &e) == 0, "others may read it");
    CHECK(rm(bob, "/p/kept", &plain, &e) < 0 && e.kind == ERR_DENIED, "not remove: %s", e.text);
    CHECK(rm(bob, "/p/", &recursive, &e) < 0 && e.kind == ERR_DENIED, "nor with the directory");
    is(bob, "/p/own", "/p/own#1");
    CHECK(rm(bob, "/p/own", &plain, &e) == 1, "his own");
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    struct lake *l = scratch_open(&s);
    files(l);
    trees(l);
    one_transaction(l);
    sets(l);
    used_by_jobs(l);
    many_jobs(&s, l);
    CHECK(gaps(l) == 0, "no gaps");
    lake_free(l);
    failures(&s);
    permissions(&s);
    scratch_clear(&s);
    return TAP_DONE();
}
