/* stats: the operation market.stats, which `tradewind market stats` calls. */
#include "market/stats.h"

#include "app/market/home.h"
#include "app/market/market.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "market/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stats_request {
    const char *gpu, *region, *on_demand;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"gpu", FIELD(TEXT, struct stats_request, gpu), .value = "NAME",
     .help = "Only instances with this accelerator."},
    {"region", FIELD(TEXT, struct stats_request, region), .value = "LOCATION",
     .help = "Only this location: aws:us-east-1, or aws."},
    {"on_demand", FIELD(TEXT, struct stats_request, on_demand), .value = "FILE", .is_local = true,
     .help = "On-demand prices (CSV), before the histories' own and the built-in ones."},
};
static const struct record request_record =
    RECORD("market_stats", struct stats_request, request_fields);

static const struct field lives_fields[] = {
    {"count", FIELD(COUNT, struct app_market_lives, count), .help = "Instances watched."},
    {"preempted", FIELD(COUNT, struct app_market_lives, preempted),
     .help = "Instances preempted."},
    {"watched_hours", FIELD(REAL, struct app_market_lives, watched_hours), .unit = "h",
     .help = "Hours of all instances together."},
    {"longest_hours", FIELD(REAL, struct app_market_lives, longest_hours), .unit = "h",
     .help = "Hours of the instance that lived longest."},
    {"preemptions_per_hour", FIELD(REAL, struct app_market_lives, preemptions_per_hour),
     .help = "Preemptions per hour of one instance."},
};
static const struct record lives_record =
    RECORD("market_lives", struct app_market_lives, lives_fields);

#define USD(key, text)                                                                             \
    {#key "_usd_per_hour", FIELD(REAL, struct app_market_offer, key##_usd), .unit = "USD",         \
     .help = text " price per hour while for sale."}
#define GPU_USD(type, key, text)                                                                   \
    {#key "_usd_per_gpu_hour", FIELD(REAL, type, key##_usd_per_gpu), .unit = "USD",                \
     .help = text " price per GPU and hour."}

static const struct field offer_fields[] = {
    {"cloud", FIELD(TEXT, struct app_market_offer, cloud), .help = "Cloud."},
    {"region", FIELD(TEXT, struct app_market_offer, region), .help = "Region."},
    {"zone", FIELD(TEXT, struct app_market_offer, zone), .help = "Zone; empty = the region."},
    {"instance_type", FIELD(TEXT, struct app_market_offer, instance_type),
     .help = "Instance type."},
    {"gpu", FIELD(TEXT, struct app_market_offer, gpu), .help = "Accelerator; null = unknown."},
    {"gpus", FIELD(REAL, struct app_market_offer, gpus), .help = "Accelerators per instance."},
    {"records", FIELD(COUNT, struct app_market_offer, records), .help = "Price records."},
    {"changes", FIELD(COUNT, struct app_market_offer, changes), .help = "Changes of the price."},
    {"begin", FIELD(TEXT, struct app_market_offer, begin), .omit_none = true,
     .help = "Time of the first record."},
    {"end", FIELD(TEXT, struct app_market_offer, end), .omit_none = true,
     .help = "Time up to which prices are known."},
    USD(min, "Lowest"),
    USD(mean, "Mean"),
    USD(max, "Highest"),
    GPU_USD(struct app_market_offer, min, "Lowest"),
    GPU_USD(struct app_market_offer, mean, "Mean"),
    GPU_USD(struct app_market_offer, max, "Highest"),
    {"on_demand_usd_per_hour", FIELD(REAL, struct app_market_offer, on_demand_usd),
     .unit = "USD", .help = "On-demand price per hour."},
    {"best_case_reduction", FIELD(REAL, struct app_market_offer, reduction),
     .help = "On-demand price divided by the lowest spot price."},
    {"share_at_on_demand", FIELD(REAL, struct app_market_offer, cap_share),
     .help = "Share of the time for sale at the on-demand price or above."},
    {"share_for_sale", FIELD(REAL, struct app_market_offer, sold_share),
     .help = "Share of the time covered for which the offer was for sale."},
    {"changes_per_day", FIELD(REAL, struct app_market_offer, changes_per_day),
     .help = "Changes of the price per day."},
    {"lives", FIELD(RECORD, struct app_market_offer, lives), .record = &lives_record,
     .omit_none = true, .help = "Instances watched until their preemption."},
};
static const struct record offer_record =
    RECORD("market_offer", struct app_market_offer, offer_fields);

