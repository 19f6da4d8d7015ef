/* Answers of policies: uses, shadow prices, shortfalls and the reason in words. The files of the
 * policies call it. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Jobs a reason names; the shortfalls have all. */
#define NAMED_MAX 3

void policy_answer_init(struct policy_answer *a, const struct scope *s, const struct edges *edges)
{
    *a = (struct policy_answer){
        .objective = (double)NAN,
        .bound = (double)NAN,
        .stretch = (double)NAN,
        .budget_needed_usd = (double)NAN,
        .windows = mem_zero(edges->n_windows + 1, sizeof *a->windows),
        .n_windows = edges->n_windows,
        .windows_exact = edges->exact,
        .n_jobs = s->p->n_jobs,
        .n_types = s->p->n_types,
        .shortfall = mem_zero(s->p->n_jobs + 1, sizeof(double)),
        .shadow_price = mem_zero(s->p->n_types + 1, sizeof(double)),
    };
    for (size_t k = 0; k < edges->n_windows; k++)
        a->windows[k] = (struct policy_window){edges->at[k], edges->at[k + 1]};
}

void policy_answer_clear(struct policy_answer *a)
{
    free(a->windows);
    free(a->uses);
    free(a->idle);
    free(a->shortfall);
    free(a->shadow_price);
    *a = (struct policy_answer){0};
}

/* In an open-ended window a column is a part of the job's work. */
static double hours_of(const struct grid *g, const struct grid_slot *s, size_t type, double x)
{
    const struct policy_job *m = &g->scope->p->jobs[s->job];

    return isfinite(s->hours) ? x * s->hours : x * m->iterations / m->throughput[type];
}

static void add_use(struct policy_answer *a, size_t *cap, const struct policy_use *use)
{
    a->uses = mem_room(a->uses, a->n_uses, cap, sizeof *a->uses);
    a->uses[a->n_uses++] = *use;
}

void policy_answer_uses(struct policy_answer *a,
                        const struct grid *g,
                        const struct model_answer *found,
                        size_t first_scaled)
{
    AUTO_MEM double *x = mem_zero(g->n_columns + 1, sizeof *x);
    size_t cap = 0;

    assert(!a->uses);
    memcpy(x, found->x, g->n_columns * sizeof *x);
    grid_trim(g, first_scaled, found->scale, x);
    for (const struct grid_slot *s = g->slots; s < g->slots + g->n_slots; s++) {
        double scale = s->window >= first_scaled ? found->scale : 1;
        for (size_t q = s->first; q < s[1].first; q++) {
            /* Rounding: neither a part of the time nor of the job's work. */
            if (x[q] * fmax(1, g->work[q]) <= SHARE_LEAST * scale)
                continue;
            add_use(a, &cap,
                    &(struct policy_use){
                        .window = s->window,
                        .job = s->job,
                        .type = g->type[q],
                        .share = isfinite(s->hours) ? x[q] / scale : 0,
                        .hours = hours_of(g, s, g->type[q], x[q]),
                    });
        }
    }
}

void policy_answer_shadow_prices(struct policy_answer *a,
                                 const struct model_answer *found,
                                 double unit)
{
    for (size_t j = 0; j < a->n_types; j++)
        a->shadow_price[j] = unit * found->shadow_price[j];
    a->shadow_at_most = !found->is_slope;
}

void policy_answer_falls_short(struct policy_answer *a,
                               const struct grid *g,
                               const struct model_answer *nearest)
{
    a->status = POLICY_INFEASIBLE;
    memcpy(a->shortfall, nearest->shortfall, a->n_jobs * sizeof *a->shortfall);
    for (size_t m = 0; m < a->n_jobs; m++)
        if (a->shortfall[m] <= SHORTFALL_LEAST)
            a->shortfall[m] = 0;
        else if (a->shortfall[m] >= 1 - SHORTFALL_LEAST)
            a->shortfall[m] = 1;
    policy_answer_uses(a, g, nearest, SIZE_MAX);
}

