/* Credentials from a given environment, files in a scratch directory and a local server. */
#include "net/credentials.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "net/internal.h"
#include "net/metadata.h"
#include "server.h"
#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-credentials-XXXXXX";

/* "NAME", "value", ..., NULL */
static const char *environment(void *context, const char *name)
{
    const char *const *pairs = context;

    for (; *pairs; pairs += 2) {
        if (strcmp(*pairs, name) == 0)
            return pairs[1];
    }
    return NULL;
}

static int find(const char *const *pairs,
                const char *endpoint,
                struct credentials *out,
                struct err *e)
{
    const struct credentials_sources sources = {
        .environment = environment,
        .context = (void *)(uintptr_t)pairs,
        .home = home,
        .metadata_endpoint = endpoint,
    };

    *e = (struct err){0};
    return credentials_find(&sources, out, e);
}
#define ENV(...)                                                                                   \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define NO_METADATA "AWS_EC2_METADATA_DISABLED", "TRUE"

static void put(const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", home, name);
    struct err e;

    if (file_replace(path, text, strlen(text), 0600, &e) < 0)
        exit(EXIT_FAILURE);
}

static bool same(const char *text, const char *expected)
{
    return expected ? text && strcmp(text, expected) == 0 : !text;
}

static bool are(const struct credentials *c,
                const char *key_id,
                const char *secret,
                const char *token,
                const char *region,
                const char *origin)
{
    return same(c->key_id, key_id) && same(c->secret.hidden, secret) &&
           same(c->token.hidden, token) && same(c->region, region) && same(c->origin, origin);
}

static void check_environment(void)
{
    struct credentials c;
    struct err e;

    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", "B", NO_METADATA), NULL, &c,
               &e) == 0 &&
              are(&c, "A", "B", NULL, NULL, "environment") && c.expires_ms == 0,
          "keys from the environment %s", e.text);
    credentials_clear(&c);
    CHECK(!c.key_id && !c.secret.hidden, "cleared");
    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", " B\n", "AWS_SESSION_TOKEN",
                   "T", "AWS_REGION", "r", "AWS_DEFAULT_REGION", "s"),
               NULL, &c, &e) == 0 &&
              are(&c, "A", "B", "T", "r", "environment"),
          "with token and region, a line break left over %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", "B", "AWS_REGION", "",
                   "AWS_DEFAULT_REGION", "s"),
               NULL, &c, &e) == 0 &&
              same(c.region, "s"),
          "the other variable for the region");
    credentials_clear(&c);
    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "A"), NULL, &c, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "AWS_SECRET_ACCESS_KEY is not"),
          "%s", e.text);
    CHECK(!c.key_id, "nothing is given out");
    CHECK(find(ENV("AWS_SECRET_ACCESS_KEY", "topsecret"), NULL, &c, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "AWS_ACCESS_KEY_ID is not") &&
              !strstr(e.text, "topsecret"),
          "%s", e.text);
    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", "top\nsecret"), NULL, &c,
               &e) < 0 &&
              e.kind == ERR_USAGE && !strstr(e.text, "top"),
          "%s", e.text);
    CHECK(find(ENV(NO_METADATA), NULL, &c, &e) < 0 && e.kind == ERR_DENIED &&
              strstr(e.text, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") &&
              strstr(e.text, home) && strstr(e.text, "AWS_EC2_METADATA_DISABLED"),
          "%s", e.text);
}

