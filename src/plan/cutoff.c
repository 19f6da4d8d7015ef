/* cutoff: until when a search may go on. plan.c sets it, all solvers look at it. */
#include "plan/internal.h"

#include <math.h>

#define TIE_SHARE 0.1
#define TIE_SHARE_OF_LIMIT 0.01

struct cutoff cutoff_from_now(double (*now_s)(void), double limit_s)
{
    double start_s = now_s();

    return (struct cutoff){now_s, start_s, start_s + limit_s};
}

struct cutoff cutoff_for_ties(const struct cutoff *l)
{
    double now_s = l->now_s();
    double share_s =
        fmax((now_s - l->start_s) * TIE_SHARE, (l->end_s - l->start_s) * TIE_SHARE_OF_LIMIT);

    return (struct cutoff){l->now_s, l->start_s, fmin(l->end_s, now_s + share_s)};
}
