/* The cost model: what stages, transfers and whole plans cost and how long they take. All
 * solvers evaluate plans with it. */
#include "base/mem.h"
#include "base/money.h"
#include "plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BILLED_MIN_S 60.0
/* Longer than this no end of a range is told apart. */
#define RANGE_MAX_S (100 * 365.25 * 86400)

double costmodel_expected_run_s(double run_s,
                                double preemptions_h,
                                double checkpoint_s,
                                double restart_s)
{
    if (!(preemptions_h > 0))
        return run_s;
    const double per_loss_h = 1 / preemptions_h + restart_s / 3600;
    if (!(checkpoint_s > 0) || checkpoint_s >= run_s)
        return 3600 * per_loss_h * expm1(preemptions_h * run_s / 3600);
    double segments = floor(run_s / checkpoint_s);
    double last_s = run_s - segments * checkpoint_s;
    return 3600 * per_loss_h *
           (segments * expm1(preemptions_h * checkpoint_s / 3600) +
            expm1(preemptions_h * fmax(last_s, 0) / 3600));
}

bool costmodel_outcome(const struct pstage *stage,
                       const struct site *site,
                       const struct choice *choice,
                       double input_s,
                       struct outcome *out)
{
    const double setup_s = stage->spec->estimate.setup_s;
    const double run_s[LAYERS] = {choice->estimate.run_s, choice->estimate.high_s};

    out->input_s = input_s;
    for (int l = 0; l < LAYERS; l++) {
        out->run_s[l] =
            costmodel_expected_run_s(run_s[l], choice->preemptions_h, stage->spec->checkpoint_s,
                                     site->boot_s + setup_s + input_s);
        double total_s = site->boot_s + setup_s + input_s + out->run_s[l];
        if (!(total_s <= STAGE_MAX_S)) {
            if (l == LAYER_MID && !choice->any_length)
                return false;
            /* The high end is for deadlines and ranges: late is late. */
            total_s = fmin(total_s, RANGE_MAX_S);
        }
        out->duration_ns[l] = (int64_t)(total_s * NS_PER_S + 0.5); /* rounded half up */
    }
    double billed_s = fmax(BILLED_MIN_S, setup_s + input_s + out->run_s[LAYER_MID]);
    double usd = stage->spec->num_nodes * choice->price_usd * billed_s / 3600;
    if (!(usd <= MONEY_MAX_USD))
        return false;
    out->compute_microusd = money_from_usd(usd);
    return true;
}

int64_t costmodel_tiered_microusd(const struct catalog *c,
                                  const struct catalog_move *m,
                                  double size_gb)
{
    const struct catalog_tier *tiers = c->tiers + m->first_tier;
    double usd = 0;

    for (uint32_t i = 0; i < m->n_tiers; i++) {
        double from = i ? tiers[i].from_gb : 0; /* the lowest tier extends to 0 GB */
        double to = i + 1 < m->n_tiers ? tiers[i + 1].from_gb : (double)INFINITY;
        if (size_gb > from)
            usd += (fmin(size_gb, to) - from) * tiers[i].usd_per_gb;
    }
    return usd <= MONEY_MAX_USD ? money_from_usd(usd) : NEVER;
}

struct transfer costmodel_move(const struct plan_problem *p,
                               const struct dataset *d,
                               size_t src_place,
                               size_t dst_place)
{
    if (d->producer == NONE)
        return (struct transfer){d->microusd[dst_place], d->seconds[dst_place]};
    if (src_place == dst_place)
        return (struct transfer){0, d->size_gb * p->local_s_per_gb};
    const struct catalog_move *m = catalog_move(p->world.catalog, src_place, dst_place);
    if (!m)
        return (struct transfer){NEVER, (double)INFINITY};
    size_t i = (size_t)(m - p->world.catalog->moves);
    return (struct transfer){d->microusd[i], d->seconds[i]};
}

/* Everything about one stage of a plan. */
struct stage_figures {
    struct outcome outcome;
    int64_t transfer_microusd;
    int64_t start_ns[LAYERS], finish_ns[LAYERS];
};

static size_t place_of(const struct dataset *d, const struct pick *picks)
{
    return d->producer == NONE ? NONE : picks[d->producer].site->place;
}

/* The first reader, in topological order, at each location pays for the transfer to it. */
static bool pays_for(const struct dataset *d, const struct pick *picks, size_t reader)
{
    for (size_t i = 0; i < d->n_readers; i++) {
        if (d->readers[i] == reader)
            return true;
        if (picks[d->readers[i]].site->place == picks[reader].site->place)
            return false;
    }
    return true;
}

