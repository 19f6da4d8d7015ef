/* How long choosing between equal plans may take. */
#include "plan/internal.h"

#include "tap.h"

#include <math.h>

static double now_s;

static double set_clock(void)
{
    return now_s;
}

int main(void)
{
    static const struct {
        const char *name;
        double limit_s, passed_s, end_s;
    } cases[] = {
        {"a tenth of the time so far", 10, 4, 4.4},
        {"a hundredth of the limit at least", 10, 0.001, 0.101},
        {"not past the limit", 10, 9.95, 10},
        {"none without a limit to share", 0, 0.5, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        now_s = 100;
        struct plan_query query = plan_query_default(set_clock);
        query.solve_limit_s = cases[i].limit_s;
        struct cutoff all = cutoff_of(&query, 1);
        now_s += cases[i].passed_s;
        struct cutoff ties = cutoff_for_ties(&all);
        CHECK(fabs(ties.end_s - 100 - cases[i].end_s) < 1e-9, "%s: %g", cases[i].name, ties.end_s);
    }
    return TAP_DONE();
}