static void check_files(void)
{
    struct credentials c;
    struct err e;
    AUTO_MEM char *other = mem_printf("%s/other", home);

    put(".aws/credentials", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n"
                            "[half]\n\naws_access_key_id=A\n[tok]\naws_access_key_id=C\n"
                            "aws_secret_access_key=D\naws_session_token=E\nregion=t\n");
    put(".aws/config", "[default]\nregion=r\n[profile conf]\naws_access_key_id=F\n"
                       "aws_secret_access_key=G\n[profile login]\nsso_session=x\n");
    CHECK(find(ENV(NO_METADATA), NULL, &c, &e) == 0 && are(&c, "A", "B", NULL, "r", "shared file"),
          "the default profile %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_PROFILE", "tok", NO_METADATA), NULL, &c, &e) == 0 &&
              are(&c, "C", "D", "E", "t", "shared file"),
          "a named one %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_PROFILE", "conf", "AWS_REGION", "x"), NULL, &c, &e) == 0 &&
              are(&c, "F", "G", NULL, "x", "shared file"),
          "keys in config %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_ACCESS_KEY_ID", "X", "AWS_SECRET_ACCESS_KEY", "Y"), NULL, &c, &e) == 0 &&
              are(&c, "X", "Y", NULL, "r", "environment"),
          "the environment comes first, the region from the file");
    credentials_clear(&c);
    CHECK(find(ENV("AWS_PROFILE", "nobody", NO_METADATA), NULL, &c, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "nobody") && strstr(e.text, ".aws/config"),
          "%s", e.text);
    CHECK(find(ENV("AWS_PROFILE", "half", NO_METADATA), NULL, &c, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "credentials:6: "),
          "%s", e.text);
    CHECK(find(ENV("AWS_PROFILE", "login", NO_METADATA), NULL, &c, &e) < 0 &&
              e.kind == ERR_DENIED && strstr(e.text, "sso_session"),
          "%s", e.text);
    put("other", "[default]\naws_access_key_id=O\naws_secret_access_key=P\n");
    CHECK(find(ENV("AWS_SHARED_CREDENTIALS_FILE", other), NULL, &c, &e) == 0 && same(c.key_id, "O"),
          "the variable for the file");
    credentials_clear(&c);
    CHECK(find(ENV("AWS_SHARED_CREDENTIALS_FILE", "~/other"), NULL, &c, &e) == 0 &&
              same(c.key_id, "O"),
          "below the home directory");
    credentials_clear(&c);
    put("other", "[default]\nwhat\n");
    CHECK(find(ENV("AWS_CONFIG_FILE", other), NULL, &c, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "other:2: "),
          "%s", e.text);
    put(".aws/credentials", "");
    put(".aws/config", "");
}

/* How the metadata server behaves; 0 and NULL are what is usual. */
struct behaviour {
    int token_status, role_status, keys_status;
    const char *token, *role, *keys;
    bool slow_token, slow_keys, fails_once;
    atomic_int asked;
};

static const char good_keys[] =
    "{\"Code\": \"Success\", \"AccessKeyId\": \"M\", \"SecretAccessKey\": \"N\","
    " \"Token\": \"O\", \"Expiration\": \"2026-11-15T22:36:00Z\", \"Type\": \"x\"}";

static void reply(int fd, int status, const char *text, const char *otherwise)
{
    text = text ? text : otherwise;
    server_reply(fd, status ? status : 200, "", text, strlen(text));
}

static bool serve_instance(struct behaviour *b, const struct server_request *r, int fd)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";

    if (strcmp(r->path, "/latest/api/token") == 0) {
        bool asked_well = strcmp(r->method, "PUT") == 0 &&
                          strcasestr(r->headers, "X-aws-ec2-metadata-token-ttl-seconds: ");
        if (b->slow_token)
            server_hang(fd);
        reply(fd, asked_well ? b->token_status : 400, b->token, "tok");
        return true;
    }
    if (strncmp(r->path, roles, sizeof roles - 1) != 0)
        return false;
    if (!server_has(r, "X-aws-ec2-metadata-token: tok"))
        server_reply(fd, 401, "", "", 0);
    else if (!r->path[sizeof roles - 1])
        reply(fd, b->role_status, b->role, "my role");
    else if (strcmp(r->path + sizeof roles - 1, "my%20role") == 0)
        reply(fd, b->keys_status, b->keys, good_keys);
    else
        server_reply(fd, 404, "", "", 0);
    return true;
}

