#include "broker/daemon/control_socket.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/control_line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITS_MAX 1024
/* At the limit a new client takes the place of one that said nothing for so long. */
#define SILENT_MS 250
/* A client that never stops talking gets no more than its turn. */
#define READS_PER_TURN 16

struct client {
    int fd; /* -1: free */
    char line[CONTROL_LINE_MAX];
    size_t len;
    int64_t *waits;
    size_t n_waits, cap_waits;
    int64_t heard_ms; /* when it connected, or sent its last bytes */
};

struct control_socket {
    int lock, listener;
    char *path;
    struct client clients[CONTROL_SOCKET_CLIENTS_MAX];
    size_t n_clients;
};

static int take_lock(struct control_socket *d, const char *home, struct err *e)
{
    AUTO_MEM char *path = broker_path(home, BROKER_LOCK);

    d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock < 0)
        return file_error(e, "open", path);
    if (flock(d->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return err_set(e, ERR_RETRY, "another broker serves %s", home);
    return file_error(e, "lock", path);
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(077);
    int bound = bind(fd, (const struct sockaddr *)address, sizeof *address);

    umask(mask);
    return bound;
}

static int listen_at(struct control_socket *d, const char *home, struct err *e)
{
    struct sockaddr_un address;
    int dir;

    if (broker_socket_address(home, &address, &dir, e) < 0)
        return -1;
    d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(d->path); /* left by a killed broker: this process holds the lock */
    bool good = d->listener >= 0 && bind_private(d->listener, &address) == 0 &&
                listen(d->listener, CONTROL_SOCKET_CLIENTS_MAX) == 0;
    int why = errno;
    if (dir >= 0)
        close(dir);
    errno = why;
    return good ? 0 : file_error(e, "listen at", d->path);
}

struct control_socket *control_socket_open(const char *home, struct err *e)
{
    AUTO(control_socket) struct control_socket *d = mem_zero(1, sizeof *d);

    d->lock = d->listener = -1;
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++)
        d->clients[i].fd = -1;
    if (take_lock(d, home, e) < 0)
        return NULL;
    d->path = broker_path(home, BROKER_SOCKET);
    if (listen_at(d, home, e) < 0)
        return NULL;
    return TAKE(d);
}

static void disconnect(struct control_socket *d, struct client *c)
{
    close(c->fd);
    free(c->waits);
    *c = (struct client){.fd = -1};
    d->n_clients--;
}

void control_socket_free(struct control_socket *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++)
        if (d->clients[i].fd >= 0)
            disconnect(d, &d->clients[i]);
    if (d->listener >= 0) {
        unlink(d->path);
        close(d->listener);
    }
    if (d->lock >= 0)
        close(d->lock);
    free(d->path);
    free(d);
}

static bool is_idler(const struct client *a, const struct client *b)
{
    bool a_waits = a->n_waits > 0, b_waits = b->n_waits > 0;

    return a_waits != b_waits ? b_waits : a->heard_ms < b->heard_ms;
}

/* Which client has to go when another one comes: one that waits for no job before one that does
 * (and that connects again), the longest silent first. NULL: none was silent long enough. */
static struct client *find_idle(struct control_socket *d)
{
    int64_t now_ms = time_monotonic_ms();
    struct client *found = NULL;

    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++) {
        struct client *c = &d->clients[i];
        if (c->fd >= 0 && now_ms - c->heard_ms >= SILENT_MS && (!found || is_idler(c, found)))
            found = c;
    }
    return found;
}

static bool is_full(const struct control_socket *d)
{
    return d->n_clients == CONTROL_SOCKET_CLIENTS_MAX;
}

size_t control_socket_fds(struct control_socket *d, struct pollfd *out)
{
    size_t n = 0;

    /* While all clients are busy, further ones wait in the listener's backlog. */
    if (!is_full(d) || find_idle(d))
        out[n++] = (struct pollfd){.fd = d->listener, .events = POLLIN};
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++)
        if (d->clients[i].fd >= 0)
            out[n++] = (struct pollfd){.fd = d->clients[i].fd, .events = POLLIN};
    return n;
}

