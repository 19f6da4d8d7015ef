#include "broker/machine/cap.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/ids.h"
#include "broker/machine/bill.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- what was spent ---- */

struct sum {
    const struct config *config;
    const struct open_bills *open;
    int64_t now_ms, microusd;
};

static void add(struct sum *s, int64_t microusd)
{
    if (__builtin_add_overflow(s->microusd, microusd, &s->microusd))
        s->microusd = INT64_MAX;
}

static int add_job(void *context, const struct lake_job *job, struct err *e)
{
    struct sum *s = context;

    (void)e;
    add(s, bill_microusd(s->config, s->open, job, s->now_ms));
    return 0;
}

struct removed_sum {
    int64_t run, microusd;
};

static int add_removed(void *context, const struct lake_job_removed *job, struct err *e)
{
    struct removed_sum *s = context;

    (void)e;
    s->microusd += job->run == s->run ? job->cost_microusd : 0;
    return 0;
}

int cap_run_spent(const struct config *c,
                  const struct open_bills *open,
                  struct lake *l,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *microusd_out,
                  struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills read = {0};
    const struct lake_job_filter all = {.run = run};
    struct sum s = {.config = c, .open = open ? open : &read, .now_ms = now_ms};

    if ((!open && open_bills_read(c->home, now_ms, &read, e) < 0) ||
        lake_job_list(l, &all, add_job, &s, e) < 0)
        return -1;
    struct removed_sum removed = {.run = run};
    if (lake_job_each_removed(l, 0, add_removed, &removed, e) < 0)
        return -1;
    add(&s, removed.microusd);
    *microusd_out = s.microusd;
    return 0;
}

int64_t cap_month_begin_ms(int64_t now_ms)
{
    time_t now_s = (time_t)(now_ms / 1000);
    struct tm tm;

    gmtime_r(&now_s, &tm);
    tm = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = 1};
    return (int64_t)timegm(&tm) * 1000;
}

/* Its host, if it has one, is added with the open bills. */
static int add_running(void *context, const struct lake_job *job, struct err *e)
{
    const struct sum *s = context;

    return open_bill_of(s->open, job->id) ? 0 : add_job(context, job, e);
}

static int add_open(struct sum *s, struct lake *l, struct err *e)
{
    for (size_t i = 0; i < s->open->n; i++) {
        AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
        struct lake_job job;
        struct err why = {0};
        if (lake_job_load(l, s->open->list[i].job, arena, &job, &why) < 0) {
            if (why.kind != ERR_NOTFOUND)
                return err_set(e, why.kind, "%s", why.text);
            continue; /* a job of another project */
        }
        add(s, bill_microusd(s->config, s->open, &job, s->now_ms));
        /* The cost of a job that ended was added with all that ended. */
        if (lake_job_state_final(job.state))
            add(s, -job.cost_microusd);
    }
    return 0;
}

int cap_month_spent(
    const struct config *c, struct lake *l, int64_t now_ms, int64_t *microusd_out, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    const struct lake_job_filter now = {.states = LAKE_JOB_UNDER_WAY};
    struct sum s = {.config = c, .open = &open, .now_ms = now_ms};

    if (open_bills_read(c->home, now_ms, &open, e) < 0 ||
        lake_job_spent(l, cap_month_begin_ms(now_ms), &s.microusd, e) < 0 ||
        lake_job_list(l, &now, add_running, &s, e) < 0 || add_open(&s, l, e) < 0)
        return -1;
    *microusd_out = s.microusd;
    return 0;
}

/* ---- whether it is too much ---- */

/* 0.00012 of 0.0001 is not "0.00 of 0.00". */
static void put_usd(double usd, char out[static 32])
{
    if (usd >= 0.1)
        snprintf(out, 32, "%.2f", usd);
    else
        snprintf(out, 32, "%.2g", usd);
}

static void say(const char *what, int64_t spent, int64_t most, char out[static CAP_REASON])
{
    char of[32], so_far[32];

    put_usd(money_to_usd(spent), so_far);
    put_usd(money_to_usd(most), of);
    snprintf(out, CAP_REASON, "spending cap %s: %s of %s USD", what, so_far, of);
}

int cap_run_over(const struct config *c,
                 struct lake *l,
                 const struct run *run,
                 int64_t now_ms,
                 char out[static CAP_REASON],
                 struct err *e)
{
    int64_t spent;

    if (run->max_microusd <= 0)
        return 0;
    if (cap_run_spent(c, NULL, l, run->id, now_ms, &spent, e) < 0)
        return -1;
    if (spent <= run->max_microusd)
        return 0;
    say("--max-cost", spent, run->max_microusd, out);
    return 1;
}

int cap_month_over(const struct config *c,
                   struct lake *l,
                   int64_t now_ms,
                   char out[static CAP_REASON],
                   struct err *e)
{
    int64_t spent;

    if (!isfinite(c->limits.max_usd_per_month))
        return 0;
    int64_t most = money_from_usd(c->limits.max_usd_per_month);
    if (cap_month_spent(c, l, now_ms, &spent, e) < 0)
        return -1;
    if (spent <= most)
        return 0;
    say("limits.max_usd_per_month", spent, most, out);
    return 1;
}

int cap_check_month(const struct config *c, struct lake *l, struct err *e)
{
    static const char raise[] = "raise it: tradewind config set limits.max_usd_per_month USD";
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    int64_t now_ms = time_epoch_ms();
    struct bills_left left;
    char why[CAP_REASON];
    int over = cap_month_over(c, l, now_ms, why, e);

    if (over <= 0)
        return over;
    /* Hosts of ended jobs may have used up the cap. */
    if (open_bills_read(c->home, now_ms, &open, e) < 0 ||
        bill_left_over(&open, l, now_ms, &left, e) < 0)
        return -1;
    if (left.jobs == 0)
        return err_set(e, ERR_NOFIT, "%s; %s", why, raise);
    return err_set(e, ERR_NOFIT,
                   "%s; hosts of jobs that are over (job %" PRId64
                   "%s) are not released: tradewind machines cleanup; or %s",
                   why, left.first, left.jobs > 1 ? " and others" : "", raise);
}

/* ---- the end of it ---- */

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    struct ids *list = context;

    (void)e;
    if (job->stop_asked)
        return 0;
    ids_add(list, job->id);
    return 0;
}

int cap_stop_all(struct lake *l, const char *why, struct err *e)
{
    const struct lake_job_filter open = {.states = (LAKE_JOB_UNDER_WAY | 1U << LAKE_JOB_QUEUED) &
                                                   ~(1U << LAKE_JOB_UNSAVED)};
    AUTO_CLEAR(ids) struct ids found = {0};
    int result = lake_job_list(l, &open, note_id, &found, e);
    bool over;

    for (size_t i = 0; result == 0 && i < found.n; i++)
        result = lake_job_ask_stop(l, found.list[i], why, &over, e);
    return result;
}
