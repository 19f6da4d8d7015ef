#include "base/json.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "lake/put/put.h"

#include <stdio.h>

#define LASTS_S 3600.0
/* S3's own limit: a week. */
#define LASTS_MAX_S 604800.0

static int print_url(const struct store_url *url, bool json, struct err *e)
{
    if (json) {
        AUTO_JSON json_t *root = json_pack("{s:o, s:o}", "url", json_text(url->url), "header",
                                           url->header ? json_text(url->header) : json_null());
        return json_write(stdout, root, e);
    }
    printf("%s\n", url->url);
    if (url->header)
        fprintf(stderr, "Send this header with it: %s\n", url->header);
    return 0;
}

static int run_url(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(store_url) struct store_url url = {0};
    double lasts_s = LASTS_S;
    AUTO(lake) struct lake *l = NULL;

    if (command_duration(args, "--expires", 1, &lasts_s, e) < 0)
        return -1;
    if (!(lasts_s >= 1 && lasts_s <= LASTS_MAX_S))
        return err_set(e, ERR_USAGE, "--expires takes from 1 second to 7 days");
    l = lake_open_here(e);
    if (!l || lake_resolve(l, args->operands[0], LAKE_READ, &ref, e) < 0 ||
        lake_url(l, &ref, (unsigned)lasts_s, &url, e) < 0)
        return -1;
    return print_url(&url, command_has(args, "--json"), e);
}

static const struct command_option url_options[] = {
    {.name = "--expires",
     .value = "TIME",
     .help = "How long it works; 1h unless told, 7d at most."},
    {.name = "--json", .help = "Print url and header (null when none is needed) as one object."},
    {0},
};

const struct command command_url = {
    .name = "url",
    .operands = "REF",
    .summary = "Make a URL with which anyone can read one file version for a while",
    .details = "For lakes on S3. A small file lies in a pack with others: the URL then is signed "
               "together with a Range header that covers this file alone, is told on standard "
               "error, and must be sent as it is.",
    .example = "tradewind url /models/bert.bin#3 --expires 2h",
    .options = url_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_url,
};
