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

/* The head, and the items that have workers. */
struct shown {
    struct app_cluster_recommended head;
    struct app_cluster_choice *items;
    size_t n, n_unmeasured;
};

/* ---- tables ---- */

static void put_usd(struct table *t, double usd)
{
    char text[32];

    table_put(t, usd <= MONEY_MAX_USD ? money_text(money_from_usd(usd), text) : "-");
}

static void put_choice(struct table *t, const struct app_cluster_choice *c, bool with_location)
{
    char text[128];

    table_put(t, c->server_type);
    table_put(t, c->worker_type);
    if (with_location)
        table_put(t, c->location ? c->location : "-");
    table_printf(t, "%u", (unsigned)c->workers);
    put_usd(t, money_to_usd(c->microusd_per_hour));
    if (isnan(c->throughput))
        table_put(t, "-");
    else
        table_printf(t, "%.4g/s", c->throughput);
    table_put(t, isnan(c->time_s) ? "-" : time_text(c->time_s, text));
    put_usd(t, c->cost_usd);
    table_put(t, c->limit == CLUSTER_BY_MAX ? "maximum" : c->limited_by);
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
                          const struct app_cluster_choice *choices,
                          size_t n)
{
    const struct shown *s = t->state;
    bool with_location = s->head.n_locations > 1;
    AUTO(table) struct table *table = choice_table(false, with_location);

    for (size_t i = 0; i < n && i < SHOWN; i++)
        put_choice(table, &choices[i], with_location);
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
    if (n > SHOWN)
        fprintf(t->out, "%zu more: --json has them\n", n - SHOWN);
}

static void print_algorithms(const struct operate_text *t)
{
    const struct shown *s = t->state;
    const struct app_cluster_algorithm *all = s->head.algorithms.items;
    bool with_location = s->head.n_locations > 1;
    AUTO(table) struct table *table = choice_table(true, with_location);

    for (size_t i = 0; i < s->head.algorithms.n; i++) {
        if (!all[i].has_answer)
            continue;
        table_put(table, all[i].algorithm);
        put_choice(table, &all[i].choice, with_location);
    }
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

/* ---- the answer ---- */

static int print_head(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_cluster_recommended *r = record;
    const struct app_cluster_choice *best = &r->best;
    struct shown *s = arena_alloc(t->arena, 1, sizeof *s);
    char cost[32], time[32];
    AUTO_CLEAR(buf) struct buf name;

    buf_init(&name, 400);
    if (!s || !(s->items = arena_alloc(t->arena, r->n_considered, sizeof *s->items)))
        return err_set(e, ERR_NOFIT, "the answer is too large");
    s->head = *r;
    t->state = s;
    text_put(&name, r->name, 60, t->look.utf8);
    fprintf(t->out, "%s: %u x %s beside %s", buf_str(&name), (unsigned)best->workers,
            best->worker_type, best->server_type);
    if (best->location)
        fprintf(t->out, " at %s", best->location);
    fprintf(t->out, ", %s per hour (%s%s)\n", money_text(best->microusd_per_hour, cost),
            r->algorithm,
            !r->is_model_opt   ? ""
            : r->is_least_time ? ", least time"
                               : ", least cost");
    if (!isnan(best->throughput) && !isnan(r->work) && best->cost_usd <= MONEY_MAX_USD)
        fprintf(t->out, "%.15g iterations at %.4g per second: %s for %s\n", r->work,
                best->throughput, time_text(best->time_s, time),
                money_text(money_from_usd(best->cost_usd), cost));
    if (isnan(r->work))
        fprintf(t->out, "Time and cost are per iteration; --work N gives those of N.\n");
    return 0;
}

static int keep_item(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_cluster_choice *c = record;
    struct shown *s = t->state;

    (void)e;
    s->n_unmeasured += c->limit == CLUSTER_UNMEASURED;
    if (c->workers)
        s->items[s->n++] = *c;
    return 0;
}

/* A choice without a prediction comes last. */
static double sort_key(const struct app_cluster_choice *c)
{
    return isnan(c->cost_usd) ? (double)INFINITY : c->cost_usd;
}

static int by_cost(const void *a, const void *b)
{
    const struct app_cluster_choice *x = a, *y = b;

    return (sort_key(x) > sort_key(y)) - (sort_key(x) < sort_key(y));
}

static int print_end(struct operate_text *t, struct err *e)
{
    struct shown *s = t->state;

    (void)e;
    fprintf(t->out, "\nBest cluster of each worker type\n");
    qsort(s->items, s->n, sizeof *s->items, by_cost);
    print_choices(t, s->items, s->n);
    if (s->n_unmeasured)
        fprintf(t->out, "%zu types are left out: their rates are not known\n", s->n_unmeasured);
    if (s->head.frontier.n > 1) {
        fprintf(t->out, "\nPareto frontier, cheapest first\n");
        print_choices(t, s->head.frontier.items, s->head.frontier.n);
    }
    if (s->head.algorithms.n) {
        fprintf(t->out, "\nAlgorithms compared\n");
        print_algorithms(t);
    }
    return 0;
}

static const struct command_text text = {
    .head = print_head,
    .item = keep_item,
    .end = print_end,
};

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
