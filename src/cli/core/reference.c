#include "cli/core/reference.h"

#include <stddef.h>

const char reference_summary[] =
    "plan machine-learning pipelines across clouds, run them, and record what they made";

const char reference_description[] =
    "Tradewind reads a pipeline file and computes where each stage should run, when, for how long "
    "and at what cost, data transfer included, over every offer in its catalog. The plan is proved "
    "optimal, or carries a lower bound and a gap. Tradewind then runs the stages on this machine, "
    "on hosts over ssh, or in a simulation.\n"
    "\n"
    "Its data lake stores files in versions and groups them in file sets, in a directory or on S3. "
    "Files, sets and jobs are searchable by metadata, and every set has its provenance and its "
    "cost in dollars.";

const struct reference_entry reference_exit_codes[] = {
    {"0", "success"},
    {"2", "the command line or a file is wrong: change it"},
    {"3", "the named thing does not exist"},
    {"4", "credentials or permissions are missing"},
    {"5",
     "nothing satisfies the request: no feasible plan, no free quota, no URL from a directory"},
    {"6", "a temporary error, or interrupted: retry later"},
    {"7", "disk, network or database failed, content is damaged, or output was not written"},
    {0},
};

const struct reference_entry reference_environment[] = {
    {"TRADEWIND_HOME", "directory of the configuration, the imported catalog and the data lake; "
                       "default ~/.tradewind"},
    {"TRADEWIND_LOG", "log level on stderr: error, warn (default), info or debug"},
    {"NO_COLOR", "turns colours off"},
    {"AWS_*",
     "credentials, profile and region of a lake on S3, read as the AWS command line reads them"},
    {0},
};

const struct reference_entry reference_files[] = {
    {"$TRADEWIND_HOME/config.yaml", "the configuration; see tradewind config show"},
    {"$TRADEWIND_HOME/lake.db", "database of the data lake"},
    {"$TRADEWIND_HOME/objects", "content of its files, unless tradewind init chose another store"},
    {0},
};
