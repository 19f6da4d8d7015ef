/* The S3 driver against a real server. tests/cli/s3.t starts one, and a proxy that spoils requests,
 * and gives their addresses in the environment. */
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "store/conformance.h"
#include "store/s3.h"
#include "tap.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART ((size_t)STORE_PART_BYTES)
static const char project[] = "proj";
static const char bucket[] = "tradewind-test";

/* ---- helpers ---- */

static struct store *open_store(const char *endpoint_name, const char *url, int path_style)
{
    struct store_settings settings = {
        .url = url, .endpoint = getenv(endpoint_name), .path_style = path_style, .seed = 1};
    struct err e = {0};
    struct store *s = store_open(&settings, &e);

    if (!s) {
        printf("Bail out! %s\n", e.text);
        exit(EXIT_FAILURE);
    }
    return s;
}

static struct store *direct(void)
{
    return open_store("S3_ENDPOINT", "s3://tradewind-test/a lake", -1);
}

static struct store *proxied(void)
{
    return open_store("PROXY_ENDPOINT", "s3://tradewind-test/a lake", -1);
}

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

/* What a command prints, less the last newline. */
__attribute__((format(printf, 1, 2))) static const char *output(const char *fmt, ...)
{
    static char text[4000];
    char command[4000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        pclose(f);
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return text;
}

static void spoil(const char *query)
{
    run("curl -s '%s/_fault?%s'", getenv("PROXY_ENDPOINT"), query);
}

/* What the proxy has seen since the last time, on one line. */
static const char *seen(void)
{
    return output("curl -s '%s/_log' | tr '\\n' ' '", getenv("PROXY_ENDPOINT"));
}

struct sample {
    int fd;
    size_t n;
    unsigned char *bytes;
    struct store_source source;
};

static struct sample sample_new(size_t n, uint64_t seed)
{
    struct sample s = {.n = n, .bytes = mem_zero(n + 1, 1)};

    conformance_fill(s.bytes, n, seed);
    s.fd = conformance_file(s.bytes, n);
    if (s.fd < 0)
        abort();
    s.source = (struct store_source){.fd = s.fd, .name = "sample"};
    return s;
}

static void sample_clear(struct sample *s)
{
    close(s->fd);
    free(s->bytes);
}

static int write_sample(struct store *s,
                        const struct sample *sample,
                        struct store_content *out,
                        struct err *e)
{
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, project, 7, e);

    if (!w || store_write_large(w, &sample->source, out, e) < 0)
        return -1;
    return store_flush(w, e);
}

static int write_small(
    struct store_writer *w, const void *bytes, size_t n, struct store_content *out, struct err *e)
{
    *out = (struct store_content){.digest = sha256_of(bytes, n)};
    return store_write_small(w, bytes, n, &out->digest, &out->place, e);
}

/* Copied back, it is what it was. */
static bool comes_back(struct store *s,
                       const struct sample *sample,
                       const struct store_content *content,
                       struct err *e)
{
    int fd = memfd_create("back", 0);
    bool same = false;

    if (store_copy(s, project, content, fd, NULL, NULL, e) == 0) {
        unsigned char *back = mem_zero(sample->n + 1, 1);
        same = pread(fd, back, sample->n + 1, 0) == (ssize_t)sample->n &&
               memcmp(back, sample->bytes, sample->n) == 0;
        free(back);
    }
    close(fd);
    return same;
}

struct tally {
    size_t blobs, unfinished;
    uint64_t bytes;
    char unfinished_name[STORE_BLOB_NAME];
};

static int count(void *context, const struct store_blob *blob, struct err *e)
{
    struct tally *t = context;

    (void)e;
    t->blobs += !blob->unfinished;
    t->unfinished += blob->unfinished;
    t->bytes += blob->size;
    if (blob->unfinished)
        snprintf(t->unfinished_name, sizeof t->unfinished_name, "%s", blob->name);
    return 0;
}

static struct tally tally(struct store *s, const char *of_project)
{
    struct tally t = {0};
    struct err e = {0};

