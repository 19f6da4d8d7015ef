/* The aggregator as an HTTP server, for Cloud Run, Azure Functions and one's own machines.
 * main.c calls it. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "fed/function/invoke.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define IDLE_S 60
/* Connections that have not shown a token yet: so many, for so long. Each has
 * a thread and this memory, about 40 KiB in all. */
#define STRANGERS_MAX 128
#define STRANGER_S 10
#define CONNECTION_BYTES ((size_t)16 << 10)
/* Of all bodies that are being received. */
#define BODIES_BYTES ((size_t)4 << 20)
/* When we are told to end, what is under way may take so long; Cloud Run waits ten seconds. */
#define END_S 9
#define RETRY_AFTER "5"
/* Versions of the library differ in the names of these. */
#define TOO_LARGE 413
#define REFUSED 422

struct client {
    MHD_socket fd;
    double since_s;
    bool is_there;
    bool is_stranger; /* sent no request with the token yet */
};

struct server {
    struct function *function;
    atomic_uint active;         /* requests that are being answered */
    atomic_size_t bodies_bytes; /* promised to bodies */
    pthread_mutex_t lock;       /* of all below */
    struct client clients[CONNECTIONS_MAX];
};

/* A body that is being received. */
struct upload {
    struct buf bytes;
    size_t promised;
};

/* ---- strangers ---- */

/* Ends a stranger's connection; its thread notices and forgets it. With the lock held. */
static void turn_away(struct client *c)
{
    c->is_stranger = false;
    shutdown(c->fd, SHUT_RDWR);
}

/* With the lock held: at most so many strangers stay, the latest ones. */
static void keep_strangers(struct server *s, size_t most)
{
    for (;;) {
        struct client *oldest = NULL;
        size_t n = 0;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            struct client *c = &s->clients[i];
            if (!c->is_there || !c->is_stranger)
                continue;
            n++;
            if (!oldest || c->since_s < oldest->since_s)
                oldest = c;
        }
        if (n <= most)
            return;
        turn_away(oldest);
    }
}

static void end_overdue(struct server *s)
{
    double now_s = time_monotonic_s();

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct client *c = &s->clients[i];
        if (c->is_there && c->is_stranger && now_s - c->since_s > STRANGER_S)
            turn_away(c);
    }
    pthread_mutex_unlock(&s->lock);
}

static void meet(void *context,
                 struct MHD_Connection *c,
                 void **client,
                 enum MHD_ConnectionNotificationCode code)
{
    struct server *s = context;
    struct client *gone = *client;

    pthread_mutex_lock(&s->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct client *free_one = s->clients;
        while (free_one < s->clients + CONNECTIONS_MAX && free_one->is_there)
            free_one++;
        if (info && free_one < s->clients + CONNECTIONS_MAX) {
            *free_one = (struct client){info->connect_fd, time_monotonic_s(), true, true};
            *client = free_one;
            keep_strangers(s, STRANGERS_MAX);
        }
    } else if (gone) {
        gone->is_there = false;
    }
    pthread_mutex_unlock(&s->lock);
}

/* It sent the token, and may stay. */
static void trust(struct server *s, struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct client *client = info ? info->socket_context : NULL;

    pthread_mutex_lock(&s->lock);
    if (client)
        client->is_stranger = false;
    pthread_mutex_unlock(&s->lock);
}

/* ---- requests ---- */

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *text)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(strlen(text), mem_dup(text), MHD_RESPMEM_MUST_FREE);

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "application/json");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, "Retry-After", RETRY_AFTER);
    /* CloudEvents' way to ask whether we want them; Event Grid does. */
    if (status == MHD_HTTP_OK && header(c, "WebHook-Request-Origin")) {
        MHD_add_response_header(r, "WebHook-Allowed-Origin", header(c, "WebHook-Request-Origin"));
        MHD_add_response_header(r, "WebHook-Allowed-Rate", "*");
    }
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

/* Events that fail again are not wanted again: Google delivers until the answer is a good one,
 * Event Grid and workers take a refusal for an answer. */
static unsigned status_of(const struct function_result *r)
{
    if (!r->readable)
        return MHD_HTTP_BAD_REQUEST;
    if (!r->why.kind)
        return MHD_HTTP_OK;
    if (r->why.kind != ERR_USAGE)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    return r->sender == FED_SENDER_GOOGLE  ? MHD_HTTP_OK
           : r->sender == FED_SENDER_AZURE ? MHD_HTTP_BAD_REQUEST
                                           : REFUSED;
}

static bool is_allowed(const struct function *f, struct MHD_Connection *c)
{
    static const char bearer[] = "Bearer ";
    const char *token = f->settings.token, *given = header(c, "Authorization");

    if (!token)
        return true;
    if (!given || strncmp(given, bearer, strlen(bearer)) != 0)
        return false;
    given += strlen(bearer);
    return strlen(given) == strlen(token) && CRYPTO_memcmp(given, token, strlen(token)) == 0;
}

