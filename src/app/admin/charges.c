/* The charges of a month, read from the records of jobs and machines. bill.c and focus.c use
 * them. */
#include "app/admin/bill.h"
#include "app/core/app.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/machine/bill.h"
#include "broker/machine/cap.h"
#include "broker/machine/machines.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* ---- months ---- */

int admin_month_read(const char *text, int64_t now_ms, struct admin_month *out, struct err *e)
{
    char day[32];

    if (!text)
        snprintf(day, sizeof day, "%.7s", time_iso(now_ms, (char[32]){0}));
    else
        snprintf(day, sizeof day, "%.20s", text);
    bool is_month = strlen(day) == 7 && day[4] == '-';
    for (size_t i = 0; is_month && i < 7; i++)
        is_month = i == 4 || isdigit((unsigned char)day[i]);
    memcpy(out->text, is_month ? day : "", is_month ? 8 : 1);
    if (is_month)
        snprintf(day, sizeof day, "%s-01T00:00:00Z", out->text);
    out->from_ms = is_month ? time_from_iso(day) : 0;
    char again[32];
    if (!is_month || strcmp(time_iso(out->from_ms, again), day) != 0)
        return err_set(e, ERR_USAGE, "\"%.40s\" is not a month; give one as in 2026-11",
                       text ? text : day);
    out->until_ms = cap_month_begin_ms(out->from_ms + 32 * DAY_MS);
    return 0;
}

/* ---- jobs ---- */

struct charging {
    const struct config *config;
    const struct admin_month *month;
    struct open_bills open;
    struct lake *lake;
    int64_t now_ms;
    int (*visit)(void *context, const struct admin_charge *charge, struct err *e);
    void *context;
};

static bool in_month(const struct charging *c, int64_t at_ms)
{
    return at_ms >= c->month->from_ms && at_ms < c->month->until_ms;
}

static int charge_job(void *context, const struct lake_job *job, struct err *e)
{
    struct charging *c = context;
    bool over = lake_job_state_final(job->state);
    int64_t end_ms = over ? job->finished_ms : c->now_ms;

    if (!in_month(c, end_ms))
        return 0;
    bool is_open = open_bill_of(&c->open, job->id) != NULL;
    int64_t microusd = bill_microusd(c->config, &c->open, job, c->now_ms);
    if (microusd == 0 && !job->cost_basis[0])
        return 0;
    AUTO_CLEAR(job_details) struct job_details d = {0};
    struct err ignored;
    bool known = job_details_parse(job->asked.details, &d, &ignored) == 0;
    const char *basis = is_open                             ? BILL_HOST
                        : job->cost_basis[0]                ? job->cost_basis
                        : known && d.price_usd_per_hour > 0 ? "planned machine"
                                                            : "unit prices";
    struct admin_charge charge = {
        .job = job->id,
        .run = job->asked.run,
        .user = job->user,
        .project = job->project,
        .name = job->asked.name ? job->asked.name : "",
        .stage = known ? d.stage : "",
        .cloud = known ? d.on : "local",
        .region = "",
        .zone = "",
        .machine = job->machine,
        .instance_type = "",
        .cpus = job->asked.cpus,
        .memory_mb = job->asked.memory_mb,
        .from_ms = job->started_ms ? job->started_ms : job->queued_ms,
        .until_ms = end_ms,
        .microusd = microusd,
        .is_measured = strcmp(basis, BILL_HOST) == 0,
        .basis = basis,
    };
    return c->visit(c->context, &charge, e);
}

static int charge_removed(void *context, const struct lake_job_removed *job, struct err *e)
{
    struct charging *c = context;

    if (!in_month(c, job->finished_ms) || !*job->cost_basis)
        return 0;
    struct admin_charge charge = {
        .job = job->id,
        .run = job->run,
        .user = job->user,
        .project = job->project,
        .name = "removed",
        .stage = "",
        .cloud = job->cloud,
        .region = "",
        .zone = "",
        .machine = "",
        .instance_type = "",
        .from_ms = job->finished_ms,
        .until_ms = job->finished_ms,
        .microusd = job->cost_microusd,
        .is_measured = strcmp(job->cost_basis, BILL_HOST) == 0,
        .basis = job->cost_basis,
    };
    return c->visit(c->context, &charge, e);
}

/* ---- machines ---- */

/* A machine of a job is in the job's bill. */
static int charge_machine(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct charging *c = context;
    const struct cloud_machine *f = &m->facts;
    int64_t end_ms = f->ended_ms ? f->ended_ms : now_ms;
    bool is_known = false;

    if (!in_month(c, end_ms))
        return 0;
    if (f->job && lake_job_exists(c->lake, f->job, &is_known, e) < 0)
        return -1;
    if (f->job && !is_known && lake_job_was_removed(c->lake, f->job, &is_known, e) < 0)
        return -1;
    int64_t microusd = machine_cost_microusd(m, now_ms) + m->data_microusd;
    if (is_known || microusd == 0)
        return 0;
    struct admin_charge charge = {
        .run = f->run,
        .user = "",
        .project = "",
        .name = f->id[0] ? f->id : f->token,
        .stage = "",
        .cloud = f->provider[0] ? f->provider : m->cloud,
        .region = f->region,
        .zone = f->zone,
        .machine = f->id[0] ? f->id : f->token,
        .instance_type = f->instance_type[0] ? f->instance_type : f->address,
        .cpus = f->cpus,
        .memory_mb = (uint64_t)(f->memory_gb > 0 ? f->memory_gb * 1000 : 0),
        .spot = f->spot,
        .from_ms = f->launched_ms ? f->launched_ms : m->asked_ms,
        .until_ms = end_ms,
        .microusd = microusd,
        .is_measured = true,
        .basis = "machine price",
    };
    return c->visit(c->context, &charge, e);
}

int admin_each_charge(struct app *app,
                      const struct admin_month *month,
                      int (*visit)(void *context, const struct admin_charge *charge, struct err *e),
                      void *context,
                      struct err *e)
{
    const struct machine_filter real = {.world = 0, .with_gone = true};
    struct charging c = {.config = app_config(app, e),
                         .month = month,
                         .lake = app_lake(app, e),
                         .now_ms = time_epoch_ms(),
                         .visit = visit,
                         .context = context};

    if (!c.config || !c.lake || open_bills_read(c.config->home, c.now_ms, &c.open, e) < 0)
        return -1;
    int result = lake_job_list(c.lake, &(struct lake_job_filter){0}, charge_job, &c, e);
    if (result == 0)
        result = lake_job_each_removed(c.lake, month->from_ms, charge_removed, &c, e);
    open_bills_clear(&c.open);
    if (result < 0 || !machines_exist(c.config->home))
        return result;
    struct machines *machines = app_machines(app, e);
    return machines ? machines_each(machines, &real, charge_machine, &c, e) : -1;
}
