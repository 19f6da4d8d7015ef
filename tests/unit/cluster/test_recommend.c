/* The paper's setting by arithmetic, and model-opt against brute force. */
#include "cluster/recommend.h"

#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define UNKNOWN (double)NAN

/* Tables 1 and 2 of "FC2: cloud-based cluster provisioning for distributed machine learning":
 * USD per hour; the servers' networks as its sections 8.1, 8.3 and 8.4 tell them. */
static struct cluster_type servers[] = {
    {"m4.large", 125000, 450, UNKNOWN, UNKNOWN},
    {"m4.2xlarge", 500000, 1000, UNKNOWN, UNKNOWN},
    {"m4.10xlarge", 2500000, 10000, UNKNOWN, UNKNOWN},
};
static struct cluster_type workers[] = {
    {"m4.xlarge", 250000, UNKNOWN, 100, 2},   {"t2.xlarge", 233600, UNKNOWN, 150, 3},
    {"c4.xlarge", 231000, UNKNOWN, 90, 1.5},  {"c4.8xlarge", 1848000, UNKNOWN, 120, 4},
    {"p2.xlarge", 1718000, UNKNOWN, 200, 10}, {"g3.4xlarge", 1670000, UNKNOWN, 230, 12},
};
enum { M4, T2, C4, C4_8, P2, G3 };

static struct cluster_place place;

static struct cluster_problem paper(size_t server, size_t first, size_t n)
{
    place =
        (struct cluster_place){"aws", "ap-southeast-1", servers + server, workers + first, 1, n};

    return (struct cluster_problem){.places = &place,
                                    .n_places = 1,
                                    .budget_microusd = INT64_MAX,
                                    .max_workers = 6,
                                    .share = 0.95,
                                    .work = UNKNOWN};
}

static struct cluster_choice ask(const struct cluster_problem *p, enum cluster_algorithm algorithm)
{
    struct cluster_answer a;
    struct err e = {0};

    if (cluster_recommend(p, algorithm, CLUSTER_COST, &a, &e) < 0)
        a.best = (struct cluster_choice){.worker = SIZE_MAX};
    struct cluster_choice best = a.best;
    cluster_answer_clear(&a);
    return best;
}

/* Section 8.1: CPU instances, m4.large, six workers at most. */
static void cheap_ones(void)
{
    struct cluster_problem p = paper(0, M4, 3);
    struct cluster_choice c = ask(&p, CLUSTER_COST_OPT);

    CHECK(c.worker == C4 && c.workers == 6 && c.limited_by == CLUSTER_BY_MAX,
          "cost-opt: six of the cheapest, c4.xlarge");
    c = ask(&p, CLUSTER_TIME_OPT);
    CHECK(c.worker == M4 && c.workers == 6, "time-opt: six of the dearest, m4.xlarge");
    /* 427.5 / 100 = 4, / 150 = 2, / 90 = 4: the fewest are t2.xlarge, as the paper has it. */
    c = ask(&p, CLUSTER_SCALA_OPT);
    CHECK(c.worker == T2 && c.workers == 2 && c.limited_by == CLUSTER_BY_NETWORK,
          "scala-opt: two t2.xlarge");
    CHECK(c.usd_per_hour_micro == 125000 + 2 * 233600, "at 0.5922 USD per hour");
}

/* b_t to workers with 0.95 x 450 = 427.5 Mbit/s: the paper's 2, 3 and 5 lie in these ranges. */
static void ranges(void)
{
    static const struct {
        double mbps;
        unsigned workers;
    } cases[] = {{213.75, 2}, {142.6, 2},  {142.5, 3}, {106.9, 3}, {85.5, 5},
                 {71.3, 5},   {213.76, 1}, {427.5, 1}, {71.25, 6}, {10, 6}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster_type p2 = workers[P2];
        struct cluster_problem p = paper(0, P2, 1);
        p2.mbps = cases[i].mbps;
        place.workers = &p2;
        struct cluster_choice c = ask(&p, CLUSTER_SCALA_OPT_M);
        CHECK(c.workers == cases[i].workers, "%g Mbit/s: %u p2.xlarge", cases[i].mbps,
              cases[i].workers);
    }
    struct cluster_type greedy = workers[P2];
    struct cluster_problem p = paper(0, P2, 1);
    struct cluster_answer a;
    struct err e = {0};
    greedy.mbps = 427.6;
    place.workers = &greedy;
    CHECK(cluster_recommend(&p, CLUSTER_SCALA_OPT, CLUSTER_COST, &a, &e) < 0 &&
              e.kind == ERR_NOFIT && strstr(e.text, "one p2.xlarge alone sends 427.6 Mbit/s"),
          "%s", e.text);
    cluster_answer_clear(&a);
}

