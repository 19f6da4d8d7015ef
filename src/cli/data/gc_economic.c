#include "cli/data/gc_economic.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/pipeline/economics.h"
#include "catalog/catalog.h"
#include "cli/core/command.h"
#include "app/core/lake_open.h"
#include "cli/core/lake_progress.h"
#include "lake/clean/clean.h"
#include "spec/config.h"
#include "view/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A GB-month in a bucket of Amazon's us-east-1, for stores that have no price of their own. */
#define GB_MONTH_USD 0.023
#define SHOWN_MAX 40

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

static double price_of_place(const struct config *c)
{
    AUTO(catalog) struct catalog *catalog = NULL;

    if (strncmp(c->store, "s3:", 3) != 0 || c->endpoint || !c->region)
        return (double)NAN;
    catalog = catalog_open(c->home, NULL);
    size_t place = catalog ? catalog_find_place(catalog, "aws", c->region) : SIZE_MAX;
    return place == SIZE_MAX ? (double)NAN : catalog_storage_usd(catalog, place);
}

static int find_terms(const struct command_args *args, struct weighing *w, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);
    double own = (double)NAN;

    w->terms = (struct economics_terms){.months = 1};
    if (!c || command_number(args, "--horizon", &w->terms.months, e) < 0 ||
        command_number(args, "--gb-month", &own, e) < 0)
        return -1;
    if (!(w->terms.months > 0 && w->terms.months <= 1200))
        return err_set(e, ERR_USAGE, "--horizon: so many months, above 0 and at most 1200");
    if (command_value(args, "--gb-month") && !(own >= 0 && own <= MONEY_MAX_USD))
        return err_set(e, ERR_USAGE, "--gb-month: dollars, at least 0");
    double listed = isnan(own) ? price_of_place(c) : own;
    w->terms.gb_month_usd = isnan(listed) ? GB_MONTH_USD : listed;
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

static int let_go(struct lake *l,
                  const struct weighing *w,
                  struct lake_gc_summary *out,
                  struct err *e)
{
    AUTO_MEM int64_t *ids = mem_zero(w->n + 1, sizeof *ids);
    struct lake_progress_line line;
    size_t n = 0;

    *out = (struct lake_gc_summary){0};
    for (size_t i = 0; i < w->n; i++)
        if (w->sets[i].goes)
            ids[n++] = w->lineage.nodes[w->sets[i].node].version;
    if (n == 0)
        return 0;
    struct lake_gc_options options = {.remove = true, .release = ids, .n_release = n};
    options.progress = lake_progress_begin(&line, "removing");
    int result = lake_gc(l, &options, NULL, NULL, out, e);
    lake_progress_end(&line);
    return result;
}

/* ---- telling ---- */

static void put_set(struct table *t, const struct weighing *w, size_t i)
{
    const struct economics_set *s = &w->sets[i];
    char bytes[32], keep[32], replay[32], took[32];

    table_put(t, w->refs[i]);
    table_put(t, text_bytes(s->only_bytes, bytes));
    table_put(t, money_text(s->keep_microusd, keep));
    table_put(t, money_text(s->replay_microusd, replay));
    table_put(t, time_text(s->replay_s, took));
    table_printf(t, "%zu", s->replay_jobs);
    if (s->goes)
        table_put(t, "goes");
    else
        table_printf(t, "stays%s%s", s->why[0] ? ": " : "", s->why);
}

static void print_table(const struct weighing *w)
{
    static const struct table_column columns[] = {
        {.title = "set", .cut_rank = 2, .least = 12},
        {.title = "its own", .right = true},
        {.title = "keeping", .right = true},
        {.title = "replay", .right = true},
        {.title = "takes", .right = true},
        {.title = "jobs", .right = true},
        {.title = "", .cut_rank = 1, .least = 5},
    };
    struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; i < w->n && i < SHOWN_MAX; i++)
        put_set(t, w, i);
    printf("Sets that jobs made, at $%g a GB-month (%s), kept for %g %s:\n\n",
           w->terms.gb_month_usd, w->basis, w->terms.months,
           w->terms.months == 1 ? "month" : "months");
    table_print(t, stdout, 2, TEXT_COLUMNS, &look);
    if (w->n > SHOWN_MAX)
        printf("  and %zu more (--json lists all)\n", w->n - SHOWN_MAX);
}

