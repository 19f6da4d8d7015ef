/* sumfile: small JSON files with a checksum: one line of JSON and one of its checksum. */
#ifndef CLOUD_SUMFILE_H
#define CLOUD_SUMFILE_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

#define SUMFILE_BYTES_MAX ((size_t)16 << 10)
/* Files written in place are padded to this, so that the next content covers the last. */
#define SUMFILE_PAGE_BYTES ((size_t)4 << 10)

/* durable: old or new when the power goes, too. Else the file is written in place, all of it by one
 * call within one page, which is many times faster and which no kill can cut in two: a reader that
 * holds the writer's lock finds the old one or the new one, or an empty one where there was none.
 */
int sumfile_write(const char *path, const json_t *value, bool durable, struct err *e);
/* New reference. ERR_USAGE that names the file when it is damaged, too large or no regular file;
 * ERR_NOTFOUND when it is not there. empty_out, unless NULL: whether a file of no bytes is there,
 * which is ERR_NOTFOUND then. */
json_t *sumfile_read(const char *path, bool *empty_out, struct err *e);
/* The content of such a file; ERR_USAGE says what is wrong with it. */
json_t *sumfile_parse(const char *bytes, size_t n, struct err *e);

#endif
