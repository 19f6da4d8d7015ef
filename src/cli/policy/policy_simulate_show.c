/* policy_simulate_show: what came of a simulation, for people and for programs. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/policy/policy_parts.h"
#include "view/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define TYPES_SHOWN 20
#define SHORT_SHOWN 5
/* Bill and bound are rounded apart: what is nearer is the same. */
#define GAP_LEAST 1e-6

static double hours(int64_t ms)
{
    return (double)ms / ROUNDS_HOUR_MS;
}

static double hours_or_nan(int64_t ms)
{
    return ms == ROUNDS_NEVER ? (double)NAN : hours(ms);
}

/* ---- what follows from the result ---- */

struct totals {
    double makespan_h, mean_completion_h;
    size_t switches, restarts, preemptions, with_slo;
    double cost_gap, end_gap; /* above the bounds, as parts of them */
};

static double gap(double got, double bound)
{
    double part = got / bound - 1;

    return part < GAP_LEAST ? 0 : part; /* NaN stays */
}

static struct totals totals_of(const struct rounds_result *r)
{
    struct totals t = {.makespan_h = hours(r->last_ms - r->first_ms)};
    double completion_h = 0, begin_h = hours(r->first_ms);

    for (size_t m = 0; m < r->n_jobs; m++) {
        const struct rounds_job *job = &r->jobs[m];
        t.switches += job->switches;
        t.restarts += job->restarts;
        t.preemptions += job->preemptions;
        t.with_slo += job->deadline_ms != ROUNDS_NEVER;
        if (job->finish_ms != ROUNDS_NEVER)
            completion_h += hours(job->finish_ms - job->arrival_ms);
    }
    t.mean_completion_h = completion_h / (double)r->n_done;
    t.cost_gap = gap(money_to_usd(r->cost_microusd), r->bound_usd);
    t.end_gap = gap(t.makespan_h, r->bound_end_h - begin_h);
    return t;
}

static double utilisation(const struct policy_simulation *s, size_t type)
{
    const struct rounds_result *r = s->result;

    return r->used_ms[type] /
           (s->ask->problem->types[type].quota * (double)(r->last_ms - r->first_ms));
}

/* Until it was done, or to the end. */
static int64_t waited_ms(const struct rounds_result *r, const struct rounds_job *job)
{
    int64_t end = job->finish_ms == ROUNDS_NEVER ? r->last_ms : job->finish_ms;

    return end > job->arrival_ms ? end - job->arrival_ms - job->run_ms : 0;
}

/* ---- JSON ---- */

static json_t *job_types_json(const struct policy_simulation *s, size_t m)
{
    const struct policy_problem *p = s->ask->problem;
    json_t *o = json_object();

    for (size_t j = 0; j < p->n_types; j++) {
        int64_t ms = s->result->type_ms[m * p->n_types + j];
        if (ms > 0)
            json_object_set_new(o, p->types[j].name, json_number(hours(ms)));
    }
    return o;
}

static json_t *job_json(const struct policy_simulation *s, size_t m)
{
    const struct policy_job *is = &s->ask->problem->jobs[m];
    const struct rounds_job *job = &s->result->jobs[m];
    bool due = job->deadline_ms != ROUNDS_NEVER;
    json_t *o = json_object();

    json_object_set_new(o, "name", json_text(is->name));
    json_object_set_new(o, "arrival_h", json_number(hours(job->arrival_ms)));
    json_object_set_new(o, "start_h", json_number(hours_or_nan(job->start_ms)));
    json_object_set_new(o, "finish_h", json_number(hours_or_nan(job->finish_ms)));
    json_object_set_new(o, "waited_h", json_number(hours(waited_ms(s->result, job))));
    json_object_set_new(o, "run_h", json_number(hours(job->run_ms)));
    json_object_set_new(o, "lost_h", json_number(hours(job->lost_ms)));
    json_object_set_new(o, "hours", job_types_json(s, m));
    json_object_set_new(o, "cost_usd", json_usd(job->cost_microusd));
    json_object_set_new(o, "switches", json_integer(job->switches));
    json_object_set_new(o, "restarts", json_integer(job->restarts));
    json_object_set_new(o, "preemptions", json_integer(job->preemptions));
    json_object_set_new(o, "deadline_h", json_number(hours_or_nan(job->deadline_ms)));
    json_object_set_new(o, "slo_met",
                        due ? json_boolean(job->finish_ms <= job->deadline_ms) : json_null());
    bool late = due && job->finish_ms != ROUNDS_NEVER && job->finish_ms > job->deadline_ms;
    json_object_set_new(o, "late_h",
                        json_number(late ? hours(job->finish_ms - job->deadline_ms) : (double)NAN));
    json_object_set_new(o, "short_known_h", json_number(hours_or_nan(job->short_known_ms)));
    json_object_set_new(
        o, "shortfall",
        json_number(job->short_known_ms == ROUNDS_NEVER ? (double)NAN : job->short_part));
    return o;
}

