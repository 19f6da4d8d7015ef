#include "scratch.h"
#include "tap.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct lake *open_as(struct scratch *s, const char *user, const char *group)
{
    struct lake_options options = scratch_options(s);
    struct err e = {0};

    options.caller = (struct lake_caller){
        .project = "default", .user = user, .groups = &group, .n_groups = group ? 1 : 0};
    struct lake *l = lake_open(&options, &e);
    CHECK(l, "%s opens the lake: %s", user, e.text);
    if (!l)
        exit(TAP_DONE());
    return l;
}

static void classes(struct lake *l)
{
    static const struct {
        const char *user, *group;
        unsigned mode, access;
        bool may;
    } cases[] = {
        {"ann", "team", 0600, LAKE_READ | LAKE_WRITE, true},
        {"ann", "team", 0400, LAKE_WRITE, false},
        {"ann", "team", 0066, LAKE_READ, false}, /* the owner's class decides, be it the narrower */
        {"bob", "team", 0640, LAKE_READ, true},
        {"bob", "team", 0640, LAKE_WRITE, false},
        {"bob", "team", 0606, LAKE_READ, false},
        {"bob", "other", 0604, LAKE_READ, true},
        {"bob", "other", 0660, LAKE_READ, false},
        {"bob", "", 0666, LAKE_READ | LAKE_WRITE, true},
        {"bob", "", 0664, LAKE_READ | LAKE_WRITE, false},
    };
    const char *user = l->user;
    char **groups = l->groups;
    size_t n_groups = l->n_groups;

    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[8], group[8], *one = group;
        snprintf(name, sizeof name, "%s", cases[i].user);
        snprintf(group, sizeof group, "%s", cases[i].group);
        l->user = name;
        l->groups = &one;
        l->n_groups = *group ? 1 : 0;
        l->admin = false;
        CHECK(lake_may(l, "ann", "team", cases[i].mode, cases[i].access) == cases[i].may,
              "%s of %s, %04o, access %u", name, group, cases[i].mode, cases[i].access);
        l->admin = true;
        CHECK(lake_may(l, "ann", "team", cases[i].mode, cases[i].access), "an admin always may");
    }
    l->user = user;
    l->groups = groups;
    l->n_groups = n_groups;
}

static int64_t mode_of(struct lake *l, const char *path)
{
    AUTO_MEM char *sql = mem_printf("SELECT mode FROM file WHERE path = '%s'", path);

    return scratch_number(l, sql);
}

static void modes(struct lake *l)
{
    static const struct {
        const char *mode;
        unsigned before, after;
    } cases[] = {
        {"640", 0666, 0640},     {"0640", 0666, 0640},   {"000", 0666, 0},   {"o-w", 0666, 0664},
        {"go-rw", 0666, 0600},   {"g=r,o=", 0666, 0640}, {"+r", 0200, 0644}, {"a=rw", 0, 0666},
        {"u-w,u+w", 0600, 0600}, {"o=", 0666, 0660},     {"ug+r", 0, 0440},
    };
    static const char *const bad[] = {"",    "64",    "6400", "888",  "755",  "x",    "o",
                                      "o-x", "o+rwx", "z=r",  "o-w,", ",o-w", "o-w;", "06666"};
    const char *const refs[] = {"/p"};
    struct err e = {0};

    CHECK(scratch_fake(l, "/p", "1", &e) == 1 && mode_of(l, "/p") == 0666,
          "a new file is the whole project's");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char before[8];
        snprintf(before, sizeof before, "%03o", cases[i].before);
        CHECK(lake_chmod(l, before, refs, 1, &e) == 0 &&
                  lake_chmod(l, cases[i].mode, refs, 1, &e) == 0 &&
                  mode_of(l, "/p") == cases[i].after,
              "%s makes %03o of %s: %03llo", cases[i].mode, cases[i].after, before,
              (unsigned long long)mode_of(l, "/p"));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        e = (struct err){0};
        CHECK(lake_chmod(l, bad[i], refs, 1, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, "is not a mode"),
              "\"%s\" is no mode", bad[i]);
    }
    CHECK(lake_chmod(l, "666", refs, 1, &e) == 0, "back");
}

static void resolves(struct lake *l, const char *text, unsigned access, bool allowed)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    int result = lake_resolve(l, text, access, &ref, &e);

    if (allowed)
        CHECK(result == 0, "%s may %s %s: %s", l->user, access & LAKE_WRITE ? "write" : "read",
              text, e.text);
    else
        CHECK(result < 0 && e.kind == ERR_DENIED, "%s may not %s %s: %s", l->user,
              access & LAKE_WRITE ? "write" : "read", text, e.text);
}