    if (store_list(s, of_project, count, &t, &e) < 0)
        CHECK(false, "list: %s", e.text);
    return t;
}

/* ---- a bucket ---- */

static void check_bucket(void)
{
    AUTO(store) struct store *s = direct();
    AUTO(store) struct store *elsewhere = open_store("S3_ENDPOINT", "s3://no-such-bucket", -1);
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];
    uint64_t size;

    CHECK(store_read(elsewhere, project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_NOTFOUND &&
              strstr(e.text, "bucket no-such-bucket does not exist; tradewind init creates it"),
          "missing bucket: %s", e.text);
    CHECK(store_probe(s, &e) == 0, "the probe makes the bucket %s", e.text);
    CHECK(store_probe(s, &e) == 0, "and does not mind one that is there %s", e.text);
    CHECK(tally(s, project).blobs == 0 &&
              !strstr(output("$AWS s3 ls --recursive s3://%s", bucket), "probe"),
          "nothing is left of it");
    struct store_settings far = {.url = "s3://tradewind-far",
                                 .endpoint = getenv("S3_ENDPOINT"),
                                 .region = "far-away-1",
                                 .path_style = -1};
    AUTO(store) struct store *other = store_open(&far, &e);
    CHECK(store_probe(other, &e) == 0, "in a region that the server does not know %s", e.text);
    CHECK(store_read(s, project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_NOTFOUND,
          "missing blob: %s", e.text);
    CHECK(store_size(s, project, place.blob, &size, &e) < 0 && e.kind == ERR_NOTFOUND,
          "its size: %s", e.text);
    struct store_blob blob = {.name = place.blob};
    CHECK(store_delete(s, project, &blob, NULL, NULL, &e) == 0, "deleting it is fine");
    blob.unfinished = true;
    CHECK(store_delete(s, project, &blob, NULL, NULL, &e) == 0, "as an upload, too %s", e.text);
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
    AUTO(store) struct store *s = direct();

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sample sample = sample_new(sizes[i], i);
        AUTO_CLEAR(store_content) struct store_content content = {0};
        struct err e = {0};
        uint64_t size = 0;
        CHECK(write_sample(s, &sample, &content, &e) == 0 && content.n_parts == parts[i],
              "%zu bytes in %zu parts %s", sizes[i], content.n_parts, e.text);
        CHECK(store_size(s, project, content.place.blob, &size, &e) == 0 && size == sizes[i],
              "are one object %s", e.text);
        CHECK(comes_back(s, &sample, &content, &e), "and come back %s", e.text);
        sample_clear(&sample);
    }
    struct tally t = tally(s, project);
    CHECK(t.blobs == 5 && t.unfinished == 0 && t.bytes == 4 * PART + 12347, "%zu blobs listed",
          t.blobs);
    CHECK(tally(s, "other").blobs == 0, "none in another project");
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
    AUTO(store) struct store *s = direct();
    struct sample sample = sample_new(4 * PART, 20);
    struct watch watch = {.fd = sample.fd};
    struct tally before = tally(s, project);
    struct err e = {0};
    AUTO_CLEAR(store_content) struct store_content stopped = {0}, known = {0}, changed = {0};

    sample.source.context = &watch;
    sample.source.progress = stop_soon;
    CHECK(write_sample(s, &sample, &stopped, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "interrupted"),
          "stopped after two parts: %s", e.text);
    sample.source.progress = NULL;
    sample.source.known = is_known;
    CHECK(write_sample(s, &sample, &known, &e) == 0 && !*known.place.blob && known.n_parts == 4 &&
              known.place.size == 4 * PART,
          "known content is not sent");
    sample.source.known = change_file;
    CHECK(write_sample(s, &sample, &changed, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "changed while it was read"),
          "a file that changes after it was hashed: %s", e.text);
    struct tally after = tally(s, project);
    CHECK(after.blobs == before.blobs && after.unfinished == 0,
          "nothing is left of these: %zu unfinished", after.unfinished);
    sample_clear(&sample);
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
    AUTO(store) struct store *s = direct();
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
        if (write_small(w, bytes[i], n, &contents[i], &e) < 0)
            CHECK(false, "write: %s", e.text);
        list[i] = &contents[i];
    }
    CHECK(store_flush(w, &e) == 0, "flushed %s", e.text);
    CHECK(store_flush(w, &e) == 0, "twice");
    struct tally t = tally(s, "small");
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
    struct sample sample = sample_new(PART + 777, 30);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};
    char path[] = "/tmp/tradewind-s3-XXXXXX", hex[SHA256_HEX];
    int fd = mkstemp(path);

    CHECK(write_sample(s, &sample, &content, &e) == 0, "written by us %s", e.text);
    CHECK(run("$AWS s3 cp --quiet 's3://%s/a lake/%s/large/%s' %s", bucket, project,
              content.place.blob, path) == 0 &&
              strncmp(output("sha256sum %s", path), sha256_text(&content.digest, hex), 64) == 0,
          "awscli reads our large object as one file");
    AUTO_CLEAR(store_url) struct store_url url = {0};
    CHECK(store_presign_get(s, project, &content.place, 60, &url, &e) == 0 && !url.header,
          "a URL for the whole object needs no header %s", e.text);
    CHECK(strncmp(output("curl -sf '%s' | sha256sum", url.url), hex, 64) == 0, "curl reads it");
    close(fd);
    unlink(path);
    sample_clear(&sample);
}

