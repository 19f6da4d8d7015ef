/* schema: records as JSON Schema (2020-12), for the front ends that describe operations to
 * programs: MCP tools, and documents of the HTTP interface. */
#ifndef VIEW_SCHEMA_H
#define VIEW_SCHEMA_H

#include "view/record.h"

/* What record_decode accepts. New reference. */
json_t *schema_of_request(const struct record *r);
/* What record_encode makes: values may be null, and members missing. New reference. */
json_t *schema_of_answer(const struct record *r);

#endif
