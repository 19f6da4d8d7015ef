/* operations: the list of what can be asked about data, for src/app/operations.c. */
#include "app/data/data.h"

const struct operation *const data_operations[] = {
    &set_create_operation,
    &set_list_operation,
    NULL,
};
