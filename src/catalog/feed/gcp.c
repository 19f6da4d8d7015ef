/* Google's billing catalog: prices of cores, memory and accelerators, from which the prices of
 * instance types follow. list.c and merge.c call it. */
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "catalog/feed/internal.h"
#include "catalog/limits.h"
#include "net/sigv4.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OWN_ADDRESS "https://cloudbilling.googleapis.com"
/* Compute Engine. */
#define LIST_PATH "/v1/services/6F81-5844-456A/skus?currencyCode=USD&pageSize=5000"
#define PAGE_MAX_BYTES ((size_t)64 << 20)
#define PART_BYTES 96

/* ---- what a SKU prices ---- */

/* How descriptions name the machines whose instance types begin so; the longest beginning counts.
 * A family that is not here keeps its prices. */
static const struct family {
    const char *types, *text;
} families[] = {
    {"a2-", "A2 Instance"},
    {"a3-", "A3 Instance"},
    {"a3-megagpu-", "A3Plus Instance"},
    {"c2-", "Compute optimized"},
    {"c2d-", "C2D AMD Instance"},
    {"c3-", "C3 Instance"},
    {"c3d-", "C3D Instance"},
    {"e2-highcpu-", "E2 Instance"},
    {"e2-highmem-", "E2 Instance"},
    {"e2-standard-", "E2 Instance"},
    {"g2-", "G2 Instance"},
    {"m1-", "Memory-optimized Instance"},
    {"m3-", "M3 Memory-optimized Instance"},
    {"n1-highcpu-", "N1 Predefined Instance"},
    {"n1-highmem-", "N1 Predefined Instance"},
    {"n1-standard-", "N1 Predefined Instance"},
    {"n2-", "N2 Instance"},
    {"n2d-", "N2D AMD Instance"},
    {"t2a-", "T2A Arm Instance"},
    {"t2d-", "T2D AMD Instance"},
};
#define N_FAMILIES (sizeof families / sizeof *families)

/* Accelerators that descriptions call otherwise than catalogs. */
static const struct {
    const char *text, *accelerator;
} accelerators[] = {
    {"A100 80GB", "A100-80GB"},
    {"H100 80GB", "H100"},
    {"H100 80GB Plus", "H100-MEGA"},
    {"H100 80GB Mega", "H100-MEGA"},
};

/* Offers that are not for everyone, at any time, by the hour. */
static const char *const excluded[] = {"custom",     "premium", "sole tenancy",     "reserved",
                                       "commitment", "dws",     "defined duration", "calendar"};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Whether *text begins so, in any case; then it goes on behind it. */
static bool skip(const char **text, const char *beginning)
{
    size_t n = strlen(beginning);

    if (strncasecmp(*text, beginning, n) != 0)
        return false;
    *text += n;
    return true;
}

static bool is_excluded(const char *description)
{
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (strcasestr(description, excluded[i]))
            return true;
    return false;
}

/* "N2 Instance core" of "N2 Instance Core running in Americas". */
static bool read_core_or_memory(const char *text, char out[static PART_BYTES])
{
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const char *rest = text;
        if (!skip(&rest, families[i].text))
            continue;
        skip(&rest, " Instance");
        bool core = skip(&rest, " Core running in ");
        if (!core && !skip(&rest, " Ram running in "))
            continue;
        snprintf(out, PART_BYTES, "%s %s", families[i].text, core ? "core" : "memory");
        return true;
    }
    return false;
}

/* "T4 accelerator" of "Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas".
 */
static bool read_accelerator(const char *text, char out[static PART_BYTES])
{
    char name[PART_BYTES / 2];

    if (!skip(&text, "Nvidia "))
        return false;
    skip(&text, "Tesla ");
    const char *end = strstr(text, " GPU ");
    if (!end || (size_t)(end - text) >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(end - text), text);
    end += strlen(" GPU ");
    if (!skip(&end, "running in ") && !skip(&end, "attached to Spot Preemptible VMs running in "))
        return false;
    const char *known = catalog_accelerator(name);
    for (size_t i = 0; i < sizeof accelerators / sizeof *accelerators; i++)
        if (strcmp(name, accelerators[i].text) == 0)
            known = accelerators[i].accelerator;
    snprintf(out, PART_BYTES, "%s accelerator", known);
    return true;
}

