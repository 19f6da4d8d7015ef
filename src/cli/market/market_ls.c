#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/market/market_parts.h"
#include "view/json_list.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Histories of one region, machine and source: its zones added up. */
struct row {
    const struct market_offer *first;
    size_t zones, records, spells;
    double begin_s, end_s;
};

static bool same_row(const struct market_offer *a, const struct market_offer *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0 && a->feed == b->feed;
}

static void add(struct row *r, const struct market_offer *o)
{
    r->zones++;
    r->records += o->n_points;
    r->spells += o->n_spells;
    double begin_s = o->n_points ? o->begin_s : o->spells[0].begin_s;
    double end_s = o->n_points ? o->end_s : o->spells[o->n_spells - 1].end_s;
    r->begin_s = fmin(r->begin_s, begin_s);
    r->end_s = fmax(r->end_s, end_s);
}

static struct row *rows_of(const struct market *m, size_t *n_out)
{
    struct row *rows = mem_zero(market_n_offers(m) + 1, sizeof *rows);
    size_t n = 0;

    for (size_t i = 0; i < market_n_offers(m); i++) {
        const struct market_offer *o = &market_offers(m)[i];
        if (!n || !same_row(rows[n - 1].first, o))
            rows[n++] = (struct row){.first = o, .begin_s = (double)INFINITY};
        add(&rows[n - 1], o);
    }
    *n_out = n;
    return rows;
}

static int print_json(const struct row *rows, size_t n, struct err *e)
{
    struct json_list list;
    char begin[32], end[32];

    json_list_begin(&list, stdout);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        const struct market_offer *o = r->first;
        json_t *item =
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:s, s:s}", "cloud",
                      json_text(o->cloud), "region", json_text(o->region), "instance_type",
                      json_text(o->instance_type), "gpu", *o->gpu ? json_text(o->gpu) : json_null(),
                      "gpus", o->gpus > 0 ? json_number(o->gpus) : json_null(), "format",
                      market_feed_text(o->feed), "zones", (json_int_t)r->zones, "records",
                      (json_int_t)r->records, "lives", (json_int_t)r->spells, "begin",
                      app_market_time(r->begin_s, begin), "end", app_market_time(r->end_s, end));
        if (json_list_add(&list, item, e) < 0)
            return -1;
    }
    return json_list_end(&list, e);
}

static void print_table(const struct row *rows, size_t n)
{
    static const struct table_column columns[] = {
        {.title = "place", .cut_rank = 1, .least = 12},
        {.title = "machine", .cut_rank = 2, .least = 10},
        {.title = "GPUs"},
        {.title = "zones", .right = true},
        {.title = "records", .right = true},
        {.title = "lives", .right = true},
        {.title = "from"},
        {.title = "to"},
        {.title = "format"},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        const struct market_offer *o = r->first;
        table_printf(t, "%s/%s", o->cloud, o->region);
        table_put(t, o->instance_type);
        if (*o->gpu)
            table_printf(t, "%s:%g", o->gpu, o->gpus);
        else
            table_put(t, "?");
        table_put(t, text_count(r->zones, text));
        table_put(t, text_count(r->records, text));
        table_put(t, r->spells ? text_count(r->spells, text) : "-");
        table_put(t, app_market_day(r->begin_s, text));
        table_put(t, app_market_day(r->end_s, text));
        table_put(t, market_feed_text(o->feed));
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, &look);
}

static int run_ls(const struct command_args *args, struct err *e)
{
    AUTO(market) struct market *m = cli_market_open(e);
    size_t n;

    if (!m)
        return -1;
    AUTO_MEM struct row *rows = rows_of(m, &n);
    if (command_has(args, "--json"))
        return print_json(rows, n, e);
    print_table(rows, n);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--json", .help = "Print a JSON array."},
    {0},
};

const struct command command_market_ls = {
    .name = "market ls",
    .summary = "List the price histories that were imported",
    .details = "One row a place, machine and source; its zones are counted together. Lives are "
               "machines that were watched until they were preempted.",
    .example = "tradewind market ls",
    .options = options,
    .run = run_ls,
};
