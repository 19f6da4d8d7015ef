/* internal: what the files of src/plan share. A pipeline is laid out once as a plan_problem and
 * then only read; costs are micro-dollars, times inside the solvers are whole nanoseconds, so that
 * sums are exact and ties are ties. */
#ifndef PLAN_INTERNAL_H
#define PLAN_INTERNAL_H

#include "base/arena.h"
#include "plan/plan.h"

#define NONE SIZE_MAX
#define NS_PER_S 1e9
#define NEVER INT64_MAX /* the cost of a move that no transfer row allows */

/* Past this a stage (or an expectation over preemptions) counts as never finishing. */
#define STAGE_MAX_S (10 * 365.25 * 86400)

/* A plan that takes longer (146 years) does not exist; one more stage still fits into int64_t. */
#define PLAN_MAX_NS ((int64_t)1 << 62)

/* A deadline is held to the microsecond: sums of rounded stage times must not miss it. */
#define DEADLINE_SLACK_NS 1000

/* Durations are kept for the estimates as they are and, under --risk, for their high ends. */
enum { LAYER_MID, LAYER_HIGH, LAYERS };

struct site;

/* One way to run a stage: an offer in a market. */
struct choice {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
    double price_usd;     /* per node and hour */
    double preemptions_h; /* of all nodes together; 0 on demand */
    struct estimate estimate;
    bool spot;
    bool any_length; /* one end of a range: ten years or more are no reason to leave it out */
};

/* A stage's part of a plan in the solvers' terms. */
struct pick {
    const struct site *site;
    const struct choice *choice;
};

/* What a choice comes to once it is known how long its inputs take. */
struct outcome {
    double input_s;
    double run_s[LAYERS];
    int64_t duration_ns[LAYERS]; /* boot to finish */
    int64_t compute_microusd;
};

/* Where a stage may run: the choices at one location that are worth considering. */
struct site {
    size_t place;
    struct choice *choices;
    size_t n_choices;
    double boot_s;
    int64_t storage_microusd;
    double fixed_input_s;   /* slowest of the inputs that do not come from a stage */
    int64_t fixed_microusd; /* transfers of those inputs that no other stage reads */
};

/* A dataset read by at least one stage. */
struct dataset {
    const char *from;
    size_t producer; /* stage, or NONE: it lies at a fixed location */
    double size_gb;
    struct spec_place place; /* of a fixed one */
    size_t *readers;         /* stages in topological order */
    size_t n_readers;
    /* produced: by catalog move; fixed: by catalog location */
    int64_t *microusd;
    double *seconds;
};

struct pstage {
    const struct spec_stage *spec;
    struct site *sites; /* ascending location */
    size_t n_sites;
    size_t *site_places; /* sites' locations, for plan_stage_places */
    size_t *datasets;    /* read by this stage */
    size_t n_datasets;
    size_t *parents; /* stages whose outputs it reads, ascending */
    size_t n_parents;
    size_t n_eligible; /* (offer, market) pairs */
    uint32_t *kinds;   /* that have any of them; NULL until they are known */
    size_t n_kinds;
};

struct plan_problem {
    struct arena *arena;
    struct plan_world world;
    struct name_index *names;
    struct classes *classes; /* of all locations that some stage has a site at */
    struct pstage *stages;
    size_t n_stages;
    struct dataset *datasets;
    size_t n_datasets;
    double local_s_per_gb; /* reading within one location */
};

/* ---- eligible.c: which offers a stage may use ---- */

/* Calls visit for every eligible (offer, market) of the stage, kinds and offers in catalog order,
 * on demand before spot; where places is not NULL, only at those (ascending). */
void eligible_each(const struct plan_problem *p,
                   size_t stage,
                   const size_t *places,
                   size_t n_places,
                   void (*visit)(void *ctx, const struct choice *c),
                   void *ctx);
/* explain.c: says why the set is empty and what comes nearest; returns -1. */
int eligible_explain_none(const struct plan_problem *p, size_t stage, struct err *e);

/* ---- costmodel.c: what things cost and how long they take ---- */

double costmodel_expected_run_s(double run_s,
                                double preemptions_h,
                                double checkpoint_s,
                                double restart_s);
/* False when the choice would take over ten years or cost more than money can express. */
bool costmodel_outcome(const struct pstage *stage,
                       const struct site *site,
                       const struct choice *choice,
                       double input_s,
                       struct outcome *out);