/* units + nanos / 1e9 of the last tier, per hour or GiB and hour; NaN for what is no such price. */
static double read_price(const json_t *sku)
{
    const json_t *info = json_array_get(json_object_get(sku, "pricingInfo"), 0);
    const json_t *expression = json_object_get(info, "pricingExpression");
    const json_t *rates = json_object_get(expression, "tieredRates");
    const char *unit = text_of(expression, "usageUnit");
    size_t n = json_array_size(rates);
    const json_t *price = n ? json_object_get(json_array_get(rates, n - 1), "unitPrice") : NULL;
    const json_t *units = json_object_get(price, "units"), *nanos = json_object_get(price, "nanos");
    const char *currency = text_of(price, "currencyCode");
    double whole = json_number_value(units);

    if (!json_is_object(price) || (strcmp(unit, "h") != 0 && strcmp(unit, "GiBy.h") != 0) ||
        (*currency && strcmp(currency, "USD") != 0))
        return (double)NAN;
    if (json_is_string(units) && !number_parse(json_string_value(units), &whole))
        return (double)NAN;
    return rint((whole + json_number_value(nanos) / 1e9) * 1e9) / 1e9;
}

static int put_part(
    struct feed_list *list, const json_t *sku, bool spot, const char *part, struct err *e)
{
    const json_t *regions = json_object_get(sku, "serviceRegions");
    struct catalog_offer_row row = feed_nothing();

    row.price_usd = read_price(sku);
    if (!limit_known(&limit_price, row.price_usd)) {
        list->dropped[FEED_DROP_PRICE]++;
        return 0;
    }
    for (size_t i = 0; i < json_array_size(regions); i++) {
        const char *name = json_string_value(json_array_get(regions, i));
        size_t region = name ? feed_list_region(list, name) : SIZE_MAX;
        if (region != SIZE_MAX && feed_list_put(list, region, spot, "", &row, part, e) < 0)
            return -1;
    }
    return 0;
}

static int add_sku(struct feed_list *list, const json_t *sku, struct err *e)
{
    const json_t *category = json_object_get(sku, "category");
    const char *text = text_of(sku, "description"), *usage = text_of(category, "usageType");
    char part[PART_BYTES];

    list->items++;
    if (!json_is_object(sku) || !*text) {
        list->dropped[FEED_DROP_MALFORMED]++;
        return 0;
    }
    bool spot = strcmp(usage, "Preemptible") == 0, compute = false;
    compute = strcmp(text_of(category, "resourceFamily"), "Compute") == 0;
    skip(&text, "Spot Preemptible ");
    if (!compute || (!spot && strcmp(usage, "OnDemand") != 0) || is_excluded(text) ||
        (!read_core_or_memory(text, part) && !read_accelerator(text, part))) {
        list->dropped[FEED_DROP_OTHER]++;
        return 0;
    }
    return put_part(list, sku, spot, part, e);
}

int feed_gcp_page(const json_t *page, struct feed_list *list, const char **next_out, struct err *e)
{
    const json_t *skus = json_object_get(page, "skus");
    const char *next = text_of(page, "nextPageToken");

    *next_out = *next ? next : NULL;
    if (!json_is_array(skus))
        return err_set(e, ERR_IO, "there is no list \"skus\" in the answer");
    for (size_t i = 0; i < json_array_size(skus); i++)
        if (add_sku(list, json_array_get(skus, i), e) < 0)
            return -1;
    return 0;
}

