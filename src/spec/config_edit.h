/* config_edit: changes one value in the text of a YAML file and leaves the rest as it was. */
#ifndef SPEC_CONFIG_EDIT_H
#define SPEC_CONFIG_EDIT_H

#include "base/err.h"

#include <stddef.h>

struct buf;

/* Writes text with key ("plan.boot_s") set to value into out. value is a scalar as it is meant, or
 * a list or map as YAML writes them on one line. ERR_USAGE when text cannot be edited safely. */
int config_edit(const char *text,
                size_t len,
                const char *key,
                const char *value,
                struct buf *out,
                struct err *e);

#endif
