/* list: the operation market.list, which `tradewind market ls` calls. */
#include "app/market/market.h"
#include "base/buf.h"
#include "market/series.h"
#include "view/text.h"

#include <math.h>
#include <string.h>

/* Histories of one region, instance type and format: the zones added up. */
struct row {
    const char *cloud, *region, *instance_type, *gpu, *format;
    double gpus;
    uint64_t zones, records, lives;
    const char *begin, *end; /* times */
};

static void location_cell(const void *record, struct buf *out)
{
    const struct row *r = record;

    buf_printf(out, "%s/%s", r->cloud, r->region);
}

static void gpus_cell(const void *record, struct buf *out)
{
    const struct row *r = record;

    if (r->gpu)
        buf_printf(out, "%s:%g", r->gpu, r->gpus);
    else
        buf_puts(out, "?");
}

static void lives_cell(const void *record, struct buf *out)
{
    const struct row *r = record;
    char text[32];

    buf_puts(out, r->lives ? text_count(r->lives, text) : "-");
}

/* The first ten characters of a time are its day. */
static void begin_cell(const void *record, struct buf *out)
{
    buf_printf(out, "%.10s", ((const struct row *)record)->begin);
}

static void end_cell(const void *record, struct buf *out)
{
    buf_printf(out, "%.10s", ((const struct row *)record)->end);
}

/* clang-format off */
#define ROW(TYPE, key, ...) {#key, FIELD(TYPE, struct row, key), __VA_ARGS__}
static const struct field row_fields[] = {
    ROW(TEXT, cloud, .heading = "location", .cell = location_cell, .cut_rank = 1,
        .least_width = 12, .help = "Cloud."),
    ROW(TEXT, region, .help = "Region."),
    ROW(TEXT, instance_type, .heading = "instance type", .cut_rank = 2, .least_width = 10,
        .help = "Instance type."),
    ROW(TEXT, gpu, .heading = "GPUs", .cell = gpus_cell, .help = "Accelerator; null = unknown."),
    ROW(REAL, gpus, .help = "Accelerators per instance; null = unknown."),
    ROW(COUNT, zones, .heading = "zones", .help = "Zones with a history."),
    ROW(COUNT, records, .heading = "records", .help = "Price records."),
    ROW(COUNT, lives, .heading = "lifetimes", .cell = lives_cell,
        .help = "Instances watched until their preemption or the end of the log."),
    ROW(TEXT, begin, .heading = "from", .cell = begin_cell, .help = "Time of the first record."),
    ROW(TEXT, end, .heading = "to", .cell = end_cell,
        .help = "Time up to which prices are known."),
    ROW(TEXT, format, .heading = "format", .help = "Format of the imported files."),
};
/* clang-format on */

static bool same_row(const struct market_offer *a, const struct market_offer *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0 && a->feed == b->feed;
}

/* The row of the offers from *i on; *i becomes the first offer of the next row. */
static struct row next_row(const struct market *m,
                           size_t *i,
                           char begin[static 32],
                           char end[static 32])
{
    const struct market_offer *o = &m->offers[*i], *first = o;
    double begin_s = (double)INFINITY, end_s = 0;
    struct row r = {
        .cloud = o->cloud,
        .region = o->region,
        .instance_type = o->instance_type,
        .gpu = *o->gpu ? o->gpu : NULL,
        .format = market_feed_texts[o->feed],
        .gpus = o->gpus > 0 ? o->gpus : (double)NAN,
    };

    for (; *i < m->n_offers && same_row(first, o); o++, ++*i) {
        r.zones++;
        r.records += o->n_points;
        r.lives += o->n_spells;
        begin_s = fmin(begin_s, o->n_points ? o->begin_s : o->spells[0].begin_s);
        end_s = fmax(end_s, o->n_points ? o->end_s : o->spells[o->n_spells - 1].end_s);
    }
    r.begin = app_market_time(begin_s, begin);
    r.end = app_market_time(end_s, end);
    return r;
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct err why = {0};
    AUTO(market) struct market *m = app_market_open(app, &why);

    (void)request;
    if (!m)
        return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    for (size_t i = 0; i < m->n_offers;) {
        char begin[32], end[32];
        const struct row r = next_row(m, &i, begin, end);
        if (answer_item(out, &r, e) < 0)
            return -1;
    }
    return 0;
}

const struct operation market_list_operation = {
    .name = "market.list",
    .summary = "List the imported price histories.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = RECORD_AT("market_history", struct row, row_fields),
    .run = run_list,
};
