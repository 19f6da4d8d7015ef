/* operations: the list of operations on jobs and profiles, for src/app/operations.c. */
#include "app/job/job.h"
#include "app/job/profile.h"

/* clang-format off */
const struct operation *const job_operations[] = {
    &job_list_operation,
    &job_get_operation,
    &job_metrics_operation,
    &job_compare_operation,
    &job_kill_operation,
    &job_wait_operation,
    &job_submit_operation,
    &job_rerun_operation,
    &sweep_start_operation,
    &profile_list_operation,
    &profile_get_operation,
    &profile_fit_operation,
    &profile_run_operation,
    &profile_predict_operation,
    &autoprovision_plan_operation,
    &autoprovision_submit_operation,
    NULL,
};
/* clang-format on */
