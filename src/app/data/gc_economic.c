/* gc_economic: the operation that removes the content of sets that are cheaper to make again than
 * to keep. `tradewind gc --economic` calls it. */
#include "app/data/data.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "broker/pipeline/lineage.h"
#include "catalog/catalog.h"
#include "lake/clean/clean.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A GB-month in a bucket of Amazon's us-east-1, for stores that have no price of their own. */
#define GB_MONTH_USD 0.023

struct weighing {
    struct lineage lineage;
    struct economics_terms terms;
    const char *basis; /* of the price */
    struct economics_set *sets;
    char **refs;
    size_t n, cap, cap_refs;
};

static void weighing_clear(struct weighing *w)
{
    lineage_clear(&w->lineage);
    for (size_t i = 0; i < w->n; i++)
        free(w->refs[i]);
    free(w->refs);
    free(w->sets);
}

/* ---- the terms ---- */

struct economic_request {
    bool remove;
    double months, gb_month_usd;
    uint64_t limit;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"remove", FIELD(BOOL, struct economic_request, remove), .option = "--yes",
     .help = "Remove the content; without this, only report it."},
    {"horizon_months", FIELD(REAL, struct economic_request, months), .option = "--horizon",
     .value = "MONTHS", .preset = "1", .help = "How long the sets would be kept (1)."},
    {"gb_month_usd", FIELD(REAL, struct economic_request, gb_month_usd), .option = "--gb-month",
     .value = "USD", .unit = "USD",
     .help = "What a GB costs per month (the catalog's price in the region of the store, else "
             "0.023)."},
    {"limit", FIELD(COUNT, struct economic_request, limit), .is_remote_only = true,
     .help = "List at most this many sets; all are weighed."},
};
/* clang-format on */

static double price_in_region(const struct config *c)
{
    AUTO(catalog) struct catalog *catalog = NULL;

    if (strncmp(c->store, "s3:", 3) != 0 || c->endpoint || !c->region)
        return (double)NAN;
    catalog = catalog_open(c->home, NULL);
    size_t region = catalog ? catalog_find_place(catalog, "aws", c->region) : SIZE_MAX;
    return region == SIZE_MAX ? (double)NAN : catalog_storage_usd(catalog, region);
}

static int find_terms(struct app *app,
                      const struct economic_request *q,
                      const struct answer *out,
                      struct weighing *w,
                      struct err *e)
{
    const struct config *c = app_config(app, e);
    double own = q->gb_month_usd;
    char name[64];

    if (!c)
        return -1;
    if (!(q->months > 0 && q->months <= 1200))
        return err_set(e, ERR_USAGE, "%s %g: must be months, above 0 and at most 1200",
                       answer_spell(out, "horizon_months", name), q->months);
    if (!isnan(own) && !(own >= 0 && own <= MONEY_MAX_USD))
        return err_set(e, ERR_USAGE, "%s %g: must be dollars, at least 0",
                       answer_spell(out, "gb_month_usd", name), own);
    double listed = isnan(own) ? price_in_region(c) : own;
    w->terms = (struct economics_terms){.gb_month_usd = isnan(listed) ? GB_MONTH_USD : listed,
                                        .months = q->months};
    w->basis = !isnan(own) ? "--gb-month" : isnan(listed) ? "default" : "catalog";
    return 0;
}

/* ---- what there is to weigh ---- */

static int note_spare(void *context, const struct lake_spare *spare, struct err *e)
{
    struct weighing *w = context;
    size_t node = lineage_find(&w->lineage, spare->version);

    (void)e;
    /* Made after the graph was read, or let go already. */
    if (node == SIZE_MAX || !w->lineage.nodes[node].there)
        return 0;
    w->sets = mem_room(w->sets, w->n, &w->cap, sizeof *w->sets);
    w->refs = mem_room(w->refs, w->n, &w->cap_refs, sizeof *w->refs);
    w->sets[w->n] = (struct economics_set){.node = node, .only_bytes = spare->only_bytes};
    w->refs[w->n++] = mem_dup(spare->ref);
    return 0;
}

static int weigh_all(struct lake *l, struct weighing *w, struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph found = {0};

    if (lake_trace(l, NULL, LAKE_BOTH, 0, &found, e) < 0 ||
        lineage_load(l, &found, true, &w->lineage, e) < 0 ||
        lake_spare_list(l, note_spare, w, e) < 0)
        return -1;
    economics_weigh(&w->lineage, &w->terms, w->sets, w->n);
    return 0;
}

static int let_go(struct app *app,
                  struct lake *l,
                  const struct weighing *w,
                  struct lake_gc_summary *out,
                  struct err *e)
{
    AUTO_MEM int64_t *ids = mem_zero(w->n + 1, sizeof *ids);
    struct app_progress progress = {app, "removing"};
    size_t n = 0;

    *out = (struct lake_gc_summary){0};
    for (size_t i = 0; i < w->n; i++)
        if (w->sets[i].goes)
            ids[n++] = w->lineage.nodes[w->sets[i].node].version;
    if (n == 0)
        return 0;
    const struct lake_gc_options options = {
        .remove = true, .release = ids, .n_release = n, .progress = app_lake_progress(&progress)};
    return lake_gc(l, &options, NULL, NULL, out, e);
}

