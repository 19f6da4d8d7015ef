/* search: what the parts of the exact solver share. exact.c, ties.c, tune.c and the files named
 * below use it. */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "plan/frame.h"

#include <math.h>

/* ---- incumbent.c ---- */

/* Lower bounds that hold together for a set of plans: cost + lambda * time >= value, in
 * micro-dollars and nanoseconds. lambda 0 bounds the cost, lambda INFINITY the time. */
#define BOUNDS_MAX 4
struct bound {
    double lambda, value;
};

struct incumbent {
    const struct goal *goal;
    int time_layer; /* whose time the bounds speak of */
    bool has_best;
    struct totals best; /* plans worse than this are not wanted; equally good ones are */
    bool time_only;     /* costs do not matter, not even between plans that take equally long */
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

/* ---- view.c ---- */

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
    PASS_BOUND, /* the best is a bound; of a schedule that is not exact, no assignment was found */
    PASS_NONE, /* no assignment exists */
    PASS_FULL, /* the tables do not fit into memory */
};

/* Weighs the net and finds the best; its picks, when not NULL, are an assignment as good as the
 * schedule allows. What *out held before is cleared; it stays empty unless there is a bound. */
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

/* ---- presolve.c ---- */

struct presolve;

/* Borrows problem and domain, which must not change while it lives. */
struct presolve *presolve_new(const struct plan_problem *p, const struct domain *d);
void presolve_free(struct presolve *x);
AUTO_DEFINE(presolve)

/* Fills marginal[stage][k] for the k-th site of the domain with a lower bound of cost + lambda x
 * time over all plans that use it (lambda INFINITY: of the time). path_weight is per stage, as in
 * struct view; NULL only for lambda 0. Rows are those of presolve_rows, which live as long as x. */
void presolve_bounds(
    struct presolve *x, double lambda, const double *path_weight, int layer, double **marginal);
double **presolve_rows(const struct presolve *x);

/* Removes the sites from the domain that bounds for these lambdas rule out. */
void presolve_thin(const struct plan_problem *p,
                   struct domain *d,
                   const struct incumbent *incumbent,
                   const double *lambdas,
                   size_t n,
                   const double *path_weight);

/* ---- labels.c ---- */

struct label_run;

/* The view's schedule must be exact and include the links; its passes drop labels. NULL when time
 * or memory ran out. */
struct label_run *labels_new(const struct view *v,
                             const struct incumbent *incumbent,
                             const struct cutoff *cutoff);
void label_run_free(struct label_run *r);
AUTO_DEFINE(label_run)

/* Whole plans: ascending cost. Costs are bounds where the frame shares datasets. */
size_t labels_n(const struct label_run *r);
struct totals labels_totals(const struct label_run *r, size_t i);
void labels_picks(const struct label_run *r, size_t i, struct pick *picks);

/* ---- search.c: the query, the incumbent, and the nodes that were not explored ---- */

struct search {
    const struct plan_problem *p;
    const struct goal *goal;
    const struct cutoff *cutoff;
    struct incumbent incumbent;
    struct pick *picks; /* of target.best, where found */
    bool found;
    struct pick *scratch;
    double lambda;    /* of the last slanted bound at the root */
    bool bounds_only; /* stop where bounds do not settle a node */
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
