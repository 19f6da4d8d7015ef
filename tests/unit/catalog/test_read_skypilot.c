#include "fixture.h"
#include "tap.h"

#include <math.h>

struct wanted_offer {
    const char *type, *zone, *accelerator;
    double count, price, spot; /* -1 = none */
};

struct file_case {
    const char *name, *cloud, *text;
    size_t read, kept, offers;
    size_t unpriced, duplicate, malformed, no_host, host_alone, spot_above;
    struct wanted_offer wanted[6];
};

#define AWS                                                                                        \
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"       \
    "Region,AvailabilityZone\n"
#define GCP                                                                                        \
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"                \
    "AvailabilityZone,Price,SpotPrice\n"

static const struct file_case cases[] = {
    {"plain rows, quoted GpuInfo with commas", "aws",
     AWS "m5.large,,,2.0,8.0,,0.096,0.0345,us-east-1,use1-az1\n"
         "g5.xlarge,A10G,1.0,4.0,16.0,\"{'Gpus': [{'Name': 'A10G', 'Count': "
         "1}]}\",1.006,,us-east-1,use1-az2\n",
     .read = 2, .kept = 2, .offers = 2,
     .wanted = {{"m5.large", "use1-az1", "", -1, 0.096, 0.0345},
                {"g5.xlarge", "use1-az2", "A10G", 1, 1.006, -1}}},
    {"missing and zero prices are none", "aws",
     AWS "a,,,1,1,,,,r,z\n"
         "b,,,1,1,,0,0.0,r,z\n"
         "c,,,1,1,,,0.5,r,z\n"
         "d,,,1,1,,0.0,0.25,r,z\n",
     .read = 4, .kept = 2, .offers = 2, .unpriced = 2,
     .wanted = {{"c", "z", "", -1, -1, 0.5}, {"d", "z", "", -1, -1, 0.25}}},
    {"duplicates: the cheaper stays", "aws",
     AWS "a,,,1,1,,2,,r,z\n"
         "a,,,1,1,,1,,r,z\n"
         "a,,,1,1,,3,,r,z\n"
         "a,,,1,1,,3,,r,y\n",
     .read = 4, .kept = 2, .offers = 2, .duplicate = 2,
     .wanted = {{"a", "z", "", -1, 1, -1}, {"a", "y", "", -1, 3, -1}}},
    {"spot above on demand is kept and counted", "aws",
     AWS "a,,,1,1,,1,1.01,r,z\na,,,1,1,,1,1,r,y\n", .read = 2, .kept = 2, .offers = 2,
     .spot_above = 1, .wanted = {{"a", "z", "", -1, 1, 1.01}}},
    {"malformed rows are dropped", "aws",
     AWS "a,,,1,1,,one,,r,z\n"      /* not a number */
         "b,,,1,1,,-1,,r,z\n"       /* negative */
         "c,,,1,1,,1,,,z\n"         /* no region */
         ",T4,1,1,1,,1,,r,z\n"      /* no type, and not GCP */
         "d,,,1,1,,1\n"             /* cut short */
         "e,T4,,1,1,,1,,r,z\n"      /* an accelerator, but how many? */
         "\"f\"x,,,1,1,,1,,r,z\n"   /* no CSV */
         "g,,,1,1,,1,,\xC3\x28,z\n" /* no UTF-8 */
         "h,,,1,1,,1,,r,z\n",
     .read = 9, .kept = 1, .offers = 1, .malformed = 8, .wanted = {{"h", "z", "", -1, 1, -1}}},
    {"one name for one accelerator; a count of 0 is none", "runpod",
     "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price\n"
     "1x_H100-SXM,H100-SXM,1.0,8,80,US,,2.5\n"
     "1x_RTX,RTX6000Ada,1.0,8,80,US,,0.8\n"
     "cpu,,0,4,16,US,,0.1\n",
     .read = 3, .kept = 3, .offers = 3,
     .wanted = {{"1x_H100-SXM", "", "H100", 1, 2.5, -1},
                {"1x_RTX", "", "RTX6000-Ada", 1, 0.8, -1},
                {"cpu", "", "", -1, 0.1, -1}}},
    {"GCP: host and accelerator of one zone make a machine", "gcp",
     GCP "a2-highgpu-2g,24,170,,,,r,r-a,2,0.5\n"
         ",,,A100,2,{},r,r-a,5.5,1.5\n"
         "a2-highgpu-2g,24,170,,,,r,r-b,2,0.5\n" /* nothing to go with: not sold alone */
         ",,,A100,4,{},r,r-a,11,3\n",            /* no a2-highgpu-4g there */
     .read = 4, .kept = 2, .offers = 1, .no_host = 1, .host_alone = 1,
     .wanted = {{"a2-highgpu-2g", "r-a", "A100", 2, 7.5, 2}}},
    {"GCP: prices without the dust of binary fractions", "gcp",
     GCP "g2-standard-4,4,16,,,,r,r-a,0.1,0.01\n,,,L4,1,{},r,r-a,0.2,0.02\n", .read = 2, .kept = 2,
     .offers = 1, .wanted = {{"g2-standard-4", "r-a", "L4", 1, 0.3, 0.03}}},
    {"GCP: 16 x A100 stand in a2-megagpu-16g", "gcp",
     GCP "a2-megagpu-16g,96,1360,,,,r,r-a,8,\n,,,A100,16,{},r,r-a,40,20\n", .read = 2, .kept = 2,
     .offers = 1, .wanted = {{"a2-megagpu-16g", "r-a", "A100", 16, 48, -1}}},
    {"GCP: a host without a price makes no machine", "gcp",
     GCP "a4-highgpu-8g,224,3968,,,,r,r-a,0.0,0.0\n,,,B200,8,{},r,r-a,90,35\n"
         "e2-small,2,2,,,,r,r-a,0.01,\n",
     .read = 3, .kept = 1, .offers = 1, .unpriced = 1, .no_host = 1,
     .wanted = {{"e2-small", "r-a", "", -1, 0.01, -1}}},
    {"GCP: accelerators on N1 up to the largest host allowed", "gcp",
     GCP "n1-standard-8,8,30,,,,r,r-a,0.4,0.1\n"
         "n1-standard-16,16,60,,,,r,r-a,0.8,0.2\n"
         "n1-ultramem-40,40,961,,,,r,r-a,6,\n"
         ",,,V100,1,{},r,r-a,2.5,0.75\n", /* at most 12 vCPUs */
     .read = 4, .kept = 4, .offers = 4,
     .wanted = {{"n1-standard-8+V100:1", "r-a", "V100", 1, 2.9, 0.85},
                {"n1-standard-8", "r-a", "", -1, 0.4, 0.1},
                {"n1-standard-16", "r-a", "", -1, 0.8, 0.2},
                {"n1-ultramem-40", "r-a", "", -1, 6, -1}}},
    {"GCP: L4 goes with five hosts, T4:2 with every N1 of the zone", "gcp",
     GCP "g2-standard-4,4,16,,,,r,r-a,1,\ng2-standard-32,32,128,,,,r,r-a,3,\n"
         "g2-standard-24,24,96,,,,r,r-a,2,\n"
         ",,,L4,1,{},r,r-a,0.5,\n"
         ",,,T4,2,{},r,r-a,0.7,\n"
         "n1-highmem-2,2,13,,,,r,r-a,0.1,\nn1-highcpu-2,2,1.8,,,,r,r-b,0.1,\n",
     .read = 7, .kept = 6, .offers = 5, .host_alone = 1,
     .wanted = {{"g2-standard-4", "r-a", "L4", 1, 1.5, -1},
                {"g2-standard-32", "r-a", "L4", 1, 3.5, -1},
                {"n1-highmem-2+T4:2", "r-a", "T4", 2, 0.8, -1},
                {"n1-highmem-2", "r-a", "", -1, 0.1, -1},
                {"n1-highcpu-2", "r-b", "", -1, 0.1, -1}}},
    {"GCP: a TPU is an offer of its own; its hosts are none", "gcp",
     GCP ",,,tpu-v2-8,1,tpu-v2-8,r,r-a,4.5,1.35\n"
         ",,,tpu-v5litepod-4,1,x,r,r-a,4.8,\n"
         "n1-340-48-tpu,48,340,,,,r,r-a,3,1\n",
     .read = 3, .kept = 2, .offers = 2, .host_alone = 1,
     .wanted = {{"tpu-v2-8", "r-a", "tpu-v2-8", 1, 4.5, 1.35},
                {"tpu-v5e-4", "r-a", "tpu-v5e-4", 1, 4.8, -1}}},
    {"GCP: duplicates of hosts, accelerators and TPUs", "gcp",
     GCP "a2-highgpu-1g,12,85,,,,r,r-a,2,\na2-highgpu-1g,12,85,,,,r,r-a,1,\n"
         ",,,A100,1,{},r,r-a,3,\n,,,A100,1,{},r,r-a,4,\n"
         ",,,tpu-v2-8,1,x,r,r-a,4,\n,,,tpu-v2-8,1,x,r,r-a,5,\n",
     .read = 6, .kept = 3, .offers = 2, .duplicate = 3,
     .wanted = {{"a2-highgpu-1g", "r-a", "A100", 1, 4, -1},
                {"tpu-v2-8", "r-a", "tpu-v2-8", 1, 4, -1}}},
};

