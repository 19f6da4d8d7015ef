/* cluster_print: a recommended cluster, for people and for programs. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/cluster/cluster_parts.h"
#include "view/json_list.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>

#define SHOWN 10

static const struct cluster_type *server_of(const struct cluster_view *v,
                                            const struct cluster_choice *c)
{
    return &v->problem->places[c->place].servers[c->server];
}

static const struct cluster_type *worker_of(const struct cluster_view *v,
                                            const struct cluster_choice *c)
{
    return &v->problem->places[c->place].workers[c->worker];
}

static const char *place_text(const struct cluster_view *v,
                              const struct cluster_choice *c,
                              char out[static 128])
{
    const struct cluster_place *at = &v->problem->places[c->place];

    if (at->cloud)
        snprintf(out, 128, "%s/%s", at->cloud, at->region);
    else
        snprintf(out, 128, "%s", "-");
    return out;
}

/* ---- for people ---- */

static void put_usd(struct table *t, double usd)
{
    char text[32];

    if (usd <= MONEY_MAX_USD)
        table_put(t, money_text(money_from_usd(usd), text));
    else
        table_put(t, "-");
}

static void put_choice(struct table *t,
                       const struct cluster_view *v,
                       const struct cluster_choice *c)
{
    char text[128];

    table_put(t, server_of(v, c)->name);
    table_put(t, worker_of(v, c)->name);
    if (v->problem->n_places > 1)
        table_put(t, place_text(v, c, text));
    table_printf(t, "%u", c->workers);
    put_usd(t, money_to_usd(c->usd_per_hour_micro));
    if (isnan(c->throughput))
        table_put(t, "-");
    else
        table_printf(t, "%.4g/s", c->throughput);
    table_put(t, isnan(c->time_s) ? "-" : time_text(c->time_s, text));
    put_usd(t, c->cost_usd);
    table_put(t, c->limited_by == CLUSTER_BY_MAX ? "maximum" : cluster_limit_text(c->limited_by));
}

/* rule: with a first column for it. The place has one when there are several. */
static struct table *choice_table(const struct cluster_view *v, bool rule)
{
    static const struct table_column all[] = {
        {.title = "rule"},
        {.title = "server", .cut_rank = 2, .least = 8},
        {.title = "worker", .cut_rank = 3, .least = 10},
        {.title = "place", .cut_rank = 1, .least = 8},
        {.title = "n", .right = true},
        {.title = "per hour", .right = true},
        {.title = "iterations", .right = true},
        {.title = "time", .right = true},
        {.title = "cost", .right = true},
        {.title = "limited by"},
    };
    enum { RULE = 0, PLACE = 3 };
    struct table_column columns[sizeof all / sizeof *all];
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((i != RULE || rule) && (i != PLACE || v->problem->n_places > 1))
            columns[n++] = all[i];
    return table_new(columns, n);
}

static void print_rules(const struct cluster_view *v, FILE *out, const struct text_look *look)
{
    AUTO(table) struct table *t = choice_table(v, true);

    for (size_t i = 0; i < v->n_rules; i++) {
        if (!v->rules[i].has_answer)
            continue;
        table_put(t, cluster_algorithm_text(v->rules[i].algorithm));
        put_choice(t, v, &v->rules[i].choice);
    }
    table_print(t, out, 0, TEXT_COLUMNS, look);
}

static void print_choices(const struct cluster_view *v,
                          const struct cluster_choice *choices,
                          size_t n,
                          FILE *out,
                          const struct text_look *look)
{
    AUTO(table) struct table *t = choice_table(v, false);

    for (size_t i = 0; i < n && i < SHOWN; i++)
        put_choice(t, v, &choices[i]);
    table_print(t, out, 0, TEXT_COLUMNS, look);
    if (n > SHOWN)
        fprintf(out, "%zu more: --json has them\n", n - SHOWN);
}

/* What has no prediction comes last. */
static double sort_key(const struct cluster_choice *c)
{
    return isnan(c->cost_usd) ? (double)INFINITY : c->cost_usd;
}

static int by_cost(const void *a, const void *b)
{
    const struct cluster_choice *x = a, *y = b;

    return (sort_key(x) > sort_key(y)) - (sort_key(x) < sort_key(y));
}

/* Those that have workers, the cheapest first. */
static void print_considered(const struct cluster_view *v, FILE *out, const struct text_look *look)
{
    AUTO_MEM struct cluster_choice *sorted = mem_zero(v->answer->n_considered, sizeof *sorted);
    size_t n = 0, n_unmeasured = 0;

    for (size_t i = 0; i < v->answer->n_considered; i++) {
        const struct cluster_choice *c = &v->answer->considered[i];
        n_unmeasured += c->limited_by == CLUSTER_UNMEASURED;
        if (c->workers)
            sorted[n++] = *c;
    }
    qsort(sorted, n, sizeof *sorted, by_cost);
    print_choices(v, sorted, n, out, look);
    if (n_unmeasured)
        fprintf(out, "%zu types whose rates are not known were left out\n", n_unmeasured);
}

