/* cutoff: until when a search may go on. plan.c sets it, all solvers look at it. */
#include "plan/internal.h"

#include <math.h>

#define SECOND_SHARE_OF_LIMIT 0.1
#define TIE_SHARE 0.1
#define TIE_SHARE_OF_LIMIT 0.01

struct cutoff cutoff_of(const struct plan_query *query, double share)
{
    double begun_s = isnan(query->begun_s) ? query->now_s() : query->begun_s;

    return (struct cutoff){query->now_s, begun_s, begun_s + query->solve_limit_s * share};
}

struct cutoff cutoff_for_second(const struct cutoff *l)
{
    double end_s = l->now_s() + (l->end_s - l->start_s) * SECOND_SHARE_OF_LIMIT;

    return (struct cutoff){l->now_s, l->start_s, fmin(l->end_s, end_s)};
}

struct cutoff cutoff_for_ties(const struct cutoff *l)
{
    double now_s = l->now_s();
    double share_s =
        fmax((now_s - l->start_s) * TIE_SHARE, (l->end_s - l->start_s) * TIE_SHARE_OF_LIMIT);

    return (struct cutoff){l->now_s, l->start_s, fmin(l->end_s, now_s + share_s)};
}
