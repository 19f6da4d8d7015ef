/* catalog: the commands on the price catalog: import, update, export, reset and info. */
#include "app/catalog/catalog.h"
#include "base/buf.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"
#include "view/text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define LINE_MAX_BYTES 8192

/* ---- catalog import, catalog update ---- */

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash && slash[1] ? slash + 1 : path ? path : "";
}

static void print_files(const struct app_catalog_imported *r,
                        FILE *out,
                        const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "file", .cut_rank = 1, .least = 16},
        {.title = "table"},
        {.title = "rows", .right = true},
        {.title = "kept", .right = true},
        {.title = "dropped", .right = true},
        {.title = "offers", .right = true},
    };
    const struct app_catalog_file *files = r->files.items;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < r->files.n; i++) {
        const struct app_catalog_file *f = &files[i];
        table_put(t, base_name(f->file));
        table_put(t, strcmp(f->format, "skypilot") == 0 ? f->cloud : f->table);
        table_put(t, text_count(f->rows_read, text));
        table_put(t, text_count(f->rows_kept, text));
        table_put(t, text_count(f->rows_dropped, text));
        table_put(t, f->offers ? text_count(f->offers, text) : "-");
    }
    table_print(t, out, 0, look);
}

static void print_reason(
    const char *file, uint64_t n, const char *why, FILE *out, const struct text_look *look)
{
    char count[32], line[400];

    snprintf(line, sizeof line, "%s: %s %s, %s", file, text_count(n, count),
             n == 1 ? "row" : "rows", why);
    fputs("  ", out);
    text_paragraph(out, line, 4, look);
}

static void print_reasons(const struct app_catalog_imported *r,
                          FILE *out,
                          const struct text_look *look)
{
    const struct app_catalog_file *files = r->files.items;
    bool any = false;

    for (size_t i = 0; i < r->files.n; i++) {
        const struct app_catalog_drop *drops = files[i].dropped.items;
        for (size_t d = 0; d < files[i].dropped.n; d++) {
            fputs(any ? "" : "\nDropped:\n", out);
            any = true;
            print_reason(base_name(files[i].file), drops[d].count, drops[d].reason, out, look);
        }
    }
    any = false;
    for (size_t i = 0; i < r->files.n; i++) {
        if (!files[i].spot_above_on_demand)
            continue;
        fputs(any ? "" : "\nKept as listed:\n", out);
        any = true;
        print_reason(base_name(files[i].file), files[i].spot_above_on_demand,
                     "spot price above the on-demand price", out, look);
    }
}

static void print_without_transfers(const struct field_list *clouds,
                                    FILE *out,
                                    const struct text_look *look)
{
    AUTO_CLEAR(buf) struct buf line;

    buf_init(&line, LINE_MAX_BYTES);
    for (size_t i = 0; i < clouds->n; i++)
        buf_printf(&line, "%s%s",
                   i ? ", " : "No row of transfers.csv lets data leave: ", clouds->items[i]);
    if (!line.len)
        return;
    fputs("\n", out);
    text_paragraph(out, line.data, 2, look);
}

static void print_imported(struct operate_text *t, const void *record)
{
    const struct app_catalog_imported *r = record;
    const struct app_catalog_size *size = r->catalog;
    const struct text_look look = text_look_for(t->out);
    char offers[32], places[32];

    print_files(r, t->out, &look);
    print_reasons(r, t->out, &look);
    for (size_t i = 0; i < r->not_recognised.n; i++) {
        fputs(i ? "" : "\nNot recognised, left alone:\n", t->out);
        fputs("  ", t->out);
        text_paragraph(t->out, base_name(r->not_recognised.items[i]), 4, &look);
    }
    print_without_transfers(&r->without_transfers, t->out, &look);
    fprintf(t->out, "\nIn use now: %s offers in %s regions.\n", text_count(size->offers, offers),
            text_count(size->places, places));
}

static const struct command_text imported_text = {.head = print_imported};

/* ---- catalog update ---- */

