#include "market/paper.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/number.h"
#include "market/store.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
/* Of a day: what is left of work that ends with one is no reason to go on, and elsewhere. */
#define PART_ROUNDING 1e-9
#define LAST_DAYS_LEFT_OUT 5
#define USUAL_STARTS 30
#define NONE UINT32_MAX

const char *const market_strategy_texts[MARKET_N_STRATEGIES] = {
    [MARKET_SINGLE] = "1xV100",       [MARKET_GPU_TYPE] = "gpu-type",
    [MARKET_MULTI_GPU] = "multi-gpu", [MARKET_MULTI_CLOUD] = "multi-cloud",
    [MARKET_DYNAMIC] = "dynamic",
};

bool market_strategy_parse(const char *text, enum market_strategy *out)
{
    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++) {
        if (strcmp(text, market_strategy_texts[i]) == 0) {
            *out = (enum market_strategy)i;
            return true;
        }
    }
    return false;
}

/* In the order of preference among equals, which is the authors': the first strategy that may
 * choose the machine, and whether they divided by its GPUs when they chose. Azure's sizes with RDMA
 * ("r") are overwritten by those without in the authors' table. */
static const struct machine {
    const char *cloud, *type;
    enum market_strategy first;
} machines[] = {
    {"aws", "p2.xlarge", MARKET_GPU_TYPE},     {"aws", "p2.8xlarge", MARKET_MULTI_GPU},
    {"aws", "p2.16xlarge", MARKET_MULTI_GPU},  {"aws", "p3.2xlarge", MARKET_SINGLE},
    {"aws", "p3.8xlarge", MARKET_MULTI_GPU},   {"aws", "p3.16xlarge", MARKET_MULTI_GPU},
    {"azure", "NC6s v3", MARKET_MULTI_CLOUD},  {"azure", "NC12s v3", MARKET_MULTI_CLOUD},
    {"azure", "NC24s v3", MARKET_MULTI_CLOUD}, {"azure", "NC6s v2", MARKET_MULTI_CLOUD},
    {"azure", "NC12s v2", MARKET_MULTI_CLOUD}, {"azure", "NC24s v2", MARKET_MULTI_CLOUD},
    {"azure", "NC6", MARKET_MULTI_CLOUD},      {"azure", "NC12", MARKET_MULTI_CLOUD},
    {"azure", "NC24", MARKET_MULTI_CLOUD},
};
#define N_MACHINES (sizeof machines / sizeof *machines)
#define REFERENCE_TYPE "p3.2xlarge"

/* One day of one offer. */
struct day {
    double low, last; /* NaN = no record */
};

struct market_paper_offer {
    const struct market_offer *offer;
    const struct machine *machine;
    size_t gpu;       /* index of gpus */
    struct day *days; /* n_days of them */
};

static size_t gpu_index(struct market_paper *p, const char *gpu)
{
    for (size_t i = 0; i < p->n_gpus; i++)
        if (strcmp(p->gpus[i], gpu) == 0)
            return i;
    assert(p->n_gpus < MARKET_PAPER_GPUS_MAX); /* the machines have three */
    p->gpus[p->n_gpus] = gpu;
    return p->n_gpus++;
}

/* Whether records of this feed are those the rules mean. */
static bool feed_counts(const struct market_offer *o, bool daily)
{
    return o->n_points && (daily ? o->feed == MARKET_FEED_DAILY
                                 : o->feed != MARKET_FEED_DAILY && o->feed != MARKET_FEED_GCP);
}

static void add_machine(struct market_paper *p,
                        const struct market *m,
                        const struct machine *machine,
                        const char *region,
                        bool daily)
{
    bool aws = strcmp(machine->cloud, "aws") == 0;

    /* Offers are sorted by region, then type, then zone: equal ones come in the wanted order. */
    for (size_t i = 0; i < m->n_offers; i++) {
        const struct market_offer *o = &m->offers[i];
        if (strcmp(o->cloud, machine->cloud) != 0 || strcmp(o->instance_type, machine->type) != 0 ||
            (aws && strcmp(o->region, region) != 0) || !*o->gpu || !(o->gpus >= 1) ||
            !feed_counts(o, daily && aws))
            continue;
        p->offers = mem_room(p->offers, p->n_offers, &p->cap_offers, sizeof *p->offers);
        p->offers[p->n_offers++] = (struct market_paper_offer){
            .offer = o, .machine = machine, .gpu = gpu_index(p, o->gpu)};
    }
}

static bool has_reference(const struct market *m, const char *region)
{
    for (size_t i = 0; i < m->n_offers; i++) {
        const struct market_offer *o = &m->offers[i];
        if (strcmp(o->cloud, "aws") == 0 && strcmp(o->region, region) == 0 &&
            strcmp(o->instance_type, REFERENCE_TYPE) == 0 && feed_counts(o, false))
            return true;
    }
    return false;
}

