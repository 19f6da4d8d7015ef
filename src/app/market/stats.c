/* stats: the operation market.stats, which `tradewind market stats` calls. */
#include "market/stats.h"

#include "app/market/internal.h"
#include "base/buf.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "market/tables.h"

#include <math.h>
#include <string.h>

struct stats_request {
    const char *gpu, *region, *on_demand;
    bool prices;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"gpu", FIELD(TEXT, struct stats_request, gpu), .value = "NAME",
     .help = "Only instances with this accelerator."},
    {"region", FIELD(TEXT, struct stats_request, region), .value = "LOCATION",
     .help = "Only this location: aws:us-east-1, or aws."},
    {"on_demand", FIELD(TEXT, struct stats_request, on_demand), .value = "FILE", .is_local = true,
     .help = "On-demand prices (CSV), before the histories' own and the built-in ones."},
    {"prices", FIELD(BOOL, struct stats_request, prices), .is_remote_only = true,
     .help = "Also list the prices of each offer over time."},
};

static void lives_cell(const void *record, struct buf *out)
{
    const struct app_market_lives *l = record;

    buf_printf(out, "%s/%s", l->cloud, l->zone);
}

#define LIVES(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_lives, key), __VA_ARGS__}
static const struct field lives_fields[] = {
    LIVES(TEXT, cloud, .is_column_only = true, .heading = "offer", .cell = lives_cell,
          .cut_rank = 1, .least_width = 16),
    LIVES(TEXT, instance_type, .is_column_only = true, .heading = "instance type"),
    LIVES(COUNT, count, .heading = "lifetimes", .help = "Instances watched."),
    LIVES(COUNT, preempted, .heading = "preempted", .help = "Instances preempted."),
    LIVES(REAL, watched_hours, .unit = "h", .heading = "watched", .digits = 1, .suffix = " h",
          .help = "Hours of all instances together."),
    LIVES(REAL, longest_hours, .unit = "h", .heading = "longest", .digits = 1, .suffix = " h",
          .help = "Hours of the instance that lived longest."),
    LIVES(REAL, preemptions_per_hour, .heading = "preemptions/h", .digits = 3,
          .help = "Preemptions per hour of one instance."),
};
static const struct record lives_record =
    RECORD("market_lives", struct app_market_lives, lives_fields);

#define PRICE(key, ...) {#key, FIELD(REAL, struct app_market_price, key), __VA_ARGS__}
static const struct field price_fields[] = {
    PRICE(at_s, .unit = "s", .help = "Time, in seconds since 1970."),
    PRICE(usd_per_hour, .unit = "USD", .help = "Price from then on; null = not for sale."),
};
static const struct record price_record =
    RECORD("market_price", struct app_market_price, price_fields);

static void offer_cell(const void *record, struct buf *out)
{
    const struct app_market_offer *o = record;

    buf_printf(out, "%s/%s", o->cloud, *o->zone ? o->zone : o->region);
}

