/* The pipeline as the dual search sees it: options by stage, tables of what moves between stages,
 * shared datasets; and what a plan comes to, to the micro-dollar and nanosecond of costmodel.c. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DUAL_CAP_BYTES ((size_t)160 << 20)
/* A plan with less than this times the best value is better: sums are rounded. */
#define VALUE_TOLERANCE 1e-9
/* Products and weighted sums that differ by less are equal, as in goal.c. */
#define SAME_VALUE 1e-13

/* ---- layout ---- */

static int lay_out_stage(struct dual *d, const struct domain *domain, size_t s)
{
    struct dual_stage *out = &d->stages[s];
    const struct pstage *stage = &d->p->stages[s];
    size_t n = domain->n[s], n_options = 0;

    out->stage = stage;
    out->first_word = d->n_words;
    out->n_sites = n;
    out->sites = arena_alloc(d->arena, n, sizeof *out->sites);
    out->first = arena_alloc(d->arena, n + 1, sizeof *out->first);
    for (size_t b = 0; b < n; b++)
        n_options += domain->only[s] ? 1 : stage->sites[domain->sites[s][b]].n_choices;
    out->options = arena_alloc(d->arena, n_options, sizeof *out->options);
    if (!out->sites || !out->first || !out->options || !n_options)
        return -1;
    for (size_t b = 0; b < n; b++) {
        const struct site *site = &stage->sites[domain->sites[s][b]];
        out->sites[b] = site;
        out->first[b] = out->n_options;
        for (size_t c = 0; c < (domain->only[s] ? 1 : site->n_choices); c++)
            out->options[out->n_options++] = (struct dual_option){
                .site = (uint32_t)b,
                .choice = domain->only[s] ? domain->only[s] : &site->choices[c]};
    }
    out->first[n] = out->n_options;
    d->n_words += (out->n_options + 63) / 64;
    return 0;
}

/* The input from one stage to another, added when it is new. NULL: not enough memory. */
static struct dual_input *input_between(struct dual *d, size_t from, size_t to)
{
    struct dual_stage *stage = &d->stages[to];
    size_t cells = d->stages[from].n_sites * stage->n_sites;

    for (size_t i = 0; i < stage->n_inputs; i++)
        if (d->inputs[stage->inputs[i]].from == from)
            return &d->inputs[stage->inputs[i]];
    struct dual_input *in = &d->inputs[d->n_inputs];
    *in = (struct dual_input){
        .from = from,
        .to = to,
        .microusd = arena_alloc(d->arena, cells, sizeof *in->microusd),
        .seconds = arena_alloc(d->arena, cells, sizeof *in->seconds),
        .readings = arena_alloc(d->arena, stage->stage->n_datasets, sizeof *in->readings),
        .weight = arena_alloc(d->arena, stage->n_sites, sizeof *in->weight),
    };
    if (!in->microusd || !in->seconds || !in->readings || !in->weight)
        return NULL;
    for (size_t b = 0; b < stage->n_sites; b++)
        in->weight[b] = 1;
    stage->inputs[stage->n_inputs++] = d->n_inputs++;
    return in;
}

/* Costs go to `microusd`, the slowest time so far to `seconds`, unless NULL. */
static void add_moves(const struct dual *d,
                      const struct dataset *data,
                      const struct dual_stage *from,
                      const struct dual_stage *to,
                      double *microusd,
                      double *seconds)
{
    for (size_t a = 0; a < (from ? from->n_sites : 1); a++)
        for (size_t b = 0; b < to->n_sites; b++) {
            size_t at = a * to->n_sites + b;
            struct transfer t = costmodel_move(d->p, data, from ? from->sites[a]->place : NONE,
                                               to->sites[b]->place);
            microusd[at] += t.microusd == NEVER ? (double)INFINITY : (double)t.microusd;
            if (seconds)
                seconds[at] = fmax(seconds[at], t.seconds);
        }
}

