/* operations: the list of all operations on price histories, for the table of operations. */
#include "app/market/market.h"

const struct operation *const market_operations[] = {
    &market_import_operation,
    &market_list_operation,
    &market_stats_operation,
    &market_tables_operation,
    &market_replay_operation,
    &market_sweep_operation,
    NULL,
};
