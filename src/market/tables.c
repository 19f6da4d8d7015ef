#include "market/tables.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "estimate/throughput.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far above any real table: they bound memory. */
#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define ROWS_MAX 100000
#define MOVES_OF_A_CHECKPOINT 10000

/* data/market-*.csv, linked in by builtin.S. */
extern const char market_on_demand_builtin[], market_on_demand_builtin_end[];
extern const char market_sizes_builtin[], market_sizes_builtin_end[];
extern const char market_egress_builtin[], market_egress_builtin_end[];

#define COLUMNS_MAX 6

struct table {
    struct market_tables *to;
    struct csv *csv;
    const char *const *names;
    size_t n_names;
    size_t at[COLUMNS_MAX];
    const struct csv_field *fields; /* n of the row; complete ones have `needed` */
    size_t n, needed;
};

static int bad(const struct table *t, struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "%s:%zu: %s", csv_name(t->csv), csv_line(t->csv), what);
}

/* Text of a column, kept; NULL when it is empty or there is no room. */
static const char *text(const struct table *t, size_t column)
{
    const char *field = t->fields[t->at[column]].text;

    return *field ? arena_dup(t->to->arena, field) : NULL;
}

static bool amount(const struct table *t, size_t column, double most, double *out)
{
    return number_parse(t->fields[t->at[column]].text, out) && *out >= 0 && *out <= most;
}

/* The next row that is no remark, complete: 1, 0 at the end, -1. */
static int next_row(struct table *t, struct err *e)
{
    int got;

    do
        got = csv_next(t->csv, &t->fields, &t->n, e);
    while (got > 0 && t->fields[0].text[0] == '#');
    return got > 0 && t->n < t->needed ? bad(t, e, "too few fields") : got;
}

/* The header: finds the columns by their names. */
static int read_header(struct table *t, struct err *e)
{
    int got = next_row(t, e);

    if (got < 0)
        return -1;
    for (size_t i = 0; i < t->n_names; i++) {
        size_t k = t->n;
        while (k > 0 && strcmp(t->fields[k - 1].text, t->names[i]) != 0)
            k--;
        if (got == 0 || k == 0)
            return err_set(e, ERR_USAGE, "%s:%zu: there is no column \"%s\"", csv_name(t->csv),
                           got ? csv_line(t->csv) : (size_t)1, t->names[i]);
        t->at[i] = k - 1;
        t->needed = k > t->needed ? k : t->needed;
    }
    return 0;
}

static int read_table(struct market_tables *to,
                      struct csv *csv,
                      const char *const *names,
                      size_t n_names,
                      int (*row)(struct table *t, struct err *e),
                      struct err *e)
{
    struct table t = {.to = to, .csv = csv, .names = names, .n_names = n_names};
    size_t n = 0;
    int got;

    if (read_header(&t, e) < 0)
        return -1;
    while ((got = next_row(&t, e)) > 0) {
        if (n++ == ROWS_MAX)
            return bad(&t, e, "too many rows");
        if (row(&t, e) < 0)
            return -1;
    }
    return got;
}

static bool same_machine(const struct market_list_price *a, const struct market_list_price *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

static int price_row(struct table *t, struct err *e)
{
    struct market_tables *to = t->to;
    struct market_list_price p = {text(t, 0), text(t, 1), text(t, 2), text(t, 3), 0, 0};

    if (!p.cloud || !p.region || !p.instance_type || !p.gpu)
        return bad(t, e, "cloud, region, instance_type or gpu is empty");
    p.region = market_region(p.cloud, p.region);
    if (!amount(t, 4, 1024, &p.gpus) || !amount(t, 5, 1e6, &p.usd_per_hour) || !(p.gpus > 0) ||
        !(p.usd_per_hour > 0))
        return bad(t, e, "gpus and usd_per_hour must be numbers above 0");
    for (size_t i = 0; i < to->n_prices; i++)
        if (same_machine(&to->prices[i], &p))
            return to->builtin ? 0 : bad(t, e, "this machine stands above already");
    to->prices = mem_room(to->prices, to->n_prices, &to->cap_prices, sizeof *to->prices);
    to->prices[to->n_prices++] = p;
    to->n_user_prices += !to->builtin;
    return 0;
}

static int size_row(struct table *t, struct err *e)
{
    struct market_tables *to = t->to;
    struct market_size s = {text(t, 0), text(t, 1), 0, 0};

    if (!s.model || !s.dataset)
        return bad(t, e, "model or dataset is empty");
    if (!amount(t, 2, 1e12, &s.dataset_gb) || !amount(t, 3, 1e12, &s.checkpoint_gb))
        return bad(t, e, "dataset_gb and checkpoint_gb must be numbers from 0");
    for (size_t i = 0; i < to->n_sizes; i++)
        if (strcmp(to->sizes[i].model, s.model) == 0)
            return to->builtin ? 0 : bad(t, e, "this model stands above already");
    to->sizes = mem_room(to->sizes, to->n_sizes, &to->cap_sizes, sizeof *to->sizes);
    to->sizes[to->n_sizes++] = s;
    return 0;
}

static bool same_way(const struct market_tier *a, const struct market_tier *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->destination, b->destination) == 0;
}