static const struct field cheapest_fields[] = {
    {"from", FIELD(TEXT, struct app_market_cheapest, from), .help = "First time."},
    {"to", FIELD(TEXT, struct app_market_cheapest, to), .help = "Time of the next change."},
    {"usd_per_gpu_hour", FIELD(REAL, struct app_market_cheapest, usd_per_gpu_hour),
     .unit = "USD", .help = "Price per GPU and hour; null = none was for sale."},
    {"cloud", FIELD(TEXT, struct app_market_cheapest, cloud), .omit_none = true,
     .help = "Cloud."},
    {"region", FIELD(TEXT, struct app_market_cheapest, region), .omit_none = true,
     .help = "Region."},
    {"zone", FIELD(TEXT, struct app_market_cheapest, zone), .omit_none = true, .help = "Zone."},
    {"instance_type", FIELD(TEXT, struct app_market_cheapest, instance_type), .omit_none = true,
     .help = "Instance type."},
};
static const struct record cheapest_record =
    RECORD("market_cheapest", struct app_market_cheapest, cheapest_fields);

static const struct field gpu_fields[] = {
    {"gpu", FIELD(TEXT, struct app_market_gpu, gpu), .help = "Accelerator."},
    {"offers", FIELD(COUNT, struct app_market_gpu, offers), .help = "Offers that were for sale."},
    GPU_USD(struct app_market_gpu, min, "Lowest"),
    GPU_USD(struct app_market_gpu, mean, "Mean"),
    GPU_USD(struct app_market_gpu, max, "Highest"),
    {"best_case_reduction", FIELD(REAL, struct app_market_gpu, reduction),
     .help = "Highest quotient of on-demand and lowest spot price of an offer."},
    {"share_at_on_demand", FIELD(REAL, struct app_market_gpu, cap_share),
     .help = "Share of the time for sale at the on-demand price or above."},
    {"changes_per_day", FIELD(REAL, struct app_market_gpu, changes_per_day),
     .help = "Changes of the price per offer and day."},
    {"cheapest", FIELD(RECORDS, struct app_market_gpu, cheapest), .record = &cheapest_record,
     .help = "The cheapest offer over time."},
};
static const struct record gpu_record = RECORD("market_gpu", struct app_market_gpu, gpu_fields);

static const struct field stats_fields[] = {
    {"gpus", FIELD(RECORDS, struct app_market_stats, gpus), .record = &gpu_record,
     .help = "Accelerators: all offers together, by the GPU."},
    {"offers", FIELD(RECORDS, struct app_market_stats, offers), .record = &offer_record,
     .help = "Offers: one instance type in one zone."},
};
/* clang-format on */
static const struct record stats_record =
    RECORD("market_stats", struct app_market_stats, stats_fields);

/* All offers of one GPU, added up. Prices are per GPU. */
struct group {
    const struct market_offer **offers;
    size_t n;
    double usd_s, sold_s, cap_s, known_cap_s, changes, covered_s;
    struct app_market_cheapest *cheapest;
};

struct stats {
    struct market *market;
    struct market_tables *tables;
    struct app_market_offer *offers;
    struct market_stats *of; /* the offers */
    size_t n_offers;
    struct group *groups;
    struct app_market_gpu *gpus; /* of the groups */
    size_t n_groups;
};

