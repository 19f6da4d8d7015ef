#include "base/parallel.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>

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
    return TAP_DONE();
}