static int tier_row(struct table *t, struct err *e)
{
    struct market_tables *to = t->to;
    struct market_tier tier = {text(t, 0), text(t, 1), 0, 0, !to->builtin};

    if (!tier.cloud || !tier.destination)
        return bad(t, e, "cloud or destination is empty");
    if (!amount(t, 2, 1e15, &tier.from_gb) || !amount(t, 3, 1e4, &tier.usd_per_gb))
        return bad(t, e, "from_gb and usd_per_gb must be numbers from 0");
    const struct market_tier *last = NULL;
    for (size_t i = 0; i < to->n_tiers; i++) {
        if (!same_way(&to->tiers[i], &tier))
            continue;
        if (to->tiers[i].users && to->builtin)
            return 0;
        last = &to->tiers[i];
    }
    if (last ? tier.from_gb <= last->from_gb : tier.from_gb > 0)
        return bad(t, e, "tiers begin at 0 and ascend");
    to->tiers = mem_room(to->tiers, to->n_tiers, &to->cap_tiers, sizeof *to->tiers);
    to->tiers[to->n_tiers++] = tier;
    return 0;
}

static int read_all(struct market_tables *t, const struct market_tables_from *from, struct err *e)
{
    static const char *const prices[] = {"cloud", "region", "instance_type",
                                         "gpu",   "gpus",   "usd_per_hour"};
    static const char *const sizes[] = {"model", "dataset", "dataset_gb", "checkpoint_gb"};
    static const char *const tiers[] = {"cloud", "destination", "from_gb", "usd_per_gb"};

    if ((from->on_demand && read_table(t, from->on_demand, prices, 6, price_row, e) < 0) ||
        (from->sizes && read_table(t, from->sizes, sizes, 4, size_row, e) < 0) ||
        (from->egress && read_table(t, from->egress, tiers, 4, tier_row, e) < 0))
        return -1;
    return 0;
}

static struct csv *csv_of(const char *name, const char *begin, const char *end)
{
    return csv_from_memory(name, begin, (size_t)(end - begin));
}

struct market_tables *market_tables_new(const struct market_tables_from *from, struct err *e)
{
    AUTO(market_tables) struct market_tables *t = mem_zero(1, sizeof *t);
    AUTO(csv)
    struct csv *prices =
        csv_of("built-in on-demand prices", market_on_demand_builtin, market_on_demand_builtin_end);
    AUTO(csv)
    struct csv *sizes = csv_of("built-in sizes", market_sizes_builtin, market_sizes_builtin_end);
    AUTO(csv)
    struct csv *egress =
        csv_of("built-in egress prices", market_egress_builtin, market_egress_builtin_end);
    const struct market_tables_from builtin = {prices, sizes, egress};

    t->arena = arena_new(ARENA_MAX_BYTES);
    if (from && read_all(t, from, e) < 0)
        return NULL;
    t->builtin = true;
    return read_all(t, &builtin, e) < 0 ? NULL : TAKE(t);
}

void market_tables_free(struct market_tables *t)
{
    if (!t)
        return;
    arena_free(t->arena);
    free(t->prices);
    free(t->sizes);
    free(t->tiers);
    free(t);
}

double market_tables_on_demand(const struct market_tables *t,
                               const struct market_offer *o,
                               double at_s)
{
    const struct market_list_price key = {
        .cloud = o->cloud, .region = o->region, .instance_type = o->instance_type};
    double own = market_on_demand_price(o, at_s);

    for (size_t i = 0; i < t->n_prices; i++) {
        if (same_machine(&t->prices[i], &key))
            return i < t->n_user_prices || isnan(own) ? t->prices[i].usd_per_hour : own;
    }
    return own;
}

