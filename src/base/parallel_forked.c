#include "base/auto.h"
#include "base/mem.h"
#include "base/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often the watch is asked. */
#define WATCH_MS 100

/* In memory that all processes share. */
struct crew {
    atomic_size_t next;
    atomic_bool stop;
    atomic_bool failed; /* whoever sets it fills in `why`, which is read when all have ended */
    struct err why;
};

struct task {
    size_t n;
    int (*work)(void *context, size_t i, struct err *e);
    void *context;
    struct crew *crew;
};

static void labour(const struct task *t)
{
    struct crew *c = t->crew;
    size_t i;

    while (!atomic_load(&c->stop) && (i = atomic_fetch_add(&c->next, 1)) < t->n) {
        struct err why = {0};
        if (t->work(t->context, i, &why) == 0)
            continue;
        if (!atomic_exchange(&c->failed, true))
            c->why = why;
        atomic_store(&c->stop, true);
    }
}

/* Nobody is left working when the caller dies, however that happens. */
static pid_t start(const struct task *t)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        labour(t);
    _exit(0);
}

/* Until all have closed their end, which they do by ending. */
static void wait_for(const struct task *t, int read_end, bool (*watch)(void *context))
{
    struct pollfd p = {.fd = read_end, .events = POLLIN};
    int n;

    while ((n = poll(&p, 1, WATCH_MS)) == 0 || (n < 0 && errno == EINTR))
        if (!watch(t->context))
            atomic_store(&t->crew->stop, true);
}

/* The signal that ended one of them, 0 when they all ended by themselves. */
static int collect(const pid_t *pids, unsigned n)
{
    int ended_by = 0;

    for (unsigned i = 0; i < n; i++) {
        int status = 0;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFSIGNALED(status))
            ended_by = WTERMSIG(status);
    }
    return ended_by;
}

static int conclude(const struct task *t, int ended_by, struct err *e)
{
    if (atomic_load(&t->crew->failed)) {
        if (e)
            *e = t->crew->why;
        return -1;
    }
    if (ended_by)
        return err_set(e, ERR_IO, "a process at work was ended: %s", strsignal(ended_by));
    return atomic_load(&t->crew->stop) ? err_set(e, ERR_RETRY, "interrupted") : 0;
}

static int run(const struct task *t,
               unsigned processes,
               bool (*watch)(void *context),
               struct err *e)
{
    AUTO_MEM pid_t *pids = mem_zero(processes, sizeof *pids);
    unsigned started = 0;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return 1;
    while (started < processes && (pids[started] = start(t)) > 0)
        started++;
    close(ends[1]);
    if (started)
        wait_for(t, ends[0], watch);
    close(ends[0]);
    int ended_by = collect(pids, started);
    return started ? conclude(t, ended_by, e) : 1;
}

int parallel_each_forked(size_t n,
                         unsigned processes,
                         int (*work)(void *context, size_t i, struct err *e),
                         bool (*watch)(void *context),
                         void *context,
                         struct err *e)
{
    struct task t = {.n = n, .work = work, .context = context};

    t.crew = mmap(NULL, sizeof *t.crew, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.crew == MAP_FAILED)
        return 1;
    int result = run(&t, processes, watch, e);
    munmap(t.crew, sizeof *t.crew);
    return result;
}
