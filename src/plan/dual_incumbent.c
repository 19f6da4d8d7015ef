/* Good plans: annealing over all options at the root, and single changes of the plans that
 * weighings find. What is found rules out the rest, so the first plans decide how long the proof
 * takes. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <string.h>

/* Stages times steps: large pipelines get fewer. */
#define STEPS_STAGES 2000000
/* Steps per option: small ones need fewer. */
#define STEPS_OPTION 50
/* Temperature at the beginning, as a share of the best value. */
#define HOT 0.05
#define COLD 1e-6
/* Steps between two looks at the temperature and the clock. */
#define COOL_EVERY 256
/* While no plan keeps the limits, the steps after which single changes are tried grow by this. */
#define POLISH_LATER 4
/* Plans that one polishing looks at. */
#define POLISH_PLANS 20000

/* What annealing makes small: the objective, and a penalty for limits that a plan misses. */
static double energy(const struct dual *d, const struct dual_score *score)
{
    double microusd = (double)score->microusd, ns = (double)score->ns[LAYER_MID], over = 0;

    over = fmax(over, microusd / d->aim.budget_microusd - 1);
    for (int l = 0; l < LAYERS; l++)
        over = fmax(over, (double)score->ns[l] / d->aim.limit_ns[l] - 1);
    double value = dual_value(d, microusd, ns) + 1;
    if (d->aim.objective == SPEC_TIME)
        value += microusd * 1e-6; /* between equals the cheaper */
    return over > 0 ? value + value * (0.05 + 20 * over) : value;
}

struct annealing {
    struct dual *d;
    size_t *at, *next;
    double energy, best;
};

/* An option of the stage at a location; its own where it has none there. */
static size_t option_at(const struct annealing *a, size_t s, size_t place)
{
    const struct dual_stage *stage = &a->d->stages[s];
    size_t low = 0, high = stage->n_sites;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (stage->sites[mid]->place < place)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == stage->n_sites || stage->sites[low]->place != place)
        return a->next[s];
    return stage->first[low] + dual_random(a->d, stage->first[low + 1] - stage->first[low]);
}

static size_t place_of(const struct annealing *a, size_t s, size_t option)
{
    const struct dual_stage *stage = &a->d->stages[s];

    return stage->sites[stage->options[option].site]->place;
}

static bool are_neighbours(const struct dual *d, size_t a, size_t b)
{
    const struct spec_stage *x = d->stages[a].stage->spec, *y = d->stages[b].stage->spec;

    for (size_t k = 0; k < x->n_needs; k++)
        if (x->needs[k] == b)
            return true;
    for (size_t k = 0; k < y->n_needs; k++)
        if (y->needs[k] == a)
            return true;
    return false;
}

/* A stage with its neighbours, or many stages, to one location. */
static void move_together(struct annealing *a, size_t s)
{
    struct dual *d = a->d;
    bool wide = dual_random(d, 4) == 0;
    size_t from = dual_random(d, d->n);
    size_t option = dual_random(d, 4) ? a->at[from] : dual_random(d, d->stages[from].n_options);
    size_t place = place_of(a, from, option);

    for (size_t k = 0; k < d->n; k++)
        if ((wide || k == s || are_neighbours(d, s, k)) && dual_random(d, 10) < 7)
            a->next[k] = option_at(a, k, place);
}

static void change(struct annealing *a)
{
    struct dual *d = a->d;
    size_t s = dual_random(d, d->n), kind = dual_random(d, 100);

    memcpy(a->next, a->at, d->n * sizeof *a->next);
    if (kind < 40)
        a->next[s] = dual_random(d, d->stages[s].n_options);
    else if (kind < 75)
        a->next[s] = option_at(a, s, place_of(a, s, a->at[s]));
    else
        move_together(a, s);
}

/* False: the clock ended it. */
static bool anneal_steps(struct annealing *a, size_t steps)
{
    struct dual *d = a->d;
    double temperature = HOT;
    size_t polish_at = COOL_EVERY;
    struct dual_score score;

    for (size_t i = 0; i < steps; i++) {
        if (i == polish_at) {
            polish_at *= POLISH_LATER;
            if (!d->found)
                dual_polish(d, a->at, NULL);
        }
        if (i % COOL_EVERY == 0) {
            double left = 1 - (double)i / (double)steps;
            temperature = HOT * left * left + COLD;
            if (cutoff_is_past(d->cutoff))
                return false;
        }
        change(a);
        if (!dual_score(d, a->next, &score))
            continue;
        dual_consider(d, a->next, &score);
        double next = energy(d, &score);
        double chance = (double)dual_random(d, 1 << 30) / (1 << 30);
        if (next < a->energy || chance < exp((a->energy - next) / (temperature * a->best))) {
            memcpy(a->at, a->next, d->n * sizeof *a->at);
            a->energy = next;
            a->best = fmin(a->best, next);
        }
    }
    return true;
}

void dual_anneal(struct dual *d, const size_t *from, size_t steps)
{
    AUTO_MEM size_t *plans = mem_zero(2 * d->n, sizeof *plans);
    struct annealing a = {.d = d, .at = plans, .next = plans + d->n};
    struct dual_score score;
    size_t n_options = 0, most = STEPS_STAGES / d->n;

    if (d->plain || !dual_score(d, from, &score))
        return;
    memcpy(a.at, from, d->n * sizeof *from);
    dual_consider(d, from, &score);
    /* Single changes first: however soon the clock ends the rest, their plan is there. */
    dual_polish(d, from, NULL);
    a.energy = a.best = energy(d, &score);
    for (size_t s = 0; s < d->n; s++)
        n_options += d->stages[s].n_options;
    if (most > STEPS_OPTION * n_options)
        most = STEPS_OPTION * n_options;
    /* A search that the clock ends does nothing that a longer one would not have done by then: so
     * the longer one has no worse plan. */
    if (anneal_steps(&a, steps < most ? steps : most))
        dual_polish(d, d->found ? d->best_options : a.at, NULL);
}

/* A first plan is worth more than the limit. */
static bool has_plan(const struct dual *d)
{
    return d->frontier || (d->found && !d->is_beside);
}

void dual_polish(struct dual *d, const size_t *from, const struct dual_node *node)
{
    AUTO_MEM size_t *at = mem_zero(d->n, sizeof *at);
    struct dual_score score;
    size_t plans = POLISH_PLANS;
    bool again = !d->plain && dual_score(d, from, &score);
    double best = again ? energy(d, &score) : 0;

    memcpy(at, from, d->n * sizeof *at);
    while (again && plans > 0) {
        again = false;
        for (size_t s = 0; s < d->n; s++) {
            size_t keep = at[s];
            for (size_t o = 0; o < d->stages[s].n_options && plans > 0; o++) {
                if (node && !DUAL_HAS(node, &d->stages[s], o))
                    continue;
                if (plans % COOL_EVERY == 0 && has_plan(d) && cutoff_is_past(d->cutoff))
                    return;
                at[s] = o;
                plans--;
                if (!dual_score(d, at, &score))
                    continue;
                dual_consider(d, at, &score);
                if (energy(d, &score) >= best)
                    continue;
                best = energy(d, &score);
                keep = o;
                again = true;
            }
            at[s] = keep;
        }
    }
}
