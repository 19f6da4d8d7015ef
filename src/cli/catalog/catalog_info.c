#include "base/mem.h"
#include "cli/catalog/catalog_parts.h"
#include "cli/core/commands.h"
#include "view/table.h"
#include "view/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cloud_facts {
    const char *name, *source, *date;
    size_t regions, kinds, offers, on_demand, spot;
};

static void count_offers(const struct catalog *c,
                         const struct catalog_kind *k,
                         struct cloud_facts *f)
{
    f->kinds++;
    f->offers += k->n_offers;
    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &catalog_offers(c)[k->first_offer + i];
        f->on_demand += catalog_priced(o->price_usd);
        f->spot += catalog_priced(o->spot_usd);
    }
}

/* Places and kinds are both sorted by cloud. The caller frees the list. */
static struct cloud_facts *gather(const struct catalog *c, size_t *n_out)
{
    struct cloud_facts *clouds = mem_zero(catalog_n_places(c), sizeof *clouds);
    size_t n = 0, kind = 0;

    for (size_t i = 0; i < catalog_n_places(c); i++) {
        const char *name = catalog_text(c, catalog_places(c)[i].cloud);
        if (!n || strcmp(clouds[n - 1].name, name) != 0) {
            clouds[n] = (struct cloud_facts){.name = name, .source = "", .date = ""};
            catalog_source(c, name, &clouds[n].source, &clouds[n].date);
            n++;
        }
        clouds[n - 1].regions++;
    }
    for (size_t i = 0; i < n; i++) {
        for (; kind < catalog_n_kinds(c); kind++) {
            const struct catalog_kind *k = &catalog_kinds(c)[kind];
            if (strcmp(catalog_text(c, k->cloud), clouds[i].name) != 0)
                break;
            count_offers(c, k, &clouds[i]);
        }
    }
    *n_out = n;
    return clouds;
}

static json_t *cloud_json(const struct cloud_facts *f)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "cloud", cli_text_json(f->name),
                     "source", cli_text_json(f->source), "date", cli_text_json(f->date), "regions",
                     (json_int_t)f->regions, "kinds", (json_int_t)f->kinds, "offers",
                     (json_int_t)f->offers, "priced_on_demand", (json_int_t)f->on_demand,
                     "priced_spot", (json_int_t)f->spot);
}

static int print_json(const struct catalog *c,
                      const struct cloud_facts *clouds,
                      size_t n,
                      struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, cloud_json(&clouds[i]));
    AUTO_JSON json_t *root = json_pack(
        "{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "origin", json_text(catalog_origin(c)), "date",
        json_text(catalog_date(c)), "places", (json_int_t)catalog_n_places(c), "kinds",
        (json_int_t)catalog_n_kinds(c), "offers", (json_int_t)catalog_n_offers(c), "transfers",
        (json_int_t)catalog_n_transfers(c), "storage", (json_int_t)catalog_n_storage(c), "clouds",
        list);
    return json_write(stdout, root, e);
}

static void print_clouds(const struct cloud_facts *clouds, size_t n)
{
    static const struct table_column columns[] = {
        {.title = "cloud"},
        {.title = "regions", .right = true},
        {.title = "types", .right = true},
        {.title = "offers", .right = true},
        {.title = "on demand", .right = true},
        {.title = "spot", .right = true},
        {.title = "date"},
        {.title = "source", .cut_rank = 1, .least = 8},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < n; i++) {
        const struct cloud_facts *f = &clouds[i];
        table_put(t, f->name);
        table_put(t, text_count(f->regions, text));
        table_put(t, text_count(f->kinds, text));
        table_put(t, text_count(f->offers, text));
        table_put(t, text_count(f->on_demand, text));
        table_put(t, text_count(f->spot, text));
        table_put(t, f->date);
        table_put(t, f->source);
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, &look);
}

static int run_info(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cli_catalog) struct cli_catalog c = {0};
    size_t n;
    char a[32], b[32], d[32];

    if (cli_catalog_open(&c, e) < 0)
        return -1;
    AUTO_MEM struct cloud_facts *clouds = gather(c.catalog, &n);
    if (command_has(args, "--json"))
        return print_json(c.catalog, clouds, n, e);
    printf("Catalog: %s\n\n", catalog_origin(c.catalog));
    print_clouds(clouds, n);
    printf("\n%s offers, %s prices of transfers, %s of storage.\n",
           text_count(catalog_n_offers(c.catalog), a),
           text_count(catalog_n_transfers(c.catalog), b),
           text_count(catalog_n_storage(c.catalog), d));
    return 0;
}

static const struct command_option info_options[] = {
    {.name = "--json", .help = "Print one object."},
    {0},
};

const struct command command_catalog_info = {
    .name = "catalog info",
    .summary = "Say which catalog is in use, how old it is and what it holds",
    .example = "tradewind catalog info",
    .options = info_options,
    .run = run_info,
};
