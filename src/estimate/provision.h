/* provision: the lowest cost or the shortest run time over all sizes of a machine. Pure. */
#ifndef ESTIMATE_PROVISION_H
#define ESTIMATE_PROVISION_H

#include "base/err.h"
#include "estimate/fit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The grid of sizes. */
#define PROVISION_VCPUS_MIN 0.5
#define PROVISION_VCPUS_STEP 0.5
#define PROVISION_VCPU_SIZES 16
#define PROVISION_VCPUS_MAX 8.0
#define PROVISION_MEMORY_MIN_MB 512
#define PROVISION_MEMORY_STEP_MB 256
#define PROVISION_MEMORY_SIZES 31
#define PROVISION_MEMORY_MAX_MB 8192

/* What units cost in the middle of their range; a GB is 1024 MB. */
struct provision_prices {
    double vcpu_hour_usd, gb_hour_usd;
};

/* GCP's N1 in us-east1, on demand. */
#define PROVISION_PRICES_DEFAULT                                                                   \
    (struct provision_prices)                                                                      \
    {                                                                                              \
        .vcpu_hour_usd = 0.031611, .gb_hour_usd = 0.004237                                         \
    }

/* Price of each unit of a machine of that size: 2/3 of the base at the smallest, 4/3 at the
 * largest, on a straight line between them and beyond. */
double provision_vcpu_hour_usd(const struct provision_prices *prices, double vcpus);
double provision_gb_hour_usd(const struct provision_prices *prices, double memory_mb);

/* The bill for that long, at most MONEY_MAX_USD. */
int64_t provision_cost_microusd(const struct provision_prices *prices,
                                double vcpus,
                                double memory_mb,
                                double seconds);

enum provision_goal {
    PROVISION_TIME_WITHIN_COST, /* the shortest run that costs at most max_cost_microusd */
    PROVISION_COST_WITHIN_TIME, /* the cheapest run that takes at most max_time_s */
};

struct provision_question {
    enum provision_goal goal;
    int64_t max_cost_microusd;
    double max_time_s;
    struct provision_prices prices;
    /* How long a run takes on that size: above 0. -1 ends the search. */
    int (*predict)(
        const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e);
    const void *arg;
};

struct provision_cell {
    double vcpus;
    int memory_mb;
    double predicted_s;
    int64_t cost_microusd;
    bool feasible; /* within the limit of the question */
};

struct provision_answer {
    bool feasible;
    /* The best; when nothing is feasible, what comes nearest: the cheapest for a limit on cost,
     * the fastest for one on time. Of equals the cheaper, then the one with fewer vCPUs, then with
     * less memory. */
    struct provision_cell cell;
    size_t considered;
};

/* Whether a cell with these figures is within the limit of the question. */
bool provision_within(const struct provision_question *question,
                      double predicted_s,
                      int64_t cost_microusd);
/* The answer among any cells, at least one, which stand from small to large; considered is n.
 * *index_out, unless NULL, is where the cell stands. */
struct provision_answer provision_pick(const struct provision_question *question,
                                       const struct provision_cell *cells,
                                       size_t n,
                                       size_t *index_out);

/* Calls visit with every cell of the grid: vCPUs ascending, memory ascending within. -1 from
 * visit ends it. */
int provision_each(const struct provision_question *question,
                   int (*visit)(void *arg, const struct provision_cell *cell, struct err *e),
                   void *arg,
                   struct err *e);

/* A learned model with the values of all its features but FIT_CPUS and FIT_MEMORY, as the `arg` of
 * a question whose `predict` is provision_predict_fit. */
struct provision_fit {
    const struct fit *fit;
    const struct fit_value *values;
    size_t n_values;
};

int provision_predict_fit(
    const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e);

#endif
