/* One simulated round: work, preemptions, the bill. rounds.c calls it. */
#include "base/money.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>

/* Above it somebody mistook a unit; far below what int64_t holds. */
#define BILL_MAX_USD 1e9

/* ---- work ---- */

/* When the job is done unless its instances are preempted, or the end of the round. */
static void set_end(const struct sim *s, struct rounds_run *run)
{
    double speed = s->p->jobs[run->job].throughput[run->type];
    double need_ms = floor(s->left[run->job] / speed * ROUNDS_HOUR_MS + 0.5);
    int64_t begin = s->at_ms + run->lost_ms, end = s->at_ms + s->ask->round_ms;

    run->done = need_ms <= (double)(end - begin);
    run->to_ms = run->done ? begin + (int64_t)need_ms : end;
}

static void begin(struct sim *s, struct rounds_run *run)
{
    struct rounds_job *job = &s->out->jobs[run->job];
    uint32_t before = s->before[run->job];

    if (before == NO_TYPE)
        job->start_ms = s->at_ms;
    else if (s->on[run->job] != run->type) {
        job->switches += before != run->type;
        job->restarts++;
        run->lost_ms = s->ask->restart_ms;
    }
    if (s->on[run->job] != run->type)
        s->lease_ms[run->job] = s->at_ms + ROUNDS_LEASE * s->ask->restart_ms;
    s->before[run->job] = run->type;
    set_end(s, run);
}

/* ---- preemptions ---- */

/* splitmix64's last step. */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t lot(const struct sim *s, const struct edge *edge, uint32_t job)
{
    return mixed(mixed(s->ask->seed + 0x9e3779b97f4a7c15u * (1 + (uint64_t)edge->preemption)) ^
                 job);
}

/* The one on the type who drew the lowest lot; *used_out: instances in use after the edge. */
static struct rounds_run *first_to_go(const struct sim *s,
                                      const struct edge *edge,
                                      double *used_out)
{
    struct rounds_run *first = NULL;

    *used_out = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        struct rounds_run *run = &s->runs[i];
        if (run->type != edge->type || run->to_ms <= edge->at_ms)
            continue;
        *used_out += s->p->jobs[run->job].gang;
        if (!first || lot(s, edge, run->job) < lot(s, edge, first->job))
            first = run;
    }
    return first;
}

static void put_out(struct sim *s, const struct edge *edge)
{
    double used;
    struct rounds_run *run;

    while ((run = first_to_go(s, edge, &used)) && used > rounds_capacity(s, edge->type)) {
        run->to_ms = edge->at_ms;
        run->done = false;
        run->preempted = true;
        s->out->jobs[run->job].preemptions++;
    }
}

static void take_machines(struct sim *s)
{
    for (; s->next_edge < s->n_edges; s->next_edge++) {
        const struct edge *edge = &s->edges[s->next_edge];
        if (edge->at_ms >= s->at_ms + s->ask->round_ms)
            break;
        s->taken[edge->type] += edge->instances;
        s->why |= ROUNDS_QUOTA;
        if (edge->instances > 0)
            put_out(s, edge);
    }
}

/* ---- the bill ---- */

/* By the price of each moment; every step of it is rounded to a micro-dollar. */
static int bill(const struct sim *s, struct rounds_run *run, struct err *e)
{
    double gang = s->p->jobs[run->job].gang;
    int64_t at = s->at_ms;

    for (size_t i = rounds_interval(s, at); at < run->to_ms; i++) {
        int64_t end = i < s->p->n_intervals && s->interval_ms[i] < run->to_ms ? s->interval_ms[i]
                                                                              : run->to_ms;
        double usd = gang * scope_price(s->p, i, run->type) * (double)(end - at) / ROUNDS_HOUR_MS;
        if (!(usd + money_to_usd(run->cost_microusd + s->out->cost_microusd) < BILL_MAX_USD))
            return err_set(e, ERR_USAGE,
                           "job \"%.100s\" on type \"%.100s\" takes the bill above $%.0f at hour "
                           "%.4g: check the price, the gang and the iterations",
                           s->p->jobs[run->job].name, s->p->types[run->type].name, BILL_MAX_USD,
                           rounds_hours(at));
        run->cost_microusd += money_from_usd(usd);
        at = end;
    }
    return 0;
}

/* ---- the round ---- */

static void account(struct sim *s, struct rounds_run *run)
{
    struct rounds_job *job = &s->out->jobs[run->job];
    int64_t ms = run->to_ms - s->at_ms;
    double speed = s->p->jobs[run->job].throughput[run->type];

    if (run->lost_ms > ms)
        run->lost_ms = ms; /* put out while it restarted */
    s->left[run->job] -= speed * ((double)(ms - run->lost_ms) / ROUNDS_HOUR_MS);
    s->left[run->job] = fmax(s->left[run->job], POLICY_NUMBER_MIN);
    s->on[run->job] = run->done || run->preempted ? NO_TYPE : run->type;
    job->run_ms += ms;
    job->lost_ms += run->lost_ms;
    job->cost_microusd += run->cost_microusd;
    s->out->cost_microusd += run->cost_microusd;
    s->out->type_ms[run->job * s->p->n_types + run->type] += ms;
    s->out->used_ms[run->type] += s->p->jobs[run->job].gang * (double)ms;
    if (run->to_ms > s->out->last_ms)
        s->out->last_ms = run->to_ms;
    if (run->done) {
        job->finish_ms = run->to_ms;
        s->out->n_done++;
        s->why |= ROUNDS_DEPARTURE;
    }
}

/* Time on the type counts against what the claim is owed. */
static void note_received(struct sim *s)
{
    for (size_t r = 0; r < s->n_runs; r++) {
        const struct rounds_run *run = &s->runs[r];
        size_t low = 0, high = s->n_claims;
        while (low < high) {
            size_t middle = (low + high) / 2;
            const struct rounds_claim *is = &s->claims[middle].is;
            if (is->job < run->job || (is->job == run->job && is->type < run->type))
                low = middle + 1;
            else
                high = middle;
        }
        s->claims[low].received_ms += (double)(run->to_ms - s->at_ms);
    }
}

static void leave(struct sim *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_active; i++) {
        uint32_t m = s->active[i];
        if (!s->is_placed[m])
            s->on[m] = NO_TYPE;
        if (s->out->jobs[m].finish_ms == ROUNDS_NEVER)
            s->active[n++] = m;
    }
    s->n_active = n;
}

int rounds_run(struct sim *s, struct err *e)
{
    const struct rounds_watch *watch = s->ask->watch;

    for (size_t i = 0; i < s->n_runs; i++)
        begin(s, &s->runs[i]);
    take_machines(s);
    for (size_t i = 0; i < s->n_runs; i++) {
        if (bill(s, &s->runs[i], e) < 0)
            return -1;
        account(s, &s->runs[i]);
    }
    note_received(s);
    leave(s);
    if (watch && watch->ran)
        watch->ran(watch->context, s->at_ms, s->at_ms + s->ask->round_ms, s->runs, s->n_runs);
    return 0;
}