/* The command that does what this one only showed, with the same terms. */
static void print_hint(const struct command_args *args)
{
    fputs("Nothing was removed; this does it:\n  tradewind gc", stdout);
    for (size_t i = 0; i < args->n_given; i++)
        printf(" %s%s%s", args->given[i].option->name, args->given[i].value ? " " : "",
               args->given[i].value ? args->given[i].value : "");
    puts(" --yes");
}

static void print_people(const struct weighing *w,
                         const struct command_args *args,
                         const struct lake_gc_summary *s)
{
    size_t going = 0;
    uint64_t bytes = 0;
    char text[32];

    if (w->n == 0) {
        puts("No set that a job made could be let go.");
        return;
    }
    print_table(w);
    for (size_t i = 0; i < w->n; i++) {
        going += w->sets[i].goes;
        bytes += w->sets[i].goes ? w->sets[i].only_bytes : 0;
    }
    putchar('\n');
    if (going == 0) {
        puts("None is cheaper to make again than to keep.");
    } else if (command_has(args, "--yes")) {
        printf("Let go of the content of %zu %s, %s; versions, digests and provenance stay, and "
               "`tradewind\nreplay` makes it again.\n",
               going, going == 1 ? "set" : "sets", text_bytes(s->bytes, text));
    } else {
        printf("Would let go of the content of %zu %s, %s. ", going, going == 1 ? "set" : "sets",
               text_bytes(bytes, text));
        print_hint(args);
    }
}

static json_t *set_json(const struct weighing *w, size_t i)
{
    const struct economics_set *s = &w->sets[i];

    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:b, s:s}", "set", w->refs[i], "job",
                     (json_int_t)w->lineage.nodes[s->node].job, "own_bytes",
                     (json_int_t)s->only_bytes, "keep_usd_per_month",
                     json_number(s->keep_usd_per_month), "keep_usd", json_usd(s->keep_microusd),
                     "replay_usd", json_usd(s->replay_microusd), "replay_s",
                     json_number(s->replay_s), "replay_jobs", (json_int_t)s->replay_jobs, "goes",
                     (int)s->goes, "why", s->why);
}

static int print_json(const struct weighing *w,
                      bool removed,
                      const struct lake_gc_summary *s,
                      struct err *e)
{
    json_t *sets = json_array();

    for (size_t i = 0; i < w->n; i++)
        json_array_append_new(sets, set_json(w, i));
    AUTO_JSON json_t *root =
        json_pack("{s:b, s:o, s:s, s:o, s:I, s:I, s:o}", "removed", (int)removed, "gb_month_usd",
                  json_number(w->terms.gb_month_usd), "price_basis", w->basis, "horizon_months",
                  json_number(w->terms.months), "versions", (json_int_t)s->versions, "size_bytes",
                  (json_int_t)s->bytes, "sets", sets);
    return json_write(stdout, root, e);
}

int gc_economic(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(weighing) struct weighing w = {0};
    struct lake_gc_summary summary = {0};
    bool remove = command_has(args, "--yes");

    if (command_has(args, "--keep-latest"))
        return err_set(e, ERR_USAGE,
                       "--keep-latest is of no use to --economic, which only lets go "
                       "of sets: pin what is to stay");
    if (find_terms(args, &w, e) < 0)
        return -1;
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l || weigh_all(l, &w, e) < 0 || (remove && let_go(l, &w, &summary, e) < 0))
        return -1;
    if (command_has(args, "--json"))
        return print_json(&w, remove, &summary, e);
    print_people(&w, args, &summary);
    return 0;
}