/* The dataset among the shared ones, added with its first reader. NULL: not enough memory. */
static struct dual_shared *shared_for(struct dual *d, const struct dataset *data)
{
    for (size_t i = 0; i < d->n_shared; i++)
        if (d->shared[i].data == data)
            return &d->shared[i];
    struct dual_shared *shared = &d->shared[d->n_shared];
    *shared = (struct dual_shared){
        .data = data, .readings = arena_alloc(d->arena, data->n_readers, sizeof *shared->readings)};
    if (!shared->readings)
        return NULL;
    d->n_shared++;
    return shared;
}

static int add_reading(
    struct dual *d, const struct dataset *data, size_t from, size_t to, struct dual_input *in)
{
    struct dual_shared *shared = shared_for(d, data);
    struct dual_stage *stage = &d->stages[to];
    size_t cells = (from == NONE ? 1 : d->stages[from].n_sites) * stage->n_sites;
    struct dual_reading *r = &d->readings[d->n_readings];

    *r = (struct dual_reading){.from = from,
                               .to = to,
                               .shared = shared ? (size_t)(shared - d->shared) : 0,
                               .microusd = arena_alloc(d->arena, cells, sizeof *r->microusd),
                               .share = arena_alloc(d->arena, stage->n_sites, sizeof *r->share)};
    if (!shared || !r->microusd || !r->share)
        return -1;
    for (size_t b = 0; b < stage->n_sites; b++)
        r->share[b] = 1.0 / (double)data->n_readers;
    add_moves(d, data, from == NONE ? NULL : &d->stages[from], stage, r->microusd,
              in ? in->seconds : NULL);
    if (in)
        in->readings[in->n_readings++] = d->n_readings;
    stage->readings[stage->n_readings++] = d->n_readings;
    shared->readings[shared->n_readings++] = d->n_readings++;
    return 0;
}

static int lay_out_data(struct dual *d, size_t s)
{
    const struct pstage *stage = d->stages[s].stage;

    for (size_t i = 0; i < stage->n_datasets; i++) {
        const struct dataset *data = &d->p->datasets[stage->datasets[i]];
        struct dual_input *in = NULL;
        if (data->producer != NONE && !(in = input_between(d, data->producer, s)))
            return -1;
        if (data->n_readers > 1) {
            if (add_reading(d, data, data->producer, s, in) < 0)
                return -1;
        } else if (in) {
            add_moves(d, data, &d->stages[data->producer], &d->stages[s], in->microusd,
                      in->seconds);
        }
    }
    return 0;
}

/* Which sites of a dataset's readers are at one location. */
static int match_places(struct dual *d, struct dual_shared *shared)
{
    size_t n_places = d->p->world.catalog->n_places;
    AUTO_MEM uint32_t *number = mem_zero(n_places, sizeof *number);

    shared->site_at = arena_alloc(d->arena, shared->n_readings, sizeof *shared->site_at);
    if (!shared->site_at)
        return -1;
    for (size_t i = 0; i < shared->n_readings; i++) {
        const struct dual_stage *stage = &d->stages[d->readings[shared->readings[i]].to];
        for (size_t b = 0; b < stage->n_sites; b++)
            if (!number[stage->sites[b]->place])
                number[stage->sites[b]->place] = (uint32_t)++shared->n_places;
    }
    for (size_t i = 0; i < shared->n_readings; i++) {
        struct dual_reading *r = &d->readings[shared->readings[i]];
        const struct dual_stage *stage = &d->stages[r->to];
        uint32_t *at = arena_alloc(d->arena, shared->n_places, sizeof *at);
        uint32_t *places = arena_alloc(d->arena, stage->n_sites, sizeof *places);
        if (!at || !places)
            return -1;
        memset(at, 0xff, shared->n_places * sizeof *at);
        for (size_t b = 0; b < stage->n_sites; b++) {
            places[b] = number[stage->sites[b]->place] - 1;
            at[places[b]] = (uint32_t)b;
        }
        shared->site_at[i] = at;
        r->places = places;
    }
    return 0;
}

