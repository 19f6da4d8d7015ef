/* The published test suites, where they lie beside the project. */
#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/sigv4.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOT "../shared/data/sigv4-vectors"
#define HEADERS_MAX 32

/* A request as it stands in a file, taken apart in place. */
struct parsed {
    char *text;
    char *method, *path, *query, *body;
    struct sigv4_pair headers[HEADERS_MAX];
    size_t n_headers;
    char digest[SHA256_HEX];
};

static char *file_text(const char *dir, const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    char *text = mem_zero(16384, 1);

    if (f) {
        size_t n = fread(text, 1, 16383, f);
        text[n] = '\0';
        fclose(f);
    }
    return text;
}

/* "GET /path?query HTTP/1.1", where the path may hold spaces. */
static void parse_first_line(struct parsed *p, char *line)
{
    char *version = strstr(line, " HTTP/1.1");

    p->method = line;
    p->path = strchr(line, ' ');
    if (!version || !p->path)
        exit(EXIT_FAILURE);
    *p->path++ = '\0';
    *version = '\0';
    p->query = strchr(p->path, '?');
    if (p->query)
        *p->query++ = '\0';
}

static void parse(struct parsed *p, char *text)
{
    *p = (struct parsed){.text = text};
    char *line = text, *next = strchr(text, '\n');

    p->body = strstr(text, "\n\n");
    p->body = p->body ? p->body + 2 : text + strlen(text);
    while (line && *line && *line != '\n') {
        if (next)
            *next++ = '\0';
        if (line == text) {
            parse_first_line(p, line);
        } else {
            char *colon = strchr(line, ':');
            if (!colon || p->n_headers == HEADERS_MAX)
                exit(EXIT_FAILURE);
            *colon = '\0';
            p->headers[p->n_headers++] = (struct sigv4_pair){line, colon + 1};
        }
        line = next;
        next = line ? strchr(line, '\n') : NULL;
    }
    struct sha256_digest d = sha256_of(p->body, strlen(p->body));
    sha256_text(&d, p->digest);
}

static bool equals_file(const char *dir, const char *name, const char *text)
{
    AUTO_MEM char *expected = file_text(dir, name);
    bool same = text && *expected && strcmp(expected, text) == 0;

    if (!same)
        printf("# %s/%s\n# expected:\n%s\n# is:\n%s\n", dir, name, expected, text ? text : "NULL");
    return same;
}

static int64_t epoch_of(const char *text, const char *format)
{
    struct tm utc = {0};
    const char *end = strptime(text, format, &utc);

    return end && !*end ? (int64_t)timegm(&utc) : -1;
}

static bool all_equal(const char *dir, const char *form, const struct sigv4_signature *s)
{
    static const char *const stages[] = {"canonical-request", "string-to-sign", "signature"};
    const char *texts[] = {s->canonical_request, s->string_to_sign, s->signature};
    bool good = true;

    for (size_t i = 0; i < 3; i++) {
        AUTO_MEM char *name = mem_printf("%s-%s.txt", form, stages[i]);
        good &= equals_file(dir, name, texts[i]);
    }
    return good;
}

/* Every parameter of ours stands in the expected URL and the other way round. */
static bool same_query(const char *ours, const char *theirs)
{
    if (strlen(ours) != strlen(theirs))
        return false;
    for (const char *p = ours; *p;) {
        size_t len = strcspn(p, "&");
        AUTO_MEM char *piece = mem_printf("%.*s", (int)len, p);
        if (!strstr(theirs, piece))
            return false;
        p += len;
        p += *p == '&';
    }
    return true;
}

static bool query_matches_file(const char *dir, const char *query)
{
    struct parsed p;

    parse(&p, file_text(dir, "query-signed-request.txt"));
    bool same = query && p.query && same_query(query, p.query);
    free(p.text);
    return same;
}

