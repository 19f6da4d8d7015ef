#include "exec/child.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_POLL_US 1000
#define SIGNALLED 128

void words_add(struct words *w, const char *word)
{
    w->list = mem_room(w->list, w->n, &w->cap, sizeof *w->list);
    w->list[w->n++] = mem_dup(word);
    w->list = mem_room(w->list, w->n, &w->cap, sizeof *w->list);
    w->list[w->n] = NULL;
}

void words_add_all(struct words *w, const char *const *words)
{
    for (; *words; words++)
        words_add(w, *words);
}

void words_clear(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i]);
    free(w->list);
    *w = (struct words){0};
}

void quote_word(struct buf *b, const char *word)
{
    buf_puts(b, "'");
    for (const char *at = word; *at;) {
        size_t n = strcspn(at, "'");
        buf_add(b, at, n);
        at += n;
        if (*at) {
            buf_puts(b, "'\\''");
            at++;
        }
    }
    buf_puts(b, "'");
}

void quote_path(struct buf *b, const char *path)
{
    if (!strcmp(path, "~")) {
        buf_puts(b, "~");
        return;
    }
    if (!strncmp(path, "~/", 2)) {
        buf_puts(b, "~/");
        path += 2;
    } else if (*path == '-') {
        buf_puts(b, "./");
    }
    quote_word(b, path);
}

static void close_pair(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* posix_spawn, because the caller may have threads. */
static int spawn(pid_t *pid, char *const *argv, int in_fd, int out_fd, int err_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    if (in_fd < 0)
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&files, in_fd, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, 1);
    posix_spawn_file_actions_adddup2(&files, err_fd, 2);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    int why = posix_spawnp(pid, argv[0], &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return why;
}

int child_start(struct child *c, char *const *argv, int in_fd, int out_fd, struct err *e)
{
    int out[2] = {-1, -1}, said[2] = {-1, -1};

    *c = (struct child){.out_fd = -1, .err_fd = -1};
    if ((out_fd < 0 && pipe2(out, O_CLOEXEC) < 0) || pipe2(said, O_CLOEXEC) < 0) {
        int why = errno;
        close_pair(out);
        return err_set(e, ERR_IO, "run %s: %s", argv[0], strerror(why));
    }
    int why = spawn(&c->pid, argv, in_fd, out_fd < 0 ? out[1] : out_fd, said[1]);
    if (why) {
        c->pid = 0;
        close_pair(out);
        close_pair(said);
        return err_set(e, why == ENOENT ? ERR_NOTFOUND : ERR_IO, "run %s: %s", argv[0],
                       strerror(why));
    }
    if (out[1] >= 0)
        close(out[1]);
    close(said[1]);
    c->out_fd = out[0];
    c->err_fd = said[0];
    fcntl(c->err_fd, F_SETFL, O_NONBLOCK);
    if (c->out_fd >= 0)
        fcntl(c->out_fd, F_SETFL, O_NONBLOCK);
    return 0;
}

/* Everything that can be read now. false at the end of it. */
static bool take_all(int fd, struct buf *into)
{
    char bytes[16384];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        if (into)
            buf_add(into, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void child_hear(const struct child *c, struct buf *said)
{
    if (c->err_fd >= 0)
        take_all(c->err_fd, said);
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

bool child_over(const struct child *c)
{
    siginfo_t info = {0};

    return c->pid <= 0 || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid;
}

int child_wait(struct child *c, double seconds)
{
    double until_s = time_monotonic_s() + seconds;
    int status = 0;
    pid_t got;

    if (c->pid <= 0)
        return SIGNALLED + SIGKILL;
    while ((got = waitpid(c->pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (time_monotonic_s() >= until_s) {
            kill(c->pid, SIGKILL);
            until_s = (double)INFINITY;
        }
        usleep(WAIT_POLL_US);
    }
    c->pid = 0;
    return got < 0 ? SIGNALLED + SIGKILL : code_of(status);
}

void child_clear(struct child *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (c->out_fd >= 0)
        close(c->out_fd);
    if (c->err_fd >= 0)
        close(c->err_fd);
    *c = (struct child){.out_fd = -1, .err_fd = -1};
}

int child_run(char *const *argv,
              int in_fd,
              double seconds,
              struct buf *out,
              struct buf *said,
              int *code_out,
              struct err *e)
{
    AUTO_CLEAR(child) struct child c;
    double until_s = time_monotonic_s() + seconds;
    bool open = true;

    if (child_start(&c, argv, in_fd, -1, e) < 0)
        return -1;
    while (open) {
        struct pollfd fds[] = {{.fd = c.out_fd, .events = POLLIN},
                               {.fd = c.err_fd, .events = POLLIN}};
        double left_s = until_s - time_monotonic_s();
        if (left_s <= 0)
            return err_set(e, ERR_RETRY, "%s takes longer than %g s", argv[0], seconds);
        poll(fds, 2, (int)ceil(fmin(left_s, 1) * 1000));
        open = take_all(c.out_fd, out);
        /* A connection that stays open behind our back may keep its stderr: not waited for. */
        if (!take_all(c.err_fd, said) && open) {
            close(c.err_fd);
            c.err_fd = -1;
        }
    }
    *code_out = child_wait(&c, fmax(until_s - time_monotonic_s(), 0));
    child_hear(&c, said);
    return 0;
}
