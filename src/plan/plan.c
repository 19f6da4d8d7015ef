#include "plan/plan.h"

#include "base/mem.h"
#include "plan/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SOLVE_LIMIT_S 10.0
/* What the search for the plan leaves the frontier at least. */
#define PARETO_LEAVES 0.5
/* Solves spent on ties. */
#define TIE_QUESTIONS 200
#define ANSWER_CAP_BYTES ((size_t)64 << 20)

struct plan_query plan_query_default(double (*now_s)(void))
{
    return (struct plan_query){
        .goal = {.objective = SPEC_COST,
                 .budget_usd = (double)INFINITY,
                 .deadline_s = (double)INFINITY},
        .solver = PLAN_EXACT,
        .solve_limit_s = SOLVE_LIMIT_S,
        .begun_s = (double)NAN,
        .share = 1,
        .now_s = now_s,
        .pinned_stage = SIZE_MAX,
        .pinned_place = SIZE_MAX,
    };
}

/* ---- domains: which sites of each stage a solver may still use ---- */

/* Empty, with room for all sites. */
static struct domain domain_new(const struct plan_problem *p)
{
    struct domain d = {.n_stages = p->n_stages,
                       .sites = mem_zero(p->n_stages, sizeof *d.sites),
                       .n = mem_zero(p->n_stages, sizeof *d.n),
                       .only = mem_zero(p->n_stages, sizeof *d.only)};

    for (size_t s = 0; s < p->n_stages; s++)
        d.sites[s] = mem_zero(p->stages[s].n_sites, sizeof **d.sites);
    return d;
}

struct domain domain_copy(const struct plan_problem *p, const struct domain *from)
{
    struct domain d = domain_new(p);

    for (size_t s = 0; s < p->n_stages; s++) {
        d.n[s] = from->n[s];
        d.only[s] = from->only[s];
        memcpy(d.sites[s], from->sites[s], d.n[s] * sizeof **d.sites);
    }
    return d;
}

struct domain domain_all(const struct plan_problem *p)
{
    struct domain d = domain_new(p);

    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t i = 0; i < p->stages[s].n_sites; i++)
            d.sites[s][d.n[s]++] = i;
    return d;
}

void domain_clear(struct domain *d)
{
    for (size_t s = 0; s < d->n_stages; s++)
        free(d->sites[s]);
    free(d->sites);
    free(d->n);
    free(d->only);
}

/* ---- what the question restricts ---- */

static bool allows(const struct plan_problem *p,
                   const struct plan_query *q,
                   size_t stage,
                   const struct site *site)
{
    const struct catalog *c = p->world.catalog;

    if (stage == q->pinned_stage && site->place != q->pinned_place)
        return false;
    return !q->only_cloud ||
           !strcasecmp(catalog_text(c, c->places[site->place].cloud), q->only_cloud);
}

static struct domain domain_of(const struct plan_problem *p, const struct plan_query *q)
{
    struct domain d = domain_all(p);

    for (size_t s = 0; s < p->n_stages; s++) {
        d.n[s] = 0;
        for (size_t i = 0; i < p->stages[s].n_sites; i++)
            if (allows(p, q, s, &p->stages[s].sites[i]))
                d.sites[s][d.n[s]++] = i;
    }
    return d;
}

/* ---- solving ---- */

/* Which of several equal plans is the answer must not cost more than a share of the search. */
static void break_ties(struct ask ask, size_t *questions, struct solution *io)
{
    ask.cutoff = cutoff_for_ties(&ask.cutoff);
    exact_break_ties(&ask, questions, io);
}

static int run_solver(const struct question *q, struct solution *s, struct err *e)
{
    size_t questions = TIE_QUESTIONS;

    switch (q->query->solver) {
    case PLAN_EXACT:
        exact_solve(&q->ask, s);
        if (s->found && !q->query->totals_only)
            break_ties(q->ask, &questions, s);
        return 0;
    case PLAN_GREEDY:
        greedy_solve(&q->ask, s);
        return 0;
    case PLAN_EXHAUSTIVE:
        return exhaustive_solve(&q->ask, s, e);
    }
    return 0;
}

