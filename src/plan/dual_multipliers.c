/* Multipliers: how much each path of the DAG is worth per nanosecond. Subgradient steps raise those
 * of paths that take too long in the plans that weighings find, towards the best bound of a node;
 * marginals of the best weighing then rule options out. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_ROOT 10
#define ROUNDS 3
/* Passes of further rounds. */
#define PASSES_ROOT 40
#define PASSES 6
/* Steps shrink after so many without a better bound. */
#define PATIENCE_ROOT 10
#define PATIENCE 4
#define SHRINK 0.6
/* Another round when this share of the options or less is left. */
#define AGAIN_ROOT 0.9
#define AGAIN 0.8
/* Mixtures and shares follow the last solutions by this much. */
#define FOLLOW 0.05
/* Cells x states of one elimination: the first round at the root has all sites. */
#define WORK_FIRST ((size_t)300000)
#define WORK ((size_t)3000000)
/* Every n-th solution is improved by single changes. */
#define POLISH_ROOT 8
#define POLISH_NODES 16
#define WEIGHT_LEAST 1e-9
/* Of all paths, looked at for those to begin with. */
#define PATH_VISITS 4096

/* ---- paths ---- */

static bool is_part(const bool *part, const bool *whole, size_t n)
{
    for (size_t s = 0; s < n; s++)
        if (part[s] && !whole[s])
            return false;
    return true;
}

/* Index of the path; added when it is new and there is room. DUAL_PATHS_MAX: there is none. */
static size_t path_index(struct dual *d, const bool *stages)
{
    for (size_t i = 0; i < d->n_paths; i++)
        if (is_part(stages, d->paths + i * d->n, d->n))
            return i;
    if (d->n_paths == DUAL_PATHS_MAX)
        return DUAL_PATHS_MAX;
    memcpy(d->paths + d->n_paths * d->n, stages, d->n * sizeof *stages);
    return d->n_paths++;
}

/* The stages of a longest path by these durations. */
static void longest_path(const struct dual *d, const double *duration, bool *stages)
{
    AUTO_MEM double *end = mem_zero(d->n, sizeof *end);
    AUTO_MEM size_t *before = mem_zero(d->n, sizeof *before);
    size_t last = d->order[0];

    for (size_t i = 0; i < d->n; i++) {
        size_t s = d->order[i];
        const struct spec_stage *spec = d->stages[s].stage->spec;
        before[s] = NONE;
        for (size_t k = 0; k < spec->n_needs; k++)
            if (before[s] == NONE || end[spec->needs[k]] > end[before[s]])
                before[s] = spec->needs[k];
        end[s] = duration[s] + (before[s] == NONE ? 0 : end[before[s]]);
        last = end[s] > end[last] ? s : last;
    }
    memset(stages, 0, d->n * sizeof *stages);
    for (size_t s = last; s != NONE; s = before[s])
        stages[s] = true;
}

/* Paths that end with a stage, backwards, as long as there is room for half of DUAL_PATHS_MAX. */
static void paths_before(struct dual *d, size_t s, bool *on, size_t *visits)
{
    const struct spec_stage *spec = d->stages[s].stage->spec;

    on[s] = true;
    for (size_t k = 0; k<spec->n_needs && * visits> 0; k++)
        paths_before(d, spec->needs[k], on, visits);
    if (!spec->n_needs && *visits > 0) {
        path_index(d, on);
        *visits = d->n_paths < DUAL_PATHS_MAX / 2 ? *visits - 1 : 0;
    }
    on[s] = false;
}

void dual_find_paths(struct dual *d, const struct dual_node *root)
{
    AUTO_MEM bool *on = mem_zero(d->n, sizeof *on);
    AUTO_MEM bool *is_needed = mem_zero(d->n, sizeof *is_needed);
    AUTO_MEM double *duration = mem_zero(d->n, sizeof *duration);
    size_t visits = PATH_VISITS;

    for (size_t s = 0; s < d->n; s++) {
        const struct spec_stage *spec = d->stages[s].stage->spec;
        for (size_t k = 0; k < spec->n_needs; k++)
            is_needed[spec->needs[k]] = true;
        duration[s] = (double)INFINITY;
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            if (DUAL_HAS(root, &d->stages[s], o))
                duration[s] = fmin(duration[s], d->outcomes[s][o].ns[d->aim.layer]);
    }
    longest_path(d, duration, on);
    path_index(d, on);
    memset(on, 0, d->n * sizeof *on);
    for (size_t s = 0; s < d->n; s++)
        if (!is_needed[s])
            paths_before(d, s, on, &visits);
}

