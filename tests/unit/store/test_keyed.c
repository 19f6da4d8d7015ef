/* What store/keyed.h promises, tried on a directory and, where STORE_ENDPOINT names a server, on a
 * bucket. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "store/bucket.h"
#include "store/keyed.h"
#include "tap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct text {
    char bytes[64];
    size_t n;
};

static int collect(void *context, const void *bytes, size_t n, struct err *e)
{
    struct text *t = context;

    (void)e;
    if (n > sizeof t->bytes - 1 - t->n)
        n = sizeof t->bytes - 1 - t->n;
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return 0;
}

static const char *content(struct store *s, const char *key, uint64_t offset, uint64_t length)
{
    static struct text t;
    struct store_keyed_get get = {
        .key = key, .offset = offset, .length = length, .sink = collect, .context = &t};
    struct err e = {0};

    memset(&t, 0, sizeof t);
    return store_keyed_get(s, &get, &e) < 0 ? "none" : t.bytes;
}

static int put(struct store *s,
               const char *key,
               const char *text,
               enum store_condition condition,
               const char *etag,
               char *etag_out)
{
    struct store_keyed_put p = {.key = key,
                                .condition = condition,
                                .etag = etag,
                                .bytes = text,
                                .n = strlen(text),
                                .etag_out = etag_out};

    return store_keyed_put(s, &p, NULL);
}

struct list {
    size_t n;
    uint64_t bytes;
    char last[100], etag[STORE_ETAG];
    int64_t modified_ms, now_ms;
};

static int see(void *context, const struct store_keyed *o, struct err *e)
{
    struct list *l = context;

    (void)e;
    l->n++;
    l->bytes += o->size;
    snprintf(l->last, sizeof l->last, "%s", o->key);
    snprintf(l->etag, sizeof l->etag, "%s", o->etag);
    l->modified_ms = o->modified_ms;
    return 0;
}

static struct list list(struct store *s, const char *prefix)
{
    struct list l = {0};

    struct store_keyed_list all = {.prefix = prefix, .visit = see, .context = &l};
    if (store_keyed_list(s, &all, NULL) < 0)
        l.n = 1000000;
    l.now_ms = all.now_ms;
    return l;
}

static void check_conditions(struct store *s)
{
    char first[STORE_ETAG] = "", second[STORE_ETAG] = "", ignored[STORE_ETAG];

    CHECK(put(s, "a/b/one", "first", STORE_ABSENT, NULL, first) == 0 && *first, "what is absent");
    CHECK(put(s, "a/b/one", "again", STORE_ABSENT, NULL, ignored) == 1 &&
              strcmp(content(s, "a/b/one", 0, 0), "first") == 0,
          "is not any more, and stays as it is");
    CHECK(put(s, "a/b/one", "second", STORE_MATCH, first, second) == 0 &&
              strcmp(first, second) != 0,
          "one with this etag is replaced, and has another");
    CHECK(put(s, "a/b/one", "third", STORE_MATCH, first, ignored) == 1 &&
              strcmp(content(s, "a/b/one", 0, 0), "second") == 0,
          "one with another etag is not");
    CHECK(put(s, "a/b/none", "third", STORE_MATCH, first, ignored) == 1 &&
              strcmp(content(s, "a/b/none", 0, 0), "none") == 0,
          "nor one that is gone");
    CHECK(put(s, "a/b/one", "whatever", STORE_ALWAYS, NULL, NULL) == 0 &&
              strcmp(content(s, "a/b/one", 0, 0), "whatever") == 0,
          "without condition anything is");
}

static void check_reading(struct store *s)
{
    struct err e = {0};
    struct text t = {0};
    struct store_tally tally = {0};
    struct store_keyed_get get = {
        .key = "a/b/one", .etag = "0-0.0-0", .sink = collect, .context = &t, .tally = &tally};

    CHECK(strcmp(content(s, "a/b/one", 4, 0), "ever") == 0, "from an offset");
    CHECK(strcmp(content(s, "a/b/one", 1, 3), "hat") == 0, "a part");
    CHECK(store_keyed_get(s, &get, &e) < 0 && e.kind == ERR_RETRY && t.n == 0,
          "another than was asked for: %s", e.text);
    get.etag = NULL;
    get.key = "a/b/none";
    CHECK(store_keyed_get(s, &get, &e) < 0 && e.kind == ERR_NOTFOUND, "none: %s", e.text);
    get.key = "a/b/one";
    CHECK(store_keyed_get(s, &get, &e) == 0 && tally.reads == 3 && tally.read_bytes == 8,
          "requests and bytes are counted: %d, %d", (int)tally.reads, (int)tally.read_bytes);
}

static void check_lists(struct store *s)
{
    put(s, "a/b/two", "22", STORE_ALWAYS, NULL, NULL);
    put(s, "a/c/three", "333", STORE_ALWAYS, NULL, NULL);
    struct list l = list(s, "a/b/");
    CHECK(l.n == 2 && l.bytes == 10, "those below a prefix: %zu", l.n);
    l = list(s, "a/c/");
    CHECK(l.n == 1 && strcmp(l.last, "a/c/three") == 0 && *l.etag, "keys as they were written: %s",
          l.last);
    /* Dates of HTTP have whole seconds; machines of one test have one clock. */
    CHECK(l.modified_ms > 1700000000000 && l.now_ms >= l.modified_ms - 1001 &&
              l.now_ms < l.modified_ms + 600000,
          "times by one clock: %lld, %lld", (long long)l.modified_ms, (long long)l.now_ms);
    CHECK(put(s, "a/c/three", "4444", STORE_MATCH, l.etag, NULL) == 0,
          "the etag of a list is one for conditions");
    CHECK(list(s, "").n == 3 && list(s, "x/").n == 0, "all, and none");
    CHECK(store_keyed_delete(s, "a/b/two", NULL, NULL) == 0 &&
              store_keyed_delete(s, "a/b/two", NULL, NULL) == 0 && list(s, "a/b/").n == 1,
          "deleted, and deleted once more");
    store_keyed_delete(s, "a/b/one", NULL, NULL);
    store_keyed_delete(s, "a/c/three", NULL, NULL);
    CHECK(list(s, "").n == 0, "nothing is left");
}

