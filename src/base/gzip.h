/* gzip: whole files, plain or packed. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/err.h"

#include <stddef.h>

/* The content of a plain or gzip-ed file, unpacked and with a NUL behind it; the caller frees it.
 * More than max_bytes is ERR_USAGE that names the limit, and so are damaged packing and a file that
 * is not there. */
char *gzip_read(const char *path, size_t max_bytes, size_t *len_out, struct err *e);

#endif
