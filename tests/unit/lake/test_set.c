/* Sets: what they hold and share, their parents, permissions, damage, failures and names. */
#include "lake/set/internal.h"

#include "lake/clean/clean.h"
#include "lake/core/files.h"
#include "lake/set/graph.h"
#include "lake/set/set.h"
#include "scratch.h"
#include "set_checks.h"
#include "tap.h"

#include <string.h>

/* ---- sharing ---- */

static int64_t build_large(struct lake *l, size_t changed, size_t inserted)
{
    struct err e = {0};
    struct lake_made made;
    struct lake_set set = {0};

    if (db_begin(l->db, &e) < 0 || lake_made_new(l, l->user, &made, &e) < 0)
        exit(1);
    AUTO(set_builder) struct set_builder *b = set_builder_new(l, "large", &made, &e);
    for (size_t i = 0; b && i < 100000; i++) {
        char path[64];
        snprintf(path, sizeof path, "/data/%03zu/%06zu", i / 500, i);
        struct lake_entry entry = {
            .path = path, .number = i == changed ? 2 : 1, .version = (int64_t)i + 1, .size = 100};
        if (set_builder_add(b, &entry, &e) < 0)
            exit(1);
        if (i == inserted) {
            snprintf(path, sizeof path, "/data/%03zu/%06zu-more", i / 500, i);
            set_builder_add(b, &entry, &e);
        }
    }
    if (!b || set_builder_finish(b, NULL, 0, &set, &e) < 0 || db_commit(l->db, &e) < 0)
        exit(1);
    return set.version;
}

static void test_sharing(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);

    build_large(l, SIZE_MAX, SIZE_MAX);
    int64_t first = scratch_number(l, "SELECT COUNT(*) FROM set_chunk");
    CHECK(first > 100000 / CHUNK_MOST && first < 100000 / CHUNK_LEAST,
          "100,000 files make %lld chunks", (long long)first);
    build_large(l, SIZE_MAX, SIZE_MAX);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM set_chunk") == first, "the same again adds none");
    build_large(l, 51234, SIZE_MAX);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM set_chunk") == first + 1,
          "one changed file adds one chunk");
    build_large(l, SIZE_MAX, 31234);
    int64_t inserted = scratch_number(l, "SELECT COUNT(*) FROM set_chunk") - first - 1;
    CHECK(inserted >= 1 && inserted <= 8, "one more file adds few: %lld", (long long)inserted);
}

/* ---- spec 17 to 20 in small ---- */

static int64_t create(struct lake *l, const char *name, const char *const *refs, struct err *e)
{
    size_t n = 0;
    struct lake_set set = {0};

    *e = (struct err){0};
    while (refs[n])
        n++;
    const struct lake_set_request request = {.name = name, .refs = refs, .n_refs = n};
    return lake_set_create(l, &request, &set, e) < 0 ? -1 : set.number;
}
static int take_out(struct lake *l, const char *const *refs, struct err *e)
{
    size_t n = 0;
    uint64_t removed;

    while (refs[n])
        n++;
    return lake_remove(l, refs, n, &(struct lake_remove_options){0}, &removed, e);
}
#define REFS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool lists(struct lake *l, const char *text, const char *wanted)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(buf) struct buf got;
    struct err e = {0};
    AUTO_CLEAR(parts) struct parts parts = {0};

    buf_init(&got, 65536);
    if (lake_resolve(l, text, LAKE_READ, &ref, &e) < 0 ||
        parts_of(l, ref.set_version, ref.path, &parts, &e) < 0)
        return false;
    AUTO_CLEAR(cursor)
    struct cursor c = {.l = l, .parts = &parts, .prefix = ref.path};
    if (cursor_start(&c, &e) < 0)
        return false;
    while (cursor_path(&c)) {
        if (cursor_open(&c, &e) < 0)
            return false;
        buf_printf(&got, "%s#%lld ", c.entry.path, (long long)c.entry.number);
        cursor_next(&c, &e);
    }
    return strcmp(buf_str(&got), wanted) == 0;
}

static bool parents_of(struct lake *l, const char *text, const char *wanted)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};

    return lake_resolve(l, text, LAKE_READ, &ref, &e) == 0 &&
           set_parents_are(l, ref.set_version, wanted);
}

