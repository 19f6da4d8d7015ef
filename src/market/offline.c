#include "market/offline.h"

#include "base/mem.h"
#include "base/money.h"
#include "market/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A search that grows larger is split by when the job ends, which makes its bounds better. */
#define NODES_SPLIT ((size_t)1 << 10)
/* Nor is one begun when the bound is further than this, in parts, from what must be beaten. */
#define FAR_BOUND 3e-3
/* Cells of a relaxation that take as long as a lease of the search. */
#define CELLS_A_LEASE 400
/* So do comparisons with others. */
#define COMPARISONS_A_LEASE 16
#define NO_NODE UINT32_MAX
/* Bills are rounded line by line; nothing that could be as cheap is cut off. */
#define SLACK_USD 2e-5

/* A lease from its beginning, or a job without a machine. */
struct node {
    double usd, work; /* when it began */
    double begin_s, ready_s, finish_s;
    uint32_t step, parent;
    uint32_t offer; /* of the frame; OFFLINE_LEAVE = without a machine */
    uint32_t place; /* of the checkpoint */
    bool left;      /* without a machine: it left one of its own accord */
};

/* Nodes that are alive at one offer, or without a machine. */
struct alive {
    uint32_t *nodes;
    size_t n, cap;
};

struct market_offline {
    struct offline_frame frame;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    struct alive *at; /* an entry an offer, then one for those without */
    size_t n_at;
    double best_usd; /* of a whole way */
    double cut_usd;  /* what must be beaten */
    uint32_t best;   /* the last lease of that way; NO_NODE = not found by this search */
    bool found;      /* by any search: its plan is kept */
    size_t effort;   /* spent so far */
    size_t effort_max;
    uint32_t *front; /* alive before a step */
    size_t cap_front;
    struct market_action *plan;  /* of the best way */
    struct market_action *trial; /* of what is being tried */
    size_t cap_plan;
    struct market_reduced *reduced; /* of a question that brought none */
};

struct market_offline *market_offline_new(void)
{
    return mem_zero(1, sizeof(struct market_offline));
}

void market_offline_free(struct market_offline *o)
{
    if (!o)
        return;
    offline_frame_clear(&o->frame);
    market_reduced_free(o->reduced);
    for (size_t i = 0; i < o->n_at; i++)
        free(o->at[i].nodes);
    free(o->at);
    free(o->nodes);
    free(o->front);
    free(o->plan);
    free(o->trial);
    free(o);
}

/* ---- nodes ---- */

static double at_s(const struct market_offline *o, size_t step)
{
    return o->frame.scene->at_s[o->frame.q->start + step];
}

static bool on_machine(const struct node *n)
{
    return n->offer != OFFLINE_LEAVE;
}

static double usd_at(const struct market_offline *o, const struct node *n, size_t step)
{
    const struct market_scene *s = o->frame.scene;
    size_t offer, first = o->frame.q->start;

    if (!on_machine(n))
        return n->usd;
    offer = o->frame.reduced->offers[n->offer];
    return n->usd + s->paid_usd[(first + step) * s->n_offers + offer] -
           s->paid_usd[(first + n->step) * s->n_offers + offer];
}

static double work_at(const struct market_offline *o, const struct node *n, double now_s)
{
    const struct offline_frame *f = &o->frame;

    if (!on_machine(n))
        return n->work;
    if (!isfinite(f->scene->lease_max_s[f->reduced->offers[n->offer]]))
        return n->work + f->reduced->speed[n->offer] * fmax(0, now_s - n->ready_s);
    struct market_stay s =
        market_stay_of(f->job, f->reduced->offers[n->offer], n->begin_s, n->ready_s, true);
    return n->work + market_stay_work(&s, now_s);
}

/* When the present instance was launched and works: a lease that ends by itself is renewed. */
struct tenure {
    double begin_s, ready_s;
};

static struct tenure tenure_at(const struct market_offline *o, const struct node *n, double now_s)
{
    const struct offline_frame *f = &o->frame;
    double life_s = f->scene->lease_max_s[f->reduced->offers[n->offer]];
    double renewals = isfinite(life_s) ? floor((now_s - n->begin_s) / life_s) : 0;