void cluster_print(const struct cluster_view *v, FILE *out)
{
    const struct text_look look = text_look_for(out);
    const struct cluster_choice *best = &v->answer->best;
    char text[128], cost[32], time[32];
    AUTO_CLEAR(buf) struct buf name;

    buf_init(&name, 400);
    text_put(&name, v->spec->name, 60, look.utf8);
    fprintf(out, "%s: %u x %s beside %s", buf_str(&name), best->workers, worker_of(v, best)->name,
            server_of(v, best)->name);
    if (v->problem->places[best->place].cloud)
        fprintf(out, " at %s", place_text(v, best, text));
    fprintf(out, ", %s per hour (%s%s)\n", money_text(best->usd_per_hour_micro, cost),
            cluster_algorithm_text(v->algorithm),
            v->algorithm != CLUSTER_MODEL_OPT ? ""
            : v->objective == CLUSTER_TIME    ? ", least time"
                                              : ", least cost");
    if (!isnan(best->throughput) && !isnan(v->problem->work) && best->cost_usd <= MONEY_MAX_USD)
        fprintf(out, "%.15g iterations at %.4g per second: %s for %s\n", v->problem->work,
                best->throughput, time_text(best->time_s, time),
                money_text(money_from_usd(best->cost_usd), cost));
    if (isnan(v->problem->work))
        fprintf(out, "Time and cost are those of one iteration: --work N tells them for N.\n");
    fprintf(out, "\nThe best with each type\n");
    print_considered(v, out, &look);
    if (v->answer->n_frontier > 1) {
        fprintf(out, "\nFrom the cheapest to the fastest\n");
        print_choices(v, v->answer->frontier, v->answer->n_frontier, out, &look);
    }
    if (v->n_rules) {
        fprintf(out, "\nWhat each rule says\n");
        print_rules(v, out, &look);
    }
}

/* ---- for programs ---- */

static json_t *predicted_json(const struct cluster_view *v, const struct cluster_choice *c)
{
    bool known = !isnan(v->problem->work);

    return json_pack("{s:o, s:o, s:o}", "throughput", json_number(c->throughput), "time_s",
                     known ? json_number(c->time_s) : json_null(), "cost_usd",
                     known ? json_number(c->cost_usd) : json_null());
}

static json_t *choice_json(const struct cluster_view *v, const struct cluster_choice *c)
{
    char text[128];
    json_t *o = json_object();

    json_object_set_new(o, "server_type", json_text(server_of(v, c)->name));
    json_object_set_new(o, "worker_type", json_text(worker_of(v, c)->name));
    json_object_set_new(o, "workers", json_integer(c->workers));
    json_object_set_new(o, "place",
                        v->problem->places[c->place].cloud ? json_text(place_text(v, c, text))
                                                           : json_null());
    json_object_set_new(o, "usd_per_hour", json_usd(c->usd_per_hour_micro));
    json_object_set_new(o, "predicted", predicted_json(v, c));
    json_object_set_new(o, "limited_by", json_string(cluster_limit_text(c->limited_by)));
    return o;
}

/* Thousands, where the whole catalog is looked at: one object serves them all, since making new
 * ones takes longer than the search. Those of a place stand together. */
static int write_considered(const struct cluster_view *v, struct json_list *list, struct err *e)
{
    json_t *workers = json_integer(0);
    AUTO_JSON json_t *o =
        json_pack("{s:n, s:n, s:o, s:n}", "type", "place", "workers", workers, "limited_by");
    size_t place = SIZE_MAX;
    char text[128];

    for (size_t i = 0; i < v->answer->n_considered; i++) {
        const struct cluster_choice *c = &v->answer->considered[i];
        if (c->place != place)
            json_object_set_new(o, "place",
                                v->problem->places[c->place].cloud
                                    ? json_text(place_text(v, c, text))
                                    : json_null());
        place = c->place;
        json_object_set_new(o, "type", json_text(worker_of(v, c)->name));
        json_integer_set(workers, c->workers);
        json_object_set_new(o, "limited_by", json_string(cluster_limit_text(c->limited_by)));
        if (json_list_add(list, json_incref(o), e) < 0)
            return -1;
    }
    return 0;
}

int cluster_write_json(const struct cluster_view *v, FILE *out, struct err *e)
{
    AUTO_JSON json_t *o = json_object(), *best = choice_json(v, &v->answer->best);
    json_t *frontier = json_array(), *algorithms = json_array();
    struct json_list considered;

    json_object_set_new(o, "algorithm", json_string(cluster_algorithm_text(v->algorithm)));
    json_object_update(o, best);
    for (size_t i = 0; i < v->answer->n_frontier; i++)
        json_array_append_new(frontier, choice_json(v, &v->answer->frontier[i]));
    json_object_set_new(o, "frontier", frontier);
    for (size_t i = 0; i < v->n_rules; i++) {
        json_t *rule = v->rules[i].has_answer ? choice_json(v, &v->rules[i].choice) : json_object();
        json_object_set_new(rule, "algorithm",
                            json_string(cluster_algorithm_text(v->rules[i].algorithm)));
        json_array_append_new(algorithms, rule);
    }
    json_object_set_new(o, "algorithms", algorithms);
    if (json_list_begin_within(&considered, out, o, "considered", e) < 0 ||
        write_considered(v, &considered, e) < 0)
        return -1;
    return json_list_end(&considered, e);
}
