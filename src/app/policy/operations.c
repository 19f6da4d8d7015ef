/* operations: the list of all operations on policies, for the table of operations. */
#include "app/policy/policy.h"

const struct operation *const policy_operations[] = {
    &policy_solve_operation,
    &policy_simulate_operation,
    NULL,
};
