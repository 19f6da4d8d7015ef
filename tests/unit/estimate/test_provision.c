#include "estimate/provision.h"

#include "simulate.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const struct provision_prices prices = {.vcpu_hour_usd = 0.031611, .gb_hour_usd = 0.004237};

static bool close_to(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * fabs(want);
}

/* A vCPU-hour is 2/3 of 0.031611 at 0.5 vCPU, all of it in the middle (4.25), 4/3 at 8; 2 vCPU
 * are 1.5 / 7.5 of the way: 0.8. A GB-hour likewise; 7680 MB are 14/15 of the way: 58/45. */
static void unit_prices(void)
{
    struct provision_prices defaults = PROVISION_PRICES_DEFAULT;

    CHECK(defaults.vcpu_hour_usd == prices.vcpu_hour_usd &&
              defaults.gb_hour_usd == prices.gb_hour_usd,
          "the base prices are those of N1 in us-east1");
    CHECK(close_to(provision_vcpu_hour_usd(&prices, 0.5), 0.021074, 1e-12) &&
              close_to(provision_vcpu_hour_usd(&prices, 2), 0.0252888, 1e-12) &&
              close_to(provision_vcpu_hour_usd(&prices, 4.25), 0.031611, 1e-12) &&
              close_to(provision_vcpu_hour_usd(&prices, 8), 0.042148, 1e-12),
          "a vCPU-hour costs more the more vCPUs there are");
    CHECK(close_to(provision_gb_hour_usd(&prices, 512), 0.004237 * 2 / 3, 1e-12) &&
              close_to(provision_gb_hour_usd(&prices, 4352), 0.004237, 1e-12) &&
              close_to(provision_gb_hour_usd(&prices, 7680), 0.004237 * 58 / 45, 1e-12) &&
              close_to(provision_gb_hour_usd(&prices, 8192), 0.004237 * 4 / 3, 1e-12),
          "a GB-hour likewise");
    CHECK(provision_cost_microusd(&prices, 0.5, 512, 3600) == 11949,
          "0.5 x 0.021074 + 0.5 x 0.00282467 = $0.011949 for an hour of the smallest");
    CHECK(provision_cost_microusd(&prices, 8, 8192, 3600) == 382379,
          "8 x 0.042148 + 8 x 0.00564933 = $0.382379 of the largest");
    CHECK(provision_cost_microusd(&prices, 2, 7680, 7200) == 183071,
          "2 x (2 x 0.0252888 + 7.5 x 0.00546102) = $0.183071 for two hours in between");
    CHECK(provision_cost_microusd(&(struct provision_prices){1, 0}, 8, 512, 3600) == 10666667,
          "with another base price: 8 x 4/3 dollars");
    CHECK(provision_cost_microusd(&prices, 8, 8192, 1e300) == 1000000000000000,
          "no bill is above the largest amount");
}

/* Times by cell, drawn from a few so that many are equal. */
struct table {
    double time_s[PROVISION_VCPU_SIZES][PROVISION_MEMORY_SIZES];
};

static int look_up(
    const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e)
{
    const struct table *t = arg;

    (void)e;
    *seconds_out = t->time_s[(int)(2 * vcpus) - 1][((int)memory_mb - 512) / 256];
    return 0;
}

/* Every cell in turn, better ones as the specification ranks them: an order of its own. */
static bool better(const struct provision_cell *a, const struct provision_cell *b, bool by_time)
{
    if (by_time && a->predicted_s != b->predicted_s)
        return a->predicted_s < b->predicted_s;
    if (a->cost_microusd != b->cost_microusd)
        return a->cost_microusd < b->cost_microusd;
    if (a->vcpus != b->vcpus)
        return a->vcpus < b->vcpus;
    return a->memory_mb < b->memory_mb;
}