static double day_of(double at_s)
{
    return floor(at_s / DAY_S);
}

/* Days on which the reference has records, ascending; the caller frees them. */
static double *reference_days(const struct market_paper *p, size_t *n_out)
{
    double *days = NULL;
    size_t n = 0, cap = 0;

    for (size_t i = 0; i < p->n_offers; i++) {
        const struct market_paper_offer *o = &p->offers[i];
        for (size_t k = 0; o->machine->first == MARKET_SINGLE && k < o->offer->n_points; k++) {
            double day = day_of(o->offer->points[k].at_s);
            if (isnan(o->offer->points[k].usd_per_hour) ||
                (n && days[n - 1] >= day && days[n - 1] <= day))
                continue;
            days = mem_room(days, n, &cap, sizeof *days);
            days[n++] = day;
        }
    }
    *n_out = number_sort_unique(days, n);
    return days;
}

/* Which of the days are starts: [*from, *until). */
static void choose_starts(
    const struct market_starts *asked, const double *days, size_t n, size_t *from, size_t *until)
{
    size_t wanted = asked->last ? asked->last : USUAL_STARTS;

    *until = n > LAST_DAYS_LEFT_OUT ? n - LAST_DAYS_LEFT_OUT : 0;
    *from = *until > wanted ? *until - wanted : 0;
    if (!(asked->until_s > 0))
        return;
    *from = 0;
    while (*from < n && days[*from] < day_of(asked->from_s))
        ++*from;
    *until = *from;
    while (*until < n && days[*until] <= day_of(asked->until_s))
        ++*until;
}

static int lay_out_days(struct market_paper *p, const struct market_starts *asked, struct err *e)
{
    size_t n, from, until;
    AUTO_MEM double *days = reference_days(p, &n);

    choose_starts(asked, days, n, &from, &until);
    if (from >= until)
        return err_set(e, ERR_NOFIT,
                       "%zu days have a record of %s: too few for the starts that were asked for",
                       n, REFERENCE_TYPE);
    p->first_day = days[from];
    p->n_days = (size_t)(days[n - 1] - p->first_day) + 1;
    p->n_starts = until - from;
    p->starts = arena_zero(p->arena, p->n_starts, sizeof *p->starts);
    for (size_t i = 0; i < p->n_starts; i++)
        p->starts[i] = (size_t)(days[from + i] - p->first_day);
    return 0;
}

static void fill_days(struct market_paper *p, struct market_paper_offer *o)
{
    bool *sold = strcmp(o->machine->cloud, "aws") == 0 ? p->aws_sold : p->azure_sold;

    o->days = arena_zero(p->arena, p->n_days, sizeof *o->days);
    for (size_t i = 0; i < p->n_days; i++)
        o->days[i] = (struct day){(double)NAN, (double)NAN};
    for (size_t i = 0; i < o->offer->n_points; i++) {
        const struct market_point *point = &o->offer->points[i];
        double at = day_of(point->at_s) - p->first_day;
        if (isnan(point->usd_per_hour) || at < 0 || at >= (double)p->n_days)
            continue;
        struct day *day = &o->days[(size_t)at];
        day->low = fmin(day->low, point->usd_per_hour); /* of NaN and a number, the number */
        day->last = point->usd_per_hour;
        sold[(size_t)at] = true;
    }
}

struct market_paper *market_paper_new(const struct market *m,
                                      const char *region,
                                      const struct market_starts *starts,
                                      struct err *e)
{
    AUTO(market_paper) struct market_paper *p = mem_zero(1, sizeof *p);
    bool daily = !has_reference(m, region);

    p->arena = arena_new(SIZE_MAX);
    p->reference = gpu_index(p, MARKET_REFERENCE_GPU);
    for (size_t i = 0; i < N_MACHINES; i++)
        add_machine(p, m, &machines[i], region, daily);
    if (lay_out_days(p, starts, e) < 0) {
        err_wrap(e, "aws:%s", region);
        return NULL;
    }
    p->aws_sold = arena_zero(p->arena, p->n_days, sizeof *p->aws_sold);
    p->azure_sold = arena_zero(p->arena, p->n_days, sizeof *p->azure_sold);
    for (size_t i = 0; i < p->n_offers; i++)
        fill_days(p, &p->offers[i]);
    return TAKE(p);
}

void market_paper_free(struct market_paper *p)
{
    if (!p)
        return;
    free(p->offers);
    arena_free(p->arena);
    free(p);
}

double market_paper_start_s(const struct market_paper *p, size_t start)
{
    return (p->first_day + (double)p->starts[start]) * DAY_S;
}

