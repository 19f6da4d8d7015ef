/* simulate_plan: plans the rest of a simulated run again, when the cloud refused an offer.
 * simulate.c calls it. */
#include "app/run/simulate.h"

#include "base/mem.h"
#include "broker/learn/models.h"

#include <math.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
/* Run time of a stage without an estimate, as in estimate/. */

struct simulate_stage app_simulation_stage(const struct app_plan *p,
                                           size_t i,
                                           const struct plan_stage *s)
{
    const struct catalog *c = p->catalog;
    const struct catalog_place *place = &c->places[s->place];
    struct estimate estimate = {.run_s = s->run_s};

    /* run_s of a plan includes the mean loss by preemptions of spot instances. */
    estimate_run(&p->spec->stages[i], c, s->kind, p->throughputs, broker_models_get(p->models),
                 &estimate);
    return (struct simulate_stage){
        .provider = catalog_text(c, place->cloud),
        .region = catalog_text(c, place->region),
        .zone = catalog_text(c, s->offer->zone),
        .instance_type = catalog_text(c, s->kind->instance_type),
        .accelerator = catalog_text(c, s->kind->accelerator),
        .spot = s->spot,
        .nodes = s->nodes,
        .price_usd_per_hour = s->price_usd_per_hour,
        .cpus = s->kind->vcpus,
        .memory_gb = s->kind->memory_gib,
        .accelerators = s->kind->accelerator_count,
        .setup_s = s->setup_s,
        .input_s = s->input_s,
        .work_s = estimate.run_s,
        .transfer_microusd = s->transfer_microusd,
        .storage_microusd = s->storage_microusd,
    };
}

/* ---- the rest of a pipeline ---- */

struct rest {
    const struct app_plan *plan;
    const struct simulate_question *question;
    const struct simulate_stage *stages; /* with the locations of the other stages */
    struct arena *arena;
    size_t *number; /* of each stage within the rest; SIZE_MAX = not in the rest */
    size_t *stage;  /* in the pipeline, of each stage of the rest */
    struct spec spec;
};

/* Scales an estimate to the work that is left. */
static int scale_estimate(struct rest *r, struct spec_estimate *x, double left)
{
    struct spec_rate *rates = arena_alloc(r->arena, x->n_rates + 1, sizeof *rates);

    if (!rates)
        return -1;
    x->seconds *= left;
    if (x->kind == SPEC_ESTIMATE_GUESS)
        x->left = (x->left > 0 ? x->left : 1) * left;
    else
        x->work *= left;
    x->iterations *= left;
    if (x->n_rates)
        memcpy(rates, x->rates, x->n_rates * sizeof *rates);
    for (size_t i = 0; i < x->n_rates && x->kind == SPEC_ESTIMATE_SECONDS; i++)
        rates[i].value *= left;
    x->rates = rates;
    return 0;
}

/* An output of a stage outside the rest becomes a dataset at that stage's location. */
static void place_input(const struct rest *r, struct spec_input *in)
{
    if (in->source != SPEC_FROM_STAGE)
        return;
    const struct simulate_stage *maker = &r->stages[in->stage];
    if (r->number[in->stage] != SIZE_MAX) {
        in->stage = r->number[in->stage];
        return;
    }
    in->source = SPEC_FROM_URI;
    in->place = (struct spec_place){maker->provider, maker->region};
    in->stage = in->output = 0;
}

static int copy_stage(struct rest *r, size_t k)
{
    size_t i = r->stage[k];
    struct spec_stage *out = &r->spec.stages[k];

    *out = r->plan->spec->stages[i];
    size_t *needs = arena_alloc(r->arena, out->n_needs + 1, sizeof *needs);
    struct spec_input *inputs = arena_alloc(r->arena, out->n_inputs + 1, sizeof *inputs);
    if (!needs || !inputs || scale_estimate(r, &out->estimate, r->question->left[i]) < 0)
        return -1;
    size_t n = 0;
    for (size_t j = 0; j < out->n_needs; j++)
        if (r->number[out->needs[j]] != SIZE_MAX)
            needs[n++] = r->number[out->needs[j]];
    out->needs = needs;
    out->n_needs = n;
    for (size_t j = 0; j < out->n_inputs; j++) {
        inputs[j] = out->inputs[j];
        place_input(r, &inputs[j]);
    }
    out->inputs = inputs;
    return 0;
}

