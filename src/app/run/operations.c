/* operations: the list of what can be asked about runs, for src/app/operations.c. */
#include "app/run/simulate.h"
#include "app/run/start.h"

/* clang-format off */
const struct operation *const run_operations[] = {
    &run_start_operation,
    &run_simulate_operation,
    &run_list_operation,
    &run_get_operation,
    &run_follow_operation,
    &run_stop_operation,
    &replay_start_operation,
    &rerun_start_operation,
    &replay_get_operation,
    NULL,
};
/* clang-format on */
