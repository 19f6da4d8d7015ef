#include "broker/core/program.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPLAINT_MAX 4096
#define ASK_MS 200
/* A program that a driver holds ends later than it is killed, or never. */
#define KILLED_MS 2000
#define WAIT_MS 5

extern char **environ;

/* ---- the environment ---- */

/* Whether env has the variable of this pair, with a value or without. */
static bool is_told(const char *const *env, const char *ours)
{
    for (; env && *env; env++) {
        size_t n = strcspn(*env, "=");
        if (strncmp(*env, ours, n) == 0 && ours[n] == '=')
            return true;
    }
    return false;
}

/* Strings are borrowed. */
static char **make_environment(const char *const *env)
{
    size_t n = 0, n_env = 0, made = 0;

    while (environ[n])
        n++;
    while (env && env[n_env])
        n_env++;
    char **out = mem_zero(n + n_env + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!is_told(env, environ[i]))
            out[made++] = environ[i];
    for (size_t i = 0; i < n_env; i++)
        if (strchr(env[i], '=')) {
            /* posix_spawn takes them without const, and changes nothing. */
            memcpy(&out[made++], &env[i], sizeof *out);
        }
    return out;
}

/* ---- what it prints ---- */

struct pipes {
    int out[2], err[2];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_clear(struct pipes *p)
{
    for (int end = 0; end < 2; end++) {
        close_fd(&p->out[end]);
        close_fd(&p->err[end]);
    }
}

/* Closes it at its end. What does not fit is read all the same. */
static void read_some(int *fd, struct buf *into)
{
    char bytes[16384];
    ssize_t n = read(*fd, bytes, sizeof bytes);

    if (n > 0)
        buf_add(into, bytes, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        close_fd(fd);
}

static bool may_go_on(struct program_run *run)
{
    run->stopped = run->go_on && !run->go_on(run->context);
    return !run->stopped;
}

/* With what it started, where it has a group of its own. */
static void end_it(const struct program_run *run, pid_t pid)
{
    kill(run->go_on ? -pid : pid, SIGKILL);
}

/* Until it has closed both, which is when it ends. */
static void read_all(struct program_run *run, struct pipes *p, pid_t pid, struct buf *complaint)
{
    while (p->out[0] >= 0 || p->err[0] >= 0) {
        struct pollfd ready[2] = {{p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
        if (poll(ready, 2, run->go_on ? ASK_MS : -1) < 0 && errno != EINTR)
            return;
        if (ready[0].revents)
            read_some(&p->out[0], run->out);
        if (ready[1].revents)
            read_some(&p->err[0], complaint);
        if (run->out->full || !may_go_on(run)) {
            end_it(run, pid);
            return;
        }
    }
}

/* ---- starting it ---- */

static int spawn(const struct program_run *run, struct pipes *p, pid_t *pid)
{
    AUTO_MEM char **env = make_environment(run->env);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const *argv;

    memcpy(&argv, &run->argv, sizeof argv);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, p->out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, p->err[1], 2);
    posix_spawnattr_init(&attributes);
    if (run->go_on)
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int why = posix_spawnp(pid, argv[0], &actions, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

/* It may go on after it has closed its output. */
static int wait_for(struct program_run *run, pid_t pid)
{
    bool ended = run->out->full || run->stopped;
    unsigned waited_ms = 0;
    int status;
    pid_t found;

    while ((found = waitpid(pid, &status, run->go_on ? WNOHANG : 0)) <= 0) {
        if (found < 0 && errno != EINTR)
            return 127;
        if (ended && waited_ms >= KILLED_MS)
            return 128 + SIGKILL;
        if (found == 0) {
            poll(NULL, 0, WAIT_MS);
            waited_ms += ended ? WAIT_MS : 0;
        }
        if (!ended && !may_go_on(run)) {
            end_it(run, pid);
            ended = true;
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int program_run(struct program_run *run, struct err *e)
{
    AUTO_CLEAR(pipes) struct pipes p = {{-1, -1}, {-1, -1}};
    AUTO_CLEAR(buf) struct buf complaint;
    pid_t pid;

    buf_init(&complaint, COMPLAINT_MAX);
    if (pipe2(p.out, O_CLOEXEC) < 0 || pipe2(p.err, O_CLOEXEC) < 0)
        return err_set(e, ERR_IO, "run %s: %s", run->argv[0], strerror(errno));
    int why = spawn(run, &p, &pid);
    if (why == ENOENT)
        return 0;
    if (why)
        return err_set(e, ERR_IO, "run %s: %s", run->argv[0], strerror(why));
    close_fd(&p.out[1]);
    close_fd(&p.err[1]);
    read_all(run, &p, pid, &complaint);
    run->status = wait_for(run, pid);
    snprintf(run->complaint, sizeof run->complaint, "%.*s",
             (int)strcspn(buf_str(&complaint), "\r\n"), buf_str(&complaint));
    return 1;
}
