/* recommend: the command `cluster recommend`, which prints a recommended cluster. */
#include "app/cluster/cluster.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>

#define SHOWN 10

/* ---- tables ---- */

static void put_usd(struct table *t, double usd)
{
    char text[32];

    table_put(t, usd <= MONEY_MAX_USD ? money_text(money_from_usd(usd), text) : "-");
}

/* Of the work, or of one iteration when there is none. */
static double time_of(const struct app_cluster_choice *c, double work)
{
    return (isnan(work) ? 1 : work) / c->throughput;
}

static double cost_of(const struct app_cluster_choice *c, double work)
{
    return money_to_usd(c->microusd_per_hour) * time_of(c, work) / 3600;
}

static void put_choice(struct table *t,
                       const struct app_cluster_recommended *r,
                       const struct app_cluster_choice *c)
{
    static const char *const limits[] = {[CLUSTER_BY_NETWORK + 1] = "network",
                                         [CLUSTER_BY_BUDGET + 1] = "budget",
                                         [CLUSTER_BY_MAX + 1] = "maximum",
                                         [CLUSTER_UNMEASURED + 1] = "unmeasured"};
    char text[128];

    table_put(t, c->server_type);
    table_put(t, c->worker_type);
    if (r->locations > 1)
        table_put(t, c->location ? c->location : "-");
    table_printf(t, "%u", (unsigned)c->workers);
    put_usd(t, money_to_usd(c->microusd_per_hour));
    if (isnan(c->throughput))
        table_put(t, "-");
    else
        table_printf(t, "%.4g/s", c->throughput);
    table_put(t, isnan(c->throughput) ? "-" : time_text(time_of(c, r->work), text));
    put_usd(t, cost_of(c, r->work));
    table_put(t, limits[c->limited_by]);
}

static struct table *choice_table(bool with_algorithm, bool with_location)
{
    static const struct table_column all[] = {
        {.title = "algorithm"},
        {.title = "server", .cut_rank = 2, .least = 8},
        {.title = "worker", .cut_rank = 3, .least = 10},
        {.title = "location", .cut_rank = 1, .least = 8},
        {.title = "n", .right = true},
        {.title = "per hour", .right = true},
        {.title = "iterations", .right = true},
        {.title = "time", .right = true},
        {.title = "cost", .right = true},
        {.title = "limited by"},
    };
    enum { ALGORITHM = 0, LOCATION = 3 };
    struct table_column columns[sizeof all / sizeof *all];
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((i != ALGORITHM || with_algorithm) && (i != LOCATION || with_location))
            columns[n++] = all[i];
    return table_new(columns, n);
}

static void print_choices(const struct operate_text *t,
                          const struct app_cluster_recommended *r,
                          const struct app_cluster_choice *choices,
                          size_t n)
{
    bool with_location = r->locations > 1;
    AUTO(table) struct table *table = choice_table(false, with_location);

    for (size_t i = 0; i < n && i < SHOWN; i++)
        put_choice(table, r, &choices[i]);
    table_print(table, t->out, 0, &t->look);
    if (n > SHOWN)
        fprintf(t->out, "%zu more: --json has them\n", n - SHOWN);
}

static void print_algorithms(const struct operate_text *t, const struct app_cluster_recommended *r)
{
    const struct app_cluster_algorithm *all = r->algorithms.items;
    bool with_location = r->locations > 1;
    AUTO(table) struct table *table = choice_table(true, with_location);

    for (size_t i = 0; i < r->algorithms.n; i++) {
        if (!all[i].has_answer)
            continue;
        table_put(table, all[i].algorithm);
        put_choice(table, r, &all[i].choice);
    }
    table_print(table, t->out, 0, &t->look);
}

/* ---- the answer ---- */