static struct provision_answer brute_force(const struct provision_question *q,
                                           const struct table *t)
{
    struct provision_answer best = {0};
    bool by_time = q->goal == PROVISION_TIME_WITHIN_COST;

    for (int pass = 0; pass < 2 && !best.feasible; pass++) {
        best.considered = 0;
        for (int c = 16; c >= 1; c--)
            for (int m = 8192; m >= 512; m -= 256) {
                struct provision_cell cell = {c / 2.0, m, t->time_s[c - 1][m / 256 - 2], 0, false};
                cell.cost_microusd =
                    provision_cost_microusd(&q->prices, cell.vcpus, m, cell.predicted_s);
                cell.feasible = by_time ? cell.cost_microusd <= q->max_cost_microusd
                                        : cell.predicted_s <= q->max_time_s;
                if (pass == 0 && !cell.feasible)
                    continue;
                if (best.considered++ == 0 || better(&cell, &best.cell, by_time != (pass == 1)))
                    best.cell = cell;
            }
        best.feasible = pass == 0 && best.considered > 0;
    }
    return best;
}

static bool same_cell(const struct provision_cell *a, const struct provision_cell *b)
{
    return a->vcpus == b->vcpus && a->memory_mb == b->memory_mb &&
           a->predicted_s == b->predicted_s && a->cost_microusd == b->cost_microusd &&
           a->feasible == b->feasible;
}

struct grid {
    struct provision_cell
        cells[PROVISION_VCPU_SIZES * PROVISION_MEMORY_SIZES]; /* from small to large */
    size_t n;
};

static int collect_cell(void *arg, const struct provision_cell *cell, struct err *e)
{
    struct grid *g = arg;

    (void)e;
    g->cells[g->n++] = *cell;
    return 0;
}

/* The best of all cells of the grid. */
static int search(const struct provision_question *q, struct provision_answer *out, struct err *e)
{
    struct grid g = {.n = 0};

    if (provision_each(q, collect_cell, &g, e) < 0)
        return -1;
    *out = provision_pick(q, g.cells, g.n, NULL);
    return 0;
}

static void against_brute_force(void)
{
    static struct table t;
    uint64_t seed = 11;
    int wrong = 0, feasible = 0, rounds = 400;

    for (int round = 0; round < rounds; round++) {
        for (int c = 0; c < PROVISION_VCPU_SIZES; c++)
            for (int m = 0; m < PROVISION_MEMORY_SIZES; m++)
                t.time_s[c][m] = 600 * ceil(8 * simulate_uniform(&seed));
        struct provision_question q = {
            .goal = round % 2 ? PROVISION_COST_WITHIN_TIME : PROVISION_TIME_WITHIN_COST,
            .max_cost_microusd = (int64_t)(20000 * simulate_uniform(&seed)),
            .max_time_s = 1200 * simulate_uniform(&seed),
            /* free memory, or free of charge, makes costs equal, too */
            .prices = {round % 5 ? 0.031611 : 0, round % 3 ? 0.004237 : 0},
            .predict = look_up,
            .arg = &t,
        };
        struct provision_answer got, want = brute_force(&q, &t);
        struct err e = {0};
        if (search(&q, &got, &e) < 0 || got.feasible != want.feasible || got.considered != 496 ||
            !same_cell(&got.cell, &want.cell))
            wrong++;
        feasible += want.feasible;
    }
    CHECK(wrong == 0, "%d searches find what looking at every cell finds", rounds);
    CHECK(feasible > rounds / 5 && feasible < rounds * 4 / 5,
          "%d of them have an answer within the limit", feasible);
}

/* 3600 s of one CPU, whatever the memory; the rounding of a fit makes memory look useful. */
static int ideal(
    const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e)
{
    (void)arg;
    (void)e;
    *seconds_out = 3600 / vcpus * pow(memory_mb, -1e-15);
    return 0;
}

