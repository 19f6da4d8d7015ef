/* plan: the command `geo plan`, which prints placements, or with --paper the tables of the paper
 * that the model comes from. */
#include "app/geo/geo.h"
#include "base/buf.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"

#include <string.h>

#define SHOWN 10

/* ---- placements ---- */

static bool is_same(const struct app_geo_placement *a, const struct app_geo_placement *b)
{
    return strcmp(a->topology, b->topology) == 0 && strcmp(a->function, b->function) == 0 &&
           strcmp(a->store, b->store) == 0;
}

static bool is_among(const struct app_geo_placement *p,
                     const struct app_geo_placement *items,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_same(p, &items[i]))
            return true;
    return false;
}

static const char *mark_of(const struct app_geo_planned *r, const struct app_geo_placement *p)
{
    bool is_fastest = is_same(p, r->fastest);

    if (is_same(p, r->cheapest))
        return is_fastest ? "cheapest, fastest" : "cheapest";
    if (is_fastest)
        return "fastest";
    return is_among(p, r->frontier.items, r->frontier.n) ? "frontier" : "";
}

static bool is_least_time(const struct app_geo_planned *r)
{
    return r->objective == GEO_TIME + 1;
}

static void put_placement(struct table *t,
                          const struct app_geo_planned *r,
                          const struct app_geo_placement *p)
{
    table_put(t, p->topology);
    table_put(t, p->function);
    table_put(t, p->store);
    table_printf(t, "$%.6f", p->cost_usd);
    table_printf(t, "%.2f s", p->time_s);
    table_put(t, mark_of(r, p));
}

static void print_placements(const struct operate_text *t, const struct app_geo_planned *r)
{
    static const struct table_column columns[] = {
        {.title = "topology"},
        {.title = "function", .cut_rank = 1, .least = 16},
        {.title = "store", .cut_rank = 1, .least = 16},
        {.title = "per round", .right = true},
        {.title = "time", .right = true},
        {.title = ""},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    bool pareto = command_has(t->args, "--pareto");
    const struct field_records *all = pareto ? &r->frontier : &r->placements;
    const struct app_geo_placement *items = all->items;
    size_t n = pareto || command_has(t->args, "--all") || all->n < SHOWN ? all->n : SHOWN;
    const struct app_geo_placement *other = is_least_time(r) ? r->cheapest : r->fastest;

    for (size_t i = 0; i < n; i++)
        put_placement(table, r, &items[i]);
    if (!pareto && !is_among(other, items, n))
        put_placement(table, r, other);
    table_print(table, t->out, 0, &t->look);
    if (n < all->n)
        fprintf(t->out, "%zu more: --all lists them, --pareto only the frontier (%zu)\n",
                all->n - n, r->frontier.n);
}

static void print_parts(const struct operate_text *t, const struct app_geo_planned *r)
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
    const struct app_geo_placement *rows[] = {r->cheapest, r->fastest};
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct geo_phases *f = rows[i]->phases;
        const struct geo_bill *b = rows[i]->bill;
        if (i == 1 && is_same(rows[0], rows[1]))
            continue;
        table_put(table, i == 0 ? "cheapest" : "fastest");
        const double phases[] = {f->train_s, f->upload_s, f->wait_s, f->aggregate_s, f->download_s};
        const double parts[] = {b->vm_usd, b->faas_usd, b->requests_usd, b->transfer_usd};
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
            table_printf(table, "%.2f s", phases[k]);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            table_printf(table, "$%.6f", parts[k]);
    }
    table_print(table, t->out, 0, &t->look);
}

