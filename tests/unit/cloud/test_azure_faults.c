/* Machines on Azure while every call may fail, against the model of its Resource Manager. */
#include "fault_schedules.h"

int main(void)
{
    static const struct fault_schedules azure = {&cloud_model_azure, "Standard_D4s_v5", "1", 21};

    return fault_schedules_run(&azure);
}