/* ---- the tuning of one node ---- */

struct tuning {
    struct dual *d;
    struct dual_node *node;
    struct dual_tuning *t;
    struct dual_weigher *weigher;
    double *mu, *best_mu; /* DUAL_PATHS_MAX */
    double *time;         /* per stage: the multipliers of its paths */
    double *best_time;
    double *duration; /* per stage: as the last weighing counted it */
    size_t *options;
    double best_gap, best_lambda;
    double cost; /* 0 where only time counts */
};

/* Weighted sums of time alone have no unit of cost. */
static bool only_time_counts(const struct dual *d)
{
    return d->aim.objective == SPEC_TIME && isinf(d->aim.budget_microusd);
}

/* What a plan within budget and time can weigh at most. */
static double wanted_by_limits(const struct dual *d, const struct dual_node *node, double lambda)
{
    return d->aim.budget_microusd + 0.5 + (lambda > 0 ? lambda * node->most_ns : 0);
}

double dual_wanted(const struct dual *d, const struct dual_node *node, double lambda)
{
    double enough = dual_enough(d), most_ns = node->most_ns, at_ns;
    if (d->frontier)
        return dual_frontier_wanted(d, node, lambda, &at_ns);
    double limits = only_time_counts(d) ? most_ns + 0.5 : wanted_by_limits(d, node, lambda);

    switch (d->aim.objective) {
    case SPEC_COST:
        return fmin(limits, enough + (lambda > 0 ? lambda * most_ns : 0));
    case SPEC_TIME:
        return only_time_counts(d) ? fmin(limits, enough)
                                   : fmin(limits, d->aim.budget_microusd + 0.5 + lambda * enough);
    case SPEC_VALUE:
        return fmin(limits, fmax(enough / node->least_ns + lambda * node->least_ns,
                                 enough / most_ns + lambda * most_ns));
    case SPEC_WEIGHTED:
        return fmin(limits, enough + (lambda > d->aim.rate ? (lambda - d->aim.rate) * most_ns : 0));
    }
    return 0;
}

/* The bound on the objective that a weighing proves. */
static double proves(const struct dual *d, const struct dual_node *node, double phi, double lambda)
{
    if (d->frontier)
        return -(double)INFINITY;
    switch (d->aim.objective) {
    case SPEC_COST:
        return phi - lambda * node->most_ns;
    case SPEC_TIME:
        if (isinf(d->aim.budget_microusd))
            return phi;
        return lambda > 0 ? (phi - d->aim.budget_microusd) / lambda : 0;
    case SPEC_VALUE:
        return fmin(node->least_ns * (phi - lambda * node->least_ns),
                    node->most_ns * (phi - lambda * node->most_ns));
    case SPEC_WEIGHTED:
        return phi - (lambda > d->aim.rate ? (lambda - d->aim.rate) * node->most_ns : 0);
    }
    return 0;
}

/* The multipliers of some goals add up to a given sum; otherwise NAN. */
static double fixed_sum(const struct tuning *t)
{
    const struct dual *d = t->d;

    if (d->frontier)
        return (double)NAN;
    if (only_time_counts(d))
        return 1;
    if (d->aim.objective == SPEC_VALUE && d->has_best)
        return dual_enough(d) / (t->node->least_ns * t->node->most_ns);
    if (d->aim.objective == SPEC_WEIGHTED && isinf(d->aim.limit_ns[LAYER_MID]))
        return d->aim.rate;
    return (double)NAN;
}

static double sum_of(const double *mu, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += mu[i];
    return sum;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x > y ? -1 : x < y;
}

/* The nearest multipliers that are not negative and add up to `sum`. */
static void to_simplex(double *mu, size_t n, double sum)
{
    double sorted[DUAL_PATHS_MAX], total = 0, less = 0;

    memcpy(sorted, mu, n * sizeof *mu);
    qsort(sorted, n, sizeof *sorted, descending);
    for (size_t i = 0; i < n; i++) {
        total += sorted[i];
        if (sorted[i] > (total - sum) / (double)(i + 1))
            less = (total - sum) / (double)(i + 1);
    }
    for (size_t i = 0; i < n; i++)
        mu[i] = fmax(0, mu[i] - less);
}