static int count(void *context, const struct lake_file *f, struct err *e)
{
    (void)f;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int count_entry(void *context, const struct lake_entry *f, struct err *e)
{
    (void)f;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static size_t visible(struct lake *l, const char *text, bool entries)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    size_t n = 0;

    if (lake_resolve(l, text, LAKE_READ, &ref, &e) < 0 ||
        (entries ? lake_each_file(l, &ref, count_entry, &n, &e)
                 : lake_list(l, &ref, true, count, &n, &e)) < 0)
        return 999;
    return n;
}

static void enforced(struct scratch *s, struct lake *admin)
{
    AUTO(lake) struct lake *ann = open_as(s, "ann", "vision");
    AUTO(lake) struct lake *bob = open_as(s, "bob", "vision");
    AUTO(lake) struct lake *eve = open_as(s, "eve", NULL);
    const char *const file[] = {"/e/secret"}, *const tree[] = {"/e/"}, *const set[] = {"@S"};
    const char *const members[] = {"/e/open", "/e/secret"};
    struct err e = {0};

    CHECK(scratch_fake(ann, "/e/secret", "1", &e) == 1 &&
              scratch_fake(ann, "/e/open", "1", &e) == 1,
          "ann's files");
    scratch_set(ann, "S", members, 2);
    CHECK(lake_chown(ann, ":vision", file, 1, &e) == 0 && lake_chmod(ann, "640", file, 1, &e) == 0,
          "for her group to read: %s", e.text);
    resolves(ann, "/e/secret", LAKE_READ | LAKE_WRITE, true);
    resolves(bob, "/e/secret", LAKE_READ, true);
    resolves(bob, "/e/secret#1", LAKE_WRITE, false);
    resolves(eve, "/e/secret", LAKE_READ, false);
    resolves(eve, "/e/secret#*", LAKE_READ, false);
    resolves(eve, "/e/secret@S", LAKE_READ, false);
    resolves(eve, "/e/open@S", LAKE_READ, true);
    resolves(admin, "/e/secret", LAKE_READ | LAKE_WRITE, true);
    CHECK(visible(bob, "/e/", false) == 2 && visible(eve, "/e/", false) == 1, "listings leave out");
    CHECK(visible(bob, "/e/", true) == 2 && visible(eve, "/e/", true) == 1, "walks as well");
    CHECK(visible(bob, "@S", true) == 2 && visible(eve, "@S", true) == 1 &&
              visible(eve, "@S", false) == 1,
          "those over sets too");
    CHECK(scratch_fake(bob, "/e/secret", "2", &e) < 0 && e.kind == ERR_DENIED &&
              strstr(e.text, "bob may not write /e/secret: its owner ann"),
          "a version needs write: %s", e.text);
    CHECK(lake_chmod(bob, "666", file, 1, &e) < 0 && e.kind == ERR_DENIED, "chmod is the owner's");
    CHECK(lake_chmod(bob, "666", tree, 1, &e) < 0 && e.kind == ERR_DENIED &&
              mode_of(admin, "/e/open") == 0666,
          "all of a tree or nothing");
    CHECK(lake_chown(ann, "bob", file, 1, &e) < 0 && e.kind == ERR_DENIED, "giving away is not");
    CHECK(lake_chown(ann, ":other", file, 1, &e) < 0 && e.kind == ERR_DENIED,
          "nor a group she is not in");
    CHECK(lake_chown(admin, "bob:audio", file, 1, &e) == 0, "an admin gives it to bob");
    resolves(bob, "/e/secret", LAKE_WRITE, true);
    resolves(ann, "/e/secret", LAKE_READ, false);
    CHECK(lake_chmod(ann, "600", set, 1, &e) == 0, "the set is for ann alone");
    resolves(bob, "@S", LAKE_READ, false);
    resolves(bob, "/e/open@S", LAKE_READ, false);
    resolves(ann, "@S:1", LAKE_READ | LAKE_WRITE, true);
    resolves(bob, "/e/open", LAKE_READ, true);
}

static void words(struct lake *l)
{
    static const char *const bad[] = {"", "a/b", "a:b:c", "a\nb"};
    const char *const refs[] = {"/p"}, *const part[] = {"/e/@S"}, *const missing[] = {"/p", "/no"};
    struct err e = {0};

    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(lake_chown(l, bad[i], refs, 1, &e) < 0 && e.kind == ERR_USAGE, "no owner %zu", i);
    CHECK(lake_chown(l, "zoe:g", refs, 1, &e) == 0 && lake_chown(l, ":", refs, 1, &e) == 0 &&
              scratch_number(l, "SELECT count(*) FROM file WHERE path = '/p' AND owner = 'zoe' AND"
                                " team = ''") == 1,
          "a group taken away");
    CHECK(lake_chmod(l, "600", part, 1, &e) < 0 && e.kind == ERR_USAGE, "no part of a set");
    CHECK(lake_chmod(l, "600", missing, 2, &e) < 0 && e.kind == ERR_NOTFOUND &&
              mode_of(l, "/p") == 0666,
          "one that is missing, and nothing changes");
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    struct lake *l = scratch_open_as(&s, "default", "root", true);
    classes(l);
    modes(l);
    enforced(&s, l);
    words(l);
    lake_free(l);
    scratch_clear(&s);
    return TAP_DONE();
}
