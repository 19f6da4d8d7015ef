/* Time windows of a node: a stage begins no sooner than the longest path before it allows and must
 * leave time for the longest path after it. Options that do not fit are dropped, until all do. For
 * least time this alone is mostly the proof. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>

struct windows {
    struct dual *d;
    struct dual_node *node;
    double (*least)[LAYERS]; /* per stage: shortest duration */
    double (*head)[LAYERS];  /* per stage: least start */
    double (*tail)[LAYERS];  /* per stage: least time after its end */
    double limit_ns[LAYERS];
    bool again;
};

/* The least level of a site, over the sites that its producers have left. */
static double least_level(const struct dual *d, size_t s, size_t b)
{
    const struct dual_stage *stage = &d->stages[s];
    double level_s = stage->sites[b]->fixed_input_s;

    for (size_t k = 0; k < stage->n_inputs; k++) {
        const struct dual_input *in = &d->inputs[stage->inputs[k]];
        double least = (double)INFINITY;
        for (uint32_t a = 0; a < d->n_live[in->from]; a++)
            least = fmin(least, in->seconds[d->live[in->from][a] * stage->n_sites + b]);
        level_s = fmax(level_s, least);
    }
    return level_s;
}

/* Evaluates the options left at a site; false when there are none. */
static bool take_site(struct windows *w, size_t s, size_t b)
{
    struct dual *d = w->d;
    const struct dual_stage *stage = &d->stages[s];
    double level_s = (double)NAN;

    d->least_run_s[s][b] = d->least_price[s][b] = (double)INFINITY;
    for (size_t o = stage->first[b]; o < stage->first[b + 1]; o++) {
        if (!DUAL_HAS(w->node, stage, o))
            continue;
        if (isnan(level_s))
            level_s = least_level(d, s, b);
        struct dual_outcome *out = &d->outcomes[s][o];
        const struct choice *c = stage->options[o].choice;
        if (!(level_s < (double)INFINITY) || !dual_outcome(d, s, o, level_s, out)) {
            dual_drop(w->node, stage, o);
            w->again = true;
            continue;
        }
        for (int l = 0; l < LAYERS; l++)
            w->least[s][l] = fmin(w->least[s][l], out->ns[l]);
        d->least_run_s[s][b] = fmin(d->least_run_s[s][b], c->estimate.run_s);
        d->least_price[s][b] = fmin(d->least_price[s][b], c->price_usd);
    }
    d->least_s[s][b] = level_s;
    d->least_price[s][b] *= stage->stage->spec->num_nodes * 1e6 / 3600;
    return d->least_run_s[s][b] < (double)INFINITY;
}

/* From the first stage to the last: sites left, least levels and durations, heads. */
static bool go_forward(struct windows *w)
{
    struct dual *d = w->d;
    double least_ns = 0;

    for (size_t i = 0; i < d->n; i++) {
        size_t s = d->order[i];
        const struct dual_stage *stage = &d->stages[s];
        const struct spec_stage *spec = stage->stage->spec;
        w->least[s][LAYER_MID] = w->least[s][LAYER_HIGH] = (double)INFINITY;
        d->n_live[s] = 0;
        for (size_t b = 0; b < stage->n_sites; b++)
            if (take_site(w, s, b)) {
                d->place_in_live[s][b] = d->n_live[s];
                d->live[s][d->n_live[s]++] = (uint32_t)b;
            }
        if (!d->n_live[s])
            return false;
        for (int l = 0; l < LAYERS; l++) {
            w->head[s][l] = 0;
            w->tail[s][l] = 0;
            for (size_t k = 0; k < spec->n_needs; k++)
                w->head[s][l] =
                    fmax(w->head[s][l], w->head[spec->needs[k]][l] + w->least[spec->needs[k]][l]);
        }
        least_ns = fmax(least_ns, w->head[s][d->aim.layer] + w->least[s][d->aim.layer]);
    }
    d->least_ns = least_ns;
    return true;
}

static void go_back(struct windows *w)
{
    const struct dual *d = w->d;

    for (size_t i = d->n; i-- > 0;) {
        size_t s = d->order[i];
        const struct spec_stage *spec = d->stages[s].stage->spec;
        for (size_t k = 0; k < spec->n_needs; k++)
            for (int l = 0; l < LAYERS; l++)
                w->tail[spec->needs[k]][l] =
                    fmax(w->tail[spec->needs[k]][l], w->tail[s][l] + w->least[s][l]);
    }
}

static void drop_late(struct windows *w, size_t s)
{
    const struct dual *d = w->d;
    const struct dual_stage *stage = &d->stages[s];

    for (size_t o = 0; o < stage->n_options; o++)
        for (int l = 0; l < LAYERS && DUAL_HAS(w->node, stage, o); l++)
            if (w->head[s][l] + d->outcomes[s][o].ns[l] + w->tail[s][l] > w->limit_ns[l]) {
                dual_drop(w->node, stage, o);
                w->again = true;
            }
}

bool dual_windows(struct dual *d, struct dual_node *node)
{
    AUTO_MEM double(*times)[LAYERS] = mem_zero(3 * d->n, sizeof *times);
    struct windows w = {
        .d = d, .node = node, .least = times, .head = times + d->n, .tail = times + 2 * d->n};

    for (int l = 0; l < LAYERS; l++)
        w.limit_ns[l] = d->aim.limit_ns[l];
    w.limit_ns[d->aim.layer] = fmin(w.limit_ns[d->aim.layer], node->most_ns);
    if (d->aim.objective == SPEC_TIME)
        w.limit_ns[LAYER_MID] = fmin(w.limit_ns[LAYER_MID], dual_enough(d));
    do {
        w.again = false;
        if (!go_forward(&w))
            return false;
        go_back(&w);
        for (size_t s = 0; s < d->n; s++)
            drop_late(&w, s);
    } while (w.again);
    return true;
}
