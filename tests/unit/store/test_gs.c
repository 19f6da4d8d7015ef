/* Google's driver without a service: addresses, error answers, objects, tokens, and an upload that
 * the server keeps in pieces and forgets. */
#include "store/gs/gs.h"

#include "base/mem.h"
#include "net/server.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_urls(void)
{
    static const struct {
        const char *url;
        bool good;
    } cases[] = {
        {"gs://bucket", true},
        {"gs://bucket/", true},
        {"gs://my_bucket.example-1/a b", true},
        {"gs://bu", false},
        {"gs://", false},
        {"gs://_bucket", false},
        {"gs://Bucket", false},
        {"gs://bucket//x", false},
        {"gs://bucket/../x", false},
        {"gs://bucket/x\ny", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int result = gs_check_url(cases[i].url, &e);
        CHECK((result == 0) == cases[i].good && (cases[i].good || e.kind == ERR_USAGE),
              "URL %zu: %s", i, cases[i].good ? "good" : e.text);
    }
}

static void clear(struct remote *r)
{
    gs_close(r);
    free(r->bucket);
    free(r->prefix);
    free(r->shown);
    free(r->scheme);
    free(r->authority);
}

static void check_bases(void)
{
    static const struct {
        const char *endpoint, *emulator, *account, *base;
        bool is_anonymous;
    } cases[] = {
        {NULL, NULL, NULL, "https://storage.googleapis.com", false},
        {NULL, "localhost:9023", NULL, "http://localhost:9023", true},
        {NULL, "https://localhost:9023/", NULL, "https://localhost:9023", true},
        {NULL, "localhost:9023", "/key.json", "http://localhost:9023", false},
        {"http://127.0.0.1:7", "localhost:9023", NULL, "http://127.0.0.1:7", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct remote r = {0};
        struct err e = {0};
        struct store_settings settings = {.url = "gs://bkt/p/", .endpoint = cases[i].endpoint};
        unsetenv("STORAGE_EMULATOR_HOST");
        unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
        if (cases[i].emulator)
            setenv("STORAGE_EMULATOR_HOST", cases[i].emulator, 1);
        if (cases[i].account)
            setenv("GOOGLE_APPLICATION_CREDENTIALS", cases[i].account, 1);
        CHECK(gs_open(&r, &settings, &e) == 0, "address %zu %s", i, e.text);
        const struct gs *g = r.own;
        AUTO_MEM char *path = gs_path(&r, "p/a b/ü");
        CHECK(strcmp(g->base, cases[i].base) == 0 && g->is_anonymous == cases[i].is_anonymous &&
                  strcmp(path, "/storage/v1/b/bkt/o/p%2Fa%20b%2F%C3%BC") == 0,
              "address %zu: %s%s", i, g->base, path);
        clear(&r);
    }
    unsetenv("STORAGE_EMULATOR_HOST");
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
}

/* ---- answers ---- */

static void check_judging(void)
{
    static const struct {
        int status;
        const char *reason, *message; /* reason NULL: the message is the body */
        const char *operation;
        enum remote_verdict verdict;
        enum err_kind kind;
        const char *words;
    } cases[] = {
        {200, NULL, "{}", "read", REMOTE_GOOD, ERR_NONE, ""},
        {403, "forbidden", "a@b does not have storage.objects.create access.", "write", REMOTE_BAD,
         ERR_DENIED, "allow storage.objects.create"},
        {403, "forbidden", "", "list", REMOTE_BAD, ERR_DENIED, "allow storage.objects.list"},
        {403, "rateLimitExceeded", "slower", "write", REMOTE_WAIT, ERR_RETRY, "rateLimitExceeded"},
        {403, "userRateLimitExceeded", "", "read", REMOTE_WAIT, ERR_RETRY, "403"},
        {404, "notFound", "The specified bucket does not exist.", "write", REMOTE_BAD, ERR_NOTFOUND,
         "bucket bkt does not exist; tradewind init creates it"},
        {404, NULL, "No such object: bkt/a/key", "read", REMOTE_BAD, ERR_NOTFOUND,
         "gs://bkt/a/key does not exist"},
        {404, NULL, "The specified bucket does not exist.", "read", REMOTE_BAD, ERR_NOTFOUND,
         "bucket bkt does not exist"},
        {408, NULL, "", "write", REMOTE_WAIT, ERR_RETRY, "408"},
        {412, "conditionNotMet", "", "write", REMOTE_BAD, ERR_IO, "412 conditionNotMet"},
        {416, NULL, "no range", "read", REMOTE_BAD, ERR_IO, "too short"},
        {429, "rateLimitExceeded", "", "write", REMOTE_WAIT, ERR_RETRY, "429"},
        {502, NULL, "<html>Bad gateway</html>", "read", REMOTE_WAIT, ERR_RETRY, "answers 502"},
        {503, "backendError", "", "read", REMOTE_WAIT, ERR_RETRY, "503"},
        {308, NULL, "", "write", REMOTE_BAD, ERR_IO, "308"},
    };
    char bucket[] = "bkt", shown[] = "gs://bkt";
    struct gs g = {0};
    struct remote r = {.bucket = bucket,
                       .shown = shown,
                       .service = store_gs_driver.service,
                       .own = &g,
                       .lock = PTHREAD_MUTEX_INITIALIZER};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct remote_call c = {.operation = cases[i].operation, .method = "GET", .key = "a/key"};
        AUTO_MEM char *body =
            cases[i].reason
                ? mem_printf("{\"error\":{\"code\":%d,\"message\":\"%s\",\"errors\":[{\"reason\":"
                             "\"%s\"}]}}",
                             cases[i].status, cases[i].message, cases[i].reason)
                : mem_dup(cases[i].message);
        struct remote_answer answer = {
            .http = {.status = cases[i].status, .body = body, .body_bytes = strlen(body)}};
        CHECK(gs_judge(&r, &c, &answer, &e) == cases[i].verdict && e.kind == cases[i].kind &&
                  strstr(e.text, cases[i].words) && !strstr(e.text, "<html>"),
              "%d %s: %s", cases[i].status, cases[i].reason ? cases[i].reason : "-", e.text);
    }
    struct remote_call session = {.operation = "write", .method = "PUT", .key = "k", .url = "http"};
    char empty[] = "";
    struct remote_answer goes_on = {.http = {.status = 308, .body = empty}};
    struct remote_answer gone = {.http = {.status = 410, .body = empty}};
    struct err e = {0};
    CHECK(gs_judge(&r, &session, &goes_on, &e) == REMOTE_GOOD, "308: an upload goes on");
    CHECK(gs_judge(&r, &session, &gone, &e) == REMOTE_BAD && strcmp(gone.code, "NoSuchUpload") == 0,
          "410: the session is gone");
}

static void check_objects(void)
{
    static const struct {
        const char *json;
        bool good;
    } cases[] = {
        {"{\"size\":\"12\",\"generation\":\"1700000000000000\",\"crc32c\":\"Nks/tw==\"}", true},
        {"{\"size\":\"12\",\"generation\":\"1\"}", true},
        {"{\"size\":12,\"generation\":\"1\"}", false},
        {"{\"size\":\"-1\",\"generation\":\"1\"}", false},
        {"{\"size\":\"1x\",\"generation\":\"1\"}", false},
        {"{\"size\":\"99999999999999999999\",\"generation\":\"1\"}", false},
        {"{\"size\":\"1\",\"generation\":\"1&x=y\"}", false},
        {"{\"size\":\"1\",\"generation\":\"111111111111111111111111111111111111111111\"}", false},
        {"{\"size\":\"1\"", false},
        {"<html>", false},
        {"", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gs_object o = {0};
        struct err e = {0};
        int result = gs_read_object(cases[i].json, strlen(cases[i].json), &o, &e);
        CHECK((result == 0) == cases[i].good && (cases[i].good || e.kind == ERR_IO), "object %zu",
              i);
        if (i == 0)
            CHECK(o.size == 12 && strcmp(o.generation, "1700000000000000") == 0 &&
                      strcmp(o.crc32c, "Nks/tw==") == 0,
                  "has all of it");
    }
}

/* ---- tokens ---- */

struct script {
    unsigned tokens;
    char seen[400]; /* what was asked, in short */
};

/* Gives tokens t1, t2 ...; takes t2 alone. */
static bool say(void *context, const struct server_request *r, int fd)
{
    struct script *s = context;
    char body[200];
    size_t n = strlen(s->seen);

    if (strcmp(r->path, "/token") == 0) {
        int len = snprintf(body, sizeof body, "{\"access_token\":\"t%u\",\"expires_in\":3600}",
                           ++s->tokens);
        snprintf(s->seen + n, sizeof s->seen - n, "token ");
        server_reply(fd, 200, "", body, (size_t)len);
        return true;
    }
    bool good = server_has(r, "Authorization: Bearer t2");
    snprintf(s->seen + n, sizeof s->seen - n, "%s ", good ? "taken" : "refused");
    int len = snprintf(body, sizeof body, "{\"size\":\"1\",\"generation\":\"7\"}");
    server_reply(fd, good ? 200 : 401, "", good ? body : "{}", good ? (size_t)len : 2);
    return true;
}

static int put_one(const struct server *server, struct err *e)
{
    AUTO(store)
    struct store *s = store_open(
        &(struct store_settings){
            .url = "gs://bkt", .endpoint = server_url(server), .path_style = -1, .seed = 1},
        e);
    struct remote_call call = {.body = "x", .body_bytes = 1};

    return s ? remote_put_once(s->priv, "key", &call, e) : -1;
}

static void check_turns(void)
{
    struct script script = {0};
    struct server *server = server_start(say, &script);
    char path[] = "/tmp/tradewind-gs-XXXXXX";
    int fd = mkstemp(path);
    struct err e = {0};

    dprintf(fd,
            "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
            "\"refresh_token\":\"r\",\"token_uri\":\"%s/token\"}",
            server_url(server));
    close(fd);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", path, 1);
    CHECK(put_one(server, &e) == 0 && strcmp(script.seen, "token refused token taken ") == 0,
          "a refused token is renewed once: %s %s", script.seen, e.text);
    script = (struct script){.tokens = 5};
    CHECK(put_one(server, &e) < 0 && e.kind == ERR_DENIED &&
              strcmp(script.seen, "token refused token refused ") == 0,
          "and not again: %s %s", script.seen, e.text);
    unlink(path);
    server_stop(server);
}

int main(void)
{
    check_urls();
    check_bases();
    check_judging();
    check_objects();
    check_turns();
    return TAP_DONE();
}
