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
    out->feasible = q->goal == PROVISION_TIME_WITHIN_COST
                        ? out->cost_microusd <= q->max_cost_microusd
                        : within(time_s, q->max_time_s);
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

struct grid {
    struct provision_cell
        cells[PROVISION_VCPU_SIZES * PROVISION_MEMORY_SIZES]; /* from small to large */
    size_t n, n_feasible;
};

static int collect(void *arg, const struct provision_cell *cell, struct err *e)
{
    struct grid *g = arg;

    (void)e;
    g->cells[g->n++] = *cell;
    g->n_feasible += cell->feasible;
    return 0;
}

/* Whether an answer may be this cell: when none is feasible, it may be any. */
static bool eligible(const struct grid *g, const struct provision_cell *cell)
{
    return cell->feasible || g->n_feasible == 0;
}

/* The cheapest of the cells in question; "<" keeps the smaller of equals. */
static const struct provision_cell *pick(const struct grid *g, bool fastest)
{
    const struct provision_cell *best = NULL;
    double limit_s = (double)INFINITY;

    for (size_t i = 0; fastest && i < g->n; i++)
        if (eligible(g, &g->cells[i]))
            limit_s = fmin(limit_s, g->cells[i].predicted_s);
    for (size_t i = 0; i < g->n; i++) {
        const struct provision_cell *cell = &g->cells[i];
        if (eligible(g, cell) && within(cell->predicted_s, limit_s) &&
            (!best || cell->cost_microusd < best->cost_microusd))
            best = cell;
    }
    return best;
}

int provision_search(const struct provision_question *question,
                     struct provision_answer *out,
                     struct err *e)
{
    struct grid g = {.n = 0};

    if (provision_each(question, collect, &g, e) < 0)
        return -1;
    bool feasible = g.n_feasible > 0;
    bool within_cost = question->goal == PROVISION_TIME_WITHIN_COST;
    const struct provision_cell *best = pick(&g, feasible ? within_cost : !within_cost);
    assert(best); /* the first cell is eligible, or a feasible one is */
    *out = (struct provision_answer){.feasible = feasible, .cell = *best, .considered = g.n};
    return 0;
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