static void fill_small(struct lake *l)
{
    struct err e = {0};

    scratch_fake(l, "/data/train.json", "one", &e);
    scratch_fake(l, "/data/train.json", "two", &e);
    scratch_fake(l, "/data/test.json", "three", &e);
    scratch_fake(l, "/new/file", "four", &e);
    scratch_fake(l, "/validation/v1", "five", &e);
}

static void test_spec(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};

    fill_small(l);
    CHECK(create(l, "A", REFS("/data/train.json#1", "/validation/"), &e) == 1, "A:1");
    CHECK(lists(l, "@A", "/data/train.json#1 /validation/v1#1 "), "a list of (file, version)");
    CHECK(parents_of(l, "@A", ""), "files are no parents");
    CHECK(create(l, "A", REFS("@A", "/new/file"), &e) == 2 &&
              lists(l, "@A", "/data/train.json#1 /new/file#1 /validation/v1#1 ") &&
              parents_of(l, "@A", "@A:1 "),
          "updating makes A's next version, with its previous one as a parent");
    CHECK(create(l, "A", REFS("/data/"), &e) == 3 && parents_of(l, "@A:3", ""),
          "a version from files alone has no parent, the previous one included");
    CHECK(create(l, "B", REFS("@A:3", "@A:1"), &e) == 1 &&
              lists(l, "@B", "/data/test.json#1 /data/train.json#1 /validation/v1#1 ") &&
              parents_of(l, "@B", "@A:3 @A:1 "),
          "merging: the later argument wins, parents in the order of the request");
    CHECK(create(l, "B", REFS("@A:1", "@A:3", "@A:1"), &e) == 2 &&
              lists(l, "@B", "/data/test.json#1 /data/train.json#1 /validation/v1#1 ") &&
              parents_of(l, "@B", "@A:1 @A:3 "),
          "a set named twice is a parent once, and its later place counts");
    CHECK(create(l, "V", REFS("/validation/@A:1"), &e) == 1 &&
              lists(l, "@V", "/validation/v1#1 ") && parents_of(l, "@V", "@A:1 "),
          "subsetting");
    CHECK(create(l, "F", REFS("/data/train.json@A:1"), &e) == 1 &&
              lists(l, "@F", "/data/train.json#1 ") && parents_of(l, "@F", "@A:1 "),
          "one file of a set brings the set as a parent");
    CHECK(create(l, "P", REFS("/data/train.json#*"), &e) == 1 &&
              lists(l, "@P", "/data/train.json#2 "),
          "a file as a whole stands for its latest version");
    CHECK(take_out(l, REFS("/data/train.json#1"), &e) == 0 &&
              create(l, "R", REFS("/data/@A:1"), &e) == 1 && lists(l, "@R", "/data/train.json#1 "),
          "a removed version stays usable through the set that holds it: %s", e.text);
}

static void test_refusals(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    CHECK(create(l, "B", REFS("/data/", "/nothing"), &e) == -1 && e.kind == ERR_NOTFOUND &&
              strstr(e.text, "/nothing"),
          "a missing reference: %s", e.text);
    CHECK(create(l, "no/name", REFS("/data/"), &e) == -1 && e.kind == ERR_USAGE, "a bad name: %s",
          e.text);
    CHECK(lake_set_create(l, &(struct lake_set_request){.name = "B"}, NULL, &e) == -1 &&
              e.kind == ERR_USAGE,
          "no references: %s", e.text);
    take_out(l, REFS("/new/file", "/validation/v1", "/data/train.json", "/data/test.json"), &e);
    CHECK(create(l, "B", REFS("/"), &e) == -1 && e.kind == ERR_USAGE && strstr(e.text, "@B"),
          "no files: %s", e.text);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM fileset") == 1 &&
              scratch_number(l, "SELECT COUNT(*) FROM set_version") == 1,
          "and nothing came of any of it");
}

/* A set of one path and of many that begin with prefix: several chunks of them. */
static void build_many(struct lake *l, const char *name, const char *one, const char *prefix)
{
    struct err e = {0};
    struct lake_made made;
    bool added = !one;

    if (db_begin(l->db, &e) < 0 || lake_made_new(l, l->user, &made, &e) < 0)
        exit(1);
    AUTO(set_builder) struct set_builder *b = set_builder_new(l, name, &made, &e);
    for (int64_t i = 0; b && i < 10000; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%05lld", prefix, (long long)i);
        struct lake_entry entry = {.path = path, .number = 1, .version = i + 1, .size = 1};
        struct lake_entry extra = {.path = one, .number = 1, .version = 20000, .size = 1};
        if (!added && strcmp(one, path) < 0) {
            added = true;
            if (set_builder_add(b, &extra, &e) < 0)
                exit(1);
        }
        if (set_builder_add(b, &entry, &e) < 0)
            exit(1);
    }
    if (!b || set_builder_finish(b, NULL, 0, NULL, &e) < 0 || db_commit(l->db, &e) < 0)
        exit(1);
}