bool policy_cannot_run(const struct scope *s, const bool *must_finish, struct policy_answer *out)
{
    size_t n = 0, first = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        size_t type;
        if ((must_finish && !must_finish[m]) || isfinite(scope_cheapest(s, m, &type)))
            continue;
        out->shortfall[m] = 1;
        first = n++ ? first : m;
    }
    if (n == 0)
        return false;
    out->status = POLICY_INFEASIBLE;
    snprintf(
        out->reason, sizeof out->reason,
        "%zu of %zu jobs cannot run, for example \"%.100s\": no type on which the job has a "
        "throughput has room for its gang of %.0f within the quotas of the type and its groups; "
        "raise a quota or make the gang smaller",
        n, s->p->n_jobs, s->p->jobs[first].name, s->p->jobs[first].gang);
    return true;
}

/* The job that falls short most after `before`; SIZE_MAX when none is left. */
static size_t next_worst(const struct policy_answer *a, size_t before)
{
    size_t worst = SIZE_MAX;

    for (size_t m = 0; m < a->n_jobs; m++) {
        double s = a->shortfall[m];
        bool is_after = before == SIZE_MAX || s < a->shortfall[before] ||
                        (s == a->shortfall[before] && m > before);
        if (s > 0 && is_after && (worst == SIZE_MAX || s > a->shortfall[worst]))
            worst = m;
    }
    return worst;
}

static void name_jobs(const struct policy_answer *a, const struct scope *s, struct buf *text)
{
    size_t m = SIZE_MAX, n = 0;

    for (size_t i = 0; i < a->n_jobs; i++)
        n += a->shortfall[i] > 0;
    buf_printf(text, "%zu of %zu jobs fall%s short: ", n, a->n_jobs, n == 1 ? "s" : "");
    for (size_t i = 0; i < NAMED_MAX && (m = next_worst(a, m)) != SIZE_MAX; i++)
        buf_printf(text, "%s\"%.40s\" lacks %.3g %% of its iterations", i ? ", " : "",
                   s->p->jobs[m].name, 100 * a->shortfall[m]);
    if (n > NAMED_MAX)
        buf_puts(text, ", ...");
}

int policy_short_within(const struct model_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e)
{
    AUTO_CLEAR(model_answer) struct model_answer nearest = {0};

    if (elastic_within(ask, budget_usd, &nearest, e) < 0)
        return -1;
    policy_answer_falls_short(out, ask->grid, &nearest);
    return 0;
}

int policy_others_short(const struct model_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e)
{
    const struct scope *s = ask->grid->scope;
    size_t others = 0;

    if (policy_short_within(ask, budget_usd, out, e) < 0)
        return -1;
    for (size_t m = 0; m < out->n_jobs; m++) {
        size_t type;
        others += out->shortfall[m] > 0 && isfinite(scope_cheapest(s, m, &type));
    }
    size_t len = strlen(out->reason);
    if (others)
        snprintf(out->reason + len, sizeof out->reason - len, "; %zu other%s fall%s short, too",
                 others, others == 1 ? "" : "s", others == 1 ? "s" : "");
    return 0;
}

/* Four digits, and no less than it is: what is said to do should. */
static double rounded_up(double x)
{
    double digit = pow(10, floor(log10(x)) - 3);

    return ceil(x / digit - 1e-6) * digit;
}

void policy_answer_reason(struct policy_answer *a, const struct scope *s)
{
    AUTO_CLEAR(buf) struct buf text;
    bool late = isfinite(a->stretch), expensive = isfinite(a->budget_needed_usd);
    double usd = ceil(a->budget_needed_usd * 100 - 1e-6) / 100;

    buf_init(&text, sizeof a->reason - 1);
    name_jobs(a, s, &text);
    if (late)
        buf_printf(&text, "; deadlines %.4g times as late", rounded_up(a->stretch));
    if (late && expensive)
        buf_printf(&text, " with a budget of $%.2f", usd);
    if (late)
        buf_puts(&text, " would be enough");
    else if (expensive)
        buf_printf(&text, "; the smallest sufficient budget is $%.2f", usd);
    snprintf(a->reason, sizeof a->reason, "%s", buf_str(&text));
}
