#include "cli/core/reference.h"

#include <stddef.h>

const char reference_summary[] =
    "plan pipelines over every cloud, with a proof; keep data, find it, trace it";

const char reference_description[] =
    "Tradewind reads a pipeline file and says where each stage should run, when, for how long and "
    "for how many dollars, data transfer included, over every offer in its catalog. The plan is "
    "the optimum, or carries a bound that says how far from it it can be.\n"
    "\n"
    "Its data lake keeps files in versions, groups them in sets, finds both by what is known about "
    "them and tells what was made from what, in a directory or on S3.";

const struct reference_entry reference_exit_codes[] = {
    {"0", "success"},
    {"2", "the command line or a file is wrong and must be changed"},
    {"3", "the named thing does not exist"},
    {"4", "credentials or permissions are missing"},
    {"5",
     "nothing that exists satisfies what was asked: no feasible plan, no URL from a directory"},
    {"6", "passing trouble, or interrupted: the same command may work later"},
    {"7", "disk, network or database failed, content is damaged, or output could not be written"},
    {0},
};

const struct reference_entry reference_environment[] = {
    {"TRADEWIND_HOME",
     "directory of configuration, imported catalog and data lake; default ~/.tradewind"},
    {"TRADEWIND_LOG", "how much is logged to stderr: error, warn (default), info or debug"},
    {"NO_COLOR", "no colours, also on a terminal"},
    {"AWS_*", "credentials, profile and region of a lake on S3, as AWS's own tools read them"},
    {0},
};

const struct reference_entry reference_files[] = {
    {"$TRADEWIND_HOME/config.yaml", "the configuration; see tradewind config show"},
    {"$TRADEWIND_HOME/lake.db", "what the data lake knows of its files"},
    {"$TRADEWIND_HOME/objects", "their content, unless tradewind init chose another store"},
    {0},
};