    if (!(renewals > 0))
        return (struct tenure){n->begin_s, n->ready_s};
    double begin_s = n->begin_s + renewals * life_s;
    return (struct tenure){begin_s,
                           begin_s + f->job->switching.restart_s + f->job->switching.write_s};
}

/* Whether a is not worse than b from now on, both at the same place of the search: no more
 * expensive, no less done (be it left at once or once both work), and its lease no older. */
static bool as_good(const struct market_offline *o,
                    const struct node *a,
                    const struct node *b,
                    size_t step)
{
    const struct offline_frame *f = &o->frame;
    double now_s = at_s(o, step);
    double ahead = work_at(o, a, now_s) - work_at(o, b, now_s);

    if (usd_at(o, a, step) > usd_at(o, b, step) || ahead < 0)
        return false;
    if (!on_machine(a))
        return a->place == b->place && a->left <= b->left;
    struct tenure ta = tenure_at(o, a, now_s), tb = tenure_at(o, b, now_s);
    if (ahead < f->reduced->speed[a->offer] * (fmax(ta.ready_s, now_s) - fmax(tb.ready_s, now_s)))
        return false;
    return ta.begin_s >= tb.begin_s ||
           !isfinite(f->scene->lease_max_s[f->reduced->offers[a->offer]]);
}

/* Keeps a node alive unless one is as good; drops those that are not better. */
static void enter(struct market_offline *o, uint32_t id, size_t step)
{
    const struct node *node = &o->nodes[id];
    struct alive *at = &o->at[on_machine(node) ? node->offer : o->frame.n_offers];
    size_t n = 0;

    o->effort += 1 + at->n / COMPARISONS_A_LEASE;
    for (size_t i = 0; i < at->n; i++)
        if (as_good(o, &o->nodes[at->nodes[i]], node, step))
            return;
    for (size_t i = 0; i < at->n; i++)
        if (!as_good(o, node, &o->nodes[at->nodes[i]], step))
            at->nodes[n++] = at->nodes[i];
    at->nodes = mem_room(at->nodes, n, &at->cap, sizeof *at->nodes);
    at->nodes[n++] = id;
    at->n = n;
}

static uint32_t add_node(struct market_offline *o, const struct node *node)
{
    o->nodes = mem_room(o->nodes, o->n_nodes, &o->cap_nodes, sizeof *o->nodes);
    o->nodes[o->n_nodes] = *node;
    return (uint32_t)o->n_nodes++;
}

/* ---- one step ---- */

/* Begins on offer b, coming from node `from` at this step. */
static void begin_lease(struct market_offline *o, uint32_t from, size_t step, uint32_t b)
{
    const struct offline_frame *f = &o->frame;
    const struct node *n = &o->nodes[from];
    size_t nowhere = f->n_places - 1;
    uint32_t place = n->place == nowhere ? MARKET_NOWHERE : n->place;
    double now_s = at_s(o, step);
    bool leaves = on_machine(n) || n->left;
    struct node next = {.usd = usd_at(o, n, step) +
                               f->reduced->move_usd[n->place * f->n_places + f->reduced->place[b]],
                        .work = work_at(o, n, now_s),
                        .begin_s = now_s,
                        .step = (uint32_t)step,
                        .parent = from,
                        .offer = b,
                        .place = f->reduced->place[b]};

    next.ready_s = now_s + market_start_s(&f->job->switching, place, f->reduced->place[b], leaves);
    struct market_stay s =
        market_stay_of(f->job, f->reduced->offers[b], next.begin_s, next.ready_s, true);
    next.finish_s = market_stay_until(&s, f->q->work - next.work);
    enter(o, add_node(o, &next), step);
}

/* Tries every machine that may be worth beginning with now. */
static void begin_leases(struct market_offline *o, uint32_t from, size_t step)
{
    const struct offline_frame *f = &o->frame;
    const struct node n = o->nodes[from];
    double worth_left = f->worth * (f->q->work - work_at(o, &n, at_s(o, step)));
    double so_far = usd_at(o, &n, step) + worth_left;

    for (size_t p = 0; p + 1 < f->n_places; p++) {
        double moved = so_far + f->reduced->move_usd[n.place * f->n_places + p];
        if (moved + f->v.begin[step * f->n_places + p] > o->cut_usd)
            continue;
        for (size_t b = f->reduced->first[p]; b < f->reduced->first[p + 1]; b++)
            if (b != n.offer && offline_can_start(f, step, b) &&
                moved + offline_begin_usd(f, step, b) <= o->cut_usd)
                begin_lease(o, from, step, (uint32_t)b);
    }
}