static bool figure_inputs(const struct plan_problem *p,
                          const struct pick *picks,
                          size_t s,
                          double *input_s,
                          int64_t *transfer_microusd)
{
    const struct pstage *stage = &p->stages[s];

    *input_s = 0;
    *transfer_microusd = 0;
    for (size_t i = 0; i < stage->n_datasets; i++) {
        const struct dataset *d = &p->datasets[stage->datasets[i]];
        struct transfer moved = costmodel_move(p, d, place_of(d, picks), picks[s].site->place);
        if (moved.microusd == NEVER)
            return false;
        *input_s = fmax(*input_s, moved.seconds);
        if (pays_for(d, picks, s))
            *transfer_microusd += moved.microusd;
    }
    return true;
}

static bool figure_all(const struct plan_problem *p,
                       const struct pick *picks,
                       struct stage_figures *figures)
{
    for (size_t i = 0; i < p->n_stages; i++) {
        size_t s = p->world.spec->topological[i];
        const struct pstage *stage = &p->stages[s];
        struct stage_figures *f = &figures[s];
        double input_s;
        if (!figure_inputs(p, picks, s, &input_s, &f->transfer_microusd) ||
            !costmodel_outcome(stage, picks[s].site, picks[s].choice, input_s, &f->outcome))
            return false;
        for (int l = 0; l < LAYERS; l++) {
            f->start_ns[l] = 0;
            for (size_t k = 0; k < stage->spec->n_needs; k++) {
                int64_t ready = figures[stage->spec->needs[k]].finish_ns[l];
                f->start_ns[l] = ready > f->start_ns[l] ? ready : f->start_ns[l];
            }
            f->finish_ns[l] = f->start_ns[l] + f->outcome.duration_ns[l];
            if (f->finish_ns[l] > PLAN_MAX_NS)
                return false;
        }
    }
    return true;
}

static void add_up(const struct plan_problem *p,
                   const struct pick *picks,
                   const struct stage_figures *figures,
                   struct totals *out)
{
    *out = (struct totals){0};
    for (size_t s = 0; s < p->n_stages; s++) {
        out->microusd += figures[s].outcome.compute_microusd + figures[s].transfer_microusd +
                         picks[s].site->storage_microusd;
        for (int l = 0; l < LAYERS; l++)
            if (figures[s].finish_ns[l] > out->ns[l])
                out->ns[l] = figures[s].finish_ns[l];
    }
}

bool costmodel_totals(const struct plan_problem *p, const struct pick *picks, struct totals *out)
{
    AUTO_MEM struct stage_figures *figures = mem_zero(p->n_stages, sizeof *figures);

    if (!figure_all(p, picks, figures))
        return false;
    add_up(p, picks, figures, out);
    return true;
}

/* The totals if every stage took the given end of its estimate. */
static struct totals totals_at_end(const struct plan_problem *p,
                                   const struct pick *picks,
                                   bool high)
{
    AUTO_MEM struct pick *shifted = mem_zero(p->n_stages, sizeof *shifted);
    AUTO_MEM struct choice *choices = mem_zero(p->n_stages, sizeof *choices);
    struct totals t = {0};

    for (size_t s = 0; s < p->n_stages; s++) {
        choices[s] = *picks[s].choice;
        choices[s].estimate.run_s = high ? choices[s].estimate.high_s : choices[s].estimate.low_s;
        choices[s].estimate.high_s = choices[s].estimate.run_s;
        choices[s].any_length = true;
        shifted[s] = (struct pick){.site = picks[s].site, .choice = &choices[s]};
    }
    if (!costmodel_totals(p, shifted, &t)) /* past all bounds of time or money */
        t = (struct totals){.microusd = NEVER, .ns = {INT64_MAX, INT64_MAX}};
    return t;
}