static void print_clouds(const struct app_catalog_updated *u,
                         FILE *out,
                         const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "cloud"},
        {.title = "regions", .right = true},
        {.title = "offers", .right = true},
        {.title = "new", .right = true},
        {.title = "changed", .right = true},
        {.title = "unchanged", .right = true},
        {.title = "gone", .right = true},
        {.title = "kept", .right = true},
        {.title = "prices of"},
        {.title = "source", .cut_rank = 1, .least = 10},
    };
    const struct app_catalog_updated_cloud *clouds = u->clouds.items;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32];

    for (size_t i = 0; i < u->clouds.n; i++) {
        const struct app_catalog_updated_cloud *c = &clouds[i];
        table_put(t, c->cloud);
        table_put(t, text_count(c->regions.n, text));
        table_put(t, text_count(c->offers, text));
        table_put(t, text_count(c->added, text));
        table_put(t, text_count(c->changed, text));
        table_put(t, text_count(c->unchanged, text));
        table_put(t, text_count(c->gone, text));
        table_put(t, text_count(c->kept + c->elsewhere, text));
        table_put(t, c->date);
        table_put(t, c->source);
    }
    table_print(t, out, 0, look);
}

/* What was left out of the lists, and what stays as it was. */
static void print_remarks(const struct app_catalog_updated *u,
                          FILE *out,
                          const struct text_look *look)
{
    const struct app_catalog_updated_cloud *clouds = u->clouds.items;
    AUTO_CLEAR(buf) struct buf line;
    char count[32];

    buf_init(&line, LINE_MAX_BYTES);
    fputs("\n", out);
    for (size_t i = 0; i < u->clouds.n; i++) {
        const struct app_catalog_updated_cloud *c = &clouds[i];
        const struct app_catalog_drop *drops = c->dropped.items;
        line.len = 0;
        buf_printf(&line, "%s: %s items read", c->cloud, text_count(c->items, count));
        for (size_t d = 0; d < c->dropped.n; d++)
            buf_printf(&line, "%s %s (%s)", d ? "," : "; not used:", drops[d].reason,
                       text_count(drops[d].count, count));
        text_paragraph(out, buf_str(&line), 2, look);
        for (size_t k = 0; k < c->notes.n; k++) {
            line.len = 0;
            buf_printf(&line, "%s: %s", c->cloud, c->notes.items[k]);
            text_paragraph(out, buf_str(&line), 2, look);
        }
    }
}

static void put_price(struct table *t, double usd)
{
    char text[32];

    snprintf(text, sizeof text, "$%.4f", usd);
    table_put(t, text);
}

static void print_largest(const struct app_catalog_updated *u,
                          FILE *out,
                          const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "location", .cut_rank = 1, .least = 16},
        {.title = "type", .cut_rank = 2, .least = 12},
        {.title = "market"},
        {.title = "was", .right = true},
        {.title = "now", .right = true},
        {.title = "change", .right = true},
    };
    const struct app_catalog_updated_cloud *clouds = u->clouds.items;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    size_t n = 0;

    for (size_t i = 0; i < u->clouds.n; i++) {
        const struct app_catalog_change *changes = clouds[i].largest.items;
        for (size_t k = 0; k < clouds[i].largest.n; k++, n++) {
            const struct app_catalog_change *c = &changes[k];
            char text[700];
            snprintf(text, sizeof text, "%s/%s%s%s", clouds[i].cloud, c->region, c->zone ? "/" : "",
                     c->zone ? c->zone : "");
            table_put(t, text);
            table_put(t, c->instance_type);
            table_put(t, c->market);
            put_price(t, c->was_usd_per_hour);
            put_price(t, c->now_usd_per_hour);
            snprintf(text, sizeof text, "%+.1f%%",
                     (c->now_usd_per_hour / c->was_usd_per_hour - 1) * 100);
            table_put(t, text);
        }
    }
    if (!n)
        return;
    fputs("\nLargest changes:\n", out);
    table_print(t, out, 0, look);
}

static void print_calls(const struct app_catalog_updated *u, FILE *out)
{
    const struct app_catalog_call *calls = u->calls.items;
    char count[32];

    for (size_t i = 0; i < u->calls.n; i++)
        fprintf(out, "%s  %s %s%s%s (%s)\n", i ? "" : "\nCalls:\n", calls[i].method, calls[i].url,
                calls[i].action ? " " : "", calls[i].action ? calls[i].action : "",
                text_count(calls[i].count, count));
}

static void print_updated(struct operate_text *t, const void *record)
{
    const struct app_catalog_updated *u = record;
    const struct app_catalog_size *size = u->imported.catalog;
    const struct text_look look = text_look_for(t->out);
    char offers[32], places[32];

    if (!u->clouds.n) {
        print_imported(t, &u->imported);
        return;
    }
    print_clouds(u, t->out, &look);
    print_remarks(u, t->out, &look);
    print_largest(u, t->out, &look);
    if (u->dry_run)
        print_calls(u, t->out);
    fprintf(t->out,
            u->dry_run ? "\nNothing changed; the catalog would have %s offers in %s regions.\n"
                       : "\nIn use now: %s offers in %s regions.\n",
            text_count(size->offers, offers), text_count(size->places, places));
}

