#include "catalog/gcp.h"

#include "base/mem.h"
#include "catalog/catalog.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct gcp *gcp_new(struct catalog_rows *rows)
{
    struct gcp *g = mem_zero(1, sizeof *g);

    g->rows = rows;
    g->hosts = catalog_rows_new();
    g->accelerators = catalog_rows_new();
    return g;
}

void gcp_free(struct gcp *g)
{
    if (!g)
        return;
    catalog_rows_free(g->hosts);
    catalog_rows_free(g->accelerators);
    free(g->used);
    free(g->n1_types);
    free(g);
}

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

int gcp_add(struct gcp *g,
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

int gcp_combine(struct gcp *g, struct catalog_file_report *report, struct err *e)
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