static int copy_rest(struct rest *r, struct err *e)
{
    const struct spec *whole = r->plan->spec;
    size_t n = whole->n_stages, at = 0;
    int result = 0;

    r->spec = *whole;
    r->spec.n_stages = 0;
    r->number = arena_alloc(r->arena, n + 1, sizeof *r->number);
    r->stage = arena_alloc(r->arena, n + 1, sizeof *r->stage);
    r->spec.stages = arena_alloc(r->arena, n + 1, sizeof *r->spec.stages);
    r->spec.topological = arena_alloc(r->arena, n + 1, sizeof *r->spec.topological);
    if (!r->number || !r->stage || !r->spec.stages || !r->spec.topological)
        return err_set(e, ERR_NOFIT, "%s is too large to plan again", whole->file);
    for (size_t i = 0; i < n; i++) {
        bool is_left = r->question->left[i] > 0;
        r->number[i] = is_left ? r->spec.n_stages : SIZE_MAX;
        if (is_left)
            r->stage[r->spec.n_stages++] = i;
    }
    for (size_t i = 0; i < n; i++)
        if (r->number[whole->topological[i]] != SIZE_MAX)
            r->spec.topological[at++] = r->number[whole->topological[i]];
    for (size_t k = 0; k < r->spec.n_stages && result == 0; k++)
        result = copy_stage(r, k);
    return result < 0 ? err_set(e, ERR_NOFIT, "%s is too large to plan again", whole->file) : 0;
}

/* ---- planning the rest ---- */

static bool allows(void *context,
                   const struct catalog_kind *kind,
                   const struct catalog_offer *offer,
                   bool spot)
{
    const struct rest *r = context;
    const struct catalog *c = r->plan->catalog;

    if (!app_plan_allows_cloud(r->plan, catalog_text(c, kind->cloud)))
        return false;
    const struct simulate_stage where = {.provider = catalog_text(c, kind->cloud),
                                         .region = catalog_text(c, c->places[offer->place].region),
                                         .zone = catalog_text(c, offer->zone),
                                         .instance_type = catalog_text(c, kind->instance_type),
                                         .accelerator = catalog_text(c, kind->accelerator),
                                         .spot = spot};

    for (size_t i = 0; i < r->question->n_blocks; i++)
        if (simulate_block_meets(&r->question->blocks[i], &where))
            return false;
    return true;
}

static struct plan_problem *lay_out(struct rest *r, struct err *e)
{
    const struct app_plan *p = r->plan;
    struct guess_list guesses = {.arena = r->arena};
    struct plan_world world = {.spec = &r->spec,
                               .catalog = p->catalog,
                               .config = p->config,
                               .throughputs = p->throughputs,
                               .models = broker_models_get(p->models),
                               .market = p->settings.market,
                               .cloud = p->settings.cloud,
                               .region = p->settings.region,
                               .max_hourly_usd = p->settings.max_hourly_usd,
                               .allows = allows,
                               .context = r};
    struct plan_problem *problem = plan_problem_new(&world, &guesses, e);

    if (!problem && e->kind == ERR_USAGE)
        err_set(e, ERR_NOFIT, "a stage has no offer left that was not refused");
    return problem;
}

/* Within the rest of budget and deadline, else without them. */
static int solve(const struct rest *r,
                 const struct plan_problem *problem,
                 struct plan_answer *answer,
                 struct err *e)
{
    struct plan_query query = app_plan_query(r->plan, &r->plan->settings);
    double spent_usd = (double)r->question->spent_microusd / 1e6;

    query.goal.deadline_s = fmax(query.goal.deadline_s - r->question->elapsed_s, 0);
    query.goal.budget_usd = fmax(query.goal.budget_usd - spent_usd, 0);
    if (plan_solve(problem, &query, answer, e) < 0)
        return -1;
    if (plan_found(answer))
        return 0;
    plan_answer_clear(answer);
    *answer = (struct plan_answer){0};
    query.goal.deadline_s = query.goal.budget_usd = (double)INFINITY;
    if (plan_solve(problem, &query, answer, e) < 0)
        return -1;
    return plan_found(answer) ? 0 : err_set(e, ERR_NOFIT, "%s", answer->reason);
}

int app_simulation_replan(const struct app_plan *p,
                          const struct simulate_question *q,
                          struct simulate_stage *stages,
                          struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct rest r = {.plan = p, .question = q, .stages = stages, .arena = arena};
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};

    if (copy_rest(&r, e) < 0)
        return -1;
    AUTO(plan_problem) struct plan_problem *problem = lay_out(&r, e);
    if (!problem || solve(&r, problem, &answer, e) < 0)
        return -1;
    for (size_t k = 0; k < r.spec.n_stages; k++)
        stages[r.stage[k]] = app_simulation_stage(p, r.stage[k], &answer.plan.stages[k]);
    return 0;
}
