/* One name for one accelerator, whatever a price list calls it. The readers of price lists and
 * everything that compares names call it. */
#include "catalog/catalog.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FOLDED_BYTES 64

struct variant {
    const char *folded; /* as fold() writes it */
    const char *name;
};

/* Sorted by folded name. The boards of one chip count as one accelerator; what differs in chip or
 * memory (H100-NVL, RTXPRO6000-WK) does not. Cloud TPU v5e is listed by its programming name. */
static const struct variant name_variants[] = {
    {"a100-40gb", "A100"},
    {"a100-80gb", "A100-80GB"},
    {"a100-80gbpcie", "A100-80GB"},
    {"a100-80gbsxm", "A100-80GB"},
    {"a100-80gbsxm4", "A100-80GB"},
    {"a6000", "RTXA6000"},
    {"h100-80gb", "H100"},
    {"h100nvlink", "H100"},
    {"h100sxm", "H100"},
    {"h100sxm5", "H100"},
    {"h200sxm", "H200"},
    {"rtx6000ada", "RTX6000-Ada"},
    {"rtxa6000", "RTXA6000"},
    {"rtxpro4500", "RTXPRO4500"},
    {"rtxpro6000", "RTXPRO6000"},
    {"rtxproserver6000", "RTXPRO6000"},
    {"tpuv5litepod1", "tpu-v5e-1"},
    {"tpuv5litepod128", "tpu-v5e-128"},
    {"tpuv5litepod16", "tpu-v5e-16"},
    {"tpuv5litepod256", "tpu-v5e-256"},
    {"tpuv5litepod32", "tpu-v5e-32"},
    {"tpuv5litepod4", "tpu-v5e-4"},
    {"tpuv5litepod64", "tpu-v5e-64"},
    {"tpuv5litepod8", "tpu-v5e-8"},
    {"v100-16gb", "V100"},
};

static bool is_separator(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* Case, spaces and dashes say nothing, but for what separates two numbers (A100-80GB). NULL when
 * the name is longer than any we know. */
static const char *fold(const char *name, char out[static FOLDED_BYTES])
{
    size_t n = 0;

    for (const char *s = name; *s; s++) {
        char c = (char)tolower((unsigned char)*s);
        if (is_separator(c)) {
            if (s == name || !isdigit((unsigned char)s[-1]) || !isdigit((unsigned char)s[1]))
                continue;
            c = '-';
        }
        if (n + 1 == FOLDED_BYTES)
            return NULL;
        out[n++] = c;
    }
    out[n] = 0;
    return out;
}

static int compare_variant(const void *key, const void *element)
{
    return strcmp(key, ((const struct variant *)element)->folded);
}

static const struct variant *find_variant(const char *folded)
{
    return bsearch(folded, name_variants, sizeof name_variants / sizeof *name_variants,
                   sizeof *name_variants, compare_variant);
}

const char *catalog_accelerator(const char *listed)
{
    char folded[FOLDED_BYTES];
    const struct variant *known = *listed && fold(listed, folded) ? find_variant(folded) : NULL;

    return known ? known->name : listed;
}

/* Folds the name that the catalog would use for it. */
static bool fold_known(const char *name, char out[static FOLDED_BYTES])
{
    if (!fold(name, out))
        return false;
    const struct variant *known = find_variant(out);
    return !known || fold(known->name, out);
}

bool catalog_same_accelerator(const char *asked, const char *listed)
{
    char a[FOLDED_BYTES], b[FOLDED_BYTES];

    if (strcasecmp(asked, listed) == 0)
        return true;
    return fold_known(asked, a) && fold_known(listed, b) && strcmp(a, b) == 0;
}
