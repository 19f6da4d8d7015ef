/* The drivers of Azure's and Google's buckets against a server through a proxy that spoils
 * requests; see bucket.h. S3 has its own: test_s3_faults.c. */
#include "base/mem.h"
#include "base/time.h"
#include "store/bucket.h"
#include "store/driver.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>

#define PART ((size_t)STORE_PART_BYTES)

/* What the requests of a service look like in the proxy's log. */
struct dialect {
    const char *method; /* that writes an object */
    const char *made;   /* "PUT 201" */
    const char *exists; /* what a second one gets, and how the first is found: "PUT 409 HEAD 200" */
    const char *end;    /* in the URL of an upload's last request */
    int requests;       /* of a large content of two parts */
};

static struct dialect dialect_of(const struct store *s)
{
    return strcmp(store_kind(s), "gs") == 0
               ? (struct dialect){"POST", "POST 200", "POST 412 GET 200", "upload_id", 3}
               : (struct dialect){"PUT", "PUT 201", "PUT 409 HEAD 200", "blocklist", 3};
}

/* ---- single requests ---- */

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

/* "M 503 M 503 <made>" and the like, and the same fault in a request of that method. */
static void check_repeated(struct store *s, const char *kind, int count, const char *seen)
{
    struct dialect d = dialect_of(s);
    AUTO_MEM char *fault = mem_printf("kind=%s&count=%d&method=%s", kind, count, d.method);
    char log[200] = "";

    for (int i = 0; i < count; i++) {
        size_t n = strlen(log);
        snprintf(log + n, sizeof log - n, "%s %s ", d.method, seen);
    }
    size_t n = strlen(log);
    snprintf(log + n, sizeof log - n, "%s", d.made);
    check_writing_through(s, fault, log);
}

static void check_trouble(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct dialect d = dialect_of(s);
    AUTO_MEM char *lost = mem_printf("kind=lost&count=1&method=%s", d.method);
    AUTO_MEM char *found = mem_printf("%s lost %s", d.method, d.exists);

    check_repeated(s, "busy", 3, "503");
    check_repeated(s, "page", 1, "502");
    check_repeated(s, "status&value=408", 1, "408");
    check_repeated(s, "status&value=500", 1, "500");
    check_repeated(s, "cut-in", 2, "cut");
    /* The first try has written the object: the second finds it, and asks for its size. */
    check_writing_through(s, lost, found);
    check_reading_through(s, "kind=cut-out&count=2&method=GET", "GET cut GET cut GET 206");
    check_reading_through(s, "kind=slow&value=1.5&method=GET", "GET 206");
    check_reading_through(s, "kind=status&value=429&count=1&method=GET", "GET 429 GET 206");
}

/* Never sooner than the server asks for. */
static void check_patience(void)
{
    static const char *const asks[] = {"2", "date"};
    AUTO(store) struct store *s = bucket_proxied();
    struct dialect d = dialect_of(s);

    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        AUTO_MEM char *fault =
            mem_printf("kind=later&value=%s&count=1&method=%s", asks[i], d.method);
        AUTO_MEM char *log = mem_printf("%s 429 %s", d.method, d.made);
        double before_s = time_monotonic_s();
        check_writing_through(s, fault, log);
        CHECK(time_monotonic_s() - before_s >= 1, "waits as Retry-After: %s says", asks[i]);
    }
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];
    bucket_spoil("kind=later&value=100000");
    CHECK(store_read(s, bucket_project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "gave up after 1 tries"),
          "a day is too long: %s", e.text);
    bucket_spoil("kind=none");
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
              strstr(e.text, "gave up after 6 tries") && strstr(e.text, "503"),
          "a storm that does not end: %s", e.text);
    CHECK(strcmp(bucket_seen(), "GET 503 GET 503 GET 503 GET 503 GET 503 GET 503") == 0,
          "six tries");
    bucket_spoil("kind=none");
}

/* ---- parts ---- */