/* Budgets: floor((C - c_ps) / c_t) in micro-dollars. */
static void budgets(void)
{
    struct cluster_problem p = paper(0, M4, 3);
    struct cluster_answer a;
    struct err e = {0};

    p.max_workers = 10000;
    p.budget_microusd = 2000000;
    struct cluster_choice c = ask(&p, CLUSTER_COST_OPT);
    CHECK(c.worker == C4 && c.workers == 8 && c.limited_by == CLUSTER_BY_BUDGET,
          "2 USD: (2 - 0.125) / 0.231 = 8.1");
    c = ask(&p, CLUSTER_TIME_OPT);
    CHECK(c.worker == M4 && c.workers == 7, "(2 - 0.125) / 0.25 = 7.5");
    p.budget_microusd = 125000 + 4 * 231000;
    c = ask(&p, CLUSTER_COST_OPT);
    CHECK(c.workers == 4, "a budget that is just enough is enough");
    p.budget_microusd--;
    c = ask(&p, CLUSTER_COST_OPT);
    CHECK(c.workers == 3, "a micro-dollar less is not");
    p.budget_microusd = 700000;
    c = ask(&p, CLUSTER_SCALA_OPT);
    /* m4: min(4, 2), t2: min(2, 2), c4: min(4, 2): of equals the dearest. */
    CHECK(c.worker == M4 && c.workers == 2 && c.limited_by == CLUSTER_BY_BUDGET,
          "scala-opt: of equal numbers the dearer type");
    p.budget_microusd = 300000;
    CHECK(cluster_recommend(&p, CLUSTER_MODEL_OPT, CLUSTER_COST, &a, &e) < 0 &&
              e.kind == ERR_NOFIT && strstr(e.text, "does not pay a server and one worker"),
          "%s", e.text);
    cluster_answer_clear(&a);
}

/* Section 8.3: of the fast ones, m4.2xlarge with 1 Gbit/s. */
static void fast_ones(void)
{
    struct cluster_problem p = paper(1, C4_8, 3);

    CHECK(ask(&p, CLUSTER_TIME_OPT).worker == 0 && ask(&p, CLUSTER_COST_OPT).worker == 2,
          "time-opt: c4.8xlarge, cost-opt: g3.4xlarge");
    /* 950 / 120 = 7, / 200 = 4, / 230 = 4: of p2 and g3 the dearer, p2. */
    struct cluster_choice c = ask(&p, CLUSTER_SCALA_OPT);
    CHECK(c.worker == 1 && c.workers == 4, "scala-opt: four");
}

static void servers_by_rule(void)
{
    struct cluster_problem p = paper(0, M4, 3);
    struct cluster_type odd[] = {{"a", 2, UNKNOWN, UNKNOWN, UNKNOWN},
                                 {"b", 9, 500, UNKNOWN, UNKNOWN},
                                 {"c", 5, 500, UNKNOWN, UNKNOWN},
                                 {"d", 1, 400, UNKNOWN, UNKNOWN}};

    place.n_servers = 3;
    CHECK(ask(&p, CLUSTER_COST_OPT).server == 2, "the server with the largest network");
    place.servers = odd;
    place.n_servers = 4;
    CHECK(ask(&p, CLUSTER_COST_OPT).server == 2, "of equal ones the cheaper");
}

static void throughput(void)
{
    struct cluster_problem p = paper(0, M4, 6);

    CHECK(fabs(cluster_throughput(&p, &servers[0], &workers[P2], 1) - 10) < 1e-12, "one");
    CHECK(fabs(cluster_throughput(&p, &servers[0], &workers[P2], 2) - 20) < 1e-12, "two are twice");
    CHECK(fabs(cluster_throughput(&p, &servers[0], &workers[P2], 3) - 10 * 427.5 / 200) < 1e-12,
          "until the network is full");
    CHECK(fabs(cluster_throughput(&p, &servers[0], &workers[P2], 6) - 10 * 427.5 / 200) < 1e-12,
          "and then no more");
    CHECK(isnan(cluster_throughput(&p, &servers[0], &servers[0], 6)), "unknown rates: unknown");
    p.work = 50000;
    p.max_workers = 6;
    place.n_workers = 6;
    struct cluster_choice c = ask(&p, CLUSTER_MODEL_OPT);
    CHECK(fabs(c.time_s - 50000 / c.throughput) < 1e-6 &&
              fabs(c.cost_usd - (double)c.usd_per_hour_micro / 1e6 * c.time_s / 3600) < 1e-9,
          "time and cost of the work");
}

static unsigned long state = 1;

static double random_between(double low, double high)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

/* The least cost or time over all servers, types and numbers, by trying all of them. */
/* Something on the frontier is neither dearer nor slower. */
static bool covers(const struct cluster_answer *a, double cost_usd, double time_s)
{
    for (size_t i = 0; i < a->n_frontier; i++)
        if (a->frontier[i].cost_usd <= cost_usd * (1 + 1e-9) &&
            a->frontier[i].time_s <= time_s * (1 + 1e-9))
            return true;
    return false;
}

