/* stats: the command `market stats`, with its chart of prices. */
#include "app/market/market.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "draw/chart_market.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define OFFERS_SHOWN_MAX 60
#define PANELS_MAX 24

/* ---- tables ---- */

static const struct record *record_of(const char *list)
{
    return record_field(market_stats_operation.answer, list)->record;
}

static void print_offers(const struct operate_text *t, const struct field_records *offers)
{
    const struct app_market_offer *list = offers->items;
    AUTO_CLEAR(writer) struct writer w;

    fputs("\nUSD per hour; per GPU: the mean\n\n", t->out);
    writer_init(&w, WRITER_TABLE, NULL, record_of("offers"), NULL, false, t->out);
    for (size_t i = 0; i < offers->n; i++)
        if (list[i].records)
            writer_item(&w, &list[i], NULL);
    writer_end(&w, NULL);
}

static void print_lives(const struct operate_text *t, const struct field_records *offers)
{
    const struct app_market_offer *list = offers->items;
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL, record_field(record_of("offers"), "lives")->record, NULL,
                false, t->out);
    for (size_t i = 0; i < offers->n; i++) {
        if (!list[i].lives)
            continue;
        if (!w.n_items)
            fputs("\nLives of watched instances\n\n", t->out);
        writer_item(&w, list[i].lives, NULL);
    }
    writer_end(&w, NULL);
}

static void print_stats(struct operate_text *t, const void *record)
{
    const struct app_market_stats *s = record;

    fputs("USD per GPU and hour\n\n", t->out);
    writer_list(market_stats_operation.answer, s, "gpus", SIZE_MAX, 0, false, t->out);
    if (s->offers.n <= OFFERS_SHOWN_MAX) {
        print_offers(t, &s->offers);
        print_lives(t, &s->offers);
        return;
    }
    fprintf(t->out, "\n%zu offers; --gpu and --region select a few to list, --json lists all.\n",
            s->offers.n);
}

/* ---- chart ---- */

/* In the arena of the answer, with the steps of all lines. */
struct drawing {
    struct arena *arena;
    struct chart_price_panel panels[PANELS_MAX];
    char titles[PANELS_MAX][160];
    size_t n, left_out;
};

/* A line of n steps to be filled in; NULL: the panel has no room. */
static struct chart_step *add_line(
    struct drawing *d, struct chart_price_panel *p, const char *name, size_t n, double end_s)
{
    struct chart_step *steps =
        p->n < CHART_LINES_MAX ? arena_alloc(d->arena, n, sizeof *steps) : NULL;

    if (steps)
        p->lines[p->n++] = (struct chart_line){name, steps, n, end_s};
    else
        p->left_out++;
    return steps;
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
    struct chart_step *steps = add_line(d, p, cloud, cheapest->n, list[cheapest->n - 1].to_s);
    for (size_t i = 0; steps && i < cheapest->n; i++) {
        bool is = list[i].cloud && strcmp(list[i].cloud, cloud) == 0;
        steps[i] = (struct chart_step){list[i].from_s, is ? list[i].usd_per_gpu_hour : (double)NAN};
    }
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

static void draw_offer(struct drawing *d,
                       struct chart_price_panel *p,
                       const struct app_market_offer *o)
{
    const struct app_market_price *prices = o->prices.items;
    const char *name = *o->zone ? o->zone : o->region;
    struct chart_step *steps = add_line(d, p, name, o->prices.n, o->prices_end_s);

    for (size_t i = 0; steps && i < o->prices.n; i++)
        steps[i] = (struct chart_step){prices[i].at_s, prices[i].usd_per_hour};
}

static bool same_panel(const struct app_market_offer *a, const struct app_market_offer *b)
{
    return strcmp(a->cloud, b->cloud) == 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

/* One panel per instance type and region: offers are sorted so that its zones stand together. */
static void draw_offers(struct drawing *d, const struct field_records *offers)
{
    const struct app_market_offer *list = offers->items, *last = NULL;
    struct chart_price_panel *panel = NULL;

    for (size_t i = 0; i < offers->n; i++) {
        const struct app_market_offer *o = &list[i];
        if (!o->prices.n)
            continue;
        if (!last || !same_panel(last, o)) {
            panel = add_panel(d);
            if (panel) {
                snprintf(d->titles[d->n - 1], sizeof *d->titles,
                         "%.28s in %.10s/%.20s, USD per hour", o->instance_type, o->cloud,
                         o->region);
                panel->cap_usd = o->on_demand_usd;
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
    struct drawing *d = path ? arena_alloc(t->arena, 1, sizeof *d) : NULL;

    if (!d)
        return path ? err_set(e, ERR_NOFIT, "%s: the chart is too large", path) : 0;
    d->arena = t->arena;
    for (size_t i = 0; i < s->gpus.n; i++)
        draw_cheapest(d, &gpus[i]);
    draw_offers(d, &s->offers);
    const struct chart_prices chart = {"Spot prices", d->panels, d->n, d->left_out};
    return chart_prices_save(path, &chart, e);
}

static const struct command_option options[] = {
    {.name = "--svg",
     .value = "FILE",
     .sets = "prices",
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