/* A greedy plan proves nothing by itself: the exact solver's bound stands beside it. */
static double bound_for(const struct question *q, const struct solution *s)
{
    if (q->query->solver == PLAN_EXACT || s->proven)
        return s->bound;
    AUTO_MEM struct pick *picks = mem_zero(q->ask.p->n_stages, sizeof *picks);
    struct solution exact = {.picks = picks};
    exact_solve(&q->ask, &exact);
    return exact.bound;
}

static void answer_found(const struct question *q, struct solution *s, struct plan_answer *a)
{
    double value =
        goal_value(&q->ask.goal, (double)s->totals.microusd, (double)s->totals.ns[LAYER_MID]);
    double bound = fmin(bound_for(q, s), value);

    costmodel_fill(q->ask.p, s->picks, &a->plan);
    a->objective = goal_public_value(&q->ask.goal, &s->totals);
    a->bound = goal_public_bound(&q->ask.goal, bound);
    a->gap = value > bound ? (value - bound) / value : 0;
    a->status = a->gap > 0 ? PLAN_FEASIBLE : PLAN_OPTIMAL;
    a->tie_break_proven = a->gap == 0 && s->settled;
}

/* ---- the answer ---- */

/* The limit came before a proof: the plan of a glance counts, too, so that a search cut later never
 * ends with a worse plan than one cut at once. */
static void join_greedy(const struct question *q, struct solution *s)
{
    AUTO_MEM struct pick *picks = mem_zero(q->ask.p->n_stages, sizeof *picks);
    struct solution quick = {.picks = picks};

    greedy_solve(&q->ask, &quick);
    if (!quick.found || (s->found && goal_compare(&q->ask.goal, &quick.totals, &s->totals) >= 0))
        return;
    memcpy(s->picks, picks, q->ask.p->n_stages * sizeof *picks);
    s->found = true;
    s->totals = quick.totals;
}

static int answer_question(struct question *q, struct plan_answer *answer, struct err *e)
{
    AUTO_MEM struct pick *picks = mem_zero(q->ask.p->n_stages, sizeof *picks);
    struct solution s = {.picks = picks};

    for (size_t i = 0; i < q->ask.p->n_stages; i++)
        answer->offers_considered += q->ask.p->stages[i].n_eligible;
    if (run_solver(q, &s, e) < 0)
        return -1;
    if (!s.proven && q->query->solver == PLAN_EXACT)
        join_greedy(q, &s);
    if (s.found)
        answer_found(q, &s, answer);
    else
        plan_why_none(q, &s, answer);
    if (q->query->pareto && s.found)
        plan_pareto(q, &s, answer);
    return 0;
}

struct ask question_ask(const struct plan_problem *p, const struct plan_query *query)
{
    return (struct ask){.p = p,
                        .domain = domain_of(p, query),
                        .goal = goal_from_query(query),
                        .cutoff = cutoff_of(query, query->share),
                        .method = query->method,
                        .arena = arena_new(ANSWER_CAP_BYTES)};
}

int plan_solve(const struct plan_problem *p,
               const struct plan_query *query,
               struct plan_answer *answer,
               struct err *e)
{
    double start_s = query->now_s();
    struct plan_query begun = *query;
    struct question q = {.query = &begun};

    if (isnan(begun.begun_s))
        begun.begun_s = start_s;
    q.ask = question_ask(p, &begun);
    if (query->pareto)
        q.ask.cutoff = cutoff_of(&begun, begun.share * PARETO_LEAVES);

    *answer = (struct plan_answer){0};
    int result = answer_question(&q, answer, e);
    answer->elapsed_s = query->now_s() - start_s;
    domain_clear(&q.ask.domain);
    arena_free(q.ask.arena);
    if (result < 0)
        plan_answer_clear(answer);
    return result;
}

void plan_answer_clear(struct plan_answer *answer)
{
    free(answer->plan.stages);
    for (size_t i = 0; i < answer->n_pareto; i++)
        free(answer->pareto[i].stages);
    free(answer->pareto);
    *answer = (struct plan_answer){0};
}
