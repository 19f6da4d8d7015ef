/* Reads one CSV file of a SkyPilot catalog into rows. `catalog import` calls it. */
#include "catalog/read.h"

#include "base/csv.h"
#include "base/number.h"
#include "catalog/accelerator.h"
#include "catalog/catalog.h"
#include "catalog/gcp.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    SKY_TYPE,
    SKY_REGION,
    SKY_PRICE,
    SKY_N_NEEDED, /* the columns above must be there */
    SKY_SPOT = SKY_N_NEEDED,
    SKY_ZONE,
    SKY_VCPUS,
    SKY_MEMORY,
    SKY_ACCELERATOR,
    SKY_COUNT,
    SKY_COLUMNS
};

static const char *const columns[SKY_COLUMNS] = {
    [SKY_TYPE] = "InstanceType",
    [SKY_REGION] = "Region",
    [SKY_PRICE] = "Price",
    [SKY_SPOT] = "SpotPrice",
    [SKY_ZONE] = "AvailabilityZone",
    [SKY_VCPUS] = "vCPUs",
    [SKY_MEMORY] = "MemoryGiB",
    [SKY_ACCELERATOR] = "AcceleratorName",
    [SKY_COUNT] = "AcceleratorCount",
};

struct reader {
    struct catalog_rows *rows;
    struct catalog_file_report *report;
    size_t at[SKY_COLUMNS];
    size_t n_fields; /* the most that a column needs */
    uint32_t cloud;
    struct gcp *gcp; /* NULL for other clouds */
    const struct csv_field *fields;
};

static const struct csv_field *field(const struct reader *r, size_t column)
{
    static const struct csv_field nothing = {"", 0};

    return r->at[column] == SIZE_MAX ? &nothing : &r->fields[r->at[column]];
}

static bool get_number(const struct reader *r,
                       size_t column,
                       const struct limit *limit,
                       double *out)
{
    const struct csv_field *f = field(r, column);

    *out = (double)NAN;
    if (!f->len)
        return true;
    return number_parse(f->text, out) && limit_known(limit, *out);
}

/* Missing and zero both mean "not for sale", never "free". */
static bool get_price(const struct reader *r, size_t column, double *out)
{
    double v;

    if (number_parse(field(r, column)->text, &v) && v == 0) {
        *out = (double)NAN;
        return true;
    }
    return get_number(r, column, &limit_price, out);
}

static bool get_text(const struct reader *r, size_t column, uint32_t *out)
{
    const struct csv_field *f = field(r, column);

    if (!catalog_name_good(f))
        return false;
    *out = catalog_rows_intern_n(r->rows, f->text, f->len);
    return true;
}

/* A count of 0 and no name are two ways to say that there is none. */
static bool get_accelerator(const struct reader *r, struct catalog_offer_row *out)
{
    const struct csv_field *name = field(r, SKY_ACCELERATOR);

    if (!get_number(r, SKY_COUNT, &limit_accelerators, &out->accelerator_count))
        return false;
    if (!name->len || out->accelerator_count == 0) {
        out->accelerator_count = (double)NAN;
        return true;
    }
    if (isnan(out->accelerator_count) || !catalog_name_good(name))
        return false;
    out->accelerator = catalog_rows_intern(r->rows, catalog_accelerator(name->text));
    return true;
}

static bool get_row(const struct reader *r, struct catalog_offer_row *out)
{
    *out = (struct catalog_offer_row){
        .cloud = r->cloud, .network_gbps = (double)NAN, .preemptions = (double)NAN};
    if (!get_text(r, SKY_TYPE, &out->instance_type) || !get_text(r, SKY_REGION, &out->region) ||
        !get_text(r, SKY_ZONE, &out->zone) || !get_accelerator(r, out) ||
        !get_number(r, SKY_VCPUS, &limit_vcpus, &out->vcpus) ||
        !get_number(r, SKY_MEMORY, &limit_memory, &out->memory_gib) ||
        !get_price(r, SKY_PRICE, &out->price_usd) || !get_price(r, SKY_SPOT, &out->spot_usd))
        return false;
    return out->region && (out->instance_type || (r->gcp && out->accelerator));
}

static int read_row(struct reader *r, struct err *e)
{
    struct catalog_offer_row row;
    size_t *dropped = r->report->dropped;
    bool duplicate;

    if (!get_row(r, &row)) {
        dropped[CATALOG_DROP_MALFORMED]++;
        return 0;
    }
    if (r->gcp)
        return gcp_add(r->gcp, &row, r->report, e);
    if (!catalog_priced(row.price_usd) && !catalog_priced(row.spot_usd)) {
        dropped[CATALOG_DROP_UNPRICED]++;
        return 0;
    }
    if (catalog_rows_put(r->rows, &row, &duplicate, e) < 0)
        return -1;
    dropped[CATALOG_DROP_DUPLICATE] += duplicate;
    r->report->offers += !duplicate;
    r->report->spot_above_on_demand += row.spot_usd > row.price_usd;
    return 0;
}

static int read_header(struct reader *r, struct csv *csv, struct err *e)
{
    if (csv_header(csv, columns, SKY_COLUMNS, r->at, e) < 0)
        return -1;
    for (size_t i = 0; i < SKY_COLUMNS; i++) {
        if (r->at[i] == SIZE_MAX && i < SKY_N_NEEDED)
            return err_set(e, ERR_USAGE, "%s:%zu: there is no column \"%s\"", csv_name(csv),
                           csv_line(csv), columns[i]);
        if (r->at[i] != SIZE_MAX && r->at[i] >= r->n_fields)
            r->n_fields = r->at[i] + 1;
    }
    return 0;
}

static int read_rows(struct reader *r, struct csv *csv, struct err *e)
{
    size_t n;
    int got;

    /* A row that is no CSV is one malformed row; reading goes on behind it. */
    while ((got = csv_next(csv, &r->fields, &n, NULL)) != 0) {
        r->report->rows_read++;
        if (got < 0 || n < r->n_fields)
            r->report->dropped[CATALOG_DROP_MALFORMED]++;
        else if (read_row(r, e) < 0)
            return err_wrap(e, "%s:%zu", csv_name(csv), csv_line(csv));
    }
    return 0;
}

int catalog_read_skypilot(struct csv *csv,
                          const char *cloud,
                          struct catalog_rows *rows,
                          struct catalog_file_report *report,
                          struct err *e)
{
    AUTO(gcp) struct gcp *gcp = strcmp(cloud, "gcp") == 0 ? gcp_new(rows) : NULL;
    struct reader r = {
        .rows = rows, .report = report, .cloud = catalog_rows_intern(rows, cloud), .gcp = gcp};
    if (read_header(&r, csv, e) < 0 || read_rows(&r, csv, e) < 0)
        return -1;
    if (gcp && gcp_combine(gcp, report, e) < 0)
        return err_wrap(e, "%s", csv_name(csv));
    report->rows_kept = report->rows_read - catalog_report_dropped(report);
    return 0;
}
