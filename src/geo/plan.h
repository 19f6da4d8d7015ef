/* plan: all placements of function and store, and the best of them. */
#ifndef GEO_PLAN_H
#define GEO_PLAN_H

#include "geo/model.h"

enum geo_objective { GEO_COST, GEO_TIME };

struct geo_question {
    enum spec_geo_topology topology;   /* SPEC_GEO_ANY = all of them */
    struct spec_place function, store; /* NULL parts = any */
    enum geo_objective objective;
};

/* All that can be, the best first: by the objective, then by the other, then in the order of
 * topologies and sites. */
struct geo_plan {
    struct geo_placement *placements;
    size_t n;
    size_t considered; /* also those that cannot be */
    size_t cheapest, fastest;
    size_t *frontier; /* indices of the Pareto frontier of cost and time, cheapest first */
    size_t n_frontier;
};

/* ERR_NOFIT in words when nothing can be. */
int geo_plan(const struct geo_problem *p,
             const struct geo_question *q,
             struct geo_plan *out,
             struct err *e);
void geo_plan_clear(struct geo_plan *plan);

#endif
