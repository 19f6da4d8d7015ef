/* init: the command `init`. */
#include "cli/data/data.h"

static void print_lake(struct operate_text *t, const void *record)
{
    const struct data_init *lake = record;

    fprintf(t->out, "The lake is in %s, its content goes to %s.\n", lake->home, lake->store);
}

const struct command command_init = {
    .name = "init",
    .summary = "Create the data lake, or choose where its content goes",
    .details =
        "Writes, reads and deletes a probe in the store, then records the store in the "
        "configuration. Without init the first command that needs a lake creates one in "
        "$TRADEWIND_HOME. A lake that has content keeps its store. The command refuses a store "
        "that has content which lake.db does not know: lake.db may have been lost and must be "
        "restored. Lakes may share a store, though: --new says that this is intended.\n\n"
        "Credentials for S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared file "
        "~/.aws/credentials (AWS_PROFILE), or the machine's role.",
    .example = "tradewind init --store s3://team-data/lake --region eu-west-1",
    .operation = &lake_init_operation,
    .text = &(const struct command_text){.head = print_lake},
};
