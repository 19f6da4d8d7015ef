/* The first process of a container: starts the command of a job, passes signals to every process,
 * and takes in those whose parents ended. main.c calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/codewatch.h"
#include "exec/agent/supervise.h"
#include "exec/agent/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNALLED 128
#define CODE_NO_START 127

static void become(const struct jobdir *d, const struct jobfile *job, const sigset_t *before)
{
    AUTO_MEM char *work = jobdir_file(d, "work");
    union {
        const char *const *in;
        char **out;
    } command = {.in = job->command}; /* exec only reads */

    setsid();
    sigprocmask(SIG_SETMASK, before, NULL);
    signal(SIGPIPE, SIG_DFL);
    environ = start_env(d, job, true);
    if (job->learn)
        codewatch_answer(work);
    if (chdir(work) == 0)
        execvp(command.out[0], command.out);
    fprintf(stderr, "%s: %s\n", command.out[0],
            errno == ENOENT ? "there is no such program in work/ or in the image"
                            : strerror(errno));
    _exit(CODE_NO_START);
}

static bool has_oom_kill(const char *path)
{
    AUTO_MEM char *text = jobdir_read_small(path, 4096, NULL);
    const char *at = text ? strstr(text, "oom_kill ") : NULL;

    return at && strtol(at + strlen("oom_kill "), NULL, 10) > 0;
}

/* Engines notice only the death of their first process, which we are. */
static void report_memory(void)
{
    if (!has_oom_kill("/sys/fs/cgroup/memory.events") &&
        !has_oom_kill("/sys/fs/cgroup/memory/memory.oom_control"))
        return;
    AUTO_FD int fd =
        open(CONTAINER_REPORT "/" CONTAINER_OVER, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)fd;
}

static int code_of(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        report_memory();
    return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Until pid ended; its code as shells have it. */
static int wait_for(pid_t pid, const sigset_t *set)
{
    for (;;) {
        siginfo_t info;
        int signal = sigwaitinfo(set, &info), status;
        if (signal > 0 && signal != SIGCHLD)
            kill(-1, signal); /* all but us */
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
            if (ended == pid)
                return code_of(status);
    }
}

int init_run(const char *jobfile, const char *directory, struct err *e)
{
    AUTO_CLEAR(jobfile) struct jobfile job = {0};
    AUTO_MEM char *path = mem_dup(directory);
    const struct jobdir d = {.path = path, .lock_fd = -1};
    sigset_t set, before;
    size_t n;
    AUTO_MEM char *text = jobdir_read_small(jobfile, JOBFILE_BYTES_MAX + 1, &n);

    if (!text)
        return file_error(e, "read", jobfile);
    if (jobfile_parse(text, n, &job, e) < 0)
        return -1;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = fork();
    if (pid < 0)
        return err_set(e, ERR_RETRY, "start a process: %s", strerror(errno));
    if (pid == 0)
        become(&d, &job, &before);
    return wait_for(pid, &set);
}
