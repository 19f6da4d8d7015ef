/* The claims of active jobs: the shares of the policy at current prices. rounds.c calls it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Shares are whole billionths, so that what is equal but for a solver's rounding is equal; who
 * needs less than one has one. */
#define SHARE_UNITS 1e9

/* ---- the question ---- */

/* Hours the policy is told a job has. Rounds and restarts are coarser than shares: it is to aim a
 * round too early. */
static double hours_left(const struct sim *s, uint32_t m, bool early)
{
    if (s->due_ms[m] == ROUNDS_NEVER)
        return (double)INFINITY;
    double ms = (double)(s->due_ms[m] - s->at_ms);
    return (early ? fmax(ms - (double)s->ask->round_ms, ms / 2) : ms) / ROUNDS_HOUR_MS;
}

/* The future is not known: today's prices stay. */
static void ask_now(struct sim *s, bool early, struct policy_problem *now)
{
    *now = *s->p;
    now->types = s->types_now;
    now->jobs = s->jobs_now;
    now->n_intervals = 0;
    now->goes_on = true;
    now->columns_max = s->p->columns_max ? s->p->columns_max : ROUNDS_COLUMNS_DEFAULT;
    now->budget_usd = (double)INFINITY;
    if (s->ask->kind == POLICY_MIN_MAKESPAN)
        now->budget_usd = fmax(0, s->p->budget_usd - 1e-6 * (double)s->out->cost_microusd);
    for (size_t j = 0; j < s->p->n_types; j++) {
        s->types_now[j] = s->p->types[j];
        s->types_now[j].quota = rounds_capacity(s, j);
        s->types_now[j].price_usd_per_hour = scope_price(s->p, s->interval, j);
    }
    for (size_t i = 0; i < s->n_active; i++) {
        uint32_t m = s->active[i];
        s->jobs_now[i] = s->p->jobs[m];
        s->jobs_now[i].iterations = s->left[m];
        s->jobs_now[i].slo_h = hours_left(s, m, early);
        s->number_now[i] = m;
        s->on_now[i] = s->on[m];
    }
    now->on_type = s->on_now;
    now->n_jobs = s->n_active;
}

/* Jobs that fit nowhere at the moment are not asked about: they would make everything infeasible.
 */
static void leave_out_unfit(struct sim *s, struct policy_problem *now)
{
    AUTO_CLEAR(scope) struct scope scope;
    size_t n = 0;

    scope_init(&scope, now);
    for (size_t i = 0; i < now->n_jobs; i++) {
        size_t type;
        if (!isfinite(scope_cheapest(&scope, i, &type)))
            continue;
        s->jobs_now[n] = s->jobs_now[i];
        s->on_now[n] = s->on_now[i];
        s->number_now[n++] = s->number_now[i];
    }
    now->n_jobs = n;
}

/* A budget that does not do is kept to as nearly as can be: by the fewest dollars. */
static int go_on_broke(struct sim *s,
                       struct policy_problem *now,
                       struct policy_answer *out,
                       struct err *e)
{
    if (s->out->broke_known_ms == ROUNDS_NEVER)
        s->out->broke_known_ms = s->at_ms;
    policy_answer_clear(out);
    now->budget_usd = (double)INFINITY;
    return policy_solve(now, POLICY_MIN_COST, POLICY_WINDOWS, out, e);
}

/* *early: whether deadlines are to be kept with a round to spare, which is tried first. */
static int solve(struct sim *s,
                 struct policy_problem *now,
                 bool *early,
                 struct policy_answer *out,
                 struct err *e)
{
    *early = rounds_uses_deadlines(s->ask->kind);
    ask_now(s, *early, now);
    leave_out_unfit(s, now);
    if (now->n_jobs == 0)
        return 0;
    if (policy_solve(now, s->ask->kind, POLICY_WINDOWS, out, e) < 0)
        return -1;
    if (out->status != POLICY_INFEASIBLE)
        return 0;
    if (s->ask->kind == POLICY_MIN_MAKESPAN)
        return go_on_broke(s, now, out, e);
    policy_answer_clear(out);
    *early = false;
    ask_now(s, false, now);
    leave_out_unfit(s, now);
    return policy_solve(now, s->ask->kind, POLICY_WINDOWS, out, e);
}

/* ---- claims ---- */

static void add_claim(struct sim *s, const struct rounds_claim *is)
{
    const struct rounds_job *job = &s->out->jobs[is->job];
    const struct policy_job *m = &s->p->jobs[is->job];

    assert(m->throughput[is->type] > 0);
    s->claims = mem_room(s->claims, s->n_claims, &s->cap_claims, sizeof *s->claims);
    s->claims[s->n_claims++] = (struct claim){
        .is = *is,
        .gang = m->gang,
        .arrival_ms = job->arrival_ms,
        .due_ms = s->due_ms[is->job],
        .usd_per_work =
            m->gang * s->types_now[is->type].price_usd_per_hour / m->throughput[is->type],
    };
}

/* What is to be done now has a share; what is planned for later, or whenever it may be, can as well
 * be done now where there is room, since prices are taken to stay. */
