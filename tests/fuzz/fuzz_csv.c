/* Price lists: the first byte says what the rest is meant to be. What reads without an error must
 * also build and open. */
#include "base/csv.h"
#include "catalog/internal.h"
#include "catalog/read.h"
#include "catalog/rows.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int read_as(unsigned what, struct csv *csv, struct catalog_rows *rows)
{
    struct catalog_file_report report = {0};
    uint32_t date;
    int read;

    switch (what % 5) {
    case 0:
        read = catalog_read_skypilot(csv, "aws", rows, &report, NULL);
        break;
    case 1:
        read = catalog_read_skypilot(csv, "gcp", rows, &report, NULL);
        break;
    case 2:
        read = catalog_read_tradewind(csv, CATALOG_TABLE_TRANSFERS, rows, &report, NULL, NULL);
        break;
    case 3:
        read = catalog_read_tradewind(csv, CATALOG_TABLE_STORAGE, rows, &report, NULL, NULL);
        break;
    default:
        read = catalog_read_tradewind(csv, CATALOG_TABLE_OFFERS, rows, &report, &date, NULL);
    }
    if (read == 0 && report.rows_kept + catalog_report_dropped(&report) != report.rows_read)
        abort();
    return read;
}

/* So that transfers and storage have places to be between and at. */
static void add_offer(struct catalog_rows *rows)
{
    struct catalog_offer_row offer = {
        .cloud = catalog_rows_intern(rows, "a"),
        .region = catalog_rows_intern(rows, "us-east-1"),
        .instance_type = catalog_rows_intern(rows, "t"),
        .price_usd = 1,
        .spot_usd = (double)NAN,
    };
    bool duplicate;

    catalog_rows_put(rows, &offer, &duplicate, NULL);
    offer.region = catalog_rows_intern(rows, "eu-west-1");
    catalog_rows_put(rows, &offer, &duplicate, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    AUTO(csv) struct csv *csv = csv_from_memory("fuzz", data + 1, size - 1);
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    void *bytes;
    size_t len;

    if (read_as(data[0], csv, rows) < 0)
        return 0;
    add_offer(rows);
    if (catalog_build(rows, "fuzz", &bytes, &len, NULL) < 0)
        return 0;
    AUTO(catalog) struct catalog *c = catalog_open_owned("fuzz", bytes, len, NULL);
    if (!c)
        abort();
    return 0;
}
