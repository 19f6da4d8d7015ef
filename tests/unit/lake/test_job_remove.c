/* Removed jobs: which stay, what is left of the others, and that a failing database leaves all or
 * nothing. */
#include "lake/job/job.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

static const char *const command[] = {"true"};

/* A job in that state; its id. */
static int64_t job_in(struct lake *l, enum lake_job_state state, int64_t cost_microusd)
{
    const struct lake_job_request r = {.command = command, .n_command = 1, .run = 3};
    struct lake_job_change c = {
        .to = state, .runtime_s = 1, .cost_microusd = cost_microusd, .cost_basis = "x"};
    struct lake_job_change storing = {.to = LAKE_JOB_STORING, .runtime_s = -1};
    const struct lake_job_metric loss = {"loss", 1, 0.5};
    struct err e = {0};

    CHECK(lake_job_submit(l, &r, 1, &c.id, &e) == 0 &&
              lake_job_add_metrics(l, c.id, &loss, 1, &e) == 0,
          "a job %s", e.text);
    storing.id = c.id;
    if (state == LAKE_JOB_UNSAVED)
        CHECK(lake_job_step(l, &storing, 1, &e) == 0, "stores %s", e.text);
    CHECK(lake_job_step(l, &c, 1, &e) == 0 && c.applied, "is %s %s", lake_job_state_text(state),
          e.text);
    return c.id;
}

static int remove_job(struct lake *l, int64_t id, struct err *e)
{
    const struct lake_job_removal r = {id, "local"};

    return lake_job_remove(l, &r, 1, e);
}

static int64_t spent(struct lake *l)
{
    int64_t microusd = -1;
    struct err e = {0};

    CHECK(lake_job_spent(l, 0, &microusd, &e) == 0, "spent %s", e.text);
    return microusd;
}

static int64_t rows(struct lake *l)
{
    return scratch_number(l, "SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM job_text)"
                             " + (SELECT count(*) FROM job_state) + (SELECT count(*) FROM job_tag)"
                             " + (SELECT count(*) FROM job_series)"
                             " + (SELECT count(*) FROM job_metric)"
                             " + (SELECT count(*) FROM meta WHERE kind = 4)");
}

static int note_removed(void *context, const struct lake_job_removed *r, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%lld %lld %s %s %lld;", (long long)r->id,
             (long long)r->run, r->user, r->cloud, (long long)r->cost_microusd);
    return 0;
}

static void removal(struct lake *l)
{
    static const enum lake_job_state open[] = {LAKE_JOB_LAUNCHING, LAKE_JOB_RUNNING,
                                               LAKE_JOB_STORING};
    int64_t failed = job_in(l, LAKE_JOB_FAILED, 1000000);
    int64_t unsaved = job_in(l, LAKE_JOB_UNSAVED, 2000000);
    char left[200] = "";
    struct err e = {0};
    bool removed = false;

    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        int64_t id = job_in(l, open[i], 0);
        struct lake_job_change lost = {.id = id, .to = LAKE_JOB_LOST, .runtime_s = -1};
        const struct lake_job_removal both[] = {{failed, "local"}, {id, "local"}};
        CHECK(lake_job_remove(l, both, 2, &e) < 0 && e.kind == ERR_USAGE, "stays: %s", e.text);
        CHECK(lake_job_step(l, &lost, 1, &e) == 0 && remove_job(l, id, &e) == 0,
              "goes once it is over %s", e.text);
    }
    CHECK(remove_job(l, failed, &e) == 0 && remove_job(l, unsaved, &e) == 0, "both go %s", e.text);
    CHECK(rows(l) == 0, "with all rows: %lld are left", (long long)rows(l));
    /* The unsaved one has not come to its end, and counts from now on. */
    int64_t cost = spent(l);
    CHECK(cost == 3000000, "what they cost stays: %lld", (long long)cost);
    CHECK(lake_job_each_removed(l, 0, note_removed, left, &e) == 0 &&
              strstr(left, "1 3 ann local 1000000;2 3 ann local 2000000;") == left,
          "for the bill: %s", left);
    CHECK(lake_job_was_removed(l, failed, &removed, &e) == 0 && removed, "known as removed");
    CHECK(lake_job_was_removed(l, 999, &removed, &e) == 0 && !removed, "unlike another");
    CHECK(remove_job(l, failed, &e) < 0 && e.kind == ERR_NOTFOUND, "gone: %s", e.text);
}

/* Every call of the database fails once. */
static void faults(struct scratch *s, struct lake *l)
{
    int64_t id = job_in(l, LAKE_JOB_FAILED, 0), before = rows(l), n = 0;
    struct err e = {0};

    for (s->calls_left = 0; remove_job(l, id, &e) < 0 && n < 100; s->calls_left = ++n) {
        s->calls_left = -1;
        if (rows(l) != before)
            CHECK(false, "a removal that fails at call %lld leaves all rows", (long long)n);
    }
    s->calls_left = -1;
    CHECK(n > 5 && rows(l) == 0, "all or nothing, after %lld faults", (long long)n);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    struct lake *l = scratch_open(&s);
    removal(l);
    faults(&s, l);
    lake_free(l);
    scratch_clear(&s);
    return TAP_DONE();
}
