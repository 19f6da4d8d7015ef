/* A weighing: the least of cost + the sum over stages of weight x duration, over all plans of a
 * node. It is a question about sites alone, with terms on single stages and on pairs of stages,
 * which costnet.c answers by elimination. To be pairwise, three things are bounded from below:
 *
 * - the level of a stage is at least the least one at its site plus a mixture, over its inputs, of
 *   what each exceeds that by; the excess is billed at the lowest price left at the site;
 * - the price of a dataset with several readers is shared among those that may be at a location;
 *   one that can be nowhere else pays all;
 * - where tables would be too large, costnet.c splits a stage into copies that may disagree.
 *
 * All three become exact as sites and options get fixed. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <stdlib.h>

#define LAYOUT_CAP_BYTES ((size_t)128 << 20)
#define PASS_CAP_BYTES ((size_t)128 << 20)
/* Rounding to whole micro-dollars and nanoseconds may take this much from a stage. */
#define ROUNDING 1.0

struct dual_weigher {
    const struct dual *d;
    struct arena *arena; /* of the layout */
    struct arena *pass_arena;
    double **unary;  /* per stage and live site */
    double **least;  /* per stage and live site: value of the best option by itself */
    uint32_t **best; /* per stage and live site: that option */
    double **excess; /* per input: [live site of from][live site of to], what it exceeds the least
                      * level by, in seconds */
    struct costnet_pair *pairs; /* per input */
    struct costnet net;
    struct costnet_schedule *schedule;
    struct costnet_tables tables;
    double cost;
    double *time;
};

/* ---- layout ---- */

static int lay_out_input(struct dual_weigher *w, size_t i)
{
    const struct dual *d = w->d;
    const struct dual_input *in = &d->inputs[i];
    size_t from = in->from, to = in->to, n_to = d->n_live[to];

    w->pairs[i] = (struct costnet_pair){
        .a = from,
        .b = to,
        .cost = arena_alloc(w->arena, d->n_live[from] * n_to, sizeof(double)),
    };
    w->excess[i] = arena_alloc(w->arena, d->n_live[from] * n_to, sizeof(double));
    if (!w->pairs[i].cost || !w->excess[i])
        return -1;
    for (uint32_t a = 0; a < d->n_live[from]; a++)
        for (uint32_t b = 0; b < n_to; b++) {
            size_t site = d->live[to][b];
            double seconds = in->seconds[d->live[from][a] * d->stages[to].n_sites + site];
            w->excess[i][a * n_to + b] = fmax(0, seconds - d->least_s[to][site]);
        }
    return 0;
}

static int lay_out(struct dual_weigher *w, size_t max_work)
{
    const struct dual *d = w->d;
    AUTO_MEM size_t *order = mem_zero(d->n, sizeof *order);

    w->unary = arena_alloc(w->arena, d->n, sizeof *w->unary);
    w->least = arena_alloc(w->arena, d->n, sizeof *w->least);
    w->best = arena_alloc(w->arena, d->n, sizeof *w->best);
    w->time = arena_alloc(w->arena, d->n, sizeof *w->time);
    w->pairs = arena_alloc(w->arena, d->n_inputs, sizeof *w->pairs);
    w->excess = arena_alloc(w->arena, d->n_inputs, sizeof *w->excess);
    if (!w->unary || !w->least || !w->best || !w->time || !w->pairs || !w->excess)
        return -1;
    for (size_t s = 0; s < d->n; s++) {
        w->unary[s] = arena_alloc(w->arena, d->n_live[s], sizeof **w->unary);
        w->least[s] = arena_alloc(w->arena, d->n_live[s], sizeof **w->least);
        w->best[s] = arena_alloc(w->arena, d->n_live[s], sizeof **w->best);
        if (!w->unary[s] || !w->least[s] || !w->best[s])
            return -1;
    }
    for (size_t i = 0; i < d->n_inputs; i++)
        if (lay_out_input(w, i) < 0)
            return -1;
    w->net = (struct costnet){.n_vars = d->n,
                              .n_states = d->n_live,
                              .unary = w->unary,
                              .pairs = w->pairs,
                              .n_pairs = d->n_inputs};
    costnet_order(&w->net, order);
    w->schedule = costnet_schedule_new(&w->net, order, max_work, w->arena);
    return w->schedule ? 0 : -1;
}

struct dual_weigher *dual_weigher_new(const struct dual *d, size_t max_work)
{
    AUTO(dual_weigher) struct dual_weigher *w = mem_zero(1, sizeof *w);

    w->d = d;
    w->arena = arena_new(LAYOUT_CAP_BYTES);
    return lay_out(w, max_work) < 0 ? NULL : TAKE(w);
}

void dual_weigher_free(struct dual_weigher *w)
{
    if (!w)
        return;
    arena_free(w->arena);
    arena_free(w->pass_arena);
    free(w);
}

/* ---- prices ---- */

double dual_option_value(
    const struct dual *d, size_t stage, size_t option, double cost, double time)
{
    const struct dual_outcome *o = &d->outcomes[stage][option];

    return cost * o->microusd + time * o->ns[d->aim.layer];
}

/* The best option of every site by itself. */
static void price_options(struct dual_weigher *w, const struct dual_node *node, size_t s)
{
    const struct dual *d = w->d;
    const struct dual_stage *stage = &d->stages[s];

    for (uint32_t k = 0; k < d->n_live[s]; k++) {
        size_t b = d->live[s][k];
        w->least[s][k] = (double)INFINITY;
        for (size_t o = stage->first[b]; o < stage->first[b + 1]; o++) {
            if (!DUAL_HAS(node, stage, o))
                continue;
            double value = dual_option_value(d, s, o, w->cost, w->time[s]);
            if (value < w->least[s][k]) {
                w->least[s][k] = value;
                w->best[s][k] = (uint32_t)o;
            }
        }
        w->unary[s][k] = w->least[s][k];
    }
}