static void check_keys(struct store *s)
{
    static const char *const bad[] = {"",     "/a",     "a/",  "a//b", "../a",
                                      "a/..", ".tmp/x", "a b", "a?b"};
    struct err e = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(put(s, bad[i], "x", STORE_ALWAYS, NULL, NULL) < 0 &&
                  store_keyed_delete(s, bad[i], NULL, &e) < 0 && e.kind == ERR_USAGE,
              "no key: \"%s\"", bad[i]);
}

struct race {
    struct store *store;
    atomic_int won;
    const char *etag;
};

static int run_race(void *context, size_t i, struct err *e)
{
    struct race *r = context;
    char text[32];

    (void)e;
    snprintf(text, sizeof text, "racer %zu", i);
    r->won += put(r->store, "race", text, r->etag ? STORE_MATCH : STORE_ABSENT, r->etag, NULL) == 0;
    return 0;
}

static void check_races(struct store *s)
{
    char etag[STORE_ETAG];

    for (int i = 0; i < 3; i++) {
        struct race r = {.store = s};
        parallel_each(8, 8, run_race, &r, NULL);
        CHECK(r.won == 1, "eight write what is absent, one does: %d", (int)r.won);
        put(s, "race", "begin", STORE_ALWAYS, NULL, etag);
        struct race again = {.store = s, .etag = etag};
        parallel_each(8, 8, run_race, &again, NULL);
        CHECK(again.won == 1, "eight replace one, one does: %d", (int)again.won);
        store_keyed_delete(s, "race", NULL, NULL);
    }
}

static void check_all(struct store *s)
{
    check_conditions(s);
    check_reading(s);
    check_lists(s);
    check_keys(s);
    check_races(s);
}

static void check_dir(void)
{
    char dir[] = "/tmp/test-keyed-XXXXXX";
    struct stat st;

    if (!mkdtemp(dir))
        exit(1);
    AUTO_MEM char *url = mem_printf("dir:%s/store", dir);
    AUTO(store)
    struct store *s = store_open(&(struct store_settings){.url = url, .path_style = -1}, NULL);
    check_all(s);
    AUTO_MEM char *left = mem_printf("%s/store/a", dir), *tmp = mem_printf("%s/store/.tmp/x", dir);
    CHECK(stat(left, &st) < 0, "empty directories are gone");
    fclose(fopen(tmp, "w"));
    put(s, "b", "x", STORE_ALWAYS, NULL, NULL);
    CHECK(stat(tmp, &st) < 0, "what a writer that died left is gone");
    AUTO_MEM char *remove = mem_printf("rm -rf %s", dir);
    CHECK(system(remove) == 0, "removed");
}

