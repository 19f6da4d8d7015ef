#include "lake/put/session.h"
#include "lake/put/upload.h"
#include "local.h"
#include "tap.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int64_t session_count(struct lake *l)
{
    return scratch_number(l, "SELECT count(*) FROM session");
}

/* ---- versions ---- */

static void versions(struct scratch *s, struct lake *l)
{
    struct lake_put_summary sum;
    struct err e = {0};

    local_text(s, "a", "one");
    CHECK(local_put(l, local_path(s, "a"), "/v/a", &sum, &e) == 0 && sum.files == 1 &&
              sum.unchanged == 0 && sum.new_bytes == 3,
          "the first put: %s", e.text);
    CHECK(local_put(l, local_path(s, "a"), "/v/a", &sum, &e) == 0 && sum.unchanged == 1 &&
              sum.session == 0,
          "again: unchanged, nothing stored");
    local_text(s, "a", "two");
    CHECK(local_put(l, local_path(s, "a"), "/v/a", &sum, &e) == 0 && sum.unchanged == 0,
          "changed: %s", e.text);
    AUTO_MEM char *old = local_cat(l, "/v/a#1"), *new = local_cat(l, "/v/a#2");
    CHECK(old && strcmp(old, "one") == 0 && new &&strcmp(new, "two") == 0,
          "both versions read back");
    CHECK(local_put(l, local_path(s, "a"), "/v/b", &sum, &e) == 0 && sum.new_bytes == 0 &&
              sum.session == 0,
          "known content under a new path stores nothing");
    CHECK(session_count(l) == 0, "no session stays behind");
}

struct answers {
    char text[400];
};

static int note_answer(void *context, const struct lake_put_file *file, struct err *e)
{
    struct answers *a = context;
    size_t n = strlen(a->text);

    (void)e;
    snprintf(a->text + n, sizeof a->text - n, "%s#%lld%s ", file->path, (long long)file->number,
             file->unchanged ? "=" : "");
    return 0;
}

static void order_set_and_tags(struct scratch *s, struct lake *l)
{
    const char *sources[] = {local_path(s, "o/z"), local_path(s, "o/a"), local_path(s, "o/m")};
    const char *tag = "model=BERT";
    struct lake_put_options o = {.sources = sources,
                                 .n_sources = 3,
                                 .destination = "/o/",
                                 .set = "Order",
                                 .tags = &tag,
                                 .n_tags = 1};
    struct lake_put_summary sum;
    struct answers answers = {""};
    struct err e = {0};

    local_text(s, "o/z", "z");
    local_text(s, "o/a", "a");
    local_text(s, "o/m", "m");
    CHECK(lake_put(l, &o, note_answer, &answers, &sum, &e) == 0 && sum.set_number == 1,
          "a put with a set: %s", e.text);
    CHECK(strcmp(answers.text, "/o/z#1 /o/a#1 /o/m#1 ") == 0, "in the order of the request: %s",
          answers.text);
    CHECK(scratch_number(l, "SELECT count(*) FROM meta WHERE kind = 1") == 3 &&
              scratch_number(l, "SELECT count(*) FROM meta WHERE kind = 3") == 1,
          "tags on every new version and on the set version");
    AUTO_MEM char *set = scratch_resolve(l, "/o/m@Order:1", LAKE_READ);
    CHECK(strcmp(set, "/o/m#1") == 0, "the set holds them: %s", set);
    answers.text[0] = 0;
    CHECK(lake_put(l, &o, note_answer, &answers, &sum, &e) == 0 && sum.set_number == 2 &&
              strcmp(answers.text, "/o/z#1= /o/a#1= /o/m#1= ") == 0 && sum.session == 0,
          "unchanged files make a set version all the same: %s", answers.text);
    o.set = NULL;
    o.force = true;
    answers.text[0] = 0;
    CHECK(lake_put(l, &o, note_answer, &answers, &sum, &e) == 0 &&
              strcmp(answers.text, "/o/z#2 /o/a#2 /o/m#2 ") == 0,
          "force makes versions: %s", answers.text);
    const char *wrong = "creator=me";
    o.tags = &wrong;
    CHECK(lake_put(l, &o, NULL, NULL, &sum, &e) < 0 && e.kind == ERR_USAGE &&
              scratch_number(l, "SELECT max(number) FROM version") == 2,
          "a built-in key is refused, nothing changes: %s", e.text);
}

