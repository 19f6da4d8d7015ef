/* operations: the list of what can be asked about training clusters, for src/app/operations.c. */
#include "app/cluster/cluster.h"

const struct operation *const cluster_operations[] = {
    &cluster_recommend_operation,
    &cluster_start_operation,
    &cluster_measure_operation,
    NULL,
};
