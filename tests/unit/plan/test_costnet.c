/* Elimination against trying every assignment, on random networks. */
#include "plan/costnet.h"

#include "base/arena.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define VARS_MAX 6
#define STATES_MAX 4

struct small_net {
    uint32_t n_states[VARS_MAX];
    double unary_rows[VARS_MAX][STATES_MAX];
    double *unary[VARS_MAX];
    struct costnet_pair pairs[VARS_MAX * VARS_MAX];
    double tables[VARS_MAX * VARS_MAX][STATES_MAX * STATES_MAX];
    struct costnet net;
};

static void make_net(struct small_net *s, uint64_t *state)
{
    size_t n = 1 + random_below(state, VARS_MAX), pairs = 0;

    for (size_t i = 0; i < n; i++) {
        s->n_states[i] = 1 + random_below(state, STATES_MAX);
        s->unary[i] = random_below(state, 5) ? s->unary_rows[i] : NULL;
        for (size_t x = 0; x < STATES_MAX; x++)
            s->unary_rows[i][x] = random_below(state, 20);
        for (size_t k = 0; k < i; k++) {
            if (random_below(state, 2))
                continue;
            double *table = s->tables[pairs];
            for (size_t c = 0; c < STATES_MAX * STATES_MAX; c++)
                table[c] = random_below(state, 8) ? random_below(state, 20) : (double)INFINITY;
            s->pairs[pairs++] = (struct costnet_pair){
                .a = k, .b = i, .cost = random_below(state, 6) ? table : NULL};
        }
    }
    s->net = (struct costnet){.n_vars = n,
                              .n_states = s->n_states,
                              .unary = s->unary,
                              .pairs = s->pairs,
                              .n_pairs = pairs};
}

static double cost_of(const struct costnet *net, const uint32_t *states)
{
    double sum = 0;

    for (size_t i = 0; i < net->n_vars; i++)
        sum += net->unary[i] ? net->unary[i][states[i]] : 0;
    for (size_t i = 0; i < net->n_pairs; i++) {
        const struct costnet_pair *p = &net->pairs[i];
        if (p->cost)
            sum += p->cost[states[p->a] * net->n_states[p->b] + states[p->b]];
    }
    return sum;
}

/* Best cost over all assignments, and for every state of every variable. */
static double brute(const struct costnet *net, double marginal[VARS_MAX][STATES_MAX])
{
    uint32_t states[VARS_MAX] = {0};
    double best = (double)INFINITY;

    for (size_t i = 0; i < VARS_MAX; i++)
        for (size_t x = 0; x < STATES_MAX; x++)
            marginal[i][x] = (double)INFINITY;
    for (;;) {
        double cost = cost_of(net, states);
        best = fmin(best, cost);
        for (size_t i = 0; i < net->n_vars; i++)
            marginal[i][states[i]] = fmin(marginal[i][states[i]], cost);
        size_t i = 0;
        while (i < net->n_vars && ++states[i] == net->n_states[i])
            states[i++] = 0;
        if (i == net->n_vars)
            return best;
    }
}

struct outcome_counts {
    int wrong_best, wrong_marginal, wrong_decode, not_a_bound, split, impossible;
};

static void check_one(const struct small_net *s, size_t max_work, struct outcome_counts *c)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 24);
    const struct costnet *net = &s->net;
    double marginal[VARS_MAX][STATES_MAX], best = brute(net, marginal);
    size_t order[VARS_MAX];
    uint32_t states[VARS_MAX];
    struct costnet_tables t;

    costnet_order(net, order);
    struct costnet_schedule *schedule = costnet_schedule_new(net, order, max_work, arena);
    if (costnet_up(net, schedule, &t, arena) < 0)
        abort();
    c->split += !schedule->exact;
    c->impossible += isinf(best);
    c->not_a_bound += t.best > best;
    c->wrong_best += schedule->exact && t.best != best;
    if (isinf(t.best) || costnet_down(&t) < 0)
        return;
    for (size_t i = 0; i < net->n_vars; i++)
        for (size_t x = 0; x < net->n_states[i]; x++) {
            c->not_a_bound += t.marginal[i][x] > marginal[i][x];
            c->wrong_marginal += schedule->exact && t.marginal[i][x] != marginal[i][x];
        }
    if (schedule->exact)
        c->wrong_decode += !costnet_decode(&t, states) || cost_of(net, states) != best;
}

int main(void)
{
    static struct small_net s;
    struct outcome_counts exact = {0}, split = {0};
    uint64_t state = 7;

    for (int i = 0; i < 3000; i++) {
        make_net(&s, &state);
        check_one(&s, 1 << 20, &exact);
        check_one(&s, STATES_MAX * STATES_MAX, &split);
    }
    CHECK(exact.split == 0, "a large limit never splits a variable");
    CHECK(exact.wrong_best == 0, "elimination finds the best of all assignments");
    CHECK(exact.wrong_marginal == 0, "and the best for every state");
    CHECK(exact.wrong_decode == 0, "and an assignment that reaches it");
    CHECK(exact.impossible > 10, "some networks had no assignment at all (%d)", exact.impossible);
    CHECK(split.split > 300, "a small limit splits (%d of 3000)", split.split);
    CHECK(split.not_a_bound == 0 && exact.not_a_bound == 0, "split or not, results are bounds");
    return TAP_DONE();
}