static void print_total(const struct operate_text *t, const struct app_geo_planned *r)
{
    const struct app_geo_total *all = r->total;
    const struct geo_total *p = all->parts;
    const struct app_geo_placement *best = r->best;
    const struct geo_counts *c = best->counts;
    char total[32], time[32], vm[32], faas[32], requests[32], storage[32], transfer[32];

    fprintf(t->out, "%.0f round%s of the %s: %s in %s\n", all->rounds, all->rounds > 1 ? "s" : "",
            is_least_time(r) ? "fastest" : "cheapest", money_text(all->total_microusd, total),
            time_text(all->time_s, time));
    fprintf(t->out, "  machines %s, functions %s, requests %s, storage %s, transfer %s\n",
            money_text(p->vm_microusd, vm), money_text(p->faas_microusd, faas),
            money_text(p->requests_microusd, requests), money_text(p->storage_microusd, storage),
            money_text(p->transfer_microusd, transfer));
    fprintf(t->out,
            "  per round: %.1f MB between regions, %.0f invocations, %.0f reads, %.0f writes, "
            "%.0f lists\n",
            c->wan_bytes / 1e6, c->invocations, c->reads, c->writes, c->lists);
}

static double percent(double new, double old)
{
    return old > 0 ? (new / old - 1) * 100 : 0;
}

static void print_options(const struct operate_text *t, const struct app_geo_planned *r)
{
    static const struct table_column columns[] = {
        {.title = "change"},          {.title = "per round", .right = true},
        {.title = "", .right = true}, {.title = "time", .right = true},
        {.title = "", .right = true}, {.title = "meaning", .cut_rank = 1, .least = 20},
    };
    const struct app_geo_placement *best = r->best;
    const struct app_geo_option *options = r->options.items;
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < r->options.n; i++) {
        const struct app_geo_placement *p = options[i].best;
        table_printf(table, "%s %s", options[i].setting, options[i].value);
        table_printf(table, "$%.6f", p->cost_usd);
        table_printf(table, "%+.0f %%", percent(p->cost_usd, best->cost_usd));
        table_printf(table, "%.2f s", p->time_s);
        table_printf(table, "%+.0f %%", percent(p->time_s, best->time_s));
        table_put(table, options[i].meaning);
    }
    table_print(table, t->out, 0, &t->look);
}

static void print_plan(struct operate_text *t, const void *record)
{
    const struct app_geo_planned *r = record;
    size_t n = (size_t)r->workers;
    AUTO_CLEAR(buf) struct buf name;

    buf_init(&name, 400);
    text_put(&name, r->name, 60, t->look.utf8);
    fprintf(t->out,
            "%s: %zu worker%s, each sends %g MB per round; %zu placements of function and store\n"
            "\n",
            buf_str(&name), n, n > 1 ? "s" : "", r->size_bytes / 1e6, (size_t)r->considered);
    print_placements(t, r);
    fprintf(t->out, "\n");
    print_parts(t, r);
    fprintf(t->out, "\n");
    print_total(t, r);
    if (r->options.n) {
        fprintf(t->out, "\n");
        print_options(t, r);
    }
}

static const struct command_text text = {.head = print_plan};

/* ---- the paper ---- */

/* One training: a row per cloud of the workers and aggregator, a column per city. */
static void print_cells(const struct operate_text *t,
                        const struct app_geo_paper *p,
                        size_t training)
{
    const struct app_geo_paper_cell *all = p->cells.items;
    size_t rows = p->clouds * p->aggregators;
    const struct app_geo_paper_cell *cells = all + training * rows * p->cities;
    struct table_column columns[10] = {{.title = "workers"}, {.title = "aggregator"}};

    for (size_t city = 0; city < p->cities; city++)
        columns[2 + city] = (struct table_column){.title = cells[city].city, .right = true};
    AUTO(table) struct table *table = table_new(columns, 2 + p->cities);
    for (size_t row = 0; row < rows; row++) {
        const struct app_geo_paper_cell *c = cells + row * p->cities;
        bool is_first = row % p->aggregators == 0;
        if (row && is_first)
            table_rule(table);
        table_put(table, is_first ? c->workers : "");
        table_put(table, c->aggregator);
        for (size_t city = 0; city < p->cities; city++)
            table_printf(table, "$%.6f %5.2f s", c[city].cost_usd, c[city].time_s);
    }
    fprintf(t->out,
            "%s: %s per gradient, %s s of training, one worker in each city; per "
            "mini-batch\n",
            cells->training, p->sizes.items[training], p->train_s);
    table_print(table, t->out, 0, &t->look);
    fprintf(t->out, "\n");
}

