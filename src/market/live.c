#include "market/live.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600.0
#define WEEK_S (7 * 86400.0)
/* A single transfer is one of so many in a month, as in the published table. */
#define MOVES_A_MONTH 10000

static bool has_name(const struct market_names *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->names[i], name) == 0)
            return true;
    return false;
}

static void add_name(struct market_names *l, const char *name)
{
    if (has_name(l, name))
        return;
    l->names = mem_room(l->names, l->n, &l->cap, sizeof *l->names);
    l->names[l->n++] = name;
}

/* ---- clouds, offers and the time they cover ---- */

static bool usable(const struct market_live_wish *w, const struct market_offer *o)
{
    return o->n_points && *o->gpu && o->gpus > 0 &&
           (strcmp(o->cloud, w->cloud) != 0 || strcmp(o->region, w->region) == 0);
}

struct span {
    double begin_s, end_s;
};

/* From the first offer's first price to the last one's end. */
static struct span span_of(const struct market_live_wish *w, const char *cloud, const char *gpu)
{
    struct span s = {(double)INFINITY, -(double)INFINITY};

    for (size_t i = 0; i < w->market->n_offers; i++) {
        const struct market_offer *o = &w->market->offers[i];
        if (!usable(w, o) || strcmp(o->cloud, cloud) != 0 || (gpu && strcmp(o->gpu, gpu) != 0))
            continue;
        s.begin_s = fmin(s.begin_s, o->begin_s);
        s.end_s = fmax(s.end_s, o->end_s);
    }
    return s;
}

static void choose_clouds(struct market_live *l, const struct market_live_wish *w)
{
    add_name(&l->clouds, w->cloud);
    for (size_t i = 0; i < w->n_clouds; i++)
        add_name(&l->clouds, w->clouds[i]);
    for (size_t i = 0; !w->clouds && i < w->market->n_offers; i++) {
        const struct market_offer *o = &w->market->offers[i];
        if (!usable(w, o) || has_name(&l->clouds, o->cloud) || has_name(&l->left_out, o->cloud))
            continue;
        struct span s = span_of(w, o->cloud, NULL);
        size_t covered = 0;
        for (size_t k = 0; k < w->n_starts; k++)
            covered += w->starts_s[k] >= s.begin_s && w->starts_s[k] < s.end_s;
        add_name(2 * covered >= w->n_starts ? &l->clouds : &l->left_out, o->cloud);
    }
}

/* What all clouds and the reference GPU of the region cover. */
static int common_span(struct market_live *l,
                       const struct market_live_wish *w,
                       struct span *out,
                       struct err *e)
{
    *out = span_of(w, w->cloud, MARKET_REFERENCE_GPU);
    if (!isfinite(out->begin_s))
        return err_set(e, ERR_NOFIT, "no history of a %s in %s:%s was imported",
                       MARKET_REFERENCE_GPU, w->cloud, w->region);
    for (size_t i = 0; i < l->clouds.n; i++) {
        struct span s = span_of(w, l->clouds.names[i], NULL);
        if (!isfinite(s.begin_s))
            return err_set(e, ERR_NOFIT, "no history of GPU machines of %s was imported",
                           l->clouds.names[i]);
        out->begin_s = fmax(out->begin_s, s.begin_s);
        out->end_s = fmin(out->end_s, s.end_s);
    }
    return 0;
}

static int note_starts(struct market_live *l,
                       const struct market_live_wish *w,
                       const struct span *covered,
                       struct err *e)
{
    size_t n = 0;

    l->n_starts = w->n_starts;
    l->starts = arena_zero(l->arena, w->n_starts + 1, sizeof *l->starts);
    for (size_t i = 0; i < w->n_starts; i++) {
        struct market_live_start *s = &l->starts[i];
        s->at_s = w->starts_s[i];
        s->state = s->at_s < covered->begin_s  ? MARKET_START_TOO_EARLY
                   : s->at_s >= covered->end_s ? MARKET_START_TOO_LATE
                                               : MARKET_START_COVERED;
        n += s->state == MARKET_START_COVERED;
    }
    return n ? 0
             : err_set(e, ERR_NOFIT,
                       "none of %zu starts is covered by the histories of all clouds; "
                       "take other days, or fewer clouds",
                       w->n_starts);
}

