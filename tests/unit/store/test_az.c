/* Azure's driver without a service: addresses, signatures, error answers, tokens and clocks. The
 * vectors are those of an independent client. */
#include "store/az/az.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "net/server.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char vectors[] = "../shared/data/cloud-replay/azure/blob-auth/sharedkey_sas.json";

static void check_urls(void)
{
    static const struct {
        const char *url;
        bool good;
    } cases[] = {
        {"az://account/container", true},
        {"az://account/container/", true},
        {"az://account/con-tainer/a/b", true},
        {"az://acc/con", true},
        {"az://ac/con", false},
        {"az://account", false},
        {"az://account/", false},
        {"az://account/co", false},
        {"az://account/con--tainer", false},
        {"az://account/-container", false},
        {"az://account/con.tainer", false},
        {"az://Account/container", false},
        {"az://my-account/container", false},
        {"az://account/container//x", false},
        {"az://account/container/../x", false},
        {"az://account/container/x\ny", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int result = az_check_url(cases[i].url, &e);
        CHECK((result == 0) == cases[i].good && (cases[i].good || e.kind == ERR_USAGE),
              "URL %zu: %s", i, cases[i].good ? "good" : e.text);
    }
}

/* ---- addresses ---- */

static void clear(struct remote *r)
{
    az_close(r);
    free(r->bucket);
    free(r->prefix);
    free(r->shown);
    free(r->scheme);
    free(r->authority);
}

static void check_bases(void)
{
    static const struct {
        const char *endpoint;
        int path_style;
        const char *connection, *base;
    } cases[] = {
        {NULL, -1, NULL, "https://acc.blob.core.windows.net"},
        {"http://127.0.0.1:10000", -1, NULL, "http://127.0.0.1:10000/acc"},
        {"http://127.0.0.1:10000/", -1, NULL, "http://127.0.0.1:10000/acc"},
        {"https://blobs.example.org", 0, NULL, "https://blobs.example.org"},
        {"https://blobs.example.org:443/x", -1, NULL, "https://blobs.example.org/x"},
        {NULL, -1,
         "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=eA==;"
         "EndpointSuffix=core.chinacloudapi.cn",
         "https://acc.blob.core.chinacloudapi.cn"},
        {NULL, -1, "AccountName=acc;BlobEndpoint=http://127.0.0.1:9/acc", "http://127.0.0.1:9/acc"},
        {NULL, -1, "AccountName=another;BlobEndpoint=http://127.0.0.1:9/another",
         "https://acc.blob.core.windows.net"},
        {"http://127.0.0.1:7", -1, "AccountName=acc;BlobEndpoint=http://127.0.0.1:9/acc",
         "http://127.0.0.1:7/acc"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct remote r = {0};
        struct err e = {0};
        struct store_settings settings = {.url = "az://acc/con/p/",
                                          .endpoint = cases[i].endpoint,
                                          .path_style = cases[i].path_style};
        if (cases[i].connection)
            setenv("AZURE_STORAGE_CONNECTION_STRING", cases[i].connection, 1);
        CHECK(az_open(&r, &settings, &e) == 0, "address %zu %s", i, e.text);
        const struct az *a = r.own;
        CHECK(strcmp(a->base, cases[i].base) == 0 && strcmp(r.prefix, "p") == 0, "address %zu: %s",
              i, a->base);
        clear(&r);
        unsetenv("AZURE_STORAGE_CONNECTION_STRING");
    }
}

/* ---- vectors ---- */

#define HEADERS_MAX 10

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static size_t read_headers(const json_t *all, struct sigv4_pair out[static HEADERS_MAX])
{
    const char *name;
    json_t *value;
    size_t n = 0;

    json_object_foreach((json_t *)(uintptr_t)all, name, value)
    {
        char *lower = mem_dup(name);
        for (char *c = lower; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
        if (n < HEADERS_MAX && strcmp(lower, "authorization") != 0)
            out[n++] = (struct sigv4_pair){lower, json_string_value(value)};
        else
            free(lower);
    }
    return n;
}

static size_t read_query(char *query, struct sigv4_pair out[static HEADERS_MAX])
{
    size_t n = 0;

    for (char *p = query; p && *p && n < HEADERS_MAX; n++) {
        char *next = strchr(p, '&'), *value = strchr(p, '=');
        if (next)
            *next++ = '\0';
        *value++ = '\0';
        out[n] = (struct sigv4_pair){p, sigv4_decode(value)};
        p = next;
    }
    return n;
}

static void check_shared_key(const json_t *v,
                             const char *account,
                             const unsigned char *key,
                             size_t n)
{
    struct sigv4_pair headers[HEADERS_MAX], query[HEADERS_MAX];
    AUTO_MEM char *url = mem_dup(text_of(v, "url"));
    char *path = strchr(strstr(url, "://") + 3, '/'), *question = strchr(path, '?');
    size_t n_headers = read_headers(json_object_get(v, "headers"), headers);

    if (question)
        *question++ = '\0';
    struct remote_call c = {.method = text_of(v, "method"), .query = query};
    c.n_query = read_query(question, query);
    for (size_t i = 0; i < n_headers; i++)
        if (strcmp(headers[i].name, "content-length") == 0)
            c.body_bytes = strtoull(headers[i].value, NULL, 10);
    AUTO_MEM char *text = az_string_to_sign(account, &c, path, headers, n_headers);
    AUTO_MEM char *signature = az_hmac(key, n, text);
    AUTO_MEM char *authorization = mem_printf("SharedKey %s:%s", account, signature);
    CHECK(strcmp(text, text_of(v, "string_to_sign")) == 0, "%s: what is signed",
          text_of(v, "case"));
    CHECK(strcmp(authorization, text_of(v, "authorization")) == 0, "%s: signature",
          text_of(v, "case"));
    for (size_t i = 0; i < n_headers; i++)
        free((void *)(uintptr_t)headers[i].name);
    for (size_t i = 0; i < c.n_query; i++)
        free((void *)(uintptr_t)query[i].value);
}

/* Of the vectors those that are for one blob and begin at once, as ours do. */
static bool check_sas(const json_t *v, const struct az *a)
{
    const json_t *p = json_object_get(v, "params");
    char until[32];

    if (!*text_of(p, "blobName") || *text_of(p, "startsOn") ||
        strcmp(text_of(p, "version"), "2021-08-06") != 0)
        return false;
    snprintf(until, sizeof until, "%.19sZ", text_of(p, "expiresOn"));
    AUTO_MEM char *query =
        az_sas(a, text_of(p, "containerName"), text_of(p, "blobName"), text_of(p, "permissions"),
               until, strcmp(text_of(p, "protocol"), "https") == 0);
    CHECK(strcmp(query, text_of(v, "query")) == 0, "%s: %s", text_of(v, "case"), query);
    return true;
}

static void check_vectors(void)
{
    AUTO_JSON json_t *root = json_load_file(vectors, 0, NULL);
    size_t i, n_key, n_sas = 0;
    json_t *v;

    if (!root) {
        CHECK(true, "vectors # SKIP no %s", vectors);
        return;
    }
    AUTO_MEM char *account = mem_dup(text_of(root, "account"));
    AUTO_MEM unsigned char *key = base64_decode(text_of(root, "account_key_base64"), &n_key);
    const struct az a = {.account = account, .key = key, .key_bytes = n_key};
    json_array_foreach(json_object_get(root, "shared_key"), i, v)
        check_shared_key(v, account, key, n_key);
    json_array_foreach(json_object_get(root, "sas"), i, v) n_sas += check_sas(v, &a);
    CHECK(json_array_size(json_object_get(root, "shared_key")) > 0 && n_sas > 0, "%zu SAS", n_sas);
}

/* ---- error answers ---- */

static void check_judging(void)
{
    static const struct {
        int status;
        const char *code, *message; /* NULL: the answer is no XML */
        const char *operation;
        enum remote_verdict verdict;
        enum err_kind kind;
        const char *words;
    } cases[] = {
        {200, NULL, NULL, "read", REMOTE_GOOD, ERR_NONE, ""},
        {206, NULL, NULL, "read", REMOTE_GOOD, ERR_NONE, ""},
        {403, "AuthenticationFailed", "Server failed.\nRequestId:x", "read", REMOTE_BAD, ERR_DENIED,
         "az://acc/con refuses the account's key"},
        {403, "AuthorizationPermissionMismatch", "not authorized.\nRequestId:x", "write",
         REMOTE_BAD, ERR_DENIED, "allow the role Storage Blob Data Contributor"},
        {403, "AuthorizationPermissionMismatch", "", "list", REMOTE_BAD, ERR_DENIED,
         "allow the role Storage Blob Data Reader"},
        {404, "ContainerNotFound", "", "read", REMOTE_BAD, ERR_NOTFOUND,
         "container con does not exist; tradewind init creates it"},
        {404, "BlobNotFound", "", "read", REMOTE_BAD, ERR_NOTFOUND, "az://acc/con/a/key does not"},
        {416, "InvalidRange", "", "read", REMOTE_BAD, ERR_IO, "too short"},
        {412, "ConditionNotMet", "", "write", REMOTE_BAD, ERR_IO, "412 ConditionNotMet"},
        {409, "ContainerBeingDeleted", "", "write", REMOTE_WAIT, ERR_RETRY, "ContainerBeingDel"},
        {400, "Md5Mismatch", "", "write", REMOTE_WAIT, ERR_RETRY, "Md5Mismatch"},
        {503, "ServerBusy", "", "write", REMOTE_WAIT, ERR_RETRY, "ServerBusy"},
        {500, "OperationTimedOut", "", "read", REMOTE_WAIT, ERR_RETRY, "500"},
        {408, NULL, NULL, "read", REMOTE_WAIT, ERR_RETRY, "408"},
        {502, NULL, NULL, "read", REMOTE_WAIT, ERR_RETRY, "502"},
        {409, "PublicAccessNotPermitted", "", "read", REMOTE_BAD, ERR_DENIED, "needs credentials"},
    };
    char bucket[] = "con", shown[] = "az://acc/con";
    unsigned char key[] = "k";
    struct az a = {.key = key, .key_bytes = 1};
    struct remote r = {.bucket = bucket,
                       .shown = shown,
                       .service = store_az_driver.service,
                       .own = &a,
                       .lock = PTHREAD_MUTEX_INITIALIZER};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct remote_call c = {.operation = cases[i].operation, .method = "PUT", .key = "a/key"};
        AUTO_MEM char *body =
            cases[i].code
                ? mem_printf(
                      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"
                      "<Error><Code>%s</Code><Message>%s</Message>"
                      "<AuthenticationErrorDetail>sig=secret</AuthenticationErrorDetail></Error>",
                      cases[i].code, cases[i].message)
                : mem_dup("<html><p>not XML</html>");
        struct remote_answer answer = {
            .http = {.status = cases[i].status, .body = body, .body_bytes = strlen(body)}};
        CHECK(az_judge(&r, &c, &answer, &e) == cases[i].verdict && e.kind == cases[i].kind &&
                  strstr(e.text, cases[i].words) && !strstr(e.text, "secret") &&
                  !strstr(e.text, "RequestId"),
              "%d %s: %s", cases[i].status, cases[i].code ? cases[i].code : "-", e.text);
    }
}

/* ---- tokens and clocks, with a server ---- */

struct script {
    unsigned tokens, blobs;
    bool skewed;
    char seen[400]; /* what was asked, in short */
};

static void http_date(int64_t at_ms, char out[static 64])
{
    time_t at = (time_t)(at_ms / 1000);
    struct tm utc;

    gmtime_r(&at, &utc);
    strftime(out, 64, "%a, %d %b %Y %H:%M:%S GMT", &utc);
}

static void note(struct script *s, const char *what)
{
    size_t n = strlen(s->seen);

    snprintf(s->seen + n, sizeof s->seen - n, "%s ", what);
}

/* Gives tokens t1, t2 ...; takes t2 alone. Or keeps another time, and refuses dates that are off.
 */
static bool say(void *context, const struct server_request *r, int fd)
{
    struct script *s = context;
    char date[64], extra[200], body[100];

    if (strcmp(r->method, "POST") == 0) {
        int n = snprintf(body, sizeof body, "{\"access_token\":\"t%u\",\"expires_in\":3600}",
                         ++s->tokens);
        note(s, "token");
        server_reply(fd, 200, "", body, (size_t)n);
        return true;
    }
    http_date(time_epoch_ms() + 1200000, date);
    snprintf(extra, sizeof extra, "Date: %s\r\n", date);
    AUTO_MEM char *minute = mem_printf("x-ms-date: %.22s", date);
    bool good =
        s->skewed ? strstr(r->headers, minute) != NULL : server_has(r, "Authorization: Bearer t2");
    note(s, good ? "taken" : "refused");
    if (good)
        server_reply(fd, 201, "ETag: \"e\"\r\n", "", 0);
    else if (s->skewed)
        server_reply(fd, 403, extra, "<Error><Code>AuthenticationFailed</Code></Error>", 48);
    else
        server_reply(fd, 401, "x-ms-error-code: InvalidAuthenticationInfo\r\n", "", 0);
    return true;
}

static int put_one(const struct server *server, struct err *e)
{
    AUTO(store)
    struct store *s = store_open(
        &(struct store_settings){
            .url = "az://acc/con", .endpoint = server_url(server), .path_style = -1, .seed = 1},
        e);
    struct remote_call call = {.body = "x", .body_bytes = 1};

    return s ? remote_put_once(s->priv, "key", &call, e) : -1;
}

static void check_turns(void)
{
    struct script script = {0}, clock = {.skewed = true};
    struct server *server = server_start(say, &script), *other = server_start(say, &clock);
    struct err e = {0};

    setenv("AZURE_AUTHORITY_HOST", server_url(server), 1);
    setenv("AZURE_TENANT_ID", "t", 1);
    setenv("AZURE_CLIENT_ID", "c", 1);
    setenv("AZURE_CLIENT_SECRET", "s", 1);
    CHECK(put_one(server, &e) == 0 && strcmp(script.seen, "token refused token taken ") == 0,
          "a refused token is renewed once: %s %s", script.seen, e.text);
    script = (struct script){.tokens = 5};
    CHECK(put_one(server, &e) < 0 && e.kind == ERR_DENIED &&
              strcmp(script.seen, "token refused token refused ") == 0,
          "and not again: %s %s", script.seen, e.text);
    setenv("AZURE_STORAGE_KEY", "a2V5", 1);
    CHECK(put_one(other, &e) == 0 && strcmp(clock.seen, "refused taken ") == 0,
          "a clock that is off is set right once: %s %s", clock.seen, e.text);
    setenv("AZURE_STORAGE_KEY", "not base64", 1);
    CHECK(put_one(other, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "AZURE_STORAGE_KEY") &&
              !strstr(e.text, "not base64:"),
          "%s", e.text);
    server_stop(server);
    server_stop(other);
}

int main(void)
{
    static const char *const names[] = {"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT",
                                        "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
                                        "AZURE_STORAGE_SERVICE_ENDPOINT"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    check_urls();
    check_bases();
    check_vectors();
    check_judging();
    check_turns();
    return TAP_DONE();
}
