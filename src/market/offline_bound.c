/* Searches the multiplier that gives the highest lower bound of the offline optimum. offline.c
 * calls it. */
#include "market/internal.h"

#include <math.h>

#define PASSES_MAX 10
/* A bound this close to the best there is (in parts of it) is good enough. */
#define CLOSE_ENOUGH 2e-5

/* ---- the worth that gives the highest bound ---- */

/* The bound of one continuation as the worth varies: usd + worth * slope. */
struct line {
    double usd, slope;
};

/* The worth to try next, given the nearest lines that rise and that fall; a slope of 0 = none yet.
 */
static double next_worth(const struct line *rises, const struct line *falls, double worth)
{
    if (!(rises->slope > 0))
        return worth * 0.9;
    if (!(falls->slope < 0))
        return worth * 1.1;
    return (falls->usd - rises->usd) / (rises->slope - falls->slope);
}

double offline_bound(struct offline_frame *f, double first_worth, double enough)
{
    double wanted = f->q->work, worth = first_worth, work;
    double best = -(double)INFINITY, best_worth = worth;
    struct line rises = {0, 0}, falls = {0, 0};

    f->n_passes = 0;

    for (size_t pass = 0; pass < PASSES_MAX; pass++) {
        double bound = offline_relax(f, worth, &work);
        if (bound >= OFFLINE_NEVER / 2 || bound > enough)
            return bound; /* never: there is no such way */
        if (bound > best) {
            best = bound;
            best_worth = worth;
        }
        struct line l = {bound - worth * (wanted - work), wanted - work};
        if (!(fabs(l.slope) > 1e-9 * wanted))
            break;
        if (l.slope > 0)
            rises = l;
        else
            falls = l;
        worth = next_worth(&rises, &falls, worth);
        double most = rises.usd + worth * rises.slope;
        if (rises.slope > 0 && falls.slope < 0 && !(most - best > CLOSE_ENOUGH * best))
            break;
    }
    if (fabs(f->worth - best_worth) > 0)
        best = offline_relax(f, best_worth, &work);
    return best;
}
