/* Instance types and regions known by their names. The readers of the formats call it. */
#include "base/number.h"
#include "catalog/catalog.h"
#include "market/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_type {
    const char *cloud, *name, *gpu;
    double gpus;
};

/* Machines that histories tell of and today's price lists do not: providers retire them. Of two
 * types with the same accelerators the first is the one that logs mean. */
static const struct known_type known_types[] = {
    {"aws", "p2.xlarge", "K80", 1},
    {"aws", "p2.8xlarge", "K80", 8},
    {"aws", "p2.16xlarge", "K80", 16},
    {"aws", "p3.2xlarge", "V100", 1},
    {"aws", "p3.8xlarge", "V100", 4},
    {"aws", "p3.16xlarge", "V100", 8},
    {"aws", "p3dn.24xlarge", "V100-32GB", 8},
    {"aws", "g2.2xlarge", "K520", 1},
    {"aws", "g2.8xlarge", "K520", 4},
    {"aws", "g3s.xlarge", "M60", 1},
    {"aws", "g3.4xlarge", "M60", 1},
    {"aws", "g3.8xlarge", "M60", 2},
    {"aws", "g3.16xlarge", "M60", 4},
    {"aws", "g4ad.xlarge", "Radeon Pro V520", 1},
    {"aws", "g4ad.2xlarge", "Radeon Pro V520", 1},
    {"aws", "g4ad.4xlarge", "Radeon Pro V520", 1},
    {"aws", "g4ad.8xlarge", "Radeon Pro V520", 2},
    {"aws", "g4ad.16xlarge", "Radeon Pro V520", 4},
    {"aws", "g5g.xlarge", "T4g", 1},
    {"aws", "g5g.2xlarge", "T4g", 1},
    {"aws", "g5g.4xlarge", "T4g", 1},
    {"aws", "g5g.8xlarge", "T4g", 1},
    {"aws", "g5g.16xlarge", "T4g", 2},
    {"aws", "g5g.metal", "T4g", 2},
    {"aws", "gr6.4xlarge", "L4", 1},
    {"aws", "gr6.8xlarge", "L4", 1},
    {"azure", "NC6", "K80", 1},
    {"azure", "NC12", "K80", 2},
    {"azure", "NC24", "K80", 4},
    {"azure", "NC24r", "K80", 4},
    {"azure", "NC6s v2", "P100", 1},
    {"azure", "NC12s v2", "P100", 2},
    {"azure", "NC24s v2", "P100", 4},
    {"azure", "NC24rs v2", "P100", 4},
    {"azure", "NC6s v3", "V100", 1},
    {"azure", "NC12s v3", "V100", 2},
    {"azure", "NC24s v3", "V100", 4},
    {"azure", "NC24rs v3", "V100", 4},
};
#define N_KNOWN_TYPES (sizeof known_types / sizeof *known_types)

struct kind_key {
    const struct catalog *c;
    const char *cloud, *type;
};

static int compare_kind(const void *key, const void *kind)
{
    const struct kind_key *want = key;
    const struct catalog_kind *k = kind;
    int by = strcmp(want->cloud, catalog_text(want->c, k->cloud));

    return by ? by : strcmp(want->type, catalog_text(want->c, k->instance_type));
}

/* Kinds are sorted by cloud and instance type. */
static const struct catalog_kind *find_kind(const struct catalog *c,
                                            const char *cloud,
                                            const char *type)
{
    const struct kind_key key = {c, cloud, type};

    return bsearch(&key, c->kinds, c->n_kinds, sizeof *c->kinds, compare_kind);
}

/* Azure's portal says "NC6s v3" for what its price list calls Standard_NC6s_v3. */
static const char *azure_name(const char *type, char out[static 64])
{
    snprintf(out, 64, "Standard_%s", type);
    for (char *p = out; *p; p++)
        *p = *p == ' ' ? '_' : *p;
    return out;
}