static void stats_clear(struct stats *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        free(s->groups[i].offers);
        free(s->groups[i].cheapest);
    }
    free(s->groups);
    free(s->gpus);
    free(s->offers);
    free(s->of);
    market_tables_free(s->tables);
    market_free(s->market);
}

/* ---- offers ---- */

static void put_offer(struct app_market_offer *out,
                      const struct market_offer *o,
                      const struct market_stats *s)
{
    const struct market_lives l = market_lives_of(o);

    *out = (struct app_market_offer){
        .offer = o,
        .cloud = o->cloud,
        .region = o->region,
        .zone = o->zone,
        .instance_type = o->instance_type,
        .gpu = *o->gpu ? o->gpu : NULL,
        .gpus = o->gpus > 0 ? o->gpus : (double)NAN,
        .records = o->n_points,
        .changes = s->changes,
        .min_usd = s->min_usd,
        .mean_usd = s->mean_usd,
        .max_usd = s->max_usd,
        .min_usd_per_gpu = s->min_usd / o->gpus,
        .mean_usd_per_gpu = s->mean_usd / o->gpus,
        .max_usd_per_gpu = s->max_usd / o->gpus,
        .on_demand_usd = s->on_demand_usd,
        .reduction = s->reduction,
        .cap_share = s->cap_share,
        .sold_share = s->covered_s > 0 ? s->sold_s / s->covered_s : (double)NAN,
        .changes_per_day = s->changes_per_day,
        .lived = {l.n, l.preempted, l.watched_s / 3600, l.longest_s / 3600, l.preemptions_per_hour},
    };
    out->lives = l.n ? &out->lived : NULL;
    if (o->n_points) {
        out->begin = app_market_time(o->begin_s, out->times[0]);
        out->end = app_market_time(o->end_s, out->times[1]);
    }
}

static int choose(struct stats *s, const struct stats_request *q, struct err *e)
{
    size_t n = market_n_offers(s->market);

    s->offers = mem_zero(n + 1, sizeof *s->offers);
    s->of = mem_zero(n + 1, sizeof *s->of);
    for (size_t i = 0; i < n; i++) {
        const struct market_offer *o = &market_offers(s->market)[i];
        if ((q->gpu && !catalog_same_accelerator(q->gpu, o->gpu)) ||
            !app_market_is_at(o, q->region))
            continue;
        s->of[s->n_offers] = market_stats_of(o, market_tables_on_demand(s->tables, o, o->begin_s));
        put_offer(&s->offers[s->n_offers], o, &s->of[s->n_offers]);
        s->n_offers++;
    }
    if (s->n_offers)
        return 0;
    return err_set(e, ERR_NOTFOUND, "no history of %s%s%s; `tradewind market ls` lists them",
                   q->gpu ? q->gpu : "any GPU", q->region ? " in " : "",
                   q->region ? q->region : "");
}

/* ---- GPUs ---- */

static size_t group_of(struct stats *s, const char *gpu)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (strcmp(s->gpus[i].gpu, gpu) == 0)
            return i;
    s->gpus[s->n_groups] = (struct app_market_gpu){.gpu = gpu,
                                                   .min_usd_per_gpu = (double)NAN,
                                                   .max_usd_per_gpu = (double)NAN,
                                                   .reduction = (double)NAN};
    s->groups[s->n_groups].offers = mem_zero(s->n_offers, sizeof(struct market_offer *));
    return s->n_groups++;
}

static void add_to_group(struct stats *s, size_t i)
{
    const struct market_stats *st = &s->of[i];
    const struct app_market_offer *o = &s->offers[i];
    size_t at = group_of(s, o->gpu);
    struct group *g = &s->groups[at];
    struct app_market_gpu *shown = &s->gpus[at];

    if (!(st->sold_s > 0))
        return;
    g->offers[g->n++] = o->offer;
    shown->min_usd_per_gpu = fmin(shown->min_usd_per_gpu, o->min_usd_per_gpu);
    shown->max_usd_per_gpu = fmax(shown->max_usd_per_gpu, o->max_usd_per_gpu);
    shown->reduction = fmax(shown->reduction, st->reduction);
    g->usd_s += o->mean_usd_per_gpu * st->sold_s;
    g->sold_s += st->sold_s;
    g->covered_s += st->covered_s;
    g->changes += (double)st->changes;
    if (!isnan(st->cap_share)) {
        g->cap_s += st->cap_share * st->sold_s;
        g->known_cap_s += st->sold_s;
    }
}