static json_t *prices_json(const struct policy_price_notes *n)
{
    return json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)n->rows, "out_of_order",
                     (json_int_t)n->disordered, "repeated", (json_int_t)n->repeated);
}

static json_t *bound_json(const struct rounds_result *r, const struct totals *t)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "cost_usd", json_number(r->bound_usd), "cost_gap",
                     json_number(t->cost_gap), "makespan_h",
                     json_number(r->bound_end_h - hours(r->first_ms)), "makespan_gap",
                     json_number(t->end_gap));
}

static void set_totals(json_t *root, const struct policy_simulation *s, const struct totals *t)
{
    const struct rounds_result *r = s->result;
    const struct {
        const char *name;
        size_t n;
    } counts[] = {
        {"jobs_done", r->n_done},  {"slo_violations", r->late},        {"rounds", r->rounds},
        {"solves", r->solves},     {"solves_short", r->failed_solves}, {"switches", t->switches},
        {"restarts", t->restarts}, {"preemptions", t->preemptions},
    };

    json_object_set_new(root, "cost_usd", json_usd(r->cost_microusd));
    json_object_set_new(root, "makespan_h", json_number(t->makespan_h));
    json_object_set_new(root, "mean_completion_h", json_number(t->mean_completion_h));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(root, counts[i].name, json_integer((json_int_t)counts[i].n));
}

int policy_simulation_json(const struct policy_simulation *s, struct err *e)
{
    const struct policy_problem *p = s->ask->problem;
    const struct rounds_result *r = s->result;
    struct totals t = totals_of(r);
    AUTO_JSON json_t *root = json_object();
    json_t *used = json_object(), *jobs = json_array();

    for (size_t j = 0; j < p->n_types; j++)
        json_object_set_new(used, p->types[j].name, json_number(utilisation(s, j)));
    for (size_t m = 0; m < p->n_jobs; m++)
        json_array_append_new(jobs, job_json(s, m));
    json_object_set_new(root, "policy", json_string(policy_kind_name(s->ask->kind)));
    json_object_set_new(root, "round_h", json_number(hours(s->ask->round_ms)));
    json_object_set_new(root, "restart_s", json_number((double)s->ask->restart_ms / 1e3));
    json_object_set_new(root, "seed", json_integer((json_int_t)s->ask->seed));
    set_totals(root, s, &t);
    json_object_set_new(root, "budget_usd", json_number(p->budget_usd));
    json_object_set_new(root, "budget_short_known_h", json_number(hours_or_nan(r->broke_known_ms)));
    json_object_set_new(root, "utilisation", used);
    json_object_set_new(root, "bound", bound_json(r, &t));
    json_object_set_new(root, "prices", s->prices ? prices_json(s->price_notes) : json_null());
    json_object_set_new(root, "jobs", jobs);
    json_object_set_new(root, "solve_ms", json_number(1e3 * r->solve_s));
    json_object_set_new(root, "elapsed_ms", json_number(s->elapsed_ms));
    return json_write(stdout, root, e);
}

/* ---- tables ---- */

static void put_hour(struct table *t, int64_t ms)
{
    if (ms == ROUNDS_NEVER)
        table_put(t, "never");
    else
        table_printf(t, "%.2f h", hours(ms));
}

/* "V100 4 h, K80 1.5 h" */
static void put_types(struct table *t, const struct policy_simulation *s, size_t m)
{
    const struct policy_problem *p = s->ask->problem;
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, 1000);
    for (size_t j = 0; j < p->n_types; j++) {
        int64_t ms = s->result->type_ms[m * p->n_types + j];
        if (ms > 0)
            buf_printf(&text, "%s%.40s %.4g h", text.len ? ", " : "", p->types[j].name, hours(ms));
    }
    table_put(t, buf_str(&text));
}

static void put_slo(struct table *t, const struct rounds_job *job)
{
    if (job->deadline_ms == ROUNDS_NEVER)
        table_put(t, "");
    else if (job->finish_ms == ROUNDS_NEVER)
        table_put(t, "missed");
    else if (job->finish_ms > job->deadline_ms)
        table_printf(t, "%.2f h late", hours(job->finish_ms - job->deadline_ms));
    else
        table_put(t, "met");
}

