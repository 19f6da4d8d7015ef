/* geo_plan_text: placements for people. */
#include "base/buf.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/geo/geo_parts.h"
#include "view/table.h"

#include <string.h>

#define SHOWN 10

const char *geo_site_text(const struct geo_site *site, char out[static 128])
{
    snprintf(out, 128, "%s/%s", site->cloud, site->region);
    return out;
}

static const struct geo_site *site(const struct geo_view *v, size_t index)
{
    return &v->problem->sites[index];
}

static const char *mark_of(const struct geo_plan *plan, size_t index)
{
    if (index == plan->cheapest && index == plan->fastest)
        return "cheapest, fastest";
    if (index == plan->cheapest)
        return "cheapest";
    if (index == plan->fastest)
        return "fastest";
    for (size_t i = 0; i < plan->n_frontier; i++)
        if (plan->frontier[i] == index)
            return "frontier";
    return "";
}

static void put_placement(struct table *t, const struct geo_view *v, size_t index)
{
    const struct geo_placement *p = &v->plan->placements[index];
    char text[128];

    table_put(t, spec_geo_topology_text(p->topology));
    table_put(t, geo_site_text(site(v, p->function), text));
    table_put(t, geo_site_text(site(v, p->store), text));
    table_printf(t, "$%.6f", geo_bill_usd(&p->bill));
    table_printf(t, "%.2f s", p->round_s);
    table_put(t, mark_of(v->plan, index));
}

static void print_placements(const struct geo_view *v, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "topology"},
        {.title = "function", .cut_rank = 1, .least = 16},
        {.title = "store", .cut_rank = 1, .least = 16},
        {.title = "per round", .right = true},
        {.title = "time", .right = true},
        {.title = ""},
    };
    const struct geo_plan *plan = v->plan;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    size_t n = v->all || plan->n < SHOWN ? plan->n : SHOWN;

    for (size_t i = 0; v->pareto && i < plan->n_frontier; i++)
        put_placement(t, v, plan->frontier[i]);
    for (size_t i = 0; !v->pareto && i < n; i++)
        put_placement(t, v, i);
    size_t other = v->question.objective == GEO_TIME ? plan->cheapest : plan->fastest;
    if (!v->pareto && other >= n)
        put_placement(t, v, other);
    table_print(t, out, 0, TEXT_COLUMNS, look);
    if (!v->pareto && n < plan->n)
        fprintf(out, "%zu more: --all lists them, --pareto only the frontier (%zu)\n", plan->n - n,
                plan->n_frontier);
}

static void print_parts(const struct geo_view *v, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = ""},
        {.title = "train", .right = true},
        {.title = "upload", .right = true},
        {.title = "wait", .right = true},
        {.title = "aggregate", .right = true},
        {.title = "download", .right = true},
        {.title = "machines", .right = true},
        {.title = "functions", .right = true},
        {.title = "requests", .right = true},
        {.title = "transfer", .right = true},
    };
    const struct geo_plan *plan = v->plan;
    const size_t rows[] = {plan->cheapest, plan->fastest};
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct geo_placement *p = &plan->placements[rows[i]];
        if (i == 1 && rows[0] == rows[1])
            continue;
        table_put(t, i == 0 ? "cheapest" : "fastest");
        const double phases[] = {p->phases.train_s, p->phases.upload_s, p->phases.wait_s,
                                 p->phases.aggregate_s, p->phases.download_s};
        const double parts[] = {p->bill.vm_usd, p->bill.faas_usd, p->bill.requests_usd,
                                p->bill.transfer_usd};
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
            table_printf(t, "%.2f s", phases[k]);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            table_printf(t, "$%.6f", parts[k]);
    }
    table_print(t, out, 0, TEXT_COLUMNS, look);
}

static void print_total(const struct geo_view *v, FILE *out)
{
    const struct geo_total *t = &v->total;
    const struct geo_placement *best = &v->plan->placements[0];
    char total[32], time[32], vm[32], faas[32], requests[32], storage[32], transfer[32];

    fprintf(out, "%.0f round%s of the %s: %s in %s\n", v->spec->rounds,
            v->spec->rounds > 1 ? "s" : "",
            v->question.objective == GEO_TIME ? "fastest" : "cheapest",
            money_text(t->total_microusd, total), time_text(t->time_s, time));
    fprintf(out, "  machines %s, functions %s, requests %s, storage %s, transfer %s\n",
            money_text(t->vm_microusd, vm), money_text(t->faas_microusd, faas),
            money_text(t->requests_microusd, requests), money_text(t->storage_microusd, storage),
            money_text(t->transfer_microusd, transfer));
    fprintf(out,
            "  per round: %.1f MB between places, %.0f invocations, %.0f reads, %.0f writes, "
            "%.0f lists\n",
            best->counts.wan_bytes / 1e6, best->counts.invocations, best->counts.reads,
            best->counts.writes, best->counts.lists);
}

static double percent(double new, double old)
{
    return old > 0 ? (new / old - 1) * 100 : 0;
}

static void print_options(const struct geo_view *v, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "if"},
        {.title = "per round", .right = true},
        {.title = "", .right = true},
        {.title = "time", .right = true},
        {.title = "", .right = true},
        {.title = "what it does", .cut_rank = 1, .least = 20},
    };
    const struct geo_placement *best = &v->plan->placements[0];
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < v->n_options; i++) {
        const struct geo_option *o = &v->options[i];
        double usd = geo_bill_usd(&o->best.bill);
        table_printf(t, "%s %s", o->setting, o->value);
        table_printf(t, "$%.6f", usd);
        table_printf(t, "%+.0f %%", percent(usd, geo_bill_usd(&best->bill)));
        table_printf(t, "%.2f s", o->best.round_s);
        table_printf(t, "%+.0f %%", percent(o->best.round_s, best->round_s));
        table_put(t, o->meaning);
    }
    table_print(t, out, 0, TEXT_COLUMNS, look);
}

void geo_print(const struct geo_view *v, FILE *out)
{
    const struct text_look look = text_look_for(out);
    const struct geo_plan *plan = v->plan;
    size_t n = v->problem->n_workers;

    AUTO_CLEAR(buf) struct buf name;
    buf_init(&name, 400);
    text_put(&name, v->spec->name, 60, look.utf8);
    fprintf(out, "%s: %zu worker%s, %g MB each a round; %zu placements of function and store\n\n",
            buf_str(&name), n, n > 1 ? "s" : "", v->spec->size_bytes / 1e6, plan->considered);
    print_placements(v, out, &look);
    fprintf(out, "\n");
    print_parts(v, out, &look);
    fprintf(out, "\n");
    print_total(v, out);
    if (v->n_options == 0)
        return;
    fprintf(out, "\n");
    print_options(v, out, &look);
}
