/* The S3 driver against a real server; see bucket.h. */
#include "base/mem.h"
#include "store/bucket.h"
#include "store/driver.h"
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
    struct err e = {0};

    CHECK(store_probe(s, &e) == 0, "the probe does not mind a bucket that is there %s", e.text);
    CHECK(!strstr(bucket_output("$AWS s3 ls --recursive s3://%s", bucket_name), "probe"),
          "nothing is left of it");
    struct store_settings far = {.url = "s3://tradewind-far",
                                 .endpoint = getenv("STORE_ENDPOINT"),
                                 .region = "far-away-1",
                                 .path_style = -1};
    AUTO(store) struct store *other = store_open(&far, &e);
    CHECK(store_probe(other, &e) == 0, "in a region that the server does not know %s", e.text);
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

int main(void)
{
    if (!getenv("S3_ENDPOINT"))
        return TAP_SKIP_ALL("tests/cli/s3.t runs it, with a server");
    check_bucket();
    check_foreign();
    check_hosts();
    return TAP_DONE();
}
