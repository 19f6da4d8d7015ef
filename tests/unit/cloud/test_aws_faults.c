/* Machines on AWS while every call may fail, against the model of EC2. */
#include "fault_schedules.h"

int main(void)
{
    static const struct fault_schedules aws = {&cloud_model_aws, "m5.xlarge", "us-east-1a", 21};

    return fault_schedules_run(&aws);
}
