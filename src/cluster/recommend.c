#include "cluster/recommend.h"

#include "base/mem.h"
#include "base/money.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* So that 427.5 / 142.5 is 3 and not a little less. */
#define SLACK 1e-9

const char *cluster_algorithm_text(enum cluster_algorithm algorithm)
{
    static const char *const names[] = {
        [CLUSTER_MODEL_OPT] = "model-opt",     [CLUSTER_COST_OPT] = "cost-opt",
        [CLUSTER_TIME_OPT] = "time-opt",       [CLUSTER_SCALA_OPT] = "scala-opt",
        [CLUSTER_SCALA_OPT_M] = "scala-opt-m",
    };

    return names[algorithm];
}

/* ---- one cluster ---- */

/* Workers whose traffic the server's network carries; NaN = not known. */
static double network_holds(const struct cluster_problem *p,
                            const struct cluster_type *server,
                            const struct cluster_type *worker)
{
    return server->network_mbps * p->share / worker->mbps;
}

double cluster_throughput(const struct cluster_problem *p,
                          const struct cluster_type *server,
                          const struct cluster_type *worker,
                          unsigned n)
{
    double held = network_holds(p, server, worker);

    return isnan(held) ? (double)NAN : worker->per_s * fmin(n, held);
}

/* As many workers as budget and maximum allow, and which of them it is. */
static unsigned most_workers(const struct cluster_problem *p,
                             const struct cluster_type *server,
                             const struct cluster_type *worker,
                             enum cluster_limit *by)
{
    *by = CLUSTER_BY_MAX;
    if (p->budget_microusd == INT64_MAX)
        return p->max_workers;
    int64_t left = p->budget_microusd - server->price_microusd;
    int64_t paid = left < 0 ? 0 : left / worker->price_microusd;
    if (paid >= p->max_workers)
        return p->max_workers;
    *by = CLUSTER_BY_BUDGET;
    return (unsigned)paid;
}

static void predict(const struct cluster_problem *p, struct cluster_choice *c)
{
    const struct cluster_place *at = &p->places[c->place];
    const struct cluster_type *server = &at->servers[c->server], *worker = &at->workers[c->worker];

    c->usd_per_hour_micro = server->price_microusd + (int64_t)c->workers * worker->price_microusd;
    c->throughput = cluster_throughput(p, server, worker, c->workers);
    c->time_s = (isnan(p->work) ? 1 : p->work) / c->throughput;
    c->cost_usd = money_to_usd(c->usd_per_hour_micro) * c->time_s / 3600;
}

/* ---- model-opt ---- */

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* Less is better. */
static int rank(const struct cluster_choice *a,
                const struct cluster_choice *b,
                enum cluster_objective objective)
{
    int by_cost = compare(a->cost_usd, b->cost_usd), by_time = compare(a->time_s, b->time_s);
    int first = objective == CLUSTER_TIME ? by_time : by_cost;

    return first ? first : objective == CLUSTER_TIME ? by_cost : by_time;
}

struct candidates {
    struct cluster_choice *items;
    size_t n, cap;
};

static void add(struct candidates *all, const struct cluster_choice *c)
{
    all->items = mem_room(all->items, all->n, &all->cap, sizeof *all->items);
    all->items[all->n++] = *c;
}

/* Up to the number that fills the server's network every worker makes the training both faster and,
 * since the server is shared by more, cheaper; past it only more expensive. So the least cost and
 * the least time are at the whole numbers next to it, or where budget or maximum end. */
static void add_candidates(const struct cluster_problem *p,
                           struct candidates *all,
                           struct cluster_choice c)
{
    const struct cluster_place *at = &p->places[c.place];
    const struct cluster_type *server = &at->servers[c.server], *worker = &at->workers[c.worker];
    double held = network_holds(p, server, worker);
    enum cluster_limit by;
    unsigned most = most_workers(p, server, worker, &by);

