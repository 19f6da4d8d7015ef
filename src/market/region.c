#include "market/region.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The published histories say us_east where Azure's own tools say eastus. Histories came first. */
static const struct {
    const char *name, *api;
} azure[] = {
    {"us_central", "centralus"},
    {"us_east", "eastus"},
    {"us_east_2", "eastus2"},
    {"us_north_central", "northcentralus"},
    {"us_south_central", "southcentralus"},
    {"us_west", "westus"},
    {"us_west_2", "westus2"},
    {"us_west_3", "westus3"},
    {"us_west_central", "westcentralus"},
};

static const char *skip(const char *text)
{
    return text + strspn(text, " _-");
}

/* Case, spaces, '_' and '-' do not matter. */
static bool same(const char *a, const char *b)
{
    for (a = skip(a), b = skip(b); *a && *b; a = skip(a + 1), b = skip(b + 1))
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return *a == *b;
}

const char *market_region(const char *cloud, const char *region)
{
    if (strcmp(cloud, "azure") != 0)
        return region;
    for (size_t i = 0; i < sizeof azure / sizeof *azure; i++)
        if (same(region, azure[i].name) || same(region, azure[i].api))
            return azure[i].name;
    return region;
}
