/* operations: the list of what administrators can ask, for src/app/operations.c. */
#include "app/admin/admin.h"

const struct operation *const admin_operations[] = {
    &config_get_operation,
    &config_list_operation,
    &config_set_operation,
    &machine_list_operation,
    &machine_cleanup_operation,
    &doctor_operation,
    NULL,
};
