/* The S3 driver against a real server through a proxy that spoils requests; see bucket.h. */
#include "base/mem.h"
#include "store/bucket.h"
#include "store/driver.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>

#define PART ((size_t)STORE_PART_BYTES)

/* ---- keys ---- */

static void check_denied(const char *key_id, const char *secret, const char *words)
{
    char *real_id = mem_dup(getenv("AWS_ACCESS_KEY_ID"));
    char *real_secret = mem_dup(getenv("AWS_SECRET_ACCESS_KEY"));
    AUTO(store) struct store *s = bucket_direct();
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];

    setenv("AWS_ACCESS_KEY_ID", key_id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    CHECK(store_read(s, bucket_project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_DENIED &&
              strstr(e.text, words) && strstr(e.text, bucket_name) && !strstr(e.text, secret),
          "%s", e.text);
    setenv("AWS_ACCESS_KEY_ID", real_id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", real_secret, 1);
    free(real_id);
    free(real_secret);
}

/* ---- trouble on the way ---- */

static void check_writing_through(struct store *s, const char *fault, const char *log)
{
    struct bucket_sample sample = bucket_sample_new(300000, 50);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    bucket_seen();
    bucket_spoil(fault);
    int result = bucket_write(s, &sample, &content, &e);
    const char *what = bucket_seen();
    CHECK(result == 0 && strcmp(what, log) == 0, "write with %s: %s %s", fault, what, e.text);
    bucket_spoil("kind=none");
    CHECK(result == 0 && bucket_comes_back(s, &sample, &content, &e), "is what was written %s",
          e.text);
    struct store_blob blob = {.name = content.place.blob};
    store_delete(s, bucket_project, &blob, NULL, NULL, &e);
    bucket_sample_clear(&sample);
}

static void check_reading_through(struct store *s, const char *fault, const char *log)
{
    struct bucket_sample sample = bucket_sample_new(300000, 51);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    CHECK(bucket_write(s, &sample, &content, &e) == 0, "to read: %s", e.text);
    bucket_seen();
    bucket_spoil(fault);
    bool back = bucket_comes_back(s, &sample, &content, &e);
    const char *what = bucket_seen();
    CHECK(back && strcmp(what, log) == 0, "read with %s: %s %s", fault, what, e.text);
    bucket_spoil("kind=none");
    bucket_sample_clear(&sample);
}

static void check_trouble(void)
{
    AUTO(store) struct store *s = bucket_proxied();

    check_writing_through(s, "kind=busy&count=3&method=PUT", "PUT 503 PUT 503 PUT 503 PUT 200");
    check_writing_through(s, "kind=page&count=1&method=PUT", "PUT 502 PUT 200");
    check_writing_through(s, "kind=error&value=RequestTimeout&count=1", "PUT 400 PUT 200");
    check_writing_through(s, "kind=cut-in&count=1&method=PUT", "PUT cut PUT 200");
    /* The first try has written the object: the second finds it, and asks for its size. */
    check_writing_through(s, "kind=lost&count=1&method=PUT", "PUT lost PUT 412 HEAD 200");
    check_writing_through(s, "kind=moved&value=eu-test-1", "PUT 301 PUT 200");
    check_reading_through(s, "kind=cut-out&count=2&method=GET", "GET cut GET cut GET 206");
    check_reading_through(s, "kind=slow&value=1.5&method=GET", "GET 206");
    /* Does not know conditions: found out once, and remembered. */
    AUTO(store) struct store *simple = bucket_proxied();
    check_writing_through(simple, "kind=refuse", "PUT 501 PUT 200");
    check_writing_through(simple, "kind=refuse", "PUT 200");
}

static void check_parts_through(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct bucket_sample sample = bucket_sample_new(2 * PART + 5, 52);
    AUTO_CLEAR(store_content) struct store_content content = {0}, lost = {0}, left = {0};
    struct bucket_tally before = bucket_tally(s, bucket_project);
    struct err e = {0};

    bucket_spoil("kind=cut-in&count=2&method=PUT");
    CHECK(bucket_write(s, &sample, &content, &e) == 0 &&
              bucket_comes_back(s, &sample, &content, &e),
          "two parts are cut off and sent again %s", e.text);
    bucket_seen();
    bucket_spoil("kind=lost&count=1&method=POST&match=uploadId");
    CHECK(bucket_write(s, &sample, &lost, &e) == 0, "the end of an upload gets no answer %s",
          e.text);
    const char *what = bucket_seen();
    CHECK(strstr(what, "POST lost"), "and is found to be done: %s", what);
    bucket_spoil("kind=none");
    CHECK(bucket_comes_back(s, &sample, &lost, &e), "with all its bytes %s", e.text);

    /* Neither the parts nor the clearing away get through: an unfinished upload is left. */
    bucket_spoil("kind=error&value=InvalidArgument&match=uploadId");
    CHECK(bucket_write(s, &sample, &left, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "InvalidArgument: said the proxy"),
          "parts are refused: %s", e.text);
    bucket_spoil("kind=none");
    struct bucket_tally t = bucket_tally(s, bucket_project);
    CHECK(t.unfinished == 1 && t.blobs == before.blobs + 2, "the upload is listed as unfinished");
    struct store_blob blob = {.name = t.unfinished_name, .unfinished = true};
    CHECK(store_delete(s, bucket_project, &blob, NULL, NULL, &e) == 0 &&
              bucket_tally(s, bucket_project).unfinished == 0,
          "and deleted %s", e.text);
    bucket_sample_clear(&sample);
}

static void check_damage(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct bucket_sample sample = bucket_sample_new(300000, 53);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    CHECK(bucket_write(s, &sample, &content, &e) == 0, "to damage %s", e.text);
    bucket_spoil("kind=flip&method=GET");
    CHECK(!bucket_comes_back(s, &sample, &content, &e) && e.kind == ERR_IO &&
              strstr(e.text, "damaged") && strstr(e.text, content.place.blob),
          "a wrong bit is found: %s", e.text);
    bucket_spoil("kind=error&value=RequestTimeTooSkewed");
    CHECK(!bucket_comes_back(s, &sample, &content, &e) && e.kind == ERR_DENIED &&
              strstr(e.text, "this machine's clock is wrong"),
          "clock: %s", e.text);
    bucket_spoil("kind=none");
    bucket_sample_clear(&sample);
}

/* What was not sent is lost, and the writer does not pretend otherwise. */
static void check_lost_pack(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct store_content content;
    struct err e = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, bucket_project, 9, &e);

    bucket_spoil("kind=error&value=InvalidArgument&method=PUT&count=1");
    CHECK(bucket_write_small(w, "abc", 3, &content, &e) == 0, "kept in memory %s", e.text);
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush: %s", e.text);
    bucket_spoil("kind=none");
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush again: %s", e.text);
    CHECK(bucket_write_small(w, "abc", 3, &content, &e) < 0 && e.kind == ERR_IO, "write: %s",
          e.text);
}

static void check_storm(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];

    bucket_seen();
    bucket_spoil("kind=busy");
    CHECK(store_read(s, bucket_project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "gave up after 6 tries") && strstr(e.text, "503 SlowDown"),
          "a storm that does not end: %s", e.text);
    CHECK(strcmp(bucket_seen(), "GET 503 GET 503 GET 503 GET 503 GET 503 GET 503") == 0,
          "six tries");
    bucket_spoil("kind=none");
}