static void spread_over_stages(struct tuning *t)
{
    const struct dual *d = t->d;

    memset(t->time, 0, d->n * sizeof *t->time);
    for (size_t i = 0; i < d->n_paths; i++)
        for (size_t s = 0; s < d->n && t->mu[i] > 0; s++)
            if (d->paths[i * d->n + s])
                t->time[s] += t->mu[i];
}

/* ---- following a solution ---- */

static uint32_t site_of(const struct tuning *t, size_t s)
{
    return t->d->stages[s].options[t->options[s]].site;
}

static double input_seconds(const struct tuning *t, const struct dual_input *in)
{
    return in->seconds[site_of(t, in->from) * t->d->stages[in->to].n_sites + site_of(t, in->to)];
}

/* The durations that the weighing counted; mixtures move towards the slowest input. */
static void follow_inputs(struct tuning *t, size_t s, double follow)
{
    const struct dual *d = t->d;
    const struct dual_stage *stage = &d->stages[s];
    uint32_t b = site_of(t, s);
    double slowest_s = d->least_s[s][b];
    size_t slowest = NONE;

    t->duration[s] = d->outcomes[s][t->options[s]].ns[d->aim.layer];
    for (size_t k = 0; k < stage->n_inputs; k++) {
        const struct dual_input *in = &d->inputs[stage->inputs[k]];
        double seconds = input_seconds(t, in);
        if (seconds > d->least_s[s][b])
            t->duration[s] +=
                dual_input_weight(d, stage->inputs[k], b) * (seconds - d->least_s[s][b]) * NS_PER_S;
        if (seconds > slowest_s) {
            slowest_s = seconds;
            slowest = k;
        }
    }
    double sum = 0;
    for (size_t k = 0; k < stage->n_inputs; k++)
        sum += d->inputs[stage->inputs[k]].weight[b];
    for (size_t k = 0; k < stage->n_inputs && slowest != NONE; k++) {
        double *weight = &d->inputs[stage->inputs[k]].weight[b];
        *weight = (1 - follow) * *weight / sum + follow * (k == slowest) + WEIGHT_LEAST;
    }
}

/* Shares move towards those who read the dataset where the solution has it. */
static void follow_shared(const struct tuning *t, const struct dual_shared *shared, double follow)
{
    const struct dual *d = t->d;

    for (size_t i = 0; i < shared->n_readings; i++) {
        const struct dual_reading *r = &d->readings[shared->readings[i]];
        uint32_t place = r->places[site_of(t, r->to)];
        size_t here = 0;
        bool first = true;
        for (size_t k = 0; k < shared->n_readings; k++) {
            const struct dual_reading *other = &d->readings[shared->readings[k]];
            if (other->places[site_of(t, other->to)] != place)
                continue;
            here++;
            first = first && k >= i;
        }
        for (size_t k = 0; k < shared->n_readings && first; k++) {
            const struct dual_reading *other = &d->readings[shared->readings[k]];
            uint32_t at = shared->site_at[k][place];
            if (at == UINT32_MAX)
                continue;
            double part = at == site_of(t, other->to) ? 1.0 / (double)here : 0;
            other->share[at] = (1 - follow) * other->share[at] + follow * part + WEIGHT_LEAST;
        }
    }
}

static void follow_solution(struct tuning *t, double follow)
{
    const struct dual *d = t->d;

    for (size_t s = 0; s < d->n; s++) {
        double *chosen = t->t->chosen[s];
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            chosen[o] *= 0.9;
        chosen[t->options[s]] += 1;
        follow_inputs(t, s, follow);
    }
    for (size_t i = 0; i < d->n_shared; i++)
        follow_shared(t, &d->shared[i], follow);
}

/* ---- steps ---- */

/* What lambda times the time of a plan is compared with. */
static double time_wanted(const struct tuning *t)
{
    const struct dual *d = t->d;

    double at_ns = t->node->most_ns;

    if (d->frontier)
        dual_frontier_wanted(d, t->node, sum_of(t->mu, d->n_paths), &at_ns);
    else if (d->aim.objective == SPEC_TIME)
        at_ns = fmin(dual_enough(d), at_ns);
    return at_ns;
}

