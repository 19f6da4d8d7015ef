#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "cli/core/commands.h"
#include "cli/market/market_chart.h"
#include "cli/market/market_parts.h"
#include "market/stats.h"
#include "market/tables.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFERS_SHOWN_MAX 60
#define PANELS_MAX 24

/* One offer with what it amounts to. */
struct item {
    const struct market_offer *offer;
    struct market_stats stats;
    struct market_lives lives;
};

/* All offers of one GPU. Prices are per GPU. */
struct group {
    const char *gpu;
    const struct market_offer **offers;
    size_t n;
    double min_usd, max_usd, mean_usd, reduction;
    double sold_s, cap_s, known_cap_s, changes, covered_s;
    struct market_cheapest *cheapest;
    size_t n_cheapest;
};

struct stats {
    struct market *market;
    struct market_tables *tables;
    struct item *items;
    size_t n_items;
    struct group *groups;
    size_t n_groups;
};

static void stats_clear(struct stats *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        free(s->groups[i].offers);
        free(s->groups[i].cheapest);
    }
    free(s->groups);
    free(s->items);
    market_tables_free(s->tables);
    market_free(s->market);
}

static int choose(struct stats *s, const char *gpu, const char *place, struct err *e)
{
    s->items = mem_zero(market_n_offers(s->market) + 1, sizeof *s->items);
    for (size_t i = 0; i < market_n_offers(s->market); i++) {
        const struct market_offer *o = &market_offers(s->market)[i];
        if ((gpu && !catalog_same_accelerator(gpu, o->gpu)) || !app_market_is_at(o, place))
            continue;
        struct item *item = &s->items[s->n_items++];
        item->offer = o;
        item->stats = market_stats_of(o, market_tables_on_demand(s->tables, o, o->begin_s));
        item->lives = market_lives_of(o);
    }
    if (s->n_items)
        return 0;
    return err_set(e, ERR_NOTFOUND, "no history of %s%s%s; `tradewind market ls` lists them",
                   gpu ? gpu : "any GPU", place ? " in " : "", place ? place : "");
}

static struct group *group_of(struct stats *s, const char *gpu)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (strcmp(s->groups[i].gpu, gpu) == 0)
            return &s->groups[i];
    struct group *g = &s->groups[s->n_groups++];
    *g = (struct group){
        .gpu = gpu, .min_usd = (double)NAN, .max_usd = (double)NAN, .reduction = (double)NAN};
    g->offers = mem_zero(s->n_items, sizeof *g->offers);
    return g;
}

static void add_to_group(struct group *g, const struct item *item)
{
    const struct market_stats *st = &item->stats;
    double gpus = item->offer->gpus;

    if (!(st->sold_s > 0))
        return;
    g->offers[g->n++] = item->offer;
    g->min_usd = fmin(g->min_usd, st->min_usd / gpus);
    g->max_usd = fmax(g->max_usd, st->max_usd / gpus);
    g->mean_usd += st->mean_usd / gpus * st->sold_s; /* divided below */
    g->sold_s += st->sold_s;
    g->covered_s += st->covered_s;
    g->changes += (double)st->changes;
    g->reduction = fmax(g->reduction, st->reduction);
    if (!isnan(st->cap_share)) {
        g->cap_s += st->cap_share * st->sold_s;
        g->known_cap_s += st->sold_s;
    }
}

static void make_groups(struct stats *s)
{
    s->groups = mem_zero(s->n_items + 1, sizeof *s->groups);
    for (size_t i = 0; i < s->n_items; i++)
        if (*s->items[i].offer->gpu && s->items[i].offer->gpus > 0)
            add_to_group(group_of(s, s->items[i].offer->gpu), &s->items[i]);
    for (size_t i = 0; i < s->n_groups; i++) {
        struct group *g = &s->groups[i];
        g->mean_usd = g->sold_s > 0 ? g->mean_usd / g->sold_s : (double)NAN;
        g->cheapest = market_cheapest_of(g->offers, g->n, &g->n_cheapest);
    }
}

/* ---- JSON ---- */