static bool agrees(double got, double wanted)
{
    return wanted < 0 ? isnan(got) : got == wanted;
}

static bool holds(const struct catalog_rows *rows, const struct wanted_offer *w)
{
    for (size_t i = 0; i < rows->n_offers; i++) {
        const struct catalog_offer_row *o = &rows->offers[i];
        if (strcmp(catalog_rows_text(rows, o->instance_type), w->type) == 0 &&
            strcmp(catalog_rows_text(rows, o->zone), w->zone) == 0)
            return strcmp(catalog_rows_text(rows, o->accelerator), w->accelerator) == 0 &&
                   agrees(o->accelerator_count, w->count) && agrees(o->price_usd, w->price) &&
                   agrees(o->spot_usd, w->spot);
    }
    return false;
}

static void check_case(const struct file_case *t)
{
    struct catalog_rows *rows = catalog_rows_new();
    struct catalog_file_report r = {0};
    struct err e = {0};
    struct csv *csv = csv_from_memory("vms.csv", t->text, strlen(t->text));

    CHECK(catalog_read_skypilot(csv, t->cloud, rows, &r, &e) == 0, "%s %s", t->name, e.text);
    CHECK(r.rows_read == t->read && r.rows_kept == t->kept, "read %zu, kept %zu", r.rows_read,
          r.rows_kept);
    CHECK(r.offers == t->offers && rows->n_offers == t->offers, "offers %zu", r.offers);
    CHECK(r.dropped[CATALOG_DROP_UNPRICED] == t->unpriced &&
              r.dropped[CATALOG_DROP_DUPLICATE] == t->duplicate &&
              r.dropped[CATALOG_DROP_MALFORMED] == t->malformed &&
              r.dropped[CATALOG_DROP_NO_HOST] == t->no_host &&
              r.dropped[CATALOG_DROP_HOST_ALONE] == t->host_alone &&
              r.spot_above_on_demand == t->spot_above,
          "dropped: unpriced %zu, duplicate %zu, malformed %zu, no host %zu, host alone %zu; spot "
          "above %zu",
          r.dropped[0], r.dropped[1], r.dropped[2], r.dropped[3], r.dropped[4],
          r.spot_above_on_demand);
    for (const struct wanted_offer *w = t->wanted; w < t->wanted + 6 && w->type; w++)
        CHECK(holds(rows, w), "%s in \"%s\"", w->type, w->zone);
    csv_free(csv);
    catalog_rows_free(rows);
}

static void check_columns(void)
{
    static const char text[] = "InstanceType,Region,Prise\na,r,1\n";
    struct catalog_rows *rows = catalog_rows_new();
    struct catalog_file_report r = {0};
    struct err e = {0};
    struct csv *csv = csv_from_memory("aws-vms.csv", text, strlen(text));

    CHECK(catalog_read_skypilot(csv, "aws", rows, &r, &e) < 0 && e.kind == ERR_USAGE &&
              strcmp(e.text, "aws-vms.csv:1: there is no column \"Price\"") == 0,
          "a column we need: %s", e.text);
    csv_free(csv);
    catalog_rows_free(rows);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
    check_columns();
    return TAP_DONE();
}