/* A step along the subgradient, as long as the gap asks for (Polyak). */
static void step(struct tuning *t, double gap, double theta)
{
    struct dual *d = t->d;
    double length[DUAL_PATHS_MAX], mean = 0, squares = 0, sum = fixed_sum(t);
    AUTO_MEM bool *longest = mem_zero(d->n, sizeof *longest);
    size_t active = 0;

    longest_path(d, t->duration, longest);
    path_index(d, longest);
    for (size_t i = 0; i < d->n_paths; i++) {
        length[i] = 0;
        for (size_t s = 0; s < d->n; s++)
            if (d->paths[i * d->n + s])
                length[i] += t->duration[s];
        if (t->mu[i] > 0) {
            mean += length[i];
            active++;
        }
    }
    double against = isnan(sum) ? time_wanted(t) : active ? mean / (double)active : 0;
    if (isinf(against)) /* without a limit no time is worth anything */
        return;
    for (size_t i = 0; i < d->n_paths; i++) {
        length[i] -= against;
        if (t->mu[i] > 0 || length[i] > 0)
            squares += length[i] * length[i];
        else
            length[i] = 0;
    }
    for (size_t i = 0; i < d->n_paths && squares > 0; i++)
        t->mu[i] = fmax(0, t->mu[i] + theta * gap / squares * length[i]);
    if (!isnan(sum))
        to_simplex(t->mu, d->n_paths, sum);
    else if (!d->frontier && d->aim.objective == SPEC_WEIGHTED &&
             sum_of(t->mu, d->n_paths) < d->aim.rate)
        to_simplex(t->mu, d->n_paths, d->aim.rate);
}

static void scale_to(double *mu, size_t n, double sum)
{
    double now = sum_of(mu, n);

    for (size_t i = 0; i < n; i++)
        mu[i] = now > 0 ? mu[i] * sum / now : sum / (double)n;
}

enum outcome_of { RULED_OUT, IMPROVED, STALLED, STOPPED };

/* One weighing; the solution may be a better plan. */
static enum outcome_of pass(struct tuning *t, size_t nth, double *gap_out)
{
    struct dual *d = t->d;
    struct dual_score score;

    if (!isnan(fixed_sum(t)))
        scale_to(t->mu, d->n_paths, fixed_sum(t));
    spread_over_stages(t);
    double lambda = sum_of(t->mu, d->n_paths);
    if (d->frontier) /* what single changes make small */
        d->aim.rate = lambda;
    double phi = dual_weigh(t->weigher, t->node, t->cost, t->time, t->options);
    if (isnan(phi))
        return STOPPED;
    if (isinf(phi))
        return RULED_OUT;
    if (dual_score(d, t->options, &score))
        dual_consider(d, t->options, &score);
    if (t->t->is_root ? nth % POLISH_ROOT == 0 : nth == 0 && dual_random(d, POLISH_NODES) == 0)
        dual_polish(d, t->options, t->node);
    t->node->bound = fmax(t->node->bound, proves(d, t->node, phi, lambda));
    *gap_out = dual_wanted(d, t->node, lambda) - phi;
    if (*gap_out <= 0)
        return RULED_OUT;
    if (!(*gap_out < t->best_gap))
        return STALLED;
    t->best_gap = *gap_out;
    t->best_lambda = lambda;
    memcpy(t->best_mu, t->mu, d->n_paths * sizeof *t->mu);
    memcpy(t->best_time, t->time, d->n * sizeof *t->time);
    return IMPROVED;
}

static enum outcome_of passes(struct tuning *t, size_t n, size_t round)
{
    struct dual *d = t->d;
    double theta = 1, gap = 0;
    size_t stalled = 0;

    t->best_gap = (double)INFINITY;
    memcpy(t->mu, t->best_mu, DUAL_PATHS_MAX * sizeof *t->mu);
    for (size_t i = 0; i < n; i++) {
        enum outcome_of outcome = pass(t, i, &gap);
        if (outcome == RULED_OUT || outcome == STOPPED)
            return outcome;
        stalled = outcome == IMPROVED ? 0 : stalled + 1;
        double follow = t->t->is_root ? 2.0 / (double)(i + PASSES_ROOT * round + 4) : FOLLOW;
        follow_solution(t, follow);
        if (stalled >= (t->t->is_root ? PATIENCE_ROOT : PATIENCE)) {
            theta *= SHRINK;
            stalled = 0;
            memcpy(t->mu, t->best_mu, DUAL_PATHS_MAX * sizeof *t->mu);
        }
        if (cutoff_is_past(d->cutoff))
            return STOPPED;
        if (isinf(gap)) /* no plan is known, and nothing to step towards */
            break;
        step(t, gap, theta);
    }
    return IMPROVED;
}