static void check_parts_through(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct dialect d = dialect_of(s);
    struct bucket_sample sample = bucket_sample_new(2 * PART + 5, 52);
    AUTO_CLEAR(store_content) struct store_content content = {0}, lost = {0}, left = {0};
    struct bucket_tally before = bucket_tally(s, bucket_project);
    struct err e = {0};

    bucket_spoil("kind=cut-in&count=2&method=PUT");
    CHECK(bucket_write(s, &sample, &content, &e) == 0 &&
              bucket_comes_back(s, &sample, &content, &e),
          "two parts are cut off and sent again %s", e.text);
    bucket_seen();
    AUTO_MEM char *fault = mem_printf("kind=lost&count=1&method=PUT&match=%s", d.end);
    bucket_spoil(fault);
    CHECK(bucket_write(s, &sample, &lost, &e) == 0, "a request of an upload gets no answer %s",
          e.text);
    const char *what = bucket_seen();
    CHECK(strstr(what, "PUT lost"), "and is found to be done: %s", what);
    bucket_spoil("kind=none");
    CHECK(bucket_comes_back(s, &sample, &lost, &e), "with all its bytes %s", e.text);

    bucket_spoil("kind=status&value=400&method=PUT");
    CHECK(bucket_write(s, &sample, &left, &e) < 0 && e.kind == ERR_IO, "parts are refused: %s",
          e.text);
    bucket_spoil("kind=none");
    struct bucket_tally t = bucket_tally(s, bucket_project);
    CHECK(t.unfinished == 0 && t.blobs == before.blobs + 2, "nothing is left of them");
    bucket_sample_clear(&sample);
}

/* ---- damage ---- */

static void check_damage(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct dialect d = dialect_of(s);
    struct bucket_sample sample = bucket_sample_new(300000, 53),
                         two = bucket_sample_new(2 * PART, 54);
    AUTO_CLEAR(store_content) struct store_content content = {0}, again = {0}, large = {0};
    struct err e = {0};

    CHECK(bucket_write(s, &sample, &content, &e) == 0, "to damage %s", e.text);
    bucket_spoil("kind=flip&method=GET");
    CHECK(!bucket_comes_back(s, &sample, &content, &e) && e.kind == ERR_IO &&
              strstr(e.text, "damaged") && strstr(e.text, content.place.blob),
          "a wrong bit is found: %s", e.text);
    /* Azure tells it by a code that is tried again, azurite by another one. */
    AUTO_MEM char *fault = mem_printf("kind=flip-in&count=1&method=%s", d.method);
    bucket_spoil(fault);
    CHECK(bucket_write(s, &sample, &again, &e) == 0 ? bucket_comes_back(s, &sample, &again, &e)
                                                    : strstr(e.text, "contentMD5") != NULL,
          "one on the way there, too %s", e.text);
    e.text[0] = '\0';
    bucket_spoil("kind=flip-in&count=1&method=PUT");
    CHECK(bucket_write(s, &two, &large, &e) == 0
              ? bucket_comes_back(s, &two, &large, &e)
              : strstr(e.text, "contentMD5") || strstr(e.text, "damaged"),
          "and in a part of many %s", e.text);
    bucket_spoil("kind=none");
    bucket_sample_clear(&sample);
    bucket_sample_clear(&two);
}

/* What was not sent is lost, and the writer does not pretend otherwise. */
static void check_lost_pack(void)
{
    AUTO(store) struct store *s = bucket_proxied();
    struct dialect d = dialect_of(s);
    AUTO_MEM char *fault = mem_printf("kind=status&value=400&method=%s&count=1", d.method);
    struct store_content content;
    struct err e = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, bucket_project, 9, &e);

    bucket_spoil(fault);
    CHECK(bucket_write_small(w, "abc", 3, &content, &e) == 0, "kept in memory %s", e.text);
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush: %s", e.text);
    bucket_spoil("kind=none");
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush again: %s", e.text);
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
    AUTO_MEM char *url = bucket_url("tradewind-test/nth");
    struct store_settings settings = {.url = url,
                                      .endpoint = getenv("STORE_ENDPOINT"),
                                      .path_style = -1,
                                      .allow = allow,
                                      .context = &c};
    struct err e = {0};
    AUTO(store) struct store *s = store_open(&settings, &e);
    struct dialect d = dialect_of(s);
    struct bucket_sample sample = bucket_sample_new(PART + 1, 60);
    int n = 0, failed = 0, clean = 0;

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
    CHECK(n == d.requests + 1 && failed == d.requests && clean == d.requests,
          "each of %d requests fails in turn", n - 1);
    struct bucket_tally t = bucket_tally(s, bucket_project);
    CHECK(t.blobs == 1 && t.unfinished == 0, "then it is there");
    bucket_sample_clear(&sample);
}

int main(void)
{
    AUTO(store) struct store *s = NULL;
    struct err e = {0};

    if (!getenv("STORE_BASE"))
        return TAP_SKIP_ALL("tests/cli/azure.t and gcs.t run it, with a server");
    s = bucket_direct();
    CHECK(store_probe(s, &e) == 0, "the bucket is there %s", e.text);
    check_trouble();
    check_patience();
    check_storm();
    check_parts_through();
    check_damage();
    check_lost_pack();
    check_every_request();
    return TAP_DONE();
}
