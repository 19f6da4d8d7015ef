#include "scratch.h"
#include "tap.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put(struct lake *l, const char *path, const char *text)
{
    struct err e = {0};

    if (scratch_fake(l, path, text, &e) < 0)
        CHECK(false, "put %s: %s", path, e.text);
}

static void remove_refs(struct lake *l, const char *ref)
{
    struct lake_remove_options options = {.recursive = true};
    struct err e = {0};
    uint64_t removed;

    CHECK(lake_remove(l, &ref, 1, &options, &removed, &e) == 0, "rm %s", ref);
}

/* Each text resolves to this reference, or to an error that begins or goes on so. */
struct expect {
    const char *text, *result;
};

static void resolves(struct lake *l, const struct expect *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_MEM char *got = scratch_resolve(l, cases[i].text, LAKE_READ);
        bool is_error = cases[i].result[1] == ':';
        CHECK(is_error ? strstr(got, cases[i].result) == got : strcmp(got, cases[i].result) == 0,
              "%s is %s (%s)", cases[i].text, cases[i].result, got);
    }
}

/* Kinds of errors as scratch_resolve shows them: 1 usage, 2 not found, 3 denied. */
static void files(struct lake *l)
{
    static const struct expect cases[] = {
        {"/data/train.json", "/data/train.json#3"},
        {"/data/train.json#2", "/data/train.json#2"},
        {"/data/train.json:2", "/data/train.json#2"},
        {"/data/train.json#02", "/data/train.json#2"},
        {"/data/train.json#*", "/data/train.json#*"},
        {"/data/train.json#4", "2: /data/train.json has no version 4: the newest is 3"},
        {"/data/train.json#0", "2: /data/train.json has no version 0"},
        {"/data/train.json#99999999999999999999", "2: there is no "},
        {"/data/train.json#x", "2: there is no "},
        {"/data/", "/data/"},
        {"/data", "/data/"},
        {"/", "/"},
        {"/t10:30", "/t10%3A30#1"}, /* exists literally: it wins over version 30 of /t10 */
        {"/t10:31", "/t10#31"},
        {"/t10%3A30", "/t10%3A30#1"},
        {"/t10%3a30#1", "/t10%3A30#1"},
        {"/t10", "/t10#31"},
        {"/odd%20name", "/odd%2520name#1"}, /* literal again */
        {"/odd%2520name", "/odd%2520name#1"},
        {"/odd%20name#1", "/odd%2520name#1"},
        {"/mail@home/x", "/mail%40home/x#1"},
        {"/mail%40home/x", "/mail%40home/x#1"},
        {"/mail@home", "/mail%40home/"},
        {"/mail%40home/", "/mail%40home/"},
        {"/data/trian.json", "2: there is no /data/trian.json: did you mean /data/train.json?"},
        {"/dta/train.json", "2: there is no /dta/train.json: did you mean /data?"},
        {"/nowhere/at/all", "2: there is no file /nowhere/at/all"},
        {"/nowhere/", "2: there is no directory /nowhere/"},
        {"/data/train.json/", "2: there is no "},
        {"data", "1: \"data\" is not a reference"},
        {"", "1: \"\" is not a reference"},
        {"job:7", "2: there is no job 7"},
        {"job:x", "1: \"job:x\" is not a reference"},
    };

    put(l, "/data/train.json", "1");
    put(l, "/data/train.json", "2");
    put(l, "/data/train.json", "3");
    put(l, "/t10:30", "x");
    for (int i = 0; i < 31; i++) {
        AUTO_MEM char *text = mem_printf("t10 %d", i);
        put(l, "/t10", text);
    }
    put(l, "/odd%20name", "x");
    put(l, "/mail@home/x", "x");
    resolves(l, cases, COUNT(cases));
}

static void sets(struct lake *l)
{
    static const char *const first[] = {"/data/train.json#2", "/mail%40home/x"};
    static const char *const second[] = {"/data/train.json", "/t10"};
    static const struct expect cases[] = {
        {"@Hot", "@Hot:2"},
        {"@Hot:1", "@Hot:1"},
        {"/@Hot", "@Hot:2"},
        {"/@Hot:1", "@Hot:1"},
        {"@Hot:prod", "@Hot:1"},
        {"@Hot:prd", "2: no version of @Hot is named prd: did you mean @Hot:prod?"},
        {"@Hot:3", "2: @Hot has no version 3: the newest is 2"},
        {"@Hto", "2: there is no set @Hto: did you mean @Hot?"},
        {"@", "1: \"\" is not a name"},
        {"@a b", "1: \"a b\" is not a name"},
        {"/data/train.json@Hot", "/data/train.json#3"},
        {"/data/train.json@Hot:1", "/data/train.json#2"},
        {"/data/train.json@Hot:prod", "/data/train.json#2"},
        {"/data/@Hot:1", "/data/@Hot:1"},
        {"/data@Hot:1", "/data/@Hot:1"},
        {"/t10@Hot:1", "2: @Hot:1 holds no /t10"},
        {"/t10/@Hot", "2: @Hot:2 holds no /t10/"},
        {"/mail@home/x@Hot:1", "/mail%40home/x#1"},
        {"/mail%40home/x@Hot:1", "/mail%40home/x#1"},
        {"/mail@home/@Hot:1", "/mail%40home/@Hot:1"},
        {"/data/train.json@Cold", "2: there is no set @Cold"},
    };
    struct err e = {0};

    scratch_set(l, "Hot", first, COUNT(first));
    scratch_set(l, "Hot", second, COUNT(second));
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    CHECK(lake_resolve(l, "@Hot:1", LAKE_READ, &ref, &e) == 0 &&
              lake_alias_set(l, &ref, "prod", &e) == 0,
          "an alias");
    resolves(l, cases, COUNT(cases));
}

