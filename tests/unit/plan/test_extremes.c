/* DAGs at the edges of what the search has to bear: very many stages, very many equal options, one
 * option, no length, parts without a link, and a deadline that only the fastest plan meets. */
#include "base/arena.h"
#include "plan/plan.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#define OFFER_COLUMNS                                                                              \
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"              \
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
#define MEMORY_LIMIT_KB (200L << 10)
/* A sanitizer's memory is no measure. */
#define IS_PLAIN (!getenv("TRADEWIND_SLOW"))

/* Slow: $1 and 2 h; fast: $5 and 1 h of the same work. */
static const char two_offers[] =
    OFFER_COLUMNS "aws,east,,slow,4,16,,,,1,,\naws,east,,fast,8,32,,,,5,,\n";
static const char config[] = "plan: {boot_s: 0}\n";

static double stopped_clock(void)
{
    return 0;
}

/* A limit of so many seconds is one of so many looks at this clock, on any machine. */
static double counting_clock(void)
{
    static double now_s;

    return now_s += 1;
}

/* The answer to the case; PLAN_LIMIT where it does not load. */
static void solve(const char *dir,
                  const char *pipeline,
                  const char *offers,
                  struct plan_query q,
                  struct plan_answer *out)
{
    struct random_case c;
    struct err e = {0};
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    struct guess_list guesses = {.arena = arena};

    *out = (struct plan_answer){.status = PLAN_LIMIT};
    if (random_case_load(&c, dir, pipeline, offers, config, &e) == 0) {
        struct plan_world w = {.spec = c.spec,
                               .catalog = c.catalog,
                               .config = c.config,
                               .throughputs = c.throughputs,
                               .max_hourly_usd = (double)INFINITY};
        AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
        if (p)
            plan_solve(p, &q, out, &e);
    }
    if (*e.text)
        printf("# %s\n", e.text);
    random_case_clear(&c);
}

static bool is(const struct plan_answer *a, double usd, double hours)
{
    bool good = a->status == PLAN_OPTIMAL && fabs((double)a->plan.cost_microusd - usd * 1e6) < 10 &&
                fabs(a->plan.time_s - hours * 3600) < 1e-3;

    if (!good)
        printf("# status %d, %g dollars, %g h\n", a->status, (double)a->plan.cost_microusd / 1e6,
               a->plan.time_s / 3600);
    return good;
}

/* a, b and c from a, d from both: 3 stages one after the other, 4 in all. */
#define DIAMOND(x)                                                                                 \
    "---\nname: " x "a\nneeds: []\n---\nname: " x "b\nneeds: [" x "a]\n---\nname: " x              \
    "c\nneeds: [" x "a]\n---\nname: " x "d\nneeds: [" x "b, " x "c]\n"
#define HOURS "defaults: {estimate: {hours: {slow: 2, fast: 1}}}\n"

static void check_limits(const char *dir)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer a;

    q.goal.deadline_s = 3 * 3600;
    solve(dir, "name: x\n" HOURS DIAMOND(""), two_offers, q, &a);
    CHECK(is(&a, 20, 3), "a deadline of exactly the fastest time takes the fastest plan");
    plan_answer_clear(&a);
    q.goal.deadline_s = 3 * 3600 - 0.01;
    solve(dir, "name: x\n" HOURS DIAMOND(""), two_offers, q, &a);
    CHECK(a.status == PLAN_INFEASIBLE, "and a little less leaves none");
    plan_answer_clear(&a);
    q.goal.deadline_s = 4 * 3600;
    solve(dir, "name: x\n" HOURS DIAMOND(""), two_offers, q, &a);
    CHECK(is(&a, 14, 4), "an hour more is worth most in the middle, where two stages are slow");
    plan_answer_clear(&a);
    q.goal.budget_usd = 8;
    q.goal.deadline_s = (double)INFINITY;
    q.goal.objective = SPEC_TIME;
    solve(dir, "name: x\n" HOURS DIAMOND(""), two_offers, q, &a);
    CHECK(is(&a, 8, 6), "a budget of exactly the cheapest plan takes that plan");
    plan_answer_clear(&a);
}

static void check_shapes(const char *dir)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer a;

    q.goal.deadline_s = 3 * 3600;
    solve(dir, "name: x\n" HOURS DIAMOND("x") DIAMOND("y"), two_offers, q, &a);
    CHECK(is(&a, 40, 3), "two DAGs without a link have one deadline");
    plan_answer_clear(&a);
    solve(dir, "name: x\n" HOURS DIAMOND("") "resources: {instance_type: slow}\n", two_offers, q,
          &a);
    CHECK(a.status == PLAN_INFEASIBLE, "a stage with one option may rule the deadline out");
    plan_answer_clear(&a);
    q.goal.deadline_s = 4 * 3600;
    solve(dir, "name: x\n" HOURS DIAMOND("") "resources: {instance_type: slow}\n", two_offers, q,
          &a);
    CHECK(is(&a, 17, 4), "or leave the others to be fast");
    plan_answer_clear(&a);
    q.goal.objective = SPEC_VALUE;
    solve(dir, "name: x\ndefaults: {estimate: {seconds: 0}}\n" DIAMOND(""), two_offers, q, &a);
    CHECK(a.status == PLAN_OPTIMAL && a.plan.time_s == 0 && a.plan.cost_microusd == 4 * 16667,
          "stages of no length take no time and are billed a minute each");
    plan_answer_clear(&a);
}

