#include "base/file.h"
#include "lake/clean/clean.h"
#include "lake/core/files.h"
#include "lake/put/session.h"
#include "scratch.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>

static const char *const only_a[] = {"/a"};

/* Puts the text, or ends the test. */
static void put(struct lake *l, const char *path, const char *text)
{
    struct err e = {0};

    if (scratch_put(l, path, text, &e) < 0) {
        CHECK(false, "put %s: %s", path, e.text);
        exit(TAP_DONE());
    }
}

/* Whether the version can be read back whole; false with content that gc took. */
static bool readable(struct lake *l, const char *text)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    AUTO_CLEAR(object) struct object o = {0};

    if (lake_resolve(l, text, LAKE_READ, &ref, &e) < 0)
        return false;
    struct db_query *q = db_prepare(l->db, "SELECT object FROM version WHERE id = $1", &e);
    db_bind(q, 1, DB_INT(ref.version));
    db_step(q, &e);
    int64_t id = db_int(q, 0);
    db_reset(q);
    if (object_get(l, id, &o, &e) < 0 || !o.present)
        return false;
    AUTO_MEM char *bytes = mem_zero(o.content.place.size + 1, 1);
    if (store_read(lake_store(l, &e), l->area, &o.content.place, 0, bytes, o.content.place.size,
                   &e) < 0)
        return false;
    struct sha256_digest d = sha256_of(bytes, o.content.place.size);
    return sha256_equal(&d, &o.content.digest);
}

static struct lake_gc_summary gc(struct lake *l, bool remove, bool keep_latest)
{
    struct lake_gc_options options = {.remove = remove, .keep_latest = keep_latest};
    struct lake_gc_summary s;
    struct err e = {0};

    CHECK(lake_gc(l, &options, NULL, NULL, &s, &e) == 0, "gc works: %s", e.text);
    return s;
}

static uint64_t problems(struct lake *l)
{
    struct lake_fsck_summary s;
    struct err e = {0};

    return lake_fsck(l, NULL, NULL, NULL, &s, &e) < 0 ? UINT64_MAX : s.problems;
}

static int collect_ref(void *context, const char *ref, uint64_t size, struct err *e)
{
    (void)size;
    (void)e;
    strcat(context, ref);
    strcat(context, " ");
    return 0;
}

static void test_what_goes(void)
{
    struct scratch s;
    struct lake_gc_options look = {0};
    struct lake_gc_summary sum;
    struct err e = {0};
    char named[256] = "";
    const char *const pinned[] = {"/b"};

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    put(l, "/a", "in a set");
    put(l, "/b", "pinned");
    put(l, "/c", "nobody needs this");
    scratch_set(l, "S", only_a, 1);
    put(l, "/a", "newer, in no set");
    CHECK(lake_pin(l, pinned, 1, &e) == 0, "pin: %s", e.text);

    CHECK(lake_gc(l, &look, collect_ref, named, &sum, &e) == 0 && sum.versions == 2 &&
              sum.objects == 2 && sum.latest_versions == 2 && sum.bytes == 17 + 16,
          "two versions would go, 33 bytes");
    CHECK(strcmp(named, "/c#1 /a#2 ") == 0, "named: %s", named);
    CHECK(readable(l, "/c") && readable(l, "/a#2"), "looking removes nothing");
    sum = gc(l, true, true);
    CHECK(sum.versions == 0 && readable(l, "/c"), "--keep-latest keeps what is newest");
    sum = gc(l, true, false);
    CHECK(sum.versions == 2 && !readable(l, "/c") && !readable(l, "/a#2"), "both went");
    CHECK(readable(l, "/a#1") && readable(l, "/b"), "what a set or a pin holds stays");
    CHECK(problems(l) == 0, "fsck has nothing to say");
    sum = gc(l, true, false);
    CHECK(sum.versions == 0 && sum.objects == 0 && sum.blobs == 0, "a second gc finds nothing");
    put(l, "/d", "nobody needs this");
    CHECK(readable(l, "/c#1"), "the same content, put again, brings the old version back");
    scratch_clear(&s);
}

