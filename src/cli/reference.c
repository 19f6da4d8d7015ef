#include "cli/reference.h"

#include <stddef.h>

const char reference_summary[] = "plan pipelines over the machines of every cloud, with a proof";

const char reference_description[] =
    "Tradewind reads a pipeline file and says where each stage should run, when, for how long and "
    "for how many dollars, data transfer included, over every offer in its catalog. The plan is "
    "the optimum, or carries a bound that says how far from it it can be.";

const struct reference_entry reference_exit_codes[] = {
    {"0", "success"},
    {"2", "the command line or a file is wrong and must be changed"},
    {"3", "the named thing does not exist"},
    {"4", "credentials or permissions are missing"},
    {"5", "nothing that exists satisfies what was asked: no feasible plan"},
    {"6", "passing trouble: the same command may work later"},
    {"7", "disk or network failed, or the output could not be written"},
    {0},
};

const struct reference_entry reference_environment[] = {
    {"TRADEWIND_HOME", "directory of configuration and imported catalog; default ~/.tradewind"},
    {"TRADEWIND_LOG", "how much is logged to stderr: error, warn (default), info or debug"},
    {"NO_COLOR", "no colours, also on a terminal"},
    {0},
};

const struct reference_entry reference_files[] = {
    {"$TRADEWIND_HOME/config.yaml", "the configuration; see tradewind config show"},
    {0},
};
