/* text: instances, times and differences as the tables of a plan show them. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/plan/plan.h"
#include "view/table.h"

#include <inttypes.h>
#include <math.h>

/* time_text shows tenths of a second; less than half of one would read 0.0 s. */
#define SHOWN_S 0.05

char *cli_plan_machine_text(const struct app_plan_machine *m)
{
    return m->nodes == 1 ? mem_dup(m->instance_type)
                         : mem_printf("%" PRId64 " x %s", m->nodes, m->instance_type);
}

const char *cli_plan_clock_text(double seconds, char out[static 32])
{
    int64_t s = llround(seconds);

    snprintf(out, 32, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60, s % 60);
    return out;
}

const char *cli_plan_delta_money(int64_t microusd, char out[static 40])
{
    char text[32];

    if (microusd == 0)
        return "same";
    snprintf(out, 40, "%s%s", microusd < 0 ? "" : "+", money_text(microusd, text));
    return out;
}

const char *cli_plan_delta_time(double seconds, char out[static 40])
{
    char text[32];

    if (fabs(seconds) < SHOWN_S)
        return "same";
    snprintf(out, 40, "%s%s", seconds < 0 ? "-" : "+", time_text(fabs(seconds), text));
    return out;
}

void cli_plan_put_dollars(struct table *t, int64_t microusd)
{
    char text[32];

    table_put(t, money_text(microusd, text));
}