bool market_paper_covered(const struct market_paper *p, size_t start)
{
    return p->aws_sold[p->starts[start]] && p->azure_sold[p->starts[start]];
}

/* ---- one model ---- */

struct market_paper_model {
    const struct market_paper *paper;
    double per_s[MARKET_PAPER_GPUS_MAX];
    uint32_t choices[]; /* [strategy * n_days + day]; dynamic's are multi-cloud's */
};

static uint32_t choose(const struct market_paper_model *m, enum market_strategy s, size_t day)
{
    const struct market_paper *p = m->paper;
    uint32_t best = NONE;
    double best_value = 0;

    for (uint32_t i = 0; i < p->n_offers; i++) {
        const struct market_paper_offer *o = &p->offers[i];
        if (o->machine->first > s)
            continue;
        /* The authors forgot the division for Azure. */
        double gpus = o->machine->first == MARKET_MULTI_CLOUD ? 1 : o->offer->gpus;
        double value = m->per_s[o->gpu] / (o->days[day].low / gpus);
        if (value > best_value) { /* never for NaN: no record, or no speed */
            best = i;
            best_value = value;
        }
    }
    return best;
}

struct market_paper_model *market_paper_model_new(const struct market_paper *p,
                                                  const double *per_s,
                                                  struct err *e)
{
    if (!(per_s[p->reference] > 0)) {
        err_set(e, ERR_NOFIT, "the model has no throughput on %s", MARKET_REFERENCE_GPU);
        return NULL;
    }
    struct market_paper_model *m =
        mem_zero(1, sizeof *m + MARKET_DYNAMIC * p->n_days * sizeof *m->choices);
    m->paper = p;
    memcpy(m->per_s, per_s, p->n_gpus * sizeof *per_s);
    for (size_t s = 0; s < MARKET_DYNAMIC; s++)
        for (size_t day = 0; day < p->n_days; day++)
            m->choices[s * p->n_days + day] = choose(m, (enum market_strategy)s, day);
    return m;
}

void market_paper_model_free(struct market_paper_model *m)
{
    free(m);
}

struct market_paper_run market_paper_replay(const struct market_paper_model *m,
                                            enum market_strategy strategy,
                                            double reference_days,
                                            size_t start)
{
    const struct market_paper *p = m->paper;
    const uint32_t *choices =
        m->choices + (strategy == MARKET_DYNAMIC ? MARKET_MULTI_CLOUD : strategy) * p->n_days;
    size_t day = p->starts[start];
    double left = reference_days * DAY_S * m->per_s[p->reference];
    uint32_t now = choices[day];
    struct market_paper_run run = {0};

    /* A start has a record of p3.2xlarge, on which every model runs. */
    assert(now != NONE);
    double price = p->offers[now].days[day].low;
    run.first = p->offers[now].offer;
    for (;;) {
        const struct market_paper_offer *o = &p->offers[now];
        double per_day = DAY_S * m->per_s[o->gpu];
        double part = left / per_day;
        if (part <= 1 + PART_ROUNDING || day + 1 == p->n_days) {
            run.cost_usd += 24 * part * price / o->offer->gpus;
            run.hours += 24 * part;
            return run;
        }
        run.cost_usd += 24 * price / o->offer->gpus;
        run.hours += 24;
        left -= per_day;
        day++;
        if (strategy == MARKET_DYNAMIC && choices[day] != NONE) {
            run.switches += choices[day] != now;
            now = choices[day];
            price = p->offers[now].days[day].low;
        } else if (!isnan(o->days[day].last)) {
            price = o->days[day].last;
        }
    }
}

struct market_paper_mean market_paper_mean(const struct market_paper_model *m,
                                           enum market_strategy strategy,
                                           double reference_days)
{
    struct market_paper_mean mean = {0};
    double n = (double)m->paper->n_starts;

    for (size_t i = 0; i < m->paper->n_starts; i++) {
        struct market_paper_run run = market_paper_replay(m, strategy, reference_days, i);
        mean.cost_usd += run.cost_usd / n;
        mean.hours += run.hours / n;
        mean.switches += (double)run.switches / n;
        mean.switches_max = run.switches > mean.switches_max ? run.switches : mean.switches_max;
    }
    return mean;
}

double market_paper_dynamic_gain(const struct market_paper_model *m, double reference_days)
{
    double sum = 0;

    for (size_t i = 0; i < m->paper->n_starts; i++)
        sum += market_paper_replay(m, MARKET_MULTI_CLOUD, reference_days, i).cost_usd /
               market_paper_replay(m, MARKET_DYNAMIC, reference_days, i).cost_usd;
    return sum / (double)m->paper->n_starts;
}