struct import_gpu import_gpu(const struct catalog *catalog, const char *cloud, const char *type)
{
    const char *end;
    char azure[64];
    double count;

    /* What import_type_of_gpu wrote. */
    if (number_prefix(type, &end, &count) && count >= 1 && *end == 'x' && end[1])
        return (struct import_gpu){end + 1, count};
    for (size_t i = 0; i < N_KNOWN_TYPES; i++) {
        const struct known_type *t = &known_types[i];
        if (strcmp(t->cloud, cloud) == 0 && strcmp(t->name, type) == 0)
            return (struct import_gpu){t->gpu, t->gpus};
    }
    const struct catalog_kind *k = catalog ? find_kind(catalog, cloud, type) : NULL;
    if (!k && catalog && strcmp(cloud, "azure") == 0)
        k = find_kind(catalog, cloud, azure_name(type, azure));
    if (!k || !(k->accelerator_count > 0))
        return (struct import_gpu){"", 0};
    return (struct import_gpu){catalog_text(catalog, k->accelerator), k->accelerator_count};
}

const char *import_type_of_gpu(const char *cloud, const char *gpu, double gpus, char out[static 64])
{
    for (size_t i = 0; i < N_KNOWN_TYPES; i++) {
        const struct known_type *t = &known_types[i];
        if (strcmp(t->cloud, cloud) == 0 && strcmp(t->gpu, gpu) == 0 && t->gpus >= gpus &&
            t->gpus <= gpus)
            return t->name;
    }
    snprintf(out, 64, "%gx%.40s", gpus, gpu);
    return out;
}

/* "us-east-1" of "use1-az4" and "use1-atl2-az1". */
static bool region_of_zone_id(const char *zone, char out[static 64])
{
    static const struct {
        const char *code, *word;
    } directions[] = {{"ne", "northeast"}, {"nw", "northwest"}, {"se", "southeast"},
                      {"sw", "southwest"}, {"n", "north"},      {"e", "east"},
                      {"s", "south"},      {"w", "west"},       {"c", "central"}};
    const char *dash = strchr(zone, '-');

    if (!dash || !strstr(dash, "-az") || !islower((unsigned char)zone[0]) ||
        !islower((unsigned char)zone[1]))
        return false;
    const char *p = zone + 2;
    bool government = strncmp(zone, "usg", 3) == 0 && zone[3] != '1';
    p += government;
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        size_t len = strlen(directions[i].code);
        if (strncmp(p, directions[i].code, len) != 0 || !isdigit((unsigned char)p[len]))
            continue;
        snprintf(out, 64, "%.2s-%s%s-%.*s", zone, government ? "gov-" : "", directions[i].word,
                 (int)(dash - p - (ptrdiff_t)len), p + len);
        return true;
    }
    return false;
}

/* The region is what comes before the letter behind the first number: us-east-1d,
 * us-west-2-lax-1a. */
static bool region_of_aws_zone(const char *zone, char out[static 64])
{
    size_t n = strcspn(zone, "0123456789");

    if (region_of_zone_id(zone, out))
        return true;
    if (n == 0 || zone[n - 1] != '-' || !memchr(zone, '-', n - 1))
        return false;
    n += strspn(zone + n, "0123456789");
    if (!zone[n] || n >= 64)
        return false;
    snprintf(out, 64, "%.*s", (int)n, zone);
    return true;
}

bool import_region_of_zone(const char *cloud, const char *zone, char out[static 64])
{
    const char *dash = strrchr(zone, '-');

    if (strcmp(cloud, "aws") == 0)
        return region_of_aws_zone(zone, out);
    /* us-west1-b: a letter behind the last dash, a number before it. */
    if (!dash || dash == zone || !islower((unsigned char)dash[1]) || dash[2] ||
        !isdigit((unsigned char)dash[-1]) || dash - zone >= 64)
        return false;
    snprintf(out, 64, "%.*s", (int)(dash - zone), zone);
    return true;
}
