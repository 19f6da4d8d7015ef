/* What holds for the drivers of buckets of every cloud, against a server that the environment
 * names; see bucket.h. */
#include "base/mem.h"
#include "base/parallel.h"
#include "store/bucket.h"
#include "store/conformance.h"
#include "store/remote.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

#define PART ((size_t)STORE_PART_BYTES)

/* ---- a bucket ---- */

static void check_bucket(void)
{
    AUTO_MEM char *missing = bucket_url("no-such-bucket");
    AUTO(store) struct store *s = bucket_direct();
    AUTO(store) struct store *elsewhere = bucket_open("STORE_ENDPOINT", missing, -1);
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];
    uint64_t size;

    CHECK(store_list(elsewhere, bucket_project, NULL, NULL, &e) < 0 && e.kind == ERR_NOTFOUND &&
              strstr(e.text, " no-such-bucket does not exist; tradewind init creates it"),
          "missing bucket: %s", e.text);
    CHECK(store_probe(s, &e) == 0, "the probe makes the bucket %s", e.text);
    CHECK(store_probe(s, &e) == 0, "and does not mind one that is there %s", e.text);
    CHECK(bucket_tally(s, bucket_project).blobs == 0, "nothing is left of it");
    CHECK(store_read(s, bucket_project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_NOTFOUND,
          "missing blob: %s", e.text);
    CHECK(store_size(s, bucket_project, place.blob, &size, &e) < 0 && e.kind == ERR_NOTFOUND,
          "its size: %s", e.text);
    struct store_blob blob = {.name = place.blob};
    CHECK(store_delete(s, bucket_project, &blob, NULL, NULL, &e) == 0, "deleting it is fine %s",
          e.text);
    blob.unfinished = true;
    CHECK(store_delete(s, bucket_project, &blob, NULL, NULL, &e) == 0, "as an upload, too %s",
          e.text);
}

static void tell(bool good, const char *what)
{
    CHECK(good, "%s", what);
}

static void check_conformance(void)
{
    AUTO_MEM char *url = bucket_url("tradewind-test/conformance");
    struct store_settings settings = {
        .url = url, .endpoint = getenv("STORE_ENDPOINT"), .path_style = -1};

    conformance_run(&settings, tell);
}

/* ---- large content ---- */

static void check_large(void)
{
    /* an empty file, one byte, one part exactly, one more byte, more than two parts */
    static const size_t sizes[] = {0, 1, PART, PART + 1, 2 * PART + 12345};
    static const size_t parts[] = {1, 1, 1, 2, 3};
    AUTO(store) struct store *s = bucket_direct();

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bucket_sample sample = bucket_sample_new(sizes[i], i);
        AUTO_CLEAR(store_content) struct store_content content = {0};
        struct err e = {0};
        uint64_t size = 0;
        CHECK(bucket_write(s, &sample, &content, &e) == 0 && content.n_parts == parts[i],
              "%zu bytes in %zu parts %s", sizes[i], content.n_parts, e.text);
        CHECK(store_size(s, bucket_project, content.place.blob, &size, &e) == 0 && size == sizes[i],
              "are one object %s", e.text);
        CHECK(bucket_comes_back(s, &sample, &content, &e), "and come back %s", e.text);
        bucket_sample_clear(&sample);
    }
    struct bucket_tally t = bucket_tally(s, bucket_project);
    CHECK(t.blobs == 5 && t.unfinished == 0 && t.bytes == 4 * PART + 12347, "%zu blobs listed",
          t.blobs);
    CHECK(bucket_tally(s, "other").blobs == 0, "none in another project");
}

/* ---- interruption, content that is known, a file that changes ---- */

struct watch {
    _Atomic uint64_t bytes;
    int fd; /* to be changed */
};

static bool stop_soon(void *context, uint64_t more_bytes)
{
    struct watch *w = context;

    w->bytes += more_bytes;
    return w->bytes < 2 * PART;
}

static bool is_known(void *context, const struct sha256_digest *digest)
{
    (void)context;
    (void)digest;
    return true;
}

static bool change_file(void *context, const struct sha256_digest *digest)
{
    const struct watch *w = context;

    (void)digest;
    if (pwrite(w->fd, "changed", 7, (off_t)PART + 100) != 7)
        abort();
    return false;
}

static void check_stops(void)
{
    AUTO(store) struct store *s = bucket_direct();
    struct bucket_sample sample = bucket_sample_new(4 * PART, 20);
    struct watch watch = {.fd = sample.fd};
    struct bucket_tally before = bucket_tally(s, bucket_project);
    struct err e = {0};
    AUTO_CLEAR(store_content) struct store_content stopped = {0}, known = {0}, changed = {0};

    sample.source.context = &watch;
    sample.source.progress = stop_soon;
    CHECK(bucket_write(s, &sample, &stopped, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "interrupted"),
          "stopped after two parts: %s", e.text);
    sample.source.progress = NULL;
    sample.source.known = is_known;
    CHECK(bucket_write(s, &sample, &known, &e) == 0 && !*known.place.blob && known.n_parts == 4 &&
              known.place.size == 4 * PART,
          "known content is not sent");
    sample.source.known = change_file;
    CHECK(bucket_write(s, &sample, &changed, &e) < 0 && e.kind == ERR_CHANGED &&
              strstr(e.text, "changed while it was read"),
          "a file that changes after it was hashed: %s", e.text);
    struct bucket_tally after = bucket_tally(s, bucket_project);
    CHECK(after.blobs == before.blobs && after.unfinished == 0,
          "nothing is left of these: %zu unfinished", after.unfinished);
    bucket_sample_clear(&sample);
}

