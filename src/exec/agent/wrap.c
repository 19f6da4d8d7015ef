#include "exec/agent/wrap.h"

#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_US 2000

void wrap_clear(struct wrap *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->argv[i]);
    free(w->argv);
    free(w->engine);
    free(w->container);
    free(w->report);
    *w = (struct wrap){0};
}

void wrap_add(struct wrap *w, const char *word)
{
    w->argv = mem_room(w->argv, w->n + 1, &w->cap, sizeof *w->argv);
    w->argv[w->n++] = mem_dup(word);
    w->argv[w->n] = NULL;
}

char *wrap_find(const char *program)
{
    const char *path = getenv("PATH");

    for (path = path && *path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
        size_t n = strcspn(path, ":");
        AUTO_MEM char *at = mem_printf("%.*s/%s", (int)n, path, program);
        struct stat st;
        if (at[0] == '/' && stat(at, &st) == 0 && S_ISREG(st.st_mode) && access(at, X_OK) == 0)
            return mem_dup(at);
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* In the child. */
static void become(char *const *argv, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(127);
    execv(argv[0], argv);
    _exit(127);
}

static void read_line(int fd, char *line, size_t size)
{
    ssize_t n = size ? read(fd, line, size - 1) : -1;

    if (size)
        line[n > 0 ? n : 0] = 0;
    if (size)
        line[strcspn(line, "\n")] = 0;
}

int wrap_run(char *const *argv, double wait_s, char *line, size_t size)
{
    double until_s = time_monotonic_s() + wait_s;
    int ends[2], status = 0;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    pid_t pid = fork(), ended = 0;
    if (pid == 0)
        become(argv, ends[1]);
    close(ends[1]);
    while (pid > 0 && (ended = waitpid(pid, &status, WNOHANG)) == 0 && time_monotonic_s() < until_s)
        usleep(POLL_US);
    if (pid > 0 && ended == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    read_line(ends[0], line, line ? size : 0);
    close(ends[0]);
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *wrap_target(const struct jobdir *d, const char *target, const char *home)
{
    bool at_home = target[0] == '~' && (target[1] == '/' || !target[1]);
    char *path = at_home            ? mem_printf("%s%s", home, target + 1)
                 : target[0] == '/' ? mem_dup(target)
                                    : mem_printf("%s/work/%s", d->path, target);

    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    return path;
}

char *wrap_source(const struct jobdir *d, const struct jobfile_mount *m, struct err *e)
{
    char *path = mem_printf("%s/input%s%s", d->path, m->source[0] == '/' ? "" : "/", m->source);
    size_t n = strlen(path);
    struct stat st;

    while (n && path[n - 1] == '/')
        path[--n] = 0;
    if (lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
        return path;
    err_set(e, ERR_NOTFOUND, "file_mounts: %s: its data is not in $TRADEWIND_INPUT", m->target);
    free(path);
    return NULL;
}

int wrap_prepare(const struct jobdir *d,
                 const struct jobfile *job,
                 char *const *env,
                 const char *name,
                 struct wrap *out,
                 struct err *e)
{
    *out = (struct wrap){0};
    if (job->image)
        return container_prepare(d, job, name, out, e);
    return job->n_mounts ? sandbox_prepare(d, job, env, out, e) : 0;
}
