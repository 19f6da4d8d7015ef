/* place: a location, as (cloud, region), written aws/us-east-1 or aws:us-east-1. */
#ifndef SPEC_PLACE_H
#define SPEC_PLACE_H

#include "base/err.h"

struct arena;

struct spec_place {
    const char *cloud;  /* NULL = not said */
    const char *region; /* NULL = not said */
};

/* "local" is local/local. "aws" alone has no region. `*` counts as not said. Text that is not one
 * or two non-empty parts is ERR_USAGE. Cloud names become lower case, regions stay as written.
 * Strings are copied into a. */
int spec_place_parse(const char *text, struct arena *a, struct spec_place *out, struct err *e);

/* A cloud's name as it is compared: in lower case. NULL when the arena is full. */
char *spec_cloud_name(struct arena *a, const char *text);

#endif
