/* sealed: small JSON files whose damage is noticed: one line of JSON and one of its checksum. */
#ifndef CLOUD_SEALED_H
#define CLOUD_SEALED_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

#define SEALED_BYTES_MAX ((size_t)16 << 10)

/* Old or new, never half; durable: also when the power goes. */
int sealed_write(const char *path, const json_t *value, bool durable, struct err *e);
/* New reference. ERR_USAGE that names the file when it is damaged, too large or no regular file;
 * ERR_NOTFOUND when it is not there. empty_out, unless NULL: whether a file of no bytes is there,
 * which is ERR_NOTFOUND then. */
json_t *sealed_read(const char *path, bool *empty_out, struct err *e);
/* The content of such a file; ERR_USAGE says what is wrong with it. */
json_t *sealed_parse(const char *bytes, size_t n, struct err *e);

#endif