static void refused(struct scratch *s, struct lake *l)
{
    struct err e = {0};

    CHECK(local_put(l, local_path(s, "a"), "/v/a/below", NULL, &e) < 0 && e.kind == ERR_USAGE,
          "nothing lies below a file: %s", e.text);
    CHECK(local_put(l, local_path(s, "a"), "/v", NULL, &e) < 0 && e.kind == ERR_USAGE,
          "a directory is no file: %s", e.text);
    CHECK(session_count(l) == 0, "no session stays behind");
    CHECK(local_put(l, local_path(s, "none"), "/n", NULL, &e) < 0 && e.kind == ERR_NOTFOUND,
          "a missing source: %s", e.text);
}

/* Puts the three sources in this order below /clash/; a hundred files come before and after them.
 */
static int put_three(struct scratch *s, struct lake *l, const char *const three[3], struct err *e)
{
    const char *sources[5];
    struct lake_put_options o = {.sources = sources, .n_sources = 5, .destination = "/clash/"};
    struct lake_put_summary sum;

    sources[0] = local_path(s, "many");
    for (int i = 0; i < 3; i++)
        sources[i + 1] = local_path(s, three[i]);
    sources[4] = local_path(s, "more");
    return lake_put(l, &o, NULL, NULL, &sum, e);
}

/* One source has a file where another has a directory; names before and after theirs, and between
 * "p" and "p/". */
static void sources_clash(struct scratch *s, struct lake *l)
{
    static const char *const orders[][3] = {
        {"one/p", "two/p", "two/p-1"}, {"two/p", "one/p", "two/p-1"}, {"two/p-1", "two/p", "one/p"},
        {"two/p-1", "one/p", "two/p"}, {"one/p", "two/p-1", "two/p"},
    };
    struct err e = {0};

    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/f%02d", i % 2 ? "many" : "more", i);
        local_text(s, name, name);
    }
    local_text(s, "one/p", "a file");
    local_text(s, "two/p/below", "in a directory");
    local_text(s, "two/p-1", "sorts between");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        e = (struct err){0};
        CHECK(put_three(s, l, orders[i], &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, "/clash/p"),
              "%s, %s, %s: refused: %s", orders[i][0], orders[i][1], orders[i][2], e.text);
    }
    CHECK(scratch_number(l, "SELECT count(*) FROM file WHERE path LIKE '/clash/%'") == 0,
          "nothing of it stays");
    CHECK(local_put(l, local_path(s, "two/p"), "/clash/", NULL, &e) == 0, "the directory alone");
    CHECK(put_three(s, l, (const char *const[]){"many/f01", "one/p", "two/p-1"}, &e) < 0 &&
              e.kind == ERR_USAGE,
          "a file in place of a directory of the lake: %s", e.text);
    CHECK(put_three(s, l, (const char *const[]){"two/p-1", "two/p", "a"}, &e) == 0 &&
              scratch_number(l, "SELECT count(*) FROM file WHERE path LIKE '/clash/%'") == 103,
          "and what does not clash: %s", e.text);
}

/* What others stored meanwhile keeps its place, unless it is to be replaced; blobs that hold
 * nothing have no rows. */
static void contents_that_are_there(struct lake *l)
{
    const struct store_content first = {.digest = sha256_of("A", 1),
                                        .place = {.blob = "kept-1", .size = 1}};
    const struct store_content again[] = {
        {.digest = sha256_of("A", 1), .place = {.blob = "kept-2", .size = 1}},
        {.digest = sha256_of("B", 1), .place = {.blob = "kept-3", .size = 1}},
        {.digest = sha256_of("A", 1)}, /* was not sent, as it was there */
    };
    const struct store_content gone = {.digest = sha256_of("nowhere", 7)};
    int64_t id = 0, ids[3] = {0};
    struct err e = {0};

    CHECK(db_begin(l->db, &e) == 0 && object_keep(l, &first, &id, &e) == 0 &&
              object_keep_all(l, again, 3, false, ids, &e) == 0,
          "contents are kept: %s", e.text);
    CHECK(ids[0] == id && ids[2] == id && ids[1] > 0 && ids[1] != id, "each has one row");
    CHECK(scratch_number(l, "SELECT count(*) FROM blob WHERE name LIKE 'kept-%'") == 2 &&
              scratch_number(l, "SELECT count(*) FROM object o JOIN blob b ON b.id = o.blob"
                                " WHERE b.name = 'kept-1'") == 1,
          "and stays where it was");
    CHECK(object_keep_all(l, again, 3, true, ids, &e) == 0 && ids[0] == id &&
              scratch_number(l, "SELECT count(*) FROM object o JOIN blob b ON b.id = o.blob"
                                " WHERE b.name = 'kept-2'") == 1,
          "unless that is damaged: %s", e.text);
    CHECK(object_keep(l, &gone, &id, &e) < 0 && e.kind == ERR_RETRY,
          "what was not sent must be there: %s", e.text);
    db_rollback(l->db);
}

