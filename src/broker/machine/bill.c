#include "broker/machine/bill.h"

#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/machine/machines.h"
#include "estimate/provision.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So long a broker may take to clear the host of a job that ended. */
#define CLEARED_MS ((int64_t)120 * 1000)

/* ---- reading ---- */

struct adding {
    struct open_bills *bills;
    int64_t now_ms;
};

static int add_machine(void *context, const struct machine *m, struct err *e)
{
    struct adding *a = context;
    struct open_bills *b = a->bills;

    (void)e;
    if (b->n == 0 || b->list[b->n - 1].job != m->facts.job) {
        b->list = mem_room(b->list, b->n, &b->cap, sizeof *b->list);
        b->list[b->n++] = (struct open_bill){.job = m->facts.job};
    }
    struct open_bill *bill = &b->list[b->n - 1];
    bill->microusd += machine_cost_microusd(m, a->now_ms);
    bill->over_microusd += machine_cost_when_over(m, a->now_ms);
    bill->hosts += m->state != MACHINE_GONE;
    return 0;
}

int open_bills_read_from(struct machines *m, int64_t now_ms, struct open_bills *out, struct err *e)
{
    struct adding a = {out, now_ms};

    *out = (struct open_bills){0};
    return machines_each_unbilled(m, 0, add_machine, &a, e);
}

int open_bills_read(const char *home, int64_t now_ms, struct open_bills *out, struct err *e)
{
    *out = (struct open_bills){0};
    if (!machines_exist(home))
        return 0;
    AUTO(machines) struct machines *m = machines_open(home, e);
    return m ? open_bills_read_from(m, now_ms, out, e) : -1;
}

void open_bills_clear(struct open_bills *b)
{
    free(b->list);
    *b = (struct open_bills){0};
}

static int compare(const void *key, const void *bill)
{
    int64_t job = *(const int64_t *)key, other = ((const struct open_bill *)bill)->job;

    return job < other ? -1 : job > other;
}

const struct open_bill *open_bill_of(const struct open_bills *b, int64_t job)
{
    return b->n ? bsearch(&job, b->list, b->n, sizeof *b->list, compare) : NULL;
}

/* ---- one job ---- */

/* A command that runs on this machine. */
static int64_t running_microusd(const struct config *c, const struct lake_job *job, int64_t now_ms)
{
    AUTO_CLEAR(job_details) struct job_details d = {0};
    double run_s = (double)(now_ms - job->started_ms) / 1000;
    struct err ignored;

    if (job->started_ms == 0 || run_s <= 0 ||
        job_details_parse(job->asked.details, &d, &ignored) < 0 || strcmp(d.on, "local") != 0)
        return 0;
    if (d.price_usd_per_hour > 0)
        return money_from_usd(d.price_usd_per_hour * run_s / 3600);
    const struct provision_prices prices = {.vcpu_hour_usd = c->prices.vcpu_hour_usd,
                                            .gb_hour_usd = c->prices.gb_hour_usd};
    return provision_cost_microusd(&prices, job->asked.cpus, (double)job->asked.memory_mb, run_s);
}

/* Its record has what its hosts had cost when it ended, however old their leases were then. */
static int64_t open_microusd(const struct open_bill *bill, const struct lake_job *job)
{
    if (!lake_job_state_final(job->state))
        return bill->microusd;
    return bill->over_microusd > job->cost_microusd ? bill->over_microusd : job->cost_microusd;
}

int64_t bill_microusd(const struct config *c,
                      const struct open_bills *open,
                      const struct lake_job *job,
                      int64_t now_ms)
{
    const struct open_bill *bill = open_bill_of(open, job->id);

    if (bill)
        return open_microusd(bill, job);
    /* One that is storing has its cost already. */
    if (lake_job_state_final(job->state) || job->cost_basis[0])
        return job->cost_microusd;
    return running_microusd(c, job, now_ms);
}

void bill_show(const struct open_bills *open, struct lake_job *job)
{
    const struct open_bill *bill = open_bill_of(open, job->id);

    if (!bill)
        return;
    job->cost_microusd = open_microusd(bill, job);
    job->cost_basis = BILL_HOST;
}

/* ---- jobs that are over ---- */

/* *out = when the job ended, 0 = it has not; unchanged on errors. */
static int get_end_ms(struct lake *l, int64_t id, int64_t *out, struct err *e)
{
    struct lake_job job;

    if (lake_job_load(l, id, NULL, &job, e) < 0)
        return -1;
    *out = lake_job_state_final(job.state) ? job.finished_ms : 0;
    return 0;
}

int64_t bill_over_ms(struct lake *l, int64_t job, int64_t now_ms)
{
    int64_t end_ms = 0;

    if (l)
        get_end_ms(l, job, &end_ms, NULL);
    return end_ms && end_ms < now_ms ? end_ms : now_ms;
}

int bill_left_over(const struct open_bills *open,
                   struct lake *l,
                   int64_t now_ms,
                   struct bills_left *out,
                   struct err *e)
{
    *out = (struct bills_left){0};
    for (size_t i = 0; i < open->n; i++) {
        struct err why = {0};
        int64_t end_ms = 0;
        if (!open->list[i].hosts)
            continue;
        /* Other projects have jobs, too. */
        if (get_end_ms(l, open->list[i].job, &end_ms, &why) < 0 && why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
        if (!end_ms || now_ms - end_ms < CLEARED_MS)
            continue;
        if (out->jobs++ == 0)
            out->first = open->list[i].job;
    }
    return 0;
}

/* ---- closing ---- */

struct closing {
    int64_t microusd, now_ms;
    bool is_open, is_rented;
};

static int add_returned(void *context, const struct machine *m, struct err *e)
{
    struct closing *c = context;

    (void)e;
    c->is_open = true;
    c->is_rented = c->is_rented || m->state != MACHINE_GONE;
    c->microusd += machine_cost_microusd(m, c->now_ms);
    return 0;
}

static int close_one(struct machines *m, struct lake *l, int64_t job, struct err *e)
{
    struct closing c = {.now_ms = time_epoch_ms()};
    struct err why = {0};
    int64_t end_ms = 0;

    if (machines_each_unbilled(m, job, add_returned, &c, e) < 0)
        return -1;
    if (!c.is_open || c.is_rented)
        return 0;
    if (get_end_ms(l, job, &end_ms, &why) < 0) {
        bool is_known;
        if (why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
        /* One that no lake ever heard of has no record to put it on. */
        if (lake_job_exists(l, job, &is_known, e) < 0)
            return -1;
        return is_known ? 0 : machines_note_billed(m, job, e);
    }
    if (!end_ms)
        return 0;
    if (lake_job_bill(l, job, c.microusd, BILL_HOST, e) < 0)
        return -1;
    return machines_note_billed(m, job, e);
}

int bill_close(const char *home, struct lake *l, int64_t job, struct err *e)
{
    AUTO(machines) struct machines *m = machines_open(home, e);

    return m ? close_one(m, l, job, e) : -1;
}

int bill_close_all(const char *home, struct lake *l, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};

    if (open_bills_read(home, 0, &open, e) < 0)
        return -1;
    if (open.n == 0)
        return 0;
    AUTO(machines) struct machines *m = machines_open(home, e);
    for (size_t i = 0; m && i < open.n; i++)
        if (close_one(m, l, open.list[i].job, e) < 0)
            return -1;
    return m ? 0 : -1;
}
