/* The S3 driver against a real server; see bucket.h. */
#include "base/mem.h"
#include "base/parallel.h"
#include "store/bucket.h"
#include "store/conformance.h"
#include "store/remote.h"
#include "tap.h"

#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART ((size_t)STORE_PART_BYTES)

/* A shell command; its exit status. */
__attribute__((format(printf, 1, 2))) static int run(const char *fmt, ...)
{
    char command[4000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- a bucket ---- */

static void check_bucket(void)
{
    AUTO(store) struct store *s = bucket_direct();
    AUTO(store) struct store *elsewhere = bucket_open("S3_ENDPOINT", "s3://no-such-bucket", -1);
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];
    uint64_t size;

    CHECK(store_read(elsewhere, bucket_project, &place, 0, bytes, 3, &e) < 0 &&
              e.kind == ERR_NOTFOUND &&
              strstr(e.text, "bucket no-such-bucket does not exist; tradewind init creates it"),
          "missing bucket: %s", e.text);
    CHECK(store_probe(s, &e) == 0, "the probe makes the bucket %s", e.text);
    CHECK(store_probe(s, &e) == 0, "and does not mind one that is there %s", e.text);
    CHECK(bucket_tally(s, bucket_project).blobs == 0 &&
              !strstr(bucket_output("$AWS s3 ls --recursive s3://%s", bucket_name), "probe"),
          "nothing is left of it");
    struct store_settings far = {.url = "s3://tradewind-far",
                                 .endpoint = getenv("S3_ENDPOINT"),
                                 .region = "far-away-1",
                                 .path_style = -1};
    AUTO(store) struct store *other = store_open(&far, &e);
    CHECK(store_probe(other, &e) == 0, "in a region that the server does not know %s", e.text);
    CHECK(store_read(s, bucket_project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_NOTFOUND,
          "missing blob: %s", e.text);
    CHECK(store_size(s, bucket_project, place.blob, &size, &e) < 0 && e.kind == ERR_NOTFOUND,
          "its size: %s", e.text);
    struct store_blob blob = {.name = place.blob};
    CHECK(store_delete(s, bucket_project, &blob, NULL, NULL, &e) == 0, "deleting it is fine");
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
    struct store_settings settings = {.url = "s3://tradewind-test/conformance",
                                      .endpoint = getenv("S3_ENDPOINT"),
                                      .path_style = -1};

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

/* ---- foreign clients ---- */

static void check_foreign_reader(struct store *s)
{
    struct bucket_sample sample = bucket_sample_new(PART + 777, 30);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};
    char path[] = "/tmp/tradewind-s3-XXXXXX", hex[SHA256_HEX];
    int fd = mkstemp(path);

    CHECK(bucket_write(s, &sample, &content, &e) == 0, "written by us %s", e.text);
    CHECK(run("$AWS s3 cp --quiet 's3://%s/a lake/%s/large/%s' %s", bucket_name, bucket_project,
              content.place.blob, path) == 0 &&
              strncmp(bucket_output("sha256sum %s", path), sha256_text(&content.digest, hex), 64) ==
                  0,
          "awscli reads our large object as one file");
    AUTO_CLEAR(store_url) struct store_url url = {0};
    CHECK(store_presign(s, &(struct store_grant){bucket_project, content.place, false, 60}, &url,
                        &e) == 0 &&
              !url.header,
          "a URL for the whole object needs no header %s", e.text);
    CHECK(strncmp(bucket_output("curl -sf '%s' | sha256sum", url.url), hex, 64) == 0,
          "curl reads it");
    close(fd);
    unlink(path);
    bucket_sample_clear(&sample);
}

/* The status curl gets for the URL with these further arguments. */
static int status_of(const char *url, const char *arguments)
{
    return (int)strtol(
        bucket_output("curl -s -o /dev/null -w '%%{http_code}' %s '%s'", arguments, url), NULL, 10);
}

static void check_ranges(struct store *s)
{
    struct store_content first, second, empty;
    struct err e = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, bucket_project, 9, &e);
    AUTO_CLEAR(store_url) struct store_url url = {0}, soon = {0}, none = {0};
    char header[200];

    CHECK(bucket_write_small(w, "first content", 13, &first, &e) == 0 &&
              bucket_write_small(w, "the second", 10, &second, &e) == 0 &&
              bucket_write_small(w, "", 0, &empty, &e) == 0 && store_flush(w, &e) == 0,
          "two small contents %s", e.text);
    CHECK(store_presign(s, &(struct store_grant){bucket_project, second.place, false, 60}, &url,
                        &e) == 0 &&
              url.header && strncmp(url.header, "Range: bytes=", 13) == 0,
          "a URL for one of them: %s", url.header);
    CHECK(strcmp(bucket_output("curl -sf -H '%s' '%s'", url.header, url.url), "the second") == 0,
          "reads that one");
    CHECK(status_of(url.url, "") == 403, "without the range it is refused");
    snprintf(header, sizeof header, "-H 'Range: bytes=0-%llu'",
             (unsigned long long)(second.place.offset + 9));
    CHECK(status_of(url.url, header) == 403, "another range is refused");
    CHECK(store_presign(s, &(struct store_grant){bucket_project, empty.place, false, 60}, &none,
                        &e) < 0 &&
              e.kind == ERR_NOFIT,
          "empty content in a pack: %s", e.text);

    CHECK(store_presign(s, &(struct store_grant){bucket_project, second.place, false, 1}, &soon,
                        &e) == 0,
          "one for a second");
    char *signature = strstr(url.url, "X-Amz-Signature=");
    snprintf(header, sizeof header, "-H '%s'", url.header);
    signature[16] = signature[16] == '0' ? '1' : '0';
    CHECK(status_of(url.url, header) == 403, "a URL that was tampered with is refused");
    sleep(2);
    CHECK(status_of(soon.url, header) == 403, "one that has expired is refused");
}

static void check_targets(struct store *s)
{
    char name[STORE_BLOB_NAME], arguments[300], bytes[20] = "";
    struct err e = {0};
    uint64_t size = 0;
    AUTO_CLEAR(store_url) struct store_url url = {0};

    store_target_name(11, 1, name);
    struct store_grant grant = {.project = bucket_project, .writes = true, .expires_s = 60};
    memcpy(grant.place.blob, name, sizeof name);
    CHECK(store_presign(s, &grant, &url, &e) == 0 && url.header, "a target for an upload, with %s",
          url.header);
    CHECK(status_of(url.url, "-X PUT -d 'no condition'") == 403, "needs its header");
    snprintf(arguments, sizeof arguments, "-X PUT -d 'sent by curl' -H '%s'", url.header);
    CHECK(status_of(url.url, arguments) == 200, "takes what curl sends");
    CHECK(status_of(url.url, arguments) == 412, "once");
    struct store_place place = {.size = 12};
    snprintf(place.blob, sizeof place.blob, "%s", name);
    CHECK(store_size(s, bucket_project, name, &size, &e) == 0 && size == 12 &&
              store_read(s, bucket_project, &place, 0, bytes, 12, &e) == 0 &&
              strcmp(bytes, "sent by curl") == 0,
          "and we read it: %s", bytes);
    store_target_name(11, 2, name);
    CHECK(run("echo 'from awscli' | $AWS s3 cp --quiet - 's3://%s/a lake/%s/incoming/%s'",
              bucket_name, bucket_project, name) == 0,
          "awscli writes to a target");
    snprintf(place.blob, sizeof place.blob, "%s", name);
    CHECK(store_read(s, bucket_project, &place, 5, bytes, 6, &e) == 0 &&
              memcmp(bytes, "awscli", 6) == 0,
          "and we read a range of it %s", e.text);
    place.size = 30;
    CHECK(store_read(s, bucket_project, &place, 0, (char[30]){0}, 30, &e) < 0 && e.kind == ERR_IO,
          "more than there is: %s", e.text);
    place.offset = 100;
    CHECK(store_read(s, bucket_project, &place, 0, (char[30]){0}, 30, &e) < 0 && e.kind == ERR_IO,
          "past the end: %s", e.text);
}

static void check_foreign(void)
{
    AUTO(store) struct store *s = bucket_direct();

    check_foreign_reader(s);
    check_ranges(s);
    check_targets(s);
}

static void check_hosts(void)
{
    char endpoint[100];

    snprintf(endpoint, sizeof endpoint, "http://localhost:%s", getenv("S3_PORT"));
    setenv("HOST_ENDPOINT", endpoint, 1);
    AUTO(store) struct store *s = bucket_open("HOST_ENDPOINT", "s3://tradewind-test/hosts", 0);
    struct bucket_sample sample = bucket_sample_new(1000, 40);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    AUTO_CLEAR(store_url) struct store_url url = {0};
    struct err e = {0};

    CHECK(bucket_write(s, &sample, &content, &e) == 0 &&
              bucket_comes_back(s, &sample, &content, &e),
          "the bucket in the host's name %s", e.text);
    CHECK(bucket_tally(s, bucket_project).blobs == 1, "and a list there");
    CHECK(store_presign(s, &(struct store_grant){bucket_project, content.place, false, 60}, &url,
                        &e) == 0 &&
              strstr(url.url, "//tradewind-test.localhost:") && status_of(url.url, "") == 200,
          "and a URL");
    bucket_sample_clear(&sample);
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
    CHECK(parallel_each(1001, 16, put_one, s, &e) == 0, "1,001 objects %s", e.text);
    CHECK(remote_put_once(s->priv, "a lake/many/notes & <signs>\x01.txt", &call, &e) == 0 &&
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
    if (!getenv("S3_ENDPOINT"))
        return TAP_SKIP_ALL("tests/cli/s3.t runs it, with a server");
    check_bucket();
    check_conformance();
    check_large();
    check_stops();
    check_packs();
    check_foreign();
    check_hosts();
    check_clash();
    check_list();
    return TAP_DONE();
}