/* Equal in all but their names. */
static void check_equal_options(const char *dir)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer a;
    AUTO_CLEAR(buf) struct buf offers;

    buf_init(&offers, 1 << 20);
    buf_puts(&offers, OFFER_COLUMNS);
    for (int i = 0; i < 2000; i++)
        buf_printf(&offers, "aws,r%d,z%d,slow,4,16,,,,1,,\naws,r%d,z%d,fast,8,32,,,,5,,\n", i % 100,
                   i, i % 100, i);
    q.goal.deadline_s = 5 * 3600;
    q.totals_only = true;
    solve(dir, "name: x\n" HOURS DIAMOND(""), buf_str(&offers), q, &a);
    CHECK(is(&a, 11, 5), "equal options by the thousand are no burden");
    plan_answer_clear(&a);
}

/* Rows of three stages, each needing all of the row before, and a hundred regions, a little cheaper
 * or faster from one to the next. */
static void write_large(struct buf *text, struct buf *offers, unsigned stages)
{
    buf_init(text, 1 << 20);
    buf_init(offers, 1 << 20);
    buf_puts(offers, OFFER_COLUMNS);
    for (unsigned r = 0; r < 100; r++)
        buf_printf(offers, "aws,r%u,,slow,4,16,,,,1.%02u,,\naws,r%u,,fast,8,32,,,,4.%02u,,\n", r, r,
                   r, 99 - r);
    buf_puts(text, "name: large\n" HOURS);
    for (unsigned i = 0; i < stages; i++) {
        buf_printf(text, "---\nname: s%u\nneeds: [", i);
        for (unsigned k = 0; i >= 3 && k < 3; k++)
            buf_printf(text, "%ss%u", k ? ", " : "", i / 3 * 3 - 3 + k);
        buf_puts(text, "]\n");
    }
}

static void check_large(const char *dir, unsigned stages)
{
    struct plan_query q = plan_query_default(counting_clock);
    struct plan_answer a;
    struct rusage usage;
    AUTO_CLEAR(buf) struct buf text, offers;
    unsigned rows = (stages + 2) / 3;

    write_large(&text, &offers, stages);
    q.goal.objective = SPEC_TIME;
    q.totals_only = q.is_side = true;
    q.solve_limit_s = 400;
    solve(dir, buf_str(&text), buf_str(&offers), q, &a);
    CHECK(plan_found(&a) && a.plan.time_s >= rows * 3600.0 - 1e-3 && a.bound <= a.objective,
          "%u stages have a plan", stages);
    plan_answer_clear(&a);
    q.goal.objective = SPEC_COST;
    q.goal.deadline_s = 1.5 * rows * 3600;
    solve(dir, buf_str(&text), buf_str(&offers), q, &a);
    CHECK(plan_found(&a) && a.bound <= a.objective && a.plan.time_s <= q.goal.deadline_s,
          "and one within a deadline");
    plan_answer_clear(&a);
    getrusage(RUSAGE_SELF, &usage);
    CHECK(!IS_PLAIN || usage.ru_maxrss < MEMORY_LIMIT_KB, "in less than 200 MB (%ld kB)",
          usage.ru_maxrss);
}

static double user_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

/* The least of three tries. */
static double seconds_of(const char *dir, struct plan_query q, const char *text, const char *offers)
{
    double least = (double)INFINITY;

    for (int i = 0; i < 3; i++) {
        struct plan_answer a;
        double start_s = user_s();
        solve(dir, text, offers, q, &a);
        least = fmin(least, user_s() - start_s);
        plan_answer_clear(&a);
    }
    return least;
}

/* A search that has no time tries few changes of a plan, however many stages there are: its
 * question takes little more than that of the least cost, which needs no such plans. */
static void check_no_time(const char *dir, unsigned stages)
{
    struct plan_query q = plan_query_default(stopped_clock);
    AUTO_CLEAR(buf) struct buf text, offers;

    write_large(&text, &offers, stages);
    q.solve_limit_s = 0;
    double cost_s = seconds_of(dir, q, buf_str(&text), buf_str(&offers));
    q.pareto = true;
    double frontier_s = seconds_of(dir, q, buf_str(&text), buf_str(&offers));
    CHECK(frontier_s < 4 * cost_s, "no time for a frontier of %u stages: %.2f s beside %.2f s",
          stages, frontier_s, cost_s);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-extremes-XXXXXX";

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    check_limits(dir);
    check_shapes(dir);
    check_equal_options(dir);
    check_large(dir, 200);
    check_no_time(dir, 200);
    return TAP_DONE();
}