/* The offer that was the cheapest for the longest time; NULL = none was for sale. */
static const struct market_offer *most_often(const struct market *m,
                                             const struct market_cheapest *list,
                                             size_t n)
{
    const struct market_offer *all = market_offers(m), *best = NULL;
    AUTO_MEM double *for_s = mem_zero(market_n_offers(m) + 1, sizeof *for_s);

    for (size_t i = 0; i < n; i++) {
        const struct market_cheapest *c = &list[i];
        if (!c->offer)
            continue;
        for_s[c->offer - all] += c->to_s - c->from_s;
        if (!best || for_s[c->offer - all] > for_s[best - all])
            best = c->offer;
    }
    return best;
}

static void put_cheapest(struct app_market_cheapest *out, const struct market_cheapest *c)
{
    *out = (struct app_market_cheapest){
        .from_s = c->from_s, .to_s = c->to_s, .usd_per_gpu_hour = c->usd_per_gpu_hour};
    out->from = app_market_time(c->from_s, out->times[0]);
    out->to = app_market_time(c->to_s, out->times[1]);
    if (c->offer) {
        out->cloud = c->offer->cloud;
        out->region = c->offer->region;
        out->zone = c->offer->zone;
        out->instance_type = c->offer->instance_type;
    }
}

static void finish_group(const struct stats *s, size_t at)
{
    struct group *g = &s->groups[at];
    struct app_market_gpu *shown = &s->gpus[at];
    size_t n;
    AUTO_MEM struct market_cheapest *list = market_cheapest_of(g->offers, g->n, &n);

    g->cheapest = mem_zero(n + 1, sizeof *g->cheapest);
    for (size_t i = 0; i < n; i++)
        put_cheapest(&g->cheapest[i], &list[i]);
    shown->offers = g->n;
    shown->mean_usd_per_gpu = g->sold_s > 0 ? g->usd_s / g->sold_s : (double)NAN;
    shown->cap_share = g->known_cap_s > 0 ? g->cap_s / g->known_cap_s : (double)NAN;
    shown->changes_per_day = g->covered_s > 0 ? g->changes / (g->covered_s / 86400) : (double)NAN;
    shown->cheapest = (struct field_records){g->cheapest, n};
    shown->usual = most_often(s->market, list, n);
}

static int run_stats(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct stats_request *q = request;
    AUTO_CLEAR(stats) struct stats s = {0};

    s.tables = app_market_tables(q->on_demand, NULL, NULL, e);
    s.market = s.tables ? app_market_open(app, e) : NULL;
    if (!s.market || choose(&s, q, e) < 0)
        return -1;
    s.groups = mem_zero(s.n_offers, sizeof *s.groups);
    s.gpus = mem_zero(s.n_offers, sizeof *s.gpus);
    for (size_t i = 0; i < s.n_offers; i++)
        if (s.offers[i].gpu && s.offers[i].gpus > 0)
            add_to_group(&s, i);
    for (size_t i = 0; i < s.n_groups; i++)
        finish_group(&s, i);
    const struct app_market_stats stats = {.gpus = {s.gpus, s.n_groups},
                                           .offers = {s.offers, s.n_offers}};
    return answer_head(out, &stats, e);
}

const struct operation market_stats_operation = {
    .name = "market.stats",
    .summary = "Summarize the imported price histories by GPU and by offer.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &stats_record,
    .run = run_stats,
};