/* Both were files, one after the other. */
static void test_nesting(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};

    scratch_fake(l, "/a", "one", &e);
    create(l, "File", REFS("/a"), &e);
    take_out(l, REFS("/a"), &e);
    scratch_fake(l, "/a/b", "two", &e);
    CHECK(create(l, "Below", REFS("/a/b"), &e) == 1, "a file, and later one below it: %s", e.text);
    CHECK(create(l, "Both", REFS("@File", "@Below"), &e) == -1 && e.kind == ERR_USAGE &&
              strstr(e.text, "@Both cannot hold both /a and /a/b, which lies below it"),
          "a merge of both is refused: %s", e.text);
    CHECK(create(l, "Both", REFS("/a@File", "/a/b"), &e) == -1 && e.kind == ERR_USAGE &&
              scratch_number(l, "SELECT COUNT(*) FROM fileset WHERE name = 'Both'") == 0,
          "by single files, too, and nothing came of it: %s", e.text);
    build_many(l, "Begins", "/a", "/a-");
    CHECK(create(l, "Both", REFS("@Begins", "@Below"), &e) == -1 && e.kind == ERR_USAGE &&
              strstr(e.text, "both /a and /a/b"),
          "with chunks in between that are not read: %s", e.text);
    build_many(l, "Holds", "/a/b", "/a0");
    CHECK(create(l, "Both", REFS("@File", "@Holds"), &e) == -1 && e.kind == ERR_USAGE &&
              strstr(e.text, "both /a and /a/b"),
          "where the one below begins a chunk: %s", e.text);
    build_many(l, "Within", "/a-x", "/a0");
    CHECK(create(l, "Within", REFS("@Within", "@Below"), &e) == 2 &&
              create(l, "Both", REFS("@File", "@Within"), &e) == -1 && e.kind == ERR_USAGE &&
              strstr(e.text, "both /a and /a/b"),
          "where it stands within one: %s", e.text);
    build_many(l, "Beside", NULL, "/a-");
    CHECK(create(l, "Good", REFS("@File", "@Beside"), &e) == 1 &&
              create(l, "Good", REFS("@Below", "@Beside"), &e) == 2,
          "names that begin alike are no trouble: %s", e.text);
}

static void test_permissions(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO(lake) struct lake *bob = scratch_open_as(&s, "default", "bob", false);
    AUTO(lake) struct lake *other = scratch_open_as(&s, "other", "ann", true);
    struct err e = {0};

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    CHECK(create(bob, "B", REFS("@A"), &e) == 1, "the project may read by default");
    CHECK(create(bob, "A", REFS("@A", "/new/file"), &e) == 2, "and write");
    CHECK(create(other, "A", REFS("@A"), &e) == -1 && e.kind == ERR_NOTFOUND,
          "another project sees nothing of it");
    CHECK(lake_chmod(l, "644", REFS("@A"), 1, &e) == 0 && create(bob, "A", REFS("@A"), &e) == -1 &&
              e.kind == ERR_DENIED,
          "without the right to write: %s", e.text);
    CHECK(lake_chmod(l, "600", REFS("@A"), 1, &e) == 0 && create(bob, "C", REFS("@A"), &e) == -1 &&
              e.kind == ERR_DENIED,
          "without the right to read: %s", e.text);
    CHECK(create(bob, "C", REFS("/data/test.json@A"), &e) == -1 && e.kind == ERR_DENIED,
          "nor through a file of it: %s", e.text);
}