static json_t *offer_json(const struct item *item)
{
    const struct market_offer *o = item->offer;
    const struct market_stats *s = &item->stats;
    const struct market_lives *l = &item->lives;
    char begin[32], end[32];
    json_t *j =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "cloud", json_text(o->cloud),
                  "region", json_text(o->region), "zone", json_text(o->zone), "instance_type",
                  json_text(o->instance_type), "gpu", *o->gpu ? json_text(o->gpu) : json_null(),
                  "gpus", o->gpus > 0 ? json_number(o->gpus) : json_null(), "records",
                  (json_int_t)o->n_points, "changes", (json_int_t)s->changes);

    if (o->n_points) {
        json_object_set_new(j, "begin", json_string(app_market_time(o->begin_s, begin)));
        json_object_set_new(j, "end", json_string(app_market_time(o->end_s, end)));
    }
    json_object_set_new(j, "min_usd_per_hour", json_number(s->min_usd));
    json_object_set_new(j, "mean_usd_per_hour", json_number(s->mean_usd));
    json_object_set_new(j, "max_usd_per_hour", json_number(s->max_usd));
    json_object_set_new(j, "min_usd_per_gpu_hour", json_number(s->min_usd / o->gpus));
    json_object_set_new(j, "mean_usd_per_gpu_hour", json_number(s->mean_usd / o->gpus));
    json_object_set_new(j, "max_usd_per_gpu_hour", json_number(s->max_usd / o->gpus));
    json_object_set_new(j, "on_demand_usd_per_hour", json_number(s->on_demand_usd));
    json_object_set_new(j, "best_case_reduction", json_number(s->reduction));
    json_object_set_new(j, "share_at_on_demand", json_number(s->cap_share));
    json_object_set_new(j, "share_for_sale",
                        json_number(s->covered_s > 0 ? s->sold_s / s->covered_s : (double)NAN));
    json_object_set_new(j, "changes_per_day", json_number(s->changes_per_day));
    if (l->n)
        json_object_set_new(j, "lives",
                            json_pack("{s:I, s:I, s:f, s:f, s:o}", "count", (json_int_t)l->n,
                                      "preempted", (json_int_t)l->preempted, "watched_hours",
                                      l->watched_s / 3600, "longest_hours", l->longest_s / 3600,
                                      "preemptions_per_hour",
                                      json_number(l->preemptions_per_hour)));
    return j;
}

static json_t *cheapest_json(const struct group *g)
{
    json_t *list = json_array();
    char from[32], to[32];

    for (size_t i = 0; i < g->n_cheapest; i++) {
        const struct market_cheapest *c = &g->cheapest[i];
        json_t *j = json_pack("{s:s, s:s, s:o}", "from", app_market_time(c->from_s, from), "to",
                              app_market_time(c->to_s, to), "usd_per_gpu_hour",
                              json_number(c->usd_per_gpu_hour));
        if (c->offer) {
            json_object_set_new(j, "cloud", json_text(c->offer->cloud));
            json_object_set_new(j, "region", json_text(c->offer->region));
            json_object_set_new(j, "zone", json_text(c->offer->zone));
            json_object_set_new(j, "instance_type", json_text(c->offer->instance_type));
        }
        json_array_append_new(list, j);
    }
    return list;
}

static double per_day(double changes, double covered_s)
{
    return covered_s > 0 ? changes / (covered_s / 86400) : (double)NAN;
}

static double cap_share(const struct group *g)
{
    return g->known_cap_s > 0 ? g->cap_s / g->known_cap_s : (double)NAN;
}

static int print_json(const struct stats *s, struct err *e)
{
    json_t *offers = json_array(), *gpus = json_array();

    for (size_t i = 0; i < s->n_items; i++)
        json_array_append_new(offers, offer_json(&s->items[i]));
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct group *g = &s->groups[i];
        json_array_append_new(
            gpus,
            json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gpu", json_text(g->gpu),
                      "offers", (json_int_t)g->n, "min_usd_per_gpu_hour", json_number(g->min_usd),
                      "mean_usd_per_gpu_hour", json_number(g->mean_usd), "max_usd_per_gpu_hour",
                      json_number(g->max_usd), "best_case_reduction", json_number(g->reduction),
                      "share_at_on_demand", json_number(cap_share(g)), "changes_per_day",
                      json_number(per_day(g->changes, g->covered_s)), "cheapest",
                      cheapest_json(g)));
    }
    AUTO_JSON json_t *root = json_pack("{s:o, s:o}", "gpus", gpus, "offers", offers);
    return json_write(stdout, root, e);
}

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