static void add_uses(struct sim *s, const struct policy_answer *a)
{
    for (size_t i = 0; i < a->n_uses; i++) {
        const struct policy_use *u = &a->uses[i];
        bool fill = u->window > 0 || !isfinite(a->windows[u->window].to_h);
        double share = fill ? 0 : fmax(1, floor(u->share * SHARE_UNITS + 0.5)) / SHARE_UNITS;
        add_claim(s, &(struct rounds_claim){
                         .job = s->number_now[u->job],
                         .type = u->type,
                         .fill = fill,
                         .share = share,
                     });
    }
}

/* A job that falls short may have nothing planned: it fills where it costs least. */
static void add_short(struct sim *s,
                      const struct policy_problem *now,
                      const struct policy_answer *a)
{
    AUTO_CLEAR(scope) struct scope scope;

    scope_init(&scope, now);
    for (size_t i = 0; i < a->n_jobs; i++) {
        struct rounds_job *job = &s->out->jobs[s->number_now[i]];
        size_t type = 0;
        if (a->shortfall[i] <= 0)
            continue;
        if (job->short_known_ms == ROUNDS_NEVER && !s->is_overdue[s->number_now[i]]) {
            job->short_known_ms = s->at_ms;
            job->short_part = a->shortfall[i];
        }
        scope_cheapest(&scope, i, &type);
        add_claim(s, &(struct rounds_claim){
                         .job = s->number_now[i], .type = (uint32_t)type, .fill = true});
    }
}

static int by_job_and_type(const void *a, const void *b)
{
    const struct rounds_claim *x = &((const struct claim *)a)->is,
                              *y = &((const struct claim *)b)->is;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->fill - y->fill;
}

/* One claim a job and type, that with a share if there is one. */
static void sort_claims(struct sim *s)
{
    size_t n = 0;

    if (s->n_claims > 0)
        qsort(s->claims, s->n_claims, sizeof *s->claims, by_job_and_type);
    for (size_t i = 0; i < s->n_claims; i++)
        if (n == 0 || s->claims[i].is.job != s->claims[n - 1].is.job ||
            s->claims[i].is.type != s->claims[n - 1].is.type)
            s->claims[n++] = s->claims[i];
    s->n_claims = n;
}

/* What was owed or received too much under the old shares counts on, up to a round: else those
 * whose turn it was would lose it whenever a job comes. */
static void carry_over(struct sim *s, const struct claim *old, size_t n_old)
{
    double most = (double)s->ask->round_ms;
    size_t k = 0;

    for (size_t i = 0; i < s->n_claims; i++) {
        struct claim *c = &s->claims[i];
        while (k < n_old && (old[k].is.job < c->is.job ||
                             (old[k].is.job == c->is.job && old[k].is.type < c->is.type)))
            k++;
        if (k == n_old || old[k].is.job != c->is.job || old[k].is.type != c->is.type ||
            old[k].is.fill || c->is.fill)
            continue;
        double credit = old[k].owed_ms - old[k].received_ms;
        c->owed_ms = fmin(fmax(credit, 0), most);
        c->received_ms = fmin(fmax(-credit, 0), most);
    }
}

static void tell(const struct sim *s, const struct policy_answer *a, bool early, double seconds)
{
    const struct rounds_watch *watch = s->ask->watch;

    if (!watch || !watch->solved)
        return;
    AUTO_MEM struct rounds_claim *claims = mem_zero(s->n_claims + 1, sizeof *claims);
    for (size_t i = 0; i < s->n_claims; i++)
        claims[i] = s->claims[i].is;
    watch->solved(watch->context, &(struct rounds_solved){
                                      .at_ms = s->at_ms,
                                      .why = s->why,
                                      .answer = a,
                                      .is_early = early,
                                      .jobs = s->number_now,
                                      .claims = claims,
                                      .n_claims = s->n_claims,
                                      .seconds = seconds,
                                  });
}

static double now_s(const struct sim *s)
{
    const struct rounds_watch *watch = s->ask->watch;

    return watch && watch->clock_s ? watch->clock_s() : 0;
}

int rounds_plan(struct sim *s, struct err *e)
{
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};
    AUTO_MEM struct claim *old = TAKE(s->claims);
    size_t n_old = s->n_claims;
    struct policy_problem now;
    double began = now_s(s);
    bool early;

    s->n_claims = s->cap_claims = 0;
    s->interval = rounds_interval(s, s->at_ms);
    if (solve(s, &now, &early, &answer, e) < 0)
        return err_wrap(e, "at hour %.4g", rounds_hours(s->at_ms));
    if (now.n_jobs > 0) {
        add_uses(s, &answer);
        if (answer.status == POLICY_INFEASIBLE)
            add_short(s, &now, &answer);
        sort_claims(s);
        carry_over(s, old, n_old);
        s->out->solves++;
        s->out->failed_solves += answer.status == POLICY_INFEASIBLE;
        double seconds = now_s(s) - began;
        s->out->solve_s += seconds;
        tell(s, &answer, early, seconds);
    }
    s->why = 0;
    return 0;
}
