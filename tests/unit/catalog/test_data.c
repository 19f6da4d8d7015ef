/* The built-in facts of data/: whole, plausible, and some of them by value. Runs in the root of the
 * project, as `make test` does. */
#include "base/csv.h"
#include "catalog/catalog.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define PRICE_MAX_USD_PER_HOUR 500
#define ROWS_MAX 20000

static bool equals(double got, double want)
{
    return isnan(want) ? isnan(got) : fabs(got - want) < 1e-9;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checks that no two rows of a file have the same first n_key fields (and also_key, if not 0). */
static void keys_are_unique(const char *path, size_t n_key, size_t also_key)
{
    static char *keys[ROWS_MAX];
    const struct csv_field *fields;
    size_t n_rows = 0, n, twice = 0;
    struct err e = {0};
    AUTO(csv) struct csv *csv = csv_open(path, 1 << 22, &e);
    int got = csv ? 1 : -1;

    while (got > 0 && (got = csv_next(csv, &fields, &n, &e)) > 0 && n_rows < ROWS_MAX) {
        char key[512];
        size_t len = 0;
        for (size_t i = 0; i < n; i++)
            if (i < n_key || (also_key && i == also_key))
                len += (size_t)snprintf(key + len, sizeof key - len, "%s,", fields[i].text);
        keys[n_rows++] = strdup(key);
    }
    qsort(keys, n_rows, sizeof *keys, compare_texts);
    for (size_t i = 1; i < n_rows; i++)
        if (strcmp(keys[i], keys[i - 1]) == 0 && twice++ < 5)
            printf("# twice: %s\n", keys[i]);
    CHECK(got == 0 && n_rows > 100 && !twice, "%s: %zu rows, none twice %s", path, n_rows, e.text);
    for (size_t i = 0; i < n_rows; i++)
        free(keys[i]);
}

static void prices_are_plausible(const struct catalog *c)
{
    size_t bad = 0, both = 0, dearer = 0, lavish = 0;

    for (size_t i = 0; i < c->n_offers; i++) {
        const struct catalog_offer *o = &c->offers[i];
        bool on_demand = catalog_priced(o->price_usd), spot = catalog_priced(o->spot_usd);
        bad += !(on_demand || spot) || o->price_usd > PRICE_MAX_USD_PER_HOUR ||
               o->spot_usd > PRICE_MAX_USD_PER_HOUR;
        both += on_demand && spot;
        dearer += on_demand && spot && o->spot_usd > o->price_usd;
        /* Rounding by the provider may lift spot a hair above on demand, no more. */
        lavish += on_demand && spot && o->spot_usd > o->price_usd * 1.001;
    }
    CHECK(c->n_offers >= 3000, "%zu offers", c->n_offers);
    CHECK(!bad, "every offer is for sale, below %d USD an hour", PRICE_MAX_USD_PER_HOUR);
    CHECK(both > 2000 && dearer * 100 < both && !lavish, "spot is not dearer: %zu of %zu", dearer,
          both);
}

static void kinds_are_plausible(const struct catalog *c)
{
    size_t bad = 0;

    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        bool accelerated = *catalog_text(c, k->accelerator);
        bool tpu = strncmp(catalog_text(c, k->accelerator), "tpu-", 4) == 0;
        if ((accelerated ? k->accelerator_count > 0 : isnan(k->accelerator_count)) &&
            (tpu || (k->vcpus > 0 && k->memory_gib > 0)))
            continue;
        if (bad++ < 5)
            printf("# %s\n", catalog_text(c, k->instance_type));
    }
    CHECK(!bad && c->n_kinds > 300, "%zu kinds have vCPUs, memory, accelerator counts", c->n_kinds);
}

static void clouds_are_there(const struct catalog *c)
{
    static const struct {
        const char *cloud;
        size_t places;
    } want[] = {{"aws", 14},    {"azure", 9},  {"do", 7},   {"gcp", 21},
                {"lambda", 17}, {"nebius", 5}, {"oci", 14}, {"runpod", 14}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t places = 0;
        for (size_t p = 0; p < c->n_places; p++)
            places += strcmp(catalog_text(c, c->places[p].cloud), want[i].cloud) == 0;
        CHECK(places == want[i].places, "%s has %zu places", want[i].cloud, places);
        n += places;
    }
    CHECK(n == c->n_places, "and no other cloud");
}

static void data_can_move(const struct catalog *c)
{
    size_t impossible = 0, dear = 0, unstored = 0;

    for (size_t src = 0; src < c->n_places; src++) {
        for (size_t dst = 0; dst < c->n_places; dst++) {
            const struct catalog_move *m = src == dst ? NULL : catalog_move(c, src, dst);
            if (src != dst && !m && impossible++ < 5)
                printf("# no move from %s to %s\n", catalog_text(c, c->places[src].region),
                       catalog_text(c, c->places[dst].region));
            for (size_t i = 0; m && i < m->n_tiers; i++) {
                double usd = c->tiers[m->first_tier + i].usd_per_gb;
                dear += !(usd >= 0 && usd <= 0.3);
            }
        }
        unstored += !(catalog_storage_usd(c, src) > 0 && catalog_storage_usd(c, src) <= 0.2);
    }
    CHECK(!impossible, "every place reaches every other");
    CHECK(!dear, "a GB moves for at most 0.30 USD");
    CHECK(!unstored, "every place prices storage");
}