/* ---- the scene ---- */

static double preemptions(struct market_live *l,
                          const struct market_live_wish *w,
                          const struct market_offer *o)
{
    double per_h = w->preemptions_of ? w->preemptions_of(w->context, o) : w->preemptions_per_h;

    if (per_h >= 0)
        return per_h;
    per_h = market_preemptions_measured(w->market, o);
    if (isnan(per_h))
        add_name(&l->unmeasured, o->cloud);
    return isnan(per_h) ? 0 : per_h;
}

static void allow(struct market_live *l, const struct market_live_wish *w)
{
    const struct market_scene *s = l->scene;

    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++)
        l->may_use[i] = arena_zero(l->arena, s->n_offers, sizeof(bool));
    for (size_t i = 0; i < s->n_offers; i++) {
        const struct market_offer *o = s->offers[i];
        bool home = strcmp(o->cloud, w->cloud) == 0, one = o->gpus <= 1;
        l->may_use[MARKET_SINGLE][i] = home && one && strcmp(o->gpu, MARKET_REFERENCE_GPU) == 0;
        l->may_use[MARKET_GPU_TYPE][i] = home && one;
        l->may_use[MARKET_MULTI_GPU][i] = home;
        l->may_use[MARKET_MULTI_CLOUD][i] = l->may_use[MARKET_DYNAMIC][i] = true;
    }
}

static int make_scene(struct market_live *l,
                      const struct market_live_wish *w,
                      const struct span *covered,
                      struct err *e)
{
    size_t all = w->market->n_offers, n = 0;
    AUTO_MEM const struct market_offer **offers = mem_zero(all + 1, sizeof *offers);
    AUTO_MEM double *per_h = mem_zero(all + 1, sizeof *per_h);
    double first_s = w->starts_s[w->n_starts - 1];

    for (size_t i = 0; i < all; i++) {
        const struct market_offer *o = &w->market->offers[i];
        if (!usable(w, o) || !has_name(&l->clouds, o->cloud))
            continue;
        per_h[n] = preemptions(l, w, o);
        offers[n++] = o;
    }
    for (size_t i = w->n_starts; i-- > 0;)
        if (l->starts[i].state == MARKET_START_COVERED)
            first_s = w->starts_s[i];
    const struct market_scene_wish scene = {
        .offers = offers,
        .preemptions_per_h = per_h,
        .n_offers = n,
        .starts_s = w->starts_s,
        .n_starts = w->n_starts,
        .begin_s = fmax(covered->begin_s, first_s - WEEK_S), /* what policies may look back on */
        .end_s = covered->end_s,
        .look_s = w->looks ? HOUR_S : 0,
        .use = w->use,
        .seed = w->seed,
    };
    l->scene = market_scene_new(&scene, e);
    return l->scene ? 0 : -1;
}

static void note_lowest(struct market_live *l)
{
    const struct market_scene *s = l->scene;
    size_t n = s->n_offers, k = s->n_events - 1;
    AUTO_MEM double *lowest = mem_zero(n + 1, sizeof *lowest);

    l->lowest_usd_per_s = arena_zero(l->arena, l->n_starts * n + 1, sizeof *l->lowest_usd_per_s);
    for (size_t a = 0; a < n; a++)
        lowest[a] = (double)INFINITY;
    for (size_t i = l->n_starts; i-- > 0;) {
        while (k > market_scene_event(s, l->starts[i].at_s)) {
            k--;
            for (size_t a = 0; a < n; a++)
                lowest[a] = fmin(lowest[a], market_scene_usd(s, k, a)); /* NaN is no price */
        }
        memcpy(l->lowest_usd_per_s + i * n, lowest, n * sizeof *lowest);
    }
}

struct market_live *market_live_new(const struct market_live_wish *w, struct err *e)
{
    AUTO(market_live) struct market_live *l = mem_zero(1, sizeof *l);
    struct span covered;

