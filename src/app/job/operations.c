/* operations: the list of operations on jobs and profiles, for src/app/operations.c. */
#include "app/job/job.h"

const struct operation *const job_operations[] = {
    &job_list_operation,    &job_get_operation,
    &job_metrics_operation, &job_compare_operation,
    &job_kill_operation,    &job_wait_operation,
    &job_submit_operation,  &job_rerun_operation,
    &sweep_start_operation, NULL,
};