int feed_fetch_gcp(struct feed *f, struct feed_list *list, struct err *e)
{
    AUTO_CLEAR(feed_pages) struct feed_pages pages = {0};
    AUTO_MEM char *address = feed_address(f->settings.gcp, OWN_ADDRESS);
    AUTO_MEM char *token = mem_dup("");

    if (!f->settings.gcp_key)
        return err_set(e, ERR_DENIED,
                       "it needs an API key: set GOOGLE_API_KEY to one of a project with the "
                       "Cloud Billing API");
    AUTO_MEM char *key = sigv4_encode(f->settings.gcp_key, false);
    while (token) {
        AUTO_MEM char *encoded = sigv4_encode(token, false);
        AUTO_MEM char *url =
            mem_printf("%s" LIST_PATH "&pageToken=%s&key=%s", address, encoded, key);
        const char *next;
        if (feed_pages_add(&pages, "the list", token, e) < 0)
            return -1;
        AUTO_JSON json_t *page = feed_get_json(f, url, PAGE_MAX_BYTES, e);
        if (!page || feed_gcp_page(page, list, &next, e) < 0)
            return -1;
        feed_status(f, "gcp: %zu pages, %zu items", pages.n, list->items);
        free(token);
        token = next ? mem_dup(next) : NULL;
    }
    for (size_t i = 0; i < list->n_regions; i++) {
        list->regions[i].has_spot = true;
        if (feed_list_check(list, i, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the instance types of a catalog ---- */

static const struct family *family_of(const char *instance_type)
{
    const struct family *best = NULL;

    for (size_t i = 0; i < N_FAMILIES; i++) {
        size_t n = strlen(families[i].types);
        if (strncmp(instance_type, families[i].types, n) == 0 && (!best || n > strlen(best->types)))
            best = &families[i];
    }
    return best;
}

/* The parts of one market in one region. */
struct market {
    struct catalog_rows *texts;
    const struct catalog_rows *rows;
    const char *region;
};

/* count of a part; NaN when it has no price. 0 of it cost nothing. */
static double price_of(const struct market *m, const char *what, const char *kind, double count)
{
    char part[PART_BYTES];

    if (!(count > 0))
        return 0;
    snprintf(part, sizeof part, "%s %s", what, kind);
    const struct catalog_offer_row key = {
        .cloud = catalog_rows_intern(m->texts, feed_cloud_texts[FEED_GCP]),
        .region = catalog_rows_intern(m->texts, m->region),
        .instance_type = catalog_rows_intern(m->texts, part),
    };
    const struct catalog_offer_row *found = catalog_rows_find(m->rows, &key);
    return found ? found->price_usd * count : (double)NAN;
}

/* NaN when a part has no price, or the machine is not known well enough. */
static double price_of_machine(const struct market *m,
                               const struct catalog *old,
                               const struct catalog_kind *k)
{
    const struct family *family = family_of(catalog_text(old, k->instance_type));

    if (!family || !(k->vcpus > 0) || !(k->memory_gib > 0))
        return (double)NAN;
    double usd =
        price_of(m, family->text, "core", k->vcpus) +
        price_of(m, family->text, "memory", k->memory_gib) +
        price_of(m, catalog_text(old, k->accelerator), "accelerator", k->accelerator_count);
    /* Decimal prices without the dust of binary fractions. */
    return rint(usd * 1e9) / 1e9;
}

static bool is_sold_in(const struct catalog *old, const struct catalog_kind *k, const char *region)
{
    for (size_t i = 0; i < k->n_offers; i++) {
        uint32_t place = old->offers[k->first_offer + i].place;
        if (strcmp(catalog_text(old, old->places[place].region), region) == 0)
            return true;
    }
    return false;
}

/* A price of its parts does not mean that the instance type is sold in the region: that is for the
 * catalog in use to say. */
static int combine_kind(const struct feed_list *parts,
                        const struct catalog *old,
                        const struct catalog_kind *k,
                        size_t region,
                        struct feed_list *list,
                        struct err *e)
{
    if (!is_sold_in(old, k, parts->regions[region].name))
        return 0;
    for (int spot = 0; spot < 2; spot++) {
        const struct market m = {parts->on_demand, spot ? parts->spot : parts->on_demand,
                                 parts->regions[region].name};
        struct catalog_offer_row row = feed_nothing();
        row.price_usd = price_of_machine(&m, old, k);
        if (!isnan(row.price_usd) &&
            feed_list_put(list, region, spot, "", &row, catalog_text(old, k->instance_type), e) < 0)
            return -1;
    }
    return 0;
}

int feed_gcp_combine(const struct feed_list *parts,
                     const struct catalog *old,
                     struct feed_list *list,
                     struct err *e)
{
    for (size_t i = 0; i < old->n_kinds; i++) {
        const struct catalog_kind *k = &old->kinds[i];
        if (strcmp(catalog_text(old, k->cloud), feed_cloud_texts[FEED_GCP]) != 0)
            continue;
        for (size_t region = 0; region < parts->n_regions; region++)
            if (combine_kind(parts, old, k, region, list, e) < 0)
                return -1;
    }
    for (size_t i = 0; i < parts->n_regions; i++) {
        const char *region = parts->regions[i].name;
        if (catalog_find_place(old, feed_cloud_texts[FEED_GCP], region) == SIZE_MAX)
            return err_set(e, ERR_NOTFOUND,
                           "the catalog in use has no instance types of gcp in region %s, and "
                           "Google's list prices their parts alone",
                           region);
    }
    return 0;
}