/* For dollars x hours and weighted sums: the times between which a better plan of the node lies. */
static bool narrow_times(struct tuning *t)
{
    struct dual *d = t->d;
    struct dual_node *node = t->node;
    struct dual_score score;

    memset(t->time, 0, d->n * sizeof *t->time);
    double least = dual_weigh(t->weigher, node, 1, t->time, t->options);
    if (isnan(least))
        return true;
    if (isinf(least))
        return false;
    if (dual_score(d, t->options, &score))
        dual_consider(d, t->options, &score);
    node->least_ns = fmax(node->least_ns, fmax(d->least_ns, 1));
    if (d->aim.objective == SPEC_VALUE) {
        node->most_ns = fmin(node->most_ns, dual_enough(d) / fmax(least, 1));
        node->bound = fmax(node->bound, node->least_ns * least);
    } else {
        node->most_ns = fmin(node->most_ns, (dual_enough(d) - least) / d->aim.rate);
        node->bound = fmax(node->bound, least + d->aim.rate * node->least_ns);
    }
    return node->least_ns <= node->most_ns;
}

static size_t count_options(const struct dual *d, const struct dual_node *node)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_words; i++)
        n += (size_t)__builtin_popcountll(node->options[i]);
    return n;
}

/* Drops what the best multipliers rule out; whether another round is worth it. */
static bool thin(struct tuning *t, size_t round)
{
    struct dual *d = t->d;
    size_t before = count_options(d, t->node);

    if (isinf(t->best_gap))
        return false;
    double phi = dual_weigh(t->weigher, t->node, t->cost, t->best_time, t->options);
    if (isnan(phi) || isinf(phi))
        return false;
    if (d->frontier)
        dual_frontier_narrow(d, t->node, phi, t->best_lambda);
    size_t after = dual_weigh_drop(t->weigher, t->node, dual_wanted(d, t->node, t->best_lambda));
    double share = (double)after / (double)before;
    return share <= (t->t->is_root ? AGAIN_ROOT : AGAIN) || (t->t->is_root && round == 0);
}

static bool tune(struct tuning *t)
{
    struct dual *d = t->d;
    bool is_root = t->t->is_root;
    size_t n = t->t->passes;

    for (size_t round = 0; round < (is_root ? ROUNDS_ROOT : ROUNDS); round++) {
        if (!dual_windows(d, t->node))
            return false;
        dual_weigher_free(t->weigher);
        t->weigher = dual_weigher_new(d, is_root && round == 0 ? WORK_FIRST : WORK);
        if (!t->weigher)
            return true;
        for (size_t s = 0; s < d->n; s++)
            memset(t->t->chosen[s], 0, d->stages[s].n_options * sizeof **t->t->chosen);
        bool both_count =
            !d->frontier && (d->aim.objective == SPEC_VALUE || d->aim.objective == SPEC_WEIGHTED);
        if (both_count && !narrow_times(t))
            return false;
        enum outcome_of outcome = passes(t, n, round);
        if (outcome == RULED_OUT)
            return false;
        if (outcome == STOPPED || !thin(t, round) || cutoff_is_past(d->cutoff))
            break;
        n = is_root ? PASSES_ROOT : PASSES;
    }
    return dual_windows(d, t->node);
}

bool dual_bound(struct dual *d, struct dual_node *node, struct dual_tuning *tuning)
{
    AUTO_MEM double *mu = mem_zero(2 * DUAL_PATHS_MAX, sizeof *mu);
    AUTO_MEM double *per_stage = mem_zero(3 * d->n, sizeof *per_stage);
    AUTO_MEM size_t *options = mem_zero(d->n, sizeof *options);
    struct tuning t = {.d = d,
                       .node = node,
                       .t = tuning,
                       .mu = mu,
                       .best_mu = mu + DUAL_PATHS_MAX,
                       .time = per_stage,
                       .best_time = per_stage + d->n,
                       .duration = per_stage + 2 * d->n,
                       .options = options,
                       .cost = only_time_counts(d) ? 0 : 1};

    for (size_t i = 0; i < node->n_paths; i++)
        t.best_mu[i] = (double)node->multipliers[i];
    bool left = tune(&t);
    node->n_paths = d->n_paths;
    for (size_t i = 0; i < d->n_paths; i++)
        node->multipliers[i] = (float)t.best_mu[i];
    dual_weigher_free(t.weigher);
    return left;
}