static const struct command_text updated_text = {.head = print_updated};

const struct command command_catalog_import = {
    .name = "catalog import",
    .operands = "DIR|FILE...",
    .summary = "Replace prices with those of CSV files",
    .details =
        "Reads offers.csv, transfers.csv and storage.csv in Tradewind's own layout, and the "
        "vms.csv files of a SkyPilot catalog, plain or gzip; of a directory, every such file in "
        "the directory and its subdirectories. The offers of the imported clouds replace those in "
        "use, other clouds stay; transfers.csv and storage.csv replace the whole table.\n"
        "\n"
        "All files come into use at once or not at all. A bad row in Tradewind's layout is an "
        "error with file and line; bad rows of a SkyPilot file are dropped. The report counts the "
        "rows read, kept and dropped, with reasons.",
    .example = "tradewind catalog import skypilot-catalog/catalogs/v8",
    .operation = &catalog_import_operation,
    .text = &imported_text,
};

const struct command command_catalog_update = {
    .name = "catalog update",
    .summary = "Download price lists: those of clouds, or those named in the configuration",
    .details =
        "Without --from: downloads every URL under catalog.update of the configuration file "
        "(https, http or file), checks all files, and then imports them as `tradewind catalog "
        "import` does.\n"
        "\n"
        "With --from: reads the price lists that the clouds publish, region by region, and gives "
        "the offers in use their prices. Offers that the list no longer has go, new ones come, "
        "other regions and clouds stay.\n"
        "  aws    the public offer files; with AWS credentials also the spot prices by zone\n"
        "  azure  the public retail prices, on demand and spot\n"
        "  gcp    the billing catalog, with the API key of GOOGLE_API_KEY: prices of cores, "
        "memory\n"
        "         and accelerators, added up for the instance types in use\n"
        "\n"
        "The report counts new, changed and gone offers and shows the largest changes. If one "
        "list fails, nothing changes.",
    .example = "tradewind catalog update --from azure --region eastus --dry-run",
    .operation = &catalog_update_operation,
    .text = &updated_text,
    .is_long = true,
};

/* ---- catalog export ---- */

static void print_exported(struct operate_text *t, const void *record)
{
    const struct app_catalog_exported *x = record;
    char offers[32], transfers[32], storage[32];

    fprintf(t->out, "%s: offers.csv (%s rows), transfers.csv (%s), storage.csv (%s)\n",
            x->directory, text_count(x->offers, offers), text_count(x->transfers, transfers),
            text_count(x->storage, storage));
}

const struct command command_catalog_export = {
    .name = "catalog export",
    .operands = "DIR",
    .summary = "Write the catalog in use as CSV files",
    .details = "Writes offers.csv, transfers.csv and storage.csv into DIR, which is created where "
               "missing; files of these names are replaced. Importing them gives the same catalog, "
               "and `tradewind plan --catalog DIR` plans with them directly.",
    .example = "tradewind catalog export my-prices",
    .operation = &catalog_export_operation,
    .text = &(const struct command_text){.head = print_exported},
};

/* ---- catalog reset ---- */

static void print_reset(struct operate_text *t, const void *record)
{
    const struct app_catalog_reset *r = record;

    fprintf(t->out, "%s: %s\n",
            r->was_imported ? "Removed the imported catalog; in use now"
                            : "There is no imported catalog; in use",
            r->origin);
}

const struct command command_catalog_reset = {
    .name = "catalog reset",
    .summary = "Remove the imported prices and use the built-in catalog",
    .example = "tradewind catalog reset",
    .operation = &catalog_reset_operation,
    .text = &(const struct command_text){.head = print_reset},
};

/* ---- catalog info ---- */

static void print_info(struct operate_text *t, const void *record)
{
    const struct app_catalog_info *info = record;
    char a[32], b[32], d[32];

    fprintf(t->out, "Catalog: %s\n\n", info->origin);
    t->state = arena_printf(t->arena, "\n%s offers, %s transfer prices, %s storage prices.\n",
                            text_count(info->offers, a), text_count(info->transfers, b),
                            text_count(info->storage, d));
    assert(t->state);
}

static void print_totals(struct operate_text *t)
{
    fputs(t->state, t->out);
}

const struct command command_catalog_info = {
    .name = "catalog info",
    .summary = "Show which catalog is in use, the date of its prices, and its size",
    .example = "tradewind catalog info",
    .operation = &catalog_info_operation,
    .text = &(const struct command_text){.head = print_info, .end = print_totals},
};
