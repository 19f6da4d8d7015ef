#include "base/parallel.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECES 1000

struct tally {
    atomic_int seen[PIECES];
    atomic_int begun;
    size_t fail_at;
};

static int count(void *context, size_t i, struct err *e)
{
    struct tally *t = context;

    atomic_fetch_add(&t->seen[i], 1);
    atomic_fetch_add(&t->begun, 1);
    return i == t->fail_at ? err_set(e, ERR_NOFIT, "piece %zu", i) : 0;
}

static void test_each_once(unsigned threads)
{
    static struct tally t;
    struct err e = {0};
    size_t wrong = 0;

    memset(&t, 0, sizeof t);
    t.fail_at = PIECES;
    CHECK(parallel_each(PIECES, threads, count, &t, &e) == 0, "%u threads: no failure", threads);
    for (size_t i = 0; i < PIECES; i++)
        wrong += t.seen[i] != 1;
    CHECK(wrong == 0, "%u threads: each piece exactly once", threads);
}

static void test_failure(unsigned threads)
{
    static struct tally t;
    struct err e = {0};

    memset(&t, 0, sizeof t);
    t.fail_at = 10;
    CHECK(parallel_each(PIECES, threads, count, &t, &e) < 0 && e.kind == ERR_NOFIT &&
              strcmp(e.text, "piece 10") == 0,
          "%u threads: the failing piece's error", threads);
    CHECK(threads > 1 || t.begun == 11, "one thread stops right there");
}

/* ---- processes ---- */

static struct tally *shared_tally(void)
{
    struct tally *t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    t->fail_at = PIECES;
    return t;
}

static bool go_on(void *context)
{
    (void)context;
    return true;
}

static bool stop(void *context)
{
    (void)context;
    return false;
}

static int linger(void *context, size_t i, struct err *e)
{
    usleep(20000);
    return count(context, i, e);
}

static int die(void *context, size_t i, struct err *e)
{
    if (i == 5)
        raise(SIGKILL);
    return count(context, i, e);
}

static void test_forked(unsigned processes)
{
    struct tally *t = shared_tally();
    struct err e = {0};
    size_t wrong = 0;

    CHECK(parallel_each_forked(PIECES, processes, count, go_on, t, &e) == 0,
          "%u processes: no failure %s", processes, e.text);
    for (size_t i = 0; i < PIECES; i++)
        wrong += t->seen[i] != 1;
    CHECK(wrong == 0, "%u processes: each piece exactly once", processes);
    t->fail_at = 10;
    CHECK(parallel_each_forked(PIECES, processes, count, go_on, t, &e) == -1 &&
              e.kind == ERR_NOFIT && strcmp(e.text, "piece 10") == 0,
          "%u processes: the failing piece's error: %s", processes, e.text);
    munmap(t, sizeof *t);
}

static void test_forked_ends(void)
{
    struct tally *t = shared_tally();
    struct err e = {0};

    CHECK(parallel_each_forked(PIECES, 2, linger, stop, t, &e) == -1 && e.kind == ERR_RETRY &&
              atomic_load(&t->begun) < PIECES / 2,
          "who is told to stop does: %s after %d pieces", e.text, atomic_load(&t->begun));
    CHECK(parallel_each_forked(PIECES, 2, die, go_on, t, &e) == 1,
          "where a process is killed not all is done");
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and none is left");
    signal(SIGCHLD, SIG_IGN);
    CHECK(parallel_each_forked(PIECES, 2, die, go_on, t, &e) == 1,
          "nor where nobody hears of the end of processes");
    CHECK(parallel_each_forked(PIECES, 2, count, go_on, t, &e) == 0, "but else it is");
    signal(SIGCHLD, SIG_DFL);
    munmap(t, sizeof *t);
}

/* What work() changes in memory of its own is lost. */
static void test_forked_memory(void)
{
    static struct tally own;
    struct err e = {0};

    own.fail_at = PIECES;
    CHECK(parallel_each_forked(PIECES, 2, count, go_on, &own, &e) == 0 && own.begun == 0,
          "the caller's memory stays as it was");
}

int main(void)
{
    struct err e = {0};

    CHECK(parallel_cores() >= 1, "there is a processor");
    CHECK(parallel_each(0, 4, count, NULL, &e) == 0, "no pieces, no work");
    test_each_once(1);
    test_each_once(2);
    test_each_once(16);
    test_failure(1);
    test_failure(8);
    test_forked(1);
    test_forked(2);
    test_forked(16);
    test_forked_ends();
    test_forked_memory();
    return TAP_DONE();
}
