/* Requests that are sent again, against a server that fails as often as its path says. */
#include "base/mem.h"
#include "base/time.h"
#include "net/retry.h"
#include "server.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct http *client;
static struct server *server;
static unsigned asked;

/* "/STATUS/N": that status N times, then 200. */
static bool answer(void *context, const struct server_request *r, int fd)
{
    char *end;
    long status = strtol(r->path + 1, &end, 10), times = strtol(end + 1, NULL, 10);

    (void)context;
    if (++asked <= (unsigned)times)
        server_reply(fd, (int)status, server_has(r, "Ask: wait") ? "Retry-After: 1\r\n" : "",
                     "<html>", 6);
    else
        server_reply(fd, 200, "", "fine", 4);
    return true;
}

static int send(const char *path, const char *header, const struct retry *how, struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer out = {0};
    AUTO_MEM char *url = mem_printf("%s%s", server_url(server), path);
    const char *headers[] = {header, NULL};
    const struct http_request r = {
        .method = "GET", .url = url, .headers = headers, .max_answer_bytes = 100, .timeout_s = 10};

    asked = 0;
    int result = retry_send(client, &r, how, &out, e);
    CHECK((result == 0) == (out.body && strcmp(out.body, "fine") == 0), "%s: the answer", path);
    return result;
}

static void check_verdicts(void)
{
    static const struct {
        const char *path;
        enum err_kind kind;
        unsigned asked;
    } cases[] = {
        {"/200/0", ERR_NONE, 1},     {"/429/1", ERR_NONE, 2},     {"/500/2", ERR_NONE, 3},
        {"/502/2", ERR_NONE, 3},     {"/503/9", ERR_RETRY, 3},    {"/408/1", ERR_NONE, 2},
        {"/404/1", ERR_NOTFOUND, 1}, {"/410/1", ERR_NOTFOUND, 1}, {"/401/1", ERR_DENIED, 1},
        {"/403/1", ERR_DENIED, 1},   {"/400/1", ERR_IO, 1},       {"/302/1", ERR_IO, 1},
    };
    const struct retry how = {
        .tries = 3, .first_wait_s = 0.001, .max_wait_s = 0.01, .longest_s = 9};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        send(cases[i].path, NULL, &how, &e);
        CHECK(e.kind == cases[i].kind && asked == cases[i].asked, "%s: %u times, %s", cases[i].path,
              asked, e.text);
    }
}

static bool is_cancelled(void *context)
{
    (void)context;
    return true;
}

static void check_waiting(void)
{
    struct retry how = {.tries = 3, .first_wait_s = 0.001, .max_wait_s = 0.01, .longest_s = 9};
    struct err e = {0};
    double began_s = time_monotonic_s();

    CHECK(send("/503/1", "Ask: wait", &how, &e) == 0 && time_monotonic_s() - began_s >= 1,
          "Retry-After is a floor");
    how.longest_s = 0.5;
    CHECK(send("/503/1", "Ask: wait", &how, &e) < 0 && e.kind == ERR_RETRY && asked == 1 &&
              strstr(e.text, "asks to wait 1.0 s"),
          "a wait beyond the longest ends it: %s", e.text);
    how.longest_s = 9;
    how.cancelled = is_cancelled;
    CHECK(send("/503/1", NULL, &how, &e) < 0 && asked == 1 && strstr(e.text, "interrupted"),
          "cancelled while it waits: %s", e.text);
}

static void check_retry_after(void)
{
    static const struct {
        const char *text;
        double s;
    } cases[] = {
        {"3", 3},
        {"0", 0},
        {"-3", 0},
        {"soon", 0},
        {"", 0},
        /* 2026-11-15T22:36:00Z is 1794782160 */
        {"Sun, 15 Nov 2026 22:36:00 GMT", 60},
        {"Sun, 15 Nov 2026 22:34:00 GMT", 0},
    };
    char name[] = "retry-after";

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_MEM char *value = mem_dup(cases[i].text);
        struct http_header header = {name, value};
        struct http_answer a = {.headers = &header, .n_headers = 1};
        double s = retry_after_s(&a, INT64_C(1794782100000));
        CHECK(s == cases[i].s, "\"%s\": %g s", cases[i].text, s);
    }
    CHECK(retry_after_s(&(struct http_answer){0}, 0) == 0, "no header");
}

struct turning {
    unsigned prepared;
};

static int prepare(void *context, unsigned n, struct http_request *r, struct err *e)
{
    struct turning *t = context;

    (void)r;
    t->prepared = n;
    return n > 5 ? err_set(e, ERR_USAGE, "too often") : 0;
}

static enum retry_verdict turn(void *context,
                               const struct http_request *r,
                               const struct http_answer *a,
                               struct err *e)
{
    (void)context;
    return retry_judge(r, a, e) == RETRY_GOOD ? RETRY_GOOD : RETRY_AT_ONCE;
}

static void check_turning(void)
{
    struct turning t = {0};
    const struct retry how = {.tries = 9, .judge = turn, .prepare = prepare, .context = &t};
    struct err e = {0};

    CHECK(send("/400/1", NULL, &how, &e) == 0 && t.prepared == 2, "made anew once");
    CHECK(send("/400/2", NULL, &how, &e) < 0 && asked == 2 && e.kind == ERR_IO, "but not twice: %s",
          e.text);
}

int main(void)
{
    struct err e = {0};

    client = http_new(1, &e);
    if (!client) {
        printf("1..0 # SKIP %s\n", e.text);
        return 0;
    }
    server = server_start(answer, NULL);
    check_verdicts();
    check_waiting();
    check_retry_after();
    check_turning();
    server_stop(server);
    http_free(client);
    return TAP_DONE();
}
