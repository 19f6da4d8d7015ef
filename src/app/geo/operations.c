/* operations: the list of what can be asked about geo-distributed training, for
 * src/app/operations.c. */
#include "app/geo/geo.h"

const struct operation *const geo_operations[] = {
    &geo_plan_operation,
    &geo_paper_operation,
    &geo_run_operation,
    NULL,
};