    if (isnan(held) || isnan(worker->per_s) || most == 0)
        return;
    c.limited_by = by;
    c.workers = most;
    if (held < most) {
        c.limited_by = CLUSTER_BY_NETWORK;
        double up = ceil(held - SLACK), down = floor(held + SLACK);
        if (down >= 1 && down < up) {
            c.workers = (unsigned)down;
            predict(p, &c);
            add(all, &c);
        }
        c.workers = up < 1 ? 1 : (unsigned)up;
    }
    predict(p, &c);
    add(all, &c);
}

/* Servers that no other beats in both price and network; others are never better. */
static size_t useful_servers(const struct cluster_place *at, size_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < at->n_servers; i++) {
        const struct cluster_type *s = &at->servers[i];
        bool is_beaten = isnan(s->network_mbps);
        for (size_t k = 0; k < at->n_servers && !is_beaten; k++) {
            const struct cluster_type *o = &at->servers[k];
            bool no_worse =
                o->price_microusd <= s->price_microusd && o->network_mbps >= s->network_mbps;
            bool is_better =
                o->price_microusd < s->price_microusd || o->network_mbps > s->network_mbps || k < i;
            is_beaten = k != i && no_worse && is_better;
        }
        if (!is_beaten)
            out[n++] = i;
    }
    return n;
}

static int by_cost_then_time(const void *a, const void *b)
{
    const struct cluster_choice *x = a, *y = b;
    int order = rank(x, y, CLUSTER_COST);

    if (!order && x->place != y->place)
        order = x->place < y->place ? -1 : 1;
    if (!order && x->worker != y->worker)
        order = x->worker < y->worker ? -1 : 1;
    return order ? order : (x->server > y->server) - (x->server < y->server);
}

/* Who is no faster than the cheapest, or no cheaper than the fastest, is not on the frontier: of a
 * whole catalog few are left to be sorted. */
static void drop_dominated(struct candidates *all)
{
    size_t cheapest = 0, fastest = 0, n = 0;

    for (size_t i = 1; i < all->n; i++) {
        if (by_cost_then_time(&all->items[i], &all->items[cheapest]) < 0)
            cheapest = i;
        if (rank(&all->items[i], &all->items[fastest], CLUSTER_TIME) < 0)
            fastest = i;
    }
    const double slowest_s = all->items[cheapest].time_s, most_usd = all->items[fastest].cost_usd;
    for (size_t i = 0; i < all->n; i++) {
        const struct cluster_choice *c = &all->items[i];
        if (i == cheapest || (c->time_s < slowest_s && c->cost_usd <= most_usd))
            all->items[n++] = *c;
    }
    all->n = n;
}

static void find_frontier(struct candidates *all, struct cluster_answer *out)
{
    struct cluster_choice *sorted = all->items;

    drop_dominated(all);
    qsort(sorted, all->n, sizeof *sorted, by_cost_then_time);
    out->frontier = mem_zero(all->n, sizeof *out->frontier);
    for (size_t i = 0; i < all->n; i++)
        if (!out->n_frontier || sorted[i].time_s < out->frontier[out->n_frontier - 1].time_s)
            out->frontier[out->n_frontier++] = sorted[i];
}

static size_t cheapest_of(const struct cluster_place *at, const size_t *servers, size_t n)
{
    size_t best = n ? servers[0] : 0;

    for (size_t i = 1; i < n; i++)
        if (at->servers[servers[i]].price_microusd < at->servers[best].price_microusd)
            best = servers[i];
    return best;
}

static void consider_place(const struct cluster_problem *p,
                           size_t place,
                           enum cluster_objective objective,
                           struct candidates *all,
                           struct cluster_answer *out)
{
    const struct cluster_place *at = &p->places[place];
    AUTO_MEM size_t *servers = mem_zero(at->n_servers, sizeof *servers);
    size_t n_servers = useful_servers(at, servers);

