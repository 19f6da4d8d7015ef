/* metadata: keys of a machine or container from the metadata service of its cloud. */
#ifndef NET_METADATA_H
#define NET_METADATA_H

#include "net/credentials.h"
#include "net/http.h"

/* Of one request; such a service answers at once or is not there. It is asked twice at most. */
#define METADATA_TIMEOUT_S 1.0

/* From the URL a container was given; authorization: the header's value or NULL. */
int metadata_container(struct http *h,
                       const char *url,
                       const char *authorization,
                       struct credentials *out,
                       struct err *e);

/* From the instance's service, version 2. 1 = found; 0 = nothing there, and why_not says why;
 * -1 = it is there and fails. */
int metadata_instance(struct http *h,
                      const char *endpoint,
                      struct credentials *out,
                      struct err *why_not,
                      struct err *e);

/* "2026-11-15T22:36:00Z", with or without a fraction, as milliseconds since 1970; -1 for anything
 * else. */
int64_t metadata_date_ms(const char *text);

#endif
