#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "catalog/import.h"
#include "catalog/store.h"
#include "catalog/write.h"
#include "cli/catalog/catalog_parts.h"
#include "cli/core/commands.h"
#include "cli/core/progress.h"
#include "spec/config.h"
#include "view/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *today(char out[static 32])
{
    time_iso(time_epoch_ms(), out);
    out[strlen("2026-08-22")] = 0;
    return out;
}

static void show_file(void *context, const char *file)
{
    progress_show(context, "reading %s", file);
}

int cli_catalog_import(const struct catalog_import *from,
                       const struct catalog_import_path *paths,
                       size_t n,
                       bool json,
                       struct err *e)
{
    AUTO_CLEAR(catalog_report) struct catalog_report report = {0};
    AUTO_CLEAR(progress) struct progress progress;
    char date[32];

    progress_init(&progress, stderr);
    struct catalog_import how = *from;
    how.date = today(date);
    how.progress = show_file;
    how.context = &progress;
    if (catalog_import(&how, paths, n, &report, e) < 0)
        return -1;
    progress_clear(&progress);
    AUTO(catalog) struct catalog *c = catalog_open(how.home, e);
    if (!c)
        return -1;
    if (json)
        return cli_catalog_print_report_json(&report, c, e);
    cli_catalog_print_report(&report, c, stdout);
    return 0;
}

static int parse_format(const char *text, enum catalog_format *out, struct err *e)
{
    *out = CATALOG_FORMAT_ANY;
    if (!text)
        return 0;
    if (strcmp(text, "tradewind") == 0)
        *out = CATALOG_FORMAT_TRADEWIND;
    else if (strcmp(text, "skypilot") == 0)
        *out = CATALOG_FORMAT_SKYPILOT;
    else
        return err_set(e, ERR_USAGE, "--format \"%s\" is neither tradewind nor skypilot", text);
    return 0;
}

static int run_import(const struct command_args *args, struct err *e)
{
    enum catalog_format format = CATALOG_FORMAT_ANY;
    const char *cloud = command_value(args, "--cloud");

    if (parse_format(command_value(args, "--format"), &format, e) < 0)
        return -1;
    if (cloud && format == CATALOG_FORMAT_TRADEWIND)
        return err_set(e, ERR_USAGE,
                       "--cloud is for SkyPilot files: rows of our layout name theirs");
    AUTO(config) struct config *config = config_load(NULL, e);
    if (!config)
        return -1;
    AUTO_MEM struct catalog_import_path *paths = mem_zero(args->n_operands, sizeof *paths);
    for (size_t i = 0; i < args->n_operands; i++)
        paths[i].path = args->operands[i];
    const struct catalog_import how = {.home = config->home, .format = format, .cloud = cloud};
    return cli_catalog_import(&how, paths, args->n_operands, command_has(args, "--json"), e);
}

static const struct command_option import_options[] = {
    {.name = "--format",
     .value = "tradewind|skypilot",
     .help = "What the files are (default: what their headers say)."},
    {.name = "--cloud",
     .value = "NAME",
     .help = "Whose prices a SkyPilot file holds (default: aws for aws-vms.csv and aws/vms.csv)."},
    {.name = "--json", .help = "Print the report as one object."},
    {0},
};

const struct command command_catalog_import = {
    .name = "catalog import",
    .operands = "DIR|FILE...",
    .summary = "Replace prices by those of CSV files",
    .details =
        "Reads offers.csv, transfers.csv and storage.csv in Tradewind's own layout, and the "
        "vms.csv "
        "files of a SkyPilot catalog, plain or gzip; of a directory, every such file in it and in "
        "its subdirectories. The offers of the clouds that are read replace those in use, other "
        "clouds stay; transfers.csv and storage.csv replace the whole table.\n"
        "\n"
        "All files are put in use at once or not at all. A bad row in our own layout is an error "
        "with file and line; bad rows of a SkyPilot file are dropped. The report says how many "
        "rows "
        "were read, kept and dropped, and why.",
    .example = "tradewind catalog import skypilot-catalog/catalogs/v8",
    .options = import_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_import,
};

static int run_export(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cli_catalog) struct cli_catalog c = {0};
    const char *dir = args->operands[0];
    char offers[32], transfers[32], storage[32];

    if (cli_catalog_open(&c, e) < 0 || file_make_dirs(dir, 0777, e) < 0 ||
        catalog_write_tables(c.catalog, dir, e) < 0)
        return -1;
    printf("%s: offers.csv (%s rows), transfers.csv (%s), storage.csv (%s)\n", dir,
           text_count(catalog_n_offers(c.catalog), offers),
           text_count(catalog_n_transfers(c.catalog), transfers),
           text_count(catalog_n_storage(c.catalog), storage));
    return 0;
}

const struct command command_catalog_export = {
    .name = "catalog export",
    .operands = "DIR",
    .summary = "Write the catalog in use as CSV files",
    .details = "Writes offers.csv, transfers.csv and storage.csv into DIR, which is created where "
               "missing; files of these names are replaced. Importing them gives the same catalog, "
               "and `tradewind plan --catalog DIR` plans on them directly.",
    .example = "tradewind catalog export my-prices",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};

static int run_reset(const struct command_args *args, struct err *e)
{
    bool was_imported;

    (void)args;
    AUTO(config) struct config *config = config_load(NULL, e);
    if (!config)
        return -1;
    AUTO(catalog_store) struct catalog_store *store = catalog_store_lock(config->home, e);
    if (!store || catalog_store_reset(store, &was_imported, e) < 0)
        return -1;
    AUTO(catalog) struct catalog *c = catalog_open(config->home, e);
    if (!c)
        return -1;
    printf("%s: %s\n",
           was_imported ? "The imported catalog is gone, in use now"
                        : "Nothing was imported, in use",
           catalog_origin(c));
    return 0;
}

const struct command command_catalog_reset = {
    .name = "catalog reset",
    .summary = "Forget what was imported and use the built-in catalog",
    .example = "tradewind catalog reset",
    .run = run_reset,
};