/* The part that a reader at a live site pays of the dataset's price there. */
static double share_of(const struct dual *d, size_t reading, size_t site)
{
    const struct dual_reading *r = &d->readings[reading];
    const struct dual_shared *shared = &d->shared[r->shared];
    double sum = 0;

    for (size_t k = 0; k < shared->n_readings; k++) {
        const struct dual_reading *other = &d->readings[shared->readings[k]];
        uint32_t at = shared->site_at[k][r->places[site]];
        if (at == UINT32_MAX || !(d->least_run_s[other->to][at] < (double)INFINITY))
            continue;
        if (d->n_live[other->to] == 1) /* it is there in every plan: the first such one pays */
            return shared->readings[k] == reading ? 1 : 0;
        sum += other->share[at];
    }
    return r->share[site] / sum;
}

double dual_input_weight(const struct dual *d, size_t input, uint32_t site)
{
    const struct dual_stage *stage = &d->stages[d->inputs[input].to];
    double sum = 0;

    for (size_t k = 0; k < stage->n_inputs; k++)
        sum += d->inputs[stage->inputs[k]].weight[site];
    return d->inputs[input].weight[site] / sum;
}

/* What one more second of input costs at least. */
static double cost_per_s(const struct dual *d, size_t s, size_t b)
{
    double billed_s =
        d->stages[s].stage->spec->estimate.setup_s + d->least_s[s][b] + d->least_run_s[s][b];

    return billed_s >= 60 ? d->least_price[s][b] : 0;
}

static void price_fixed(struct dual_weigher *w, const struct dual_reading *r, size_t reading)
{
    const struct dual *d = w->d;

    for (uint32_t k = 0; k < d->n_live[r->to]; k++) {
        size_t b = d->live[r->to][k];
        w->unary[r->to][k] += w->cost * share_of(d, reading, b) * r->microusd[b];
    }
}

static void price_input(struct dual_weigher *w, size_t i)
{
    const struct dual *d = w->d;
    const struct dual_input *in = &d->inputs[i];
    size_t from = in->from, to = in->to, n_to = d->n_live[to], width = d->stages[to].n_sites;

    for (uint32_t k = 0; k < n_to; k++) {
        uint32_t b = d->live[to][k];
        double weight = dual_input_weight(d, i, b);
        double per_s = w->cost * cost_per_s(d, to, b), time = w->time[to] * NS_PER_S;
        for (uint32_t j = 0; j < d->n_live[from]; j++) {
            double excess_s = weight * w->excess[i][j * n_to + k];
            size_t at = d->live[from][j] * width + b;
            double least = fmax(0, per_s * excess_s - w->cost * ROUNDING) +
                           fmax(0, time * excess_s - w->time[to] * ROUNDING);
            /* 0 x INFINITY is no price: an impossible move stays impossible. */
            w->pairs[i].cost[j * n_to + k] =
                isinf(in->microusd[at]) ? in->microusd[at] : least + w->cost * in->microusd[at];
        }
        for (size_t n = 0; n < in->n_readings; n++) {
            const struct dual_reading *r = &d->readings[in->readings[n]];
            double share = w->cost * share_of(d, in->readings[n], b);
            for (uint32_t j = 0; j < d->n_live[from]; j++) {
                double microusd = r->microusd[d->live[from][j] * width + b];
                w->pairs[i].cost[j * n_to + k] += isinf(microusd) ? microusd : share * microusd;
            }
        }
    }
}

double dual_weigh(struct dual_weigher *w,
                  const struct dual_node *node,
                  double cost,
                  const double *time,
                  size_t *options)
{
    const struct dual *d = w->d;
    AUTO_MEM uint32_t *states = mem_zero(d->n, sizeof *states);

    w->cost = cost;
    for (size_t s = 0; s < d->n; s++) {
        w->time[s] = time[s];
        price_options(w, node, s);
    }
    for (size_t i = 0; i < d->n_inputs; i++)
        price_input(w, i);
    for (size_t i = 0; i < d->n_readings; i++)
        if (d->readings[i].from == NONE)
            price_fixed(w, &d->readings[i], i);
    arena_free(w->pass_arena);
    w->pass_arena = arena_new(PASS_CAP_BYTES);
    if (costnet_up(&w->net, w->schedule, &w->tables, w->pass_arena) < 0)
        return (double)NAN;
    if (!(w->tables.best < (double)INFINITY) || !costnet_decode(&w->tables, states))
        return w->tables.best < (double)INFINITY ? w->tables.best : (double)INFINITY;
    for (size_t s = 0; s < d->n; s++)
        options[s] = w->best[s][states[s]];
    return w->tables.best;
}

size_t dual_weigh_drop(struct dual_weigher *w, struct dual_node *node, double wanted)
{
    const struct dual *d = w->d;
    size_t left = 0;
    bool known = costnet_down(&w->tables) == 0;

    for (size_t s = 0; s < d->n; s++) {
        const struct dual_stage *stage = &d->stages[s];
        for (uint32_t k = 0; k < d->n_live[s]; k++) {
            size_t b = d->live[s][k];
            double others = known ? w->tables.marginal[s][k] - w->least[s][k] : -(double)INFINITY;
            for (size_t o = stage->first[b]; o < stage->first[b + 1]; o++) {
                if (!DUAL_HAS(node, stage, o))
                    continue;
                if (others + dual_option_value(d, s, o, w->cost, w->time[s]) >= wanted)
                    dual_drop(node, stage, o);
                else
                    left++;
            }
        }
    }
    return left;
}
