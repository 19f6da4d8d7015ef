#include "app/run/run.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/geo/geo_run_parts.h"
#include "view/table.h"

#include <inttypes.h>
#include <string.h>

/* What came of it, three times: as planned, by the model at the measured pace, by the events. */
struct outcome {
    struct geo_account account;
    struct geo_bill paced, planned;
    struct geo_counts paced_counts;
    char model[256]; /* "@niser.model:1"; "" = none */
};

void geo_run_show_plan(const struct geo_run *g, FILE *out)
{
    const struct geo_site *sites = g->problem->sites;
    char function[128], store[128], cost[32], time[32];

    fprintf(out, "%s: %zu workers, %.0f round%s, %s; function at %s, store at %s\n", g->spec->name,
            g->problem->n_workers, g->spec->rounds, g->spec->rounds > 1 ? "s" : "",
            spec_geo_topology_text(g->at.topology),
            app_geo_site_text(&sites[g->at.function], function),
            app_geo_site_text(&sites[g->at.store], store));
    fprintf(out, "In the clouds it would cost %s and take %s; a round $%.6f and %.2f s.\n",
            money_text(g->total.total_microusd, cost), time_text(g->total.time_s, time),
            geo_bill_usd(&g->at.bill), g->at.round_s);
    for (size_t i = 0; i < g->n_parties; i++) {
        const struct geo_party *party = &g->parties[i];
        bool is_function = party->worker == GEO_EVENT_NO_WORKER;
        char place[128];
        fprintf(out, "  %-28s %-20s on %s\n", party->stage,
                app_geo_site_text(&sites[party->site], place),
                geo_run_on(g, party->site, is_function));
    }
}

/* ---- figures ---- */

static int find_model(const struct run *run, struct lake *l, char out[static 256], struct err *e)
{
    struct app_run_job job;

    out[0] = '\0';
    for (size_t i = 0; i < run->n_stages; i++) {
        if (!run->stages[i].plan.output)
            continue;
        if (app_run_job_recorded(l, run->id, &run->stages[i], &job, e) < 0)
            return -1;
        snprintf(out, 256, "%s", job.output_set);
    }
    return 0;
}

static int find_outcome(const struct geo_run *g,
                        const struct run *run,
                        const struct geo_events *events,
                        struct lake *l,
                        struct outcome *out,
                        struct err *e)
{
    const struct geo_total *t = &g->total;

    if (find_model(run, l, out->model, e) < 0 ||
        geo_account(g->problem, events, &out->account, e) < 0)
        return -1;
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(g->problem, events, &out->account);
    if (!geo_forecast(g->problem, &g->at, pace, &out->account, &out->paced, &out->paced_counts))
        return err_set(e, ERR_NOFIT, "the placement cannot be priced any more");
    out->planned =
        (struct geo_bill){money_to_usd(t->vm_microusd), money_to_usd(t->faas_microusd),
                          money_to_usd(t->requests_microusd), money_to_usd(t->storage_microusd),
                          money_to_usd(t->transfer_microusd)};
    return 0;
}

/* ---- for people ---- */

static void print_phases(const struct geo_run *g, const struct outcome *o, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "a round"},
        {.title = "train", .right = true},
        {.title = "upload", .right = true},
        {.title = "wait", .right = true},
        {.title = "aggregate", .right = true},
        {.title = "download", .right = true},
        {.title = "in all", .right = true},
    };
    const struct text_look look = text_look_for(out);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    const struct geo_phases *rows[] = {&g->at.phases, &o->account.phases};

    for (size_t i = 0; i < 2; i++) {
        table_put(t, i ? "measured" : "planned");
        const double phases[] = {rows[i]->train_s,    rows[i]->upload_s,
                                 rows[i]->wait_s,     rows[i]->aggregate_s,
                                 rows[i]->download_s, i ? o->account.round_s : g->at.round_s};
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
            table_printf(t, "%.2f s", phases[k]);
    }
    table_print(t, out, 0, TEXT_COLUMNS, &look);
}

static void print_bill(const struct outcome *o, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "at cloud prices"},
        {.title = "planned", .right = true},
        {.title = "model, as measured", .right = true},
        {.title = "bill", .right = true},
    };
    static const char *const names[] = {"machines", "functions", "requests",
                                        "storage",  "transfer",  "total"};
    const struct text_look look = text_look_for(out);
    const struct geo_bill *bills[] = {&o->planned, &o->paced, &o->account.usd};
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        table_put(t, names[i]);
        for (size_t k = 0; k < 3; k++) {
            const struct geo_bill *b = bills[k];
            const double parts[] = {b->vm_usd,      b->faas_usd,     b->requests_usd,
                                    b->storage_usd, b->transfer_usd, geo_bill_usd(b)};
            table_printf(t, "$%.6f", parts[i]);
        }
    }
    table_print(t, out, 0, TEXT_COLUMNS, &look);
}