/* "min_usd_per_hour" of min_usd, and "min_usd_per_gpu_hour" of min_usd_per_gpu. */
#define USD(key, text)                                                                             \
    {#key "_usd_per_hour", FIELD(REAL, struct app_market_offer, key##_usd), .unit = "USD",         \
     .heading = #key, .digits = 4, .none = "-", .help = text " price per hour while for sale."}
#define GPU_USD(type, key, text, title)                                                            \
    {#key "_usd_per_gpu_hour", FIELD(REAL, type, key##_usd_per_gpu), .unit = "USD",                \
     .digits = 4, .none = "-", .help = text " price per GPU and hour.", .heading = title}
#define REDUCTION .heading = "best case", .digits = 2, .suffix = " x", .none = "-"
#define PERCENT .suffix = "%", .scale = 100, .none = "-"
#define PER_DAY .heading = "changes/day", .digits = 2, .none = "-"
#define OFFER(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_offer, key), __VA_ARGS__}
static const struct field offer_fields[] = {
    OFFER(TEXT, cloud, .heading = "offer", .cell = offer_cell, .cut_rank = 1, .least_width = 16,
          .help = "Cloud."),
    OFFER(TEXT, region, .help = "Region."),
    OFFER(TEXT, zone, .help = "Zone; empty = the region."),
    OFFER(TEXT, instance_type, .heading = "instance type", .cut_rank = 2, .least_width = 10,
          .help = "Instance type."),
    OFFER(TEXT, gpu, .help = "Accelerator; null = unknown."),
    OFFER(REAL, gpus, .help = "Accelerators per instance."),
    OFFER(COUNT, records, .help = "Price records."),
    OFFER(COUNT, changes, .help = "Changes of the price."),
    OFFER(TEXT, begin, .omit_none = true, .help = "Time of the first record."),
    OFFER(TEXT, end, .omit_none = true, .help = "Time up to which prices are known."),
    USD(min, "Lowest"),
    USD(mean, "Mean"),
    USD(max, "Highest"),
    GPU_USD(struct app_market_offer, min, "Lowest", NULL),
    GPU_USD(struct app_market_offer, mean, "Mean", "per GPU"),
    GPU_USD(struct app_market_offer, max, "Highest", NULL),
    {"on_demand_usd_per_hour", FIELD(REAL, struct app_market_offer, on_demand_usd),
     .unit = "USD", .help = "On-demand price per hour."},
    {"best_case_reduction", FIELD(REAL, struct app_market_offer, reduction), REDUCTION,
     .help = "On-demand price divided by the lowest spot price."},
    {"share_at_on_demand", FIELD(REAL, struct app_market_offer, cap_share), .heading = "capped",
     PERCENT, .help = "Share of the time for sale at the on-demand price or above."},
    {"share_for_sale", FIELD(REAL, struct app_market_offer, sold_share),
     .help = "Share of the time covered for which the offer was for sale."},
    OFFER(REAL, changes_per_day, PER_DAY, .help = "Changes of the price per day."),
    OFFER(RECORD, lives, .record = &lives_record, .omit_none = true,
          .help = "Instances watched until their preemption."),
    OFFER(RECORDS, prices, .record = &price_record, .omit_none = true,
          .help = "Where requested: the changes of the price."),
    OFFER(REAL, prices_end_s, .unit = "s", .omit_none = true,
          .help = "End of these prices, in seconds since 1970."),
};
static const struct record offer_record =
    RECORD("market_offer", struct app_market_offer, offer_fields);

static json_t *from_json(const void *record)
{
    char text[32];

    return json_string(app_market_time(((const struct app_market_cheapest *)record)->from_s, text));
}

static json_t *to_json(const void *record)
{
    char text[32];

    return json_string(app_market_time(((const struct app_market_cheapest *)record)->to_s, text));
}

#define CHEAPEST(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_cheapest, key), __VA_ARGS__}
#define CHEAPEST_OFFER                                                                             \
    CHEAPEST(TEXT, cloud, .omit_none = true, .help = "Cloud."),                                    \
    CHEAPEST(TEXT, region, .omit_none = true, .help = "Region."),                                  \
    CHEAPEST(TEXT, zone, .omit_none = true, .help = "Zone."),                                      \
    CHEAPEST(TEXT, instance_type, .omit_none = true, .help = "Instance type.")
static const struct field cheapest_fields[] = {
    {"from", .type = FIELD_TEXT, .json = from_json, .help = "First time."},
    {"to", .type = FIELD_TEXT, .json = to_json, .help = "Time of the next change."},
    CHEAPEST(REAL, usd_per_gpu_hour, .unit = "USD",
             .help = "Price per GPU and hour; null = none was for sale."),
    CHEAPEST_OFFER,
};
static const struct record cheapest_record =
    RECORD("market_cheapest", struct app_market_cheapest, cheapest_fields);

static const struct field usual_fields[] = {CHEAPEST_OFFER};
static const struct record usual_record =
    RECORD("market_usual", struct app_market_cheapest, usual_fields);

static void usual_cell(const void *record, struct buf *out)
{
    const struct app_market_cheapest *o = ((const struct app_market_gpu *)record)->usual;

    if (o)
        buf_printf(out, "%s/%s %s", o->cloud, *o->zone ? o->zone : o->region, o->instance_type);
    else
        buf_puts(out, "-");
}

#define GPU(TYPE, member) FIELD(TYPE, struct app_market_gpu, member)
static const struct field gpu_fields[] = {
    {"gpu", GPU(TEXT, gpu), .heading = "GPU", .help = "Accelerator."},
    {"offers", GPU(COUNT, offers), .heading = "offers", .help = "Offers that were for sale."},
    GPU_USD(struct app_market_gpu, min, "Lowest", "min"),
    GPU_USD(struct app_market_gpu, mean, "Mean", "mean"),
    GPU_USD(struct app_market_gpu, max, "Highest", "max"),
    {"best_case_reduction", GPU(REAL, reduction), REDUCTION,
     .help = "Highest quotient of on-demand and lowest spot price of an offer."},
    {"share_at_on_demand", GPU(REAL, cap_share), .heading = "at on-demand", PERCENT,
     .help = "Share of the time for sale at the on-demand price or above."},
    {"changes_per_day", GPU(REAL, changes_per_day), PER_DAY,
     .help = "Changes of the price per offer and day."},
    {"cheapest", GPU(RECORDS, cheapest), .record = &cheapest_record,
     .help = "The cheapest offer over time."},
    {"most_often_cheapest", GPU(RECORD, usual), .record = &usual_record,
     .heading = "most often cheapest", .cell = usual_cell, .cut_rank = 1, .least_width = 12,
     .help = "The offer that was the cheapest for the longest time; null = none was for sale."},
};
static const struct record gpu_record = RECORD("market_gpu", struct app_market_gpu, gpu_fields);

static const struct field stats_fields[] = {
    {"gpus", FIELD(RECORDS, struct app_market_stats, gpus), .record = &gpu_record,
     .help = "Accelerators: all offers together, by the GPU."},
    {"offers", FIELD(RECORDS, struct app_market_stats, offers), .record = &offer_record,
     .help = "Offers: one instance type in one zone."},
};
/* clang-format on */

/* All offers of one GPU, added up. Prices are per GPU. */
struct group {
    const struct market_offer **offers;
    size_t n;
    double usd_s, sold_s, cap_s, known_cap_s, changes, covered_s;
};

/* Arrays are in the arena of the answer. */
struct stats {
    const struct answer *out;
    struct market *market;
    struct market_tables *tables;
    struct app_market_offer *offers;
    const struct market_offer **sources; /* of the offers */
    struct market_stats *of;             /* the offers */
    size_t n_offers;
    struct group *groups;
    struct app_market_gpu *gpus; /* of the groups */
    size_t n_groups;
};

static void stats_clear(struct stats *s)
{
    market_tables_free(s->tables);
    market_free(s->market);
}

/* ---- offers ---- */

static struct app_market_offer offer_of(const struct market_offer *o, const struct market_stats *s)
{
    const struct market_lives l = market_lives_of(o);

    return (struct app_market_offer){
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
        .prices_end_s = (double)NAN,
        .lived = {o->cloud, o->zone, o->instance_type, l.n, l.preempted, l.watched_s / 3600,
                  l.longest_s / 3600, l.preemptions_per_hour},
    };
}

static int put_prices(const struct stats *s,
                      const struct market_offer *o,
                      struct app_market_offer *out,
                      struct err *e)
{
    struct app_market_price *list = answer_alloc(s->out, o->n_points, sizeof *list, e);

    for (size_t i = 0; list && i < o->n_points; i++)
        list[i] = (struct app_market_price){o->points[i].at_s, o->points[i].usd_per_hour};
    out->prices = (struct field_records){list, o->n_points};
    out->prices_end_s = o->end_s;
    return list ? 0 : -1;
}

static int add_offer(struct stats *s, const struct market_offer *o, bool with_prices, struct err *e)
{
    struct app_market_offer *shown = &s->offers[s->n_offers];
    struct market_stats *of = &s->of[s->n_offers];

    *of = market_stats_of(o, market_tables_on_demand(s->tables, o, o->begin_s));
    *shown = offer_of(o, of);
    shown->lives = shown->lived.count ? &shown->lived : NULL;
    if (o->n_points) {
        shown->begin = app_market_time(o->begin_s, shown->times[0]);
        shown->end = app_market_time(o->end_s, shown->times[1]);
    }
    s->sources[s->n_offers++] = o;
    return with_prices ? put_prices(s, o, shown, e) : 0;
}

static int choose(struct stats *s, const struct stats_request *q, struct err *e)
{
    size_t n = s->market->n_offers;

    s->offers = answer_alloc(s->out, n, sizeof *s->offers, e);
    s->of = s->offers ? answer_alloc(s->out, n, sizeof *s->of, e) : NULL;
    s->sources = s->of ? answer_alloc(s->out, n, sizeof *s->sources, e) : NULL;
    if (!s->sources)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct market_offer *o = &s->market->offers[i];
        if ((!q->gpu || catalog_same_accelerator(q->gpu, o->gpu)) &&
            app_market_is_at(o, q->region) && add_offer(s, o, q->prices, e) < 0)
            return -1;
    }
    if (s->n_offers)
        return 0;
    return err_set(e, ERR_NOTFOUND, "no history of %s%s%s; `tradewind market ls` lists them",
                   q->gpu ? q->gpu : "any GPU", q->region ? " in " : "",
                   q->region ? q->region : "");
}