    if (!w->n_starts) {
        err_set(e, ERR_USAGE, "no start day");
        return NULL;
    }
    l->arena = arena_new(SIZE_MAX);
    choose_clouds(l, w);
    if (common_span(l, w, &covered, e) < 0 || note_starts(l, w, &covered, e) < 0 ||
        make_scene(l, w, &covered, e) < 0)
        return NULL;
    allow(l, w);
    note_lowest(l);
    l->offline = market_offline_new();
    return TAKE(l);
}

void market_live_free(struct market_live *l)
{
    if (!l)
        return;
    market_scene_free(l->scene);
    market_offline_free(l->offline);
    free(l->clouds.names);
    free(l->left_out.names);
    free(l->unmeasured.names);
    arena_free(l->arena);
    free(l);
}

/* ---- moving checkpoints ---- */

static const char *tier(const struct market_offer *from, const struct market_offer *to)
{
    if (strcmp(from->cloud, to->cloud) != 0)
        return "internet";
    return strcmp(from->region, to->region) == 0 ? "same_region" : "other_region";
}

double *market_live_moves(const struct market_live *l,
                          const struct market_tables *t,
                          double checkpoint_gb)
{
    size_t n = l->scene->n_places;
    double *usd = mem_zero(n * n, sizeof *usd);

    for (size_t from = 0; from < n; from++)
        for (size_t to = 0; to < n; to++) {
            const struct market_offer *a = l->scene->places[from], *b = l->scene->places[to];
            double gb = checkpoint_gb * MOVES_A_MONTH;
            double all = market_tables_egress_usd(t, a->cloud, tier(a, b), gb);
            /* A cloud without a price between its regions sends by the internet. */
            if (isnan(all))
                all = market_tables_egress_usd(t, a->cloud, "internet", gb);
            usd[from * n + to] = isnan(all) ? 0 : all / MOVES_A_MONTH;
        }
    return usd;
}

/* ---- replays ---- */

const char *const market_start_texts[MARKET_START_IMPOSSIBLE + 1] = {
    [MARKET_START_COVERED] = "covered",
    [MARKET_START_TOO_EARLY] = "before the histories of all clouds begin",
    [MARKET_START_TOO_LATE] = "after a history ends",
    [MARKET_START_CUT] = "a history ends before the job does",
    [MARKET_START_IMPOSSIBLE] = "no strategy could keep the deadline",
};

/* The lowest price of work, averaged over the week before. */
static double usual_rate(const struct market_job *j, size_t start)
{
    const struct market_scene *s = j->scene;
    size_t first = market_scene_event(s, s->at_s[start] - WEEK_S);
    double sum = 0, length_s = 0;

    if (first == start) /* nothing came before: as it is now */
        start++;
    for (size_t k = first; k < start; k++) {
        double low = (double)INFINITY, step_s = s->at_s[k + 1] - s->at_s[k];
        for (size_t i = 0; i < s->n_offers; i++)
            if (j->work_per_s[i] > 0)
                low = fmin(low, market_scene_usd(s, k, i) / j->work_per_s[i]);
        if (isfinite(low)) {
            sum += low * step_s;
            length_s += step_s;
        }
    }
    return length_s > 0 ? sum / length_s : 0;
}

static struct market_policy policy_of(const struct market_live *l,
                                      const struct market_live_question *q,
                                      size_t strategy,
                                      size_t start)
{
    struct market_policy p = {.kind = MARKET_STATIC};

    if (strategy == MARKET_DYNAMIC)
        p = q->policy;
    p.may_use = l->may_use[strategy];
    if (p.kind == MARKET_THRESHOLD && isnan(p.usd_per_work))
        p.usd_per_work = usual_rate(q->job, start);
    return p;
}

struct market_policy market_live_policy(const struct market_live *l,
                                        const struct market_live_question *q,
                                        double start_s)
{
    return policy_of(l, q, MARKET_DYNAMIC, market_scene_event(l->scene, start_s));
}

/* One start under way. */
struct replay {
    struct market_live *live;
    const struct market_live_question *q;
    struct market_replay replay;
    double upper_usd;               /* for the optimum */
    const double *lowest_usd_per_s; /* of each offer, from the start on */
};

