/* lake_found: metadata of files, sets and jobs as JSON, for find, tag and jobs. */
#ifndef APP_CORE_LAKE_FOUND_H
#define APP_CORE_LAKE_FOUND_H

#include "base/json.h"
#include "lake/meta/meta.h"

/* A number as a number (a whole one exactly), time and text as a string, a tag without a value as
 * true. New reference. */
json_t *lake_value_json(const struct lake_value *v);
/* {ref, kind, meta: {...}}: numbers as numbers (whole ones exactly), times and text as strings,
 * tags without a value as true. New reference. */
json_t *lake_found_json(const struct lake_found *found);

/* For people: "" for a tag without a value. Borrowed. */
const char *lake_found_text(const struct lake_value *v);
/* NULL when the thing has no such key. */
const struct lake_value *lake_found_get(const struct lake_found *found, const char *key);

#endif
