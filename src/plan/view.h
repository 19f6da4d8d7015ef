/* view: a domain seen through its lower bounds: a frame, an elimination schedule, and passes over
 * the net with cost and time weighed against each other in several ways. */
#ifndef PLAN_VIEW_H
#define PLAN_VIEW_H

#include "plan/frame.h"
#include "plan/incumbent.h"

/* Cells x states of one elimination: at first any pair of locations; then more, as sites are
 * thinned out, up to what takes a second. */
#define VIEW_WORK_SMALL ((size_t)100000)
#define VIEW_WORK_STEP 10
#define VIEW_WORK_LARGE ((size_t)10000000)
/* All eliminations of a pass together: a few tenths of a second. */
#define VIEW_WORK_TOTAL ((size_t)60000000)

/* One weighing: cost + lambda * time, the time of each stage carrying its path weight. */
struct pass {
    struct arena *arena; /* owns the rest */
    double lambda;
    struct costnet_tables tables;
};

struct view {
    struct arena *arena;
    struct frame *frame;
    struct costnet_schedule *schedule;
    double *path_weight; /* per variable; sums to 1 over some mixture of paths */
    int layer;
    bool too_large;
    struct pass passes[BOUNDS_MAX];
    size_t n_passes;
};

/* False when the domain is empty (frame NULL) or too large (v->too_large). */
bool view_open(struct view *v,
               const struct plan_problem *p,
               const struct domain *d,
               struct frame_kind kind,
               size_t max_work);
void view_clear(struct view *v);

enum pass_result {
    PASS_FOUND,
    PASS_NONE, /* no assignment exists */
    PASS_FULL, /* the tables do not fit into memory */
};

/* Weighs the net and finds the best; its picks, when not NULL, are an assignment as good as the
 * schedule allows. What *out held before is cleared; it stays empty unless found. */
enum pass_result view_pass(struct view *v, double lambda, struct pass *out, struct pick *picks);
void pass_clear(struct pass *pass);
/* Lower bound on the time of the domain's cheapest plans: a plan that takes an option that is not
 * the cheapest of its level is not among them. */
double view_least_ns_of_cheapest(struct view *v);
/* Takes a pass over for bounds: marginals and what lies outside of every group. -1: it does not
 * fit into memory. */
int view_keep(struct view *v, struct pass *pass);

/* Mixes the critical path of a plan into the path weights: 1/nth of it. */
void view_mix_path(struct view *v, const struct pick *picks, size_t nth);

/* Bounds that hold for every plan of the domain. */
size_t view_bounds(const struct view *v, struct bound *out);
/* The same for the plans with that site of that variable. */
size_t view_site_bounds(const struct view *v, size_t var, size_t site, struct bound *out);
/* Removes from the view's domain the sites that no wanted plan uses; returns how many. */
size_t view_thin(const struct view *v, const struct incumbent *incumbent, struct domain *d);

#endif
