#include "broker/daemon/client.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/control_line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_S 20.0
#define GREETING_S 10.0
#define LOOK_S 0.2

struct broker_client {
    char *home;
    char *program; /* NULL = starts no broker */
    int fd;        /* -1: not connected */
    char line[CONTROL_LINE_MAX];
    size_t len;
};

static void hang_up(struct broker_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->len = 0;
}

void broker_client_free(struct broker_client *c)
{
    if (!c)
        return;
    hang_up(c);
    free(c->home);
    free(c->program);
    free(c);
}

/* ---- lines ---- */

static int say(struct broker_client *c, const char *text)
{
    size_t n = strlen(text);

    return c->fd >= 0 && send(c->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

/* 1: a line, without its newline; 0: time is up; -1: the broker is gone. */
static int hear(struct broker_client *c, double until_s, char out[static CONTROL_LINE_MAX])
{
    while (!control_line_cut(c->line, &c->len, out)) {
        double left_s = until_s - time_monotonic_s();
        struct pollfd fd = {.fd = c->fd, .events = POLLIN};
        if (poll(&fd, 1, left_s > 0 ? (int)ceil(left_s * 1000) : 0) <= 0) {
            if (left_s <= 0)
                return 0;
            continue;
        }
        ssize_t got = recv(c->fd, c->line + c->len, sizeof c->line - c->len, 0);
        if (got <= 0)
            return -1;
        c->len += (size_t)got;
    }
    return 1;
}

/* ---- connecting ---- */

/* 1: connected; 0: no broker listens; -1. */
static int dial(struct broker_client *c, struct err *e)
{
    AUTO_MEM char *path = broker_path(c->home, BROKER_SOCKET);
    struct sockaddr_un address;
    int dir;

    if (access(c->home, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (broker_socket_address(c->home, &address, &dir, e) < 0)
        return -1;
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = c->fd >= 0 && connect(c->fd, (struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    if (dir >= 0)
        close(dir);
    if (good)
        return 1;
    hang_up(c);
    if (why == ENOENT || why == ECONNREFUSED || why == EAGAIN)
        return 0;
    errno = why;
    return file_error(e, "connect to", path);
}

/* 1: a broker of this version greets; 0: no broker is there any more, or another version, which was
 * asked to retire; -1. */
static int greet(struct broker_client *c, struct err *e)
{
    static const char ours[] = "tradewind " TRADEWIND_VERSION " ";
    char line[CONTROL_LINE_MAX];
    int heard = hear(c, time_monotonic_s() + GREETING_S, line);

    if (heard == 0)
        return err_set(e, ERR_RETRY, "the broker of %s does not answer", c->home);
    if (heard > 0 && !strncmp(line, ours, strlen(ours)))
        return 1;
    if (heard > 0)
        say(c, "retire\n");
    hang_up(c);
    return 0;
}

/* ---- starting ---- */

static void become_broker(const struct broker_client *c, int ready, int log)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid();
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(ready, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || setenv("TRADEWIND_HOME", c->home, 1) < 0)
        _exit(127);
    execl(c->program, "tradewind", "broker", (char *)NULL);
    _exit(127);
}

/* Forks twice: init adopts the broker, and no process has to wait for it. */
static int spawn(const struct broker_client *c, int ready, int log, struct err *e)
{
    int status;

    /* Sanitizers print what is in buffers at _exit, too: the caller's answer would come twice. */
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return err_set(e, ERR_RETRY, "cannot start a broker: %s", strerror(errno));
    if (child == 0) {
        if (fork() == 0)
            become_broker(c, ready, log);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* Until it is ready, or ended: another one may have been faster. */
static void await_ready(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char word[16];

    if (poll(&ready, 1, (int)(START_S * 1000)) > 0) {
        ssize_t got = read(fd, word, sizeof word);
        (void)got;
    }
}

/* Databases, sockets and one job of a broker, and some room. */
#define OPEN_FILES_LEAST 64

/* With fewer a broker ends as soon as it begins, each time. */
static int check_open_files(struct err *e)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= OPEN_FILES_LEAST)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "a broker needs %d open files, and the limit of this shell is %ju: raise it, as "
                   "in ulimit -n 1024",
                   OPEN_FILES_LEAST, (uintmax_t)files.rlim_cur);
}

static int start_broker(const struct broker_client *c, struct err *e)
{
    AUTO_MEM char *path = broker_path(c->home, BROKER_LOG);
    int ready[2];

    if (check_open_files(e) < 0)
        return -1;

    if (file_make_dirs(c->home, 0700, e) < 0)
        return -1;
    AUTO_FD int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        return file_error(e, "open", path);
    broker_log_bound(c->home, log);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return err_set(e, ERR_RETRY, "cannot make a pipe: %s", strerror(errno));
    int result = spawn(c, ready[1], log, e);
    close(ready[1]);
    if (result == 0)
        await_ready(ready[0]);
    close(ready[0]);
    return result;
}

/* Everything that a job starts ends with it: a broker would, with the agents of all other jobs. */
static bool is_inside_job(const char *home)
{
    const char *output = getenv("TRADEWIND_OUTPUT");
    AUTO_MEM char *jobs = broker_path(home, BROKER_JOBS);

    return output && !strncmp(output, jobs, strlen(jobs)) && output[strlen(jobs)] == '/';
}

int broker_client_check_owner(const char *home, struct err *e)
{
    struct passwd account, *found = NULL;
    char room[1024];
    struct stat st;

    if (!file_is_shared(home) || stat(home, &st) < 0 || st.st_uid == geteuid())
        return 0;
    getpwuid_r(st.st_uid, &account, room, sizeof room, &found);
    return err_set(e, ERR_DENIED,
                   "%s is shared by a group, and its jobs run as its owner, %s: use a home of your "
                   "own for jobs (TRADEWIND_HOME)",
                   home, found ? found->pw_name : "another user");
}

static int open_line(struct broker_client *c, struct err *e)
{
    double until_s = time_monotonic_s() + START_S;

    hang_up(c);
    if (broker_client_check_owner(c->home, e) < 0)
        return -1;
    do {
        int there = dial(c, e);
        if (there > 0)
            there = greet(c, e);
        if (there != 0)
            return there > 0 ? 0 : -1;
        if (!c->program)
            return err_set(e, ERR_NOTFOUND, "no broker runs for %s", c->home);
        if (is_inside_job(c->home))
            return err_set(e, ERR_RETRY,
                           "no broker runs, and a job cannot start one that outlives it: the next "
                           "command outside of jobs does, and carries out what was asked");
        if (start_broker(c, e) < 0)
            return -1;
    } while (time_monotonic_s() < until_s);
    AUTO_MEM char *log = broker_path(c->home, BROKER_LOG);
    return err_set(e, ERR_RETRY, "the broker does not start; %s says why", log);
}

struct broker_client *broker_client_open(const char *home, const char *program, struct err *e)
{
    AUTO(broker_client) struct broker_client *c = mem_zero(1, sizeof *c);

    c->fd = -1;
    c->home = mem_dup(home);
    c->program = program ? mem_dup(program) : NULL;
    if (open_line(c, e) < 0)
        return NULL;
    return TAKE(c);
}

/* Again on a new line, when the broker went away meanwhile. */
static int say_surely(struct broker_client *c, const char *text, struct err *e)
{
    if (say(c, text) == 0)
        return 0;
    if (open_line(c, e) < 0)
        return -1;
    return say(c, text) == 0 ? 0 : err_set(e, ERR_RETRY, "the broker of %s is gone", c->home);
}

int broker_client_wake(struct broker_client *c, struct err *e)
{
    return say_surely(c, "wake\n", e);
}

int broker_client_retire(struct broker_client *c, struct err *e)
{
    char line[CONTROL_LINE_MAX];

    if (say(c, "retire\n") < 0)
        return 0;
    double until_s = time_monotonic_s() + START_S;
    int heard;
    while ((heard = hear(c, until_s, line)) > 0)
        continue;
    return heard < 0 ? 0 : err_set(e, ERR_RETRY, "the broker of %s does not retire", c->home);
}

int broker_client_wait(struct broker_client *c,
                       int64_t job,
                       double timeout_s,
                       bool (*cancelled)(void *context),
                       void *context,
                       struct err *e)
{
    AUTO_MEM char *question = mem_printf("wait %" PRId64 "\n", job);
    AUTO_MEM char *answer = mem_printf("final %" PRId64 " ", job);
    double end_s = timeout_s < 0 ? HUGE_VAL : time_monotonic_s() + timeout_s;
    char line[CONTROL_LINE_MAX];

    if (say_surely(c, question, e) < 0)
        return -1;
    while (!(cancelled && cancelled(context))) {
        double until_s = time_monotonic_s() + LOOK_S;
        if (end_s < until_s)
            until_s = end_s;
        int heard = hear(c, until_s, line);
        if (heard > 0 && !strncmp(line, answer, strlen(answer)))
            return 1;
        if (heard < 0 && (open_line(c, e) < 0 || say_surely(c, question, e) < 0))
            return -1;
        if (heard == 0 && time_monotonic_s() >= end_s)
            return 0;
    }
    return 0;
}