/* Of all (server, type, n); those that the frontier does not cover are added to *uncovered. */
static double brute_force(const struct cluster_problem *p,
                          enum cluster_objective objective,
                          const struct cluster_answer *a,
                          size_t *uncovered)
{
    double best = (double)INFINITY;

    for (size_t i = 0; i < p->n_places; i++)
        for (size_t s = 0; s < p->places[i].n_servers; s++)
            for (size_t w = 0; w < p->places[i].n_workers; w++)
                for (unsigned n = 1; n <= p->max_workers; n++) {
                    const struct cluster_type *server = &p->places[i].servers[s];
                    const struct cluster_type *worker = &p->places[i].workers[w];
                    double usd =
                        (double)(server->price_microusd + n * worker->price_microusd) / 1e6;
                    double rate =
                        fmin(n, server->network_mbps * p->share / worker->mbps) * worker->per_s;
                    if (usd * 1e6 > (double)p->budget_microusd + 0.5)
                        continue;
                    double time_s = p->work / rate;
                    *uncovered += !covers(a, usd * time_s / 3600, time_s);
                    best = fmin(best, objective == CLUSTER_TIME ? time_s : usd * time_s / 3600);
                }
    return best;
}

static bool is_frontier(const struct cluster_answer *a)
{
    for (size_t i = 1; i < a->n_frontier; i++)
        if (a->frontier[i].cost_usd <= a->frontier[i - 1].cost_usd ||
            a->frontier[i].time_s >= a->frontier[i - 1].time_s)
            return false;
    return true;
}

static void against_brute_force(void)
{
    size_t wrong = 0, broken = 0, none = 0, uncovered = 0;

    for (int round = 0; round < 2000; round++) {
        struct cluster_type types[2][8];
        struct cluster_place places[2];
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 8; k++)
                types[i][k] = (struct cluster_type){"t", (int64_t)random_between(1e4, 3e6),
                                                    random_between(100, 2000),
                                                    random_between(5, 900), random_between(1, 20)};
            places[i] = (struct cluster_place){"c", "r", types[i], types[i] + 3, 3, 5};
        }
        struct cluster_problem p = {.places = places,
                                    .n_places = 2,
                                    .budget_microusd = (int64_t)random_between(1e5, 9e6),
                                    .max_workers = (unsigned)random_between(1, 40),
                                    .share = random_between(0.5, 1),
                                    .work = 1000};
        for (int objective = CLUSTER_COST; objective <= CLUSTER_TIME; objective++) {
            struct cluster_answer a;
            int result = cluster_recommend(&p, CLUSTER_MODEL_OPT, (enum cluster_objective)objective,
                                           &a, NULL);
            double least = brute_force(&p, (enum cluster_objective)objective, &a, &uncovered);
            double got = objective == CLUSTER_TIME ? a.best.time_s : a.best.cost_usd;
            if (!isfinite(least))
                none++;
            if (isfinite(least) != (result == 0))
                wrong++;
            else if (result == 0 && fabs(got - least) > 1e-9 * least)
                wrong++;
            if (result == 0 && !is_frontier(&a))
                broken++;
            cluster_answer_clear(&a);
        }
    }
    CHECK(wrong == 0, "model-opt is the optimum of all (server, type, n) in 4,000 cases");
    CHECK(broken == 0, "on the frontier what is dearer is faster");
    CHECK(uncovered == 0, "and nothing is better than it: %zu", uncovered);
    CHECK(none > 0 && none < 2000, "some have no answer at all");
}

static void missing(void)
{
    struct cluster_problem p = paper(0, M4, 3);
    struct cluster_type blank = {"x1", 100000, UNKNOWN, UNKNOWN, UNKNOWN};
    struct cluster_place two[2];
    struct cluster_answer a;
    struct err e = {0};

    place.workers = &blank;
    place.n_workers = 1;
    CHECK(cluster_recommend(&p, CLUSTER_SCALA_OPT, CLUSTER_COST, &a, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "types: {x1: {mbps:"),
          "%s", e.text);
    CHECK(a.n_considered == 1 && a.considered[0].limited_by == CLUSTER_UNMEASURED, "unmeasured");
    cluster_answer_clear(&a);
    CHECK(cluster_recommend(&p, CLUSTER_MODEL_OPT, CLUSTER_COST, &a, &e) < 0 && e.kind == ERR_USAGE,
          "%s", e.text);
    cluster_answer_clear(&a);
    CHECK(ask(&p, CLUSTER_COST_OPT).workers == 6, "cost-opt needs no rates");
    two[0] = two[1] = place;
    p.places = two;
    p.n_places = 2;
    CHECK(cluster_recommend(&p, CLUSTER_COST_OPT, CLUSTER_COST, &a, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "--location"),
          "%s", e.text);
    cluster_answer_clear(&a);
}

int main(void)
{
    cheap_ones();
    ranges();
    budgets();
    fast_ones();
    servers_by_rule();
    throughput();
    against_brute_force();
    missing();
    return TAP_DONE();
}
