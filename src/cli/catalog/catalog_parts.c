#include "cli/catalog/catalog_parts.h"

#include "base/mem.h"
#include "spec/config.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_catalog_open(struct cli_catalog *c, struct err *e)
{
    *c = (struct cli_catalog){.config = config_load(NULL, e)};
    if (!c->config)
        return -1;
    c->catalog = catalog_open(c->config->home, e);
    return c->catalog ? 0 : -1;
}

void cli_catalog_clear(struct cli_catalog *c)
{
    catalog_free(c->catalog);
    config_free(c->config);
}

const char *cli_figure_text(double v, char out[static 32])
{
    if (isnan(v))
        return "-";
    snprintf(out, 32, "%.6g", v);
    return out;
}

/* "$0.0123", "-" when not for sale. Rates are shown to the digits that lists have, unrounded. */
static const char *rate_text(double usd, char out[static 32])
{
    if (!catalog_priced(usd))
        return "-";
    snprintf(out, 32, "$%.4f", usd);
    if (usd < 0.01)
        snprintf(out, 32, "$%.2g", usd);
    return out;
}

json_t *cli_text_json(const char *s)
{
    return *s ? json_text(s) : json_null();
}

json_t *cli_catalog_offer_json(const struct catalog *c, const struct cli_offer *o)
{
    const struct catalog_kind *k = o->kind;
    json_t *j = json_object();

    json_object_set_new(j, "cloud", cli_text_json(catalog_text(c, k->cloud)));
    json_object_set_new(j, "region",
                        cli_text_json(catalog_text(c, catalog_places(c)[o->offer->place].region)));
    json_object_set_new(j, "zone", cli_text_json(catalog_text(c, o->offer->zone)));
    json_object_set_new(j, "instance_type", cli_text_json(catalog_text(c, k->instance_type)));
    json_object_set_new(j, "vcpus", json_number(k->vcpus));
    json_object_set_new(j, "memory_gib", json_number(k->memory_gib));
    json_object_set_new(j, "accelerator", cli_text_json(catalog_text(c, k->accelerator)));
    json_object_set_new(j, "accelerator_count", json_number(k->accelerator_count));
    json_object_set_new(j, "network_gbps", json_number(k->network_gbps));
    json_object_set_new(j, "price_usd_per_hour", json_number(o->offer->price_usd));
    json_object_set_new(j, "spot_usd_per_hour", json_number(o->offer->spot_usd));
    json_object_set_new(j, "preemptions_per_hour", json_number(o->offer->preemptions));
    return j;
}

int cli_catalog_print_json(const struct catalog *c,
                           const struct cli_offer *offers,
                           size_t n,
                           struct err *e)
{
    AUTO_JSON json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, cli_catalog_offer_json(c, &offers[i]));
    return json_write(stdout, list, e);
}

static void put_place(struct table *t, const struct catalog *c, const struct cli_offer *o)
{
    const char *zone = catalog_text(c, o->offer->zone);

    table_printf(t, "%s/%s%s%s", catalog_text(c, o->kind->cloud),
                 catalog_text(c, catalog_places(c)[o->offer->place].region), *zone ? "/" : "",
                 zone);
}

static void put_machine(struct table *t, const struct catalog *c, const struct catalog_kind *k)
{
    const char *accelerator = catalog_text(c, k->accelerator);
    char text[32];

    table_put(t, catalog_text(c, k->instance_type));
    table_put(t, cli_figure_text(k->vcpus, text));
    table_put(t, cli_figure_text(k->memory_gib, text));
    if (*accelerator)
        table_printf(t, "%s:%s", accelerator, cli_figure_text(k->accelerator_count, text));
    else
        table_put(t, "-");
}

void cli_catalog_print_table(
    const struct catalog *c, const struct cli_offer *offers, size_t n, bool with_machine, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "place", .cut_rank = 2, .least = 20},
        {.title = "type", .cut_rank = 1, .least = 16},
        {.title = "vcpus", .right = true},
        {.title = "GiB", .right = true},
        {.title = "accelerator", .cut_rank = 3, .least = 10},
        {.title = "per hour", .right = true},
        {.title = "spot", .right = true},
    };
    static const struct table_column prices[] = {
        {.title = "place", .cut_rank = 1, .least = 20},
        {.title = "per hour", .right = true},
        {.title = "spot", .right = true},
    };
    const struct text_look look = text_look_for(out);
    AUTO(table)
    struct table *t = with_machine ? table_new(columns, sizeof columns / sizeof *columns)
                                   : table_new(prices, sizeof prices / sizeof *prices);
    char text[32];

    for (size_t i = 0; i < n; i++) {
        put_place(t, c, &offers[i]);
        if (with_machine)
            put_machine(t, c, offers[i].kind);
        table_put(t, rate_text(offers[i].offer->price_usd, text));
        table_put(t, rate_text(offers[i].offer->spot_usd, text));
    }
    table_print(t, out, 0, TEXT_COLUMNS, &look);
}

static int compare(const void *a, const void *b)
{
    const struct cli_offer *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->offer->place != y->offer->place)
        return x->offer->place < y->offer->place ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->offer > y->offer) - (x->offer < y->offer);
}

void cli_catalog_sort(struct cli_offer *offers, size_t n)
{
    qsort(offers, n, sizeof *offers, compare);
}