static bool serve(void *context, const struct server_request *r, int fd)
{
    struct behaviour *b = context;
    int before = atomic_fetch_add(&b->asked, 1);

    if (b->fails_once && before == 0) {
        server_reply(fd, 503, "", "", 0);
        return true;
    }
    if (strncmp(r->path, "/keys", 5) != 0)
        return serve_instance(b, r, fd);
    if (b->slow_keys)
        server_hang(fd);
    if (strcmp(r->path, "/keys/token") == 0 && !server_has(r, "Authorization: Basic xyz"))
        server_reply(fd, 401, "", "", 0);
    else
        reply(fd, b->keys_status, b->keys, good_keys);
    return true;
}

/* 2026-11-15T22:36:00Z, by the number of days since 1970: 20772. */
#define EXPIRES_MS ((20772LL * 24 + 22) * 3600 + 36 * 60) * 1000

static void check_instance(void)
{
    AUTO_MEM char *oversize = mem_zero(20001, 1);
    memset(oversize, 'x', 20000);
    struct {
        const char *about;
        struct behaviour b;
        enum err_kind kind; /* ERR_NONE: keys are found */
        const char *says;
    } cases[] = {
        {"keys of the role", {0}, ERR_NONE, ""},
        {"after one failure", {.fails_once = true}, ERR_NONE, ""},
        {"version 1 only", {.token_status = 404}, ERR_DENIED, "answers 404"},
        {"no role", {.role_status = 404}, ERR_DENIED, "has no role"},
        {"an empty list of roles", {.role = ""}, ERR_DENIED, "has no role"},
        {"slow", {.slow_token = true}, ERR_DENIED, "metadata service: http://127"},
        {"a token of many lines", {.token = "<html>\r\n<body>"}, ERR_DENIED, "not a token"},
        {"a token too large", {.token = oversize}, ERR_DENIED, "limit of 16384"},
        {"a role too long", {.role = oversize}, ERR_IO, "limit of 16384"},
        {"keys too large", {.keys = oversize}, ERR_IO, "limit of 16384"},
        {"keys that are no JSON", {.keys = "<html>topsecret"}, ERR_IO, "not the JSON"},
        {"keys of another type", {.keys = "{\"AccessKeyId\": 1}"}, ERR_IO, "not the JSON"},
        {"no object", {.keys = "[]"}, ERR_IO, "not the JSON"},
        {"half the keys", {.keys = "{\"AccessKeyId\": \"A\"}"}, ERR_IO, "lacks"},
        {"a failure inside",
         {.keys = "{\"Code\": \"AssumeRoleUnauthorizedAccess\"}"},
         ERR_DENIED,
         "AssumeRole"},
        {"no date",
         {.keys = "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"topsecret\","
                  "\"Expiration\":\"soon\"}"},
         ERR_IO,
         "Expiration"},
        {"5xx", {.keys_status = 500}, ERR_RETRY, "answers 500"},
        {"a line break in a key",
         {.keys = "{\"AccessKeyId\":\"A\\nB\",\"SecretAccessKey\":\"topsecret\"}"},
         ERR_USAGE,
         "key id (instance metadata)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server *server = server_start(serve, &cases[i].b);
        struct credentials c;
        struct err e;
        int found = find(ENV("AWS_REGION", "r"), server_url(server), &c, &e);
        if (cases[i].kind == ERR_NONE)
            CHECK(found == 0 && are(&c, "M", "N", "O", "r", "instance metadata") &&
                      c.expires_ms == EXPIRES_MS,
                  "%s %s", cases[i].about, e.text);
        else
            CHECK(found < 0 && e.kind == cases[i].kind && strstr(e.text, cases[i].says) &&
                      !strstr(e.text, "topsecret"),
                  "%s: %s", cases[i].about, e.text);
        credentials_clear(&c);
        server_stop(server);
    }
}

static void check_container(void)
{
    struct behaviour b = {0};
    struct server *server = server_start(serve, &b);
    AUTO_MEM char *full = mem_printf("%s/keys", server_url(server));
    AUTO_MEM char *guarded = mem_printf("%s/keys/token", server_url(server));
    AUTO_MEM char *file = mem_printf("%s/token", home);
    struct credentials c;
    struct err e;

    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", full), NULL, &c, &e) == 0 &&
              are(&c, "M", "N", "O", NULL, "container") && c.expires_ms == EXPIRES_MS,
          "a full URI %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/keys?id=1",
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/"),
               server_url(server), &c, &e) == 0 &&
              same(c.origin, "container"),
          "a relative URI comes first %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", guarded,
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic xyz"),
               NULL, &c, &e) == 0,
          "with a token %s", e.text);
    credentials_clear(&c);
    put("token", "Basic xyz\n");
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", guarded,
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file),
               NULL, &c, &e) == 0,
          "from a file %s", e.text);
    credentials_clear(&c);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", guarded,
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/not/there"),
               NULL, &c, &e) < 0 &&
              e.kind == ERR_USAGE,
          "%s", e.text);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", guarded), NULL, &c, &e) < 0 &&
              e.kind == ERR_DENIED,
          "%s", e.text);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/keys"), NULL, &c, &e) <
                  0 &&
              e.kind == ERR_USAGE,
          "%s", e.text);
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "keys"), NULL, &c, &e) < 0 &&
              e.kind == ERR_USAGE,
          "%s", e.text);
    b.slow_keys = true;
    CHECK(find(ENV("AWS_CONTAINER_CREDENTIALS_FULL_URI", full), NULL, &c, &e) < 0 &&
              e.kind == ERR_RETRY,
          "%s", e.text);
    server_stop(server);
}

