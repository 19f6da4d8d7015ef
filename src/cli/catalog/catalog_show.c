#include "base/mem.h"
#include "base/nearest.h"
#include "cli/catalog/catalog_parts.h"
#include "cli/core/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_such_type(const struct catalog *c, const char *type, struct err *e)
{
    size_t n = catalog_n_kinds(c);
    AUTO_MEM const char **names = mem_zero(n, sizeof *names);

    for (size_t i = 0; i < n; i++)
        names[i] = catalog_text(c, catalog_kinds(c)[i].instance_type);
    const char *close = nearest(type, names, n);
    if (close)
        return err_set(e, ERR_NOTFOUND, "no instance type \"%s\"; did you mean \"%s\"?", type,
                       close);
    return err_set(e, ERR_NOTFOUND, "no instance type \"%s\"; `tradewind catalog list` lists them",
                   type);
}

static struct cli_offer *offers_of(const struct catalog *c, const struct catalog_kind *k)
{
    struct cli_offer *offers = mem_zero(k->n_offers, sizeof *offers);

    for (size_t i = 0; i < k->n_offers; i++) {
        const struct catalog_offer *o = &catalog_offers(c)[k->first_offer + i];
        offers[i] = (struct cli_offer){k, o, fmin(o->price_usd, o->spot_usd)};
    }
    cli_catalog_sort(offers, k->n_offers);
    return offers;
}

static void print_kind(const struct catalog *c, const struct catalog_kind *k)
{
    AUTO_MEM struct cli_offer *offers = offers_of(c, k);
    const char *accelerator = catalog_text(c, k->accelerator);
    char text[32];

    printf("%s %s: %s vCPUs", catalog_text(c, k->cloud), catalog_text(c, k->instance_type),
           cli_figure_text(k->vcpus, text));
    printf(", %s GiB", cli_figure_text(k->memory_gib, text));
    if (*accelerator)
        printf(", %s x %s", cli_figure_text(k->accelerator_count, text), accelerator);
    if (!isnan(k->network_gbps))
        printf(", %s Gbit/s", cli_figure_text(k->network_gbps, text));
    printf("\n\n");
    cli_catalog_print_table(c, offers, k->n_offers, false, stdout);
}

static int print_json(const struct catalog *c, const char *type, struct err *e)
{
    AUTO_JSON json_t *list = json_array();

    for (size_t i = 0; i < catalog_n_kinds(c); i++) {
        const struct catalog_kind *k = &catalog_kinds(c)[i];
        if (strcmp(catalog_text(c, k->instance_type), type) != 0)
            continue;
        AUTO_MEM struct cli_offer *offers = offers_of(c, k);
        for (size_t j = 0; j < k->n_offers; j++)
            json_array_append_new(list, cli_catalog_offer_json(c, &offers[j]));
    }
    return json_write(stdout, list, e);
}

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cli_catalog) struct cli_catalog c = {0};
    const char *type = args->operands[0];
    bool json = command_has(args, "--json");
    size_t found = 0;

    if (cli_catalog_open(&c, e) < 0)
        return -1;
    for (size_t i = 0; i < catalog_n_kinds(c.catalog); i++) {
        const struct catalog_kind *k = &catalog_kinds(c.catalog)[i];
        if (strcmp(catalog_text(c.catalog, k->instance_type), type) != 0)
            continue;
        if (!json) {
            printf("%s", found ? "\n" : "");
            print_kind(c.catalog, k);
        }
        found++;
    }
    if (!found)
        return no_such_type(c.catalog, type, e);
    return json ? print_json(c.catalog, type, e) : 0;
}

static const struct command_option show_options[] = {
    {.name = "--json", .help = "Print an array of offers, as catalog list does."},
    {0},
};

const struct command command_catalog_show = {
    .name = "catalog show",
    .operands = "TYPE",
    .summary = "Show one instance type in all its places",
    .details = "Shows what the machine is and what it costs everywhere it is sold, the cheapest "
               "place first. Prices are US dollars an hour; \"-\" means not for sale.",
    .example = "tradewind catalog show g5.xlarge",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};
