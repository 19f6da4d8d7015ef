/* Reads one CSV file of a SkyPilot catalog into rows. `catalog import` calls it. */
#include "catalog/read.h"

#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Google Cloud: its price list has host and accelerator as rows of their own. Which host may
 * have which accelerators is a rule, not data. ---- */

/* Hosts that exist for their accelerators alone: what stands in each. */
static const struct built_in {
    const char *accelerator;
    unsigned count;
    const char *host;
} built_in[] = {
    {"A100", 1, "a2-highgpu-1g"},         {"A100", 2, "a2-highgpu-2g"},
    {"A100", 4, "a2-highgpu-4g"},         {"A100", 8, "a2-highgpu-8g"},
    {"A100", 16, "a2-megagpu-16g"},       {"A100-80GB", 1, "a2-ultragpu-1g"},
    {"A100-80GB", 2, "a2-ultragpu-2g"},   {"A100-80GB", 4, "a2-ultragpu-4g"},
    {"A100-80GB", 8, "a2-ultragpu-8g"},   {"H100", 1, "a3-highgpu-1g"},
    {"H100", 2, "a3-highgpu-2g"},         {"H100", 4, "a3-highgpu-4g"},
    {"H100", 8, "a3-highgpu-8g"},         {"H100-MEGA", 8, "a3-megagpu-8g"},
    {"H200", 8, "a3-ultragpu-8g"},        {"B200", 8, "a4-highgpu-8g"},
    {"L4", 1, "g2-standard-4"},           {"L4", 1, "g2-standard-8"},
    {"L4", 1, "g2-standard-12"},          {"L4", 1, "g2-standard-16"},
    {"L4", 1, "g2-standard-32"},          {"L4", 2, "g2-standard-24"},
    {"L4", 4, "g2-standard-48"},          {"L4", 8, "g2-standard-96"},
    {"RTXPRO6000", 1, "g4-standard-48"},  {"RTXPRO6000", 2, "g4-standard-96"},
    {"RTXPRO6000", 4, "g4-standard-192"}, {"RTXPRO6000", 8, "g4-standard-384"},
};

/* Accelerators attached to N1 machines, and the largest machine each number of them goes with:
 * https://cloud.google.com/compute/docs/gpus, "N1 machine series". */
static const struct attached {
    const char *accelerator;
    unsigned count;
    double most_vcpus, most_memory_gib;
} attached[] = {
    {"K80", 1, 8, 52},    {"K80", 2, 16, 104},  {"K80", 4, 32, 208},  {"K80", 8, 64, 416},
    {"P100", 1, 16, 104}, {"P100", 2, 32, 208}, {"P100", 4, 96, 624}, {"P4", 1, 24, 156},
    {"P4", 2, 48, 312},   {"P4", 4, 96, 624},   {"T4", 1, 48, 312},   {"T4", 2, 48, 312},
    {"T4", 4, 96, 624},   {"V100", 1, 12, 78},  {"V100", 2, 24, 156}, {"V100", 4, 48, 312},
    {"V100", 8, 96, 624},
};

/* Families of hosts that are not sold without accelerators. */
static const char *const accelerator_hosts[] = {"a2-", "a3-", "a4-", "a4x-", "g2-", "g4-"};
/* N1 machines that take accelerators; the shared-core and memory-optimised ones do not. */
static const char *const n1_hosts[] = {"n1-standard-", "n1-highmem-", "n1-highcpu-"};

struct gcp {
    struct catalog_rows *rows;
    struct catalog_rows *hosts;        /* text ids of rows, not of its own */
    struct catalog_rows *accelerators; /* likewise; the instance type is "T4:2" */
    bool *used;                        /* by host: stands in at least one offer */
    uint32_t *n1_types;
    size_t n_n1_types, cap_n1_types;
};

/* Rows are collected, then combined into offers of `rows`; text ids are of rows->texts. */
static struct gcp *gcp_new(struct catalog_rows *rows)
{
    struct gcp *g = mem_zero(1, sizeof *g);