/* ---- what is not read again ---- */

struct watch {
    unsigned writes;
};

static bool note_writes(void *context, const char *sql)
{
    struct watch *w = context;

    w->writes += strncmp(sql, "INSERT", 6) == 0 || strncmp(sql, "UPDATE", 6) == 0 ||
                 strncmp(sql, "DELETE", 6) == 0;
    return true;
}

static int64_t fixed_clock(void *context)
{
    (void)context;
    return INT64_C(1794782160000);
}

static void stamps(struct scratch *s)
{
    struct watch watch = {0};
    struct lake_options options = scratch_options(s);
    struct lake_put_summary sum;
    struct err e = {0};

    options.allow = note_writes;
    options.now_ms = fixed_clock;
    options.context = &watch;
    AUTO(lake) struct lake *l = lake_open(&options, &e);
    local_text(s, "t/f", "first");
    local_text(s, "t/g", "other");
    local_age(s, "t/f");
    usleep(250000); /* older than what a clock's grain could hide */
    CHECK(l && local_put(l, local_path(s, "t"), "/t", &sum, &e) == 0, "put: %s", e.text);
    if (!l)
        return;
    CHECK(scratch_number(l, "SELECT count(*) FROM source WHERE path LIKE '%/t/_'") == 2,
          "both are remembered");
    watch.writes = 0;
    CHECK(local_put(l, local_path(s, "t"), "/t", &sum, &e) == 0 && sum.unchanged == 2 &&
              watch.writes == 0,
          "unchanged: not one write");
    local_text(s, "t/f", "FIRST"); /* the same length and time */
    local_age(s, "t/f");
    CHECK(local_put(l, local_path(s, "t"), "/t", &sum, &e) == 0 && sum.unchanged == 1,
          "a change that keeps length and time is seen");
    AUTO_MEM char *text = local_cat(l, "/t/f");
    CHECK(text && strcmp(text, "FIRST") == 0, "and stored");
    usleep(250000);
    CHECK(local_put(l, local_path(s, "t"), "/t", &sum, &e) == 0 && sum.unchanged == 2 &&
              sum.session == 0,
          "a file read too soon after its change is read again, and is the same");
    watch.writes = 0;
    CHECK(local_put(l, local_path(s, "t"), "/t", &sum, &e) == 0 && watch.writes == 0,
          "after that it is known");
    CHECK(local_put(l, local_path(s, "t"), "/t2", &sum, &e) == 0 && sum.session == 0 &&
              sum.unchanged == 0,
          "under another path it is not stored again");
}

static void altered_after_scan(struct scratch *s, struct lake *l)
{
    const char *source = local_path(s, "w");
    struct err e = {0};

    local_text(s, "w/grown", "short");
    local_text(s, "w/other", "other");
    AUTO(source_list) struct source_list *list = source_scan(&source, 1, "/w", NULL, &e);
    local_noise(s, "w/grown", STORE_SMALL_MAX + 5, 1);
    local_text(s, "w/other", "OTHER!");
    AUTO_CLEAR(upload) struct upload u;
    upload_init(&u, l, list);
    u.put = (struct session_put){l->user, "put", "{}"};
    CHECK(list && upload_all(&u, &e) == 0, "altered after the scan: %s", e.text);
    CHECK(list->files[0].stamp.size == STORE_SMALL_MAX + 5 && u.batch.n_contents == 2,
          "a file that grew large is taken as it is now");
    const struct sha256_digest now = sha256_of("OTHER!", 6);
    CHECK(sha256_equal(&list->files[1].digest, &now), "so is one that changed");
    CHECK(upload_save(&u, &e) == 0 && u.batch.n_arrivals == 0, "saved: %s", e.text);
}

/* Changes the large file that is being read. */
static bool scribble(
    void *context, uint64_t files, uint64_t bytes, uint64_t all_files, uint64_t all_bytes)
{
    FILE *f = fopen(context, "a");

    (void)files, (void)bytes, (void)all_files, (void)all_bytes;
    if (f) {
        fputc('x', f);
        fclose(f);
    }
    return true;
}

