#include "spec/place.h"

#include "base/arena.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* One part; `*` is NULL. False when the arena is full. */
static bool take_part(struct arena *a, const char *text, size_t n, const char **out)
{
    *out = NULL;
    if (n == 1 && text[0] == '*')
        return true;
    return (*out = arena_dup_n(a, text, n)) != NULL;
}

char *spec_cloud_name(struct arena *a, const char *text)
{
    char *name = arena_dup(a, text);

    for (char *p = name; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

int spec_place_parse(const char *text, struct arena *a, struct spec_place *out, struct err *e)
{
    size_t cloud_len = strcspn(text, "/:");
    const char *region = text[cloud_len] ? text + cloud_len + 1 : NULL;
    struct spec_place place = {0};

    if (cloud_len == 0 || (region && (!*region || strpbrk(region, "/:"))))
        return err_set(
            e, ERR_USAGE,
            "\"%.60s\" is not a location: write CLOUD/REGION (aws/us-east-1), CLOUD or local",
            text);
    if (!take_part(a, text, cloud_len, &place.cloud) ||
        (region && !take_part(a, region, strlen(region), &place.region)))
        return err_set(e, ERR_USAGE, "location: the file is too large");
    if (place.cloud && !(place.cloud = spec_cloud_name(a, place.cloud)))
        return err_set(e, ERR_USAGE, "location: the file is too large");
    if (!region && place.cloud && strcmp(place.cloud, "local") == 0)
        place.region = place.cloud;
    *out = place;
    return 0;
}
