#include "market/stay.h"

#include <math.h>

static double work_after(const struct market_stay *t, double s)
{
    if (s <= 0)
        return 0;
    if (!isfinite(t->tau_s))
        return s * t->speed;
    double full = floor(s / (t->tau_s + t->write_s));
    double rest = s - full * (t->tau_s + t->write_s);
    return t->speed * (full * t->tau_s + fmin(rest, t->tau_s));
}

/* Of that, what is in a checkpoint. */
static double saved_after(const struct market_stay *t, double s)
{
    if (s <= 0 || !isfinite(t->tau_s))
        return 0;
    return t->speed * floor(s / (t->tau_s + t->write_s)) * t->tau_s;
}

static double time_for(const struct market_stay *t, double work)
{
    double s = work / t->speed;

    if (!isfinite(t->tau_s) || work <= 0)
        return s;
    return s + t->write_s * (ceil(s / t->tau_s) - 1); /* the last stretch needs none */
}

double market_stay_renewals(const struct market_stay *s, double now_s)
{
    return isfinite(s->max_s) ? floor((now_s - s->begin_s) / s->max_s) : 0;
}

/* Work until the n-th renewal, n >= 1. */
static double work_until_renewal(const struct market_stay *s, double n)
{
    return work_after(s, s->begin_s + s->max_s - s->ready_s) +
           (n - 1) * work_after(s, s->max_s - s->renew_s);
}

/* Since when it works, after n renewals. */
static double working_since(const struct market_stay *s, double n)
{
    return n > 0 ? s->begin_s + n * s->max_s + s->renew_s : s->ready_s;
}

double market_stay_work(const struct market_stay *s, double now_s)
{
    double n = market_stay_renewals(s, now_s);

    return (n > 0 ? work_until_renewal(s, n) : 0) + work_after(s, now_s - working_since(s, n));
}

double market_stay_saved(const struct market_stay *s, double now_s)
{
    double n = market_stay_renewals(s, now_s);

    return (n > 0 ? work_until_renewal(s, n) : 0) + saved_after(s, now_s - working_since(s, n));
}

double market_stay_until(const struct market_stay *s, double work)
{
    double n = 0, before = 0;

    if (isfinite(s->max_s)) {
        double first = work_until_renewal(s, 1);
        double each = work_after(s, s->max_s - s->renew_s);
        if (work > first && !(each > 0))
            return (double)INFINITY;
        if (work > first)
            n = ceil((work - first) / each);
        before = n > 0 ? work_until_renewal(s, n) : 0;
    }
    return working_since(s, n) + time_for(s, work - before);
}
