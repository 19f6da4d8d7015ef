#include "policy/rounds.h"

#include "base/arena.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- time and prices ---- */

double rounds_capacity(const struct sim *s, size_t type)
{
    return fmax(0, s->p->types[type].quota - s->taken[type]);
}

size_t rounds_interval(const struct sim *s, int64_t at_ms)
{
    size_t low = 0, high = s->p->n_intervals;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->interval_ms[middle] <= at_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool rounds_uses_deadlines(enum policy_kind kind)
{
    return kind == POLICY_MIN_COST_SLO || kind == POLICY_THROUGHPUT_PER_DOLLAR;
}

/* Prices that a policy does not look at are no reason to ask it again. */
static bool uses_prices(const struct rounds_ask *ask)
{
    if (ask->kind == POLICY_MIN_MAKESPAN)
        return isfinite(ask->problem->budget_usd);
    return ask->kind != POLICY_MAX_THROUGHPUT;
}

/* ---- what is asked ---- */

static int check(const struct rounds_ask *ask, struct err *e)
{
    const struct policy_problem *p = ask->problem;

    assert(ask->round_ms > 0 && ask->round_ms <= ROUNDS_ROUND_MS_MAX && ask->restart_ms >= 0);
    if (p->n_jobs == 0 || p->n_types == 0)
        return err_set(e, ERR_USAGE, "no %s: add at least one", p->n_jobs == 0 ? "jobs" : "types");
    if (ask->restart_ms >= ask->round_ms)
        return err_set(e, ERR_USAGE,
                       "a restart of %.4g s takes a whole round of %.4g s: no job would get on; "
                       "make rounds longer",
                       (double)ask->restart_ms / 1e3, (double)ask->round_ms / 1e3);
    for (size_t m = 0; m < p->n_jobs; m++)
        if (p->jobs[m].iterations <= 0)
            return err_set(e, ERR_USAGE,
                           "job \"%.100s\" has no iterations: a job of a trace needs an end",
                           p->jobs[m].name);
    return 0;
}

/* ---- beginning and end ---- */

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    /* What comes back at the same moment keeps somebody in. */
    if ((x->instances > 0) != (y->instances > 0))
        return x->instances > 0 ? 1 : -1;
    return (x->preemption > y->preemption) - (x->preemption < y->preemption);
}

static void init_edges(struct sim *s)
{
    const struct rounds_ask *ask = s->ask;

    s->edges = arena_zero(s->arena, 2 * ask->n_preemptions + 1, sizeof *s->edges);
    for (size_t i = 0; i < ask->n_preemptions; i++) {
        const struct rounds_preemption *x = &ask->preemptions[i];
        struct edge edge = {x->at_ms, x->type, (uint32_t)i, x->instances};
        s->edges[s->n_edges++] = edge;
        edge.at_ms = x->until_ms;
        edge.instances = -x->instances;
        if (x->until_ms != ROUNDS_NEVER)
            s->edges[s->n_edges++] = edge;
    }
    qsort(s->edges, s->n_edges, sizeof *s->edges, by_time);
}

static int by_arrival(const void *a, const void *b, void *jobs)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t at_x = ((const struct rounds_job *)jobs)[x].arrival_ms;
    int64_t at_y = ((const struct rounds_job *)jobs)[y].arrival_ms;

    if (at_x != at_y)
        return at_x < at_y ? -1 : 1;
    return (x > y) - (x < y);
}

static void init_queue(struct sim *s)
{
    size_t n = s->p->n_jobs;

    for (size_t m = 0; m < n; m++)
        s->queue[m] = (uint32_t)m;
    qsort_r(s->queue, n, sizeof *s->queue, by_arrival, s->out->jobs);
    s->out->first_ms = s->out->last_ms = s->out->jobs[s->queue[0]].arrival_ms;
}

