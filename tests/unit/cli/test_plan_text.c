#include "cli/plan/plan.h"
#include "tap.h"

#include <string.h>

static void check_text(const char *got, const char *want)
{
    CHECK(!strcmp(got, want), "%s", want);
    if (strcmp(got, want) != 0)
        printf("# got %s\n", got);
}

int main(void)
{
    char clock[32], delta[40];

    check_text(cli_plan_clock_text(0, clock), "0:00:00");
    check_text(cli_plan_clock_text(59.5, clock), "0:01:00");
    check_text(cli_plan_clock_text(3599.4, clock), "0:59:59");
    check_text(cli_plan_clock_text(360000, clock), "100:00:00");
    check_text(cli_plan_delta_money(1230000, delta), "+$1.23");
    check_text(cli_plan_delta_money(-1230000, delta), "-$1.23");
    check_text(cli_plan_delta_money(0, delta), "same");
    check_text(cli_plan_delta_time(75, delta), "+1 m 15 s");
    check_text(cli_plan_delta_time(-75, delta), "-1 m 15 s");
    check_text(cli_plan_delta_time(-0.04, delta), "same");
    return TAP_DONE();
}