/* ---- the nth request fails ---- */

struct countdown {
    atomic_int left;
};

static bool allow(void *context, const char *operation)
{
    struct countdown *c = context;

    (void)operation;
    return c->left-- != 0;
}

static void check_every_request(void)
{
    struct countdown c = {0};
    struct store_settings settings = {.url = "s3://tradewind-test/nth",
                                      .endpoint = getenv("STORE_ENDPOINT"),
                                      .path_style = -1,
                                      .allow = allow,
                                      .context = &c};
    struct err e = {0};
    AUTO(store) struct store *s = store_open(&settings, &e);
    struct bucket_sample sample = bucket_sample_new(PART + 1, 60);
    int n = 0, failed = 0, clean = 0;

    /* begin, two parts, end: four requests; the fifth time nothing fails */
    for (int result = -1; result < 0 && n < 20; n++) {
        AUTO_CLEAR(store_content) struct store_content content = {0};
        c.left = n;
        result = bucket_write(s, &sample, &content, &e);
        c.left = -1;
        if (result < 0) {
            failed += e.kind == ERR_IO;
            clean += bucket_tally(s, bucket_project).blobs == 0;
        }
    }
    CHECK(n == 5 && failed == 4 && clean == 4, "each of %d requests fails in turn", n - 1);
    struct bucket_tally t = bucket_tally(s, bucket_project);
    CHECK(t.blobs == 1 && t.unfinished == 0, "then it is there; %zu uploads are left",
          t.unfinished);
    bucket_sample_clear(&sample);
}

int main(void)
{
    AUTO(store) struct store *s = NULL;
    struct err e = {0};

    if (!getenv("S3_ENDPOINT"))
        return TAP_SKIP_ALL("tests/cli/s3.t runs it, with a server");
    s = bucket_direct();
    CHECK(store_probe(s, &e) == 0, "the bucket is there %s", e.text);
    check_denied("TWTESTKEYID", "wrong/secret", "the secret key does not belong to the key id");
    check_denied("NOSUCHKEYID", "wrong/secret", "the key id is unknown there");
    check_trouble();
    check_parts_through();
    check_damage();
    check_lost_pack();
    check_storm();
    check_every_request();
    return TAP_DONE();
}
