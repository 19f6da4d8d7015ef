#include "base/time.h"
#include "broker/machine/cap.h"
#include "broker/machine/machines.h"
#include "cli/run/run_parts.h"

#include <string.h>

bool run_is_on_paper(const struct run *r)
{
    return !strcmp(r->on, "sim");
}

/* What its machines cost by the records, with its data; time is that of its world. */
static int paper_bill(const char *home, int64_t run, int64_t *microusd_out, struct err *e)
{
    AUTO(machines) struct machines *m = machines_open(home, e);
    int64_t compute, data, now_ms;

    if (!m || machines_clock(m, run, &now_ms, e) < 0 ||
        machines_bill(m, run, now_ms ? now_ms : time_epoch_ms(), &compute, &data, e) < 0)
        return -1;
    *microusd_out = compute + data;
    return 0;
}

int run_cost(const struct config *c,
             struct lake *l,
             const struct run *r,
             int64_t *microusd_out,
             struct err *e)
{
    return run_is_on_paper(r) ? paper_bill(c->home, r->id, microusd_out, e)
                              : cap_run_spent(c, l, r->id, time_epoch_ms(), microusd_out, e);
}
