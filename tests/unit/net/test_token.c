/* Tokens from given variables, files in a scratch directory and a local server. */
#include "net/token.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "net/sigv4.h"
#include "server.h"
#include "tap.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-token-XXXXXX";

/* ---- the server: the answers in order, the last one for all that follow ---- */

struct answer {
    int status;
    const char *extra, *body;
};

struct script {
    const struct answer *answers;
    size_t n;
    pthread_mutex_t lock;
    size_t asked;
    char path[500], headers[2000], body[4000]; /* of the last request */
};

static bool say(void *context, const struct server_request *r, int fd)
{
    struct script *s = context;

    pthread_mutex_lock(&s->lock);
    size_t i = s->asked < s->n ? s->asked : s->n - 1;
    s->asked++;
    snprintf(s->path, sizeof s->path, "%s %s", r->method, r->path);
    snprintf(s->headers, sizeof s->headers, "%s", r->headers);
    snprintf(s->body, sizeof s->body, "%.*s", (int)r->body_bytes, r->body ? r->body : "");
    pthread_mutex_unlock(&s->lock);
    const struct answer *a = &s->answers[i];
    server_reply(fd, a->status, a->extra ? a->extra : "", a->body, strlen(a->body));
    return true;
}

/* ---- surroundings ---- */

static const char *environment(void *context, const char *name)
{
    const char *const *pairs = context;

    for (; *pairs; pairs += 2) {
        if (strcmp(*pairs, name) == 0)
            return pairs[1];
    }
    return NULL;
}

#define ENV(...)                                                                                   \
    ((struct credentials_sources){                                                                 \
        .environment = environment,                                                                \
        .context = (void *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL},                    \
        .home = home,                                                                              \
    })

static char *put(const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", home, name);
    struct err e;

    if (file_replace(path, text, strlen(text), 0600, &e) < 0)
        exit(EXIT_FAILURE);
    return path;
}

static void make(const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", home, name);

    if (mkdir(path, 0700) < 0)
        exit(EXIT_FAILURE);
}

static bool is(const char *text, const char *expected)
{
    return expected ? text && strcmp(text, expected) == 0 : !text;
}

/* The value of a pair of the form, decoded; "" when there is none. New string. */
static char *field(const char *form, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = form; *p; p += strcspn(p, "&"), p += *p == '&') {
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            AUTO_MEM char *value = mem_printf("%.*s", (int)strcspn(p + n + 1, "&"), p + n + 1);
            return sigv4_decode(value);
        }
    }
    return mem_dup("");
}

static const struct answer good[] = {
    {200, NULL, "{\"access_token\":\"tok-1\",\"expires_in\":3600,\"token_type\":\"Bearer\"}"}};
#define SCRIPT(list)                                                                               \
    ((struct script){                                                                              \
        .answers = list, .n = sizeof list / sizeof *(list), .lock = PTHREAD_MUTEX_INITIALIZER})

static bool fetches(struct token_login *l, const char *scope, const char *expected, struct err *e)
{
    AUTO(http) struct http *h = http_new(1, e);
    struct token t = {0};
    int64_t now_ms = time_epoch_ms();

    *e = (struct err){0};
    int result = token_fetch(l, h, scope, &t, e);
    bool same = result == 0 && is(t.bearer.hidden, expected) &&
                t.expires_ms >= now_ms + INT64_C(3599000) &&
                t.expires_ms <= time_epoch_ms() + INT64_C(3600000);
    token_clear(&t);
    return same;
}

/* ---- Google ---- */

static EVP_PKEY *key;

static char *pem_of_key(void)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes;

    PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    long n = BIO_get_mem_data(bio, &bytes);
    char *pem = mem_printf("%.*s", (int)n, bytes);
    BIO_free(bio);
    return pem;
}

static char *account_file(const char *token_url, const char *pem)
{
    AUTO_JSON json_t *root =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "type", "service_account", "client_email",
                  "lake@proj.iam.gserviceaccount.com", "private_key", pem, "private_key_id", "kid7",
                  "project_id", "proj", "token_uri", token_url);
    AUTO_MEM char *text = json_dumps(root, 0);
    return put("account.json", text);
}