/* Also from a region that no row names, and from one that is not known (`s3://bucket`). */
static void clouds_reach_the_internet(const struct catalog *c)
{
    static const char *const clouds[] = {"aws",    "azure",  "do",    "gcp",       "ibm",
                                         "lambda", "nebius", "oci",   "runpod",    "vast",
                                         "cudo",   "scp",    "verda", "fluidstack"};
    size_t aws = catalog_find_place(c, "aws", "us-east-1");
    size_t gcp = catalog_find_place(c, "gcp", "us-central1");

    for (size_t i = 0; i < sizeof clouds / sizeof *clouds; i++) {
        size_t abroad = strcmp(clouds[i], "aws") == 0 ? gcp : aws;
        CHECK(aws != SIZE_MAX && gcp != SIZE_MAX &&
                  catalog_move_from(c, clouds[i], "unheard-of", abroad) &&
                  catalog_move_from(c, clouds[i], NULL, abroad),
              "%s: a region not listed, and no region, reach another cloud", clouds[i]);
    }
}

static void offers_by_value(const struct catalog *c)
{
    static const struct {
        const char *cloud, *region, *type, *accelerator;
        double count, vcpus, price, spot;
    } want[] = {
        {"aws", "us-east-1", "c5n.large", "", (double)NAN, 2, 0.108, 0.0372},
        {"aws", "ap-south-1", "m5.large", "", (double)NAN, 2, 0.101, -1},
        {"aws", "eu-west-1", "g5.xlarge", "A10G", 1, 4, 1.123, 0.7167},
        {"aws", "us-east-1", "p4d.24xlarge", "A100", 8, 96, 21.957642, 10.1302},
        {"gcp", "us-west1", "e2-standard-2", "", (double)NAN, 2, 0.06701, -1},
        /* host + accelerator */
        {"gcp", "us-central1", "a2-highgpu-1g", "A100", 1, 12, 0.73948 + 2.93391, 0.42691 + 1.6939},
        {"gcp", "us-central1", "n1-standard-8+T4:2", "T4", 2, 8, 0.38 + 0.7, 0.17836 + 0.381},
        {"gcp", "us-central1", "tpu-v5e-8", "tpu-v5e-8", 1, (double)NAN, 9.6, 2.73774},
        {"azure", "eastus", "Standard_NC6s_v3", "V100", 1, 6, 3.06, 0.3978},
        {"azure", "eastus", "Standard_ND96isr_H100_v5", "H100", 8, 96, 98.32, 98.32},
        {"lambda", "us-east-1", "gpu_1x_a10", "A10", 1, 30, 1.29, (double)NAN},
        {"runpod", "US", "1x_H100-SXM_SECURE", "H100", 1, 20, 3.29, (double)NAN},
        {"nebius", "eu-north1", "gpu-h100-sxm_8gpu-128vcpu-1600gb", "H100", 8, 128, 30.8, 17.2},
        {"oci", "us-ashburn-1", "VM.Standard.E4.Flex$_2_8", "", (double)NAN, 2, 0.037, 0.0185},
        {"do", "tor1", "gpu-h100x1-80gb", "H100", 1, 20, 6.74, (double)NAN},
    };

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t place = catalog_find_place(c, want[i].cloud, want[i].region);
        bool good = false;
        for (size_t k = 0; k < c->n_kinds; k++) {
            const struct catalog_kind *kind = &c->kinds[k];
            if (strcmp(catalog_text(c, kind->instance_type), want[i].type) != 0 ||
                strcmp(catalog_text(c, kind->accelerator), want[i].accelerator) != 0 ||
                !equals(kind->accelerator_count, want[i].count) ||
                !equals(kind->vcpus, want[i].vcpus))
                continue;
            for (size_t o = kind->first_offer; o < kind->first_offer + kind->n_offers; o++) {
                const struct catalog_offer *offer = &c->offers[o];
                good |= offer->place == place && equals(offer->price_usd, want[i].price) &&
                        (want[i].spot < 0 ? offer->spot_usd > 0
                                          : equals(offer->spot_usd, want[i].spot));
            }
        }
        CHECK(good, "%s %s %s", want[i].cloud, want[i].region, want[i].type);
    }
}