static void ties_and_limits(void)
{
    struct provision_question q = {.prices = prices, .predict = ideal, .max_time_s = 1800};
    struct provision_answer a;

    q.goal = PROVISION_COST_WITHIN_TIME;
    CHECK(search(&q, &a, NULL) == 0 && a.feasible && a.cell.vcpus == 2 && a.cell.memory_mb == 512 &&
              a.considered == 496,
          "1800 s need 2 vCPU and no more: a limit may be met exactly");
    q.goal = PROVISION_TIME_WITHIN_COST;
    q.max_cost_microusd = 1000000;
    CHECK(search(&q, &a, NULL) == 0 && a.feasible && a.cell.vcpus == 8 && a.cell.memory_mb == 512 &&
              close_to(a.cell.predicted_s, 450, 1e-9),
          "a dollar is enough for 8 vCPU, and memory that does not help is not bought");
    /* An hour of one CPU's work costs the unit price plus memory for 1 / vCPUs hours, 0.00141233
     * each: 0.021074 + 0.00282467 with 0.5 vCPU, 0.02247893 + 0.00141233 = $0.023891 with one,
     * 0.02388387 + 0.00094156 with 1.5. */
    q.max_cost_microusd = 23890;
    CHECK(search(&q, &a, NULL) == 0 && !a.feasible && !a.cell.feasible && a.cell.vcpus == 1 &&
              a.cell.memory_mb == 512 && a.cell.cost_microusd == 23891,
          "a millionth too little: nothing, and the cheapest is told");
    q.max_cost_microusd = 23891;
    CHECK(search(&q, &a, NULL) == 0 && a.feasible && a.cell.vcpus == 1,
          "just enough for the cheapest");
    q.goal = PROVISION_COST_WITHIN_TIME;
    q.max_time_s = 449;
    CHECK(search(&q, &a, NULL) == 0 && !a.feasible && a.cell.vcpus == 8 && a.cell.memory_mb == 512,
          "faster than 8 vCPU: nothing, and the fastest is told, the cheapest of them");
}

struct walk {
    int cells, feasible, stop_at;
    double vcpus;
    int memory_mb;
    bool ascending;
};

static int count(void *arg, const struct provision_cell *cell, struct err *e)
{
    struct walk *w = arg;

    if (w->cells == w->stop_at)
        return err_set(e, ERR_IO, "enough");
    w->ascending &=
        cell->vcpus > w->vcpus || (cell->vcpus == w->vcpus && cell->memory_mb > w->memory_mb);
    w->vcpus = cell->vcpus;
    w->memory_mb = cell->memory_mb;
    w->cells++;
    w->feasible += cell->feasible;
    return 0;
}

static int fail(const void *arg, double vcpus, double memory_mb, double *seconds_out, struct err *e)
{
    (void)arg, (void)vcpus, (void)memory_mb, (void)seconds_out;
    return err_set(e, ERR_USAGE, "no value is given for epoch");
}

static void every_cell(void)
{
    struct provision_question q = {
        .goal = PROVISION_COST_WITHIN_TIME, .prices = prices, .predict = ideal, .max_time_s = 1800};
    struct walk all = {.stop_at = -1, .ascending = true}, some = {.stop_at = 7};
    struct provision_answer a;
    struct err e = {0};

    CHECK(provision_each(&q, count, &all, &e) == 0 && all.cells == 16 * 31 && all.ascending &&
              all.vcpus == 8 && all.memory_mb == 8192,
          "16 x 31 cells, from small to large");
    CHECK(all.feasible == 13 * 31, "those of 2 vCPU and more are fast enough");
    CHECK(provision_each(&q, count, &some, &e) < 0 && some.cells == 7 && e.kind == ERR_IO,
          "a visitor can end it");
    q.predict = fail;
    CHECK(search(&q, &a, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "epoch") &&
              strstr(e.text, "0.5 vCPU and 512 MB"),
          "what cannot be predicted is an error: %s", e.text);
}

/* The published runs of the MNIST task: two epochs' baselines of 2 vCPU and 7.5 GB, and what was
 * provisioned for each, in minutes and dollars. */
static const struct {
    double epoch, vcpus, memory_mb, minutes, usd;
} published[] = {
    {20, 2, 7680, 64.6, 0.09765}, {50, 2, 7680, 162.2, 0.24519}, {20, 7.5, 3584, 16.6, 0.08837},
    {50, 8, 3328, 37.4, 0.21800}, {20, 2.5, 512, 52.6, 0.05975}, {50, 2.5, 512, 140.4, 0.15949},
};
#define N_PUBLISHED (sizeof published / sizeof *published)