/* The bytes of a piece of a JWT, NUL-terminated. New string. */
static unsigned char *piece(const char *text, size_t n, size_t *n_out)
{
    AUTO_MEM char *padded = mem_printf("%.*s%.*s", (int)n, text, (int)((4 - n % 4) % 4), "===");

    for (char *c = padded; *c; c++)
        *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
    return base64_decode(padded, n_out);
}

static void check_assertion(const char *jwt, const char *audience)
{
    const char *dot = strchr(jwt, '.'), *last = strrchr(jwt, '.');
    size_t n, n_signature;
    AUTO_MEM unsigned char *head = piece(jwt, (size_t)(dot - jwt), &n);
    AUTO_MEM unsigned char *claims = piece(dot + 1, (size_t)(last - dot - 1), &n);
    AUTO_MEM unsigned char *signature = piece(last + 1, strlen(last + 1), &n_signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    AUTO_JSON json_t *root = json_loads((char *)claims, 0, NULL);
    json_int_t iat = json_integer_value(json_object_get(root, "iat"));
    json_int_t exp = json_integer_value(json_object_get(root, "exp"));

    CHECK(is((char *)head, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"kid7\"}"), "head: %s",
          head);
    CHECK(
        is(json_string_value(json_object_get(root, "iss")), "lake@proj.iam.gserviceaccount.com") &&
            is(json_string_value(json_object_get(root, "aud")), audience) &&
            is(json_string_value(json_object_get(root, "scope")),
               "https://www.googleapis.com/auth/cloud-platform"),
        "claims: %s", claims);
    CHECK(exp - iat == 3600 && iat <= time_epoch_ms() / 1000 && iat > time_epoch_ms() / 1000 - 60,
          "for an hour from now");
    CHECK(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestVerify(context, signature, n_signature, (const unsigned char *)jwt,
                               (size_t)(last - jwt)) == 1,
          "signed with the account's key");
    EVP_MD_CTX_free(context);
}

static void check_service_account(void)
{
    struct script script = SCRIPT(good);
    struct server *server = server_start(say, &script);
    AUTO_MEM char *url = mem_printf("%s/token", server_url(server));
    AUTO_MEM char *pem = pem_of_key();
    AUTO_MEM char *path = account_file(url, pem);
    struct credentials_sources env = ENV("GOOGLE_APPLICATION_CREDENTIALS", path);
    AUTO_CLEAR(token_login) struct token_login l = {0};
    struct err e = {0};

    CHECK(token_find_google(&env, &l, &e) == 0 && l.way == TOKEN_GOOGLE_SERVICE_ACCOUNT &&
              is(l.identity, "lake@proj.iam.gserviceaccount.com") && is(l.project, "proj") &&
              is(l.origin, "GOOGLE_APPLICATION_CREDENTIALS"),
          "a service account %s", e.text);
    CHECK(fetches(&l, TOKEN_SCOPE_GOOGLE, "tok-1", &e), "gets a token %s", e.text);
    CHECK(is(script.path, "POST /token") &&
              strstr(script.headers, "application/x-www-form-urlencoded"),
          "by a form: %s", script.path);
    AUTO_MEM char *grant = field(script.body, "grant_type");
    AUTO_MEM char *jwt = field(script.body, "assertion");
    CHECK(is(grant, "urn:ietf:params:oauth:grant-type:jwt-bearer"), "grant: %s", grant);
    check_assertion(jwt, url);
    server_stop(server);

    AUTO_CLEAR(token_login) struct token_login bad = {0};
    free(account_file(url, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"));
    CHECK(token_find_google(&env, &bad, &e) == 0 && !fetches(&bad, TOKEN_SCOPE_GOOGLE, "", &e) &&
              e.kind == ERR_USAGE && strstr(e.text, "not an RSA key") && !strstr(e.text, "AAAA"),
          "another key: %s", e.text);
}

/* Twenty minutes behind, the issuer refuses; its date tells by how much. */
static void check_clock(void)
{
    char date[64], extra[100];
    time_t ahead = (time_t)(time_epoch_ms() / 1000) + 1200;
    struct tm utc;
    gmtime_r(&ahead, &utc);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    snprintf(extra, sizeof extra, "Date: %s\r\n", date);
    const struct answer answers[] = {
        {400, extra, "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT: iat\"}"},
        good[0]};
    struct script script = SCRIPT(answers);
    struct server *server = server_start(say, &script);
    AUTO_MEM char *pem = pem_of_key();
    AUTO_MEM char *path = account_file(server_url(server), pem);
    struct credentials_sources env = ENV("GOOGLE_APPLICATION_CREDENTIALS", path);
    AUTO_CLEAR(token_login) struct token_login l = {0};
    struct err e = {0};

    CHECK(token_find_google(&env, &l, &e) == 0 && fetches(&l, TOKEN_SCOPE_GOOGLE, "tok-1", &e) &&
              script.asked == 2,
          "once more by the issuer's clock %s", e.text);
    AUTO_MEM char *jwt = field(script.body, "assertion");
    size_t n;
    const char *dot = strchr(jwt, '.');
    AUTO_MEM unsigned char *claims = piece(dot + 1, strcspn(dot + 1, "."), &n);
    AUTO_JSON json_t *root = json_loads((char *)claims, 0, NULL);
    json_int_t iat = json_integer_value(json_object_get(root, "iat"));
    CHECK(iat >= ahead - 2 && iat <= ahead + 60, "which the request has");
    server_stop(server);
}

static void check_gcloud_user(void)
{
    struct script script = SCRIPT(good);
    struct server *server = server_start(say, &script);
    AUTO_MEM char *text = mem_printf(
        "{\"type\":\"authorized_user\",\"client_id\":\"c d\",\"client_secret\":\"s3cr+t\","
        "\"refresh_token\":\"r/1\",\"quota_project_id\":\"q\",\"token_uri\":\"%s/t\"}",
        server_url(server));
    struct credentials_sources env = ENV("X", "Y");
    AUTO_CLEAR(token_login) struct token_login l = {0};
    struct err e = {0};

    make(".config");
    make(".config/gcloud");
    free(put(".config/gcloud/application_default_credentials.json", text));
    CHECK(token_find_google(&env, &l, &e) == 0 && l.way == TOKEN_GOOGLE_USER &&
              is(l.project, "q") && fetches(&l, TOKEN_SCOPE_GOOGLE, "tok-1", &e),
          "a user of gcloud %s", e.text);
    CHECK(is(script.body, "grant_type=refresh_token&client_id=c%20d&client_secret=s3cr%2Bt&"
                          "refresh_token=r%2F1"),
          "sends %s", script.body);
    server_stop(server);
    AUTO_MEM char *other = put("gcloud.json", "{\"type\":\"external_account\"}");
    struct credentials_sources named = ENV("GOOGLE_APPLICATION_CREDENTIALS", other);
    AUTO_CLEAR(token_login) struct token_login none = {0};
    CHECK(token_find_google(&named, &none, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "external_account") && strstr(e.text, other),
          "%s", e.text);
    struct credentials_sources missing = ENV("GOOGLE_APPLICATION_CREDENTIALS", "/no/such");
    CHECK(token_find_google(&missing, &none, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "/no/such"),
          "%s", e.text);
    AUTO_MEM char *file =
        mem_printf("%s/.config/gcloud/application_default_credentials.json", home);
    unlink(file);
}

static void check_metadata(void)
{
    static const struct answer flavored[] = {
        {200, "Metadata-Flavor: Google\r\n",
         "{\"access_token\":\"tok-1\",\"expires_in\":3600,\"token_type\":\"Bearer\"}"}};
    struct script script = SCRIPT(flavored), foreign = SCRIPT(good);
    struct server *server = server_start(say, &script), *other = server_start(say, &foreign);
    struct credentials_sources env =
        ENV("GCE_METADATA_HOST", server_url(server) + strlen("http://"));
    AUTO_CLEAR(token_login) struct token_login l = {0}, no = {0};
    struct err e = {0};

    CHECK(token_find_google(&env, &l, &e) == 0 && l.way == TOKEN_GOOGLE_MACHINE &&
              fetches(&l, TOKEN_SCOPE_GOOGLE, "tok-1", &e),
          "the metadata server %s", e.text);
    CHECK(is(script.path, "GET /computeMetadata/v1/instance/service-accounts/default/token") &&
              strstr(script.headers, "Metadata-Flavor: Google"),
          "%s", script.path);
    struct credentials_sources elsewhere =
        ENV("GCE_METADATA_HOST", server_url(other) + strlen("http://"));
    CHECK(token_find_google(&elsewhere, &no, &e) == 0 &&
              !fetches(&no, TOKEN_SCOPE_GOOGLE, "", &e) && e.kind == ERR_DENIED &&
              strstr(e.text, "not Google's") && strstr(e.text, "GOOGLE_APPLICATION_CREDENTIALS"),
          "another's: %s", e.text);
    struct credentials_sources off = ENV("NO_GCE_CHECK", "true");
    token_login_clear(&no);
    CHECK(token_find_google(&off, &no, &e) < 0 && e.kind == ERR_DENIED && strstr(e.text, home),
          "%s", e.text);
    server_stop(server);
    server_stop(other);
}

/* ---- Azure ---- */

static void check_azure(void)
{
    struct script script = SCRIPT(good);
    struct server *server = server_start(say, &script);
    const char *url = server_url(server);
    AUTO_MEM char *federated = put("federated", "jwt.of.another\n");
    struct credentials_sources secret = ENV("AZURE_AUTHORITY_HOST", url, "AZURE_TENANT_ID", "t 1",
                                            "AZURE_CLIENT_ID", "c1", "AZURE_CLIENT_SECRET", "s&1");
    struct credentials_sources file =
        ENV("AZURE_AUTHORITY_HOST", url, "AZURE_TENANT_ID", "t1", "AZURE_CLIENT_ID", "c1",
            "AZURE_FEDERATED_TOKEN_FILE", federated);
    struct credentials_sources app = ENV("IDENTITY_ENDPOINT", url, "IDENTITY_HEADER", "h1");
    struct credentials_sources machine =
        ENV("AZURE_POD_IDENTITY_AUTHORITY_HOST", url, "AZURE_CLIENT_ID", "c2");
    static const char scope[] = "https%3A%2F%2Fstorage.azure.com%2F.default";
    struct err e = {0};
    struct token_login l;

    CHECK(token_find_azure(&secret, &l, &e) == 0 &&
              fetches(&l, TOKEN_SCOPE_AZURE_STORAGE, "tok-1", &e),
          "a secret %s", e.text);
    AUTO_MEM char *by_secret = mem_printf(
        "grant_type=client_credentials&client_id=c1&scope=%s&client_secret=s%%261", scope);
    CHECK(is(script.path, "POST /t%201/oauth2/v2.0/token") && is(script.body, by_secret), "%s: %s",
          script.path, script.body);
    token_login_clear(&l);
    CHECK(token_find_azure(&file, &l, &e) == 0 &&
              fetches(&l, TOKEN_SCOPE_AZURE_STORAGE, "tok-1", &e),
          "a federated token %s", e.text);
    AUTO_MEM char *assertion = field(script.body, "client_assertion");
    AUTO_MEM char *type = field(script.body, "client_assertion_type");
    CHECK(is(assertion, "jwt.of.another") &&
              is(type, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
          "%s", script.body);
    token_login_clear(&l);
    CHECK(token_find_azure(&app, &l, &e) == 0 &&
              fetches(&l, TOKEN_SCOPE_AZURE_STORAGE, "tok-1", &e) &&
              is(script.path,
                 "GET /?api-version=2019-08-01&resource=https%3A%2F%2Fstorage.azure.com%2F") &&
              strstr(script.headers, "X-IDENTITY-HEADER: h1"),
          "an app: %s %s", script.path, e.text);
    token_login_clear(&l);
    CHECK(token_find_azure(&machine, &l, &e) == 0 &&
              fetches(&l, TOKEN_SCOPE_AZURE_MANAGEMENT, "tok-1", &e) &&
              is(script.path, "GET /metadata/identity/oauth2/token?api-version=2018-02-01&"
                              "resource=https%3A%2F%2Fmanagement.azure.com%2F&client_id=c2") &&
              strstr(script.headers, "Metadata: true"),
          "a machine: %s %s", script.path, e.text);
    token_login_clear(&l);
    struct credentials_sources half = ENV("AZURE_CLIENT_SECRET", "topsecret");
    CHECK(token_find_azure(&half, &l, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "AZURE_TENANT_ID is not") && !strstr(e.text, "topsecret"),
          "%s", e.text);
    server_stop(server);
}

static void check_az_login(void)
{
    struct script script = SCRIPT(good);
    struct server *server = server_start(say, &script);
    struct credentials_sources env = ENV("AZURE_AUTHORITY_HOST", server_url(server));
    struct err e = {0};
    struct token_login l;

    make(".azure");
    free(put(".azure/azureProfile.json",
             "\xef\xbb\xbf{\"subscriptions\":[{\"id\":\"s0\",\"tenantId\":\"t0\","
             "\"isDefault\":false},{\"id\":\"s-2\",\"tenantId\":\"t2\",\"isDefault\":true,"
             "\"user\":{\"name\":\"b@x\"}}]}"));
    free(put(".azure/msal_token_cache.json",
             "{\"Account\":{\"1\":{\"username\":\"a@x\",\"home_account_id\":\"A\"},"
             "\"2\":{\"username\":\"b@x\",\"home_account_id\":\"B\"}},"
             "\"RefreshToken\":{\"k1\":{\"home_account_id\":\"A\",\"secret\":\"ra\"},"
             "\"k2\":{\"home_account_id\":\"B\",\"secret\":\"rb\",\"client_id\":\"cb\"}}}"));
    CHECK(token_find_azure(&env, &l, &e) == 0 && l.way == TOKEN_AZURE_USER &&
              is(l.identity, "b@x") && fetches(&l, TOKEN_SCOPE_AZURE_STORAGE, "tok-1", &e),
          "a user of az %s", e.text);
    CHECK(is(script.path, "POST /t2/oauth2/v2.0/token") &&
              is(script.body, "grant_type=refresh_token&client_id=cb&scope=https%3A%2F%2Fstorage."
                              "azure.com%2F.default&refresh_token=rb"),
          "%s: %s", script.path, script.body);
    token_login_clear(&l);
    AUTO_MEM char *subscription = token_azure_subscription(&env, &e);
    CHECK(is(subscription, "s-2"), "its default subscription");
    struct credentials_sources named = ENV("AZURE_SUBSCRIPTION_ID", "s-3");
    AUTO_MEM char *other = token_azure_subscription(&named, &e);
    CHECK(is(other, "s-3"), "another one by the environment");
    struct credentials_sources odd = ENV("AZURE_SUBSCRIPTION_ID", "../s");
    CHECK(!token_azure_subscription(&odd, &e) && e.kind == ERR_USAGE, "which is an id: %s", e.text);
    struct credentials_sources none = ENV("AZURE_CONFIG_DIR", "/nonexistent");
    CHECK(!token_azure_subscription(&none, &e) && e.kind == ERR_DENIED &&
              strstr(e.text, "AZURE_SUBSCRIPTION_ID"),
          "none: %s", e.text);
    free(put(".azure/msal_token_cache.json", "[]"));
    CHECK(token_find_azure(&env, &l, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, ".azure"),
          "%s", e.text);
    AUTO_MEM char *path = mem_printf("%s/.azure/msal_token_cache.json", home);
    unlink(path);
    server_stop(server);
}

/* ---- refusals, storms, strange answers ---- */

static void check_answers(void)
{
    static const struct {
        struct answer answers[2];
        size_t n;
        enum err_kind kind; /* ERR_NONE: a token comes */
        size_t asked;
        const char *words;
    } cases[] = {
        {{{503, NULL, "busy"}, {200, NULL, "{\"access_token\":\"tok-1\",\"expires_in\":\"3600\"}"}},
         2,
         ERR_NONE,
         2,
         ""},
        {{{429, NULL, "{}"}}, 1, ERR_RETRY, 4, "429"},
        {{{502, NULL, "<html>bad gateway</html>"}}, 1, ERR_RETRY, 4, "502"},
        {{{401, NULL,
           "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid client "
           "secret provided.\\r\\nTrace ID: x\"}"}},
         1,
         ERR_DENIED,
         1,
         "AADSTS7000215: Invalid client secret provided."},
        {{{400, NULL, "{\"error\":\"x\",\"error_description\":\"you sent s3cret!\"}"}},
         1,
         ERR_DENIED,
         1,
         "answers 400"},
        {{{200, NULL, "{\"access_token\":\"a b\",\"expires_in\":3600}"}},
         1,
         ERR_IO,
         1,
         "no access token"},
        {{{200, NULL, "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":3600}"}},
         1,
         ERR_IO,
         1,
         "no access token"},
        {{{200, NULL, "{\"access_token\":\"a\"}"}}, 1, ERR_IO, 1, "when the token ends"},
        {{{200, NULL, "<html>"}}, 1, ERR_IO, 1, "no access token"},
        {{{200, NULL, "{\"access_tok"}}, 1, ERR_IO, 1, "no access token"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script script = {
            .answers = cases[i].answers, .n = cases[i].n, .lock = PTHREAD_MUTEX_INITIALIZER};
        struct server *server = server_start(say, &script);
        struct credentials_sources env =
            ENV("AZURE_AUTHORITY_HOST", server_url(server), "AZURE_TENANT_ID", "t",
                "AZURE_CLIENT_ID", "c", "AZURE_CLIENT_SECRET", "s3cret!");
        AUTO_CLEAR(token_login) struct token_login l = {0};
        struct err e = {0};
        token_find_azure(&env, &l, &e);
        bool came = fetches(&l, TOKEN_SCOPE_AZURE_STORAGE, "tok-1", &e);
        CHECK(came == (cases[i].kind == ERR_NONE) && e.kind == (came ? e.kind : cases[i].kind) &&
                  script.asked == cases[i].asked && (came || strstr(e.text, cases[i].words)) &&
                  !strstr(e.text, "s3cret!") && !strstr(e.text, "Trace"),
              "answer %zu: %zu requests, %s", i, script.asked, came ? "a token" : e.text);
        server_stop(server);
    }
}

/* ---- the cache ---- */

static void check_cache(void)
{
    static const struct answer answers[] = {
        {200, NULL, "{\"access_token\":\"short\",\"expires_in\":299}"},
        {503, NULL, ""},
        {503, NULL, ""},
        {503, NULL, ""},
        {503, NULL, ""},
        {200, NULL, "{\"access_token\":\"long\",\"expires_in\":310}"},
        {200, NULL, "{\"access_token\":\"new\",\"expires_in\":3600}"},
    };
    struct script script = SCRIPT(answers);
    struct server *server = server_start(say, &script);
    struct credentials_sources env =
        ENV("AZURE_AUTHORITY_HOST", server_url(server), "AZURE_TENANT_ID", "t", "AZURE_CLIENT_ID",
            "c", "AZURE_CLIENT_SECRET", "s");
    struct token_cache c = {
        .find = token_find_azure, .sources = &env, .scope = TOKEN_SCOPE_AZURE_STORAGE};
    struct err e = {0};
    AUTO(http) struct http *h = http_new(1, &e);
    const char *bearer = "";

    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && is(bearer, "short"), "a token %s", e.text);
    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && is(bearer, "short") && script.asked == 5,
          "that ends in 299 s is renewed; while that fails, it serves");
    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && is(bearer, "long") && script.asked == 6,
          "the next one");
    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && is(bearer, "long") && script.asked == 6,
          "is kept until 300 s before its end");
    unsigned round = c.round;
    token_cache_refuse(&c, round - 1);
    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && script.asked == 6,
          "an older one was refused: this one may be good");
    token_cache_refuse(&c, round);
    CHECK(token_cache_get(&c, h, &bearer, &e) == 0 && is(bearer, "new") && script.asked == 7,
          "a refused one is replaced");
    token_cache_clear(&c);
    server_stop(server);
}

int main(void)
{
    if (!mkdtemp(home))
        return EXIT_FAILURE;
    key = EVP_RSA_gen(2048);
    check_service_account();
    check_clock();
    check_gcloud_user();
    check_metadata();
    check_azure();
    check_az_login();
    check_answers();
    check_cache();
    EVP_PKEY_free(key);
    AUTO_MEM char *command = mem_printf("rm -rf %s", home);
    return system(command) == 0 ? TAP_DONE() : EXIT_FAILURE;
}
