/* What a job costs, as far as it is known when it ends. What its host costs until it is given back
 * comes on top (bill.h). */
#include "base/money.h"
#include "base/time.h"
#include "broker/daemon/internal.h"
#include "broker/machine/bill.h"
#include "estimate/provision.h"

static void price_hosts(const struct remote *r, struct lake_job_change *change)
{
    int64_t now_ms = time_epoch_ms();

    if (!r->machine.facts.token[0] && !r->former.facts.token[0])
        return;
    change->cost_microusd =
        machine_cost_microusd(&r->machine, now_ms) + machine_cost_microusd(&r->former, now_ms);
    change->cost_basis = BILL_HOST;
}

/* A rehearsed stage at the price of the machine it was planned for, any other job by its size. */
static void price_runtime(const struct broker *b,
                          const struct attempt *j,
                          struct lake_job_change *change)
{
    double planned = j->details.price_usd_per_hour;
    const struct provision_prices prices = {.vcpu_hour_usd = b->settings.vcpu_hour_usd,
                                            .gb_hour_usd = b->settings.gb_hour_usd};

    change->cost_microusd =
        planned > 0 ? money_from_usd(planned * change->runtime_s / 3600)
                    : provision_cost_microusd(&prices, j->job.asked.cpus,
                                              (double)j->job.asked.memory_mb, change->runtime_s);
    change->cost_basis = planned > 0 ? "planned machine" : "unit prices";
}

void job_bill(const struct broker *b, const struct attempt *j, struct lake_job_change *change)
{
    /* The machine of one that a worker rents for is the worker's. */
    if (j->remote && j->work != ATTEMPT_RENT)
        price_hosts(j->remote, change);
    else if (!j->remote && change->runtime_s >= 0)
        price_runtime(b, j, change);
}