/* ---- small content in packs ---- */

struct got {
    unsigned char *const *wanted;
    const struct store_content *contents;
    atomic_size_t good, bad;
};

static int arrived(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    struct got *g = context;

    (void)e;
    g->good += n == g->contents[i].place.size && (!n || memcmp(bytes, g->wanted[i], n) == 0);
    return 0;
}

static int damaged(void *context, size_t i, const struct err *why, struct err *e)
{
    struct got *g = context;

    (void)i;
    (void)why;
    (void)e;
    g->bad++;
    return 0;
}

#define SMALL 60

static void check_packs(void)
{
    AUTO(store) struct store *s = bucket_direct();
    unsigned char *bytes[SMALL];
    struct store_content contents[SMALL];
    const struct store_content *list[SMALL];
    struct err e = {0};
    struct got got = {.wanted = bytes, .contents = contents};

    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "small", 8, &e);
    for (size_t i = 0; i < SMALL; i++) {
        /* the largest ones, so that packs fill, and an empty one */
        size_t n = i == 3 ? 0 : i % 3 ? (size_t)STORE_SMALL_MAX : 1000 + i;
        bytes[i] = mem_zero(n + 1, 1);
        conformance_fill(bytes[i], n, 100 + i);
        if (bucket_write_small(w, bytes[i], n, &contents[i], &e) < 0)
            CHECK(false, "write: %s", e.text);
        list[i] = &contents[i];
    }
    CHECK(store_flush(w, &e) == 0, "flushed %s", e.text);
    CHECK(store_flush(w, &e) == 0, "twice");
    struct bucket_tally t = bucket_tally(s, "small");
    CHECK(t.blobs == 3, "40 MiB of small contents lie in %zu packs", t.blobs);
    struct store_reader reader = {arrived, damaged, &got};
    CHECK(store_read_many(s, "small", list, SMALL, &reader, &e) == 0 && got.good == SMALL &&
              got.bad == 0,
          "%zu come back whole %s", (size_t)got.good, e.text);
    for (size_t i = 0; i < SMALL; i++)
        free(bytes[i]);
}

/* ---- keys that exist, long lists ---- */

static void check_clash(void)
{
    AUTO(store) struct store *s = bucket_direct();
    struct remote_call abc = {.body = "abc", .body_bytes = 3},
                       xyz = {.body = "xyz", .body_bytes = 3},
                       longer = {.body = "abcd", .body_bytes = 4};
    char bytes[4] = "";
    struct err e = {0};

    CHECK(remote_put_once(s->priv, "clash", &abc, &e) == 0, "a new key %s", e.text);
    CHECK(remote_put_once(s->priv, "clash", &longer, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "exists with 3 bytes"),
          "used already: %s", e.text);
    CHECK(remote_put_once(s->priv, "clash", &xyz, &e) == 0 &&
              remote_get_range(s->priv, "clash", 0, bytes, 3, &e) == 0 && strcmp(bytes, "abc") == 0,
          "an earlier try of the same size stays as it is");
}

static int put_one(void *context, size_t i, struct err *e)
{
    struct store *s = context;
    char name[STORE_BLOB_NAME], key[REMOTE_KEY];
    struct remote_call call = {.body = "x", .body_bytes = 1};

    store_target_name(1, i, name);
    return remote_put_once(s->priv, remote_key(s->priv, "many", name, key), &call, e);
}

static int stop_at_once(void *context, const struct store_blob *blob, struct err *e)
{
    (void)context;
    (void)blob;
    return err_set(e, ERR_USAGE, "enough");
}

static void check_list(void)
{
    AUTO(store) struct store *s = bucket_direct();
    struct remote_call call = {.body = "x", .body_bytes = 1};
    struct err e = {0};

    /* One more than a page holds. */
    /* Azurite cannot list what XML cannot hold. */
    const char *signs = strcmp(store_kind(s), "az") == 0 ? "a lake/many/notes & <signs>.txt"
                                                         : "a lake/many/notes & <signs>\x01.txt";
    CHECK(parallel_each(1001, 16, put_one, s, &e) == 0, "1,001 objects %s", e.text);
    CHECK(remote_put_once(s->priv, signs, &call, &e) == 0 &&
              remote_put_once(s->priv, "a lake/many/large/.hidden", &call, &e) == 0 &&
              remote_put_once(s->priv, "a lake/many/packs/7-0123456789ab-x", &call, &e) == 0,
          "and three that are not ours %s", e.text);
    struct bucket_tally t = bucket_tally(s, "many");
    CHECK(t.blobs == 1001 && t.bytes == 1001, "%zu are listed", t.blobs);
    CHECK(store_list(s, "many", stop_at_once, NULL, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "enough"),
          "a visitor that fails ends it: %s", e.text);
}

int main(void)
{
    if (!getenv("STORE_ENDPOINT"))
        return TAP_SKIP_ALL("tests/cli/s3.t, azure.t and gcs.t run it, with a server");
    check_bucket();
    check_conformance();
    check_large();
    check_stops();
    check_packs();
    check_clash();
    check_list();
    return TAP_DONE();
}
