/* operations: the table of everything that can be asked of Tradewind, for app/core/operation.c and
 * the front ends. */
#include "app/admin/admin.h"
#include "app/catalog/catalog.h"
#include "app/cluster/cluster.h"
#include "app/core/operation.h"
#include "app/data/data.h"
#include "app/geo/geo.h"
#include "app/job/job.h"
#include "app/market/market.h"
#include "app/plan/plan.h"
#include "app/policy/policy.h"
#include "app/run/run.h"
#include "app/sweep/sweep.h"

static const struct operation *const run_operations[] = {RUN_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const sweep_operations[] = {SWEEP_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const geo_operations[] = {GEO_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const cluster_operations[] = {CLUSTER_OPERATIONS(OPERATION_LIST)
                                                                 NULL};
static const struct operation *const data_operations[] = {DATA_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const job_operations[] = {JOB_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const catalog_operations[] = {CATALOG_OPERATIONS(OPERATION_LIST)
                                                                 NULL};
static const struct operation *const plan_operations[] = {PLAN_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const market_operations[] = {MARKET_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const policy_operations[] = {POLICY_OPERATIONS(OPERATION_LIST) NULL};
static const struct operation *const admin_operations[] = {ADMIN_OPERATIONS(OPERATION_LIST) NULL};

const struct operation *const *const operation_families[] = {
    run_operations,   job_operations,     sweep_operations,  catalog_operations,
    data_operations,  plan_operations,    market_operations, policy_operations,
    admin_operations, cluster_operations, geo_operations,    NULL,
};
