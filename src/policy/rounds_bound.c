/* Lower bounds of a simulation: cost and end of the same work, had everything been known beforehand
 * and machines been divisible. rounds.c calls it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>

/* The program of the bound is solved once and may take a while longer than those of rounds. */
#define BOUND_COLUMNS 10000
/* With more pairs of jobs and types even one window is a large program. */
#define BOUND_PAIRS_MAX 20000
/* Half a millisecond of work may be missing where times were rounded; a millisecond is. */
#define ROUNDING_H (1 / ROUNDS_HOUR_MS)

/* The jobs that were done; deadlines that were missed bind no job. */
static size_t jobs_done(const struct sim *s, struct policy_job *out)
{
    size_t n = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        const struct rounds_job *job = &s->out->jobs[m];
        double fastest = 0;
        if (job->finish_ms == ROUNDS_NEVER)
            continue;
        for (size_t j = 0; j < s->p->n_types; j++)
            fastest = fmax(fastest, s->p->jobs[m].throughput[j]);
        out[n] = s->p->jobs[m];
        out[n].release_h = rounds_hours(job->arrival_ms);
        out[n].slo_h = job->finish_ms <= job->deadline_ms && job->deadline_ms != ROUNDS_NEVER
                           ? rounds_hours(job->deadline_ms)
                           : (double)INFINITY;
        out[n].iterations =
            fmax(out[n].iterations - fastest * ROUNDING_H, 1e-6 * out[n].iterations);
        n++;
    }
    return n;
}

/* Every job alone, at the best price from its arrival on. */
static double alone_usd(const struct sim *s, const struct scope *scope)
{
    double usd = 0;

    for (size_t m = 0; m < scope->p->n_jobs; m++) {
        const struct policy_job *job = &scope->p->jobs[m];
        double least = (double)INFINITY;
        for (size_t i = rounds_interval(s, rounds_ms(job->release_h)); i <= s->p->n_intervals; i++)
            for (size_t j = 0; j < s->p->n_types; j++)
                if (scope_is_usable(scope, m, j))
                    least = fmin(least, job->gang * scope_price(s->p, i, j) / job->throughput[j]);
        usd += least * job->iterations;
    }
    return usd;
}

/* Every job alone on its fastest type. */
static double alone_end_h(const struct scope *scope)
{
    double end = 0;

    for (size_t m = 0; m < scope->p->n_jobs; m++) {
        const struct policy_job *job = &scope->p->jobs[m];
        double fastest = 0;
        for (size_t j = 0; j < scope->p->n_types; j++)
            if (scope_is_usable(scope, m, j))
                fastest = fmax(fastest, job->throughput[j]);
        end = fmax(end, job->release_h + job->iterations / fastest);
    }
    return end;
}

/* All from the first arrival on, within the quotas. Takes the releases out of the jobs. */
static void together_end_h(const struct sim *s,
                           struct policy_problem p,
                           struct policy_job *jobs,
                           double *end_h)
{
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};

    p.n_intervals = 0;
    for (size_t m = 0; m < p.n_jobs; m++)
        jobs[m].release_h = 0;
    if (policy_solve(&p, POLICY_MIN_MAKESPAN, POLICY_WINDOWS, &answer, NULL) == 0 &&
        answer.status == POLICY_OPTIMAL)
        *end_h = fmax(*end_h, rounds_hours(s->out->first_ms) + answer.bound);
}

void rounds_bound(const struct sim *s)
{
    AUTO_MEM struct policy_job *jobs = mem_zero(s->p->n_jobs + 1, sizeof *jobs);
    struct policy_problem p = *s->p;
    AUTO_CLEAR(scope) struct scope scope;
    double usd = (double)NAN;

    p.jobs = jobs;
    p.n_jobs = jobs_done(s, jobs);
    p.columns_max = BOUND_COLUMNS;
    p.budget_usd = (double)INFINITY;
    scope_init(&scope, &p);
    s->out->bound_usd = alone_usd(s, &scope);
    s->out->bound_end_h = alone_end_h(&scope);
    /* Programs that are not solved or not proved leave the bounds of jobs alone, which hold. */
    if (p.n_jobs > 0 && p.n_jobs * p.n_types <= BOUND_PAIRS_MAX) {
        if (policy_cost_bound(&p, &usd, NULL) == 0)
            s->out->bound_usd = fmax(s->out->bound_usd, usd); /* of NaN and a number, the number */
        together_end_h(s, p, jobs, &s->out->bound_end_h);
    }
}