static void removed(struct lake *l)
{
    static const struct expect cases[] = {
        {"/data/train.json#2", "2: version 2 of /data/train.json was removed"},
        {"/data/train.json@Hot:1", "/data/train.json#2"}, /* the set still holds it */
        {"/data/train.json", "/data/train.json#3"},
        {"/t10", "2: /t10 was removed"},
        {"/t10#1", "2: version 1 of /t10 was removed"},
        {"/t10@Hot:2", "/t10#31"},
        {"/t10:30", "/t10%3A30#1"},
        {"@Hot", "@Hot:1"},
        {"@Hot:2", "2: @Hot:2 was removed"},
    };
    static const struct expect before[] = {{"/t10@Hot:2", "/t10#31"}};

    remove_refs(l, "/data/train.json#2");
    remove_refs(l, "/t10");
    resolves(l, before, COUNT(before));
    resolves(l, cases, 7);
    remove_refs(l, "@Hot:2");
    resolves(l, cases + 7, 2);
}

/* References made for odd paths lead back to them. */
static void round_trip(struct lake *l)
{
    static const char *const paths[] = {"/rt/a#1",  "/rt/a%231", "/rt/a:2", "/rt/a@b",
                                        "/rt/a%25", "/rt/%",     "/rt/ä b", "/rt/a"};

    for (size_t i = 0; i < COUNT(paths); i++)
        put(l, paths[i], "x");
    for (size_t i = 0; i < COUNT(paths); i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        struct err e = {0};
        AUTO_MEM char *text = lake_file_ref(paths[i], 1);
        /* "/rt/a#1" exists literally, so version 1 of "/rt/a" has no reference of this form. */
        if (strcmp(text, "/rt/a#1") == 0)
            continue;
        CHECK(lake_resolve(l, text, LAKE_READ, &ref, &e) == 0 && strcmp(ref.path, paths[i]) == 0,
              "%s leads back to %s", text, paths[i]);
    }
}

struct seen {
    char text[512];
};

static int see(void *context, const struct lake_entry *entry, struct err *e)
{
    struct seen *s = context;
    size_t n = strlen(s->text);

    (void)e;
    snprintf(s->text + n, sizeof s->text - n, "%s#%lld:%llu ", entry->path,
             (long long)entry->number, (unsigned long long)entry->size);
    return 0;
}

static void each_file(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open_as(s, "each", "ann", true);
    static const struct {
        const char *ref, *files;
    } cases[] = {
        {"/", "/a#1:1 /a-b#1:2 /a.d/x#2:1 /b#1:1 "}, /* byte order of the paths */
        {"/a.d/", "/a.d/x#2:1 "},
        {"/a.d/x#1", "/a.d/x#1:3 "},
        {"/a.d/x#*", "/a.d/x#2:1 "},
        {"@S", "/a#1:1 /a.d/x#1:3 "},
        {"/a.d/@S", "/a.d/x#1:3 "},
    };
    static const char *const members[] = {"/a", "/a.d/x#1"};

    put(l, "/b", "1");
    put(l, "/a.d/x", "123");
    put(l, "/a.d/x", "1");
    put(l, "/a", "1");
    put(l, "/a-b", "12");
    scratch_set(l, "S", members, 2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        struct seen seen = {0};
        struct err e = {0};
        CHECK(lake_resolve(l, cases[i].ref, LAKE_READ, &ref, &e) == 0 &&
                  lake_each_file(l, &ref, see, &seen, &e) == 0 &&
                  strcmp(seen.text, cases[i].files) == 0,
              "files of %s: %s", cases[i].ref, seen.text);
    }
}

/* A database that fails is told as that, not as a thing that is not there. */
static void failing(struct scratch *s, struct lake *l)
{
    static const char *const refs[] = {"@Hto", "@Hot:prd", "/t10@Hot:1"};

    for (size_t i = 0; i < COUNT(refs); i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        struct err e = {0};
        int64_t calls = 1000, told = 0;
        s->calls_left = calls;
        CHECK(lake_resolve(l, refs[i], LAKE_READ, &ref, &e) < 0 && e.kind == ERR_NOTFOUND, "%s: %s",
              refs[i], e.text);
        calls -= s->calls_left;
        for (int64_t n = 0; n < calls; n++) {
            s->calls_left = n;
            told += lake_resolve(l, refs[i], LAKE_READ, &ref, &e) < 0 && e.kind == ERR_IO;
        }
        s->calls_left = -1;
        CHECK(calls > 1 && told == calls, "%s: %lld of %lld failing calls are told as such",
              refs[i], (long long)told, (long long)calls);
    }
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    struct lake *l = scratch_open(&s);
    files(l);
    sets(l);
    failing(&s, l);
    removed(l);
    round_trip(l);
    lake_free(l);
    each_file(&s);
    scratch_clear(&s);
    return TAP_DONE();
}
