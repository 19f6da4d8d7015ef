/* Tags on things of every kind: set, change, remove; who may; what goes wrong. */
#include "lake/meta/meta.h"

#include "base/buf.h"
#include "lake/core/files.h"
#include "scratch.h"
#include "tap.h"

#include <stdint.h>
#include <string.h>

static int tag(struct lake *l, const char *ref_text, const char *pair, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    *e = (struct err){0};
    return lake_resolve(l, ref_text, LAKE_READ, &ref, e) < 0 ? -1 : lake_tag(l, &ref, &pair, 1, e);
}

static int untag(struct lake *l, const char *ref_text, const char *key, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    *e = (struct err){0};
    return lake_resolve(l, ref_text, LAKE_READ, &ref, e) < 0 ? -1 : lake_untag(l, &ref, &key, 1, e);
}

static int add_ref(void *context, const struct lake_found *found, struct err *e)
{
    (void)e;
    buf_printf(context, "%s ", found->ref);
    return 0;
}

/* References of the answers, each followed by a blank; or the error. */
static const char *find(struct lake *l, const char *expression)
{
    static struct buf out;
    struct err e = {0};
    struct lake_find_options options = {0};

    buf_clear(&out);
    buf_init(&out, 1 << 20);
    if (lake_find(l, expression, &options, add_ref, &out, &e) < 0)
        return "failed";
    return buf_str(&out);
}

static void finds(struct lake *l, const char *expression, const char *wanted, const char *why)
{
    const char *got = find(l, expression);

    CHECK(strcmp(got, wanted) == 0, "%s: find '%s' gives %s", why, expression, got);
}

static int add_values(void *context, const struct lake_found *found, struct err *e)
{
    (void)e;
    buf_printf(context, "%s %s", found->ref, found->kind);
    for (size_t i = 0; i < found->n_values; i++)
        buf_printf(context, " %s=%d:%s", found->values[i].key, found->values[i].kind,
                   found->values[i].text ? found->values[i].text : "-");
    buf_puts(context, "\n");
    return 0;
}

static void describes(struct lake *l, const char *ref_text, const char *wanted)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(buf) struct buf out = {0};
    struct err e = {0};

    buf_init(&out, 1 << 20);
    bool good = lake_resolve(l, ref_text, LAKE_READ, &ref, &e) == 0 &&
                lake_describe(l, &ref, add_values, &out, &e) == 0;
    CHECK(good && strcmp(buf_str(&out), wanted) == 0, "%s is described as it is", ref_text);
    if (strcmp(buf_str(&out), wanted) != 0)
        printf("# got %s# not %s# %s\n", buf_str(&out), wanted, e.text);
}

static void fill(struct lake *l)
{
    static const char *const paths[] = {"/d/a", "/d/b"};
    struct err e = {0};

    CHECK(scratch_fake(l, "/d/a", "12345", &e) == 1 && scratch_fake(l, "/d/b", "123", &e) == 1 &&
              scratch_fake(l, "/d/a", "1234567", &e) == 2 && scratch_fake(l, "/c", "1", &e) == 1 &&
              scratch_set(l, "S", paths, 2) > 0 && scratch_set(l, "S", paths, 1) > 0,
          "four file versions and two set versions %s", e.text);
}