static void changes_while_read(struct scratch *s, struct lake *l)
{
    AUTO_MEM char *source = mem_dup(local_path(s, "growing"));
    const char *sources[] = {source};
    const struct lake_put_options o = {.sources = sources,
                                       .n_sources = 1,
                                       .destination = "/growing",
                                       .progress = {scribble, source}};
    struct lake_put_summary sum;
    struct err e = {0};

    local_noise(s, "growing", 6 << 20, 21);
    CHECK(lake_put(l, &o, NULL, NULL, &sum, &e) < 0 && e.kind == ERR_CHANGED &&
              strstr(e.text, "growing") && strstr(e.text, "changed while it was read"),
          "a file that changes while it is read: %s", e.text);
    CHECK(scratch_number(l, "SELECT count(*) FROM file WHERE path = '/growing'") == 0 &&
              session_count(l) == 0,
          "nothing is half done");
    CHECK(local_put(l, source, "/growing", &sum, &e) == 0, "later it works: %s", e.text);
}

static void same_content(struct scratch *s, struct lake *l)
{
    struct lake_put_summary sum;
    struct err e = {0};
    uint64_t before = local_store_bytes(s);

    for (unsigned i = 0; i < 10; i++) {
        char name[40];
        snprintf(name, sizeof name, "same/f%u", i);
        local_noise(s, name, 100000, 77);
        snprintf(name, sizeof name, "same/large%u", i % 2);
        local_noise(s, name, 2 << 20, 78);
        snprintf(name, sizeof name, "same/empty%u", i);
        local_text(s, name, "");
    }
    CHECK(local_put(l, local_path(s, "same"), "/same", &sum, &e) == 0 && sum.files == 22 &&
              sum.new_bytes == 100000 + (2 << 20),
          "equal contents are stored once: %llu", (unsigned long long)sum.new_bytes);
    uint64_t grown = local_store_bytes(s) - before;
    CHECK(grown < 100000 + (2 << 20) + 10000, "and take room once: %llu",
          (unsigned long long)grown);
}

/* ---- interruptions ---- */

struct patience {
    unsigned calls_left;
};

static bool tell(
    void *context, uint64_t files, uint64_t bytes, uint64_t all_files, uint64_t all_bytes)
{
    struct patience *p = context;

    (void)files, (void)bytes, (void)all_files, (void)all_bytes;
    if (!p->calls_left)
        return false;
    p->calls_left--;
    return true;
}

/* Stopped after any number of steps: the same put goes on, and nothing is stored twice. */
static void interrupted(struct scratch *s, struct lake *l)
{
    const char *source = local_path(s, "long");
    const size_t size = 3 << 19;
    struct lake_put_summary sum;
    unsigned stops = 0;
    bool resumed = false, good = true;

    for (unsigned i = 0; i < 4; i++) {
        char name[40];
        snprintf(name, sizeof name, "long/%u", i);
        local_noise(s, name, size, 100 + i);
    }
    uint64_t before = local_store_bytes(s);
    for (unsigned n = 0;; n++) {
        struct patience patience = {n};
        struct err e = {0};
        const struct lake_put_options o = {.sources = &source,
                                           .n_sources = 1,
                                           .destination = "/long",
                                           .progress = {tell, &patience}};
        if (lake_put(l, &o, NULL, NULL, &sum, &e) == 0) {
            resumed = sum.resumed;
            break;
        }
        stops++;
        good = good && e.kind == ERR_RETRY && strstr(e.text, "interrupted");
        good =
            good && scratch_number(l, "SELECT count(*) FROM file WHERE path LIKE '/long/%'") == 0;
        /* Each message says how to go on. */
        good = good &&
               strstr(e.text, session_count(l) ? "run the same put again" : "nothing was stored");
    }
    CHECK(stops > 1 && good && resumed, "stopped %u times, then resumed to the end", stops);
    CHECK(session_count(l) == 0 && scratch_number(l, "SELECT count(*) FROM session_file") == 0,
          "the session is over");
    uint64_t grown = local_store_bytes(s) - before;
    CHECK(grown < 4 * size + 100000, "nothing was stored twice: %llu for %zu",
          (unsigned long long)grown, 4 * size);
    CHECK(scratch_number(l, "SELECT max(number) FROM version v JOIN file f ON f.id = v.file"
                            " WHERE f.path LIKE '/long/%'") == 1,
          "no number was taken in vain");
}

