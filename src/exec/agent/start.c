/* Makes the process that becomes a job's command, in a session of its own, waiting until it
 * is let go. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/jobrecord.h"
#include "exec/agent/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A flood is read in large pieces. */
#define OUTPUT_PIPE_BYTES (1 << 20)
#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What a program needs to know about its user and machine. Everything else in our environment may
 * be secret: tokens, keys, proxies with passwords. */
static const char *const inherited[] = {
    "PATH",   "HOME",     "USER",       "LOGNAME",         "SHELL",     "LANG",
    "TZ",     "LANGUAGE", "TMPDIR",     "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
    "LC_ALL", "LC_CTYPE", "LC_NUMERIC",
};

struct env {
    char **list;
    size_t n, cap;
};

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

/* Takes entry over; a later one of the same name replaces an earlier. */
static void env_put(struct env *v, char *entry)
{
    size_t len = name_length(entry);

    for (size_t i = 0; i < v->n; i++)
        if (name_length(v->list[i]) == len && !memcmp(v->list[i], entry, len)) {
            free(v->list[i]);
            v->list[i] = entry;
            return;
        }
    v->list = mem_room(v->list, v->n, &v->cap, sizeof *v->list);
    v->list[v->n++] = entry;
}

const char *env_get(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (!strncmp(*env, name, len) && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool is_unset(const struct jobfile *job, const char *name)
{
    for (size_t i = 0; i < job->n_unset; i++)
        if (!strcmp(job->unset[i], name))
            return true;
    return false;
}

/* The variables of a container are its image's, and no others are inherited. */
static void put_image_env(struct env *v)
{
    for (char **entry = environ; entry && *entry; entry++)
        env_put(v, mem_dup(*entry));
    env_put(v, mem_dup("HOME=" CONTAINER_HOME));
}

char **start_env(const struct jobdir *d, const struct jobfile *job, bool in_container)
{
    struct env v = {0};

    env_put(&v, mem_dup(DEFAULT_PATH));
    if (in_container)
        put_image_env(&v);
    for (size_t i = 0; !in_container && i < sizeof inherited / sizeof inherited[0]; i++) {
        const char *value = getenv(inherited[i]);
        if (value && !is_unset(job, inherited[i]))
            env_put(&v, mem_printf("%s=%s", inherited[i], value));
    }
    for (size_t i = 0; i < job->n_env; i++)
        env_put(&v, mem_dup(job->env[i]));
    env_put(&v, mem_printf("TRADEWIND_JOB=%" PRId64, job->id));
    env_put(&v, mem_printf("TRADEWIND_INPUT=%s/input", d->path));
    env_put(&v, mem_printf("TRADEWIND_CHECKPOINT=%s/checkpoint", d->path));
    env_put(&v, jobrecord_mark(d));
    v.list = mem_room(v.list, v.n, &v.cap, sizeof *v.list);
    v.list[v.n] = NULL;
    return v.list;
}

/* None above them: where the directory of the job was removed meanwhile there is no job. */
static int make_directories(const struct jobdir *d, struct err *e)
{
    static const char *const names[] = {"work", "input", "output", "checkpoint"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_MEM char *path = jobdir_file(d, names[i]);
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return file_error(e, "create directory", path);
    }
    return 0;
}

struct plumbing {
    int output[2], go[2], error[2], null;
};

static void close_all(struct plumbing *p)
{
    int all[] = {p->output[0], p->output[1], p->go[0], p->go[1], p->error[0], p->error[1], p->null};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int make_plumbing(struct plumbing *p, struct err *e)
{
    *p = (struct plumbing){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (p->null < 0 || pipe2(p->output, O_CLOEXEC) < 0 || pipe2(p->go, O_CLOEXEC) < 0 ||
        pipe2(p->error, O_CLOEXEC) < 0) {
        err_set(e, ERR_IO, "make pipes: %s", strerror(errno));
        close_all(p);
        return -1;
    }
    fcntl(p->output[0], F_SETFL, O_NONBLOCK); /* not the job's end */
    fcntl(p->output[0], F_SETPIPE_SZ, OUTPUT_PIPE_BYTES);
    return 0;
}

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A container's engine is no program of the job: it gets the agent's variables, and the mark. */
static void execute(const struct started *s, const struct jobfile *job, char *mark)
{
    union {
        const char *const *in;
        char **out;
    } command = {.in = job->command}; /* exec only reads */
    char **argv = s->wrap.argv ? s->wrap.argv : command.out;

    if (s->wrap.engine)
        putenv(mark);
    else
        environ = s->env;
    execvp(argv[0], argv);
}

/* In the child, which never returns. */
static void become(struct plumbing *p,
                   const struct jobdir *d,
                   const struct jobfile *job,
                   const struct started *s,
                   pid_t parent)
{
    char *mark = jobrecord_mark(d), *work = jobdir_file(d, "work");
    char byte;
    int why;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(p->go[1]);
    if (getppid() != parent || read(p->go[0], &byte, 1) != 1)
        _exit(127);
    reset_signals();
    if (dup2(p->null, 0) >= 0 && dup2(p->output[1], 1) >= 0 && dup2(p->output[1], 2) >= 0 &&
        chdir(work) == 0)
        execute(s, job, mark);
    why = errno;
    (void)!write(p->error[1], &why, sizeof why);
    _exit(127);
}

int start_prepare(const struct jobdir *d,
                  const struct jobfile *job,
                  const char *name,
                  struct started *s,
                  struct err *e)
{
    struct plumbing p;
    pid_t parent = getpid();

    *s = (struct started){.output_fd = -1, .go_fd = -1, .error_fd = -1};
    if (make_directories(d, e) < 0)
        return -1;
    s->env = start_env(d, job, false);
    if (wrap_prepare(d, job, s->env, name, &s->wrap, e) < 0 || make_plumbing(&p, e) < 0)
        return -1;
    s->pid = fork();
    if (s->pid < 0) {
        err_set(e, ERR_RETRY, "start a process: %s", strerror(errno));
        close_all(&p);
        return -1;
    }
    if (s->pid == 0)
        become(&p, d, job, s, parent);
    s->output_fd = p.output[0];
    s->go_fd = p.go[1];
    s->error_fd = p.error[0];
    p.output[0] = p.go[1] = p.error[0] = -1;
    close_all(&p);
    return 0;
}

int start_go(struct started *s, const struct jobfile *job, struct err *e)
{
    int why = 0;

    if (write(s->go_fd, "", 1) != 1)
        return err_set(e, ERR_IO, "start %s: %s", job->command[0], strerror(errno));
    ssize_t n;
    do
        n = read(s->error_fd, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof why)
        return 0; /* closed by exec */
    if (why == ENOENT)
        return err_set(e, ERR_NOTFOUND,
                       "%s: there is no such program in work/ or in PATH (or the interpreter that "
                       "its first line names is missing)",
                       job->command[0]);
    return err_set(e, ERR_USAGE, "%s: %s", job->command[0], strerror(why));
}

void start_clear(struct started *s)
{
    if (s->output_fd >= 0)
        close(s->output_fd);
    if (s->go_fd >= 0)
        close(s->go_fd);
    if (s->error_fd >= 0)
        close(s->error_fd);
    for (char **entry = s->env; entry && *entry; entry++)
        free(*entry);
    free(s->env);
    wrap_clear(&s->wrap);
    *s = (struct started){.output_fd = -1, .go_fd = -1, .error_fd = -1};
}