static void test_references(struct lake *l)
{
    struct err e;

    CHECK(tag(l, "/d/a", "k=latest", &e) == 0 && tag(l, "/d/a#1", "k=1", &e) == 0 &&
              tag(l, "/d/a#*", "k=whole", &e) == 0 && tag(l, "@S", "k=set", &e) == 0,
          "tags on each kind %s", e.text);
    finds(l, "k", "/d/a#1 /d/a#2 /d/a#* @S:2 ", "each has its own");
    finds(l, "k=latest", "/d/a#2 ", "/p is the latest version");
    finds(l, "k=1", "/d/a#1 ", "/p#1");
    finds(l, "k=whole", "/d/a#* ", "/p#*");
    finds(l, "k=set", "@S:2 ", "@S");
    CHECK(tag(l, "/d/", "tree", &e) == 0 && tag(l, "/d/@S:1", "part=7", &e) == 0, "trees %s",
          e.text);
    finds(l, "tree", "/d/b#1 /d/a#2 ", "a directory: each latest version");
    finds(l, "part=7", "/d/b#1 /d/a#2 ", "part of a set: the versions it holds");
    CHECK(tag(l, "/d/a@S:1", "held", &e) == 0, "a file of a set %s", e.text);
    finds(l, "held", "/d/a#2 ", "the version that the set holds");
    describes(l, "/d/a#1",
              "/d/a#1 file create_time=2:2026-11-15T22:36:00.000Z creator=3:ann kind=3:file "
              "path=3:/d/a size=1:5 version=1:1 k=1:1\n");
    describes(l, "/d/a#*",
              "/d/a#* path create_time=2:2026-11-15T22:36:00.000Z creator=3:ann kind=3:path "
              "path=3:/d/a k=3:whole\n");
    finds(l, "kind=path create_time=2026-11-15T22:36:00.000Z..2026-11-15T22:36:00.001Z",
          "/d/a#* /d/b#* ", "whole files came to be with their first version");
    describes(l, "/d/@S:2",
              "/d/a#2 file create_time=2:2026-11-15T22:36:00.002Z creator=3:ann "
              "kind=3:file path=3:/d/a size=1:7 version=1:2 held=0:- k=3:latest "
              "part=1:7 tree=0:-\n");
}