int64_t costmodel_tiered_microusd(const struct catalog *c,
                                  const struct catalog_move *m,
                                  double size_gb);
/* Of a dataset from one location to another; cost NEVER when that is impossible. */
struct transfer {
    int64_t microusd;
    double seconds;
};
struct transfer costmodel_move(const struct plan_problem *p,
                               const struct dataset *d,
                               size_t src_place,
                               size_t dst_place);

struct totals {
    int64_t microusd;
    int64_t ns[LAYERS];
};
/* False when a move or a choice is impossible. */
bool costmodel_totals(const struct plan_problem *p, const struct pick *picks, struct totals *out);
/* Fills a plan with every figure, low and high ends included. picks must be possible. */
void costmodel_fill(const struct plan_problem *p, const struct pick *picks, struct plan *out);
/* Critical path of the layer: weight[s] is 1 for the stages of one longest path, else 0. */
void costmodel_critical_path(const struct plan_problem *p,
                             const struct pick *picks,
                             int layer,
                             double *weight);

/* Which of stage->parents sends the most data; NONE without parents. */
size_t costmodel_largest_producer(const struct plan_problem *p, const struct pstage *stage);

/* In price, preemptions and run time: then its cost and time are no larger at the same site,
 * however long the inputs take. */
bool costmodel_no_worse(const struct choice *a, const struct choice *b);
/* Order of choices at equal cost and time: bytes of (cloud, region, type, market, zone). */
int costmodel_compare_choices(const struct plan_problem *p,
                              const struct pick *a,
                              const struct pick *b);
void costmodel_sort_picks(const struct plan_problem *p, struct pick *picks, size_t n);

/* ---- goal.c: what is being asked for ---- */

struct goal {
    enum spec_objective objective;
    double weight;
    int64_t budget_microusd; /* INT64_MAX = none */
    int64_t deadline_ns;     /* INT64_MAX = none */
    int deadline_layer;
};
struct goal goal_from_query(const struct plan_query *q);
bool goal_allows(const struct goal *g, const struct totals *t);
/* <0 when a is better: the objective, then its ties; 0 only when cost and time are equal. */
int goal_compare(const struct goal *g, const struct totals *a, const struct totals *b);
double goal_value(const struct goal *g, double microusd, double ns);
/* The same in the unit that users see. */
double goal_public_value(const struct goal *g, const struct totals *t);
double goal_public_bound(const struct goal *g, double value);

/* ---- solvers: each fills picks (n_stages) ---- */

struct cutoff {
    double (*now_s)(void);
    double start_s, end_s;
};
static inline bool cutoff_is_past(const struct cutoff *l)
{
    return l->now_s() >= l->end_s;
}
/* cutoff.c */
/* The end of this share of a query's limit. */
struct cutoff cutoff_of(const struct plan_query *query, double share);
/* What remains for the best plan by the second criterion: a tenth of the limit. */
struct cutoff cutoff_for_second(const struct cutoff *l);
/* What remains for choosing between equal plans: a tenth of the time so far, or a hundredth of the
 * limit where that is longer: then small problems are always settled, whatever the machine. */
struct cutoff cutoff_for_ties(const struct cutoff *l);

/* Which sites of each stage are still in play. */
struct domain {
    size_t n_stages;
    size_t **sites; /* per stage: site indices, ascending */
    size_t *n;
    const struct choice **only; /* per stage: the one choice allowed, or NULL = all of the site */
};

struct solution {
    bool found;
    bool has_picks;     /* on entry, with found: picks are a plan that has the totals */
    struct pick *picks; /* caller's storage, n_stages */
    struct totals totals;
    bool proven;   /* found: optimal; not found: nothing exists */
    bool settled;  /* proven: of the plans with this objective none is cheaper, or as cheap and
                    * faster  (for the least cost: none is faster) */
    double bound;  /* of goal_value */
    double lambda; /* micro-dollars a nanosecond that bounded it best; 0 = none */
};

struct frontier_point {
    struct totals totals;
    struct pick *picks; /* in the arena given */
    bool is_explored;   /* its single changes have been looked at */
};
struct frontier {
    struct frontier_point *points;
    size_t n, cap;
};

/* frontier.c */
/* The first point, which is the cheapest, of those that take at most ns; f->n: none does. */
size_t frontier_first_within(const struct frontier *f, int64_t ns);
/* Adds the plan, and removes points that it beats. 0: a point equals or beats it; -1: the arena is
 * full. */