static struct store *keyed_bucket(const char *endpoint_name)
{
    AUTO_MEM char *url = bucket_url("tradewind-keyed/p");

    return bucket_open(endpoint_name, url, -1);
}

/* A write whose answer is lost is sent again, and finds itself there. */
static void check_lost(void)
{
    AUTO(store) struct store *s = keyed_bucket("PROXY_ENDPOINT");
    char etag[STORE_ETAG] = "";
    bool by_post = strcmp(store_kind(s), "gs") == 0;
    const char *lost = by_post ? "kind=lost&count=1&method=POST" : "kind=lost&count=1&method=PUT";

    bucket_spoil(lost);
    CHECK(put(s, "lost/one", "ours", STORE_ABSENT, NULL, etag) == 0 && *etag,
          "a write whose answer was lost is ours");
    bucket_spoil("kind=none");
    CHECK(put(s, "lost/one", "next", STORE_MATCH, etag, etag) == 0, "and has its etag");
    bucket_spoil(lost);
    CHECK(put(s, "lost/one", "other", STORE_ABSENT, NULL, etag) == 1, "another's stays another's");
    bucket_spoil("kind=busy&count=2");
    CHECK(put(s, "lost/two", "x", STORE_ABSENT, NULL, etag) == 0, "a busy server is asked again");
    struct store_tally tally = {0};
    bucket_spoil("kind=busy&count=2");
    struct text t = {0};
    struct store_keyed_get get = {
        .key = "lost/two", .sink = collect, .context = &t, .tally = &tally};
    store_keyed_get(s, &get, NULL);
    CHECK(tally.reads == 3, "and each try is counted: %d", (int)tally.reads);
    bucket_spoil("kind=none");
    store_keyed_delete(s, "lost/one", NULL, NULL);
    store_keyed_delete(s, "lost/two", NULL, NULL);
}

/* ---- parts ---- */

static int add_up(void *context, const void *bytes, size_t n, struct err *e)
{
    struct buf *b = context;

    return buf_add(b, bytes, n) < 0 ? err_set(e, ERR_IO, "too long") : 0;
}

static void check_parts(struct store *s)
{
    size_t n = 2 * STORE_PART_LEAST + 5;
    char *bytes = malloc(n);
    AUTO_CLEAR(buf) struct buf got;
    struct store_tally tally = {0};
    struct store_keyed_put p = {
        .key = "parts", .bytes = bytes, .n = n, .connections = 8, .tally = &tally};
    struct store_keyed_get get = {.key = "parts", .sink = add_up, .context = &got};
    struct err e = {0};

    CHECK(store_keyed_parts(n - 6, 8) == 1 && store_keyed_parts(n, 8) == 2 &&
              store_keyed_parts(n, 1) == 1 && store_keyed_parts(n, 0) == 1,
          "parts of 5 MiB at least");
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    buf_init(&got, n + 1);
    /* S3 has a request for the beginning and one for the end, Azure only for the end, and Google
     * takes no parts. */
    unsigned writes = strcmp(store_kind(s), "s3") == 0   ? 4
                      : strcmp(store_kind(s), "az") == 0 ? 3
                                                         : 1;
    CHECK(store_keyed_put(s, &p, &e) == 0 && tally.writes == writes && tally.written_bytes == n,
          "two parts are %u requests: %s", writes, e.text);
    CHECK(store_keyed_get(s, &get, &e) == 0 && got.len == n && memcmp(got.data, bytes, n) == 0,
          "and one object: %s", e.text);
    get.offset = n + 1;
    buf_clear(&got);
    buf_init(&got, n);
    CHECK(store_keyed_get(s, &get, &e) == 0 && got.len == 0, "nothing follows it");
    store_keyed_delete(s, "parts", NULL, NULL);
    free(bytes);
}

int main(void)
{
    check_dir();
    if (getenv("STORE_ENDPOINT")) {
        AUTO(store) struct store *s = keyed_bucket("STORE_ENDPOINT");
        CHECK(store_probe(s, NULL) == 0, "a bucket");
        check_all(s);
        check_parts(s);
        check_lost();
    }
    return TAP_DONE();
}
