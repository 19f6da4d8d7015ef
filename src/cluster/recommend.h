/* recommend: the number and type of workers, and the type of the server. docs/cluster.md has the
 * rules. */
#ifndef CLUSTER_RECOMMEND_H
#define CLUSTER_RECOMMEND_H

#include "cluster/problem.h"

enum cluster_algorithm {
    CLUSTER_MODEL_OPT,   /* least cost or time by the predicted throughput */
    CLUSTER_COST_OPT,    /* the cheapest type, as many as the budget pays */
    CLUSTER_TIME_OPT,    /* the most expensive type, as many as the budget pays */
    CLUSTER_SCALA_OPT,   /* the type that fills the server's network with the fewest workers */
    CLUSTER_SCALA_OPT_M, /* the same for a type of the user's choice */
};

enum cluster_objective { CLUSTER_COST, CLUSTER_TIME };

/* Why there are not more workers. */
enum cluster_limit {
    CLUSTER_BY_NETWORK, /* the server's */
    CLUSTER_BY_BUDGET,
    CLUSTER_BY_MAX,
    CLUSTER_UNMEASURED, /* nothing is known of its rates: no answer for it */
};

/* Server and n workers at a location; predictions are NaN where rates or networks are not known. */
struct cluster_choice {
    size_t place, server, worker; /* indices */
    unsigned workers;             /* 0 = none possible */
    enum cluster_limit limited_by;
    int64_t usd_per_hour_micro;
    double throughput; /* iterations per second */
    double time_s;     /* of the work, or of one iteration when there is none */
    double cost_usd;   /* likewise */
};

struct cluster_answer {
    struct cluster_choice best;
    struct cluster_choice *considered; /* the best with each type at each location */
    size_t n_considered;
    /* Model-opt: the Pareto frontier of cost and time, cheapest first. */
    struct cluster_choice *frontier;
    size_t n_frontier;
};

/* ERR_NOFIT in words when there is no such cluster; ERR_USAGE when rates are missing that the
 * algorithm needs, or, for all but model-opt, a location. */
int cluster_recommend(const struct cluster_problem *p,
                      enum cluster_algorithm algorithm,
                      enum cluster_objective objective,
                      struct cluster_answer *out,
                      struct err *e);
void cluster_answer_clear(struct cluster_answer *a);

/* Iterations per second of n workers beside a server: n times one, until its network is full. */
double cluster_throughput(const struct cluster_problem *p,
                          const struct cluster_type *server,
                          const struct cluster_type *worker,
                          unsigned n);

const char *cluster_algorithm_text(enum cluster_algorithm algorithm);

#endif