void costmodel_fill(const struct plan_problem *p, const struct pick *picks, struct plan *out)
{
    AUTO_MEM struct stage_figures *figures = mem_zero(p->n_stages, sizeof *figures);
    struct totals t;

    *out = (struct plan){.n_stages = p->n_stages,
                         .stages = mem_zero(p->n_stages, sizeof *out->stages)};
    if (!figure_all(p, picks, figures))
        return;
    add_up(p, picks, figures, &t);
    for (size_t s = 0; s < p->n_stages; s++) {
        const struct stage_figures *f = &figures[s];
        out->stages[s] = (struct plan_stage){
            .stage = s,
            .place = picks[s].site->place,
            .kind = picks[s].choice->kind,
            .offer = picks[s].choice->offer,
            .spot = picks[s].choice->spot,
            .nodes = p->stages[s].spec->num_nodes,
            .price_usd_per_hour = picks[s].choice->price_usd,
            .start_s = (double)f->start_ns[LAYER_MID] / NS_PER_S,
            .finish_s = (double)f->finish_ns[LAYER_MID] / NS_PER_S,
            .boot_s = picks[s].site->boot_s,
            .setup_s = p->stages[s].spec->estimate.setup_s,
            .input_s = f->outcome.input_s,
            .run_s = f->outcome.run_s[LAYER_MID],
            .compute_microusd = f->outcome.compute_microusd,
            .transfer_microusd = f->transfer_microusd,
            .storage_microusd = picks[s].site->storage_microusd,
        };
    }
    out->cost_microusd = t.microusd;
    out->time_s = (double)t.ns[LAYER_MID] / NS_PER_S;
    struct totals low = totals_at_end(p, picks, false), high = totals_at_end(p, picks, true);
    out->cost_low_microusd = low.microusd;
    out->cost_high_microusd = high.microusd;
    out->time_low_s = (double)low.ns[LAYER_MID] / NS_PER_S;
    out->time_high_s =
        high.microusd == NEVER ? (double)INFINITY : (double)high.ns[LAYER_MID] / NS_PER_S;
}

void costmodel_critical_path(const struct plan_problem *p,
                             const struct pick *picks,
                             int layer,
                             double *weight)
{
    AUTO_MEM struct stage_figures *figures = mem_zero(p->n_stages, sizeof *figures);
    size_t at = NONE;

    for (size_t s = 0; s < p->n_stages; s++)
        weight[s] = 0;
    if (!figure_all(p, picks, figures))
        return;
    for (size_t s = 0; s < p->n_stages; s++)
        if (at == NONE || figures[s].finish_ns[layer] > figures[at].finish_ns[layer])
            at = s;
    while (at != NONE) {
        const struct spec_stage *spec = p->stages[at].spec;
        size_t before = NONE;
        weight[at] = 1;
        for (size_t k = 0; k < spec->n_needs; k++)
            if (figures[spec->needs[k]].finish_ns[layer] == figures[at].start_ns[layer])
                before = spec->needs[k];
        at = before;
    }
}

bool costmodel_no_worse(const struct choice *a, const struct choice *b)
{
    return a->price_usd <= b->price_usd && a->preemptions_h <= b->preemptions_h &&
           a->estimate.run_s <= b->estimate.run_s && a->estimate.high_s <= b->estimate.high_s;
}

int costmodel_compare_choices(const struct plan_problem *p,
                              const struct pick *a,
                              const struct pick *b)
{
    const struct catalog *c = p->world.catalog;

    /* Places are sorted by (cloud, region) as bytes, so their ids compare as the texts would. */
    if (a->site->place != b->site->place)
        return a->site->place < b->site->place ? -1 : 1;
    int order = strcmp(catalog_text(c, a->choice->kind->instance_type),
                       catalog_text(c, b->choice->kind->instance_type));
    if (order)
        return order;
    if (a->choice->spot != b->choice->spot) /* "on-demand" before "spot" */
        return a->choice->spot ? 1 : -1;
    order =
        strcmp(catalog_text(c, a->choice->offer->zone), catalog_text(c, b->choice->offer->zone));
    if (order)
        return order;
    return a->choice->offer < b->choice->offer ? -1 : a->choice->offer > b->choice->offer;
}

size_t costmodel_largest_producer(const struct plan_problem *p, const struct pstage *stage)
{
    size_t best = NONE;
    double most = -1;

    for (size_t i = 0; i < stage->n_parents; i++) {
        double size_gb = 0;
        for (size_t k = 0; k < stage->n_datasets; k++)
            if (p->datasets[stage->datasets[k]].producer == stage->parents[i])
                size_gb += p->datasets[stage->datasets[k]].size_gb;
        if (size_gb > most) {
            most = size_gb;
            best = i;
        }
    }
    return best;
}

static int by_order(const void *a, const void *b, void *problem)
{
    return costmodel_compare_choices(*(const struct plan_problem *const *)problem, a, b);
}

void costmodel_sort_picks(const struct plan_problem *p, struct pick *picks, size_t n)
{
    if (n > 1)
        qsort_r(picks, n, sizeof *picks, by_order, &p);
}
