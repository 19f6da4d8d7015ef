#include "wire.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x54575053 /* in another byte order it is refused */
/* Room for a whole model, so that the server need not wait for a slow worker to take it. */
#define BUFFER_BYTES (4 << 20)
#define HOST_MAX 256

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return -1;
}

/* "[fd00::1]:2222" or "host:2222". */
static int split(const char *address, char host[static HOST_MAX], const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;
    int bracketed = n > 2 && address[0] == '[' && address[n - 1] == ']';

    if (!n || n >= HOST_MAX || !colon[1])
        return complain(address, "is no HOST:PORT");
    snprintf(host, HOST_MAX, "%.*s", (int)n - 2 * bracketed, address + bracketed);
    *port = colon + 1;
    return 0;
}

/* A peer that says nothing for so long is gone; so is one that does not acknowledge. */
void wire_set_timeout(int fd, double timeout_s)
{
    struct timeval wait = {.tv_sec = (time_t)timeout_s};
    int on = 1, room = BUFFER_BYTES, most_ms = (int)fmin(timeout_s * 1000, 1e9);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

static int try_connect(const struct addrinfo *found)
{
    for (; found; found = found->ai_next) {
        int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

int wire_connect(const char *address, double timeout_s)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    double until_s = now_s() + timeout_s;
    struct addrinfo *found = NULL;
    char host[HOST_MAX];
    const char *port;

    if (split(address, host, &port) < 0)
        return -1;
    int wrong = getaddrinfo(host, port, &wanted, &found);
    if (wrong)
        return complain(address, gai_strerror(wrong));
    int fd = try_connect(found);
    /* Workers may be up before the server is. */
    while (fd < 0 && now_s() < until_s) {
        usleep(50000);
        fd = try_connect(found);
    }
    freeaddrinfo(found);
    if (fd < 0)
        return complain(address, "the server does not answer");
    wire_set_timeout(fd, timeout_s);
    return fd;
}

int wire_listen(const char *address)
{
    const struct addrinfo wanted = {
        .ai_socktype = SOCK_STREAM, .ai_family = AF_INET6, .ai_flags = AI_PASSIVE};
    struct addrinfo v4 = wanted, *found = NULL;
    char host[HOST_MAX];
    const char *port;
    int on = 1;

    v4.ai_family = AF_INET;
    if (split(address, host, &port) < 0)
        return -1;
    int wrong = getaddrinfo(NULL, port, host[strcspn(host, ":")] ? &wanted : &v4, &found);
    if (wrong)
        return complain(address, gai_strerror(wrong));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int failed =
        fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0;
    freeaddrinfo(found);
    if (!failed)
        return fd;
    if (fd >= 0)
        close(fd);
    return complain(address, strerror(errno));
}

int wire_accept(int listener, double timeout_s)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    if (poll(&ready, 1, (int)(timeout_s * 1000)) <= 0)
        return complain("server", "not all workers have come");
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return complain("server", strerror(errno));
    wire_set_timeout(fd, timeout_s);
    return fd;
}

/* ---- messages ---- */

static int send_all(int fd, const void *bytes, size_t n, int flags)
{
    const char *at = bytes;

    while (n) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | flags);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return complain("send", strerror(errno));
        at += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static int receive_all(int fd, void *bytes, size_t n)
{
    char *at = bytes;

    while (n) {
        ssize_t got = recv(fd, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return complain("receive", got < 0 ? strerror(errno) : "the other end is gone");
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

int wire_send(int fd, struct wire_head head, const float *numbers)
{
    head.magic = MAGIC;
    if (send_all(fd, &head, sizeof head, head.size && numbers ? MSG_MORE : 0) < 0)
        return -1;
    return numbers ? send_all(fd, numbers, head.size * sizeof *numbers, 0) : 0;
}

int wire_receive(int fd,
                 enum wire_kind kind,
                 enum wire_kind kind2,
                 struct wire_head *head,
                 float *numbers,
                 size_t most)
{
    if (receive_all(fd, head, sizeof *head) < 0)
        return -1;
    if (head->magic != MAGIC || (head->kind != kind && (!kind2 || head->kind != kind2)))
        return complain("receive", "the other end does not speak our language");
    if (!numbers || head->kind == WIRE_DONE)
        return 0;
    if (head->size > most)
        return complain("receive", "the other end has a larger model");
    return receive_all(fd, numbers, head->size * sizeof *numbers);
}

void wire_end(int fd)
{
    char bytes[65536];
    ssize_t got;

    shutdown(fd, SHUT_WR);
    do
        got = recv(fd, bytes, sizeof bytes, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
    close(fd);
}
