/* dual: exact plans where time counts, on any DAG. The time of a plan is priced by multipliers on
 * the paths of the DAG; for given multipliers the question is one of cost over locations, which
 * elimination answers; its least value bounds every plan from below. docs/solver.md explains the
 * method; this header is what its files share.
 *
 *     dual_problem.c    the pipeline as options, inputs and shared datasets; what a plan comes to
 *     dual_windows.c    options that do not fit between the longest paths before and after
 *     dual_weigh.c      the least cost + time for given multipliers
 *     dual_multipliers.c  multipliers, and which options they rule out
 *     dual_incumbent.c  good plans by annealing and by single changes
 *     dual_search.c     best-first branching over sets of options
 *     dual_frontier.c   the same for the Pareto frontier */
#ifndef PLAN_DUAL_H
#define PLAN_DUAL_H

#include "plan/costnet.h"
#include "plan/internal.h"

/* Paths that carry multipliers; further ones have none. */
#define DUAL_PATHS_MAX ((size_t)256)

/* One way to run a stage. */
struct dual_option {
    uint32_t site; /* of the stage: index into dual_stage.sites */
    const struct choice *choice;
};

struct dual_stage {
    const struct pstage *stage;
    const struct site **sites;
    size_t n_sites;
    struct dual_option *options; /* by site */
    size_t *first;               /* options of site b: first[b] to first[b + 1] */
    size_t n_options;
    size_t first_word; /* in the set of options of a node */
    size_t *inputs;    /* indices into dual.inputs of what it reads from stages */
    size_t n_inputs;
    size_t *readings; /* indices into dual.readings */
    size_t n_readings;
};

/* What one stage reads from another. Tables are [site of from][site of to]. */
struct dual_input {
    size_t from, to;
    double *microusd; /* of the datasets that no other stage reads; INFINITY = impossible */
    double *seconds;  /* of the slowest dataset */
    size_t *readings; /* of the same two stages */
    size_t n_readings;
    double *weight; /* per site of `to`: its part in what the inputs exceed the least level by */
};

/* A stage reads a dataset that other stages read, too: the first reader at a location pays. */
struct dual_reading {
    size_t from, to;        /* from NONE: the dataset lies at a fixed location */
    size_t shared;          /* which dataset */
    double *microusd;       /* [site of from][site of to], or [site of to] */
    double *share;          /* per site of `to`: its part of the price there */
    const uint32_t *places; /* per site of `to`: index among the dataset's locations */
};

struct dual_shared {
    const struct dataset *data;
    size_t *readings; /* readers in topological order */
    size_t n_readings;
    size_t n_places;
    uint32_t **site_at; /* per reading and location: site of the reader, UINT32_MAX = none */
};

/* A node of the search: a set of options per stage, and what is known of its plans. */
struct dual_node {
    double bound;             /* of the objective, in the units of the search */
    double least_ns, most_ns; /* of wanted plans */
    float *multipliers;       /* of the first n_paths paths */
    size_t n_paths;
    uint64_t options[]; /* all stages one after the other, each from dual_stage.first_word */
};

/* What an option comes to at the least level its site can have in the node at hand. */
struct dual_outcome {
    double level_s; /* that it was computed for; NAN = none */
    double microusd;
    double ns[LAYERS];
};

struct dual_score {
    int64_t microusd, ns[LAYERS];
};

/* The wanted plans: limits, and what the objective is in the units of the search. */
struct dual_aim {
    enum spec_objective objective;
    double rate;             /* WEIGHTED: micro-dollars a nanosecond */
    double budget_microusd;  /* INFINITY = none */
    double limit_ns[LAYERS]; /* INFINITY = none */
    int layer;               /* whose time the multipliers price */
};

struct dual {
    const struct plan_problem *p;
    const struct cutoff *cutoff;
    struct dual_aim aim;
    struct arena *arena;
    size_t n;
    struct dual_stage *stages;
    const size_t *order; /* topological */
    struct dual_input *inputs;
    size_t n_inputs;
    struct dual_reading *readings;
    size_t n_readings;
    struct dual_shared *shared;
    size_t n_shared;
    size_t n_words; /* of the options of a node */

    /* Paths of the DAG: dual.n flags each. */
    bool *paths;
    size_t n_paths;

    /* The best plan. Until one is found, best is what a plan must not be worse than. */
    bool found;
    bool has_best;
    struct dual_score best;
    size_t *best_options;
    bool is_beside; /* the aim is not the question's: best does not answer it */
    bool may_tie;   /* until a plan is found, one as good as best is wanted, too */
    uint64_t random;
    /* Wanted instead of one best plan: all that none of its points equals or beats. NULL = not. */
    struct frontier *frontier;
    struct arena *frontier_arena; /* of its picks */
    bool is_full;                 /* there was no room for a plan of the frontier */
    bool plain; /* no plans but those of weighings: bounds and branching alone decide (tests) */

    /* The node at hand, filled in by dual_windows. */
    uint32_t **live; /* per stage: sites left, ascending */
    uint32_t *n_live;
    uint32_t **place_in_live;       /* per stage and site: index in live */
    double **least_s;               /* per stage and site: least level */
    double **least_run_s;           /* per stage and site: shortest run of an option left */
    double **least_price;           /* per stage and site: least micro-dollars a second */
    struct dual_outcome **outcomes; /* per stage and option */
    double least_ns;                /* no plan of the node is faster */

    int64_t (*finish)[LAYERS]; /* scratch of dual_score, per stage */
};

#define DUAL_HAS(node, stage, option)                                                              \
    ((node)->options[(stage)->first_word + (option) / 64] >> ((option) % 64) & 1)
