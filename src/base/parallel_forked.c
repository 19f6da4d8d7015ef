/* Runs tasks in forked processes: parallel_each_forked of base/parallel.h, for work that may
 * crash on damaged input. */
#include "base/auto.h"
#include "base/mem.h"
#include "base/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often the caller looks after them. */
#define WATCH_MS 100

/* In memory that all processes share. */
struct crew {
    atomic_size_t next, done;
    atomic_bool failing; /* whoever sets it fills in `why`, and then sets the other */
    atomic_bool failed;
    struct err why;
};

struct task {
    size_t n;
    int (*work)(void *context, size_t i, struct err *e);
    bool (*watch)(void *context);
    void *context;
    struct crew *crew;
    pid_t *pids; /* 0 = has ended */
    unsigned started;
};

static void labour(const struct task *t)
{
    struct crew *c = t->crew;
    size_t i;

    while (!atomic_load(&c->failing) && (i = atomic_fetch_add(&c->next, 1)) < t->n) {
        struct err why = {0};
        if (t->work(t->context, i, &why) == 0) {
            atomic_fetch_add(&c->done, 1);
        } else if (!atomic_exchange(&c->failing, true)) {
            c->why = why;
            atomic_store(&c->failed, true);
        }
    }
}

static void end_here(int signal_number)
{
    (void)signal_number;
    _exit(1);
}

/* Nobody is left working when the caller dies, however that happens; and memory that is a file
 * which was cut is no reason to leave a core. */
static pid_t start(const struct task *t)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGBUS, end_here);
    if (getppid() == parent)
        labour(t);
    _exit(0);
}

/* Whether one has ended in another way than by itself. Where the caller was started with SIGCHLD
 * ignored nobody can tell; `done` can, when all have ended. */
static bool lost_one(struct task *t)
{
    bool lost = false;

    for (unsigned i = 0; i < t->started; i++) {
        int status = 0;
        if (t->pids[i] && waitpid(t->pids[i], &status, WNOHANG) == t->pids[i]) {
            t->pids[i] = 0;
            lost |= status != 0;
        }
    }
    return lost;
}

/* What they are at is of no use any more. */
static void end_all(const struct task *t)
{
    for (unsigned i = 0; i < t->started; i++)
        if (t->pids[i])
            kill(t->pids[i], SIGKILL);
}

/* Until all have closed their end of the pipe, which they do by ending; false: the watch said stop.
 */
static bool wait_for(struct task *t, int read_end)
{
    struct pollfd p = {.fd = read_end, .events = POLLIN};
    bool go_on = true;
    int n;

    while ((n = poll(&p, 1, WATCH_MS)) == 0 || (n < 0 && errno == EINTR)) {
        go_on = go_on && t->watch(t->context);
        if (!go_on || atomic_load(&t->crew->failed) || lost_one(t))
            end_all(t);
    }
    for (unsigned i = 0; i < t->started; i++)
        while (t->pids[i] && waitpid(t->pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
    return go_on;
}

static int run(struct task *t, unsigned processes, struct err *e)
{
    AUTO_MEM pid_t *pids = mem_zero(processes + 1, sizeof *pids);
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return 1;
    t->pids = pids;
    while (t->started < processes && (pids[t->started] = start(t)) > 0)
        t->started++;
    close(ends[1]);
    bool go_on = wait_for(t, ends[0]);
    close(ends[0]);
    if (atomic_load(&t->crew->failed)) {
        if (e)
            *e = t->crew->why;
        return -1;
    }
    if (!go_on)
        return err_set(e, ERR_RETRY, "interrupted");
    return atomic_load(&t->crew->done) < t->n;
}

int parallel_each_forked(size_t n,
                         unsigned processes,
                         int (*work)(void *context, size_t i, struct err *e),
                         bool (*watch)(void *context),
                         void *context,
                         struct err *e)
{
    struct task t = {.n = n, .work = work, .watch = watch, .context = context};

    t.crew = mmap(NULL, sizeof *t.crew, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.crew == MAP_FAILED)
        return 1;
    int result = run(&t, processes < n ? processes : (unsigned)n, e);
    munmap(t.crew, sizeof *t.crew);
    return result;
}