static void test_holders(void)
{
    struct scratch s;
    struct err e = {0};
    const char *const file[] = {"/a"}, *const set[] = {"@S:1"};
    struct lake_remove_options plain = {0};
    uint64_t n;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    put(l, "/a", "shared");
    put(l, "/twin", "shared");
    scratch_set(l, "S", only_a, 1);
    CHECK(lake_remove(l, file, 1, &plain, &n, &e) == 0, "rm /a: %s", e.text);
    gc(l, true, false);
    CHECK(readable(l, "/a@S:1") && readable(l, "/twin"),
          "removed from listings, but a set holds it; and one content serves two paths");
    CHECK(lake_pin(l, set, 1, &e) == 0 && lake_remove(l, set, 1, &plain, &n, &e) == 0,
          "the set is pinned and removed: %s", e.text);
    gc(l, true, false);
    CHECK(readable(l, "/twin"), "a pinned set keeps its files");
    CHECK(db_exec(l->db, "DELETE FROM pin", &e) == 0, "without the pin");
    gc(l, true, false);
    CHECK(!readable(l, "/twin"), "they go");
    scratch_clear(&s);
}

/* A blob of a large content that session 7 left behind. */
static void leave_blob(struct lake *l, int64_t session)
{
    struct err e = {0};
    AUTO(store_writer)
    struct store_writer *w = store_writer_new(lake_store(l, &e), l->area, session, &e);
    FILE *f = tmpfile();
    struct store_content c = {0};

    for (int i = 0; i < 2000; i++)
        fprintf(f, "%1000d", i);
    fflush(f);
    struct store_source source = {.fd = fileno(f), .name = "left"};
    CHECK(w && store_write_large(w, &source, &c, &e) == 0 && store_flush(w, &e) == 0,
          "a writer leaves a blob: %s", e.text);
    store_content_clear(&c);
    fclose(f);
}

static void test_sessions(void)
{
    struct scratch s;
    struct err e = {0};

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    leave_blob(l, 7);
    CHECK(db_exec(l->db,
                  "INSERT INTO session (id, project, creator, create_time, expires, lasts_ms,"
                  " state, request) VALUES (7, 1, 'ann', 0, 1794782160000 + 5000, 5000, 0, '{}')",
                  &e) == 0,
          "its session is pending: %s", e.text);
    struct lake_gc_summary sum = gc(l, true, false);
    CHECK(sum.leftovers == 0 && sum.sessions_expired == 0, "a live session's blob stays");
    s.now_ms += 10000;
    sum = gc(l, false, false);
    CHECK(sum.sessions_expired == 1 &&
              scratch_number(l, "SELECT state FROM session WHERE id = 7") == LAKE_SESSION_PENDING,
          "a look sees that the session is over, and leaves it");
    sum = gc(l, true, false);
    CHECK(sum.leftovers == 1 && sum.leftover_bytes == 2000000 && sum.sessions_expired == 1,
          "once the session expired it goes");
    CHECK(scratch_number(l, "SELECT state FROM session WHERE id = 7") == LAKE_SESSION_EXPIRED,
          "and the session says so");
    const int64_t month_ms = (int64_t)30 * 24 * 3600 * 1000;
    s.now_ms = 1794782160000 + 5000 + month_ms - 1000;
    gc(l, true, false);
    CHECK(scratch_number(l, "SELECT count(*) FROM session") == 1, "for 30 days");
    s.now_ms += 2000;
    gc(l, false, false);
    CHECK(scratch_number(l, "SELECT count(*) FROM session") == 1, "a look alone removes nothing");
    gc(l, true, false);
    CHECK(scratch_number(l, "SELECT count(*) FROM session") == 0, "then gc forgets it");
    CHECK(db_exec(l->db,
                  "INSERT INTO session (id, project, creator, create_time, expires, lasts_ms,"
                  " state, request) VALUES (8, 1, 'ann', 0, 1794782160000, 5000, 0, '{}')",
                  &e) == 0,
          "one that nobody looked at for longer: %s", e.text);
    gc(l, true, false);
    CHECK(scratch_number(l, "SELECT state FROM session WHERE id = 8") == LAKE_SESSION_EXPIRED,
          "first says that it is over");
    CHECK(db_exec(l->db,
                  "INSERT INTO session_file (session, seq, path, executable, unchanged)"
                  " VALUES (8, 1, '/x', 0, 0)",
                  &e) == 0,
          "with its files %s", e.text);
    gc(l, true, false);
    CHECK(scratch_number(l, "SELECT count(*) FROM session") == 0 &&
              scratch_number(l, "SELECT count(*) FROM session_file") == 0,
          "and is forgotten then");
    scratch_clear(&s);
}

static uint64_t stored_bytes;
static int add_size(void *context, const struct store_blob *blob, struct err *e)
{
    (void)context;
    (void)e;
    stored_bytes += blob->size;
    return 0;
}