/* ---- GPUs ---- */

/* The number of the GPU's group; SIZE_MAX: e. */
static size_t group_of(struct stats *s, const char *gpu, struct err *e)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (strcmp(s->gpus[i].gpu, gpu) == 0)
            return i;
    s->gpus[s->n_groups] = (struct app_market_gpu){.gpu = gpu,
                                                   .min_usd_per_gpu = (double)NAN,
                                                   .max_usd_per_gpu = (double)NAN,
                                                   .reduction = (double)NAN};
    s->groups[s->n_groups].offers =
        answer_alloc(s->out, s->n_offers, sizeof(struct market_offer *), e);
    return s->groups[s->n_groups].offers ? s->n_groups++ : SIZE_MAX;
}

static int add_to_group(struct stats *s, size_t i, struct err *e)
{
    const struct market_stats *st = &s->of[i];
    const struct app_market_offer *o = &s->offers[i];
    size_t at = group_of(s, o->gpu, e);

    if (at == SIZE_MAX || !(st->sold_s > 0))
        return at == SIZE_MAX ? -1 : 0;
    struct group *g = &s->groups[at];
    struct app_market_gpu *shown = &s->gpus[at];
    g->offers[g->n++] = s->sources[i];
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
    return 0;
}

/* The offer that was the cheapest for the longest time; SIZE_MAX = none was for sale. */
static size_t most_often(const struct market *m, const struct market_cheapest *list, size_t n)
{
    const struct market_offer *all = m->offers;
    AUTO_MEM double *for_s = mem_zero(m->n_offers + 1, sizeof *for_s);
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct market_cheapest *c = &list[i];
        if (!c->offer)
            continue;
        for_s[c->offer - all] += c->to_s - c->from_s;
        if (best == SIZE_MAX || for_s[c->offer - all] > for_s[list[best].offer - all])
            best = i;
    }
    return best;
}