    for (size_t w = 0; w < at->n_workers; w++) {
        struct cluster_choice *seen = &out->considered[out->n_considered++];
        size_t first = all->n;
        *seen = (struct cluster_choice){.place = place, .worker = w};
        for (size_t s = 0; s < n_servers; s++)
            add_candidates(
                p, all, (struct cluster_choice){.place = place, .server = servers[s], .worker = w});
        for (size_t i = first; i < all->n; i++)
            if (i == first || rank(&all->items[i], seen, objective) < 0)
                *seen = all->items[i];
        if (first == all->n) {
            bool known = n_servers && !isnan(at->workers[w].mbps) && !isnan(at->workers[w].per_s);
            seen->limited_by = known ? CLUSTER_BY_BUDGET : CLUSTER_UNMEASURED;
            seen->server = cheapest_of(at, servers, n_servers);
        }
    }
}

/* Of what was considered in vain: the cheapest pair tells best why even that is none. */
static struct cluster_choice cheapest_pair(const struct cluster_problem *p,
                                           const struct cluster_answer *a)
{
    struct cluster_choice best = a->considered[0];
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < a->n_considered; i++) {
        const struct cluster_choice *c = &a->considered[i];
        const struct cluster_place *at = &p->places[c->place];
        int64_t price =
            at->servers[c->server].price_microusd + at->workers[c->worker].price_microusd;
        if (c->limited_by == CLUSTER_UNMEASURED || price >= least)
            continue;
        best = *c;
        least = price;
    }
    return best;
}

/* ---- the rules of the paper ---- */

/* The largest network; of equal ones the cheaper. One whose network is not known counts as 0. */
static size_t widest_server(const struct cluster_place *at)
{
    size_t best = 0;

    for (size_t i = 1; i < at->n_servers; i++) {
        const struct cluster_type *s = &at->servers[i], *b = &at->servers[best];
        double mine = isnan(s->network_mbps) ? 0 : s->network_mbps;
        double theirs = isnan(b->network_mbps) ? 0 : b->network_mbps;
        if (mine > theirs || (mine >= theirs && s->price_microusd < b->price_microusd))
            best = i;
    }
    return best;
}

static struct cluster_choice consider_type(const struct cluster_problem *p,
                                           enum cluster_algorithm algorithm,
                                           size_t server,
                                           size_t worker)
{
    const struct cluster_place *at = &p->places[0];
    struct cluster_choice c = {.server = server, .worker = worker};

    c.workers = most_workers(p, &at->servers[server], &at->workers[worker], &c.limited_by);
    if (algorithm == CLUSTER_SCALA_OPT || algorithm == CLUSTER_SCALA_OPT_M) {
        double held = network_holds(p, &at->servers[server], &at->workers[worker]);
        if (isnan(held)) {
            c.workers = 0;
            c.limited_by = CLUSTER_UNMEASURED;
        } else if (floor(held + SLACK) < c.workers) {
            c.workers = (unsigned)floor(held + SLACK);
            c.limited_by = CLUSTER_BY_NETWORK;
        }
    }
    predict(p, &c);
    return c;
}

/* Whether a goes before b. */
static bool is_before(const struct cluster_place *at,
                      enum cluster_algorithm algorithm,
                      const struct cluster_choice *a,
                      const struct cluster_choice *b)
{
    int64_t price_a = at->workers[a->worker].price_microusd;
    int64_t price_b = at->workers[b->worker].price_microusd;

    if (algorithm == CLUSTER_COST_OPT)
        return price_a < price_b;
    if (algorithm == CLUSTER_TIME_OPT)
        return price_a > price_b;
    if ((a->workers > 0) != (b->workers > 0))
        return a->workers > 0;
    return a->workers != b->workers ? a->workers < b->workers : price_a > price_b;
}

static void follow_rule(const struct cluster_problem *p,
                        enum cluster_algorithm algorithm,
                        struct cluster_answer *out)
{
    const struct cluster_place *at = &p->places[0];
    size_t server = widest_server(at);