/* The same job without a machine. */
static uint32_t without(struct market_offline *o, uint32_t from, size_t step, bool left)
{
    const struct node *n = &o->nodes[from];
    const struct node next = {.usd = usd_at(o, n, step),
                              .work = work_at(o, n, at_s(o, step)),
                              .step = (uint32_t)step,
                              .parent = from,
                              .offer = OFFLINE_LEAVE,
                              .place = n->place,
                              .left = left};

    return add_node(o, &next);
}

/* Nodes that have no future within the cut leave; those whose machine is taken back go without. */
static bool survives(struct market_offline *o, uint32_t *id, size_t step)
{
    const struct offline_frame *f = &o->frame;
    const struct node *n = &o->nodes[*id];
    double usd = usd_at(o, n, step) + f->worth * (f->q->work - work_at(o, n, at_s(o, step)));
    double rest = on_machine(n) ? f->v.on[step * f->n_offers + n->offer]
                                : f->v.off[step * f->n_places + n->place];

    if (usd + rest > o->cut_usd)
        return false;
    if (on_machine(n) && offline_taken_back(f, step, n->offer))
        *id = without(o, *id, step, false);
    return true;
}

/* All that nodes of before may do at this step. */
static void advance(struct market_offline *o, size_t step, size_t effort_max)
{
    const struct offline_frame *f = &o->frame;
    size_t n = 0;

    for (size_t i = 0; i <= f->n_offers; i++) {
        for (size_t k = 0; k < o->at[i].n; k++) {
            o->front = mem_room(o->front, n, &o->cap_front, sizeof *o->front);
            o->front[n++] = o->at[i].nodes[k];
        }
        o->at[i].n = 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (survives(o, &o->front[i], step))
            o->front[kept++] = o->front[i];
    for (size_t i = 0; i < kept; i++)
        if (on_machine(&o->nodes[o->front[i]]) || f->may_wait[step])
            enter(o, o->front[i], step);
    for (size_t i = 0; i < kept && o->effort <= effort_max; i++) {
        begin_leases(o, o->front[i], step);
        if (f->may_pause && on_machine(&o->nodes[o->front[i]]))
            enter(o, without(o, o->front[i], step, true), step);
    }
}

/* Only what is cheaper by more than the gap is still of interest. */
static void lower_cut(struct market_offline *o, double usd)
{
    o->cut_usd = fmin(o->cut_usd, usd * (1 - o->frame.q->gap));
}

/* Ways that end before the next step are measured and leave the search. */
static bool ends(struct market_offline *o, uint32_t id, size_t step)
{
    const struct offline_frame *f = &o->frame;
    const struct node *n = &o->nodes[id];
    double now_s = at_s(o, step);

    if (!on_machine(n) || n->finish_s > now_s + f->length_s[step])
        return false;
    double rest_s = fmax(0, n->finish_s - now_s);
    double usd_per_s = market_scene_usd(f->scene, f->q->start + step, f->reduced->offers[n->offer]);
    double usd = usd_at(o, n, step) + rest_s * usd_per_s;
    if (usd <= o->cut_usd && usd < o->best_usd) {
        o->best_usd = usd;
        lower_cut(o, usd);
        o->best = id;
    }
    return true;
}

static void end_some(struct market_offline *o, size_t step)
{
    for (size_t i = 0; i < o->frame.n_offers; i++) {
        struct alive *at = &o->at[i];
        size_t n = 0;
        for (size_t k = 0; k < at->n; k++)
            if (!ends(o, at->nodes[k], step))
                at->nodes[n++] = at->nodes[k];
        at->n = n;
    }
}

/* ---- the search ---- */

static void clear_search(struct market_offline *o)
{
    size_t wanted = o->frame.n_offers + 1;

    if (wanted > o->n_at) {
        o->at = mem_grow(o->at, wanted, sizeof *o->at);
        memset(o->at + o->n_at, 0, (wanted - o->n_at) * sizeof *o->at);
        o->n_at = wanted;
    }
    for (size_t i = 0; i < o->n_at; i++)
        o->at[i].n = 0;
    o->n_nodes = 0;
    o->best = NO_NODE;
}

static size_t count_alive(const struct market_offline *o)
{
    size_t n = 0;

    for (size_t i = 0; i <= o->frame.n_offers; i++)
        n += o->at[i].n;
    return n;
}

/* False when it grew too large; what it found until then is good. */
static bool search(struct market_offline *o, size_t effort)
{
    const struct offline_frame *f = &o->frame;
    size_t effort_max = o->effort + effort;
    const struct node root = {.begin_s = at_s(o, 0),
                              .parent = NO_NODE,
                              .offer = OFFLINE_LEAVE,
                              .place = (uint32_t)f->n_places - 1};

    clear_search(o);
    enter(o, add_node(o, &root), 0);
    for (size_t k = 0; k < f->n_steps; k++) {
        advance(o, k, effort_max);
        end_some(o, k);
        if (o->effort > effort_max)
            return false;
        if (!count_alive(o))
            break;
    }
    return true;
}

/* ---- ways as actions ---- */

static struct market_action decide_planned(const void *policy, const struct market_view *v)
{
    const struct market_offline *o = policy;

    if (v->decisions_made >= o->frame.all_steps)
        return (struct market_action){MARKET_STAY, v->offer};
    return o->plan[v->decisions_made];
}

static void plan_of_best(struct market_offline *o)
{
    const struct offline_frame *f = &o->frame;

    for (size_t k = 0; k < f->all_steps; k++)
        o->plan[k] = (struct market_action){MARKET_STAY, MARKET_NO_OFFER};
    for (uint32_t id = o->best; id != NO_NODE; id = o->nodes[id].parent) {
        const struct node *n = &o->nodes[id];
        if (on_machine(n))
            o->plan[n->step] = (struct market_action){MARKET_TAKE, f->reduced->offers[n->offer]};
        else if (n->left)
            o->plan[n->step] = (struct market_action){MARKET_PAUSE, MARKET_NO_OFFER};
    }
}

/* Does as the relaxation would, but until the work is done. */
static struct market_action relaxed_action(const struct offline_frame *f,
                                           const struct market_view *v)
{
    size_t k = v->decisions_made, a = 0;
    uint32_t act = OFFLINE_STAY;

    if (k < f->n_steps && v->offer == MARKET_NO_OFFER) {
        size_t p = v->checkpoint == MARKET_NOWHERE ? f->n_places - 1 : v->checkpoint;
        act = offline_act_off(f, k, p);
    } else if (k < f->n_steps) {
        while (a < f->n_offers && f->reduced->offers[a] != v->offer)
            a++;
        act = offline_act_on(f, k, a);
    }
    if (act == OFFLINE_LEAVE)
        return (struct market_action){MARKET_PAUSE, MARKET_NO_OFFER};
    if (act == OFFLINE_STAY || !v->may_start[f->reduced->offers[act]])
        return (struct market_action){MARKET_STAY, v->offer};
    return (struct market_action){MARKET_TAKE, f->reduced->offers[act]};
}

static struct market_action decide_relaxed(const void *policy, const struct market_view *v)
{
    const struct market_offline *o = policy;
    struct market_action act = relaxed_action(&o->frame, v);

    if (v->decisions_made < o->frame.all_steps)
        o->trial[v->decisions_made] = act;
    return act;
}

static struct market_bill replay(const struct market_offline_question *q,
                                 market_decider decide,
                                 const void *policy,
                                 struct market_log *log)
{
    return market_replay_run(&(struct market_replay){.job = q->job,
                                                     .start = q->start,
                                                     .work = q->work,
                                                     .deadline_s = q->deadline_s,
                                                     .decide = decide,
                                                     .policy = policy,
                                                     .foresees = true,
                                                     .log = log});
}

/* ---- answers ---- */

/* The relaxation's own way is often nearly the best: the less is left to search. */
static void try_relaxed(struct market_offline *o)
{
    const struct market_offline_question *q = o->frame.q;

    for (size_t k = 0; k < o->frame.all_steps; k++)
        o->trial[k] = (struct market_action){MARKET_STAY, MARKET_NO_OFFER};
    struct market_bill b = replay(q, decide_relaxed, o, NULL);
    double usd = money_to_usd(b.cost_microusd);
    if (!b.finished || b.finish_s > q->deadline_s || usd > o->cut_usd || usd > o->best_usd)
        return;
    struct market_action *plan = o->plan;
    o->plan = o->trial;
    o->trial = plan;
    o->best_usd = usd;
    o->found = true;
    lower_cut(o, usd + SLACK_USD);
}

static bool search_part(struct market_offline *o, size_t effort)
{
    bool whole = search(o, effort);

    if (o->best != NO_NODE) {
        plan_of_best(o);
        o->found = true;
    }
    return whole;
}

/* Searches the ways that end between two steps; work is worth about `worth`. Returns INFINITY, or
 * when the effort did not suffice, a bound for those that were left. */
static double solve_part(struct market_offline *o, size_t from, size_t to, double worth)
{
    struct offline_frame *f = &o->frame;

    offline_frame_part(f, from, to);
    double bound = offline_bound(f, worth, o->cut_usd);
    o->effort += f->n_passes * f->n_steps * f->n_offers / CELLS_A_LEASE + 1;
    if (bound > o->cut_usd)
        return (double)INFINITY;
    worth = f->worth;
    try_relaxed(o);
    if (bound > o->cut_usd)
        return (double)INFINITY; /* what was just found is as good as any */
    bool far = bound < o->cut_usd * (1 - FAR_BOUND) && isfinite(o->cut_usd);
    size_t left = o->effort < o->effort_max ? o->effort_max - o->effort : 0;
    if (from == to)
        return search_part(o, left) ? (double)INFINITY : bound;
    if (!far && search_part(o, left < NODES_SPLIT ? left : NODES_SPLIT))
        return (double)INFINITY;
    if (o->effort >= o->effort_max)
        return bound;
    size_t middle = from + (to - from) / 2;
    double first = solve_part(o, from, middle, worth);
    return fmin(first, solve_part(o, middle + 1, to, worth));
}

static void begin_question(struct market_offline *o, const struct market_offline_question *q)
{
    double upper_usd = q->upper_usd + SLACK_USD;
    const struct market_reduced *reduced = q->reduced;

    if (!reduced) {
        market_reduced_free(o->reduced);
        reduced = o->reduced = market_reduced_new(q->job);
    }
    assert(reduced->job == q->job);
    o->cut_usd = upper_usd * (1 - q->gap);
    offline_frame_set(&o->frame, q, reduced, o->cut_usd);
    if (o->frame.all_steps > o->cap_plan) {
        o->cap_plan = o->frame.all_steps;
        o->plan = mem_grow(o->plan, o->cap_plan, sizeof *o->plan);
        o->trial = mem_grow(o->trial, o->cap_plan, sizeof *o->trial);
    }
    o->best_usd = (double)INFINITY;
    o->found = false;
    o->effort = 0;
    o->effort_max = q->effort ? q->effort : MARKET_EFFORT;
}

struct market_offline_answer market_offline_solve(struct market_offline *o,
                                                  const struct market_offline_question *q)
{
    struct market_offline_answer out = {.bill = {.first = MARKET_NO_OFFER}};
    const struct offline_frame *f = &o->frame;
    double left_usd = (double)INFINITY;
    size_t first = 0;

    begin_question(o, q);
    if (f->n_steps && f->n_offers) {
        while (first + 1 < f->all_steps && !f->can_end[first])
            first++;
        double guess = fmin(o->cut_usd / q->work, 4 * q->job->lowest_later[q->start]);
        left_usd = solve_part(o, first, f->all_steps - 1, guess);
    }
    out.proved = !isfinite(left_usd);
    out.effort = o->effort;
    if (o->found)
        out.bill = replay(q, decide_planned, o, q->log);
    out.upper_stands = !o->found && isfinite(q->upper_usd);
    double usd = o->found ? money_to_usd(out.bill.cost_microusd) : q->upper_usd;
    out.bound_usd = fmin(usd * (1 - q->gap), left_usd);
    return out;
}