static void print_best(const struct operate_text *t, const struct app_cluster_recommended *r)
{
    const struct app_cluster_choice *best = &r->best;
    const struct app_cluster_predicted *p = best->predicted;
    char cost[32], time[32];
    AUTO_CLEAR(buf) struct buf name;

    buf_init(&name, 400);
    text_put(&name, r->name, 60, t->look.utf8);
    fprintf(t->out, "%s: %u x %s beside %s", buf_str(&name), (unsigned)best->workers,
            best->worker_type, best->server_type);
    if (best->location)
        fprintf(t->out, " at %s", best->location);
    fprintf(t->out, ", %s per hour (%s%s)\n", money_text(best->microusd_per_hour, cost),
            r->algorithm,
            !r->objective                      ? ""
            : r->objective == CLUSTER_TIME + 1 ? ", least time"
                                               : ", least cost");
    if (p->cost_usd <= MONEY_MAX_USD)
        fprintf(t->out, "%.15g iterations at %.4g per second: %s for %s\n", r->work, p->throughput,
                time_text(p->time_s, time), money_text(money_from_usd(p->cost_usd), cost));
    if (isnan(r->work))
        fprintf(t->out, "Time and cost are per iteration; --work N gives those of N.\n");
}

/* ---- types that were considered ---- */

struct considered {
    struct app_cluster_choice *choices; /* that have workers */
    size_t n, cap, n_unmeasured;
};

static void take_considered(struct operate_text *t, const void *record)
{
    struct considered *all = t->state;
    struct app_cluster_choice c = *(const struct app_cluster_choice *)record;

    all->n_unmeasured += c.limited_by == CLUSTER_UNMEASURED + 1;
    if (!c.workers)
        return;
    all->choices = arena_room(t->arena, all->choices, all->n, &all->cap, sizeof c);
    if (!all->choices) {
        err_set(&t->error, ERR_NOFIT, "too many types to list: --json lists them");
        return;
    }
    all->choices[all->n++] = c;
}

/* A choice without a prediction comes last. */
static double sort_key(const struct app_cluster_choice *c)
{
    double cost_usd = cost_of(c, 1);

    return isnan(cost_usd) ? (double)INFINITY : cost_usd;
}

static int by_cost(const void *a, const void *b)
{
    const struct app_cluster_choice *x = a, *y = b;

    return (sort_key(x) > sort_key(y)) - (sort_key(x) < sort_key(y));
}

/* The cheapest first. */
static void print_considered(const struct operate_text *t, const struct app_cluster_recommended *r)
{
    const struct considered *all = t->state;

    if (all->n)
        qsort(all->choices, all->n, sizeof *all->choices, by_cost);
    print_choices(t, r, all->choices, all->n);
    if (all->n_unmeasured)
        fprintf(t->out, "%zu types are left out: their rates are not known\n", all->n_unmeasured);
}

static void print_recommended(struct operate_text *t, const void *record)
{
    const struct app_cluster_recommended *r = record;

    print_best(t, r);
    fprintf(t->out, "\nBest cluster of each worker type\n");
    print_considered(t, r);
    if (r->frontier.n > 1) {
        fprintf(t->out, "\nPareto frontier, cheapest first\n");
        print_choices(t, r, r->frontier.items, r->frontier.n);
    }
    if (r->algorithms.n) {
        fprintf(t->out, "\nAlgorithms compared\n");
        print_algorithms(t, r);
    }
}

static const struct command_text text = {
    .head = print_recommended, .item = take_considered, .state_size = sizeof(struct considered)};

const struct command command_cluster_recommend = {
    .name = "cluster recommend",
    .operands = "FILE",
    .summary = "Recommend the number and type of workers of a training cluster",
    .details =
        "A parameter server holds the model, and workers send it gradients over its network. More "
        "workers are faster until that network is full; more than that only cost. model-opt "
        "predicts throughput from the rates of a single worker, and finds the cluster of least "
        "cost or least time among all servers, types and numbers.\n"
        "\n"
        "cost-opt takes the cheapest type and as many workers as the budget pays, time-opt the "
        "most expensive type. scala-opt takes the type of which the fewest workers fill the "
        "server's network, scala-opt-m does so for the type of --type.\n"
        "\n"
        "When no cluster is within budget and network, the exit code is 5.",
    .example = "tradewind cluster recommend examples/cluster/cifar.yaml",
    .min_operands = 1,
    .max_operands = 1,
    .operation = &cluster_recommend_operation,
    .text = &text,
};
