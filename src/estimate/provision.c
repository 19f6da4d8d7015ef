#include "estimate/provision.h"

#include "base/money.h"

#include <assert.h>
#include <math.h>

#define MB_PER_GB 1024.0
#define S_PER_HOUR 3600.0

/* Predictions that differ by less are the same time: a model that memory does not matter to still
 * carries an exponent of 1e-17 or so, and must not buy memory for it. */
#define SAME_TIME 1e-9

static double unit_price(double base, double size, double smallest, double largest)
{
    return base * (2.0 / 3 + 2.0 / 3 * (size - smallest) / (largest - smallest));
}

double provision_vcpu_hour_usd(const struct provision_prices *prices, double vcpus)
{
    return unit_price(prices->vcpu_hour_usd, vcpus, PROVISION_VCPUS_MIN, PROVISION_VCPUS_MAX);
}

double provision_gb_hour_usd(const struct provision_prices *prices, double memory_mb)
{
    return unit_price(prices->gb_hour_usd, memory_mb, PROVISION_MEMORY_MIN_MB,
                      PROVISION_MEMORY_MAX_MB);
}

int64_t provision_cost_microusd(const struct provision_prices *prices,
                                double vcpus,
                                double memory_mb,
                                double seconds)
{
    double hourly_usd = vcpus * provision_vcpu_hour_usd(prices, vcpus) +
                        memory_mb / MB_PER_GB * provision_gb_hour_usd(prices, memory_mb);

    return money_from_usd(fmin(hourly_usd * seconds / S_PER_HOUR, MONEY_MAX_USD));
}

static bool within(double time_s, double limit_s)
{
    return time_s <= limit_s * (1 + SAME_TIME);
}

bool provision_within(const struct provision_question *question,
                      double predicted_s,
                      int64_t cost_microusd)
{
    return question->goal == PROVISION_TIME_WITHIN_COST
               ? cost_microusd <= question->max_cost_microusd
               : within(predicted_s, question->max_time_s);
}

static int make_cell(const struct provision_question *q,
                     double vcpus,
                     int memory_mb,
                     struct provision_cell *out,
                     struct err *e)
{
    double time_s = 0;

    if (q->predict(q->arg, vcpus, memory_mb, &time_s, e) < 0)
        return err_wrap(e, "%g vCPU and %d MB", vcpus, memory_mb);
    assert(time_s > 0);
    *out = (struct provision_cell){
        .vcpus = vcpus,
        .memory_mb = memory_mb,
        .predicted_s = time_s,
        .cost_microusd = provision_cost_microusd(&q->prices, vcpus, memory_mb, time_s),
    };
    out->feasible = provision_within(q, time_s, out->cost_microusd);
    return 0;
}

int provision_each(const struct provision_question *question,
                   int (*visit)(void *arg, const struct provision_cell *cell, struct err *e),
                   void *arg,
                   struct err *e)
{
    for (int i = 0; i < PROVISION_VCPU_SIZES; i++)
        for (int k = 0; k < PROVISION_MEMORY_SIZES; k++) {
            double vcpus = PROVISION_VCPUS_MIN + i * PROVISION_VCPUS_STEP;
            int memory_mb = PROVISION_MEMORY_MIN_MB + k * PROVISION_MEMORY_STEP_MB;
            struct provision_cell cell = {0};
            if (make_cell(question, vcpus, memory_mb, &cell, e) < 0 || visit(arg, &cell, e) < 0)
                return -1;
        }
    return 0;
}

/* The cheapest of the cells in question, which are those within the limit, or all when none is; "<"
 * keeps the smaller of equals. */
static size_t pick(const struct provision_cell *cells, size_t n, bool feasible, bool fastest)
{
    double limit_s = (double)INFINITY;
    size_t best = n;

    for (size_t i = 0; fastest && i < n; i++)
        if (cells[i].feasible || !feasible)
            limit_s = fmin(limit_s, cells[i].predicted_s);
    for (size_t i = 0; i < n; i++)
        if ((cells[i].feasible || !feasible) && within(cells[i].predicted_s, limit_s) &&
            (best == n || cells[i].cost_microusd < cells[best].cost_microusd))
            best = i;
    return best;
}

struct provision_answer provision_pick(const struct provision_question *question,
                                       const struct provision_cell *cells,
                                       size_t n,
                                       size_t *index_out)
{
    bool feasible = false, within_cost = question->goal == PROVISION_TIME_WITHIN_COST;

    for (size_t i = 0; i < n; i++)
        feasible = feasible || cells[i].feasible;
    size_t best = pick(cells, n, feasible, feasible ? within_cost : !within_cost);
    assert(best < n); /* the first cell is eligible, or a feasible one is */
    if (index_out)
        *index_out = best;
    return (struct provision_answer){.feasible = feasible, .cell = cells[best], .considered = n};
}

int provision_predict_fit(
    const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e)
{
    const struct provision_fit *p = arg;
    struct fit_value values[FIT_FEATURES_MAX];
    struct fit_prediction prediction;

    if (p->n_values > FIT_FEATURES_MAX - 2)
        return err_set(e, ERR_USAGE, "%zu values are more than any model has features",
                       p->n_values);
    values[0] = (struct fit_value){.name = FIT_CPUS, .number = vcpus};
    values[1] = (struct fit_value){.name = FIT_MEMORY, .number = memory_mb};
    for (size_t i = 0; i < p->n_values; i++)
        values[2 + i] = p->values[i];
    if (fit_predict(p->fit, values, 2 + p->n_values, &prediction, e) < 0)
        return -1;
    *seconds_out = prediction.predicted_s;
    return 0;
}