static int count_ref(void *context, const char *ref, struct err *e)
{
    (void)ref;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static void test_parents_denied(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO(lake) struct lake *bob = scratch_open_as(&s, "default", "bob", false);
    AUTO(lake) struct lake *other = scratch_open_as(&s, "other", "ann", true);
    AUTO_CLEAR(lake_ref) struct lake_ref child = {0};
    struct err e = {0};
    size_t n = 0;

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    create(l, "B", REFS("@A", "/new/file"), &e);
    CHECK(lake_resolve(l, "@B", LAKE_READ, &child, &e) == 0 &&
              lake_chmod(l, "600", REFS("@A"), 1, &e) == 0 && parents_of(bob, "@B", "@A:1 "),
          "a parent that may not be read is named");
    CHECK(lake_chmod(l, "622", REFS("@B"), 1, &e) == 0 &&
              lake_set_parents(bob, child.set_version, count_ref, &n, &e) == -1 &&
              e.kind == ERR_DENIED && strstr(e.text, "@B:1") && n == 0,
          "the parents of a set that may not be read are not: %s", e.text);
    CHECK(lake_set_parents(other, child.set_version, count_ref, &n, &e) == -1 &&
              e.kind == ERR_NOTFOUND && n == 0,
          "nor those of another project: %s", e.text);
}

static void test_damaged(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    db_exec(l->db, "UPDATE set_chunk SET body = X'0100022F6101020001'", &e);
    CHECK(create(l, "B", REFS("@A", "/new/file"), &e) == -1 && e.kind == ERR_IO &&
              strstr(e.text, "@A:1"),
          "a damaged list names its set version: %s", e.text);
    db_exec(l->db, "UPDATE set_chunk SET first = '/zzz'", &e);
    CHECK(create(l, "B", REFS("@A", "/new/file"), &e) == -1 && e.kind == ERR_IO &&
              strstr(e.text, "@A:1"),
          "so do damaged bounds: %s", e.text);
    db_exec(l->db, "UPDATE file SET latest_version = -1 WHERE path = '/new/file'", &e);
    db_exec(l->db,
            "UPDATE version SET id = -1 WHERE file IN"
            " (SELECT id FROM file WHERE path = '/new/file')",
            &e);
    CHECK(create(l, "B", REFS("/new/"), &e) == -1 && e.kind == ERR_IO &&
              strstr(e.text, "/new/file"),
          "a file whose version cannot be: %s", e.text);
}

static bool stop_after(void *context, uint64_t files, uint64_t bytes, uint64_t a, uint64_t b)
{
    (void)bytes;
    (void)a;
    (void)b;
    *(uint64_t *)context = files;
    return false;
}

static void test_interrupted(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};
    uint64_t seen = 0;

    /* Each differs from the others in a chunk of its own. */
    for (size_t i = 0; i < 8; i++)
        build_large(l, 12000 * i, SIZE_MAX);
    const struct lake_set_request request = {.name = "B",
                                             .refs = REFS("@large:1", "@large:2", "@large:3",
                                                          "@large:4", "@large:5", "@large:6",
                                                          "@large:7", "@large:8"),
                                             .n_refs = 8,
                                             .progress = {stop_after, &seen}};
    CHECK(lake_set_create(l, &request, NULL, &e) == -1 && e.kind == ERR_RETRY && seen == 4096,
          "stopped after %llu files: %s", (unsigned long long)seen, e.text);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM fileset") == 1, "nothing came of it");
}

/* Everything that a creation writes. */
static int64_t rows(struct lake *l)
{
    static const char *const tables[] = {"fileset",   "set_version", "set_part",
                                         "set_chunk", "edge",        "made"};
    int64_t n = 0;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        AUTO_MEM char *sql = mem_printf("SELECT COUNT(*) FROM %s", tables[i]);
        n += scratch_number(l, sql);
    }
    return n + 1000 * scratch_number(l, "SELECT SUM(latest) FROM fileset");
}

static void test_failures(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};
    bool nothing_done = true, told = true;
    int n = 0;

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    create(l, "B", REFS("/validation/"), &e);
    int64_t before = rows(l);
    for (; n < 500; n++) {
        s.calls_left = n;
        int64_t made = create(l, "A", REFS("@A", "@B:1", "/new/file"), &e);
        s.calls_left = -1;
        if (made > 0)
            break;
        told = told && e.kind == ERR_IO && e.text[0];
        nothing_done = nothing_done && rows(l) == before;
    }
    CHECK(n > 10 && n < 500, "database call 1 to %d fails in turn", n);
    CHECK(told, "each failure is told");
    CHECK(nothing_done, "and leaves nothing half done");
    CHECK(lists(l, "@A:2", "/data/test.json#1 /data/train.json#2 /new/file#1 /validation/v1#1 ") &&
              parents_of(l, "@A:2", "@A:1 @B:1 "),
          "then it is made, as version 2");
}