static void test_changes(struct lake *l)
{
    struct err e;

    CHECK(tag(l, "/c", "v=5", &e) == 0 && tag(l, "/c", "v=2026-11-15", &e) == 0, "changed");
    finds(l, "v=5", "", "the old value is gone");
    finds(l, "v=2026-11-15", "/c#1 ", "the new one is there, of another kind");
    CHECK(tag(l, "/c", "v", &e) == 0, "changed into a tag");
    finds(l, "v", "/c#1 ", "it is there");
    finds(l, "v>=2000-01-01", "", "and the time is gone");
    CHECK(untag(l, "/c", "v", &e) == 0, "removed");
    finds(l, "v", "", "it is gone");
    CHECK(untag(l, "/c", "v", &e) < 0 && e.kind == ERR_NOTFOUND && strstr(e.text, "\"v\""), "%s",
          e.text);
    CHECK(untag(l, "/c", "v=1", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(untag(l, "/c", "size", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(tag(l, "/c", "size=1", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);

    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    const char *pairs[] = {"good=1", "bad key=2"}, *keys[] = {"good", "none"};
    CHECK(lake_resolve(l, "/c", LAKE_WRITE, &ref, &e) == 0 && lake_tag(l, &ref, pairs, 2, &e) < 0,
          "one bad pair among good ones: %s", e.text);
    finds(l, "good", "", "nothing changed");
    CHECK(tag(l, "/c", "good=1", &e) == 0 && lake_untag(l, &ref, keys, 2, &e) < 0 &&
              e.kind == ERR_NOTFOUND,
          "one missing key among others");
    finds(l, "good=1", "/c#1 ", "nothing changed");
}

static void test_odd_values(struct lake *l)
{
    static char longest[LAKE_VALUE_MAX + 16];
    struct err e;

    memset(longest, 'x', sizeof longest - 1);
    memcpy(longest, "long=", 5);
    longest[5 + LAKE_VALUE_MAX] = 0;
    CHECK(tag(l, "/c", longest, &e) == 0, "the longest value %s", e.text);
    finds(l, "long~x$", "/c#1 ", "it matches");
    CHECK(tag(l, "/c", "odd='; DROP TABLE meta; --", &e) == 0, "SQL in a value");
    finds(l, "odd=\"'; DROP TABLE meta; --\"", "/c#1 ", "is text");
    finds(l, "odd=\"' OR 1=1 --\"", "", "and so it is in an expression");
    finds(l, "odd=%", "", "nothing is a wildcard");
    CHECK(tag(l, "/c", "big=1e308", &e) == 0, "a large number");
    finds(l, "big>1e307 big<=1e308", "/c#1 ", "compares");
    CHECK(tag(l, "/c", "zero=-0", &e) == 0, "minus zero");
    finds(l, "zero=0 zero>=0 zero>-1 zero<1", "/c#1 ", "is zero");
    finds(l, "zero<0", "", "and not below");
}

static void test_removed(struct lake *l)
{
    const char *refs[] = {"/d/a#1"}, *set[] = {"@S:2"}, *file[] = {"/d/a"};
    struct lake_remove_options options = {0};
    struct err e = {0};
    uint64_t removed;

    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) == 0, "rm of a version %s", e.text);
    finds(l, "k", "/d/a#2 /d/a#* @S:2 ", "it is not found");
    CHECK(lake_remove(l, set, 1, &options, &removed, &e) == 0, "rm of a set version %s", e.text);
    finds(l, "k", "/d/a#2 /d/a#* ", "it is not found");
    CHECK(lake_remove(l, file, 1, &options, &removed, &e) == 0, "rm of a file %s", e.text);
    finds(l, "k", "", "neither is the whole file");
    CHECK(scratch_fake(l, "/d/a", "new", &e) == 3, "put again");
    finds(l, "path=/d/a", "/d/a#3 ", "the new version alone");
    finds(l, "k", "/d/a#* ", "the whole file keeps its keys");
}

static void test_permissions(struct scratch *s, struct lake *ann)
{
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    const char *refs[] = {"/c"};
    struct err e = {0};

    CHECK(tag(bob, "/c", "from=bob", &e) == 0, "others may tag %s", e.text);
    CHECK(lake_chmod(ann, "644", refs, 1, &e) == 0, "until they may not write");
    CHECK(tag(bob, "/c", "from=eve", &e) < 0 && e.kind == ERR_DENIED, "%s", e.text);
    CHECK(untag(bob, "/c", "from", &e) < 0 && e.kind == ERR_DENIED, "%s", e.text);
    CHECK(tag(bob, "/", "all", &e) < 0 && e.kind == ERR_DENIED, "one file among others: %s",
          e.text);
    finds(bob, "all", "", "nothing was tagged");
    finds(bob, "from=bob", "/c#1 ", "they may read");
    CHECK(lake_chmod(ann, "600", refs, 1, &e) == 0, "until they may not");
    finds(bob, "from", "", "left out");
    finds(bob, "path=/c", "", "by built-ins too");
    finds(ann, "from=bob", "/c#1 ", "the owner finds it");
}

static void test_isolation(struct scratch *s, struct lake *ann)
{
    AUTO(lake) struct lake *other = scratch_open_as(s, "other", "ann", true);
    struct err e = {0};

    finds(other, "", "", "nothing of another project");
    finds(other, "from", "", "nor by its keys");
    CHECK(scratch_fake(other, "/c", "1", &e) == 1 && tag(other, "/c", "from=other", &e) == 0,
          "the same path and key %s", e.text);
    finds(other, "from", "/c#1 ", "its own");
    finds(ann, "from=other", "", "not seen from here");

    /* A reference resolved in one project is nothing in another. */
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    const char *pair = "stolen=1";
    CHECK(lake_resolve(ann, "/c", LAKE_WRITE, &ref, &e) == 0 &&
              lake_tag(other, &ref, &pair, 1, &e) < 0 && e.kind == ERR_NOTFOUND,
          "%s", e.text);
    finds(ann, "stolen", "", "nothing was tagged");
}

struct lines {
    const char *const *line;
};

static const char *next(void *context)
{
    struct lines *l = context;

    return *l->line ? *l->line++ : NULL;
}

static int tag_lines(struct lake *l, const char *const *lines, uint64_t *n, struct err *e)
{
    struct lines context = {lines};

    *e = (struct err){0};
    return lake_tag_lines(l, next, &context, n, e);
}

static void test_lines(struct lake *l)
{
    static const char *const good[] = {
        "/c x=1 y='a b' z\n",   "",  "# a remark", "\"/d/b\" \"note=it's \" w=\"say \"\"hi\"\"\"",
        "\t/d/a  t=o'neil\r\n", NULL};
    static const char *const bad[][3] = {
        {"/c q=1", "/nothing q=2", NULL}, {"/c q=1", "/c", NULL},     {"/c q=1", "/c q='a", NULL},
        {"/c q=1", "/c q='a'b", NULL},    {"/c q=1", "/c 5=4", NULL}, {"/c q=1", "/c size=4", NULL},
    };
    uint64_t n = 0;
    struct err e;

    CHECK(tag_lines(l, good, &n, &e) == 0 && n == 3, "three lines %s", e.text);
    finds(l, "x=1 y=\"a b\" z", "/c#1 ", "several pairs");
    finds(l, "note=\"it's \" w='say \"hi\"'", "/d/b#1 ", "quotes");
    finds(l, "t=o'neil", "/d/a#3 ", "a quote within a word is one");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(tag_lines(l, bad[i], &n, &e) < 0 && strstr(e.text, "line 2"), "%s", e.text);
    finds(l, "q", "", "all or nothing");
}

/* The database fails at its nth call, for every n: all or nothing. */
static void test_failures(struct scratch *s, struct lake *l)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    const char *pairs[] = {"fail=1", "fail2=2"}, *keys[] = {"fail", "fail2"};
    struct err e = {0};
    int64_t n, wrong = 0;

    CHECK(lake_resolve(l, "/d/", LAKE_WRITE, &ref, &e) == 0, "a directory");
    for (n = 0;; n++) {
        e = (struct err){0};
        s->calls_left = n;
        int done = lake_tag(l, &ref, pairs, 2, &e);
        s->calls_left = -1;
        if (done == 0)
            break;
        wrong += e.kind != ERR_IO || strcmp(find(l, "fail"), "") != 0 ||
                 strcmp(find(l, "fail2"), "") != 0;
    }
    CHECK(n > 5 && wrong == 0, "tag fails cleanly at each of %lld calls", (long long)n);
    finds(l, "fail=1 fail2=2", "/d/b#1 /d/a#3 ", "and then works");
    for (n = 0;; n++) {
        s->calls_left = n;
        const char *got = find(l, "fail=1 fail2=2 fail~1");
        s->calls_left = -1;
        if (strcmp(got, "failed") != 0)
            break;
    }
    CHECK(n > 5 && strcmp(find(l, "fail"), "/d/b#1 /d/a#3 ") == 0,
          "find fails cleanly at each of %lld calls", (long long)n);
    for (n = 0;; n++) {
        s->calls_left = n;
        int done = lake_untag(l, &ref, keys, 2, &e);
        s->calls_left = -1;
        if (done == 0)
            break;
        wrong += strcmp(find(l, "fail=1 fail2=2"), "/d/b#1 /d/a#3 ") != 0;
    }
    CHECK(n > 5 && wrong == 0, "untag fails cleanly at each of %lld calls", (long long)n);
    finds(l, "fail", "", "and then works");
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    {
        AUTO(lake) struct lake *ann = scratch_open(&s);
        fill(ann);
        test_references(ann);
        test_changes(ann);
        test_odd_values(ann);
        test_removed(ann);
        test_lines(ann);
        test_failures(&s, ann);
        test_permissions(&s, ann);
        test_isolation(&s, ann);
    }
    scratch_clear(&s);
    return TAP_DONE();
}
