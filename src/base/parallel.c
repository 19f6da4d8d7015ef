#include "base/parallel.h"

#include "base/auto.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- threads ---- */

struct pool {
    pthread_mutex_t lock; /* guards next, failed and *e */
    size_t n, next;
    bool failed;
    struct err *e;
    int (*work)(void *context, size_t i, struct err *e);
    void *context;
};

unsigned parallel_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 1 ? (unsigned)n : 1;
}

static bool next_piece(struct pool *c, size_t *i_out)
{
    pthread_mutex_lock(&c->lock);
    bool more = !c->failed && c->next < c->n;
    if (more)
        *i_out = c->next++;
    pthread_mutex_unlock(&c->lock);
    return more;
}

static void *work_in_thread(void *argument)
{
    struct pool *c = argument;
    size_t i;

    while (next_piece(c, &i)) {
        struct err why = {0};
        if (c->work(c->context, i, &why) == 0)
            continue;
        pthread_mutex_lock(&c->lock);
        if (!c->failed && c->e)
            *c->e = why;
        c->failed = true;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

int parallel_each(size_t n,
                  unsigned threads,
                  int (*work)(void *context, size_t i, struct err *e),
                  void *context,
                  struct err *e)
{
    struct pool c = {.n = n, .e = e, .work = work, .context = context};
    unsigned started = 0;

    if (threads > n)
        threads = (unsigned)n;
    pthread_mutex_init(&c.lock, NULL);
    AUTO_MEM pthread_t *others = threads > 1 ? mem_zero(threads - 1, sizeof *others) : NULL;
    while (started + 1 < threads && pthread_create(&others[started], NULL, work_in_thread, &c) == 0)
        started++;
    work_in_thread(&c);
    while (started)
        pthread_join(others[--started], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.failed ? -1 : 0;
}

/* ---- processes ---- */

/* How often the caller looks at the processes. */
#define WATCH_MS 100

/* In memory that all processes share. */
struct shared {
    atomic_size_t next, done;
    atomic_bool failing; /* the process that sets it fills in `why`, then sets `failed` */
    atomic_bool failed;
    struct err why;
};

struct task {
    size_t n;
    int (*work)(void *context, size_t i, struct err *e);
    bool (*watch)(void *context);
    void *context;
    struct shared *shared;
    pid_t *pids; /* 0 = has ended */
    unsigned started;
};

static void work_in_process(const struct task *t)
{
    struct shared *c = t->shared;
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

/* A child ends with its parent, in whatever way the parent dies. Mapped memory of a file that was
 * cut ends the child without a core file. */
static pid_t start(const struct task *t)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGBUS, end_here);
    if (getppid() == parent)
        work_in_process(t);
    _exit(0);
}

/* Whether a child ended in another way than by itself. A parent started with SIGCHLD ignored cannot
 * tell; `done` tells when all have ended. */
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

static void end_all(const struct task *t)
{
    for (unsigned i = 0; i < t->started; i++)
        if (t->pids[i])
            kill(t->pids[i], SIGKILL);
}

/* Waits until all children have closed their end of the pipe, which they do by ending. False: the
 * watch said stop. */
static bool wait_for(struct task *t, int read_end)
{
    struct pollfd p = {.fd = read_end, .events = POLLIN};
    bool go_on = true;
    int n;

    while ((n = poll(&p, 1, WATCH_MS)) == 0 || (n < 0 && errno == EINTR)) {
        go_on = go_on && t->watch(t->context);
        if (!go_on || atomic_load(&t->shared->failed) || lost_one(t))
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
    if (atomic_load(&t->shared->failed)) {
        if (e)
            *e = t->shared->why;
        return -1;
    }
    if (!go_on)
        return err_set(e, ERR_RETRY, "interrupted");
    return atomic_load(&t->shared->done) < t->n;
}

int parallel_each_forked(size_t n,
                         unsigned processes,
                         int (*work)(void *context, size_t i, struct err *e),
                         bool (*watch)(void *context),
                         void *context,
                         struct err *e)
{
    struct task t = {.n = n, .work = work, .watch = watch, .context = context};

    t.shared =
        mmap(NULL, sizeof *t.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.shared == MAP_FAILED)
        return 1;
    int result = run(&t, processes < n ? processes : (unsigned)n, e);
    munmap(t.shared, sizeof *t.shared);
    return result;
}