/* A client that does not read its answers is disconnected: the broker never blocks on a client. */
static void say(struct control_socket *d, struct client *c, const char *text)
{
    size_t n = strlen(text);

    if (send(c->fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
        disconnect(d, c);
}

static bool accept_client(struct control_socket *d)
{
    struct client *c = d->clients, *idle = is_full(d) ? find_idle(d) : NULL;

    if (is_full(d) && !idle)
        return false;
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    if (idle)
        disconnect(d, idle);
    while (c->fd >= 0)
        c++;
    c->fd = fd;
    c->heard_ms = time_monotonic_ms();
    d->n_clients++;
    AUTO_MEM char *greeting = mem_printf("tradewind %s %ld\n", TRADEWIND_VERSION, (long)getpid());
    say(d, c, greeting);
    return true;
}

struct hearing {
    struct control_socket *socket;
    struct control_socket_news news;
    void (*waits)(void *context, int64_t job);
    void *context;
};

static void add_wait(struct hearing *h, struct client *c, int64_t job)
{
    c->waits = mem_room(c->waits, c->n_waits, &c->cap_waits, sizeof *c->waits);
    c->waits[c->n_waits++] = job;
    h->waits(h->context, job);
}

static void handle_line(struct hearing *h, struct client *c, const char *line)
{
    int64_t job;

    switch (control_line_parse(line, &job)) {
    case CONTROL_LINE_WAKE:
        h->news.woken = true;
        return;
    case CONTROL_LINE_RETIRE:
        h->news.retire = true;
        return;
    case CONTROL_LINE_WAIT:
        if (c->n_waits < WAITS_MAX) {
            add_wait(h, c, job);
            return;
        }
        break;
    case CONTROL_LINE_NONE:
        break;
    }
    disconnect(h->socket, c);
}

/* Handles whole lines; the rest begins the next line. False: the client is disconnected. */
static bool handle_lines(struct hearing *h, struct client *c)
{
    char line[CONTROL_LINE_MAX];

    while (c->fd >= 0 && control_line_cut(c->line, &c->len, line))
        handle_line(h, c, line);
    if (c->fd >= 0 && c->len == sizeof c->line)
        disconnect(h->socket, c); /* the line is too long */
    return c->fd >= 0;
}

static void read_client(struct hearing *h, struct client *c)
{
    for (int turn = 0; turn < READS_PER_TURN; turn++) {
        ssize_t n = recv(c->fd, c->line + c->len, sizeof c->line - c->len, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            disconnect(h->socket, c);
            return;
        }
        c->len += (size_t)n;
        c->heard_ms = time_monotonic_ms();
        if (!handle_lines(h, c))
            return;
    }
}

struct control_socket_news control_socket_hear(struct control_socket *d,
                                               void (*waits)(void *context, int64_t job),
                                               void *context)
{
    struct hearing h = {.socket = d, .waits = waits, .context = context};

    /* First the words of those who are here: a new client may take the place of a silent one. */
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++)
        if (d->clients[i].fd >= 0)
            read_client(&h, &d->clients[i]);
    while (accept_client(d))
        ;
    return h.news;
}

static bool forget_wait(struct client *c, int64_t job)
{
    bool waited = false;

    for (size_t i = 0; i < c->n_waits;) {
        if (c->waits[i] == job) {
            c->waits[i] = c->waits[--c->n_waits];
            waited = true;
        } else {
            i++;
        }
    }
    return waited;
}

void control_socket_tell(struct control_socket *d, int64_t job, const char *state)
{
    AUTO_MEM char *line = mem_printf("final %" PRId64 " %s\n", job, state);

    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++) {
        struct client *c = &d->clients[i];
        if (c->fd >= 0 && forget_wait(c, job))
            say(d, c, line);
    }
}

bool control_socket_has_clients(const struct control_socket *d)
{
    return d->n_clients > 0;
}

bool control_socket_is_awaited(const struct control_socket *d, int64_t job)
{
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++)
        for (size_t k = 0; d->clients[i].fd >= 0 && k < d->clients[i].n_waits; k++)
            if (d->clients[i].waits[k] == job)
                return true;
    return false;
}