/* The status curl gets for the URL with these further arguments. */
static int status_of(const char *url, const char *arguments)
{
    return (int)strtol(output("curl -s -o /dev/null -w '%%{http_code}' %s '%s'", arguments, url),
                       NULL, 10);
}

static void check_ranges(struct store *s)
{
    struct store_content first, second, empty;
    struct err e = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, project, 9, &e);
    AUTO_CLEAR(store_url) struct store_url url = {0}, soon = {0}, none = {0};
    char header[200];

    CHECK(write_small(w, "first content", 13, &first, &e) == 0 &&
              write_small(w, "the second", 10, &second, &e) == 0 &&
              write_small(w, "", 0, &empty, &e) == 0 && store_flush(w, &e) == 0,
          "two small contents %s", e.text);
    CHECK(store_presign_get(s, project, &second.place, 60, &url, &e) == 0 && url.header &&
              strncmp(url.header, "Range: bytes=", 13) == 0,
          "a URL for one of them: %s", url.header);
    CHECK(strcmp(output("curl -sf -H '%s' '%s'", url.header, url.url), "the second") == 0,
          "reads that one");
    CHECK(status_of(url.url, "") == 403, "without the range it is refused");
    snprintf(header, sizeof header, "-H 'Range: bytes=0-%llu'",
             (unsigned long long)(second.place.offset + 9));
    CHECK(status_of(url.url, header) == 403, "another range is refused");
    CHECK(store_presign_get(s, project, &empty.place, 60, &none, &e) < 0 && e.kind == ERR_NOFIT,
          "empty content in a pack: %s", e.text);

    CHECK(store_presign_get(s, project, &second.place, 1, &soon, &e) == 0, "one for a second");
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
    CHECK(store_presign_put(s, project, name, 60, &url, &e) == 0 && url.header,
          "a target for an upload, with %s", url.header);
    CHECK(status_of(url.url, "-X PUT -d 'no condition'") == 403, "needs its header");
    snprintf(arguments, sizeof arguments, "-X PUT -d 'sent by curl' -H '%s'", url.header);
    CHECK(status_of(url.url, arguments) == 200, "takes what curl sends");
    CHECK(status_of(url.url, arguments) == 412, "once");
    struct store_place place = {.size = 12};
    snprintf(place.blob, sizeof place.blob, "%s", name);
    CHECK(store_size(s, project, name, &size, &e) == 0 && size == 12 &&
              store_read(s, project, &place, 0, bytes, 12, &e) == 0 &&
              strcmp(bytes, "sent by curl") == 0,
          "and we read it: %s", bytes);
    store_target_name(11, 2, name);
    CHECK(run("echo 'from awscli' | $AWS s3 cp --quiet - 's3://%s/a lake/%s/incoming/%s'", bucket,
              project, name) == 0,
          "awscli writes to a target");
    snprintf(place.blob, sizeof place.blob, "%s", name);
    CHECK(store_read(s, project, &place, 5, bytes, 6, &e) == 0 && memcmp(bytes, "awscli", 6) == 0,
          "and we read a range of it %s", e.text);
    place.size = 30;
    CHECK(store_read(s, project, &place, 0, (char[30]){0}, 30, &e) < 0 && e.kind == ERR_IO,
          "more than there is: %s", e.text);
    place.offset = 100;
    CHECK(store_read(s, project, &place, 0, (char[30]){0}, 30, &e) < 0 && e.kind == ERR_IO,
          "past the end: %s", e.text);
}

