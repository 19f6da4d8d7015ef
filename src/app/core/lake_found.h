/* lake_found: metadata of files, sets and jobs as JSON, for find, tag and jobs. */
#ifndef APP_CORE_LAKE_FOUND_H
#define APP_CORE_LAKE_FOUND_H

#include "base/json.h"
#include "lake/meta/meta.h"

/* A number as a number (a whole one exactly), time and text as a string, a tag without a value as
 * true. New reference. */
json_t *lake_value_json(const struct lake_value *v);

#endif
