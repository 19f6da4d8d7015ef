/* kill -9 before every single statement that a simulated run sends to its records: afterwards
 * nothing bills, nothing is billed twice, and the run goes on where it was. */
#include "broker/machine/internal.h"
#include "db/internal.h"

#include "pipeline.h"
#include "tap.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* More statements than a run of three stages has. */
#define STATEMENTS_MAX 2000

static struct pipeline p;
static unsigned long statements_left;

/* Between two statements there is at most one call of the cloud, so dying before each of them is
 * dying before and after each call of either. */
static bool die_at_last(void *context, const char *sql)
{
    (void)context;
    (void)sql;
    if (--statements_left == 0)
        raise(SIGKILL);
    return true;
}

/* The records' own connection: it is all that struct runs has. */
static struct db *db_of_runs(struct runs *r)
{
    struct db *db;

    memcpy(&db, r, sizeof db);
    return db;
}

/* A child may not use its parent's connections. */
static int child(unsigned long n)
{
    struct err e = {0};

    p.options.runs = runs_open(p.home, &e);
    p.options.machines = machines_open(p.home, &e);
    if (!p.options.runs || !p.options.machines)
        return 1;
    runs_relax(p.options.runs);
    machines_relax(p.options.machines);
    statements_left = n;
    db_of_runs(p.options.runs)->allow = die_at_last;
    p.options.machines->db->allow = die_at_last;
    return simulate_run(&p.options, &p.result, &e) < 0 || p.result.state != RUN_FINISHED;
}

/* 1: it was killed, 0: it came to its end. */
static int run_killed(unsigned long n)
{
    int status;
    struct err e = {0};

    pipeline_again(&p);
    p.where[1] = dear(600);
    p.where[2].nodes = 2;
    if (runs_add(p.runs, &p.run, &e) < 0)
        return -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(n));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL ? 1 : -1;
    return WEXITSTATUS(status) ? -1 : 0;
}

static int count_finished(const struct run *r)
{
    int n = 0;

    while ((size_t)n < r->n_stages && r->stages[n].state == STAGE_FINISHED)
        n++;
    return n;
}

struct seen {
    int stages_before; /* finished before it went on */
    int64_t last_ms;
    bool reran;
};

/* Of the stages that were finished, none asks for machines again. */
static int see(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct seen *s = context;

    (void)now_ms;
    (void)e;
    s->reran |= m->stage < s->stages_before && m->asked_ms > s->last_ms;
    return 0;
}

static int latest(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct seen *s = context;

    (void)e;
    (void)m;
    s->last_ms = now_ms;
    return 0;
}

/* A run that had begun is over when its world was swept. */
static bool sweeps(void)
{
    struct machine_cleanup sweep = {0};
    struct run stored = {0};
    struct err e = {0};
    int64_t clock_ms;

    if (machines_clock(p.machines, p.run.id, &clock_ms, &e) < 0 ||
        simulate_cleanup(p.home, p.runs, p.machines, &sweep, &e) < 0 || sweep.open ||
        pipeline_count(&p, 0) != pipeline_count(&p, MACHINE_GONE) ||
        runs_get(p.runs, p.run.id, &stored, &e) < 0)
        return false;
    bool is_over = stored.state != RUN_GOING;
    run_clear(&stored);
    return is_over || !clock_ms;
}

static bool is_right(unsigned long n)
{
    struct machine_filter mine = {.run = p.run.id, .with_gone = true};
    struct seen seen = {0};
    struct run stored;
    struct err e = {0};

    if (runs_get(p.runs, p.run.id, &stored, &e) < 0)
        return false;
    seen.stages_before = count_finished(&stored);
    bool is_over = stored.state != RUN_GOING;
    run_clear(&stored);
    machines_each(p.machines, &mine, latest, &seen, &e);
    /* Every other time a sweep comes before it goes on. */
    if (n % 2 && !sweeps())
        return false;
    if (!is_over && (pipeline_resume(&p) < 0 || p.result.state != RUN_FINISHED ||
                     p.result.compute_microusd != pipeline_recorded(&p)))
        return false;
    machines_each(p.machines, &mine, see, &seen, &e);
    return !seen.reran && pipeline_count(&p, 0) == pipeline_count(&p, MACHINE_GONE);
}

int main(void)
{
    unsigned long n = 1, wrong = 0;
    int killed;

    pipeline_init(&p, 3);
    while ((killed = run_killed(n)) == 1 && n < STATEMENTS_MAX) {
        bool right = is_right(n);
        if (!right)
            printf("# killed at statement %lu: %s\n", n, p.err.text);
        wrong += !right;
        n++;
    }
    CHECK(killed == 0 && n > 30, "a run was killed at each of its %lu statements", n - 1);
    CHECK(wrong == 0, "each time it could be put in order, and went on: %lu times not", wrong);
    struct machine_cleanup sweep = {0};
    CHECK(simulate_cleanup(p.home, p.runs, p.machines, &sweep, &p.err) == 0 && sweep.open == 0,
          "nothing is left");
    pipeline_clear(&p);
    return TAP_DONE();
}