double market_tables_egress_usd(const struct market_tables *t,
                                const char *cloud,
                                const char *destination,
                                double gb)
{
    const struct market_tier key = {.cloud = cloud, .destination = destination};
    const struct market_tier *before = NULL;
    double usd = 0;

    for (size_t i = 0; i < t->n_tiers; i++) {
        const struct market_tier *tier = &t->tiers[i];
        if (!same_way(tier, &key))
            continue;
        if (before)
            usd += fmax(0, fmin(gb, tier->from_gb) - before->from_gb) * before->usd_per_gb;
        before = tier;
    }
    return before ? usd + fmax(0, gb - before->from_gb) * before->usd_per_gb : (double)NAN;
}

static int compare_prices(const void *a, const void *b)
{
    const struct market_list_price *x = a, *y = b;

    return (x->usd_per_hour > y->usd_per_hour) - (x->usd_per_hour < y->usd_per_hour);
}

int market_speedups_of(const struct market_tables *t,
                       const char *cloud,
                       struct market_speedups *out,
                       struct err *e)
{
    AUTO_MEM struct market_list_price *sorted = mem_zero(t->n_prices + 1, sizeof *sorted);
    size_t n = 0;

    *out = (struct market_speedups){0};
    for (size_t i = 0; i < t->n_prices; i++)
        if (strcmp(t->prices[i].cloud, cloud) == 0 && t->prices[i].gpus <= 1)
            sorted[n++] = t->prices[i];
    qsort(sorted, n, sizeof *sorted, compare_prices);
    for (size_t i = 0; i < n && out->n < MARKET_GPUS_MAX; i++) {
        bool known = false;
        for (size_t k = 0; k < out->n; k++)
            known |= catalog_same_accelerator(out->gpus[k], sorted[i].gpu);
        if (known)
            continue;
        out->gpus[out->n] = sorted[i].gpu;
        out->usd_per_hour[out->n++] = sorted[i].usd_per_hour;
    }
    if (out->n < 2)
        return err_set(e, ERR_NOFIT, "%s has on-demand prices of %zu machines with one GPU", cloud,
                       out->n);
    return 0;
}

void market_speedups_row(const struct market_speedups *s,
                         const struct throughputs *speeds,
                         const char *model,
                         double faster[static MARKET_GPUS_MAX],
                         double per_dollar[static MARKET_GPUS_MAX])
{
    double base = throughputs_get(speeds, model, s->gpus[0]);

    for (size_t i = 0; i < s->n; i++) {
        faster[i] = throughputs_get(speeds, model, s->gpus[i]) / base;
        per_dollar[i] = faster[i] * s->usd_per_hour[0] / s->usd_per_hour[i];
    }
}

double market_lowest_usd(const struct market *m,
                         const char *cloud,
                         const char *region,
                         const char *gpu)
{
    double lowest = (double)NAN;

    for (size_t i = 0; i < m->n_offers; i++) {
        const struct market_offer *o = &m->offers[i];
        if (strcmp(o->cloud, cloud) != 0 || strcmp(o->region, region) != 0 || o->gpus > 1 ||
            o->gpus < 1 || !catalog_same_accelerator(gpu, o->gpu))
            continue;
        for (size_t k = 0; k < o->n_points; k++)
            lowest = fmin(lowest, o->points[k].usd_per_hour); /* NaN never wins */
    }
    return lowest;
}

struct market_move market_move_of(const struct market_tables *t,
                                  const struct market *m,
                                  const char *cloud,
                                  const char *region,
                                  const char *gpu,
                                  const struct market_size *size)
{
    double many_gb = MOVES_OF_A_CHECKPOINT * size->checkpoint_gb;

    return (struct market_move){
        .compute_usd = MARKET_COMPUTE_HOURS * market_lowest_usd(m, cloud, region, gpu),
        .dataset_usd = market_tables_egress_usd(t, cloud, "internet", size->dataset_gb),
        .checkpoint_usd =
            market_tables_egress_usd(t, cloud, "internet", many_gb) / MOVES_OF_A_CHECKPOINT,
    };
}