/* A cleaning that takes content away between the look and the commit. */
static bool clean_meanwhile(
    void *context, uint64_t files, uint64_t bytes, uint64_t all_files, uint64_t all_bytes)
{
    struct scratch *s = context;
    struct err e = {0};

    (void)files, (void)bytes, (void)all_files, (void)all_bytes;
    AUTO(lake) struct lake *other = scratch_open(s);
    if (db_begin(other->db, &e) < 0 ||
        db_exec(other->db, "UPDATE object SET blob = NULL, at = NULL WHERE size = 12345", &e) < 0 ||
        db_commit(other->db, &e) < 0)
        CHECK(false, "clean: %s", e.text);
    return true;
}

static void cleaned_meanwhile(struct scratch *s, struct lake *l)
{
    const char *source = local_path(s, "c");
    const struct lake_put_options o = {
        .sources = &source, .n_sources = 1, .destination = "/c2", .progress = {clean_meanwhile, s}};
    struct lake_put_summary sum;
    struct err e = {0};

    local_noise(s, "c/old", 12345, 5);
    CHECK(local_put(l, source, "/c1", NULL, &e) == 0, "first: %s", e.text);
    local_noise(s, "c/new", 100, 6);
    int result = lake_put(l, &o, NULL, NULL, &sum, &e);
    CHECK(result == 0 && sum.new_bytes == 12345 + 100, "content that vanished is stored again: %s",
          e.text);
    CHECK(local_get(l, "/c2/", local_path(s, "c-back"), NULL, &e) == 0 &&
              local_same(local_path(s, "c/old"), local_path(s, "c-back/c2/old")),
          "and reads back: %s", e.text);
}

/* ---- failures ---- */

struct fault {
    int64_t left; /* -1 = none */
    bool hit;
};

static bool fail_at(void *context, const char *operation)
{
    struct fault *f = context;

    (void)operation;
    if (f->left < 0)
        return true;
    if (f->left == 0) {
        f->hit = true;
        return false;
    }
    f->left--;
    return true;
}

static void every_failure(bool in_database, bool once)
{
    struct scratch s;
    bool good = true;
    int64_t n;

    scratch_init_fast(&s);
    local_text(&s, "f/small", "small");
    local_noise(&s, "f/large", STORE_SMALL_MAX + 1, 9);
    for (n = 0; good && n < 3000; n++) {
        struct lake_options options = scratch_options(&s);
        struct fault fault = {-1, false};
        struct err e = {0};
        char path[40];

        options.now_ms = fixed_clock;
        options.context = &fault;
        options.allow = in_database ? fail_at : NULL;
        options.store.allow = in_database ? NULL : fail_at;
        options.store.context = &fault;
        AUTO(lake) struct lake *l = lake_open(&options, &e);
        snprintf(path, sizeof path, "/n%lld", (long long)n);
        local_noise(&s, "f/small", 100, (unsigned)(1000 + n));
        fault.left = n;
        int result = local_put(l, local_path(&s, "f"), path, NULL, &e);
        bool hit = fault.hit;
        fault.left = once ? -1 : fault.left;
        if (!hit) {
            good = result == 0;
            break;
        }
        fault.left = -1;
        int again = local_put(l, local_path(&s, "f"), path, NULL, &e);
        snprintf(path, sizeof path, "/n%lld/", (long long)n);
        AUTO_MEM char *back = mem_printf("%s/local/back%lld", s.home, (long long)n);
        AUTO_MEM char *small = mem_printf("%s/n%lld/small", back, (long long)n);
        good = again == 0 && local_get(l, path, back, NULL, &e) == 0 &&
               local_same(local_path(&s, "f/small"), small) &&
               scratch_number(l, "SELECT max(number) FROM version") == 1 &&
               scratch_number(l, "SELECT count(*) FROM session") == 0;
        CHECK(good, "%s call %lld fails: %s", in_database ? "database" : "store", (long long)n,
              e.text);
    }
    CHECK(good && n > 5, "%lld %s calls, each failed once", (long long)n,
          in_database ? "database" : "store");
    scratch_clear(&s);
}

/* ---- several at once ---- */

#define RACERS 6
#define ROUNDS 5