static int room_for_node(struct dual *d)
{
    struct arena *a = d->arena;

    d->live = arena_alloc(a, d->n, sizeof *d->live);
    d->n_live = arena_alloc(a, d->n, sizeof *d->n_live);
    d->place_in_live = arena_alloc(a, d->n, sizeof *d->place_in_live);
    d->least_s = arena_alloc(a, d->n, sizeof *d->least_s);
    d->least_run_s = arena_alloc(a, d->n, sizeof *d->least_run_s);
    d->least_price = arena_alloc(a, d->n, sizeof *d->least_price);
    d->outcomes = arena_alloc(a, d->n, sizeof *d->outcomes);
    d->best_options = arena_alloc(a, d->n, sizeof *d->best_options);
    d->finish = arena_alloc(a, d->n, sizeof *d->finish);
    d->paths = arena_alloc(a, DUAL_PATHS_MAX * d->n, sizeof *d->paths);
    if (!d->live || !d->n_live || !d->place_in_live || !d->least_s || !d->least_run_s ||
        !d->least_price || !d->outcomes || !d->best_options || !d->finish || !d->paths)
        return -1;
    for (size_t s = 0; s < d->n; s++) {
        size_t n = d->stages[s].n_sites;
        d->live[s] = arena_alloc(a, n, sizeof **d->live);
        d->place_in_live[s] = arena_alloc(a, n, sizeof **d->place_in_live);
        d->least_s[s] = arena_alloc(a, n, sizeof **d->least_s);
        d->least_run_s[s] = arena_alloc(a, n, sizeof **d->least_run_s);
        d->least_price[s] = arena_alloc(a, n, sizeof **d->least_price);
        d->outcomes[s] = arena_alloc(a, d->stages[s].n_options, sizeof **d->outcomes);
        if (!d->live[s] || !d->place_in_live[s] || !d->least_s[s] || !d->least_run_s[s] ||
            !d->least_price[s] || !d->outcomes[s])
            return -1;
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            d->outcomes[s][o].level_s = (double)NAN;
    }
    return 0;
}

static int lay_out(struct dual *d, const struct domain *domain)
{
    size_t n_reads = 0;

    d->stages = arena_alloc(d->arena, d->n, sizeof *d->stages);
    if (!d->stages)
        return -1;
    for (size_t s = 0; s < d->n; s++) {
        if (lay_out_stage(d, domain, s) < 0)
            return -1;
        n_reads += d->stages[s].stage->n_datasets;
    }
    d->inputs = arena_alloc(d->arena, n_reads, sizeof *d->inputs);
    d->readings = arena_alloc(d->arena, n_reads, sizeof *d->readings);
    d->shared = arena_alloc(d->arena, d->p->n_datasets, sizeof *d->shared);
    if (!d->inputs || !d->readings || !d->shared)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        struct dual_stage *stage = &d->stages[d->order[i]];
        size_t n = stage->stage->n_datasets;
        stage->inputs = arena_alloc(d->arena, n, sizeof *stage->inputs);
        stage->readings = arena_alloc(d->arena, n, sizeof *stage->readings);
        if (!stage->inputs || !stage->readings || lay_out_data(d, d->order[i]) < 0)
            return -1;
    }
    for (size_t i = 0; i < d->n_shared; i++)
        if (match_places(d, &d->shared[i]) < 0)
            return -1;
    return room_for_node(d);
}

struct dual *dual_new(const struct plan_problem *p,
                      const struct domain *domain,
                      const struct cutoff *cutoff)
{
    AUTO(dual) struct dual *d = mem_zero(1, sizeof *d);

    d->p = p;
    d->cutoff = cutoff;
    d->n = p->n_stages;
    d->order = p->world.spec->topological;
    d->random = 88172645463325252u;
    d->arena = arena_new(DUAL_CAP_BYTES);
    return lay_out(d, domain) < 0 ? NULL : TAKE(d);
}