static struct replay replay_of(struct market_live *l,
                               const struct market_live_question *q,
                               double start_s)
{
    return (struct replay){.live = l,
                           .q = q,
                           .replay = {.job = q->job,
                                      .start = market_scene_event(l->scene, start_s),
                                      .work = q->work,
                                      .deadline_s = start_s + q->deadline_after_s},
                           .upper_usd = (double)INFINITY};
}

static bool in_time(const struct replay *r, const struct market_bill *b)
{
    return b->finished && b->finish_s <= r->replay.deadline_s;
}

static void note_upper(struct replay *r, const struct market_bill *b)
{
    double usd = money_to_usd(b->cost_microusd);

    if (in_time(r, b) && usd < r->upper_usd)
        r->upper_usd = usd;
}

static void run_strategies(struct replay *r, struct market_live_start *s)
{
    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++) {
        const struct market_policy p = policy_of(r->live, r->q, i, r->replay.start);
        s->bills[i] = market_replay_policy(r->replay, &p);
        note_upper(r, &s->bills[i]);
        if (!s->bills[i].finished)
            s->state = MARKET_START_CUT;
    }
}

/* In time before late, done before cut off, then the cheaper one. */
static bool better(const struct replay *r, const struct market_bill *a, const struct market_bill *b)
{
    if (in_time(r, a) != in_time(r, b))
        return in_time(r, a);
    if (a->finished != b->finished)
        return a->finished;
    return a->cost_microusd < b->cost_microusd;
}

/* What staying on an offer costs at least: all work at its lowest price from then on. Every lease
 * begins at an event, and its two lines are rounded by half a micro-dollar each at most. */
static double static_least_usd(const struct replay *r, size_t offer)
{
    const struct market_scene *s = r->live->scene;
    double usd = r->q->work / r->q->job->speed[offer] * r->lowest_usd_per_s[offer];

    return usd - 1e-6 * (double)s->n_events;
}

static void try_static(struct replay *r, struct market_live_start *s, size_t offer)
{
    struct market_bill *best = &s->bills[MARKET_ROW_BEST_STATIC];
    const struct market_bill bill = market_replay_fixed(&r->replay, offer);

    note_upper(r, &bill);
    if (s->static_offer == MARKET_NO_OFFER || better(r, &bill, best) ||
        (offer < s->static_offer && !better(r, best, &bill))) {
        s->static_offer = offer;
        *best = bill;
    }
}

/* The one that looks best goes first: most others need not be tried then. */
static void run_statics(struct replay *r, struct market_live_start *s)
{
    size_t n = r->live->scene->n_offers, first = MARKET_NO_OFFER;

    s->static_offer = MARKET_NO_OFFER;
    for (size_t i = 0; i < n; i++)
        if (r->q->job->speed[i] > 0 &&
            (first == MARKET_NO_OFFER || static_least_usd(r, i) < static_least_usd(r, first)))
            first = i;
    try_static(r, s, first);
    for (size_t i = 0; i < n; i++) {
        const struct market_bill *best = &s->bills[MARKET_ROW_BEST_STATIC];
        bool hopeless =
            in_time(r, best) && static_least_usd(r, i) > money_to_usd(best->cost_microusd);
        if (i != first && r->q->job->speed[i] > 0 && !hopeless)
            try_static(r, s, i);
    }
}

static struct market_offline_question offline_question(const struct replay *r)
{
    return (struct market_offline_question){.job = r->replay.job,
                                            .reduced = r->q->reduced,
                                            .start = r->replay.start,
                                            .work = r->replay.work,
                                            .deadline_s = r->replay.deadline_s,
                                            .upper_usd = r->upper_usd,
                                            .effort = r->q->effort,
                                            .gap = r->q->gap};
}

static size_t cheapest_row(const struct replay *r, const struct market_live_start *s)
{
    size_t row = MARKET_ROW_BEST_STATIC;

    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++)
        if (better(r, &s->bills[i], &s->bills[row]))
            row = i;
    return row;
}