static int finish_group(const struct stats *s, size_t at, struct err *e)
{
    struct group *g = &s->groups[at];
    struct app_market_gpu *shown = &s->gpus[at];
    size_t n;
    AUTO_MEM struct market_cheapest *list = market_cheapest_of(g->offers, g->n, &n);
    struct app_market_cheapest *cheapest = answer_alloc(s->out, n, sizeof *cheapest, e);
    size_t usual = most_often(s->market, list, n);

    if (!cheapest)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct market_offer *o = list[i].offer;
        cheapest[i] = (struct app_market_cheapest){.from_s = list[i].from_s,
                                                   .to_s = list[i].to_s,
                                                   .usd_per_gpu_hour = list[i].usd_per_gpu_hour,
                                                   .cloud = o ? o->cloud : NULL,
                                                   .region = o ? o->region : NULL,
                                                   .zone = o ? o->zone : NULL,
                                                   .instance_type = o ? o->instance_type : NULL};
    }
    shown->offers = g->n;
    shown->mean_usd_per_gpu = g->sold_s > 0 ? g->usd_s / g->sold_s : (double)NAN;
    shown->cap_share = g->known_cap_s > 0 ? g->cap_s / g->known_cap_s : (double)NAN;
    shown->changes_per_day = g->covered_s > 0 ? g->changes / (g->covered_s / 86400) : (double)NAN;
    shown->cheapest = (struct field_records){cheapest, n};
    shown->usual = usual == SIZE_MAX ? NULL : &cheapest[usual];
    return 0;
}

static int run_stats(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct stats_request *q = request;
    AUTO_CLEAR(stats) struct stats s = {.out = out};

    s.tables = app_market_tables(q->on_demand, NULL, NULL, e);
    s.market = s.tables ? app_market_open(app, e) : NULL;
    if (!s.market || choose(&s, q, e) < 0)
        return -1;
    s.groups = answer_alloc(out, s.n_offers, sizeof *s.groups, e);
    s.gpus = s.groups ? answer_alloc(out, s.n_offers, sizeof *s.gpus, e) : NULL;
    if (!s.gpus)
        return -1;
    for (size_t i = 0; i < s.n_offers; i++)
        if (s.offers[i].gpu && s.offers[i].gpus > 0 && add_to_group(&s, i, e) < 0)
            return -1;
    for (size_t i = 0; i < s.n_groups; i++)
        if (finish_group(&s, i, e) < 0)
            return -1;
    const struct app_market_stats stats = {.gpus = {s.gpus, s.n_groups},
                                           .offers = {s.offers, s.n_offers}};
    return answer_head(out, &stats, e);
}

const struct operation market_stats_operation = {
    .name = "market.stats",
    .summary = "Summarize the imported price histories by GPU and by offer.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct stats_request, request_fields),
    .answer = RECORD_AT("market_stats", struct app_market_stats, stats_fields),
    .run = run_stats,
};