static void init_jobs(struct sim *s)
{
    const struct policy_problem *p = s->p;
    AUTO_CLEAR(scope) struct scope scope;

    scope_init(&scope, p);
    for (size_t m = 0; m < p->n_jobs; m++) {
        size_t type;
        int64_t arrival = rounds_ms(s->ask->arrival_h[m]);
        bool due = isfinite(p->jobs[m].slo_h);
        s->out->jobs[m] = (struct rounds_job){
            .arrival_ms = arrival,
            .deadline_ms = due ? arrival + rounds_ms(p->jobs[m].slo_h) : ROUNDS_NEVER,
            .start_ms = ROUNDS_NEVER,
            .finish_ms = ROUNDS_NEVER,
            .short_known_ms = ROUNDS_NEVER,
            .is_nowhere = !isfinite(scope_cheapest(&scope, m, &type)),
        };
        s->due_ms[m] =
            rounds_uses_deadlines(s->ask->kind) ? s->out->jobs[m].deadline_ms : ROUNDS_NEVER;
        s->left[m] = p->jobs[m].iterations;
        s->on[m] = s->before[m] = NO_TYPE;
    }
}

static void sim_init(struct sim *s, const struct rounds_ask *ask, struct rounds_result *out)
{
    const struct policy_problem *p = ask->problem;
    size_t jobs = p->n_jobs + 1, types = p->n_types + 1;

    *out = (struct rounds_result){
        .jobs = mem_zero(jobs, sizeof *out->jobs),
        .n_jobs = p->n_jobs,
        .type_ms = mem_zero(jobs * types, sizeof *out->type_ms),
        .used_ms = mem_zero(types, sizeof *out->used_ms),
        .broke_known_ms = ROUNDS_NEVER,
        .bound_usd = (double)NAN,
        .bound_end_h = (double)NAN,
    };
    *s = (struct sim){.ask = ask, .p = p, .out = out, .arena = arena_new(SIZE_MAX)};
    s->left = arena_zero(s->arena, jobs, sizeof *s->left);
    s->on = arena_zero(s->arena, jobs, sizeof *s->on);
    s->before = arena_zero(s->arena, jobs, sizeof *s->before);
    s->lease_ms = arena_zero(s->arena, jobs, sizeof *s->lease_ms);
    s->is_placed = arena_zero(s->arena, jobs, sizeof *s->is_placed);
    s->is_overdue = arena_zero(s->arena, jobs, sizeof *s->is_overdue);
    s->due_ms = arena_zero(s->arena, jobs, sizeof *s->due_ms);
    s->queue = arena_zero(s->arena, jobs, sizeof *s->queue);
    s->active = arena_zero(s->arena, jobs, sizeof *s->active);
    s->interval_ms = arena_zero(s->arena, p->n_intervals + 1, sizeof *s->interval_ms);
    s->taken = arena_zero(s->arena, types, sizeof *s->taken);
    s->used = arena_zero(s->arena, types, sizeof *s->used);
    s->used_group = arena_zero(s->arena, p->n_groups + 1, sizeof *s->used_group);
    s->runs = arena_zero(s->arena, jobs, sizeof *s->runs);
    s->types_now = arena_zero(s->arena, types, sizeof *s->types_now);
    s->jobs_now = arena_zero(s->arena, jobs, sizeof *s->jobs_now);
    s->number_now = arena_zero(s->arena, jobs, sizeof *s->number_now);
    s->on_now = arena_zero(s->arena, jobs, sizeof *s->on_now);
    for (size_t i = 0; i < p->n_intervals; i++)
        s->interval_ms[i] = rounds_ms(p->intervals[i].end_h);
    init_jobs(s);
    init_queue(s);
    init_edges(s);
}

static void sim_clear(struct sim *s)
{
    free(s->claims);
    free((void *)s->order);
    arena_free(s->arena);
}

void rounds_result_clear(struct rounds_result *r)
{
    free(r->jobs);
    free(r->type_ms);
    free(r->used_ms);
    *r = (struct rounds_result){0};
}

/* ---- from round to round ---- */

static int64_t next_arrival_ms(const struct sim *s)
{
    return s->next_arrival < s->p->n_jobs ? s->out->jobs[s->queue[s->next_arrival]].arrival_ms
                                          : ROUNDS_NEVER;
}

/* A job that missed its deadline is to be done soon all the same: in twice the time that the rest
 * takes where it is fastest, or a round. */