/* ---- lists and names ---- */

static int add_set_text(void *context, const struct lake_set *set, struct err *e)
{
    (void)e;
    buf_printf(context, "@%s:%lld(%llu) ", set->name, (long long)set->number,
               (unsigned long long)set->files);
    return 0;
}

static bool list_is(struct lake *l, const char *name, bool all, const char *wanted)
{
    AUTO_CLEAR(buf) struct buf got;
    struct err e = {0};

    buf_init(&got, 65536);
    return lake_set_list(l, name, all, add_set_text, &got, &e) == 0 &&
           strcmp(buf_str(&got), wanted) == 0;
}

static int add_alias_text(
    void *context, const char *set, const char *alias, int64_t number, struct err *e)
{
    (void)e;
    buf_printf(context, "@%s:%s=%lld ", set, alias, (long long)number);
    return 0;
}

static bool aliases_are(struct lake *l, const char *wanted)
{
    AUTO_CLEAR(buf) struct buf got;
    struct err e = {0};

    buf_init(&got, 65536);
    return lake_alias_list(l, add_alias_text, &got, &e) == 0 && strcmp(buf_str(&got), wanted) == 0;
}

static int give_alias(struct lake *l, const char *ref, const char *alias, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref r = {0};

    *e = (struct err){0};
    return lake_resolve(l, ref, LAKE_READ, &r, e) < 0 ? -1 : lake_alias_set(l, &r, alias, e);
}

static void test_lists(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO(lake) struct lake *other = scratch_open_as(&s, "other", "ann", true);
    struct err e = {0};

    fill_small(l);
    CHECK(list_is(l, NULL, true, ""), "no sets");
    create(l, "B", REFS("/data/"), &e);
    create(l, "A", REFS("/new/file"), &e);
    create(l, "B", REFS("/"), &e);
    CHECK(list_is(l, NULL, false, "@A:1(1) @B:2(4) "), "the latest of each");
    CHECK(list_is(l, NULL, true, "@A:1(1) @B:1(2) @B:2(4) "), "all versions");
    CHECK(list_is(l, "B", true, "@B:1(2) @B:2(4) ") && list_is(l, "B", false, "@B:2(4) "),
          "of one set");
    CHECK(lake_set_list(l, "C", false, add_set_text, NULL, &e) == -1 && e.kind == ERR_NOTFOUND,
          "of a set that is not there: %s", e.text);
    CHECK(take_out(l, REFS("@B:2"), &e) == 0 && list_is(l, NULL, false, "@A:1(1) @B:1(2) "),
          "of what is left when the latest was removed");
    CHECK(create(l, "B", REFS("/"), &e) == 3, "numbers go on: %s", e.text);
    CHECK(list_is(other, NULL, true, ""), "nothing of another project");
}