/* ---- lake.gc_economic ---- */

static void verdict_cell(const void *record, struct buf *out)
{
    const struct data_gc_set *s = record;

    if (s->goes)
        buf_puts(out, "goes");
    else
        buf_printf(out, "stays%s%s", s->why[0] ? ": " : "", s->why);
}

/* clang-format off */
static const struct field set_fields[] = {
    {"set", FIELD(TEXT, struct data_gc_set, ref), .help = "The set version.", .heading = "set",
     .cut_rank = 2, .least_width = 12},
    {"job", FIELD(INT, struct data_gc_set, job), .help = "The job that made it."},
    {"own_bytes", FIELD(BYTES, struct data_gc_set, own_bytes), .unit = "bytes",
     .help = "Content that nothing else holds.", .heading = "its own"},
    {"keep_usd_per_month", FIELD(REAL, struct data_gc_set, keep_usd_per_month), .unit = "USD",
     .help = "What a month of storage costs."},
    {"keep_usd", FIELD(MONEY, struct data_gc_set, keep_microusd), .unit = "USD",
     .help = "What storage costs until the horizon.", .heading = "keeping"},
    {"replay_usd", FIELD(MONEY, struct data_gc_set, replay_microusd), .unit = "USD",
     .help = "What a replay costs.", .heading = "replay"},
    {"replay_s", FIELD(DURATION, struct data_gc_set, replay_s), .unit = "s",
     .help = "How long a replay runs.", .heading = "takes"},
    {"replay_jobs", FIELD(COUNT, struct data_gc_set, replay_jobs),
     .help = "How many jobs a replay runs.", .heading = "jobs"},
    {"goes", FIELD(BOOL, struct data_gc_set, goes), .help = "Whether its content goes.",
     .heading = "", .cell = verdict_cell, .cut_rank = 1, .least_width = 5},
    {"why", FIELD(TEXT, struct data_gc_set, why), .help = "Why it stays whatever it costs."},
};

#define GC(TYPE, member) FIELD(TYPE, struct data_gc_economic, member)
static const struct field head_fields[] = {
    {"removed", GC(BOOL, removed), .help = "Whether the content was removed."},
    {"gb_month_usd", GC(REAL, gb_month_usd), .unit = "USD",
     .help = "What a GB costs per month."},
    {"price_basis", GC(TEXT, price_basis),
     .help = "Origin of that price: --gb-month, catalog or default."},
    {"horizon_months", GC(REAL, horizon_months),
     .help = "How long the sets would be kept."},
    {"versions", GC(COUNT, versions), .help = "File versions that lost their content."},
    {"size_bytes", GC(BYTES, bytes), .unit = "bytes",
     .help = "Size of the content that was removed."},
    {"sets_count", GC(COUNT, n_sets), .help = "How many sets were compared."},
    {"going_count", GC(COUNT, n_going), .help = "Those of them whose content goes."},
    {"going_bytes", GC(BYTES, own_bytes), .unit = "bytes",
     .help = "Size of that content."},
};
/* clang-format on */

static int answer_set(const struct weighing *w, size_t i, struct answer *out, struct err *e)
{
    const struct economics_set *s = &w->sets[i];
    const struct data_gc_set item = {
        .ref = w->refs[i],
        .job = w->lineage.nodes[s->node].job,
        .own_bytes = s->only_bytes,
        .keep_usd_per_month = s->keep_usd_per_month,
        .keep_microusd = s->keep_microusd,
        .replay_microusd = s->replay_microusd,
        .replay_s = s->replay_s,
        .replay_jobs = s->replay_jobs,
        .goes = s->goes,
        .why = s->why,
    };

    return answer_item(out, &item, e);
}

static int run_economic(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct economic_request *q = request;
    AUTO_CLEAR(weighing) struct weighing w = {0};
    struct lake_gc_summary s = {0};

    if (find_terms(app, q, out, &w, e) < 0)
        return -1;
    struct lake *l = app_lake(app, e);
    if (!l || weigh_all(l, &w, e) < 0 || (q->remove && let_go(app, l, &w, &s, e) < 0))
        return -1;
    struct data_gc_economic head = {
        .removed = q->remove,
        .gb_month_usd = w.terms.gb_month_usd,
        .price_basis = w.basis,
        .horizon_months = w.terms.months,
        .versions = s.versions,
        .bytes = s.bytes,
        .n_sets = w.n,
    };
    for (size_t i = 0; i < w.n; i++) {
        head.n_going += w.sets[i].goes;
        head.own_bytes += w.sets[i].goes ? w.sets[i].only_bytes : 0;
    }
    if (answer_head(out, &head, e) < 0)
        return -1;
    out->more = w.n > q->limit;
    for (size_t i = 0; i < w.n && i < q->limit; i++)
        if (answer_set(&w, i, out, e) < 0)
            return -1;
    return 0;
}

const struct operation lake_gc_economic_operation = {
    .name = "lake.gc_economic",
    .summary = "Remove the content of sets that their jobs make again for less than storage costs.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct economic_request, request_fields),
    .answer = RECORD_AT("gc_economic", struct data_gc_economic, head_fields),
    .item = RECORD_AT("gc_set", struct data_gc_set, set_fields),
    .items_name = "sets",
    .run = run_economic,
};