static void check_folder(const char *name)
{
    AUTO_MEM char *dir = mem_printf(ROOT "/v4/%s", name);
    AUTO_MEM char *path = mem_printf("%s/context.json", dir);
    AUTO_JSON json_t *context = json_load_file(path, 0, NULL);
    const char *key, *secret, *token = NULL, *region, *service, *timestamp;
    int normalize, sign_body, late = 0, expires;
    struct parsed p;
    struct sigv4_signature s;
    struct err e = {0};

    if (json_unpack(context, "{s:{s:s,s:s,s?s},s:s,s:s,s:s,s:b,s:b,s?b,s:i}", "credentials",
                    "access_key_id", &key, "secret_access_key", &secret, "token", &token, "region",
                    &region, "service", &service, "timestamp", &timestamp, "normalize", &normalize,
                    "sign_body", &sign_body, "omit_session_token", &late, "expiration_in_seconds",
                    &expires) < 0) {
        CHECK(false, "%s: context.json", name);
        return;
    }
    AUTO_MEM char *key_copy = mem_dup(key), *secret_copy = mem_dup(secret);
    AUTO_MEM char *token_copy = token ? mem_dup(token) : NULL;
    const struct credentials credentials = {
        .key_id = key_copy, .secret = {secret_copy}, .token = {token_copy}};
    const struct sigv4_scope scope = {
        &credentials, region, service, epoch_of(timestamp, "%Y-%m-%dT%H:%M:%SZ"), !normalize, late};
    parse(&p, file_text(dir, "request.txt"));
    const struct sigv4_request r = {p.method, p.path, p.query, p.headers, p.n_headers, p.digest};

    CHECK(sigv4_presign(&r, &scope, (unsigned)expires, &s, &e) == 0 &&
              all_equal(dir, "query", &s) && query_matches_file(dir, s.query),
          "%s, URL form", name);
    sigv4_signature_clear(&s);
    struct sigv4_request with_body = r;
    if (sign_body)
        p.headers[with_body.n_headers++] = (struct sigv4_pair){"x-amz-content-sha256", p.digest};
    CHECK(sigv4_sign(&with_body, &scope, &s, &e) == 0 && all_equal(dir, "header", &s), "%s", name);
    AUTO_MEM char *request = file_text(dir, "header-signed-request.txt");
    CHECK(s.authorization && strstr(request, s.authorization), "%s, Authorization", name);
    sigv4_signature_clear(&s);
    free(p.text);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void compare_s3(const json_t *object, const struct sigv4_signature *s)
{
    CHECK(s->signature && strcmp(s->canonical_request, text_of(object, "canonical_request")) == 0 &&
              strcmp(s->string_to_sign, text_of(object, "string_to_sign")) == 0 &&
              strcmp(s->signature, text_of(object, "signature")) == 0,
          "%s", text_of(object, "case"));
    if (s->authorization && *text_of(object, "authorization"))
        CHECK(strcmp(s->authorization, text_of(object, "authorization")) == 0, "%s, Authorization",
              text_of(object, "case"));
    if (s->query) {
        const char *query = strchr(text_of(object, "presigned_url"), '?');
        CHECK(query && same_query(s->query, query + 1), "%s, URL", text_of(object, "case"));
    }
}

/* The request of a case: its URL and headers, and those the signer's caller adds. */
static void read_s3(struct parsed *p, const json_t *object)
{
    const char *kind = text_of(object, "kind"), *url = strstr(text_of(object, "url"), "://");
    const char *body = text_of(object, "body_utf8"), *name;
    json_t *value;

    /* "https://host/path?query" taken apart, with room for a NUL between host and path. */
    url = url ? url + 3 : "/";
    size_t host_len = strcspn(url, "/");
    *p = (struct parsed){.text = mem_printf("%.*s%c%s", (int)host_len, url, 0, url + host_len)};
    p->path = p->text + host_len + 1;
    p->query = strchr(p->path, '?');
    if (p->query)
        *p->query++ = '\0';
    struct sha256_digest d = sha256_of(body, strlen(body));
    sha256_text(&d, p->digest);
    json_object_foreach(json_object_get(object, "request_headers"), name, value)
    {
        p->headers[p->n_headers++] = (struct sigv4_pair){name, json_string_value(value)};
    }
    if (strcmp(kind, "streaming") != 0)
        p->headers[p->n_headers++] = (struct sigv4_pair){"Host", p->text};
    if (strcmp(kind, "header") == 0)
        p->headers[p->n_headers++] = (struct sigv4_pair){"x-amz-content-sha256", p->digest};
}

static void check_s3(const json_t *object, struct credentials credentials)
{
    const char *kind = text_of(object, "kind");
    AUTO_MEM char *token = mem_dup(text_of(object, "session_token"));
    const struct sigv4_scope scope = {
        .credentials = &credentials,
        .region = text_of(object, "region"),
        .service = "s3",
        .epoch_s = epoch_of(text_of(object, "timestamp"), "%Y%m%dT%H%M%SZ"),
    };
    struct parsed p;
    struct sigv4_signature s = {0};

    credentials.token.hidden = *token ? token : NULL;
    read_s3(&p, object);
    struct sigv4_request r = {
        text_of(object, "method"), p.path, p.query, p.headers, p.n_headers, p.digest};
    if (strcmp(kind, "presign") == 0) {
        r.payload = "UNSIGNED-PAYLOAD";
        sigv4_presign(&r, &scope, (unsigned)json_integer_value(json_object_get(object, "expires")),
                      &s, NULL);
    } else {
        if (strcmp(kind, "streaming") == 0)
            r.payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
        sigv4_sign(&r, &scope, &s, NULL);
    }
    compare_s3(object, &s);
    sigv4_signature_clear(&s);
    free(p.text);
}

static void check_all_s3(void)
{
    AUTO_JSON json_t *root = json_load_file(ROOT "/s3/s3_vectors.json", 0, NULL);
    AUTO_MEM char *key = mem_dup(text_of(root, "access_key_id"));
    AUTO_MEM char *secret = mem_dup(text_of(root, "secret_access_key"));
    const struct credentials credentials = {.key_id = key, .secret = {secret}};
    size_t i;
    const json_t *object;

    json_array_foreach(json_object_get(root, "cases"), i, object) check_s3(object, credentials);
    CHECK(json_array_size(json_object_get(root, "cases")) == 15, "15 cases of S3");
}

int main(void)
{
    DIR *folders = opendir(ROOT "/v4");
    size_t n = 0;

    if (!folders)
        return TAP_SKIP_ALL("no signature vectors beside the project");
    for (const struct dirent *entry; (entry = readdir(folders));) {
        if (*entry->d_name == '.')
            continue;
        check_folder(entry->d_name);
        n++;
    }
    closedir(folders);
    CHECK(n == 27, "27 cases of other services");
    check_all_s3();
    return TAP_DONE();
}
