/* Requests against a server that answers in every way, and in none. */
#include "base/mem.h"
#include "base/time.h"
#include "net/http.h"
#include "server.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LARGE ((size_t)3 << 20)
#define THREADS 16
#define ROUNDS 10

static struct http *client;
static struct server *server;
static char *large;

/* "METHOD PATH\n", the request's headers, an empty line, its body. */
static void echo(const struct server_request *r, int fd)
{
    AUTO_MEM char *head = mem_printf("%s %s\n%s\n", r->method, r->path, r->headers);

    server_print(fd,
                 "HTTP/1.1 200 OK\r\nX-Two-Words:  a  b \r\nETag: \"e\"\r\nContent-Length: %zu"
                 "\r\n\r\n",
                 strlen(head) + r->body_bytes);
    server_write(fd, head, strlen(head));
    server_write(fd, r->body, r->body_bytes);
}

static bool answer_headers(int fd, unsigned n, size_t value_len)
{
    AUTO_MEM char *value = mem_zero(value_len + 1, 1);

    memset(value, 'v', value_len);
    server_print(fd, "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i < n; i++) {
        server_print(fd, "X-%u: ", i);
        server_write(fd, value, value_len);
        server_print(fd, "\r\n");
    }
    server_print(fd, "Content-Length: 0\r\n\r\n");
    return true;
}