static inline void dual_drop(struct dual_node *node, const struct dual_stage *stage, size_t option)
{
    node->options[stage->first_word + option / 64] &= ~((uint64_t)1 << (option % 64));
}

/* ---- dual_problem.c ---- */

/* NULL when there is not enough memory, or a stage has no option. */
struct dual *dual_new(const struct plan_problem *p,
                      const struct domain *domain,
                      const struct cutoff *cutoff);
void dual_free(struct dual *d);
AUTO_DEFINE(dual)

struct dual_node *dual_node_new(const struct dual *d); /* all options */
struct dual_node *dual_node_copy(const struct dual *d, const struct dual_node *from);
size_t dual_node_bytes(const struct dual *d);

/* What the plan of one option per stage comes to. False when it is impossible. */
bool dual_score(const struct dual *d, const size_t *options, struct dual_score *out);
/* What an option comes to at an input time: false when it takes or costs too much. */
bool dual_outcome(
    const struct dual *d, size_t stage, size_t option, double level_s, struct dual_outcome *out);
/* The picks of a plan of one option per stage. */
void dual_picks(const struct dual *d, const size_t *options, struct pick *picks);
/* 0 to n - 1 */
size_t dual_random(struct dual *d, size_t n);
bool dual_allows(const struct dual *d, const struct dual_score *score);
/* The objective in the units of the search: micro-dollars, nanoseconds, or their product. */
double dual_value(const struct dual *d, double microusd, double ns);
/* Keeps a plan that is allowed and better than the best; whether it did. */
bool dual_consider(struct dual *d, const size_t *options, const struct dual_score *score);
/* Plans with less than this are better than the best. */
double dual_enough(const struct dual *d);

/* ---- dual_windows.c ---- */

/* Drops options that cannot end in time, and describes what is left in d. False: nothing is. */
bool dual_windows(struct dual *d, struct dual_node *node);

/* ---- dual_weigh.c ---- */

struct dual_weigher;
/* For the node that dual_windows has described last. max_work: of one elimination. */
struct dual_weigher *dual_weigher_new(const struct dual *d, size_t max_work);
void dual_weigher_free(struct dual_weigher *w);
AUTO_DEFINE(dual_weigher)
/* The least of cost x micro-dollars + the sum of time[stage] x nanoseconds over all plans of the
 * node, or less than that. options: a plan that is about as good. INFINITY: there is no plan; NAN:
 * not enough memory. */
double dual_weigh(struct dual_weigher *w,
                  const struct dual_node *node,
                  double cost,
                  const double *time,
                  size_t *options);
/* The same over the plans with each option, after a weighing: drops those of `wanted` and more.
 * How many are left. */
size_t dual_weigh_drop(struct dual_weigher *w, struct dual_node *node, double wanted);
double dual_option_value(
    const struct dual *d, size_t stage, size_t option, double cost, double time);
/* The part of an input in what the inputs of its stage exceed the least level by. */
double dual_input_weight(const struct dual *d, size_t input, uint32_t site);

/* ---- dual_multipliers.c ---- */

struct dual_tuning {
    size_t passes; /* of the first round */
    bool is_root;
    double **chosen; /* per stage and option: how often, the last passes counting most */
};
/* Bounds the node and drops options that no wanted plan uses. False: no wanted plan is left. */
bool dual_bound(struct dual *d, struct dual_node *node, struct dual_tuning *t);
/* What phi must reach to rule the node out, when the multipliers add up to lambda. */
double dual_wanted(const struct dual *d, const struct dual_node *node, double lambda);
/* Paths to begin with. */
void dual_find_paths(struct dual *d, const struct dual_node *root);

/* ---- dual_incumbent.c ---- */

void dual_anneal(struct dual *d, const size_t *from, size_t steps);
/* Single changes of one stage after the other until none helps. */
void dual_polish(struct dual *d, const size_t *from, const struct dual_node *node);

/* ---- dual_search.c ---- */

/* Whether the pipeline is one for this search: stages on cycles of needs and data. */
bool dual_is_for(const struct plan_problem *p);
/* As exact_solve, for goals in which time counts. False: the problem needs more memory than there
 * is; nothing was done. */
bool dual_solve(const struct ask *ask, struct solution *out);
/* Takes over objective, limits and method of what is asked. */
void dual_aim_at(struct dual *d, const struct ask *ask);
/* Searches for the frontier of d. Returns the time from which on it is complete. */
int64_t dual_search_frontier(struct dual *d);

/* ---- dual_frontier.c ---- */

/* What the wanted plans of a node weigh at most, and the time of those. */
double dual_frontier_wanted(const struct dual *d,
                            const struct dual_node *node,
                            double lambda,
                            double *at_ns);
/* Leaves the times at which plans of that weight and more can be wanted. False: none is left. */
bool dual_frontier_narrow(const struct dual *d, struct dual_node *node, double phi, double lambda);
/* Where to split the times of a node; false when they are a single step of the frontier. */
bool dual_frontier_middle(const struct dual *d, const struct dual_node *node, double *middle_ns);
/* Keeps a plan that no point equals or beats; whether it did. */
bool dual_frontier_keep(struct dual *d, const size_t *options, const struct dual_score *score);
/* Plans for the frontier by annealing and by single changes. */
void dual_frontier_find_plans(struct dual *d, const struct dual_node *root);
/* Completes the frontier, of which the cheapest and the fastest plan within the limits of the goal
 * are known, until the cutoff. *complete_ns: slower plans are not missing. False: there was not
 * enough memory. */
bool dual_frontier(const struct ask *ask, struct frontier *io, int64_t *complete_ns);

#endif