static void print_counts(const struct outcome *o, FILE *out)
{
    const struct geo_counts *c = &o->account.counts;
    double n = o->account.rounds;

    fprintf(out,
            "a round: %.3f MB between places, %.1f invocations, %.1f reads (%.1f found nothing), "
            "%.1f writes, %.1f lists\n",
            c->wan_bytes / n / 1e6, c->invocations / n, c->reads / n, c->failed_polls / n,
            c->writes / n, c->lists / n);
}

static void print_end(const struct run *run, const struct outcome *o, FILE *out)
{
    fprintf(out, "\nRun %" PRId64 " of %s: %s", run->id, run->name, run_state_text(run->state));
    if (run->reason[0])
        fprintf(out, ": %s", run->reason);
    if (o && o->model[0])
        fprintf(out, "; the model is %s", o->model);
    fprintf(out, "\n");
    for (size_t i = 0; i < run->n_stages; i++)
        if (run->stages[i].state == STAGE_FAILED)
            fprintf(out, "  %s, job %" PRId64 ": %s\n", run->stages[i].plan.name,
                    run->stages[i].job, run->stages[i].reason);
}

/* ---- for programs ---- */

static json_t *bill_json(const struct geo_bill *b)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "vm_usd", json_number(b->vm_usd), "faas_usd",
                     json_number(b->faas_usd), "requests_usd", json_number(b->requests_usd),
                     "storage_usd", json_number(b->storage_usd), "transfer_usd",
                     json_number(b->transfer_usd), "total_usd", json_number(geo_bill_usd(b)));
}

static json_t *counts_json(const struct geo_counts *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "reads", json_number(c->reads),
                     "failed_polls", json_number(c->failed_polls), "writes", json_number(c->writes),
                     "lists", json_number(c->lists), "invocations", json_number(c->invocations),
                     "wan_bytes", json_number(c->wan_bytes));
}

static json_t *phases_json(const struct geo_phases *p)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "train_s", json_number(p->train_s), "upload_s",
                     json_number(p->upload_s), "wait_s", json_number(p->wait_s), "aggregate_s",
                     json_number(p->aggregate_s), "download_s", json_number(p->download_s));
}

static int write_json(const struct geo_run *g,
                      const struct run *run,
                      const struct outcome *o,
                      FILE *out)
{
    char function[128], store[128];
    AUTO_JSON json_t *all =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "event", "run", "run",
                  (json_int_t)run->id, "name", run->name, "state", run_state_text(run->state),
                  "reason", run->reason, "topology", spec_geo_topology_text(g->at.topology),
                  "function", app_geo_site_text(&g->problem->sites[g->at.function], function),
                  "store", app_geo_site_text(&g->problem->sites[g->at.store], store));

    if (o) {
        json_object_set_new(all, "model", json_text(o->model));
        json_object_set_new(all, "rounds", json_number(o->account.rounds));
        json_object_set_new(all, "round_s", json_number(o->account.round_s));
        json_object_set_new(all, "phases", phases_json(&o->account.phases));
        json_object_set_new(all, "counts", counts_json(&o->account.counts));
        json_object_set_new(all, "bill", bill_json(&o->account.usd));
        json_object_set_new(all, "forecast", bill_json(&o->paced));
        json_object_set_new(all, "forecast_counts", counts_json(&o->paced_counts));
        json_object_set_new(all, "planned", bill_json(&o->planned));
    }
    AUTO_MEM char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(15));
    fprintf(out, "%s\n", text ? text : "{}");
    return 0;
}

int geo_run_report(const struct geo_run *g,
                   const struct run *run,
                   const struct geo_events *events,
                   struct lake *l,
                   FILE *out,
                   struct err *e)
{
    struct outcome o = {0};
    struct err none = {0};
    /* A run that was stopped in its first round has no figures, and that is no error. */
    bool has = find_outcome(g, run, events, l, &o, &none) == 0;

    if (!has && run->state == RUN_FINISHED) {
        *e = none;
        return err_wrap(e, "run %" PRId64 " finished, but its workers told of nothing", run->id);
    }
    if (g->json)
        return write_json(g, run, has ? &o : NULL, out);
    print_end(run, has ? &o : NULL, out);
    if (!has)
        return 0;
    fprintf(out, "\n");
    print_phases(g, &o, out);
    fprintf(out, "\n");
    print_counts(&o, out);
    fprintf(out, "\n");
    print_bill(&o, out);
    return 0;
}