static void print_jobs(const struct policy_simulation *s, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "job", .cut_rank = 2, .least = 8},
        {.title = "arrives", .right = true},
        {.title = "starts", .right = true},
        {.title = "done", .right = true},
        {.title = "waited", .right = true},
        {.title = "ran on", .cut_rank = 1, .least = 12},
        {.title = "moves", .right = true},
        {.title = "cost", .right = true},
        {.title = "deadline", .right = true},
    };
    const struct rounds_result *r = s->result;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char money[32];

    for (size_t m = 0; m < r->n_jobs && m < ROWS_MAX; m++) {
        const struct rounds_job *job = &r->jobs[m];
        table_put(t, s->ask->problem->jobs[m].name);
        put_hour(t, job->arrival_ms);
        put_hour(t, job->start_ms);
        put_hour(t, job->finish_ms);
        put_hour(t, waited_ms(r, job));
        put_types(t, s, m);
        table_printf(t, "%u", job->switches);
        table_put(t, money_text(job->cost_microusd, money));
        put_slo(t, job);
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
    if (r->n_jobs > ROWS_MAX)
        printf("... and %zu more; --json has all\n", r->n_jobs - ROWS_MAX);
}

static void print_types(const struct policy_simulation *s)
{
    const struct policy_problem *p = s->ask->problem;

    for (size_t j = 0; j < p->n_types && j < TYPES_SHOWN; j++)
        if (p->types[j].quota > 0)
            printf("%s: %.1f %% of %.6g in use\n", p->types[j].name, 100 * utilisation(s, j),
                   p->types[j].quota);
}

static void print_short(const struct policy_simulation *s)
{
    const struct rounds_result *r = s->result;
    size_t n = 0;

    for (size_t m = 0; m < r->n_jobs; m++) {
        const struct rounds_job *job = &r->jobs[m];
        if (job->short_known_ms == ROUNDS_NEVER || n++ >= SHORT_SHOWN)
            continue;
        printf("%s: known at %.2f h, as things stood: %.1f %% would be missing at its deadline\n",
               s->ask->problem->jobs[m].name, hours(job->short_known_ms), 100 * job->short_part);
    }
    if (n > SHORT_SHOWN)
        printf("... and %zu more; --json has all\n", n - SHORT_SHOWN);
    if (r->broke_known_ms != ROUNDS_NEVER)
        printf("Known at %.2f h that the budget of $%.2f does not do; from then on at the fewest "
               "dollars.\n",
               hours(r->broke_known_ms), s->ask->problem->budget_usd);
}

static void print_totals(const struct policy_simulation *s, const struct totals *t)
{
    const struct rounds_result *r = s->result;
    char money[32], round[32], restart[32];

    printf("%s: %zu of %zu jobs done in %.2f h for %s\n", policy_kind_name(s->ask->kind), r->n_done,
           r->n_jobs, t->makespan_h, money_text(r->cost_microusd, money));
    printf("rounds of %s, restarts of %s: %zu rounds, shares solved %zu times (%.1f ms)\n",
           time_text((double)s->ask->round_ms / 1e3, round),
           time_text((double)s->ask->restart_ms / 1e3, restart), r->rounds, r->solves,
           s->elapsed_ms);
    if (r->n_done > 0)
        printf("mean time from arrival to done %.2f h; ", t->mean_completion_h);
    printf("%zu moves, %zu restarts, %zu preemptions", t->switches, t->restarts, t->preemptions);
    if (t->with_slo)
        printf("; %zu of %zu deadlines kept", t->with_slo - r->late, t->with_slo);
    printf("\n");
}

static void print_prices(const struct policy_simulation *s)
{
    const struct policy_price_notes *n = s->price_notes;

    if (s->prices && n->disordered)
        printf("%s: %zu of %zu prices out of order, line %zu first; sorted by time\n", s->prices,
               n->disordered, n->rows, n->disordered_line);
    if (s->prices && n->repeated)
        printf("%s: %zu of %zu prices for a time that their type had one for, line %zu first; not "
               "used\n",
               s->prices, n->repeated, n->rows, n->repeated_line);
}

static void print_bound(const struct rounds_result *r, const struct totals *t)
{
    char money[32];

    if (r->n_done == 0)
        return;
    printf("At best, with hindsight: %s (this cost %.1f %% more) and %.2f h (this took %.1f %% "
           "longer).\n",
           money_text(money_from_usd(fmin(r->bound_usd, MONEY_MAX_USD)), money), 100 * t->cost_gap,
           r->bound_end_h - hours(r->first_ms), 100 * t->end_gap);
}

void policy_simulation_print(const struct policy_simulation *s)
{
    struct text_look look = text_look_for(stdout);
    struct totals t = totals_of(s->result);

    print_totals(s, &t);
    print_prices(s);
    print_jobs(s, &look);
    print_types(s);
    print_short(s);
    print_bound(s->result, &t);
}