void dual_free(struct dual *d)
{
    if (!d)
        return;
    arena_free(d->arena);
    free(d);
}

/* ---- nodes ---- */

size_t dual_node_bytes(const struct dual *d)
{
    return sizeof(struct dual_node) + d->n_words * sizeof(uint64_t) +
           DUAL_PATHS_MAX * sizeof(float);
}

static struct dual_node *node_room(const struct dual *d)
{
    struct dual_node *node = mem_zero(1, dual_node_bytes(d));

    node->multipliers = (float *)(void *)(node->options + d->n_words);
    return node;
}

struct dual_node *dual_node_new(const struct dual *d)
{
    struct dual_node *node = node_room(d);

    for (size_t s = 0; s < d->n; s++)
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            node->options[d->stages[s].first_word + o / 64] |= (uint64_t)1 << (o % 64);
    return node;
}

struct dual_node *dual_node_copy(const struct dual *d, const struct dual_node *from)
{
    struct dual_node *node = node_room(d);
    float *multipliers = node->multipliers;

    memcpy(node, from, dual_node_bytes(d));
    node->multipliers = multipliers;
    return node;
}

/* ---- what a plan comes to ---- */

bool dual_outcome(
    const struct dual *d, size_t stage, size_t option, double level_s, struct dual_outcome *out)
{
    const struct dual_stage *s = &d->stages[stage];
    const struct dual_option *o = &s->options[option];
    const struct site *site = s->sites[o->site];
    struct outcome figures;

    if (out->level_s == level_s)
        return out->microusd < (double)INFINITY;
    bool possible = costmodel_outcome(s->stage, site, o->choice, level_s, &figures);
    *out = (struct dual_outcome){.level_s = level_s, .microusd = (double)INFINITY};
    if (!possible)
        return false;
    out->microusd =
        (double)(figures.compute_microusd + site->storage_microusd + site->fixed_microusd);
    for (int l = 0; l < LAYERS; l++)
        out->ns[l] = (double)figures.duration_ns[l];
    return true;
}

/* Shared datasets: the first reader at each location pays. INFINITY: impossible. */
static double shared_microusd(const struct dual *d, const size_t *options)
{
    double sum = 0;

    for (size_t i = 0; i < d->n_shared; i++) {
        const struct dual_shared *shared = &d->shared[i];
        for (size_t k = 0; k < shared->n_readings; k++) {
            const struct dual_reading *r = &d->readings[shared->readings[k]];
            const struct dual_stage *to = &d->stages[r->to];
            uint32_t b = to->options[options[r->to]].site;
            bool paid = false;
            for (size_t j = 0; j < k && !paid; j++) {
                size_t other = d->readings[shared->readings[j]].to;
                paid = shared->site_at[j][r->places[b]] ==
                       d->stages[other].options[options[other]].site;
            }
            size_t a = r->from == NONE ? 0 : d->stages[r->from].options[options[r->from]].site;
            if (!paid)
                sum += r->microusd[a * to->n_sites + b];
        }
    }
    return sum;
}