/* The offer that was the cheapest for the longest time. */
static const struct market_offer *most_often(const struct stats *s, const struct group *g)
{
    const struct market_offer *all = market_offers(s->market), *best = NULL;
    AUTO_MEM double *for_s = mem_zero(market_n_offers(s->market) + 1, sizeof *for_s);

    for (size_t i = 0; i < g->n_cheapest; i++) {
        const struct market_cheapest *c = &g->cheapest[i];
        if (!c->offer)
            continue;
        for_s[c->offer - all] += c->to_s - c->from_s;
        if (!best || for_s[c->offer - all] > for_s[best - all])
            best = c->offer;
    }
    return best;
}

static void print_groups(const struct stats *s, const struct text_look *look)
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
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < s->n_groups; i++) {
        const struct group *g = &s->groups[i];
        const struct market_offer *best = most_often(s, g);
        table_put(t, g->gpu);
        table_printf(t, "%zu", g->n);
        put_usd(t, g->min_usd);
        put_usd(t, g->mean_usd);
        put_usd(t, g->max_usd);
        put_number(t, " x", g->reduction, 1);
        put_number(t, "%", cap_share(g), 100);
        put_number(t, "", per_day(g->changes, g->covered_s), 1);
        if (best)
            table_printf(t, "%s/%s %s", best->cloud, *best->zone ? best->zone : best->region,
                         best->instance_type);
        else
            table_put(t, "-");
    }
    puts("USD per GPU and hour\n");
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_offers(const struct stats *s, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "offer", .cut_rank = 1, .least = 16},
        {.title = "machine", .cut_rank = 2, .least = 10},
        {.title = "min", .right = true},
        {.title = "mean", .right = true},
        {.title = "max", .right = true},
        {.title = "per GPU", .right = true},
        {.title = "best case", .right = true},
        {.title = "capped", .right = true},
        {.title = "changes/day", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < s->n_items; i++) {
        const struct item *item = &s->items[i];
        const struct market_offer *o = item->offer;
        if (!o->n_points)
            continue;
        table_printf(t, "%s/%s", o->cloud, *o->zone ? o->zone : o->region);
        table_put(t, o->instance_type);
        put_usd(t, item->stats.min_usd);
        put_usd(t, item->stats.mean_usd);
        put_usd(t, item->stats.max_usd);
        put_usd(t, item->stats.mean_usd / o->gpus);
        put_number(t, " x", item->stats.reduction, 1);
        put_number(t, "%", item->stats.cap_share, 100);
        put_number(t, "", item->stats.changes_per_day, 1);
    }
    puts("\nUSD per hour; per GPU: the mean\n");
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_lives(const struct stats *s, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "offer", .cut_rank = 1, .least = 16},
        {.title = "machine"},
        {.title = "lives", .right = true},
        {.title = "preempted", .right = true},
        {.title = "watched", .right = true},
        {.title = "longest", .right = true},
        {.title = "preemptions/h", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    bool any = false;

    for (size_t i = 0; i < s->n_items; i++) {
        const struct market_lives *l = &s->items[i].lives;
        const struct market_offer *o = s->items[i].offer;
        if (!l->n)
            continue;
        any = true;
        table_printf(t, "%s/%s", o->cloud, o->zone);
        table_put(t, o->instance_type);
        table_printf(t, "%zu", l->n);
        table_printf(t, "%zu", l->preempted);
        table_printf(t, "%.1f h", l->watched_s / 3600);
        table_printf(t, "%.1f h", l->longest_s / 3600);
        table_printf(t, "%.3f", l->preemptions_per_hour);
    }
    if (!any)
        return;
    puts("\nMachines that were watched\n");
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_all(const struct stats *s)
{
    const struct text_look look = text_look_for(stdout);

    print_groups(s, &look);
    if (s->n_items <= OFFERS_SHOWN_MAX) {
        print_offers(s, &look);
        print_lives(s, &look);
        return;
    }
    printf("\n%zu offers; --gpu and --region show fewer one by one, --json shows all.\n",
           s->n_items);
}

/* ---- pictures ---- */

/* Steps of all lines of a picture, kept until it is drawn. */
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

/* A line a cloud, broken while another is cheaper. */
static void add_cloud(struct drawing *d,
                      struct chart_price_panel *p,
                      const struct group *g,
                      const char *cloud)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->lines[i].name, cloud) == 0)
            return;
    if (p->n == CHART_LINES_MAX) {
        p->left_out++;
        return;
    }
    struct chart_step *steps = keep_steps(d, g->n_cheapest);
    for (size_t i = 0; i < g->n_cheapest; i++) {
        const struct market_cheapest *c = &g->cheapest[i];
        bool is = c->offer && strcmp(c->offer->cloud, cloud) == 0;
        steps[i] = (struct chart_step){c->from_s, is ? c->usd_per_gpu_hour : (double)NAN};
    }
    p->lines[p->n++] =
        (struct chart_line){cloud, steps, g->n_cheapest, g->cheapest[g->n_cheapest - 1].to_s};
}

