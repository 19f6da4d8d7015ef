/* The aggregator as an HTTP server, for Cloud Run, Azure Functions and one's own machines.
 * main.c calls it. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "fed/function/invoke.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define IDLE_S 60
/* When we are told to end, what is under way may take so long; Cloud Run waits ten seconds. */
#define END_S 9
#define RETRY_AFTER "5"
/* Versions of the library differ in the names of these. */
#define TOO_LARGE 413
#define REFUSED 422

struct server {
    struct function *function;
    atomic_uint active; /* requests that are being answered */
};

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

    if (!is_allowed(f, c))
        return reply(c, MHD_HTTP_UNAUTHORIZED, "{\"error\":\"the token is missing or wrong\"}");
    if (body->full)
        return reply(c, TOO_LARGE, "{\"error\":\"the event is too large\"}");
    function_invoke(f, &m, &result);
    if (result.why.kind)
        log_warn("aggregator", "%s", result.why.text);
    AUTO_MEM char *text = json_dumps(result.answer, JSON_COMPACT);
    return reply(c, status_of(&result), text);
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
    struct buf *body = *state;

    (void)url;
    (void)version;
    if (!body) {
        body = *state = mem_zero(1, sizeof *body);
        buf_init(body, FED_EVENT_BODY_MAX);
        return MHD_YES;
    }
    if (*n) {
        buf_add(body, bytes, *n);
        *n = 0;
        return MHD_YES;
    }
    if (strcmp(method, "POST") == 0) {
        s->active++;
        enum MHD_Result result = answer(s->function, c, body);
        s->active--;
        return result;
    }
    if (strcmp(method, "GET") == 0 || strcmp(method, "OPTIONS") == 0 || strcmp(method, "HEAD") == 0)
        return reply(c, MHD_HTTP_OK, "{\"ready\":true}");
    return reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, "{\"error\":\"send events by POST\"}");
}

static void forget(void *context,
                   struct MHD_Connection *c,
                   void **state,
                   enum MHD_RequestTerminationCode why)
{
    struct buf *body = *state;

    (void)context;
    (void)c;
    (void)why;
    if (!body)
        return;
    buf_clear(body);
    free(body);
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
    struct server server = {.function = f};
    sigset_t ends;
    int which;

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
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, forget, NULL,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
    if (!d)
        return err_set(e, ERR_IO, "cannot listen on %s:%u; is the port in use?", address, port);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    printf("listening on %s:%u\n", address, info ? info->port : port);
    fflush(stdout);
    while (sigwait(&ends, &which) != 0)
        ;
    end(d, &server);
    return 0;
}
