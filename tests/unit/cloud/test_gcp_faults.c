/* Machines on Google Cloud while every call may fail, against the model of Compute Engine. */
#include "fault_schedules.h"

int main(void)
{
    static const struct fault_schedules gcp = {&cloud_model_gcp, "n1-standard-4", "us-central1-a",
                                               21};

    return fault_schedules_run(&gcp);
}