    g->rows = rows;
    g->hosts = catalog_rows_new();
    g->accelerators = catalog_rows_new();
    return g;
}

static void gcp_free(struct gcp *g)
{
    if (!g)
        return;
    catalog_rows_free(g->hosts);
    catalog_rows_free(g->accelerators);
    free(g->used);
    free(g->n1_types);
    free(g);
}

AUTO_DEFINE(gcp)

static bool begins_with_any(const char *text, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}
#define BEGINS_WITH_ANY(text, list) begins_with_any(text, list, sizeof(list) / sizeof *(list))

static bool sold_alone(const char *host)
{
    size_t len = strlen(host);
    bool for_tpus = len > 4 && strcmp(host + len - 4, "-tpu") == 0;

    return !for_tpus && !BEGINS_WITH_ANY(host, accelerator_hosts);
}

static void note_n1_type(struct gcp *g, uint32_t type)
{
    if (!BEGINS_WITH_ANY(catalog_rows_text(g->rows, type), n1_hosts))
        return;
    for (size_t i = g->n_n1_types; i-- > 0;) {
        if (g->n1_types[i] == type)
            return;
    }
    g->n1_types = mem_room(g->n1_types, g->n_n1_types, &g->cap_n1_types, sizeof *g->n1_types);
    g->n1_types[g->n_n1_types++] = type;
}

/* "n1-standard-8+T4:2" from host "n1-standard-8+"; "T4:2" from "". */
static uint32_t attached_name(struct gcp *g, const char *host, const struct catalog_offer_row *a)
{
    char name[600];

    snprintf(name, sizeof name, "%s%s:%g", host, catalog_rows_text(g->rows, a->accelerator),
             a->accelerator_count);
    return catalog_rows_intern(g->rows, name);
}

static int put(struct catalog_rows *into,
               const struct catalog_offer_row *row,
               size_t *duplicates,
               struct err *e)
{
    bool duplicate;

    if (catalog_rows_put(into, row, &duplicate, e) < 0)
        return -1;
    *duplicates += duplicate;
    return 0;
}

/* A row of the price list. Without an instance type it prices accelerators, or a TPU, which comes
 * with its host. What is dropped is counted in the report. */
static int gcp_add(struct gcp *g,
                   const struct catalog_offer_row *row,
                   struct catalog_file_report *report,
                   struct err *e)
{
    size_t *duplicates = &report->dropped[CATALOG_DROP_DUPLICATE];
    struct catalog_offer_row named = *row;

    if (!catalog_priced(row->price_usd) && !catalog_priced(row->spot_usd)) {
        report->dropped[CATALOG_DROP_UNPRICED]++;
        return 0;
    }
    if (row->instance_type) {
        note_n1_type(g, row->instance_type);
        return put(g->hosts, row, duplicates, e);
    }
    if (strncmp(catalog_rows_text(g->rows, row->accelerator), "tpu-", 4) != 0) {
        named.instance_type = attached_name(g, "", row);
        return put(g->accelerators, &named, duplicates, e);
    }
    size_t before = *duplicates;
    named.instance_type = row->accelerator;
    if (put(g->rows, &named, duplicates, e) < 0)
        return -1;
    report->offers += *duplicates == before;
    return 0;
}

/* Decimal prices added without the dust of binary fractions. */
static double add_prices(double a, double b)
{
    return rint((a + b) * 1e9) / 1e9;
}

static int put_machine(struct gcp *g,
                       const struct catalog_offer_row *host,
                       const struct catalog_offer_row *a,
                       uint32_t name,
                       struct catalog_file_report *report,
                       struct err *e)
{
    struct catalog_offer_row machine = *host;
    size_t duplicates = 0;

    machine.instance_type = name;
    machine.accelerator = a->accelerator;
    machine.accelerator_count = a->accelerator_count;
    machine.price_usd = add_prices(host->price_usd, a->price_usd);
    machine.spot_usd = add_prices(host->spot_usd, a->spot_usd);
    if (!catalog_priced(machine.price_usd) && !catalog_priced(machine.spot_usd))
        return 0;
    if (put(g->rows, &machine, &duplicates, e) < 0)
        return -1;
    g->used[host - g->hosts->offers] = true;
    report->offers += !duplicates;
    report->spot_above_on_demand += machine.spot_usd > machine.price_usd;
    return 1;
}