static void test_aliases(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO(lake) struct lake *bob = scratch_open_as(&s, "default", "bob", false);
    struct err e = {0};

    fill_small(l);
    create(l, "S", REFS("/data/"), &e);
    create(l, "S", REFS("/new/file"), &e);
    CHECK(give_alias(l, "@S:1", "prod", &e) == 0 && lists(l, "@S:prod",
                                                          "/data/test.json#1 "
                                                          "/data/train.json#2 "),
          "@S:prod is version 1");
    CHECK(give_alias(l, "@S", "prod", &e) == 0 && lists(l, "@S:prod", "/new/file#1 "),
          "then it moves to version 2");
    CHECK(give_alias(l, "@S:1", "old", &e) == 0 && aliases_are(l, "@S:old=1 @S:prod=2 "),
          "they are listed");
    CHECK(give_alias(l, "@S:1", "7", &e) == -1 && e.kind == ERR_USAGE, "no numbers: %s", e.text);
    CHECK(give_alias(l, "/data/", "x", &e) == -1 && e.kind == ERR_USAGE, "no trees: %s", e.text);
    CHECK(give_alias(l, "/data/@S:1", "x", &e) == -1 && e.kind == ERR_USAGE, "no parts: %s",
          e.text);
    lake_chmod(l, "644", REFS("@S"), 1, &e);
    CHECK(give_alias(bob, "@S:1", "mine", &e) == -1 && e.kind == ERR_DENIED, "%s", e.text);
    CHECK(lake_alias_remove(bob, "@S:old", &e) == -1 && e.kind == ERR_DENIED, "%s", e.text);
    CHECK(lake_alias_remove(l, "@S:old", &e) == 0 && aliases_are(l, "@S:prod=2 "), "one goes");
    CHECK(lake_alias_remove(l, "@S:old", &e) == -1 && e.kind == ERR_NOTFOUND, "once: %s", e.text);
    CHECK(lake_alias_remove(l, "@T:old", &e) == -1 && e.kind == ERR_NOTFOUND, "%s", e.text);
    CHECK(lake_alias_remove(l, "S:old", &e) == -1 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(lake_alias_remove(l, "@S:2", &e) == -1 && e.kind == ERR_USAGE, "%s", e.text);
}

static int count_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)entry;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static int count_version(void *context, int64_t set_version, struct err *e)
{
    (void)set_version;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

static void test_held(void)
{
    AUTO_CLEAR(scratch) struct scratch s;
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct err e = {0};
    size_t n = 0;

    fill_small(l);
    create(l, "A", REFS("/data/"), &e);
    create(l, "B", REFS("/data/"), &e);
    create(l, "C", REFS("/new/file"), &e);
    CHECK(entries_each_held(l, NULL, count_entry, NULL, &n, &e) == 0 && n == 3,
          "a chunk that two sets share is seen once: %zu entries", n);
    take_out(l, REFS("@C:1"), &e);
    n = 0;
    CHECK(entries_each_held(l, NULL, count_entry, NULL, &n, &e) == 0 && n == 2,
          "removed sets hold nothing");
    CHECK(lake_pin(l, REFS("@A:1"), 1, &e) == 0 && take_out(l, REFS("@A:1", "@B:1"), &e) == 0,
          "all are removed, one is pinned: %s", e.text);
    n = 0;
    CHECK(entries_each_held(l, NULL, count_entry, NULL, &n, &e) == 0 && n == 2,
          "which holds its files all the same: %zu entries", n);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    lake_resolve(l, "/data/train.json#2", LAKE_READ, &ref, &e);
    n = 0;
    CHECK(entries_each_holder(l, ref.path, ref.version, count_version, &n, &e) == 0 && n == 2,
          "two set versions hold /data/train.json#2");
    n = 0;
    CHECK(entries_each_holder(l, ref.path, ref.version - 1, count_version, &n, &e) == 0 && n == 0,
          "none holds #1");
}

/* ---- content that gc took ---- */

static void test_gone(void)
{
    AUTO_CLEAR(scratch) struct scratch s = {0};
    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    struct lake_gc_options options = {.remove = true};
    struct lake_gc_summary sum;
    struct err e = {0};

    CHECK(scratch_put(l, "/d/held", "held", &e) == 1 &&
              scratch_put(l, "/d/loose", "loose", &e) == 1,
          "two files: %s", e.text);
    CHECK(create(l, "Old", REFS("/d/held"), &e) == 1, "a set holds one of them: %s", e.text);
    CHECK(lake_gc(l, &options, NULL, NULL, &sum, &e) == 0 && sum.objects == 1,
          "gc takes the other: %s", e.text);
    CHECK(create(l, "Now", REFS("/d/"), &e) < 0 && e.kind == ERR_NOTFOUND &&
              strstr(e.text, "/d/loose#1 was removed by gc: put it again"),
          "no set holds what is not there: %s", e.text);
    CHECK(create(l, "Now", REFS("/d/loose#1"), &e) < 0 && e.kind == ERR_NOTFOUND,
          "by its number neither: %s", e.text);
    CHECK(create(l, "Now", REFS("@Old"), &e) == 1 && create(l, "Now", REFS("/d/held"), &e) == 2,
          "the rest is there: %s", e.text);
    CHECK(scratch_put(l, "/d/loose", "loose", &e) > 0 && create(l, "Now", REFS("/d/"), &e) == 3,
          "put again, it can be had: %s", e.text);
}

int main(void)
{
    test_spec();
    test_refusals();
    test_nesting();
    test_permissions();
    test_parents_denied();
    test_damaged();
    test_failures();
    test_interrupted();
    test_lists();
    test_aliases();
    test_held();
    test_sharing();
    test_gone();
    return TAP_DONE();
}
