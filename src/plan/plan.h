/* plan: the planner: decides where and when each stage runs, with cost, time and lower bound.
 *
 * Pure: catalog, configuration, clock and limits are arguments. The model behind the numbers is
 * written out in docs/planning.md. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/auto.h"
#include "base/err.h"
#include "catalog/catalog.h"
#include "estimate/estimate.h"
#include "spec/config.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_market { PLAN_ON_DEMAND, PLAN_SPOT, PLAN_ANY_MARKET };
enum plan_solver { PLAN_EXACT, PLAN_GREEDY, PLAN_EXHAUSTIVE };
/* How PLAN_EXACT searches where time counts: dual.h on DAGs with cycles, labels on chains and
 * trees. The others are for tests: dual.h everywhere, with or without plans besides those of
 * weighings. */
enum plan_method { PLAN_BY_SHAPE, PLAN_DUAL, PLAN_DUAL_PLAIN };

/* What the world offers: fixed for all questions about one pipeline. All borrowed. */
struct plan_world {
    const struct spec *spec;
    const struct catalog *catalog;
    const struct config *config;
    const struct throughputs *throughputs;
    const struct estimate_models *models; /* of profiles; NULL = none */
    enum plan_market market;              /* for stages that do not say use_spot */
    const char *cloud, *region;           /* NULL = any */
    double max_hourly_usd;                /* per node; INFINITY = no limit */
    /* Whether an offer may be used in that market: clouds refuse some while a plan is carried out.
     * NULL = all of them. */
    bool (*allows)(void *context,
                   const struct catalog_kind *kind,
                   const struct catalog_offer *offer,
                   bool spot);
    void *context;
};

/* A pipeline laid out for solving: eligible offers, locations, prices of moves. */
struct plan_problem;

/* ERR_USAGE when a stage has no eligible offer: the text says which condition empties the set
 * and names the nearest offers. Guesses are added to `guesses`. */
struct plan_problem *plan_problem_new(const struct plan_world *world,
                                      struct guess_list *guesses,
                                      struct err *e);
void plan_problem_free(struct plan_problem *p);
AUTO_DEFINE(plan_problem)

struct plan_stage {
    size_t stage; /* index in the spec */
    size_t place; /* catalog location */
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
    bool spot;
    unsigned nodes;
    double price_usd_per_hour; /* of one node in this market */
    double start_s, finish_s, boot_s, setup_s, input_s,
        run_s; /* run_s: expected, with preemptions */
    int64_t compute_microusd, transfer_microusd, storage_microusd;
};

/* The zone of a stage: that of its offer, or, of an offer for the whole region, the one that the
 * file asks for; "" = any. */
const char *plan_zone(const struct catalog *c,
                      const struct spec_stage *spec,
                      const struct plan_stage *s);

struct plan {
    struct plan_stage *stages; /* file order; owned */
    size_t n_stages;
    int64_t cost_microusd;
    double time_s;
    /* With the low and high ends of the estimates; INT64_MAX and INFINITY past all bounds. */
    int64_t cost_low_microusd, cost_high_microusd;
    double time_low_s, time_high_s;
};

struct plan_point {
    int64_t cost_microusd;
    double time_s;
};

/* PLAN_LIMIT: the limit of the search came before a plan, and none was ruled out. */
enum plan_status { PLAN_OPTIMAL, PLAN_FEASIBLE, PLAN_INFEASIBLE, PLAN_LIMIT };

/* Questions beside the one that is answered (single clouds, trade-offs) share this part of the
 * limit, and leave out what it has no time for. */
#define PLAN_SIDE_SHARE 0.1

struct plan_query {
    struct spec_goal goal;
    bool risk_p95; /* the deadline is held against the high end of the estimates */
    enum plan_solver solver;
    enum plan_method method;
    double solve_limit_s;
    double begun_s;        /* when the limit began to run, by now_s; NAN = with the question */
    double share;          /* of the limit, for this question: what follows has the rest */
    double (*now_s)(void); /* monotonic clock */
    bool pareto;           /* also every non-dominated (cost, time) plan */
    size_t pareto_limit;   /* at most this many plans; 0 = 1000 */
    /* Restrictions of this question. SIZE_MAX / NULL = none. */
    const char *only_cloud;            /* all stages in this cloud */
    size_t pinned_stage, pinned_place; /* this stage at this location */
    bool totals_only; /* cost and time are wanted, not which of several equal plans */
    bool is_side;     /* totals_only; and where there is no plan, not why either */
};

/* No restriction, cost, no limits, 10 s. */
struct plan_query plan_query_default(double (*now_s)(void));

struct plan_answer {
    enum plan_status status;
    struct plan plan; /* where plan_found() */
    double objective; /* dollars, seconds, dollar-hours or the weighted sum */
    double bound;     /* proven lower bound on the objective, same unit */
    double gap;       /* (objective - bound) / objective; 0 is a proof */
    /* Proven, too: of the plans with this objective none is cheaper, or for the least cost faster.
     */
    bool tie_break_proven;
    double elapsed_s;
    size_t offers_considered; /* priced (offer, market) pairs looked at over all stages */
    /* infeasible, limit: why, and plans without budget and deadline as far as they are known. */
    char reason[400];
    bool has_cheapest, has_fastest;
    struct plan_point cheapest, fastest;
    /* infeasible under budget and deadline: what would do in place of the one, with the other as it
     * is. INT64_MAX and INFINITY: nothing, or not known. */
    int64_t smallest_budget_microusd;
    double earliest_deadline_s;
    /* pareto: ascending cost */
    struct plan *pareto;
    size_t n_pareto;
    bool pareto_thinned;  /* there were more plans than the limit: every k-th is kept */
    bool pareto_complete; /* false: the time limit came first */
    /* No plan is missing up to this cost. -1: not even the ends are proven. */
    int64_t pareto_complete_microusd;
};

static inline bool plan_found(const struct plan_answer *a)
{
    return a->status == PLAN_OPTIMAL || a->status == PLAN_FEASIBLE;
}

/* 0 whenever there is an answer, infeasible and limit included; -1 when the question itself is
 * wrong (unknown cloud, exhaustive on too large a case). */
int plan_solve(const struct plan_problem *p,
               const struct plan_query *query,
               struct plan_answer *answer,
               struct err *e);
void plan_answer_clear(struct plan_answer *answer);

/* How many clouds and regions a plan uses. */
struct plan_simplicity {
    size_t clouds, regions;
};
struct plan_simplicity plan_simplicity(const struct plan_problem *p, const struct plan *plan);

/* Of the plans whose objective is at most (1 + margin) times the best plan's, the one with the
 * fewest clouds, then the fewest regions, then the best: into out, which is the caller's to free
 * and stays empty where it is no simpler than best. query: the one that best answers. False when
 * the query's limit came first: there may be a simpler one. */
bool plan_simplify(const struct plan_problem *p,
                   const struct plan_query *query,
                   const struct plan *best,
                   double margin,
                   struct plan *out);

/* Adds the guesses behind a finished plan: speeds and storage prices without a row. */
void plan_note_guesses(const struct plan_problem *p,
                       const struct plan *plan,
                       struct guess_list *guesses);

/* Places at which a stage has eligible offers, ascending; borrowed. */
const size_t *plan_stage_places(const struct plan_problem *p, size_t stage, size_t *n_out);

#endif