bool dual_score(const struct dual *d, const size_t *options, struct dual_score *out)
{
    int64_t(*finish)[LAYERS] = d->finish;
    double microusd = shared_microusd(d, options);

    *out = (struct dual_score){0};
    for (size_t i = 0; i < d->n; i++) {
        size_t s = d->order[i];
        const struct dual_stage *stage = &d->stages[s];
        uint32_t b = stage->options[options[s]].site;
        double level_s = stage->sites[b]->fixed_input_s;
        for (size_t k = 0; k < stage->n_inputs; k++) {
            const struct dual_input *in = &d->inputs[stage->inputs[k]];
            size_t at = d->stages[in->from].options[options[in->from]].site * stage->n_sites + b;
            level_s = fmax(level_s, in->seconds[at]);
            microusd += in->microusd[at];
        }
        struct dual_outcome outcome = {.level_s = (double)NAN};
        if (!(level_s < (double)INFINITY) || !(microusd < (double)INFINITY))
            return false;
        if (d->outcomes[s][options[s]].level_s == level_s)
            outcome = d->outcomes[s][options[s]];
        if (!dual_outcome(d, s, options[s], level_s, &outcome))
            return false;
        microusd += outcome.microusd;
        const struct spec_stage *spec = stage->stage->spec;
        for (int l = 0; l < LAYERS; l++) {
            int64_t start = 0;
            for (size_t k = 0; k < spec->n_needs; k++)
                start = finish[spec->needs[k]][l] > start ? finish[spec->needs[k]][l] : start;
            finish[s][l] = start + (int64_t)outcome.ns[l];
            if (finish[s][l] > PLAN_MAX_NS)
                return false;
            out->ns[l] = finish[s][l] > out->ns[l] ? finish[s][l] : out->ns[l];
        }
    }
    out->microusd = (int64_t)microusd;
    return microusd < (double)NEVER;
}

void dual_picks(const struct dual *d, const size_t *options, struct pick *picks)
{
    for (size_t s = 0; s < d->n; s++) {
        const struct dual_option *o = &d->stages[s].options[options[s]];
        picks[s] = (struct pick){d->stages[s].sites[o->site], o->choice};
    }
}

size_t dual_random(struct dual *d, size_t n)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((d->random >> 32) % n);
}

bool dual_allows(const struct dual *d, const struct dual_score *score)
{
    return (double)score->microusd <= d->aim.budget_microusd &&
           (double)score->ns[LAYER_MID] <= d->aim.limit_ns[LAYER_MID] &&
           (double)score->ns[LAYER_HIGH] <= d->aim.limit_ns[LAYER_HIGH];
}

double dual_value(const struct dual *d, double microusd, double ns)
{
    switch (d->aim.objective) {
    case SPEC_COST:
        return microusd;
    case SPEC_TIME:
        return ns;
    case SPEC_VALUE:
        return microusd * ns;
    case SPEC_WEIGHTED:
        return microusd + d->aim.rate * ns;
    }
    return 0;
}

static double value_of(const struct dual *d, const struct dual_score *score)
{
    return dual_value(d, (double)score->microusd, (double)score->ns[LAYER_MID]);
}

/* As goal_compare: the objective, then the cost, then the time. */
static bool is_better(const struct dual *d, const struct dual_score *a, const struct dual_score *b)
{
    double va = value_of(d, a), vb = value_of(d, b);

    bool is_whole = d->aim.objective == SPEC_COST || d->aim.objective == SPEC_TIME;
    if (fabs(va - vb) > (is_whole ? 0 : SAME_VALUE * fmax(va, vb)))
        return va < vb;
    if (a->microusd != b->microusd)
        return a->microusd < b->microusd;
    return a->ns[LAYER_MID] < b->ns[LAYER_MID];
}

bool dual_consider(struct dual *d, const size_t *options, const struct dual_score *score)
{
    if (!dual_allows(d, score))
        return false;
    if (d->frontier)
        return dual_frontier_keep(d, options, score);
    bool ties = d->may_tie && !d->found && d->has_best && !is_better(d, &d->best, score);
    if (d->has_best && !ties && !is_better(d, score, &d->best))
        return false;
    d->best = *score;
    d->has_best = d->found = true;
    memcpy(d->best_options, options, d->n * sizeof *options);
    return true;
}

double dual_enough(const struct dual *d)
{
    if (!d->has_best)
        return (double)INFINITY;
    double best = value_of(d, &d->best);
    bool ties = d->may_tie && !d->found;
    if (d->aim.objective == SPEC_COST || d->aim.objective == SPEC_TIME)
        return best + (ties ? 0.5 : -0.5); /* both are whole numbers */
    return best * (1 + (ties ? VALUE_TOLERANCE : -VALUE_TOLERANCE));
}
