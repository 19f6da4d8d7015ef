#include "plan/view.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define VIEW_CAP_BYTES ((size_t)2 << 30)

bool view_open(struct view *v,
               const struct plan_problem *p,
               const struct domain *d,
               struct frame_kind kind,
               int layer,
               size_t max_work,
               bool *too_large)
{
    *v = (struct view){.layer = layer};
    v->frame = frame_new(p, d, kind, too_large);
    if (!v->frame)
        return false;
    v->arena = arena_new(VIEW_CAP_BYTES);
    v->path_weight = arena_alloc(v->arena, v->frame->n_vars, sizeof *v->path_weight);
    struct net shape = {.n_vars = v->frame->n_vars,
                        .n_states = v->frame->n_states,
                        .pairs = v->frame->pairs,
                        .n_pairs = v->frame->n_pairs};
    v->schedule = net_schedule_new(&shape, v->frame->order, max_work, v->arena);
    *too_large = !v->path_weight || !v->schedule;
    return !*too_large;
}

void view_clear(struct view *v)
{
    frame_free(v->frame);
    arena_free(v->arena);
    *v = (struct view){0};
}

static bool run_pass(
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
    *out = (struct pass){.lambda = lambda};
    if (frame_weigh(v->frame, &w, v->arena, &out->net) < 0 ||
        net_up(&out->net, v->schedule, &out->tables, v->arena) < 0 ||
        !(out->tables.best < (double)INFINITY))
        return false;
    if (!picks)
        return true;
    if (!net_decode(&out->net, v->schedule, &out->tables, states))
        return false;
    frame_picks(v->frame, states, &w, picks);
    return true;
}

bool view_pass(struct view *v, double lambda, struct pass *out, struct pick *picks)
{
    return run_pass(v, lambda, false, out, picks);
}

double view_least_ns_of_cheapest(struct view *v)
{
    struct pass pass;

    return run_pass(v, (double)INFINITY, true, &pass, NULL) ? pass.tables.best : 0;
}

int view_keep(struct view *v, const struct pass *pass)
{
    struct pass *kept = &v->passes[v->n_passes];

    *kept = *pass;
    if (net_down(&kept->net, v->schedule, &kept->tables, v->arena) < 0)
        return -1;
    v->n_passes++;
    return 0;
}

void view_mix_path(struct view *v, const struct pick *picks, size_t nth)
{
    const struct frame *f = v->frame;
    AUTO_MEM bool *on_path = mem_zero(f->n_vars, sizeof *on_path);

    model_critical_path(f->problem, picks, v->layer, on_path);
    for (size_t i = 0; i < f->n_vars; i++)
        v->path_weight[i] +=
            ((on_path[f->vars[i].index] ? 1 : 0) - v->path_weight[i]) / (double)nth;
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