/* The unit prices give the published costs: of the baselines to 1 %, else to a thousandth. */
static void published_costs(void)
{
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        double usd = 1e-6 * (double)provision_cost_microusd(&prices, published[i].vcpus,
                                                            published[i].memory_mb,
                                                            60 * published[i].minutes);
        CHECK(close_to(usd, published[i].usd, i < 2 ? 0.01 : 0.001),
              "%g vCPU and %g MB for %g minutes cost $%.5f", published[i].vcpus,
              published[i].memory_mb, published[i].minutes, published[i].usd);
    }
}

/* A model of the six published run times. */
static struct fit *published_fit(void)
{
    struct fit_value values[N_PUBLISHED][3];
    struct fit_run runs[N_PUBLISHED];

    for (size_t i = 0; i < N_PUBLISHED; i++) {
        simulate_values(
            &(struct simulate_run){published[i].epoch, published[i].vcpus, published[i].memory_mb},
            values[i]);
        runs[i] = (struct fit_run){.name = "published",
                                   .values = values[i],
                                   .n_values = 3,
                                   .runtime_s = 60 * published[i].minutes};
    }
    return fit_new(runs, N_PUBLISHED, NULL);
}

/* The profile as published, 27 short runs of t1 x epochs / cpus with t1 from the baseline: 64.6
 * minutes for 20 epochs on 2 vCPU. */
static struct fit *profiled_fit(void)
{
    static struct simulate_profile p;
    uint64_t seed = 0;

    simulate_profile(&p, simulate_published, 0, 0, &seed);
    for (size_t i = 0; i < p.n; i++)
        p.runs[i].runtime_s *= 64.6 * 2 / 20;
    return fit_new(p.runs, p.n, NULL);
}

/* At the baseline's cost a much faster size (published: 1.74 and 1.77 times as fast; by the
 * published run times 3.9 and 4.3 times), at the baseline's time a cheaper one (published: 38.8 %
 * and 35.0 % saved). */
static void experiments(const struct fit *f, const char *name)
{
    for (size_t i = 0; f && i < 2; i++) {
        struct fit_value epoch = {.name = "epoch", .number = published[i].epoch};
        struct provision_fit arg = {.fit = f, .values = &epoch, .n_values = 1};
        struct provision_question q = {
            .max_cost_microusd = (int64_t)(1e6 * published[i].usd),
            .max_time_s = 60 * published[i].minutes,
            .prices = prices,
            .predict = provision_predict_fit,
            .arg = &arg,
        };
        struct provision_answer a;
        struct err e = {0};
        q.goal = PROVISION_TIME_WITHIN_COST;
        bool found = search(&q, &a, &e) == 0 && a.feasible;
        double speedup = q.max_time_s / a.cell.predicted_s;
        CHECK(found && a.cell.cost_microusd <= q.max_cost_microusd && a.cell.vcpus >= 7.5 &&
                  speedup > 3.5 && speedup < 4.6,
              "%s, %g epochs: %g vCPU and %d MB are %.2f times as fast for no more", name,
              epoch.number, a.cell.vcpus, a.cell.memory_mb, speedup);
        q.goal = PROVISION_COST_WITHIN_TIME;
        found = search(&q, &a, &e) == 0 && a.feasible;
        double saved = 1 - (double)a.cell.cost_microusd / (1e6 * published[i].usd);
        CHECK(found && a.cell.predicted_s <= q.max_time_s * (1 + 1e-6) &&
                  (a.cell.vcpus == 2 || a.cell.vcpus == 2.5) && a.cell.memory_mb == 512 &&
                  saved > 0.33 && saved < 0.45,
              "%s, %g epochs: %g vCPU and %d MB save %.1f %% in the same time", name, epoch.number,
              a.cell.vcpus, a.cell.memory_mb, 100 * saved);
    }
}

int main(void)
{
    unit_prices();
    against_brute_force();
    ties_and_limits();
    every_cell();
    published_costs();
    AUTO(fit) struct fit *measured = published_fit();
    AUTO(fit) struct fit *profiled = profiled_fit();
    CHECK(measured && profiled, "the published runs and the profile are fitted");
    experiments(measured, "published runs");
    experiments(profiled, "profile");
    return TAP_DONE();
}