static void moves_by_value(const struct catalog *c)
{
    static const struct {
        const char *src[2], *dst[2];
        struct catalog_tier tiers[5];
        size_t n;
    } want[] = {
        {{"aws", "us-east-1"}, {"aws", "us-east-2"}, {{0, 0.01}}, 1},
        {{"aws", "us-east-1"}, {"aws", "us-west-2"}, {{0, 0.02}}, 1},
        {{"aws", "ap-southeast-2"}, {"aws", "us-east-1"}, {{0, 0.098}}, 1},
        {{"aws", "us-east-1"},
         {"gcp", "us-central1"},
         {{0, 0}, {1, 0.09}, {10240, 0.085}, {51200, 0.07}, {153600, 0.05}},
         5},
        {{"aws", "ap-south-1"},
         {"azure", "eastus"},
         {{0, 0}, {1, 0.1093}, {10240, 0.085}, {51200, 0.082}, {153600, 0.08}},
         5},
        {{"gcp", "us-central1"}, {"gcp", "us-east1"}, {{0, 0.01}}, 1},
        {{"gcp", "europe-west1"}, {"gcp", "europe-west4"}, {{0, 0.02}}, 1},
        {{"gcp", "us-central1"}, {"gcp", "europe-west4"}, {{0, 0.08}}, 1},
        {{"gcp", "us-central1"}, {"gcp", "australia-southeast1"}, {{0, 0.15}}, 1},
        {{"gcp", "us-central1"}, {"aws", "us-east-1"}, {{0, 0.12}, {1024, 0.11}, {10240, 0.08}}, 3},
        {{"gcp", "us-central1"}, {"aws", "ap-southeast-2"}, {{0, 0.19}}, 1},
        {{"gcp", "asia-northeast1"}, {"aws", "us-east-1"}, {{0, 0.14}}, 1},
        {{"azure", "eastus"}, {"azure", "westus2"}, {{0, 0.02}}, 1},
        {{"azure", "eastus"},
         {"lambda", "us-east-1"},
         {{0, 0}, {1, 0.0875}, {10240, 0.083}, {51200, 0.07}, {153600, 0.05}},
         5},
        {{"oci", "us-ashburn-1"}, {"aws", "us-east-1"}, {{0, 0}, {10240, 0.0085}}, 2},
        {{"oci", "ap-tokyo-1"}, {"oci", "us-ashburn-1"}, {{0, 0}, {10240, 0.025}}, 2},
        {{"lambda", "us-east-1"}, {"aws", "us-east-1"}, {{0, 0}}, 1},
        {{"runpod", "US"}, {"runpod", "CA"}, {{0, 0}}, 1},
        {{"do", "nyc1"}, {"gcp", "us-central1"}, {{0, 0.01}}, 1},
    };

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t src = catalog_find_place(c, want[i].src[0], want[i].src[1]);
        size_t dst = catalog_find_place(c, want[i].dst[0], want[i].dst[1]);
        const struct catalog_move *m =
            src == SIZE_MAX || dst == SIZE_MAX ? NULL : catalog_move(c, src, dst);
        bool good = m && m->n_tiers == want[i].n;
        for (size_t t = 0; good && t < m->n_tiers; t++) {
            const struct catalog_tier *tier = &c->tiers[m->first_tier + t];
            good = equals(tier->from_gb, want[i].tiers[t].from_gb) &&
                   equals(tier->usd_per_gb, want[i].tiers[t].usd_per_gb);
        }
        CHECK(good, "%s/%s to %s/%s", want[i].src[0], want[i].src[1], want[i].dst[0],
              want[i].dst[1]);
    }
}

/* Measured between aws, gcp and azure; a guess everywhere else. */
static void speeds_are_plausible(const struct catalog *c)
{
    size_t slow = 0, no_rtt = 0, invented = 0;

    for (size_t src = 0; src < c->n_places; src++)
        for (size_t dst = 0; dst < c->n_places; dst++) {
            const struct catalog_move *m = src == dst ? NULL : catalog_move(c, src, dst);
            const char *cloud = catalog_text(c, c->places[src].cloud);
            if (!m)
                continue;
            if (strcmp(cloud, "aws") == 0 || strcmp(cloud, "gcp") == 0 ||
                strcmp(cloud, "azure") == 0) {
                slow += !(m->gbit_per_s >= 1 && m->gbit_per_s <= 20);
                no_rtt += !(m->rtt_ms >= 1 && m->rtt_ms <= 400);
            } else {
                invented += m->gbit_per_s >= 0; /* not NaN */
            }
        }
    CHECK(!slow && !no_rtt, "aws, gcp and azure send at 1 to 20 Gbit/s within 1 to 400 ms");
    CHECK(!invented, "no speed is claimed where none was measured");
}

int main(void)
{
    struct err e = {0};
    AUTO(catalog) struct catalog *c = catalog_open_dir("data", &e);

    keys_are_unique("data/offers.csv", 4, 0);
    keys_are_unique("data/transfers.csv", 4, 5);
    keys_are_unique("data/storage.csv", 3, 0);
    CHECK(c, "data opens as a catalog: %s", e.text);
    if (!c)
        return TAP_DONE();
    prices_are_plausible(c);
    kinds_are_plausible(c);
    clouds_are_there(c);
    data_can_move(c);
    clouds_reach_the_internet(c);
    offers_by_value(c);
    moves_by_value(c);
    speeds_are_plausible(c);
    return TAP_DONE();
}
