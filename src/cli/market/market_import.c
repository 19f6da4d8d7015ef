#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "cli/core/commands.h"
#include "cli/core/progress.h"
#include "cli/market/market_parts.h"
#include "market/store.h"
#include "spec/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)
#define FILES_MAX 100000
#define DEPTH_MAX 6

struct import {
    struct market_import *rows;
    struct market_source like; /* feed, cloud and region as told */
    struct progress progress;
    char **unrecognised;
    size_t n_unrecognised, cap_unrecognised, n_files;
};

static void import_clear(struct import *im)
{
    for (size_t i = 0; i < im->n_unrecognised; i++)
        free(im->unrecognised[i]);
    free(im->unrecognised);
    market_import_free(im->rows);
    progress_clear(&im->progress);
}

/* Of a directory, files that are no history are left alone. */
static int add_file(struct import *im, const char *path, bool of_directory, struct err *e)
{
    struct market_source from = im->like;

    if (++im->n_files > FILES_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d files", path, FILES_MAX);
    progress_show(&im->progress, "reading %s", path);
    AUTO_MEM char *text = gzip_read(path, FILE_MAX_BYTES, &from.len, e);
    if (!text)
        return -1;
    enum market_feed feed = market_import_guess(text, from.len);
    if (of_directory &&
        (feed == MARKET_N_FEEDS || (from.feed != MARKET_N_FEEDS && from.feed != feed))) {
        im->unrecognised = mem_room(im->unrecognised, im->n_unrecognised, &im->cap_unrecognised,
                                    sizeof *im->unrecognised);
        im->unrecognised[im->n_unrecognised++] = mem_dup(path);
        return 0;
    }
    from.name = path;
    from.text = text;
    return market_import_file(im->rows, &from, e);
}

static int add_dir(struct import *im, const char *dir, int depth, struct err *e)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort), result = 0;

    if (n < 0)
        return err_set(e, ERR_USAGE, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        AUTO_MEM char *path = mem_printf("%s/%s", dir, entries[i]->d_name);
        struct stat st;
        bool known = result == 0 && entries[i]->d_name[0] != '.' && stat(path, &st) == 0;
        if (known && S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            result = add_dir(im, path, depth + 1, e);
        else if (known && S_ISREG(st.st_mode))
            result = add_file(im, path, true, e);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int add_path(struct import *im, const char *path, struct err *e)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(im, path, false, e);
    size_t before, after;
    market_import_reports(im->rows, &before);
    if (add_dir(im, path, 0, e) < 0)
        return -1;
    market_import_reports(im->rows, &after);
    return after > before ? 0
                          : err_set(e, ERR_USAGE, "%s: no price history in this directory", path);
}

static int parse_format(const char *text, enum market_feed *out, struct err *e)
{
    *out = MARKET_N_FEEDS;
    if (!text)
        return 0;
    for (size_t i = 0; i < MARKET_N_FEEDS; i++) {
        if (strcmp(text, market_feed_text((enum market_feed)i)) == 0) {
            *out = (enum market_feed)i;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "--format \"%s\" is none of aws, azure, gcp, keepalive, csv and daily", text);
}

static void close_lock(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Old and new together, in the place of the old. */
static int keep(struct import *im, const char *home, struct cli_market_done *done, struct err *e)
{
    size_t len;
    AUTO_MEM void *bytes = market_import_finish(im->rows, &len, e);

    if (!bytes || app_market_save(home, bytes, len, &done->changed, e) < 0)
        return -1;
    done->files = market_import_reports(im->rows, &done->n_files);
    done->unrecognised = im->unrecognised;
    done->n_unrecognised = im->n_unrecognised;
    return 0;
}

static int add_old(struct import *im, const char *home, struct err *e)
{
    struct err why = {0};
    AUTO(market) struct market *old = app_market_load(home, &why);

    if (old)
        return market_import_market(im->rows, old, e);
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

static int import_all(struct import *im,
                      const struct command_args *args,
                      const char *home,
                      struct err *e)
{
    __attribute__((cleanup(close_lock))) int lock = app_market_lock(home, e);
    struct cli_market_done done = {0};

    if (lock < 0 || (!command_has(args, "--replace") && add_old(im, home, e) < 0))
        return -1;
    for (size_t i = 0; i < args->n_operands; i++)
        if (add_path(im, args->operands[i], e) < 0)
            return -1;
    if (keep(im, home, &done, e) < 0)
        return -1;
    progress_clear(&im->progress);
    AUTO(market) struct market *now = app_market_load(home, e);
    if (!now)
        return -1;
    done.market = now;
    if (command_has(args, "--json"))
        return cli_market_print_import_json(&done, e);
    cli_market_print_import(&done);
    return 0;
}

static int run_import(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(import)
    struct import im = {.like = {.cloud = command_value(args, "--cloud"),
                                 .region = command_value(args, "--region")}};

    progress_init(&im.progress, stderr);
    if (parse_format(command_value(args, "--format"), &im.like.feed, e) < 0)
        return -1;
    AUTO(config) struct config *config = config_load(NULL, e);
    AUTO(catalog) struct catalog *catalog = config ? catalog_open(config->home, e) : NULL;
    if (!catalog)
        return -1;
    im.rows = market_import_new(catalog);
    return import_all(&im, args, config->home, e);
}

static const struct command_option options[] = {
    {.name = "--format",
     .value = "aws|azure|gcp|keepalive|csv|daily",
     .help = "What the files are (default: what they look like)."},
    {.name = "--cloud", .value = "NAME", .help = "Whose prices they are (default: as they say)."},
    {.name = "--region",
     .value = "NAME",
     .help = "Where they hold (default: as they say; of Azure's tables, the name of the file)."},
    {.name = "--replace", .help = "Forget what was imported before."},
    {.name = "--json", .help = "Print the report as one object."},
    {0},
};

const struct command command_market_import = {
    .name = "market import",
    .operands = "DIR|FILE...",
    .summary = "Keep price histories of spot machines",
    .details =
        "Reads, plain or gzip, of a directory every file that looks like one:\n"
        "  aws        answers of `aws ec2 describe-spot-price-history`, JSON\n"
        "  azure      one row a day (Date), one column a size of machine; the file's name is the "
        "region\n"
        "  gcp        launch probes, one file a sweep, its name the time\n"
        "  keepalive  logs of machines that were kept alive: how long until a preemption\n"
        "  csv        cloud,region,zone,instance_type,time,price_usd_per_hour; no price = "
        "withdrawn\n"
        "  daily      instance_type,az_id,date,ondemand_usd_h,spot_usd_h of a catalog\n"
        "\n"
        "New records join those kept before; all files are kept or none. Records that are there "
        "already change nothing. What cannot be used is counted, and so is what is odd about the "
        "rest; a file that is no history, or has no usable row, is an error with file and line.",
    .example = "tradewind market import prices/aws",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_import,
};