static int64_t next_due_ms(const struct sim *s, uint32_t m)
{
    double fastest = POLICY_NUMBER_MIN, round = (double)s->ask->round_ms;

    for (size_t j = 0; j < s->p->n_types; j++)
        fastest = fmax(fastest, s->p->jobs[m].throughput[j]);
    double ms = floor(2 * s->left[m] / fastest * ROUNDS_HOUR_MS + 0.5);
    return s->at_ms + (int64_t)fmin(fmax(ms, round), ROUNDS_HOURS_MAX * ROUNDS_HOUR_MS);
}

/* What has happened up to the beginning of the round. */
static void look_round(struct sim *s)
{
    while (next_arrival_ms(s) <= s->at_ms) {
        s->active[s->n_active++] = s->queue[s->next_arrival++];
        s->why |= ROUNDS_ARRIVAL;
    }
    for (; s->next_edge < s->n_edges && s->edges[s->next_edge].at_ms <= s->at_ms; s->next_edge++) {
        s->taken[s->edges[s->next_edge].type] += s->edges[s->next_edge].instances;
        s->why |= ROUNDS_QUOTA;
    }
    for (size_t i = 0; i < s->n_active; i++) {
        uint32_t m = s->active[i];
        if (s->due_ms[m] > s->at_ms)
            continue;
        s->is_overdue[m] = true;
        s->due_ms[m] = next_due_ms(s, m);
        s->why |= ROUNDS_DEADLINE;
    }
    if (uses_prices(s->ask) && rounds_interval(s, s->at_ms) != s->interval)
        s->why |= ROUNDS_PRICE;
}

/* Goes to the first beginning of a round when something will have happened; false when nothing more
 * will. */
static bool skip_idle(struct sim *s)
{
    int64_t next = next_arrival_ms(s), round = s->ask->round_ms;

    if (s->n_active > 0 && s->next_edge < s->n_edges && s->edges[s->next_edge].at_ms < next)
        next = s->edges[s->next_edge].at_ms;
    if (next == ROUNDS_NEVER)
        return false;
    if (next > s->at_ms)
        s->at_ms = (next + round - 1) / round * round;
    return true;
}

static bool is_stopped(const struct sim *s)
{
    const struct rounds_watch *watch = s->ask->watch;

    return watch && watch->stop && watch->stop(watch->context, s->out->n_done);
}

static int one_round(struct sim *s, struct err *e)
{
    if (++s->out->rounds > ROUNDS_MAX)
        return err_set(e, ERR_USAGE,
                       "no end after %d rounds, at hour %.4g with %zu of %zu jobs done: take "
                       "longer rounds",
                       ROUNDS_MAX, rounds_hours(s->at_ms), s->out->n_done, s->p->n_jobs);
    if (rounds_run(s, e) < 0)
        return -1;
    s->at_ms += s->ask->round_ms;
    return 0;
}

static int all_rounds(struct sim *s, struct err *e)
{
    bool idle = true;

    while (!(s->out->stopped = is_stopped(s))) {
        if (idle && !skip_idle(s))
            return 0;
        look_round(s);
        if (s->why && s->n_active > 0 && rounds_plan(s, e) < 0)
            return -1;
        rounds_place(s);
        idle = s->n_runs == 0;
        if (!idle && one_round(s, e) < 0)
            return -1;
        idle = idle || s->n_active == 0;
    }
    return 0;
}

static void count_late(struct rounds_result *out)
{
    for (size_t m = 0; m < out->n_jobs; m++)
        out->late += out->jobs[m].deadline_ms != ROUNDS_NEVER &&
                     out->jobs[m].finish_ms > out->jobs[m].deadline_ms;
}

int rounds_simulate(const struct rounds_ask *ask, struct rounds_result *out, struct err *e)
{
    struct sim s;

    *out = (struct rounds_result){0};
    if (check(ask, e) < 0)
        return -1;
    void *held = clp_hold();
    sim_init(&s, ask, out);
    int result = all_rounds(&s, e);
    if (result == 0 && !out->stopped)
        rounds_bound(&s);
    count_late(out);
    sim_clear(&s);
    clp_release(held);
    if (result < 0)
        rounds_result_clear(out);
    return result;
}
