/* place: (cloud, region), written aws/us-east-1 or aws:us-east-1. */
#ifndef SPEC_PLACE_H
#define SPEC_PLACE_H

#include "base/err.h"

struct arena;

struct spec_place {
    const char *cloud;  /* NULL = not said */
    const char *region; /* NULL = not said */
};

/* "local" is local/local. "aws" alone has no region. `*` counts as not said. Text that is not one
 * or two non-empty parts is ERR_USAGE. Strings are copied into a. */
int spec_place_parse(const char *text, struct arena *a, struct spec_place *out, struct err *e);

#endif
