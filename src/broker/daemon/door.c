#include "broker/daemon/door.h"

#include "base/file.h"
#include "base/mem.h"
#include "broker/core/home.h"

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

struct guest {
    int fd; /* -1: free */
    char line[DOOR_LINE_MAX];
    size_t len;
    int64_t *waits;
    size_t n_waits, cap_waits;
};

struct door {
    int lock, listener;
    char *path;
    struct guest guests[DOOR_GUESTS_MAX];
    size_t n_guests;
};

static int take_lock(struct door *d, const char *home, struct err *e)
{
    AUTO_MEM char *path = broker_lock_path(home);

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

static int listen_at(struct door *d, const char *home, struct err *e)
{
    struct sockaddr_un address;
    int dir;

    if (broker_socket_address(home, &address, &dir, e) < 0)
        return -1;
    d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(d->path); /* of a broker that was killed: the lock is ours */
    bool good = d->listener >= 0 && bind_private(d->listener, &address) == 0 &&
                listen(d->listener, DOOR_GUESTS_MAX) == 0;
    int why = errno;
    if (dir >= 0)
        close(dir);
    errno = why;
    return good ? 0 : file_error(e, "listen at", d->path);
}

struct door *door_open(const char *home, struct err *e)
{
    AUTO(door) struct door *d = mem_zero(1, sizeof *d);

    d->lock = d->listener = -1;
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        d->guests[i].fd = -1;
    if (take_lock(d, home, e) < 0)
        return NULL;
    d->path = broker_socket_path(home);
    if (listen_at(d, home, e) < 0)
        return NULL;
    return TAKE(d);
}

static void show_out(struct door *d, struct guest *g)
{
    close(g->fd);
    free(g->waits);
    *g = (struct guest){.fd = -1};
    d->n_guests--;
}

void door_free(struct door *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        if (d->guests[i].fd >= 0)
            show_out(d, &d->guests[i]);
    if (d->listener >= 0) {
        unlink(d->path);
        close(d->listener);
    }
    if (d->lock >= 0)
        close(d->lock);
    free(d->path);
    free(d);
}

size_t door_fds(const struct door *d, struct pollfd *out)
{
    size_t n = 0;

    /* With all chairs taken the others wait outside. */
    if (d->n_guests < DOOR_GUESTS_MAX)
        out[n++] = (struct pollfd){.fd = d->listener, .events = POLLIN};
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        if (d->guests[i].fd >= 0)
            out[n++] = (struct pollfd){.fd = d->guests[i].fd, .events = POLLIN};
    return n;
}

/* A guest who does not read what he asked for is shown out: nobody waits for him. */
static void say(struct door *d, struct guest *g, const char *text)
{
    size_t n = strlen(text);

    if (send(g->fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
        show_out(d, g);
}

static bool let_in(struct door *d)
{
    struct guest *g = d->guests;

    if (d->n_guests == DOOR_GUESTS_MAX)
        return false;
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    while (g->fd >= 0)
        g++;
    g->fd = fd;
    d->n_guests++;
    AUTO_MEM char *greeting = mem_printf("tradewind %s %ld\n", TRADEWIND_VERSION, (long)getpid());
    say(d, g, greeting);
    return true;
}

static bool job_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out > 0;
}

struct hearing {
    struct door *door;
    struct door_news news;
    void (*waits)(void *context, int64_t job);
    void *context;
};

static void obey(struct hearing *h, struct guest *g, const char *line)
{
    int64_t job;

    if (!strcmp(line, "wake")) {
        h->news.woken = true;
    } else if (!strcmp(line, "retire")) {
        h->news.retire = true;
    } else if (!strncmp(line, "wait ", 5) && job_number(line + 5, &job) && g->n_waits < WAITS_MAX) {
        g->waits = mem_room(g->waits, g->n_waits, &g->cap_waits, sizeof *g->waits);
        g->waits[g->n_waits++] = job;
        h->waits(h->context, job);
    } else {
        show_out(h->door, g);
    }
}

/* Whole lines; what is left over begins the next. False: the guest is gone. */
static bool obey_lines(struct hearing *h, struct guest *g)
{
    char *end;

    while (g->fd >= 0 && (end = memchr(g->line, '\n', g->len))) {
        char line[DOOR_LINE_MAX];
        size_t used = (size_t)(end - g->line);
        memcpy(line, g->line, used);
        line[used] = '\0';
        g->len -= used + 1;
        memmove(g->line, end + 1, g->len);
        obey(h, g, line);
    }
    if (g->fd >= 0 && g->len == sizeof g->line)
        show_out(h->door, g); /* no such long lines */
    return g->fd >= 0;
}

static void hear_guest(struct hearing *h, struct guest *g)
{
    for (;;) {
        ssize_t n = recv(g->fd, g->line + g->len, sizeof g->line - g->len, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            show_out(h->door, g);
            return;
        }
        g->len += (size_t)n;
        if (!obey_lines(h, g))
            return;
    }
}

struct door_news door_hear(struct door *d, void (*waits)(void *context, int64_t job), void *context)
{
    struct hearing h = {.door = d, .waits = waits, .context = context};

    while (let_in(d))
        ;
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        if (d->guests[i].fd >= 0)
            hear_guest(&h, &d->guests[i]);
    return h.news;
}

static bool forget_wait(struct guest *g, int64_t job)
{
    bool waited = false;

    for (size_t i = 0; i < g->n_waits;) {
        if (g->waits[i] == job) {
            g->waits[i] = g->waits[--g->n_waits];
            waited = true;
        } else {
            i++;
        }
    }
    return waited;
}

void door_tell(struct door *d, int64_t job, const char *state)
{
    AUTO_MEM char *line = mem_printf("final %" PRId64 " %s\n", job, state);

    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
        struct guest *g = &d->guests[i];
        if (g->fd >= 0 && forget_wait(g, job))
            say(d, g, line);
    }
}

bool door_has_guests(const struct door *d)
{
    return d->n_guests > 0;
}

bool door_is_awaited(const struct door *d, int64_t job)
{
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        for (size_t k = 0; d->guests[i].fd >= 0 && k < d->guests[i].n_waits; k++)
            if (d->guests[i].waits[k] == job)
                return true;
    return false;
}
