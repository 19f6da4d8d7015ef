/* operations: the list of what can be asked about runs, for src/app/operations.c. */
#include "app/run/run.h"

const struct operation *const run_operations[] = {
    &run_list_operation,     &run_get_operation,     &run_stop_operation,
    &replay_start_operation, &rerun_start_operation, NULL,
};
