#include "server.h"

#include "base/auto.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define REQUEST_MAX ((size_t)8 << 20)

struct connection {
    struct server *server;
    pthread_t thread;
    int fd;
};

struct server {
    server_answer *answer;
    void *context;
    int listener;
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock; /* of the rest */
    bool stopping;
    unsigned n;
    struct connection connections[CONNECTIONS_MAX];
};

void server_write(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote = send(fd, (const char *)bytes + done, n - done, MSG_NOSIGNAL);
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

void server_print(int fd, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    server_write(fd, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void server_reply(int fd, int status, const char *extra, const void *body, size_t n)
{
    server_print(fd, "HTTP/1.1 %d Said So\r\n%sContent-Length: %zu\r\n\r\n", status, extra, n);
    server_write(fd, body, n);
}

void server_hang(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLRDHUP};

    poll(&wait, 1, 5000);
}

bool server_has(const struct server_request *r, const char *line)
{
    const char *found = strcasestr(r->headers, line);

    return found && (found == r->headers || found[-1] == '\n') &&
           strncmp(found + strlen(line), "\r\n", 2) == 0;
}

/* Reads one request into bytes; its length without the NUL put behind it, 0 at the end. */
static size_t read_request(int fd, char *bytes, size_t *head_out)
{
    size_t n = 0, want = 0;

    while (want == 0 || n < want) {
        ssize_t got = recv(fd, bytes + n, REQUEST_MAX - n, 0);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        bytes[n] = '\0';
        const char *end = want ? NULL : strstr(bytes, "\r\n\r\n");
        if (end) {
            const char *length = strcasestr(bytes, "\r\nContent-Length:");
            *head_out = (size_t)(end + 4 - bytes);
            want = *head_out;
            if (length && length < end)
                want += strtoul(length + 17, NULL, 10);
        }
    }
    return n;
}

static bool serve_one(const struct connection *c, char *bytes, unsigned nth)
{
    size_t head = 0, n = read_request(c->fd, bytes, &head);

    if (n == 0)
        return false;
    char *path = strchr(bytes, ' '), *version = path ? strchr(path + 1, ' ') : NULL;
    char *line_end = strstr(bytes, "\r\n");
    if (!version || !line_end || version > line_end)
        return false;
    *path = *version = '\0';
    AUTO_MEM char *body = mem_zero(n - head + 1, 1);
    memcpy(body, bytes + head, n - head);
    bytes[head - 2] = '\0';
    const struct server_request r = {bytes, path + 1, line_end + 2, body, n - head, nth};
    return c->server->answer(c->server->context, &r, c->fd);
}

static void *serve(void *context)
{
    const struct connection *c = context;
    AUTO_MEM char *bytes = mem_zero(REQUEST_MAX + 1, 1);

    /* Head and body go out one after the other, which must not wait for each other. */
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (unsigned nth = 1; serve_one(c, bytes, nth); nth++)
        ;
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *context)
{
    struct server *s = context;

    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
        pthread_mutex_lock(&s->lock);
        if (s->stopping || s->n == CONNECTIONS_MAX) {
            close(fd);
        } else {
            struct connection *c = &s->connections[s->n++];
            c->server = s;
            c->fd = fd;
            if (pthread_create(&c->thread, NULL, serve, c) != 0)
                exit(EXIT_FAILURE);
        }
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

struct server *server_start(server_answer *answer, void *context)
{
    struct server *s = mem_zero(1, sizeof *s);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    s->answer = answer;
    s->context = context;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&s->lock, NULL);
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, len) < 0 ||
        listen(s->listener, 64) < 0 ||
        getsockname(s->listener, (struct sockaddr *)&address, &len) < 0 ||
        pthread_create(&s->thread, NULL, accept_all, s) != 0) {
        perror("server");
        exit(EXIT_FAILURE);
    }
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return s;
}

void server_stop(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (unsigned i = 0; i < s->n; i++)
        shutdown(s->connections[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->lock);
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->n; i++) {
        pthread_join(s->connections[i].thread, NULL);
        close(s->connections[i].fd);
    }
    close(s->listener);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *server_url(const struct server *s)
{
    return s->url;
}

unsigned server_connections(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = s->n;
    pthread_mutex_unlock(&s->lock);
    return n;
}
