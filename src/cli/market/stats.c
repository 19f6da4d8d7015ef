/* stats: the command `market stats`, with its chart of prices. */
#include "app/market/market.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "draw/chart_market.h"
#include "market/series.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFFERS_SHOWN_MAX 60
#define PANELS_MAX 24

/* ---- tables ---- */

static void put_usd(struct table *t, double usd)
{
    if (isnan(usd))
        table_put(t, "-");
    else
        table_printf(t, "%.4f", usd);
}

static void put_number(struct table *t, const char *format_1, double v, double scale)
{
    if (isnan(v))
        table_put(t, "-");
    else if (strcmp(format_1, "%") == 0)
        table_printf(t, "%.0f%%", v * scale);
    else
        table_printf(t, "%.2f%s", v * scale, format_1);
}

static void print_gpus(const struct operate_text *t, const struct field_records *gpus)
{
    static const struct table_column columns[] = {
        {.title = "GPU"},
        {.title = "offers", .right = true},
        {.title = "min", .right = true},
        {.title = "mean", .right = true},
        {.title = "max", .right = true},
        {.title = "best case", .right = true},
        {.title = "at on-demand", .right = true},
        {.title = "changes/day", .right = true},
        {.title = "most often cheapest", .cut_rank = 1, .least = 12},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    const struct app_market_gpu *list = gpus->items;

    for (size_t i = 0; i < gpus->n; i++) {
        const struct app_market_gpu *g = &list[i];
        const struct market_offer *o = g->usual;
        table_put(table, g->gpu);
        table_printf(table, "%zu", (size_t)g->offers);
        put_usd(table, g->min_usd_per_gpu);
        put_usd(table, g->mean_usd_per_gpu);
        put_usd(table, g->max_usd_per_gpu);
        put_number(table, " x", g->reduction, 1);
        put_number(table, "%", g->cap_share, 100);
        put_number(table, "", g->changes_per_day, 1);
        if (o)
            table_printf(table, "%s/%s %s", o->cloud, *o->zone ? o->zone : o->region,
                         o->instance_type);
        else
            table_put(table, "-");
    }
    fputs("USD per GPU and hour\n\n", t->out);
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

static void print_offers(const struct operate_text *t, const struct field_records *offers)
{
    static const struct table_column columns[] = {
        {.title = "offer", .cut_rank = 1, .least = 16},
        {.title = "instance type", .cut_rank = 2, .least = 10},
        {.title = "min", .right = true},
        {.title = "mean", .right = true},
        {.title = "max", .right = true},
        {.title = "per GPU", .right = true},
        {.title = "best case", .right = true},
        {.title = "capped", .right = true},
        {.title = "changes/day", .right = true},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    const struct app_market_offer *list = offers->items;

    for (size_t i = 0; i < offers->n; i++) {
        const struct app_market_offer *o = &list[i];
        if (!o->records)
            continue;
        table_printf(table, "%s/%s", o->cloud, *o->zone ? o->zone : o->region);
        table_put(table, o->instance_type);
        put_usd(table, o->min_usd);
        put_usd(table, o->mean_usd);
        put_usd(table, o->max_usd);
        put_usd(table, o->mean_usd_per_gpu);
        put_number(table, " x", o->reduction, 1);
        put_number(table, "%", o->cap_share, 100);
        put_number(table, "", o->changes_per_day, 1);
    }
    fputs("\nUSD per hour; per GPU: the mean\n\n", t->out);
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

static void print_lives(const struct operate_text *t, const struct field_records *offers)
{
    static const struct table_column columns[] = {
        {.title = "offer", .cut_rank = 1, .least = 16},
        {.title = "instance type"},
        {.title = "lives", .right = true},
        {.title = "preempted", .right = true},
        {.title = "watched", .right = true},
        {.title = "longest", .right = true},
        {.title = "preemptions/h", .right = true},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    const struct app_market_offer *list = offers->items;
    bool any = false;

    for (size_t i = 0; i < offers->n; i++) {
        const struct app_market_lives *l = &list[i].lived;
        if (!list[i].lives)
            continue;
        any = true;
        table_printf(table, "%s/%s", list[i].cloud, list[i].zone);
        table_put(table, list[i].instance_type);
        table_printf(table, "%zu", (size_t)l->count);
        table_printf(table, "%zu", (size_t)l->preempted);
        table_printf(table, "%.1f h", l->watched_hours);
        table_printf(table, "%.1f h", l->longest_hours);
        table_printf(table, "%.3f", l->preemptions_per_hour);
    }
    if (!any)
        return;
    fputs("\nLives of watched instances\n\n", t->out);
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

static void print_stats(struct operate_text *t, const void *record)
{
    const struct app_market_stats *s = record;

    print_gpus(t, &s->gpus);
    if (s->offers.n <= OFFERS_SHOWN_MAX) {
        print_offers(t, &s->offers);
        print_lives(t, &s->offers);
        return;
    }
    fprintf(t->out, "\n%zu offers; --gpu and --region select a few to list, --json lists all.\n",
            s->offers.n);
}

/* ---- chart ---- */

/* Steps of all lines of a chart, which live until the chart is drawn. */
struct drawing {
    struct chart_price_panel panels[PANELS_MAX];
    char titles[PANELS_MAX][160];
    size_t n, left_out;
    struct chart_step **steps;
    size_t n_steps, cap_steps;
};

static struct chart_step *keep_steps(struct drawing *d, size_t n)
{
    d->steps = mem_room(d->steps, d->n_steps, &d->cap_steps, sizeof(struct chart_step *));
    return d->steps[d->n_steps++] = mem_zero(n + 1, sizeof(struct chart_step));
}

static void drawing_free(struct drawing *d)
{
    for (size_t i = 0; i < d->n_steps; i++)
        free(d->steps[i]);
    free(d->steps);
    free(d);
}

static struct chart_price_panel *add_panel(struct drawing *d)
{
    if (d->n == PANELS_MAX) {
        d->left_out++;
        return NULL;
    }
    struct chart_price_panel *p = &d->panels[d->n];
    *p = (struct chart_price_panel){.title = d->titles[d->n], .cap_usd = (double)NAN};
    d->n++;
    return p;
}

/* One line per cloud, broken while another cloud is cheaper. */
static void add_cloud(struct drawing *d,
                      struct chart_price_panel *p,
                      const struct field_records *cheapest,
                      const char *cloud)
{
    const struct app_market_cheapest *list = cheapest->items;

    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->lines[i].name, cloud) == 0)
            return;
    if (p->n == CHART_LINES_MAX) {
        p->left_out++;
        return;
    }
    struct chart_step *steps = keep_steps(d, cheapest->n);
    for (size_t i = 0; i < cheapest->n; i++) {
        bool is = list[i].cloud && strcmp(list[i].cloud, cloud) == 0;
        steps[i] = (struct chart_step){list[i].from_s, is ? list[i].usd_per_gpu_hour : (double)NAN};
    }
    p->lines[p->n++] = (struct chart_line){cloud, steps, cheapest->n, list[cheapest->n - 1].to_s};
}

static void draw_cheapest(struct drawing *d, const struct app_market_gpu *g)
{
    struct chart_price_panel *p = g->cheapest.n ? add_panel(d) : NULL;
    const struct app_market_cheapest *list = g->cheapest.items;

    if (!p)
        return;
    snprintf(d->titles[d->n - 1], sizeof *d->titles,
             "%s: the cheapest offer over time, USD per GPU and hour", g->gpu);
    for (size_t i = 0; i < g->cheapest.n; i++)
        if (list[i].cloud)
            add_cloud(d, p, &g->cheapest, list[i].cloud);
}

static void draw_offer(struct drawing *d, struct chart_price_panel *p, const struct market_offer *o)
{
    if (p->n == CHART_LINES_MAX) {
        p->left_out++;
        return;
    }
    struct chart_step *steps = keep_steps(d, o->n_points);
    for (size_t i = 0; i < o->n_points; i++)
        steps[i] = (struct chart_step){o->points[i].at_s, o->points[i].usd_per_hour};
    p->lines[p->n++] =
        (struct chart_line){*o->zone ? o->zone : o->region, steps, o->n_points, o->end_s};
}

static bool same_panel(const struct market_offer *a, const struct market_offer *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

/* One panel per instance type and region: offers are sorted so that its zones stand together. */
static void draw_offers(struct drawing *d, const struct field_records *offers)
{
    const struct app_market_offer *list = offers->items;
    struct chart_price_panel *panel = NULL;
    const struct market_offer *last = NULL;

    for (size_t i = 0; i < offers->n; i++) {
        const struct market_offer *o = list[i].offer;
        if (!o->n_points)
            continue;
        if (!last || !same_panel(last, o)) {
            panel = add_panel(d);
            if (panel) {
                snprintf(d->titles[d->n - 1], sizeof *d->titles,
                         "%.28s in %.10s/%.20s, USD per hour", o->instance_type, o->cloud,
                         o->region);
                panel->cap_usd = list[i].on_demand_usd;
            }
        }
        last = o;
        if (panel)
            draw_offer(d, panel, o);
    }
}

static int save_chart(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_market_stats *s = record;
    const struct app_market_gpu *gpus = s->gpus.items;
    const char *path = command_value(t->args, "--svg");
    struct drawing *d;

    if (!path)
        return 0;
    d = mem_zero(1, sizeof *d);
    for (size_t i = 0; i < s->gpus.n; i++)
        draw_cheapest(d, &gpus[i]);
    draw_offers(d, &s->offers);
    const struct chart_prices chart = {"Spot prices", d->panels, d->n, d->left_out};
    int saved = chart_prices_save(path, &chart, e);
    drawing_free(d);
    return saved;
}

static const struct command_option options[] = {
    {.name = "--svg",
     .value = "FILE",
     .help = "Draw prices over time, one panel per instance type."},
    {0},
};

const struct command command_market_stats = {
    .name = "market stats",
    .summary = "Summarize the imported price histories",
    .details = "Lists by GPU and by offer: the lowest, mean and highest price, how often the price "
               "changes, the share of time at the on-demand price (capped), and the best case: the "
               "on-demand price divided by the lowest spot price. Instances with several GPUs are "
               "compared per GPU.",
    .example = "tradewind market stats --gpu V100",
    .options = options,
    .operation = &market_stats_operation,
    .text = &(const struct command_text){.save = save_chart, .head = print_stats},
};
