/* A domain seen through its lower bounds: a frame, an elimination schedule, and passes over the
 * net with cost and time weighed against each other in several ways. The exact solver uses it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>

#define VIEW_CAP_BYTES ((size_t)256 << 20)
#define PASS_CAP_BYTES ((size_t)256 << 20)

bool view_open(struct view *v,
               const struct plan_problem *p,
               const struct domain *d,
               struct frame_kind kind,
               size_t max_work)
{
    *v = (struct view){.layer = kind.layer};
    v->frame = frame_new(p, d, kind, &v->too_large);
    if (!v->frame)
        return false;
    v->arena = arena_new(VIEW_CAP_BYTES);
    v->path_weight = arena_alloc(v->arena, v->frame->n_vars, sizeof *v->path_weight);
    v->schedule = costnet_schedule_new(&v->frame->shape, v->frame->order, max_work, v->arena);
    v->too_large = !v->path_weight || !v->schedule || v->schedule->work > VIEW_WORK_TOTAL;
    return !v->too_large;
}

void view_clear(struct view *v)
{
    for (size_t i = 0; i < v->n_passes; i++)
        pass_clear(&v->passes[i]);
    frame_free(v->frame);
    arena_free(v->arena);
    *v = (struct view){0};
}

void pass_clear(struct pass *pass)
{
    arena_free(pass->arena);
    *pass = (struct pass){0};
}

static enum pass_result run_pass(
    struct view *v, double lambda, bool cheapest_only, struct pass *out, struct pick *picks)
{
    size_t n = v->frame->n_vars;
    AUTO_MEM double *time = mem_zero(n, sizeof *time);
    AUTO_MEM uint32_t *states = mem_zero(n, sizeof *states);
    struct weights w = {.cost = isinf(lambda) ? 0 : 1,
                        .time = time,
                        .layer = v->layer,
                        .cheapest_only = cheapest_only};

    for (size_t i = 0; i < n; i++)
        time[i] = v->path_weight[i] * (isinf(lambda) ? 1 : lambda);
    arena_free(out->arena);
    *out = (struct pass){.lambda = lambda, .arena = arena_new(PASS_CAP_BYTES)};
    struct costnet net;
    if (frame_weigh(v->frame, &w, out->arena, &net) < 0 ||
        costnet_up(&net, v->schedule, &out->tables, out->arena) < 0)
        return PASS_FULL;
    if (!(out->tables.best < (double)INFINITY))
        return PASS_NONE;
    if (picks) {
        /* Messages of a split variable may disagree until no state is left: that proves nothing. */
        if (!costnet_decode(&out->tables, states))
            return v->schedule->exact ? PASS_NONE : PASS_BOUND;
        frame_picks(v->frame, states, &w, picks);
    }
    return PASS_FOUND;
}

enum pass_result view_pass(struct view *v, double lambda, struct pass *out, struct pick *picks)
{
    enum pass_result result = run_pass(v, lambda, false, out, picks);

    if (result != PASS_FOUND && result != PASS_BOUND)
        pass_clear(out);
    return result;
}

double view_least_ns_of_cheapest(struct view *v)
{
    struct pass pass = {0};
    double least = 0;

    if (run_pass(v, (double)INFINITY, true, &pass, NULL) == PASS_FOUND)
        least = pass.tables.best;
    pass_clear(&pass);
    return least;
}

int view_keep(struct view *v, struct pass *pass)
{
    if (v->n_passes == BOUNDS_MAX || costnet_down(&pass->tables) < 0) {
        pass_clear(pass);
        return -1;
    }
    v->passes[v->n_passes++] = *pass;
    *pass = (struct pass){0};
    return 0;
}

void view_mix_path(struct view *v, const struct pick *picks, size_t nth)
{
    const struct frame *f = v->frame;
    AUTO_MEM double *weight = mem_zero(f->n_vars, sizeof *weight);

    costmodel_critical_path(f->problem, picks, v->layer, weight);
    for (size_t i = 0; i < f->n_vars; i++)
        v->path_weight[i] += (weight[f->vars[i].index] - v->path_weight[i]) / (double)nth;
}

size_t view_bounds(const struct view *v, struct bound *out)
{
    for (size_t i = 0; i < v->n_passes; i++)
        out[i] = (struct bound){v->passes[i].lambda, v->passes[i].tables.best};
    return v->n_passes;
}

size_t view_site_bounds(const struct view *v, size_t var, size_t site, struct bound *out)
{
    const struct frame_var *fv = &v->frame->vars[var];

    for (size_t i = 0; i < v->n_passes; i++) {
        const double *marginal = v->passes[i].tables.marginal[var];
        out[i] = (struct bound){v->passes[i].lambda, (double)INFINITY};
        for (uint32_t s = 0; s < fv->n_states; s++)
            if (fv->state_site[s] == site)
                out[i].value = fmin(out[i].value, marginal[s]);
    }
    return v->n_passes;
}

size_t view_thin(const struct view *v, const struct incumbent *incumbent, struct domain *d)
{
    size_t removed = 0;

    for (size_t i = 0; i < v->frame->n_vars; i++) {
        size_t stage = v->frame->vars[i].index, kept = 0;
        for (size_t k = 0; k < d->n[stage]; k++) {
            struct bound bounds[BOUNDS_MAX];
            size_t n = view_site_bounds(v, i, k, bounds);
            if (!incumbent_hopeless(incumbent, bounds, n))
                d->sites[stage][kept++] = d->sites[stage][k];
        }
        removed += d->n[stage] - kept;
        d->n[stage] = kept;
    }
    return removed;
}