static enum MHD_Result answer(struct function *f, struct MHD_Connection *c, const struct buf *body)
{
    AUTO_CLEAR(function_result) struct function_result result = {0};
    struct function_message m = {
        .type = header(c, "ce-type"),
        .subject = header(c, "ce-subject"),
        .body = buf_str(body),
        .n = body->len,
    };

    function_invoke(f, &m, &result);
    if (result.why.kind)
        log_warn("aggregator", "%s", result.why.text);
    AUTO_MEM char *text = json_dumps(result.answer, JSON_COMPACT);
    return reply(c, status_of(&result), text);
}

/* The length of the body as its header has it; a body in chunks may have as much as any. */
static size_t announced(struct MHD_Connection *c)
{
    const char *text = header(c, "Content-Length");
    unsigned long long n = text ? strtoull(text, NULL, 10) : FED_EVENT_BODY_MAX;

    return n > FED_EVENT_BODY_MAX ? FED_EVENT_BODY_MAX + 1 : (size_t)n;
}

/* Judges a request by its headers, before anything of its body is read. */
static enum MHD_Result begin(struct server *s, struct MHD_Connection *c, struct upload **out)
{
    size_t n = announced(c);

    if (!is_allowed(s->function, c))
        return reply(c, MHD_HTTP_UNAUTHORIZED, "{\"error\":\"the token is missing or wrong\"}");
    trust(s, c);
    if (n > FED_EVENT_BODY_MAX)
        return reply(c, TOO_LARGE, "{\"error\":\"the event is too large\"}");
    if (atomic_fetch_add(&s->bodies_bytes, n) + n > BODIES_BYTES) {
        s->bodies_bytes -= n;
        return reply(c, MHD_HTTP_SERVICE_UNAVAILABLE, "{\"error\":\"too many events at once\"}");
    }
    *out = mem_zero(1, sizeof **out);
    (*out)->promised = n;
    buf_init(&(*out)->bytes, FED_EVENT_BODY_MAX);
    return MHD_YES;
}

static enum MHD_Result serve(void *context,
                             struct MHD_Connection *c,
                             const char *url,
                             const char *method,
                             const char *version,
                             const char *bytes,
                             size_t *n,
                             void **state)
{
    struct server *s = context;
    struct upload *upload = *state;

    (void)url;
    (void)version;
    if (strcmp(method, "POST") != 0)
        return strcmp(method, "GET") == 0 || strcmp(method, "OPTIONS") == 0 ||
                       strcmp(method, "HEAD") == 0
                   ? reply(c, MHD_HTTP_OK, "{\"ready\":true}")
                   : reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, "{\"error\":\"send events by POST\"}");
    if (!upload)
        return begin(s, c, (struct upload **)state);
    if (*n) {
        buf_add(&upload->bytes, bytes, *n);
        *n = 0;
        return MHD_YES;
    }
    if (upload->bytes.full)
        return reply(c, TOO_LARGE, "{\"error\":\"the event is too large\"}");
    s->active++;
    enum MHD_Result result = answer(s->function, c, &upload->bytes);
    s->active--;
    return result;
}

static void forget(void *context,
                   struct MHD_Connection *c,
                   void **state,
                   enum MHD_RequestTerminationCode why)
{
    struct server *s = context;
    struct upload *upload = *state;

    (void)c;
    (void)why;
    if (!upload)
        return;
    s->bodies_bytes -= upload->promised;
    buf_clear(&upload->bytes);
    free(upload);
    *state = NULL;
}

static void end(struct MHD_Daemon *d, const struct server *s)
{
    MHD_socket listening = MHD_quiesce_daemon(d);

    for (int i = 0; i < END_S * 10 && s->active; i++)
        usleep(100000);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    /* The rest is as good as killed, which rounds survive. */
    if (s->active)
        _exit(0);
    MHD_stop_daemon(d);
}

int function_serve(struct function *f, const char *address, unsigned port, struct err *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct server server = {.function = f, .lock = PTHREAD_MUTEX_INITIALIZER};
    const struct timespec second = {.tv_sec = 1};
    sigset_t ends;

    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        return err_set(e, ERR_USAGE, "TRADEWIND_LISTEN=%.60s: write an address as 127.0.0.1",
                       address);
    /* Threads begin with these signals blocked, too; one waits for them. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL, NULL,
        serve, &server, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, meet, &server, MHD_OPTION_NOTIFY_COMPLETED, forget, &server,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
    if (!d)
        return err_set(e, ERR_IO, "cannot listen on %s:%u; is the port in use?", address, port);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    if (!f->settings.token && ntohl(at.sin_addr.s_addr) >> 24 != 127)
        log_warn("aggregator",
                 "everybody who reaches %s may send events: set TRADEWIND_EVENT_TOKEN", address);
    printf("listening on %s:%u\n", address, info ? info->port : port);
    fflush(stdout);
    while (sigtimedwait(&ends, NULL, &second) < 0)
        end_overdue(&server);
    end(d, &server);
    return 0;
}