static void replay_start(struct market_live *l,
                         const struct market_live_question *q,
                         struct market_live_start *s,
                         const double *lowest_usd_per_s)
{
    struct replay r = replay_of(l, q, s->at_s);

    r.lowest_usd_per_s = lowest_usd_per_s;
    run_strategies(&r, s);
    if (s->state != MARKET_START_COVERED)
        return;
    run_statics(&r, s);
    const struct market_offline_question asked = offline_question(&r);
    struct market_offline_answer a = market_offline_solve(l->offline, &asked);
    s->offline_row = a.upper_stands ? cheapest_row(&r, s) : MARKET_ROW_OFFLINE;
    s->bills[MARKET_ROW_OFFLINE] = a.upper_stands ? s->bills[s->offline_row] : a.bill;
    s->proved = a.proved;
    s->bound_usd = a.bound_usd;
    if (!s->bills[MARKET_ROW_OFFLINE].finished)
        s->state = MARKET_START_IMPOSSIBLE;
}

/* ---- means ---- */

static void add_up(struct market_live_answer *a, size_t row, double deadline_after_s)
{
    struct market_live_mean *m = &a->means[row];
    double n = (double)a->n_covered;
    int64_t microusd = 0;

    for (size_t i = 0; i < a->n_starts; i++) {
        const struct market_live_start *s = &a->starts[i];
        const struct market_bill *b = &s->bills[row];
        if (s->state != MARKET_START_COVERED)
            continue;
        microusd += b->cost_microusd;
        m->hours += (b->finish_s - s->at_s) / HOUR_S;
        m->switches += (double)b->switches;
        m->preemptions += (double)b->preemptions;
        m->switches_max = b->switches > m->switches_max ? b->switches : m->switches_max;
        m->late += b->finish_s > s->at_s + deadline_after_s;
    }
    m->cost_usd = money_to_usd(microusd) / n;
    m->hours /= n;
    m->switches /= n;
    m->preemptions /= n;
}

void market_live_replay(struct market_live *l,
                        const struct market_live_question *q,
                        struct market_live_answer *out)
{
    AUTO(market_reduced)
    struct market_reduced *reduced = q->reduced ? NULL : market_reduced_new(q->job);
    struct market_live_question asked = *q;

    if (reduced)
        asked.reduced = reduced;
    *out = (struct market_live_answer){.n_starts = l->n_starts};
    out->starts = mem_zero(l->n_starts, sizeof *out->starts);
    for (size_t i = 0; i < l->n_starts; i++) {
        struct market_live_start *s = &out->starts[i];
        *s = l->starts[i];
        if (s->state == MARKET_START_COVERED)
            replay_start(l, &asked, s, l->lowest_usd_per_s + i * l->scene->n_offers);
        out->bound_usd += s->state == MARKET_START_COVERED ? s->bound_usd : 0;
        out->n_covered += s->state == MARKET_START_COVERED;
        out->n_proved += s->state == MARKET_START_COVERED && s->proved;
    }
    out->bound_usd /= (double)out->n_covered;
    for (size_t row = 0; row < MARKET_N_ROWS; row++)
        add_up(out, row, q->deadline_after_s);
}

void market_live_answer_clear(struct market_live_answer *a)
{
    free(a->starts);
    *a = (struct market_live_answer){0};
}

void market_live_follow(struct market_live *l,
                        const struct market_live_question *q,
                        const struct market_live_start *start,
                        size_t row,
                        struct market_log *log)
{
    struct replay r = replay_of(l, q, start->at_s);

    r.replay.log = log;
    if (row == MARKET_ROW_OFFLINE)
        row = start->offline_row;
    if (row < MARKET_N_STRATEGIES) {
        const struct market_policy p = policy_of(l, q, row, r.replay.start);
        market_replay_policy(r.replay, &p);
    } else if (row == MARKET_ROW_BEST_STATIC) {
        market_replay_fixed(&r.replay, start->static_offer);
    } else {
        struct market_offline_question asked = offline_question(&r);
        asked.upper_usd = money_to_usd(start->bills[MARKET_ROW_OFFLINE].cost_microusd);
        asked.gap = 0; /* what was found is found again, or something better */
        asked.effort = 0;
        asked.log = log;
        market_offline_solve(l->offline, &asked);
    }
}
