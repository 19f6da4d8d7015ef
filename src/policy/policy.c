#include "policy/policy.h"

#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>

static const struct {
    const char *name, *unit;
    bool needs_work; /* iterations of every job */
} kinds[POLICY_KINDS] = {
    [POLICY_MAX_THROUGHPUT] = {"max-throughput", "iterations/h", false},
    [POLICY_THROUGHPUT_PER_DOLLAR] = {"throughput-per-dollar", "iterations/$", false},
    [POLICY_MIN_COST] = {"min-cost", "$", true},
    [POLICY_MIN_COST_SLO] = {"min-cost-slo", "$", true},
    [POLICY_MIN_MAKESPAN] = {"min-makespan", "h", true},
};

const char *policy_kind_name(enum policy_kind kind)
{
    return kind < POLICY_KINDS ? kinds[kind].name : NULL;
}

const char *policy_unit(enum policy_kind kind)
{
    return kinds[kind].unit;
}

/* ---- what each policy needs ---- */

static int check_jobs(const struct policy_problem *p,
                      enum policy_kind kind,
                      enum policy_form form,
                      struct err *e)
{
    bool rate = kind == POLICY_MIN_COST_SLO && form == POLICY_RATE;

    for (size_t m = 0; m < p->n_jobs; m++) {
        const struct policy_job *job = &p->jobs[m];
        bool slo_counts = kind == POLICY_THROUGHPUT_PER_DOLLAR && isfinite(job->slo_h);
        if ((kinds[kind].needs_work || slo_counts) && job->iterations <= 0)
            return err_set(e, ERR_USAGE,
                           "job \"%.100s\" has no iterations, which %s needs: add them, or leave "
                           "out the job if it is done",
                           job->name, kinds[kind].name);
        if (rate && !isfinite(job->slo_h))
            return err_set(e, ERR_USAGE,
                           "job \"%.100s\" has no slo_h: a share of its time needs an end of that "
                           "time; add slo_h, or take the form windows",
                           job->name);
    }
    return 0;
}

static int check(const struct policy_problem *p,
                 enum policy_kind kind,
                 enum policy_form form,
                 struct err *e)
{
    assert(kind < POLICY_KINDS && p->n_jobs <= POLICY_JOBS_MAX && p->n_types <= POLICY_TYPES_MAX);
    if (p->n_jobs == 0 || p->n_types == 0)
        return err_set(e, ERR_USAGE, "no %s: add at least one", p->n_jobs == 0 ? "jobs" : "types");
    for (size_t j = 0; kind == POLICY_THROUGHPUT_PER_DOLLAR && j < p->n_types; j++)
        if (scope_price(p, 0, j) <= 0)
            return err_set(e, ERR_USAGE,
                           "type \"%.100s\" costs nothing, and throughput-per-dollar divides by "
                           "its price: give it one, or take max-throughput",
                           p->types[j].name);
    return check_jobs(p, kind, form, e);
}

/* ---- all policies ---- */

static int solve(struct scope *s,
                 enum policy_kind kind,
                 enum policy_form form,
                 struct policy_answer *out,
                 struct err *e)
{
    switch (kind) {
    case POLICY_MAX_THROUGHPUT:
    case POLICY_THROUGHPUT_PER_DOLLAR:
        return policy_shares(s, kind, out, e);
    case POLICY_MIN_COST:
        for (size_t m = 0; m < s->p->n_jobs; m++)
            s->deadline_h[m] = (double)INFINITY;
        return policy_cost(s, out, e);
    case POLICY_MIN_COST_SLO:
        s->form = form;
        return policy_cost(s, out, e);
    case POLICY_MIN_MAKESPAN:
        return policy_makespan(s, out, e);
    case POLICY_KINDS:
    default:
        break;
    }
    return err_set(e, ERR_USAGE, "no such policy");
}

/* Where it goes on deadlines may be so near that a shortfall which is rounding is worth something;
 * with what that costs the program itself was proved to POLICY_GAP. */
#define GAP_GOING_ON 1e-4

/* Nothing is called optimal that is not proved to be. */
static int check_proof(const struct policy_problem *p, const struct policy_answer *a, struct err *e)
{
    double gap = fabs(a->objective - a->bound);
    double allowed = p->goes_on ? GAP_GOING_ON : POLICY_GAP;

    if (a->status != POLICY_OPTIMAL || gap <= allowed * fabs(a->objective) || gap < 1e-9)
        return 0;
    return err_set(e, ERR_IO, "the answer is not proved: objective %.9g, bound %.9g", a->objective,
                   a->bound);
}

/* Rounding may have the objective better than its bound, or beyond the budget it was found to be
 * within. */
static void trim(const struct policy_problem *p, enum policy_kind kind, struct policy_answer *a)
{
    bool gains = kind == POLICY_MAX_THROUGHPUT || kind == POLICY_THROUGHPUT_PER_DOLLAR;
    bool dollars = kind == POLICY_MIN_COST || kind == POLICY_MIN_COST_SLO;

    if (a->status == POLICY_INFEASIBLE)
        return;
    if (dollars && a->objective > p->budget_usd)
        a->objective = p->budget_usd;
    if (gains ? a->bound < a->objective : a->bound > a->objective)
        a->bound = a->objective;
}

int policy_solve(const struct policy_problem *p,
                 enum policy_kind kind,
                 enum policy_form form,
                 struct policy_answer *out,
                 struct err *e)
{
    AUTO_CLEAR(scope) struct scope s = {0};

    *out = (struct policy_answer){0};
    if (check(p, kind, form, e) < 0)
        return -1;
    scope_init(&s, p);
    int solved = solve(&s, kind, form, out, e);
    if (solved == 0)
        solved = check_proof(p, out, e);
    if (solved < 0) {
        policy_answer_clear(out);
        return err_wrap(e, "policy %s", kinds[kind].name);
    }
    trim(p, kind, out);
    return 0;
}
