/* http: downloads over https, http and file URLs. libcurl is loaded when a client is made, so that
 * commands without one do not pay for it. */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct http;

/* seed: of the randomness in waiting times. ERR_IO when libcurl is not installed. */
struct http *http_new(uint64_t seed, struct err *e);
void http_free(struct http *h);
AUTO_DEFINE(http)

struct http_options {
    uint64_t max_bytes;
    double timeout_s;    /* for one attempt; a transfer that stalls for 30 s ends earlier */
    unsigned attempts;   /* tries in all, at least 1 */
    double first_wait_s; /* before the second try; doubles each time, minus up to half at random */
    /* Called a few times a second; total_bytes 0 = unknown. NULL = nobody wants to know. */
    void (*progress)(void *context, uint64_t got_bytes, uint64_t total_bytes);
    void *context;
};

/* The body of url into the file at path, which is replaced. Tries again after 429, 5xx, a cut
 * transfer, a time-out or a failed connection. ERR_NOTFOUND: 404, 410 or no such file; ERR_DENIED:
 * 401, 403; ERR_USAGE: no https, http or file URL, or more than max_bytes; ERR_RETRY: trouble that
 * may pass; ERR_IO: the rest. On failure the file holds nothing useful. */
int http_download(struct http *h,
                  const char *url,
                  const char *path,
                  const struct http_options *options,
                  struct err *e);

#endif