static uint64_t store_bytes(struct lake *l)
{
    struct err e = {0};

    stored_bytes = 0;
    store_list(lake_store(l, &e), l->area, add_size, NULL, &e);
    return stored_bytes;
}

#define PACKED 40
#define HELD (PACKED / 5)
#define PACKED_BYTES 100000

static int add_packed(
    struct lake *l, struct store_writer *w, const struct lake_made *made, int i, char salt)
{
    AUTO_MEM char *text = mem_zero(PACKED_BYTES, 1);
    struct store_content c = {0};
    char path[16];
    struct version_new v = {.path = path};
    struct version_done done;
    struct err e = {0};

    memset(text, 'A' + i, PACKED_BYTES);
    text[0] = salt;
    snprintf(path, sizeof path, "/f%02d", i);
    c.digest = sha256_of(text, PACKED_BYTES);
    if (store_write_small(w, text, PACKED_BYTES, &c.digest, &c.place, &e) < 0 ||
        object_keep(l, &c, &v.object, &e) < 0)
        return -1;
    return scratch_version(l, made, &v, &done, &e);
}

/* New versions of 40 files of 100,000 bytes in a pack, of which every fifth is in the set. */
static void fill_pack(struct lake *l, char salt)
{
    static const char *const held[HELD] = {"/f00", "/f05", "/f10", "/f15",
                                           "/f20", "/f25", "/f30", "/f35"};
    struct err e = {0};
    struct lake_made made;
    AUTO(store_writer) struct store_writer *w = store_writer_new(lake_store(l, &e), l->area, 0, &e);
    bool good = w && db_begin(l->db, &e) == 0 && lake_made_new(l, l->user, &made, &e) == 0;

    for (int i = 0; i < PACKED && good; i++)
        good = add_packed(l, w, &made, i, salt) == 0;
    if (!good || store_flush(w, &e) < 0 || db_commit(l->db, &e) < 0) {
        CHECK(false, "fill a pack: %s", e.text);
        exit(TAP_DONE());
    }
    scratch_set(l, "S", held, HELD);
}

static size_t unreadable_of_set(struct lake *l)
{
    size_t bad = 0;
    char ref[32];

    for (int i = 0; i < PACKED; i += 5) {
        snprintf(ref, sizeof ref, "/f%02d@S", i);
        bad += !readable(l, ref);
    }
    return bad;
}

static void test_repack(void)
{
    struct scratch s;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    fill_pack(l, '0');
    CHECK(store_bytes(l) > PACKED * PACKED_BYTES, "4 MB are stored");
    struct lake_gc_summary sum = gc(l, true, false);
    CHECK(sum.versions == 32 && sum.rewritten_bytes == 8 * PACKED_BYTES,
          "32 of 40 go, the other 8 are moved: %llu bytes",
          (unsigned long long)sum.rewritten_bytes);
    CHECK(unreadable_of_set(l) == 0, "all of them read back");
    CHECK(store_bytes(l) < 9 * PACKED_BYTES, "the space is free again: %llu bytes",
          (unsigned long long)stored_bytes);
    CHECK(problems(l) == 0, "fsck has nothing to say");
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM session") == 0, "no session is left");
    scratch_clear(&s);
}

/* The nth database call fails, for every n: the next gc ends what this one began. */
static void test_database_fails(void)
{
    struct scratch s;
    size_t wrong = 0, n = 0;
    bool failed = true;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    put(l, "/a", "held");
    put(l, "/b", "not held");
    scratch_set(l, "S", only_a, 1);
    for (; failed && n < 400; n++) {
        struct lake_gc_options options = {.remove = true};
        struct lake_gc_summary sum;
        struct err e = {0};
        s.calls_left = (int64_t)n;
        failed = lake_gc(l, &options, NULL, NULL, &sum, &e) < 0;
        s.calls_left = -1;
        wrong += problems(l) != 0 || !readable(l, "/a@S:1");
    }
    wrong += readable(l, "/b");
    CHECK(wrong == 0 && !failed && n > 10, "%zu failing calls, and nothing is lost by any", n - 1);
    scratch_clear(&s);
}

struct failing_store {
    atomic_long left; /* operations until one fails; negative = never; asked from any thread */
};

static bool allow_operation(void *context, const char *operation)
{
    struct failing_store *f = context;

    /* A directory has hundreds of places to list: looking changes nothing. */
    return f->left < 0 || strcmp(operation, "list") == 0 || f->left-- != 0;
}

/* gc of a new lake whose store fails at operation n: whether there was one. *wrong counts what is
 * lost. */
