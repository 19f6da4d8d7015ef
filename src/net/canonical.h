/* canonical: the canonical form of a request, which both sides of a signature compute alike. */
#ifndef NET_CANONICAL_H
#define NET_CANONICAL_H

#include "base/buf.h"
#include "net/sigv4.h"

#include <stdbool.h>
#include <stddef.h>

/* Each appends to out, whose `full` tells of a request that is too large. */

/* as_it_is: S3. Otherwise "." ".." and "//" are resolved unless keep, and all is encoded again. */
void canonical_path(struct buf *out, const char *path, bool as_it_is, bool keep);

/* Parameters sorted by encoded name, then value; one without a value gets "=". */
void canonical_query(struct buf *out, const char *query);

/* One line a name in lower case, sorted; values of a repeated one in their order, joined by ','.
 * White space around a value goes, inside it becomes one space. names_out: "host;x-amz-date". */
void canonical_headers(struct buf *out,
                       struct buf *names_out,
                       const struct sigv4_pair *headers,
                       size_t n);

#endif
