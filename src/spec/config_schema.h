/* config_schema: the keys of the configuration file and their types. For files of spec/ alone. */
#ifndef SPEC_CONFIG_SCHEMA_H
#define SPEC_CONFIG_SCHEMA_H

#include "base/err.h"

#include <stddef.h>

struct config;
struct yaml_node;

/* Checks the text of c->file (NULL: of no file) and lays it over *c. *root_out is its map, NULL
 * when it is empty. */
int config_schema_read(struct config *c,
                       const char *text,
                       size_t len,
                       const struct yaml_node **root_out,
                       struct err *e);

#endif
