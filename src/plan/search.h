/* search: the state that the parts of the exact solver share: the query, the incumbent, and the
 * nodes that were not explored. */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "plan/view.h"

struct search {
    const struct plan_problem *p;
    const struct goal *goal;
    const struct cutoff *cutoff;
    struct incumbent incumbent;
    struct pick *picks; /* of target.best, where found */
    bool found;
    struct frontier *frontier; /* wanted instead of one best plan */
    struct arena *frontier_arena;
    struct pick *scratch;
    double lambda; /* of the last slanted bound at the root */
    size_t tie_nodes;
    size_t depth; /* branchings that led here */
    bool stopped;
    double open_bound; /* least bound of what was left unexplored */
};

/* Keeps the plan if it is wanted; its totals in any case. False when the plan is impossible. */
bool search_consider(struct search *s, const struct pick *picks, struct totals *t);
/* goal_value of the best plan; INFINITY when there is none. */
double search_best_value(const struct search *s);
/* One stage at a time to a better choice, from the best plan found, until none helps. */
void search_improve(struct search *s, const struct domain *d);
/* Gives up on a part whose plans are all at least `bound`. */
void search_leave_open(struct search *s, double bound);
/* Do times count, or is the cost all that is asked for? */
bool search_time_matters(const struct search *s);

enum readiness { READY, NOT_WANTED, TOO_LARGE };

/* tune.c: runs the passes that bound this node; *bound_out is the least value it can have. */
enum readiness tune_bounds(struct search *s, struct view *v, double *bound_out);
/* For cost alone: the best plan's cost is proven; is its time, among the plans of that cost? */
bool tune_time_is_proven(struct search *s, struct view *v);

#endif
