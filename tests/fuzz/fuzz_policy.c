/* Any text as a policy problem, a trace and prices of one: what is read is within its bounds. */
#include "base/auto.h"
#include "policy/read.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_number(double v, double least)
{
    assert(v >= least && v <= POLICY_NUMBER_MAX && (v == 0 || v >= POLICY_NUMBER_MIN));
}

static void check_table(const struct policy_problem *p, const double *table)
{
    for (size_t j = 0; j < p->n_types; j++)
        check_number(table[j], 0);
}

static void check_job(const struct policy_problem *p, const struct policy_job *m)
{
    assert(m->name && *m->name && m->gang >= 1 && m->gang == floor(m->gang));
    check_number(m->iterations, 0);
    assert(isinf(m->slo_h) || (m->slo_h > 0 && m->slo_h <= POLICY_NUMBER_MAX));
    check_table(p, m->throughput);
}

static void check_problem(const struct policy_problem *p)
{
    for (size_t j = 0; j < p->n_types; j++) {
        check_number(p->types[j].quota, 0);
        check_number(p->types[j].price_usd_per_hour, 0);
    }
    for (size_t m = 0; m < p->n_jobs; m++)
        check_job(p, &p->jobs[m]);
    for (size_t i = 0; i < p->n_groups; i++)
        check_table(p, p->groups[i].units);
    for (size_t i = 0; i < p->n_intervals; i++) {
        assert(p->intervals[i].end_h > (i ? p->intervals[i - 1].end_h : 0));
        check_table(p, p->intervals[i].price_usd_per_hour);
    }
    assert(p->budget_usd >= 0);
}

static void check_trace(const struct policy_file *f)
{
    for (size_t m = 0; m < f->problem.n_jobs; m++)
        assert(f->arrival_h[m] >= 0 && f->arrival_h[m] <= ROUNDS_HOURS_MAX &&
               f->problem.jobs[m].iterations > 0);
    for (size_t i = 0; i < f->n_preemptions; i++) {
        const struct rounds_preemption *x = &f->preemptions[i];
        assert(x->at_ms >= (i ? f->preemptions[i - 1].at_ms : 0) && x->until_ms >= x->at_ms);
        assert(x->type < f->problem.n_types);
        check_number(x->instances, POLICY_NUMBER_MIN);
    }
}

/* Prices for two types that are always there. */
static void try_prices(const char *data, size_t size)
{
    static const char two[] = "{\"types\": [{\"name\": \"a\", \"price_usd_per_hour\": 1, "
                              "\"quota\": 1}, {\"name\": \"b\", \"price_usd_per_hour\": 1, "
                              "\"quota\": 1}]}";
    struct err e = {0};
    AUTO_CLEAR(policy_file) struct policy_file file = {0};

    assert(policy_read(two, sizeof two - 1, true, &file, &e) == 0);
    if (policy_read_prices("f", data, size, &file, &e) == 0)
        check_problem(&file.problem);
    else
        assert(e.kind == ERR_USAGE && *e.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    AUTO_CLEAR(policy_file) struct policy_file file = {0}, trace = {0};

    if (policy_read((const char *)data, size, false, &file, &e) == 0)
        check_problem(&file.problem);
    else
        assert(e.kind == ERR_USAGE && *e.text && !file.arena);
    e = (struct err){0};
    if (policy_read((const char *)data, size, true, &trace, &e) == 0) {
        check_problem(&trace.problem);
        check_trace(&trace);
    } else {
        assert(e.kind == ERR_USAGE && *e.text && !trace.arena);
    }
    try_prices((const char *)data, size);
    return 0;
}
