/* market_parts: what the market commands share. */
#ifndef CLI_MARKET_MARKET_PARTS_H
#define CLI_MARKET_MARKET_PARTS_H

#include "base/err.h"
#include "base/json.h"
#include "market/import.h"
#include "market/series.h"
#include "market/tables.h"

#include <stddef.h>

/* The histories of a home: HOME/market/histories, one sealed file that is mapped. ERR_NOTFOUND when
 * nothing was imported. */
struct market *cli_market_load(const char *home, struct err *e);
/* The same of the configured home. */
struct market *cli_market_open(struct err *e);

/* Whether an offer is at "aws:us-east-1", "aws" or, NULL, anywhere. */
bool cli_market_at_place(const struct market_offer *o, const char *place);

/* Puts these bytes in the place of the file, unless it holds them already: *changed_out. */
int cli_market_save(
    const char *home, const void *bytes, size_t len, bool *changed_out, struct err *e);
/* Writers take turns: a descriptor to close when done, or -1. Creates the directory. */
int cli_market_lock(const char *home, struct err *e);

/* "2020-03-23" or, with the time of day, "2020-03-23T16:10:00Z". */
const char *cli_market_day(double at_s, char out[static 32]);
const char *cli_market_time(double at_s, char out[static 32]);

struct command_args;
/* The built-in figures, and those of --on-demand, --sizes and --egress where the command has them.
 */
struct market_tables *cli_market_tables(const struct command_args *args, struct err *e);

/* What an import did. */
struct cli_market_done {
    const struct market_file_report *files;
    size_t n_files;
    char *const *unrecognised;
    size_t n_unrecognised;
    const struct market *market; /* in use now */
    bool changed;
};
void cli_market_print_import(const struct cli_market_done *d);
int cli_market_print_import_json(const struct cli_market_done *d, struct err *e);

#endif