static bool store_fails_at(long n, size_t *wrong)
{
    struct scratch s;
    struct failing_store f = {-1};
    struct lake_gc_options options = {.remove = true};
    struct lake_gc_summary sum;
    struct err e = {0};

    scratch_init(&s);
    struct lake_options o = scratch_options(&s);
    o.store.allow = allow_operation;
    o.store.context = &f;
    AUTO(lake) struct lake *l = lake_open(&o, &e);
    fill_pack(l, '0');
    f.left = n;
    lake_gc(l, &options, NULL, NULL, &sum, &e);
    bool failed = f.left < 0;
    f.left = -1;
    *wrong += problems(l) != 0 || unreadable_of_set(l) != 0;
    *wrong += lake_gc(l, &options, NULL, NULL, &sum, &e) < 0 || unreadable_of_set(l) != 0;
    scratch_clear(&s);
    return failed;
}

/* The same for operations of the store, while a pack is written anew. */
static void test_store_fails(void)
{
    size_t wrong = 0;
    long n = 0;

    while (n < 100 && store_fails_at(n, &wrong))
        n++;
    CHECK(wrong == 0 && n > 4 && n < 100, "%ld failing operations, and nothing is lost", n);
}

static void test_permissions(void)
{
    struct scratch s;
    struct lake_gc_options options = {.remove = true};
    struct lake_gc_summary sum;
    struct err e = {0};
    const char *const missing[] = {"/a", "/nothing"}, *const tree[] = {"/"};

    scratch_init(&s);
    AUTO(lake) struct lake *admin = scratch_open(&s);
    put(admin, "/a", "x");
    AUTO(lake) struct lake *l = scratch_open_as(&s, "default", "bob", false);
    CHECK(lake_gc(l, &options, NULL, NULL, &sum, &e) < 0 && e.kind == ERR_DENIED,
          "gc is for admins: %s", e.text);
    CHECK(lake_pin(admin, missing, 2, &e) < 0 && e.kind == ERR_NOTFOUND &&
              scratch_number(admin, "SELECT COUNT(*) FROM pin") == 0,
          "all or none is pinned");
    CHECK(lake_pin(admin, tree, 1, &e) < 0 && e.kind == ERR_USAGE, "no trees: %s", e.text);
    CHECK(lake_unpin(admin, missing, 1, &e) < 0 && e.kind == ERR_NOTFOUND, "%s", e.text);
    scratch_clear(&s);
}

static void test_pins_of_removed(void)
{
    struct scratch s;
    struct err e = {0};
    struct lake_remove_options plain = {0};
    const char *const both[] = {"/a#1", "@S:1"}, *const file[] = {"/b"};
    uint64_t n;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    put(l, "/a", "pinned and removed");
    put(l, "/b", "loose");
    scratch_set(l, "S", only_a, 1);
    CHECK(lake_pin(l, both, 2, &e) == 0 && lake_remove(l, both, 2, &plain, &n, &e) == 0,
          "pinned, then removed: %s", e.text);
    CHECK(lake_unpin(l, both, 2, &e) == 0 && scratch_number(l, "SELECT COUNT(*) FROM pin") == 0,
          "the pins can be taken off: %s", e.text);
    CHECK(lake_unpin(l, both, 1, &e) < 0 && e.kind == ERR_NOTFOUND, "once: %s", e.text);
    gc(l, true, false);
    CHECK(lake_pin(l, file, 1, &e) < 0 && e.kind == ERR_NOTFOUND && strstr(e.text, "put it again"),
          "what gc took cannot be pinned: %s", e.text);
    scratch_clear(&s);
}

/* What another project has is neither counted nor touched. */
static void test_projects(void)
{
    struct scratch s;

    scratch_init(&s);
    AUTO(lake) struct lake *mine = scratch_open(&s);
    AUTO(lake) struct lake *theirs = scratch_open_as(&s, "other", "eve", true);
    put(mine, "/a", "same bytes");
    put(theirs, "/a", "same bytes");
    struct lake_gc_summary sum = gc(mine, true, false);
    CHECK(sum.versions == 1 && !readable(mine, "/a") && readable(theirs, "/a"),
          "gc of one project leaves the other's content alone");
    scratch_clear(&s);
}

int main(void)
{
    test_what_goes();
    test_holders();
    test_sessions();
    test_repack();
    test_database_fails();
    test_store_fails();
    test_permissions();
    test_pins_of_removed();
    test_projects();
    return TAP_DONE();
}
