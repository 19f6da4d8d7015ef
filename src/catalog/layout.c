#include "catalog/layout.h"

static const char *const offer_columns[OFFER_COLUMNS] = {
    [OFFER_CLOUD] = "cloud",
    [OFFER_REGION] = "region",
    [OFFER_ZONE] = "zone",
    [OFFER_TYPE] = "instance_type",
    [OFFER_VCPUS] = "vcpus",
    [OFFER_MEMORY] = "memory_gib",
    [OFFER_ACCELERATOR] = "accelerator",
    [OFFER_COUNT] = "accelerator_count",
    [OFFER_NETWORK] = "network_gbps",
    [OFFER_PRICE] = "price_usd_per_hour",
    [OFFER_SPOT] = "spot_usd_per_hour",
    [OFFER_PREEMPTIONS] = "preemptions_per_hour",
};

static const char *const transfer_columns[TRANSFER_COLUMNS] = {
    [TRANSFER_SRC_CLOUD] = "src_cloud", [TRANSFER_SRC_REGION] = "src_region",
    [TRANSFER_DST_CLOUD] = "dst_cloud", [TRANSFER_DST_REGION] = "dst_region",
    [TRANSFER_USD] = "usd_per_gb",      [TRANSFER_TIER] = "tier_from_gb",
    [TRANSFER_SPEED] = "gbit_per_s",    [TRANSFER_RTT] = "rtt_ms",
};

static const char *const storage_columns[STORAGE_COLUMNS] = {
    [STORAGE_CLOUD] = "cloud",
    [STORAGE_REGION] = "region",
    [STORAGE_CLASS] = "class",
    [STORAGE_USD] = "usd_per_gb_month",
    [STORAGE_READ] = "usd_per_1000_read",
    [STORAGE_WRITE] = "usd_per_1000_write",
    [STORAGE_LIST] = "usd_per_1000_list",
};

static const char *const source_columns[SOURCE_COLUMNS] = {
    [SOURCE_CLOUD] = "cloud",
    [SOURCE_TEXT] = "source",
    [SOURCE_DATE] = "date",
};

const struct catalog_layout *catalog_layout_of(enum catalog_table table)
{
    static const struct catalog_layout layouts[] = {
        [CATALOG_TABLE_OFFERS] = {"offers.csv", offer_columns, OFFER_COLUMNS},
        [CATALOG_TABLE_TRANSFERS] = {"transfers.csv", transfer_columns, TRANSFER_COLUMNS},
        [CATALOG_TABLE_STORAGE] = {"storage.csv", storage_columns, STORAGE_COLUMNS},
        [CATALOG_TABLE_SOURCES] = {"sources.csv", source_columns, SOURCE_COLUMNS},
    };

    if (table >= sizeof layouts / sizeof *layouts || !layouts[table].file)
        return NULL;
    return &layouts[table];
}
