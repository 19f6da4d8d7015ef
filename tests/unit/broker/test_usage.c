#include "broker/learn/usage.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* A second, two seconds, and a line that is not whole yet. */
static const char state[] =
    "1000000 started pid=7 limits=none\n"
    "1001000 sample cpu_s=0.50 memory_mb=10.0 received=125000 sent=250000 log=0 gpu=-1\n"
    "what is this\n"
    "1003000 sample cpu_s=2.50 memory_mb=12.0 received=625000 sent=250000 log=40 gpu=50\n"
    "1004000 ended code=0 runtime_s=4.000 cpu_s=3.00 peak_mb=12.0 received=700000 sent=300000 "
    "log=80 cause=exit text=exit code 0\n"
    "1005000 sample cpu_s=9";

static void points(void)
{
    AUTO_CLEAR(usage) struct usage u;

    usage_parse(state, strlen(state), &u);
    CHECK(u.n == 2, "two samples");
    if (u.n != 2)
        return;
    const struct usage_point *a = &u.points[0], *b = &u.points[1];
    CHECK(near(a->at_s, 1) && near(a->cpus, 0.5) && near(a->received_mbps, 1) &&
              near(a->sent_mbps, 2) && near(a->memory_mb, 10) && a->gpu_percent < 0,
          "the first since the start: 125,000 bytes in a second are 1 Mbit/s");
    CHECK(near(b->at_s, 3) && near(b->cpus, 1) && near(b->received_mbps, 2) &&
              near(b->sent_mbps, 0) && near(b->gpu_percent, 50) && b->log_bytes == 40,
          "the second since the first: 500,000 in two");
    CHECK(u.received == 700000 && u.sent == 300000 && near(u.seconds, 4) && near(u.cpu_s, 3) &&
              near(u.peak_mb, 12),
          "in all, to the end");
}

/* ---- files ---- */

struct job {
    char home[64];
    int64_t id;
};

static void put(const struct job *j, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/jobs/%lld/%s", j->home, (long long)j->id, name);
    struct err e = {0};

    if (file_replace(path, text, strlen(text), 0600, &e) < 0)
        printf("# %s\n", e.text);
}

static struct job new_job(int64_t id)
{
    static char home[] = "/tmp/tradewind-usage-XXXXXX";
    static bool made;
    struct job j = {.id = id};

    if (!made)
        made = mkdtemp(home) != NULL;
    snprintf(j.home, sizeof j.home, "%s", home);
    AUTO_MEM char *dir = mem_printf("%s/jobs/%lld", home, (long long)id);
    file_make_dirs(dir, 0700, NULL);
    return j;
}

/* Iterations are printed from the second sample on: 10 until then, 30 two seconds later, 50 after
 * two more; 1,000,000 bytes in these four seconds. Its epochs do not count. */
static void rates(void)
{
    struct job j = new_job(1);
    struct usage_rates r;
    struct usage_point last;
    struct err e = {0};

    put(&j, "log",
        "compiling\n"                      /* 10 bytes */
        "[TRADEWIND_METRIC] loss 10 0.5\n" /* 31: 41 */
        "[TRADEWIND_METRIC] epoch 1 9.0\n" /* 72 */
        "[TRADEWIND_METRIC] loss 30 0.4\n" /* 103 */
        "[TRADEWIND_METRIC] epoch 2 8.0\n" /* 134 */
        "[TRADEWIND_METRIC] loss 50 0.3\n" /* 165 */);
    put(&j, "state",
        "1000 started pid=7 limits=none\n"
        "2000 sample cpu_s=0 memory_mb=1 received=5000000 sent=0 log=10 gpu=-1\n"
        "3000 sample cpu_s=0 memory_mb=1 received=6000000 sent=0 log=72 gpu=-1\n"
        "5000 sample cpu_s=1 memory_mb=1 received=6300000 sent=200000 log=134 gpu=-1\n"
        "7000 sample cpu_s=2 memory_mb=1 received=6600000 sent=400000 log=165 gpu=-1\n"
        "9000 sample cpu_s=3 memory_mb=2 received=9900000 sent=400000 log=165 gpu=-1\n");
    CHECK(usage_rates(j.home, j.id, &r, &e) == 0, "rates: %s", e.text);
    CHECK(near(r.seconds, 4) && near(r.per_s, 10) && near(r.mbps, 2),
          "of the time in which it moved on: %g s, %g/s, %g Mbit/s", r.seconds, r.per_s, r.mbps);
    CHECK(usage_last(j.home, j.id, &last) && near(last.received_mbps, 13.2) &&
              near(last.memory_mb, 2),
          "and now");
}

static void missing(void)
{
    struct job j = new_job(2);
    AUTO_CLEAR(usage) struct usage u;
    struct usage_point last;
    struct usage_rates r;
    struct err e = {0};

    CHECK(usage_read(j.home, 99, &u, &e) == 0 && u.n == 0, "a job without a file has none");
    CHECK(!usage_last(j.home, 99, &last), "nor a last one");
    CHECK(usage_rates(j.home, 99, &r, &e) < 0 && e.kind == ERR_NOTFOUND, "nor rates: %s", e.text);
    put(&j, "log", "[TRADEWIND_METRIC] loss 10 0.5\n");
    put(&j, "state",
        "1000 started pid=7 limits=none\n"
        "2000 sample cpu_s=0 memory_mb=1 received=5 sent=0 log=31 gpu=-1\n");
    CHECK(usage_rates(j.home, j.id, &r, &e) < 0 && e.kind == ERR_NOTFOUND &&
              strstr(e.text, "too short"),
          "a short one says so: %s", e.text);
}

/* The agent's tail is read when there is more than it. */
static void tail(void)
{
    struct job j = new_job(3);
    AUTO_MEM char *text = mem_zero(200000, 1);
    struct usage_point last;
    size_t n = 0;

    for (int i = 1; i <= 1000; i++)
        n +=
            (size_t)snprintf(text + n, 200000 - n,
                             "%d000 sample cpu_s=%d memory_mb=%d received=%d sent=0 log=0 gpu=-1\n",
                             i, i, i, i * 125000);
    put(&j, "state", text);
    CHECK(usage_last(j.home, j.id, &last) && near(last.cpus, 1) && near(last.received_mbps, 1) &&
              near(last.memory_mb, 1000),
          "the last of a long file");
    file_remove_tree(j.home);
}

int main(void)
{
    points();
    rates();
    missing();
    tail();
    return TAP_DONE();
}