    for (size_t w = 0; w < at->n_workers; w++) {
        const struct cluster_choice c = consider_type(p, algorithm, server, w);
        if (w == 0 || is_before(at, algorithm, &c, &out->best))
            out->best = c;
        out->considered[out->n_considered++] = c;
    }
}

/* ---- the answer ---- */

static bool knows_networks(const struct cluster_problem *p)
{
    for (size_t i = 0; i < p->n_places; i++)
        for (size_t k = 0; k < p->places[i].n_servers; k++)
            if (!isnan(p->places[i].servers[k].network_mbps))
                return true;
    return false;
}

static int nothing_fits(const struct cluster_problem *p,
                        const struct cluster_answer *a,
                        struct err *e)
{
    const struct cluster_choice *c = &a->best;
    const struct cluster_place *at = &p->places[c->place];
    const struct cluster_type *server = &at->servers[c->server], *worker = &at->workers[c->worker];
    char budget[32], server_price[32], worker_price[32];
    size_t n_unmeasured = 0;

    for (size_t i = 0; i < a->n_considered; i++)
        n_unmeasured += a->considered[i].limited_by == CLUSTER_UNMEASURED;
    if (n_unmeasured == a->n_considered && !knows_networks(p))
        return err_set(e, ERR_USAGE,
                       "the network of no server is known: write types: {%s: {network_mbps: 450}}",
                       server->name);
    if (n_unmeasured == a->n_considered)
        return err_set(e, ERR_USAGE,
                       "no type of worker has known rates: `tradewind cluster measure` finds them, "
                       "or write types: {%s: {mbps: 90, per_s: 1.4}}",
                       worker->name);
    if (p->budget_microusd == INT64_MAX || c->limited_by == CLUSTER_BY_NETWORK)
        return err_set(
            e, ERR_NOFIT,
            "no cluster: one %s alone sends %.4g Mbit/s, more than %.4g of the %.4g of %s",
            worker->name, worker->mbps, p->share, server->network_mbps, server->name);
    return err_set(
        e, ERR_NOFIT,
        "no cluster: a budget of %s per hour does not pay a server and one worker (%s at "
        "%s, %s at %s)",
        money_text(p->budget_microusd, budget), server->name,
        money_text(server->price_microusd, server_price), worker->name,
        money_text(worker->price_microusd, worker_price));
}

int cluster_recommend(const struct cluster_problem *p,
                      enum cluster_algorithm algorithm,
                      enum cluster_objective objective,
                      struct cluster_answer *out,
                      struct err *e)
{
    struct candidates all = {0};
    size_t n = 0;

    *out = (struct cluster_answer){0};
    for (size_t i = 0; i < p->n_places; i++)
        n += p->places[i].n_workers;
    out->considered = mem_zero(n, sizeof *out->considered);
    if (algorithm != CLUSTER_MODEL_OPT) {
        if (p->n_places > 1)
            return err_set(
                e, ERR_USAGE,
                "%s looks at one location: write location: CLOUD/REGION or give --location",
                cluster_algorithm_text(algorithm));
        follow_rule(p, algorithm, out);
        return out->best.workers ? 0 : nothing_fits(p, out, e);
    }
    for (size_t i = 0; i < p->n_places; i++)
        if (p->places[i].n_servers)
            consider_place(p, i, objective, &all, out);
    if (all.n)
        find_frontier(&all, out);
    free(all.items);
    if (out->n_frontier) {
        out->best = out->frontier[objective == CLUSTER_TIME ? out->n_frontier - 1 : 0];
        return 0;
    }
    if (!out->n_considered)
        return err_set(
            e, ERR_NOFIT,
            "no cluster: no location offers both a type for the server and one for workers");
    out->best = cheapest_pair(p, out);
    return nothing_fits(p, out, e);
}

void cluster_answer_clear(struct cluster_answer *a)
{
    free(a->considered);
    free(a->frontier);
    *a = (struct cluster_answer){0};
}