static void check_foreign(void)
{
    AUTO(store) struct store *s = direct();

    check_foreign_reader(s);
    check_ranges(s);
    check_targets(s);
}

static void check_hosts(void)
{
    char endpoint[100];

    snprintf(endpoint, sizeof endpoint, "http://localhost:%s", getenv("S3_PORT"));
    setenv("HOST_ENDPOINT", endpoint, 1);
    AUTO(store) struct store *s = open_store("HOST_ENDPOINT", "s3://tradewind-test/hosts", 0);
    struct sample sample = sample_new(1000, 40);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    AUTO_CLEAR(store_url) struct store_url url = {0};
    struct err e = {0};

    CHECK(write_sample(s, &sample, &content, &e) == 0 && comes_back(s, &sample, &content, &e),
          "the bucket in the host's name %s", e.text);
    CHECK(tally(s, project).blobs == 1, "and a list there");
    CHECK(store_presign_get(s, project, &content.place, 60, &url, &e) == 0 &&
              strstr(url.url, "//tradewind-test.localhost:") && status_of(url.url, "") == 200,
          "and a URL");
    sample_clear(&sample);
}

/* ---- keys ---- */

static void check_denied(const char *key_id, const char *secret, const char *words)
{
    char *real_id = mem_dup(getenv("AWS_ACCESS_KEY_ID"));
    char *real_secret = mem_dup(getenv("AWS_SECRET_ACCESS_KEY"));
    AUTO(store) struct store *s = direct();
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];

    setenv("AWS_ACCESS_KEY_ID", key_id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    CHECK(store_read(s, project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_DENIED &&
              strstr(e.text, words) && strstr(e.text, bucket) && !strstr(e.text, secret),
          "%s", e.text);
    setenv("AWS_ACCESS_KEY_ID", real_id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", real_secret, 1);
    free(real_id);
    free(real_secret);
}

/* ---- trouble on the way ---- */

static void check_writing_through(struct store *s, const char *fault, const char *log)
{
    struct sample sample = sample_new(300000, 50);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    seen();
    spoil(fault);
    int result = write_sample(s, &sample, &content, &e);
    const char *what = seen();
    CHECK(result == 0 && strcmp(what, log) == 0, "write with %s: %s %s", fault, what, e.text);
    spoil("kind=none");
    CHECK(result == 0 && comes_back(s, &sample, &content, &e), "is what was written %s", e.text);
    struct store_blob blob = {.name = content.place.blob};
    store_delete(s, project, &blob, NULL, NULL, &e);
    sample_clear(&sample);
}

static void check_reading_through(struct store *s, const char *fault, const char *log)
{
    struct sample sample = sample_new(300000, 51);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    CHECK(write_sample(s, &sample, &content, &e) == 0, "to read: %s", e.text);
    seen();
    spoil(fault);
    bool back = comes_back(s, &sample, &content, &e);
    const char *what = seen();
    CHECK(back && strcmp(what, log) == 0, "read with %s: %s %s", fault, what, e.text);
    spoil("kind=none");
    sample_clear(&sample);
}

static void check_trouble(void)
{
    AUTO(store) struct store *s = proxied();

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
    AUTO(store) struct store *simple = proxied();
    check_writing_through(simple, "kind=refuse", "PUT 501 PUT 200");
    check_writing_through(simple, "kind=refuse", "PUT 200");
}

static void check_parts_through(void)
{
    AUTO(store) struct store *s = proxied();
    struct sample sample = sample_new(2 * PART + 5, 52);
    AUTO_CLEAR(store_content) struct store_content content = {0}, lost = {0}, left = {0};
    struct tally before = tally(s, project);
    struct err e = {0};

    spoil("kind=cut-in&count=2&method=PUT");
    CHECK(write_sample(s, &sample, &content, &e) == 0 && comes_back(s, &sample, &content, &e),
          "two parts are cut off and sent again %s", e.text);
    seen();
    spoil("kind=lost&count=1&method=POST&match=uploadId");
    CHECK(write_sample(s, &sample, &lost, &e) == 0, "the end of an upload gets no answer %s",
          e.text);
    const char *what = seen();
    CHECK(strstr(what, "POST lost"), "and is found to be done: %s", what);
    spoil("kind=none");
    CHECK(comes_back(s, &sample, &lost, &e), "with all its bytes %s", e.text);

    /* Neither the parts nor the clearing away get through: an unfinished upload is left. */
    spoil("kind=error&value=InvalidArgument&match=uploadId");
    CHECK(write_sample(s, &sample, &left, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "InvalidArgument: said the proxy"),
          "parts are refused: %s", e.text);
    spoil("kind=none");
    struct tally t = tally(s, project);
    CHECK(t.unfinished == 1 && t.blobs == before.blobs + 2, "the upload is listed as unfinished");
    struct store_blob blob = {.name = t.unfinished_name, .unfinished = true};
    CHECK(store_delete(s, project, &blob, NULL, NULL, &e) == 0 && tally(s, project).unfinished == 0,
          "and deleted %s", e.text);
    sample_clear(&sample);
}

static void check_damage(void)
{
    AUTO(store) struct store *s = proxied();
    struct sample sample = sample_new(300000, 53);
    AUTO_CLEAR(store_content) struct store_content content = {0};
    struct err e = {0};

    CHECK(write_sample(s, &sample, &content, &e) == 0, "to damage %s", e.text);
    spoil("kind=flip&method=GET");
    CHECK(!comes_back(s, &sample, &content, &e) && e.kind == ERR_IO && strstr(e.text, "damaged") &&
              strstr(e.text, content.place.blob),
          "a wrong bit is found: %s", e.text);
    spoil("kind=error&value=RequestTimeTooSkewed");
    CHECK(!comes_back(s, &sample, &content, &e) && e.kind == ERR_DENIED &&
              strstr(e.text, "this machine's clock is wrong"),
          "clock: %s", e.text);
    spoil("kind=none");
    sample_clear(&sample);
}

/* What was not sent is lost, and the writer does not pretend otherwise. */
static void check_lost_pack(void)
{
    AUTO(store) struct store *s = proxied();
    struct store_content content;
    struct err e = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, project, 9, &e);

    spoil("kind=error&value=InvalidArgument&method=PUT&count=1");
    CHECK(write_small(w, "abc", 3, &content, &e) == 0, "kept in memory %s", e.text);
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush: %s", e.text);
    spoil("kind=none");
    CHECK(store_flush(w, &e) < 0 && e.kind == ERR_IO, "flush again: %s", e.text);
    CHECK(write_small(w, "abc", 3, &content, &e) < 0 && e.kind == ERR_IO, "write: %s", e.text);
}

static void check_storm(void)
{
    AUTO(store) struct store *s = proxied();
    struct store_place place = {.blob = "7-0123456789ab-x", .size = 3};
    struct err e = {0};
    char bytes[3];

    seen();
    spoil("kind=busy");
    CHECK(store_read(s, project, &place, 0, bytes, 3, &e) < 0 && e.kind == ERR_RETRY &&
              strstr(e.text, "gave up after 6 tries") && strstr(e.text, "503 SlowDown"),
          "a storm that does not end: %s", e.text);
    CHECK(strcmp(seen(), "GET 503 GET 503 GET 503 GET 503 GET 503 GET 503") == 0, "six tries");
    spoil("kind=none");
}

/* ---- keys that exist, long lists ---- */

static void check_clash(void)
{
    AUTO(store) struct store *s = direct();
    struct s3_call abc = {.body = "abc", .body_bytes = 3}, xyz = {.body = "xyz", .body_bytes = 3},
                   longer = {.body = "abcd", .body_bytes = 4};
    char bytes[4] = "";
    struct err e = {0};

    CHECK(s3_put_once(s->priv, "clash", &abc, &e) == 0, "a new key %s", e.text);
    CHECK(s3_put_once(s->priv, "clash", &longer, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "exists with 3 bytes"),
          "used already: %s", e.text);
    CHECK(s3_put_once(s->priv, "clash", &xyz, &e) == 0 &&
              s3_get_range(s->priv, "clash", 0, bytes, 3, &e) == 0 && strcmp(bytes, "abc") == 0,
          "an earlier try of the same size stays as it is");
}

static int put_one(void *context, size_t i, struct err *e)
{
    struct store *s = context;
    char name[STORE_BLOB_NAME], key[S3_KEY];
    struct s3_call call = {.body = "x", .body_bytes = 1};

    store_target_name(1, i, name);
    return s3_put_once(s->priv, s3_key(s->priv, "many", name, key), &call, e);
}

static int stop_at_once(void *context, const struct store_blob *blob, struct err *e)
{
    (void)context;
    (void)blob;
    return err_set(e, ERR_USAGE, "enough");
}

static void check_list(void)
{
    AUTO(store) struct store *s = direct();
    struct s3_call call = {.body = "x", .body_bytes = 1};
    struct err e = {0};

    /* One more than a page holds. */
    CHECK(parallel_each(1001, 16, put_one, s, &e) == 0, "1,001 objects %s", e.text);
    CHECK(s3_put_once(s->priv, "a lake/many/notes & <signs>\x01.txt", &call, &e) == 0 &&
              s3_put_once(s->priv, "a lake/many/large/.hidden", &call, &e) == 0 &&
              s3_put_once(s->priv, "a lake/many/packs/7-0123456789ab-x", &call, &e) == 0,
          "and three that are not ours %s", e.text);
    struct tally t = tally(s, "many");
    CHECK(t.blobs == 1001 && t.bytes == 1001, "%zu are listed", t.blobs);
    CHECK(store_list(s, "many", stop_at_once, NULL, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "enough"),
          "a visitor that fails ends it: %s", e.text);
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
                                      .endpoint = getenv("S3_ENDPOINT"),
                                      .path_style = -1,
                                      .allow = allow,
                                      .context = &c};
    struct err e = {0};
    AUTO(store) struct store *s = store_open(&settings, &e);
    struct sample sample = sample_new(PART + 1, 60);
    int n = 0, failed = 0, clean = 0;

    /* begin, two parts, end: four requests; the fifth time nothing fails */
    for (int result = -1; result < 0 && n < 20; n++) {
        AUTO_CLEAR(store_content) struct store_content content = {0};
        c.left = n;
        result = write_sample(s, &sample, &content, &e);
        c.left = -1;
        if (result < 0) {
            failed += e.kind == ERR_IO;
            clean += tally(s, project).blobs == 0;
        }
    }
    CHECK(n == 5 && failed == 4 && clean == 4, "each of %d requests fails in turn", n - 1);
    struct tally t = tally(s, project);
    CHECK(t.blobs == 1 && t.unfinished == 0, "then it is there; %zu uploads are left",
          t.unfinished);
    sample_clear(&sample);
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
    check_denied("TWTESTKEYID", "wrong/secret", "the secret key does not belong to the key id");
    check_denied("NOSUCHKEYID", "wrong/secret", "the key id is unknown there");
    check_trouble();
    check_parts_through();
    check_damage();
    check_lost_pack();
    check_storm();
    check_clash();
    check_list();
    check_every_request();
    return TAP_DONE();
}
