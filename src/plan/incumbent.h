/* incumbent: the best plan so far with the limits of the query, and lower bounds that prove that a
 * part of the search contains no better plan. */
#ifndef PLAN_INCUMBENT_H
#define PLAN_INCUMBENT_H

#include "plan/internal.h"

#include <math.h>

/* Lower bounds that hold together for a set of plans: cost + lambda * time >= value, in
 * micro-dollars and nanoseconds. lambda 0 bounds the cost, lambda INFINITY the time. */
#define BOUNDS_MAX 8
struct bound {
    double lambda, value;
};

struct incumbent {
    const struct goal *goal;
    int time_layer; /* whose time the bounds speak of */
    bool has_best;
    struct totals best; /* plans worse than this are not wanted; equally good ones are */
    bool time_only;     /* costs do not matter, not even between plans that take equally long */
    /* A frontier is wanted: only plans that none of its points equals or beats. Ascending cost,
     * descending time; replaces goal and best. */
    const struct frontier *frontier;
};

/* Every wanted plan costs at most this and takes at most that; the limits hold whatever else the
 * incumbent asks for. */
struct incumbent_box {
    double microusd, ns;
};
struct incumbent_box incumbent_box(const struct incumbent *t);

/* True when no plan that meets all bounds can be wanted. */
bool incumbent_hopeless(const struct incumbent *t, const struct bound *bounds, size_t n);
/* The same for callers that ask often: only what the box tells. */
static inline bool incumbent_outside(const struct incumbent_box *box, double lambda, double value)
{
    if (lambda == 0)
        return value > box->microusd;
    /* Sums of weighted times are rounded. */
    double trusted = value * (1 - 1e-11) - 2;
    if (isinf(lambda))
        return trusted > box->ns;
    return trusted > box->microusd + lambda * box->ns;
}
/* Does the box say all there is to say? */
bool incumbent_is_box(const struct incumbent *t);

/* Lower bound of goal_value over plans that meet all bounds; INFINITY when there are none. */
double incumbent_lower_bound(const struct incumbent *t, const struct bound *bounds, size_t n);

#endif
