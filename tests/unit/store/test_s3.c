#include "store/s3/s3.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/xml.h"
#include "tap.h"

#include <string.h>

static void check_urls(void)
{
    static const struct {
        const char *url;
        bool good;
    } cases[] = {
        {"s3://my-bucket", true},
        {"s3://my-bucket/", true},
        {"s3://my-bucket/a/b", true},
        {"s3://my-bucket/a/b/", true},
        {"s3://a.b.c/x y", true},
        {"s3://ab", false},
        {"s3://", false},
        {"s3:///x", false},
        {"s3://My-Bucket", false},
        {"s3://-bucket", false},
        {"s3://bucket./x", false},
        {"s3://bu_cket", false},
        {"s3://bucket//x", false},
        {"s3://bucket/x//y", false},
        {"s3://bucket/../x", false},
        {"s3://bucket/x/.", false},
        {"s3://bucket/x\ny", false},
        {"s3://bucket/x\n/", false},
        {"s3://bucket/...", true},
        {"s3://user@bucket/x", false},
        {"s3://bucket:9000/x", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int result = s3_check_url(cases[i].url, &e);
        CHECK((result == 0) == cases[i].good && (cases[i].good || e.kind == ERR_USAGE),
              "URL %zu: %s", i, cases[i].good ? "good" : "refused");
    }
    AUTO_MEM char *deep = mem_printf("s3://bucket/%0513d", 0);
    CHECK(s3_check_url(deep, NULL) < 0, "a prefix of 513 bytes is refused");
    deep[strlen(deep) - 1] = '\0';
    CHECK(s3_check_url(deep, NULL) == 0, "512 are allowed");
}

static void clear_address(struct remote *r)
{
    s3_close(r);
    free(r->bucket);
    free(r->prefix);
    free(r->shown);
    free(r->scheme);
    free(r->authority);
}

/* Where a key of the bucket is found, by the ways buckets can be written. */
static void check_targets(void)
{
    static const struct {
        const char *url, *endpoint;
        int path_style;
        const char *region, *key, *scheme, *host, *path;
    } cases[] = {
        {"s3://bkt/p", NULL, -1, "eu-west-1", "p/a", "https", "bkt.s3.eu-west-1.amazonaws.com",
         "/p/a"},
        {"s3://bkt/p", NULL, 1, "eu-west-1", "p/a", "https", "s3.eu-west-1.amazonaws.com",
         "/bkt/p/a"},
        {"s3://bkt", NULL, -1, "cn-north-1", NULL, "https", "bkt.s3.cn-north-1.amazonaws.com.cn",
         "/"},
        {"s3://b.kt", NULL, -1, "us-east-1", "k", "https", "s3.us-east-1.amazonaws.com", "/b.kt/k"},
        {"s3://b.kt", NULL, 0, "us-east-1", "k", "https", "b.kt.s3.us-east-1.amazonaws.com", "/k"},
        {"s3://bkt", "http://127.0.0.1:9000", -1, "x", "k", "http", "127.0.0.1:9000", "/bkt/k"},
        {"s3://bkt", "http://127.0.0.1:9000/", -1, "x", NULL, "http", "127.0.0.1:9000", "/bkt"},
        {"s3://bkt", "HTTPS://s3.example.org:443", -1, "x", "k", "https", "s3.example.org",
         "/bkt/k"},
        {"s3://bkt", "http://s3.example.org:80", -1, "x", "k", "http", "s3.example.org", "/bkt/k"},
        {"s3://bkt", "http://s3.example.org:443", -1, "x", "k", "http", "s3.example.org:443",
         "/bkt/k"},
        {"s3://bkt", "http://localhost:9000", 0, "x", "k", "http", "bkt.localhost:9000", "/k"},
        {"s3://bkt", "http://[::1]:9000", -1, "x", "k", "http", "[::1]:9000", "/bkt/k"},
        {"s3://bkt", "http://h", -1, "x", "a b/ü+%/~", "http", "h", "/bkt/a%20b/%C3%BC%2B%25/~"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct remote r = {0};
        struct err e = {0};
        AUTO_CLEAR(s3_target) struct s3_target t = {0};
        struct store_settings settings = {
            .url = cases[i].url, .endpoint = cases[i].endpoint, .path_style = cases[i].path_style};
        CHECK(s3_open(&r, &settings, &e) == 0, "address %zu %s", i, e.text);
        s3_target_init(&t, &r, cases[i].region, cases[i].key);
        CHECK(strcmp(r.scheme, cases[i].scheme) == 0 && strcmp(t.host, cases[i].host) == 0 &&
                  strcmp(t.path, cases[i].path) == 0,
              "address %zu: %s://%s%s", i, r.scheme, t.host, t.path);
        clear_address(&r);
    }
}

static void check_bad_endpoints(void)
{
    static const char *const bad[] = {
        "",
        "s3.example.org",
        "ftp://x",
        "https://",
        "http:///x",
        "https://h/path",
        "https://h?x",
        "https://user@h",
        "https://h h",
        "https://h\r\nX: y",
        "http:/h",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct remote r = {0};
        struct err e = {0};
        struct store_settings settings = {.url = "s3://bucket", .endpoint = bad[i]};
        CHECK(s3_open(&r, &settings, &e) < 0 && e.kind == ERR_USAGE, "endpoint %zu refused", i);
        clear_address(&r);
    }
}

static void check_keys(void)
{
    struct remote r = {0};
    char key[REMOTE_KEY], name[STORE_BLOB_NAME];
    struct store store = {0};
    struct sha256_digest digest = sha256_of("x", 1);

    r.prefix = mem_dup("lake");
    store_name_large(&store, 12, &digest, name);
    remote_key(&r, "proj", name, key);
    CHECK(strncmp(key, "lake/proj/large/12-2d711642b726-", 32) == 0, "large: %s", key);
    store_name_pack(&store, 12, name);
    remote_key(&r, "proj", name, key);
    CHECK(strncmp(key, "lake/proj/packs/12-", 19) == 0, "pack: %s", key);
    store_name_pack(&store, 0, name);
    remote_key(&r, "proj", name, key);
    CHECK(strncmp(key, "lake/proj/packs/", 16) == 0, "pack of no session: %s", key);
    store_target_name(12, 3, name);
    remote_key(&r, "proj", name, key);
    CHECK(strncmp(key, "lake/proj/incoming/12-", 22) == 0, "target: %s", key);
    r.prefix[0] = '\0';
    CHECK(strcmp(remote_key(&r, "proj", NULL, key), "proj/") == 0, "no prefix: %s", key);
    free(r.prefix);
}

static void check_judging(void)
{
    static const struct {
        int status;
        const char *code, *message;
        enum remote_verdict verdict;
        enum err_kind kind;
        const char *words;
    } cases[] = {
        {403, "AccessDenied", "no", REMOTE_BAD, ERR_DENIED, "bucket bkt refuses the access keys"},
        {403, "SignatureDoesNotMatch", "", REMOTE_BAD, ERR_DENIED,
         "the secret key does not belong"},
        {403, "InvalidAccessKeyId", "", REMOTE_BAD, ERR_DENIED, "the key id is unknown"},
        {403, NULL, NULL, REMOTE_BAD, ERR_DENIED, "403 Forbidden"},
        {403, "RequestTimeTooSkewed", "", REMOTE_BAD, ERR_DENIED, "clock is wrong"},
        {400, "ExpiredToken", "", REMOTE_TURN, ERR_DENIED, "ExpiredToken"},
        {404, "NoSuchKey", "", REMOTE_BAD, ERR_NOTFOUND, "s3://bkt/a/key does not exist"},
        {404, NULL, NULL, REMOTE_BAD, ERR_NOTFOUND, "s3://bkt/a/key does not exist"},
        {404, "NoSuchBucket", "", REMOTE_BAD, ERR_NOTFOUND,
         "bucket bkt does not exist; tradewind init creates it"},
        {416, "InvalidRange", "", REMOTE_BAD, ERR_IO, "too short"},
        {412, "PreconditionFailed", "", REMOTE_BAD, ERR_IO, "412 PreconditionFailed"},
        {400, "InvalidArgument", "what & why", REMOTE_BAD, ERR_IO, "InvalidArgument: what & why"},
        {400, "RequestTimeout", "", REMOTE_WAIT, ERR_RETRY, "RequestTimeout"},
        {429, NULL, NULL, REMOTE_WAIT, ERR_RETRY, "429"},
        {500, "InternalError", "", REMOTE_WAIT, ERR_RETRY, "500"},
        {502, NULL, NULL, REMOTE_WAIT, ERR_RETRY, "502"},
        {503, "SlowDown", "", REMOTE_WAIT, ERR_RETRY, "SlowDown"},
        {504, NULL, NULL, REMOTE_WAIT, ERR_RETRY, "504"},
        {409, "OperationAborted", "", REMOTE_WAIT, ERR_RETRY, "409"},
        {404, "InternalError", "", REMOTE_WAIT, ERR_RETRY, "404 InternalError"},
        {503, "ExpiredToken", "", REMOTE_WAIT, ERR_RETRY, "503"},
        {409, "BucketAlreadyExists", "", REMOTE_BAD, ERR_IO, "409"},
        /* an upload's completion that failed after its 200 went out */
        {200, "InternalError", "", REMOTE_WAIT, ERR_RETRY, "InternalError"},
    };
    char bucket[] = "bkt", shown[] = "s3://bkt";
    struct s3 s = {0};
    struct remote r = {.bucket = bucket,
                       .shown = shown,
                       .service = store_s3_driver.service,
                       .own = &s,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    struct remote_call c = {.operation = "write", .method = "POST", .key = "a/key"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO_CLEAR(buf) struct buf body = {0};
        buf_init(&body, 1000);
        if (cases[i].code) {
            buf_printf(&body, "<Error><Code>%s</Code><Message>", cases[i].code);
            xml_put(&body, cases[i].message);
            buf_puts(&body, "</Message></Error>");
        } else {
            buf_puts(&body, "<html><p>not XML</html>");
        }
        struct remote_answer a = {.http.status = cases[i].status};
        a.http.body = body.data;
        a.http.body_bytes = body.len;
        CHECK(s3_judge(&r, &c, &a, &e) == cases[i].verdict && e.kind == cases[i].kind &&
                  strstr(e.text, cases[i].words),
              "%d %s: %s", cases[i].status, cases[i].code ? cases[i].code : "-", e.text);
    }
}

static void check_regions(void)
{
    char bucket[] = "bkt", name[] = "x-amz-bucket-region", value[] = "eu-south-2";
    struct s3 s = {0};
    struct remote r = {.bucket = bucket,
                       .shown = bucket,
                       .service = store_s3_driver.service,
                       .own = &s,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    struct remote_call c = {.operation = "read", .method = "HEAD", .key = "k"};
    struct http_header header = {name, value};
    char body[] =
        "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>";
    struct err e = {0};

    struct remote_answer a = {.http = {.status = 301, .headers = &header, .n_headers = 1}};
    CHECK(s3_judge(&r, &c, &a, &e) == REMOTE_TURN && strcmp(s.region, value) == 0,
          "301 names the region in a header");
    a = (struct remote_answer){.http = {.status = 400, .body = body, .body_bytes = strlen(body)}};
    CHECK(s3_judge(&r, &c, &a, &e) == REMOTE_TURN && strcmp(s.region, "eu-west-3") == 0,
          "400 names it in the body");
    a = (struct remote_answer){.http = {.status = 301}};
    CHECK(s3_judge(&r, &c, &a, &e) == REMOTE_BAD && e.kind == ERR_IO, "301 alone: %s", e.text);
    free(s.region);
}

int main(void)
{
    check_urls();
    check_targets();
    check_bad_endpoints();
    check_keys();
    check_judging();
    check_regions();
    return TAP_DONE();
}