int frontier_add(struct frontier *f,
                 struct arena *arena,
                 size_t n_stages,
                 const struct pick *picks,
                 const struct totals *t);

/* plan.c. A copy or domain_all is the caller's to clear. */
struct domain domain_all(const struct plan_problem *p);
struct domain domain_copy(const struct plan_problem *p, const struct domain *from);
void domain_clear(struct domain *d);

/* What is asked of a solver: the best plan within the domain, until the cutoff. */
struct ask {
    const struct plan_problem *p;
    struct domain domain;
    struct goal goal;
    struct cutoff cutoff;
    enum plan_method method;
    struct arena *arena; /* of picks and choices that are not the problem's own */
};

/* plan.c: what a query asks of a solver from now on. Domain and arena are the caller's to free. */
struct ask question_ask(const struct plan_problem *p, const struct plan_query *query);

/* A query and what solvers are asked for its answer. */
struct question {
    struct ask ask;
    const struct plan_query *query;
};

/* pareto.c: the frontier within budget and deadline. s: found. */
void plan_pareto(struct question *q, const struct solution *s, struct plan_answer *a);

/* why_not.c: status, reason and the points of an answer without a plan. s: not found. */
void plan_why_none(const struct question *q, const struct solution *s, struct plan_answer *a);

/* exact.c. out->found on entry: its totals are known to be possible, look for as good or better;
 * out->picks is then only written when such a plan is found again. */
void exact_solve(const struct ask *ask, struct solution *out);
/* ties.c: replaces the picks by the first, in order of choices, of all plans with the same
 * totals. Choices may move into the arena. Deciding takes a solve for every location that bounds
 * cannot exclude: at most *questions of them, counted down. When they are used up the plan found
 * so far stands: it is optimal, and still the same for the same inputs. */
void exact_break_ties(const struct ask *ask, size_t *questions, struct solution *io);
/* baselines.c */
void greedy_solve(const struct ask *ask, struct solution *out);
int exhaustive_solve(const struct ask *ask, struct solution *out, struct err *e);

/* ---- classes.c ---- */

#define CLASSES_NO_MOVE UINT32_MAX

struct classes {
    size_t n;
    size_t *of_place; /* per catalog location; SIZE_MAX for those not used */
    uint32_t *move;   /* [from * n + to]: index into moves of the catalog, or CLASSES_NO_MOVE */
};

/* used: which locations of the catalog count. */
struct classes *classes_new(const struct catalog *c, const bool *used);
void classes_free(struct classes *x);

/* Removes from the domain the locations that another one covers: the transfer table treats both
 * alike, and whatever a stage can do at the one it can do at the other, at no higher cost and no
 * slower. Moving all of a plan's stages from the one to the other then makes nothing worse, so the
 * best cost and time stay (which of several equal plans has them does not). */
void symmetry_drop(const struct plan_problem *p, struct domain *d);

/* ---- eligible.c ---- */

/* The conditions an offer must meet, in the order in which an empty set is explained. */
enum condition {
    HAS_ACCELERATOR,
    HAS_TYPE,
    HAS_CPUS,
    HAS_MEMORY,
    IN_CLOUD,
    IN_REGION,
    CONFIGURED, /* in a region that the configuration file allows */
    IN_ZONE,
    FOR_SALE,
    WITHIN_HOURLY,
    CONDITIONS
};

/* o NULL: a question about the kind alone, true where the condition is about offers. */
bool eligible_meets(const struct plan_world *w,
                    const struct spec_resources *r,
                    const struct catalog_kind *k,
                    const struct catalog_offer *o,
                    enum condition condition);
bool eligible_is_asked(const struct plan_world *w,
                       const struct spec_resources *r,
                       enum condition condition);
double eligible_hourly_limit(const struct plan_world *w, const struct spec_resources *r);

/* Accelerators as pipeline files spell them against those that the catalog lists.
 * Comparing names is slow, and a catalog has thousands of kinds but some eighty names: each name
 * asked for is compared once with each name listed, for all stages. */
struct name_index {
    uint32_t *listed; /* text offsets, each once; "" may be among them */
    size_t n_listed, cap_listed;
    uint32_t *of_kind; /* per kind: index of its name */
    struct asked_name {
        char *name;
        bool *same; /* per listed name */
    } * asked;
    size_t n_asked, cap_asked;
};

struct name_index *name_index_new(const struct catalog *c);
void name_index_free(struct name_index *x);

#endif