static void check_near(void)
{
    static const char *const near[] = {"http://127.0.0.1:80/x", "http://localhost/",
                                       "http://LOCALHOST:1",    "http://169.254.170.2/v2",
                                       "http://[::1]:80/x",     "http://[fd00:ec2::23]/v1",
                                       "http://u:p@127.1.2.3/"};
    static const char *const far[] = {"http://example.org/",
                                      "http://127.0.0.1@example.org/",
                                      "http://example.org/127.0.0.1",
                                      "http://example.org?@127.0.0.1/",
                                      "http://example.org#@127.0.0.1/",
                                      "http://127.0.0.1.example.org/",
                                      "http://10.0.0.1/",
                                      "http:///127.0.0.1/",
                                      "http://[2001:db8::1]/",
                                      ""};

    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        CHECK(net_url_is_near(near[i]), "near: %s", near[i]);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        CHECK(!net_url_is_near(far[i]), "far: %s", far[i]);
}

static void check_dates(void)
{
    CHECK(metadata_date_ms("2026-11-15T22:36:00Z") == EXPIRES_MS, "a date");
    CHECK(metadata_date_ms("2026-11-15T22:36:00.123456Z") == EXPIRES_MS, "with a fraction");
    CHECK(metadata_date_ms("2026-11-15T22:36:00+00:00") == EXPIRES_MS, "with an offset of none");
    CHECK(metadata_date_ms("1970-01-01T00:00:00Z") == 0, "the first");
    CHECK(metadata_date_ms("2026-11-15T22:36:00") < 0 && metadata_date_ms("") < 0 &&
              metadata_date_ms("2026-11-15T22:36:00.Z") < 0 &&
              metadata_date_ms("2026-13-15T22:36:00Z") < 0 &&
              metadata_date_ms("2026-11-15T22:36:00Zx") < 0,
          "and none");
}

int main(void)
{
    struct err e = {0};
    struct http *h = http_new(1, &e);

    if (!h)
        return TAP_SKIP_ALL("libcurl is not installed");
    http_free(h);
    if (!mkdtemp(home))
        return EXIT_FAILURE;
    AUTO_MEM char *dir = mem_printf("%s/.aws", home);
    if (file_make_dirs(dir, 0700, &e) < 0)
        return EXIT_FAILURE;
    check_environment();
    check_files();
    check_instance();
    check_container();
    check_near();
    check_dates();
    file_remove_tree(home);
    return TAP_DONE();
}