/* Answers that are not whole. */
static bool answer_badly(const char *path, int fd)
{
    if (strncmp(path, "/cut?", 5) == 0 || strcmp(path, "/cut") == 0)
        server_print(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
    else if (strcmp(path, "/cut-head") == 0)
        server_print(fd, "HTTP/1.1 200 OK\r\nContent-Le");
    else if (strcmp(path, "/garbage") == 0)
        server_print(fd, "SSH-2.0-OpenSSH_9.2p1\r\n");
    else if (strcmp(path, "/stall") == 0)
        server_print(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
    if (strcmp(path, "/slow") == 0 || strcmp(path, "/stall") == 0)
        server_hang(fd);
    return false;
}

static bool answer(void *context, const struct server_request *r, int fd)
{
    (void)context;
    if (strncmp(r->path, "/status/", 8) == 0) {
        server_reply(fd, (int)strtol(r->path + 8, NULL, 10), "", "why not", 7);
    } else if (strcmp(r->path, "/large") == 0) {
        server_reply(fd, 200, "", large, LARGE);
    } else if (strcmp(r->path, "/pieces") == 0) {
        server_print(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n");
    } else if (strcmp(r->path, "/early") == 0) {
        server_print(fd, "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
        server_reply(fd, 200, "X-Late: 2\r\n", "ok", 2);
    } else if (strcmp(r->path, "/headers/100") == 0) {
        return answer_headers(fd, 99, 10);
    } else if (strcmp(r->path, "/headers/101") == 0) {
        return answer_headers(fd, 100, 10);
    } else if (strcmp(r->path, "/headers/long") == 0) {
        return answer_headers(fd, 2, 40000);
    } else if (strcmp(r->path, "/moved") == 0) {
        server_reply(fd, 302, "Location: /status/200\r\n", "", 0);
    } else if (strcmp(r->path, "/head") == 0) {
        server_print(fd, "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
    } else if (strcmp(r->path, "/stale") == 0 && r->nth > 1) {
        return false;
    } else if (strncmp(r->path, "/cut", 4) == 0 || strcmp(r->path, "/slow") == 0 ||
               strcmp(r->path, "/garbage") == 0 || strcmp(r->path, "/stall") == 0) {
        return answer_badly(r->path, fd);
    } else {
        echo(r, fd);
    }
    return true;
}

/* Sends to this path of the server; the URL is gone afterwards. */
static int to(const char *path, struct http_request r, struct http_answer *a, struct err *e)
{
    AUTO_MEM char *url = mem_printf("%s%s", server_url(server), path);

    r.url = url;
    if (!r.method)
        r.method = "GET";
    if (r.max_answer_bytes == 0)
        r.max_answer_bytes = 100000;
    if (r.timeout_s == 0)
        r.timeout_s = 20;
    *e = (struct err){0};
    return http_send(client, &r, a, e);
}

static bool body_has(const struct http_answer *a, const char *text)
{
    return a->body && strcasestr(a->body, text);
}

static void check_methods(void)
{
    static const char *const headers[] = {"X-One: 1", "X-Empty;", "Content-Type: text/x", NULL};
    struct http_answer a;
    struct err e;

    CHECK(to("/a/../b//c%20d?x=%2F&y", (struct http_request){.headers = headers}, &a, &e) == 0 &&
              a.status == 200,
          "GET %s", e.text);
    CHECK(body_has(&a, "GET /a/../b//c%20d?x=%2F&y\n"), "the path is sent as it is");
    CHECK(body_has(&a, "\nX-One: 1\r\n") && body_has(&a, "\nX-Empty:\r\n"), "headers are sent");
    CHECK(body_has(&a, "\nUser-Agent: tradewind/"), "we say who we are");
    CHECK(!body_has(&a, "Content-Length") && !body_has(&a, "Transfer-Encoding"), "without a body");
    CHECK(http_answer_header(&a, "etag") && strcmp(http_answer_header(&a, "etag"), "\"e\"") == 0 &&
              strcmp(http_answer_header(&a, "x-two-words"), "a  b") == 0,
          "the answer's headers");
    CHECK(!http_answer_header(&a, "ETag") && !http_answer_header(&a, "x-none"), "by their names");
    http_answer_clear(&a);
    CHECK(!a.body && !a.headers, "cleared");
    CHECK(to("/x", (struct http_request){.method = "PUT", .body = "hello", .body_bytes = 5}, &a,
             &e) == 0 &&
              body_has(&a, "PUT /x\n") && body_has(&a, "Content-Length: 5\r\n") &&
              body_has(&a, "\r\n\nhello"),
          "PUT %s", e.text);
    CHECK(!body_has(&a, "Expect:") && !body_has(&a, "Content-Type:"), "nothing we did not ask for");
    http_answer_clear(&a);
    CHECK(to("/x", (struct http_request){.method = "PUT"}, &a, &e) == 0 &&
              body_has(&a, "Content-Length: 0\r\n"),
          "PUT of nothing has a length");
    http_answer_clear(&a);
    CHECK(to("/x", (struct http_request){.method = "POST", .body = "a\0b", .body_bytes = 3}, &a,
             &e) == 0 &&
              body_has(&a, "POST /x\n") && !body_has(&a, "Content-Type:") &&
              memcmp(a.body + a.body_bytes - 3, "a\0b", 4) == 0,
          "POST %s", e.text);
    http_answer_clear(&a);
    CHECK(to("/x", (struct http_request){.method = "DELETE"}, &a, &e) == 0 &&
              body_has(&a, "DELETE /x\n"),
          "DELETE %s", e.text);
    http_answer_clear(&a);
    CHECK(to("/head", (struct http_request){.method = "HEAD"}, &a, &e) == 0 && a.status == 200 &&
              a.body_bytes == 0 && strcmp(http_answer_header(&a, "content-length"), "12345") == 0,
          "HEAD has headers and no body %s", e.text);
    http_answer_clear(&a);
}

static void check_answers(void)
{
    static const int codes[] = {200, 206, 301, 400, 403, 404, 412, 429, 500, 503};
    struct http_answer a;
    struct err e;
    char path[32];

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        snprintf(path, sizeof path, "/status/%d", codes[i]);
        CHECK(to(path, (struct http_request){0}, &a, &e) == 0 && a.status == codes[i] &&
                  strcmp(a.body, "why not") == 0,
              "status %d is an answer", codes[i]);
        http_answer_clear(&a);
    }
    CHECK(to("/moved", (struct http_request){0}, &a, &e) == 0 && a.status == 302 &&
              strcmp(http_answer_header(&a, "location"), "/status/200") == 0 && a.body &&
              a.body_bytes == 0,
          "redirects are not followed");
    http_answer_clear(&a);
    CHECK(to("/pieces", (struct http_request){0}, &a, &e) == 0 && strcmp(a.body, "abcde") == 0,
          "a body in pieces");
    http_answer_clear(&a);
    CHECK(to("/early", (struct http_request){.method = "PUT"}, &a, &e) == 0 && a.status == 200 &&
              http_answer_header(&a, "x-late") && !http_answer_header(&a, "x-early"),
          "an interim answer is not the answer");
    http_answer_clear(&a);
    CHECK(to("/headers/100", (struct http_request){0}, &a, &e) == 0 && a.n_headers == 100,
          "100 headers");
    http_answer_clear(&a);
    CHECK(to("/headers/101", (struct http_request){0}, &a, &e) < 0 && e.kind == ERR_IO, "%s",
          e.text);
    CHECK(!a.headers && !a.body, "nothing is left of it");
    CHECK(to("/headers/long", (struct http_request){0}, &a, &e) < 0 && e.kind == ERR_IO, "%s",
          e.text);
    CHECK(to("/large", (struct http_request){.max_answer_bytes = LARGE - 1}, &a, &e) < 0 &&
              e.kind == ERR_IO && strstr(e.text, "limit of 3145727 bytes"),
          "%s", e.text);
    CHECK(to("/large", (struct http_request){.max_answer_bytes = LARGE}, &a, &e) == 0 &&
              a.body_bytes == LARGE && memcmp(a.body, large, LARGE) == 0,
          "the limit itself is allowed");
    http_answer_clear(&a);
}

/* The body's bytes, counted down to a failure. */
struct flow {
    unsigned calls_left; /* 0 = fails now */
    uint64_t got_bytes;
    bool same;
};

static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct flow *f = context;

    if (f->calls_left-- == 0)
        return err_set(e, ERR_NOFIT, "no more to give");
    memcpy(bytes, large + offset, n);
    return 0;
}

static int sink(void *context, const void *bytes, size_t n, struct err *e)
{
    struct flow *f = context;

    if (f->calls_left-- == 0)
        return err_set(e, ERR_NOFIT, "no more room");
    f->same &= f->got_bytes + n <= LARGE && memcmp(large + f->got_bytes, bytes, n) == 0;
    f->got_bytes += n;
    return 0;
}

static void check_flows(void)
{
    struct flow f = {.calls_left = 100000, .same = true};
    struct http_request get = {.sink = sink, .context = &f, .max_answer_bytes = 1000};
    struct http_request put = {.method = "PUT",
                               .pull = pull,
                               .context = &f,
                               .body_bytes = LARGE,
                               .max_answer_bytes = 2 * LARGE};
    struct http_answer a;
    struct err e;

    CHECK(to("/large", get, &a, &e) == 0 && f.same && f.got_bytes == LARGE && a.body_bytes == 0 &&
              strcmp(a.body, "") == 0,
          "a body into a sink %s", e.text);
    http_answer_clear(&a);
    f = (struct flow){.calls_left = 0};
    CHECK(to("/status/404", get, &a, &e) == 0 && strcmp(a.body, "why not") == 0,
          "of a success only");
    http_answer_clear(&a);
    CHECK(to("/large", get, &a, &e) < 0 && e.kind == ERR_NOFIT &&
              strcmp(e.text, "no more room") == 0,
          "a sink's error is ours");
    f = (struct flow){.calls_left = 2, .same = true};
    CHECK(to("/large", get, &a, &e) < 0 && e.kind == ERR_NOFIT, "also in the middle");
    f = (struct flow){.calls_left = 100000};
    CHECK(to("/x", put, &a, &e) == 0 && a.body_bytes > LARGE &&
              memcmp(a.body + a.body_bytes - LARGE, large, LARGE) == 0,
          "a body from a callback %s", e.text);
    http_answer_clear(&a);
    f = (struct flow){.calls_left = 2};
    CHECK(to("/x", put, &a, &e) < 0 && e.kind == ERR_NOFIT &&
              strcmp(e.text, "no more to give") == 0,
          "its error is ours");
}

static void check_trouble(void)
{
    static const struct {
        const char *path;
        double timeout_s, stall_s;
        enum err_kind kind;
    } cases[] = {
        {"/cut?X-Amz-Signature=topsecret", 0, 0, ERR_RETRY},
        {"/cut", 0, 0, ERR_RETRY},
        {"/cut-head", 0, 0, ERR_RETRY},
        {"/cut-all", 0, 0, ERR_RETRY},
        {"/garbage", 0, 0, ERR_IO},
        {"/slow", 0.2, 0, ERR_RETRY},
        {"/stall", 20, 1, ERR_RETRY},
    };
    struct http_answer a;
    struct err e;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_request r = {.timeout_s = cases[i].timeout_s, .stall_s = cases[i].stall_s};
        CHECK(to(cases[i].path, r, &a, &e) < 0 && e.kind == cases[i].kind, "%s", e.text);
        CHECK(!strstr(e.text, "topsecret"), "no query in the text");
    }
}

static int send_to(const char *url, const char *const *headers, struct err *e)
{
    struct http_answer a;
    const struct http_request r = {.method = "GET", .url = url, .headers = headers, .timeout_s = 5};

    *e = (struct err){0};
    int result = http_send(client, &r, &a, e);
    http_answer_clear(&a);
    return result;
}

static void check_refused(void)
{
    static const char *const broken[] = {"X-A: topsecret\r\nX-B: 2", NULL};
    struct err e;

    CHECK(send_to("ftp://example.org/", NULL, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(send_to("file:///etc/passwd", NULL, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(send_to("http://127.0.0.1/a b", NULL, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(send_to("http://127.0.0.1/\r\nX: y", NULL, &e) < 0 && e.kind == ERR_USAGE, "CR LF");
    CHECK(send_to("http://127.0.0.1:1/", broken, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "X-A") && !strstr(e.text, "topsecret"),
          "%s", e.text);
    /* Port 1 of this machine: nobody listens there. */
    CHECK(send_to("http://me:topsecret@127.0.0.1:1/x?y=topsecret#topsecret", NULL, &e) < 0 &&
              e.kind == ERR_RETRY && strstr(e.text, "http://127.0.0.1:1/x: ") &&
              !strstr(e.text, "topsecret"),
          "%s", e.text);
}

static void check_reuse(void)
{
    struct flow f = {.calls_left = 100000};
    struct http_answer a;
    struct err e;
    struct http_request put = {.method = "PUT",
                               .pull = pull,
                               .context = &f,
                               .body_bytes = LARGE,
                               .max_answer_bytes = 2 * LARGE};

    to("/status/200", (struct http_request){0}, &a, &e);
    http_answer_clear(&a);
    unsigned before = server_connections(server);
    for (int i = 0; i < 20; i++) {
        to(i % 2 ? "/status/200" : "/status/404", (struct http_request){0}, &a, &e);
        http_answer_clear(&a);
    }
    CHECK(server_connections(server) == before, "20 requests on one connection");
    CHECK(to("/stale", put, &a, &e) == 0 && a.status == 200 &&
              memcmp(a.body + a.body_bytes - LARGE, large, LARGE) == 0,
          "a kept connection that turns out closed: the body goes out again %s", e.text);
    CHECK(server_connections(server) == before + 1, "on another one");
    http_answer_clear(&a);
}

static void *many(void *context)
{
    bool *good = context;

    *good = true;
    for (int i = 0; i < ROUNDS; i++) {
        struct flow f = {.calls_left = 100000, .same = true};
        struct http_answer a;
        struct err e;
        *good &= to("/large", (struct http_request){.sink = sink, .context = &f}, &a, &e) == 0 &&
                 f.same && f.got_bytes == LARGE;
        http_answer_clear(&a);
        *good &= to("/x",
                    (struct http_request){
                        .method = "PUT", .pull = pull, .context = &f, .body_bytes = 50000},
                    &a, &e) == 0 &&
                 memcmp(a.body + a.body_bytes - 50000, large, 50000) == 0;
        http_answer_clear(&a);
        http_wait(client, 2, 1e-4, 1e-3);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    bool good[THREADS];
    unsigned before = server_connections(server), n_good = 0;

    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, many, &good[i]) != 0)
            exit(EXIT_FAILURE);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        n_good += good[i];
    }
    CHECK(n_good == THREADS, "%d threads at once, %d requests each", THREADS, 2 * ROUNDS);
    CHECK(server_connections(server) - before <= THREADS, "%u new connections",
          server_connections(server) - before);
}

static void check_wait(void)
{
    static const struct {
        unsigned n;
        double first_s, max_s, least_s;
    } cases[] = {{2, 0.02, 9, 0.01}, {4, 0.02, 9, 0.04}, {4000, 0.02, 0.05, 0.025}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double begin = time_monotonic_s();
        http_wait(client, cases[i].n, cases[i].first_s, cases[i].max_s);
        double took = time_monotonic_s() - begin;
        CHECK(took >= cases[i].least_s && took < 5, "before try %u: %.3f s", cases[i].n, took);
    }
}

/* Nothing goes to another machine in the clear, unless that is allowed. */
static void check_exposed(void)
{
    static const struct {
        const char *url;
        bool is_exposed;
    } urls[] = {
        {"https://example.org/", false},
        {"file:///etc/hosts", false},
        {"http://127.0.0.1:80/x", false},
        {"HTTP://LOCALHOST/", false},
        {"http://u:p@[::1]:9000/", false},
        {"http://bucket.localhost:9000/", false},
        {"http://notlocalhost/", true},
        {"http://.localhost.example.org/", true},
        {"http://example.org/", true},
        {"HTTP://example.org/", true},
        {"http://127.0.0.1@example.org/", true},
        {"http://127.0.0.1.example.org/", true},
        {"http://localhost.example.org/", true},
        {"http://example.org#@127.0.0.1/", true},
        {"http:///127.0.0.1/", true},
        {"http://10.0.0.1/", true},
        {"http://0.0.0.0/", true},
        {"http://169.254.169.254/latest/meta-data/", true},
        {"http://[fd00:ec2::254]/", true},
    };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        CHECK(http_is_exposed(urls[i].url) == urls[i].is_exposed, "%s: %s", urls[i].url,
              urls[i].is_exposed ? "exposed" : "not exposed");
    struct http_request r = {
        .method = "GET", .url = "http://u:secret@0.0.0.0:1/x?key=secret", .timeout_s = 5};
    struct http_answer a;
    struct err e = {0};
    CHECK(http_send(client, &r, &a, &e) < 0 && e.kind == ERR_USAGE && !strstr(e.text, "secret") &&
              strstr(e.text, "http://0.0.0.0:1/x") && strstr(e.text, "--insecure"),
          "a request in the clear is refused: %s", e.text);
    setenv("TRADEWIND_INSECURE", "1", 1);
    CHECK(http_send(client, &r, &a, &e) < 0 && e.kind == ERR_RETRY, "the environment allows it: %s",
          e.text);
    unsetenv("TRADEWIND_INSECURE");
    r.url = "http://169.254.255.254:1/";
    r.timeout_s = 0.1;
    CHECK(http_send(client, &r, &a, &e) < 0 && e.kind == ERR_USAGE,
          "an address of the link is another machine: %s", e.text);
    r.is_link_local = true;
    r.max_answer_bytes = 1 << 20;
    e = (struct err){0};
    if (http_send(client, &r, &a, &e) == 0)
        http_answer_clear(&a);
    CHECK(e.kind != ERR_USAGE, "unless a service of the cloud is asked there: %s", e.text);
    r.url = "http://0.0.0.0:1/";
    CHECK(http_send(client, &r, &a, &e) < 0 && e.kind == ERR_USAGE, "and nowhere else: %s", e.text);
    http_allow_exposed(client);
    CHECK(http_send(client, &r, &a, &e) < 0 && e.kind == ERR_RETRY, "or the client may: %s",
          e.text);
}

int main(void)
{
    struct err e = {0};

    /* Nobody is there: this machine's own addresses are not asked through it. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    client = http_new(1, &e);
    if (!client)
        return TAP_SKIP_ALL("libcurl is not installed");
    large = mem_zero(LARGE, 1);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 2654435761u >> 13);
    server = server_start(answer, NULL);
    check_methods();
    check_answers();
    check_flows();
    check_trouble();
    check_refused();
    check_reuse();
    check_threads();
    check_wait();
    check_exposed();
    http_free(client);
    server_stop(server);
    free(large);
    return TAP_DONE();
}