static void draw_cheapest(struct drawing *d, const struct group *g)
{
    struct chart_price_panel *p = g->n_cheapest ? add_panel(d) : NULL;

    if (!p)
        return;
    snprintf(d->titles[d->n - 1], sizeof *d->titles,
             "%s: the cheapest offer over time, USD per GPU and hour", g->gpu);
    for (size_t i = 0; i < g->n_cheapest; i++)
        if (g->cheapest[i].offer)
            add_cloud(d, p, g, g->cheapest[i].offer->cloud);
}

static void draw_offer(struct drawing *d, struct chart_price_panel *p, const struct item *item)
{
    const struct market_offer *o = item->offer;

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

/* A panel a machine and region: offers are sorted so that its zones stand together. */
static void draw_offers(struct drawing *d, const struct stats *s)
{
    struct chart_price_panel *panel = NULL;
    const struct market_offer *last = NULL;

    for (size_t i = 0; i < s->n_items; i++) {
        const struct market_offer *o = s->items[i].offer;
        if (!o->n_points)
            continue;
        if (!last || !same_panel(last, o)) {
            panel = add_panel(d);
            if (panel) {
                snprintf(d->titles[d->n - 1], sizeof *d->titles,
                         "%.28s in %.10s/%.20s, USD per hour", o->instance_type, o->cloud,
                         o->region);
                panel->cap_usd = s->items[i].stats.on_demand_usd;
            }
        }
        last = o;
        if (panel)
            draw_offer(d, panel, &s->items[i]);
    }
}

static int save_chart(const struct stats *s, const char *path, struct err *e)
{
    struct drawing *d = mem_zero(1, sizeof *d);

    for (size_t i = 0; i < s->n_groups; i++)
        draw_cheapest(d, &s->groups[i]);
    draw_offers(d, s);
    const struct chart_prices chart = {"Spot prices", d->panels, d->n, d->left_out};
    int saved = chart_prices_save(path, &chart, e);
    drawing_free(d);
    return saved;
}

static int run_stats(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(stats) struct stats s = {0};
    const char *svg = command_value(args, "--svg");

    s.tables = cli_market_tables(args, e);
    s.market = s.tables ? cli_market_open(e) : NULL;
    if (!s.market ||
        choose(&s, command_value(args, "--gpu"), command_value(args, "--region"), e) < 0)
        return -1;
    make_groups(&s);
    if (svg && save_chart(&s, svg, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return print_json(&s, e);
    print_all(&s);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--gpu", .value = "NAME", .help = "Only machines with this accelerator."},
    {.name = "--region", .value = "PLACE", .help = "Only this place: aws:us-east-1, or aws."},
    {.name = "--on-demand",
     .value = "FILE",
     .help = "On-demand prices (CSV), before the histories' own and the built-in ones."},
    {.name = "--svg", .value = "FILE", .help = "Draw prices over time, a panel a machine."},
    {.name = "--json", .help = "Print one object."},
    {0},
};

const struct command command_market_stats = {
    .name = "market stats",
    .summary = "What the imported price histories amount to",
    .details = "By GPU and by offer: the lowest, mean and highest price, how often it changes, how "
               "much of "
               "the time it is as high as on demand (capped), and how many times cheaper than that "
               "it was at "
               "best. Machines with several GPUs are compared by the GPU.",
    .example = "tradewind market stats --gpu V100",
    .options = options,
    .run = run_stats,
};
