#include "market/series.h"

#include "tap.h"

#include <string.h>

int main(void)
{
    static const struct {
        const char *cloud, *text, *want;
    } cases[] = {
        {"azure", "us_east", "us_east"},
        {"azure", "eastus", "us_east"},
        {"azure", "East US", "us_east"},
        {"azure", "us-east", "us_east"},
        {"azure", "EastUS2", "us_east_2"},
        {"azure", "eastus22", "eastus22"},
        {"azure", "East US 2", "us_east_2"},
        {"azure", "southcentralus", "us_south_central"},
        {"azure", "northcentralus", "us_north_central"},
        {"azure", "westeurope", "westeurope"},
        {"azure", "", ""},
        {"aws", "eastus", "eastus"},
        {"gcp", "us-east1", "us-east1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = market_region(cases[i].cloud, cases[i].text);
        CHECK(strcmp(got, cases[i].want) == 0, "%s \"%s\" is %s", cases[i].cloud, cases[i].text,
              got);
    }
    return TAP_DONE();
}
