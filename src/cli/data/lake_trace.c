#include "cli/data/lake_trace.h"

#include "base/auto.h"
#include "base/time.h"
#include "broker/pipeline/lineage.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "spec/config.h"

#include <math.h>

/* Further than any graph goes. */
#define HOPS_MAX 1e9

static int parse_hops(const struct command_args *args, uint32_t *out, struct err *e)
{
    double hops = 0;

    *out = 0;
    if (!command_has(args, "--hops"))
        return 0;
    if (command_number(args, "--hops", &hops, e) < 0)
        return -1;
    if (!(hops >= 1 && hops <= HOPS_MAX) || hops != floor(hops))
        return err_set(e, ERR_USAGE, "--hops %s: give a whole number from 1",
                       command_value(args, "--hops"));
    *out = (uint32_t)hops;
    return 0;
}

static int check_options(const struct command_args *args, struct err *e)
{
    int forms =
        command_has(args, "--json") + command_has(args, "--dot") + command_has(args, "--svg");

    if (forms > 1)
        return err_set(e, ERR_USAGE, "--json, --dot and --svg: choose one of them");
    if (command_has(args, "--cost") && (command_has(args, "--dot") || command_has(args, "--svg")))
        return err_set(e, ERR_USAGE, "--cost goes with text and --json, not with pictures");
    if (args->n_operands == 0 && (command_has(args, "--back") || command_has(args, "--forward") ||
                                  command_has(args, "--hops") || command_has(args, "--cost")))
        return err_set(
            e, ERR_USAGE,
            "--back, --forward, --hops and --cost need a place to start from: name a set "
            "version, as in tradewind trace @NAME:1");
    return 0;
}

static enum lake_direction direction_of(const struct command_args *args)
{
    bool back = command_has(args, "--back"), forward = command_has(args, "--forward");

    return back == forward ? LAKE_BOTH : back ? LAKE_BACK : LAKE_FORWARD;
}

static int print(const struct command_args *args,
                 const struct lake_graph *g,
                 const struct lake_lineage_cost *cost, /* NULL = not asked for */
                 struct err *e)
{
    if (command_has(args, "--svg"))
        return lake_trace_svg(stdout, g, e);
    if (command_has(args, "--json"))
        lake_trace_json(stdout, g, cost);
    else if (command_has(args, "--dot"))
        lake_trace_dot(stdout, g);
    else
        lake_trace_text(stdout, g, cost);
    return 0;
}

static int read_cost(struct lake *l,
                     const struct lake_ref *ref,
                     struct lake_lineage_cost *out,
                     struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    AUTO(config) struct config *c = config_load(NULL, e);

    if (!c || open_bills_read(c->home, time_epoch_ms(), &open, e) < 0 ||
        lake_lineage_cost(l, ref, out, e) < 0)
        return -1;
    return lineage_add_open(l, ref, &open, out, e);
}

static int run_trace(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    bool whole = args->n_operands == 0, costs = command_has(args, "--cost");
    struct lake_lineage_cost cost;
    uint32_t hops;

    if (check_options(args, e) < 0 || parse_hops(args, &hops, e) < 0)
        return -1;
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l || (!whole && lake_resolve(l, args->operands[0], LAKE_READ, &ref, e) < 0) ||
        lake_trace(l, whole ? NULL : &ref, direction_of(args), hops, &g, e) < 0 ||
        (costs && read_cost(l, &ref, &cost, e) < 0))
        return -1;
    return print(args, &g, costs ? &cost : NULL, e);
}

static const struct command_option trace_options[] = {
    {.name = "--back", .help = "Only what it was made from."},
    {.name = "--forward", .help = "Only what was made from it."},
    {.name = "--hops", .value = "N", .help = "At most N steps away (default: all the way)."},
    {.name = "--cost", .help = "Add what all jobs upstream of REF cost, and how long they ran."},
    {.name = "--json",
     .help = "Print nodes (ref) and edges (from, to, kind, job); from is the newer one."},
    {.name = "--dot", .help = "Print it for Graphviz."},
    {.name = "--svg", .help = "Print a picture, older set versions to the left."},
    {0},
};

const struct command command_trace = {
    .name = "trace",
    .operands = "[REF]",
    .summary = "Show what a set was made from, and what was made from it",
    .details = "Follows provenance from a set version (@S is its latest), both ways unless told "
               "otherwise: each set version, and below it the ones it was made from. A file "
               "(/p#2) stands for every set version that holds that version of it. Without REF the "
               "whole graph is shown.",
    .example = "tradewind trace @model --back --dot",
    .options = trace_options,
    .max_operands = 1,
    .run = run_trace,
};