static void print_uploads(const struct operate_text *t, const struct app_geo_paper *p)
{
    const struct app_geo_paper_upload *all = p->uploads.items;
    size_t across = p->stores * p->cities;
    struct table_column columns[18] = {{.title = "from"}, {.title = ""}};
    char titles[16][32];

    for (size_t i = 0; i < across; i++) {
        bool is_first = i % p->cities == 0;
        snprintf(titles[i], sizeof *titles, "%s%s%s", is_first ? all[i].store : "",
                 is_first ? " " : "", all[i].to);
        columns[2 + i] = (struct table_column){.title = titles[i], .right = true};
    }
    AUTO(table) struct table *table = table_new(columns, 2 + across);
    for (size_t i = 0; i < p->uploads.n; i += across) {
        bool is_first = i / across % p->cities == 0;
        if (i && is_first)
            table_rule(table);
        table_put(table, is_first ? all[i].workers : "");
        table_put(table, all[i].from);
        for (size_t k = 0; k < across; k++)
            table_printf(table, "%.1f", all[i + k].mbps);
    }
    fprintf(t->out,
            "Mbit/s of an upload of %s, from the first byte of its connection on (Fig. 4)\n",
            p->sizes.items[0]);
    table_print(table, t->out, 0, &t->look);
    fprintf(t->out, "\n");
}

static void print_paper(struct operate_text *t, const void *record)
{
    const struct app_geo_paper *p = record;
    const struct app_geo_paper_statement *s = p->statements.items;

    for (size_t i = 0; i < p->trainings; i++)
        print_cells(t, p, i);
    print_uploads(t, p);
    fprintf(t->out, "Statements of the paper, and the results here\n");
    for (size_t i = 0; i < p->statements.n; i++)
        fprintf(t->out, "%-9s  %s\n           here: %s\n", s[i].agrees ? "agrees" : "differs",
                s[i].paper, s[i].here);
}

static const struct command_text paper_text = {.head = print_paper};

/* ---- the command ---- */

static int run_plan(const struct command_args *args, struct err *e)
{
    const struct operation *op = &geo_paper_operation;

    if (!command_has(args, "--paper"))
        return operate_run(args, e);
    if (args->n_operands)
        return err_set(e, ERR_USAGE, "--paper plans the paper's own trainings: leave out %.60s",
                       args->operands[0]);
    AUTO_JSON json_t *request = operate_request(args, op, e);
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    return request ? operate_call(args, terminal, op, request, &paper_text, e) : -1;
}

static const struct command_option options[] = {
    {.name = "--pareto", .help = "List the Pareto frontier of cost and time."},
    {.name = "--all", .help = "List every placement."},
    {.name = "--paper",
     .help = "Print the paper's two trainings in its 48 cells, and compare its statements."},
    {0},
};

const struct command command_geo_plan = {
    .name = "geo plan",
    .operands = "[FILE]",
    .summary = "Plan where the aggregator of a geo-distributed training goes",
    .details =
        "Workers train where their data is and send gradients to an object store. Its events start "
        "a function that averages them. Every placement of function and store in every topology "
        "is priced (machines, functions, requests, storage, transfer) and timed (train, upload, "
        "wait, aggregate, download).\n"
        "\n"
        "central: all workers use one store. regional: each region averages its own gradients, "
        "one function averages these means, and all workers read its store. fanout: as regional, "
        "but the result is sent once to each region.\n"
        "\n"
        "Without a file, --workers, --size and --train-s describe the training.",
    .example =
        "tradewind geo plan --workers aws:us-west-2,gcp:europe-west2 --size 17MB --train-s 9",
    .options = options,
    .max_operands = 1,
    .operation = &geo_plan_operation,
    .text = &text,
    .run = run_plan,
};