static void race(struct scratch *s)
{
    bool good = true;
    char name[40];

    for (int i = 0; i < RACERS; i++) {
        if (fork() == 0) {
            AUTO(lake) struct lake *l = scratch_open(s);
            int failed = 0;
            for (int n = 0; n < ROUNDS; n++) {
                struct err e = {0};
                snprintf(name, sizeof name, "race/%d", i);
                local_noise(s, name, 1000, (unsigned)(5000 + i * ROUNDS + n));
                failed |= local_put(l, local_path(s, name), "/race", NULL, &e) < 0;
            }
            lake_free(TAKE(l));
            _exit(failed);
        }
    }
    for (int i = 0, status; i < RACERS; i++)
        good = wait(&status) > 0 && status == 0 && good;
    AUTO(lake) struct lake *l = scratch_open(s);
    CHECK(good, "puts from %d processes to one path", RACERS);
    CHECK(scratch_number(l, "SELECT count(*) FROM version v JOIN file f ON f.id = v.file"
                            " WHERE f.path = '/race'") == RACERS * ROUNDS &&
              scratch_number(l, "SELECT max(number) FROM version v JOIN file f ON f.id = v.file"
                                " WHERE f.path = '/race'") == RACERS * ROUNDS,
          "consecutive numbers, no gaps");
    CHECK(scratch_number(l, "SELECT count(DISTINCT object) FROM version v JOIN file f"
                            " ON f.id = v.file WHERE f.path = '/race'") == RACERS * ROUNDS,
          "nothing was overwritten");
}

/* A session that a live process works on is not taken over. */
static void live_session(struct scratch *s, struct lake *l)
{
    const struct session_put put = {l->user, "put x /y", "{}"};
    struct session_hold first = {0}, second = {0}, third = {0};
    struct err e = {0};

    (void)s;
    CHECK(session_hold_take(l, &put, &first, &e) == 0 && !first.resumed, "begun");
    CHECK(session_hold_take(l, &put, &second, &e) == 0 && !second.resumed && second.id != first.id,
          "another run of the same put beside it has a session of its own");
    int64_t left = first.id;
    session_hold_clear(&first);
    CHECK(session_hold_take(l, &put, &third, &e) == 0 && third.resumed && third.id == left,
          "one left behind is gone on with");
    CHECK(db_begin(l->db, &e) == 0 && session_row_remove(l, left, &e) == 0 &&
              session_row_renew(l, left, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "run the put again"),
          "ended by somebody else: %s", e.text);
    db_rollback(l->db);
    session_hold_clear(&second);
    session_hold_clear(&third);
}

static int delete_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    return type == FTW_F ? unlink(path) : 0;
}

/* Content that the database has and the store has not: somebody deleted all of it. */
static void deleted_by_hand(void)
{
    struct scratch s;
    struct err e = {0};

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    local_noise(&s, "hand/large", 1500000, 91);
    local_text(&s, "hand/small", "small");
    local_text(&s, "hand/empty", "");
    local_age(&s, "hand/large");
    CHECK(local_put(l, local_path(&s, "hand"), "/hand/", NULL, &e) == 0, "put: %s", e.text);
    lake_free(TAKE(l));
    CHECK(nftw(s.url + 4, delete_file, 8, FTW_PHYS) == 0, "the store is emptied");
    l = scratch_open(&s);
    CHECK(local_put(l, local_path(&s, "hand"), "/again/", NULL, &e) == 0, "put elsewhere: %s",
          e.text);
    AUTO_MEM char *small = local_cat(l, "/again/hand/small");
    CHECK(small && strcmp(small, "small") == 0, "a small file is stored again");
    CHECK(local_get(l, "/again/hand/large", local_path(&s, "back"), NULL, &e) == 0 &&
              local_same(local_path(&s, "back/again/hand/large"), local_path(&s, "hand/large")),
          "a large one, too: %s", e.text);
    AUTO_MEM char *first = local_cat(l, "/hand/hand/small");
    CHECK(first && strcmp(first, "small") == 0, "which brings the older versions back");
    uint64_t before = local_store_bytes(&s);
    CHECK(local_put(l, local_path(&s, "hand"), "/third/", NULL, &e) == 0 &&
              local_store_bytes(&s) == before,
          "what is there is not stored again: %s", e.text);
    lake_free(TAKE(l));
    scratch_clear(&s);
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    versions(&s, l);
    order_set_and_tags(&s, l);
    refused(&s, l);
    sources_clash(&s, l);
    contents_that_are_there(l);
    stamps(&s);
    changes_while_read(&s, l);
    same_content(&s, l);
    interrupted(&s, l);
    cleaned_meanwhile(&s, l);
    race(&s);
    altered_after_scan(&s, l);
    live_session(&s, l);
    deleted_by_hand();
    every_failure(true, true);
    every_failure(false, true);
    lake_free(TAKE(l));
    scratch_clear(&s);
    return TAP_DONE();
}
