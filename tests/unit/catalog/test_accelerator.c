#include "catalog/catalog.h"
#include "tap.h"

#include <string.h>

static const struct {
    const char *asked, *listed;
    bool same;
} pairs[] = {
    {"A100", "A100", true},
    {"a100", "A100", true},
    {"A100", "A100-80GB", false},
    {"A100-40GB", "A100", true},
    {"a100-80gb", "A100-80GB-SXM", true},
    {"A100 80GB", "A100-80GB", true},
    {"H100", "H100-SXM", true},
    {"H100-NVLINK", "H100-SXM", true},
    {"H100", "H100-NVL", false},
    {"H100", "H100-MEGA", false},
    {"H100", "H200", false},
    {"H200-SXM", "h200", true},
    {"RTX6000Ada", "RTX6000-Ada", true},
    {"RTX6000", "RTX6000-Ada", false},
    {"RTX-A6000", "RTXA6000", true},
    {"A6000", "RTXA6000", true},
    {"RTX PRO Server 6000", "RTXPRO6000", true},
    {"RTXPRO6000-WK", "RTXPRO6000", false},
    {"V100", "V100-32GB", false},
    {"V100-16GB", "V100", true},
    {"tpu-v5e-8", "tpu-v5litepod-8", true},
    {"tpu-v5e-8", "tpu-v5litepod-128", false},
    {"tpu-v4-8", "tpu-v4-8", true},
    {"TPU-v4-8", "tpu-v4-8", true},
    {"tpu-v4-8", "tpu-v4-16", false},
    {"K80", "", false},
    {"Trainium", "trainium", true},
    {"Inferentia", "Inferentia2", false},
};

int main(void)
{
    char endless[300];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CHECK(catalog_same_accelerator(pairs[i].asked, pairs[i].listed) == pairs[i].same,
              "%s %s \"%s\"", pairs[i].asked, pairs[i].same ? "is" : "is not", pairs[i].listed);
        CHECK(catalog_same_accelerator(pairs[i].listed, pairs[i].asked) == pairs[i].same,
              "and the other way round");
    }
    CHECK(strcmp(catalog_accelerator("H100-SXM"), "H100") == 0, "a variant gets the one name");
    CHECK(strcmp(catalog_accelerator("rtxa6000"), "RTXA6000") == 0, "and its spelling");
    CHECK(strcmp(catalog_accelerator("Gaudi2"), "Gaudi2") == 0, "what we do not know stays");
    CHECK(strcmp(catalog_accelerator(""), "") == 0, "nothing stays nothing");
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    CHECK(!catalog_same_accelerator(endless, "H100") && catalog_same_accelerator(endless, endless),
          "a very long name is only itself");
    return TAP_DONE();
}
