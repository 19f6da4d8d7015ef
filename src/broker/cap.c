#include "broker/cap.h"

#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/details.h"
#include "estimate/provision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNDER_WAY                                                                                  \
    (1U << LAKE_JOB_LAUNCHING | 1U << LAKE_JOB_FETCHING | 1U << LAKE_JOB_RUNNING |                 \
     1U << LAKE_JOB_STORING)

/* ---- what runs now ---- */

/* Of the host it is on, else the dearest it can be. */
static double host_usd_per_hour(const struct config *c, const char *group, const char *machine)
{
    double most = 0;

    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        bool may_be = !strcmp(h->pool, group) || !strcmp(group, "ssh");
        if (may_be && machine[0] && !strcmp(h->host, machine))
            return h->price_usd_per_hour;
        if (may_be)
            most = fmax(most, h->price_usd_per_hour);
    }
    return most;
}

int64_t cap_job_microusd(const struct config *c, const struct lake_job *job, int64_t now_ms)
{
    AUTO_CLEAR(job_details) struct job_details d = {0};
    double run_s = (double)(now_ms - job->started_ms) / 1000;
    struct err ignored;

    if (job->started_ms == 0 || run_s <= 0 ||
        job_details_parse(job->asked.details, &d, &ignored) < 0)
        return 0;
    if (strcmp(d.on, "local") != 0)
        return money_from_usd(host_usd_per_hour(c, d.on, job->machine) * run_s / 3600);
    if (d.price_usd_per_hour > 0)
        return money_from_usd(d.price_usd_per_hour * run_s / 3600);
    const struct provision_prices prices = {.vcpu_hour_usd = c->prices.vcpu_hour_usd,
                                            .gb_hour_usd = c->prices.gb_hour_usd};
    return provision_cost_microusd(&prices, job->asked.cpus, (double)job->asked.memory_mb, run_s);
}

struct sum {
    const struct config *config;
    int64_t now_ms, microusd;
};

static void add(struct sum *s, int64_t microusd)
{
    if (__builtin_add_overflow(s->microusd, microusd, &s->microusd))
        s->microusd = INT64_MAX;
}

/* One that is storing has its bill already. */
static int add_job(void *context, const struct lake_job *job, struct err *e)
{
    struct sum *s = context;

    (void)e;
    add(s, lake_job_state_final(job->state) || job->cost_basis[0]
               ? job->cost_microusd
               : cap_job_microusd(s->config, job, s->now_ms));
    return 0;
}

int cap_run_spent(const struct config *c,
                  struct lake *l,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *microusd_out,
                  struct err *e)
{
    const struct lake_job_filter all = {.run = run};
    struct sum s = {.config = c, .now_ms = now_ms};

    if (lake_job_list(l, &all, add_job, &s, e) < 0)
        return -1;
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

int cap_month_spent(
    const struct config *c, struct lake *l, int64_t now_ms, int64_t *microusd_out, struct err *e)
{
    const struct lake_job_filter now = {.states = UNDER_WAY};
    struct sum s = {.config = c, .now_ms = now_ms};

    if (lake_job_spent(l, cap_month_begin_ms(now_ms), &s.microusd, e) < 0 ||
        lake_job_list(l, &now, add_job, &s, e) < 0)
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
    if (cap_run_spent(c, l, run->id, now_ms, &spent, e) < 0)
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
    char why[CAP_REASON];
    int over = cap_month_over(c, l, time_epoch_ms(), why, e);

    if (over <= 0)
        return over;
    return err_set(e, ERR_NOFIT, "%s; raise it: tradewind config set limits.max_usd_per_month USD",
                   why);
}

/* ---- the end of it ---- */

struct ids {
    int64_t *ids;
    size_t n, cap;
};

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    struct ids *list = context;

    (void)e;
    if (job->stop_asked)
        return 0;
    list->ids = mem_room(list->ids, list->n, &list->cap, sizeof *list->ids);
    list->ids[list->n++] = job->id;
    return 0;
}

int cap_stop_all(struct lake *l, const char *why, struct err *e)
{
    const struct lake_job_filter open = {.states = UNDER_WAY | 1U << LAKE_JOB_QUEUED};
    struct ids found = {0};
    int result = lake_job_list(l, &open, note_id, &found, e);
    bool over;

    for (size_t i = 0; result == 0 && i < found.n; i++)
        result = lake_job_ask_stop(l, found.ids[i], why, &over, e);
    free(found.ids);
    return result;
}