static const struct catalog_offer_row *host_in_zone(const struct gcp *g,
                                                    const struct catalog_offer_row *a,
                                                    uint32_t type)
{
    struct catalog_offer_row key = *a;

    key.instance_type = type;
    return catalog_rows_find(g->hosts, &key);
}

/* The number of machines made, or -1. */
static int combine_built_in(struct gcp *g,
                            const struct catalog_offer_row *a,
                            struct catalog_file_report *report,
                            struct err *e)
{
    const char *name = catalog_rows_text(g->rows, a->accelerator);
    int n = 0;

    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        if (a->accelerator_count != built_in[i].count || strcmp(name, built_in[i].accelerator) != 0)
            continue;
        uint32_t type = catalog_rows_intern(g->rows, built_in[i].host);
        const struct catalog_offer_row *host = host_in_zone(g, a, type);
        int made = host ? put_machine(g, host, a, type, report, e) : 0;
        if (made < 0)
            return -1;
        n += made;
    }
    return n;
}

static const struct attached *find_attached(const struct gcp *g, const struct catalog_offer_row *a)
{
    const char *name = catalog_rows_text(g->rows, a->accelerator);

    for (size_t i = 0; i < sizeof attached / sizeof *attached; i++) {
        if (a->accelerator_count == attached[i].count && strcmp(name, attached[i].accelerator) == 0)
            return &attached[i];
    }
    return NULL;
}

static int combine_attached(struct gcp *g,
                            const struct catalog_offer_row *a,
                            struct catalog_file_report *report,
                            struct err *e)
{
    const struct attached *limit = find_attached(g, a);
    int n = 0;

    for (size_t i = 0; limit && i < g->n_n1_types; i++) {
        const struct catalog_offer_row *host = host_in_zone(g, a, g->n1_types[i]);
        if (!host || !(host->vcpus <= limit->most_vcpus) ||
            !(host->memory_gib <= limit->most_memory_gib))
            continue;
        char prefix[300];
        snprintf(prefix, sizeof prefix, "%s+", catalog_rows_text(g->rows, host->instance_type));
        int made = put_machine(g, host, a, attached_name(g, prefix, a), report, e);
        if (made < 0)
            return -1;
        n += made;
    }
    return n;
}

static int put_hosts(struct gcp *g, struct catalog_file_report *report, struct err *e)
{
    for (size_t i = 0; i < g->hosts->n_offers; i++) {
        const struct catalog_offer_row *host = &g->hosts->offers[i];
        size_t duplicates = 0;
        if (!sold_alone(catalog_rows_text(g->rows, host->instance_type))) {
            report->dropped[CATALOG_DROP_HOST_ALONE] += !g->used[i];
            continue;
        }
        if (put(g->rows, host, &duplicates, e) < 0)
            return -1;
        report->dropped[CATALOG_DROP_DUPLICATE] += duplicates;
        report->offers += !duplicates;
        report->spot_above_on_demand += host->spot_usd > host->price_usd;
    }
    return 0;
}

/* Every host alone, if it is sold alone, and with the accelerators it may have. A host made for
 * accelerators keeps its name; others are called n1-standard-8+T4:2. */
static int gcp_combine(struct gcp *g, struct catalog_file_report *report, struct err *e)
{
    free(g->used);
    g->used = mem_zero(g->hosts->n_offers, sizeof *g->used);
    for (size_t i = 0; i < g->accelerators->n_offers; i++) {
        const struct catalog_offer_row *a = &g->accelerators->offers[i];
        int fixed = combine_built_in(g, a, report, e);
        int loose = fixed < 0 ? -1 : combine_attached(g, a, report, e);
        if (loose < 0)
            return -1;
        report->dropped[CATALOG_DROP_NO_HOST] += fixed + loose == 0;
    }
    return put_hosts(g, report, e);
}

/* ---- rows ---- */

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
