/* http: requests and downloads over https, http and (downloads) file URLs. libcurl is loaded when a
 * client is made, so that commands without one do not pay for it. */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;

/* seed: of the randomness in waiting times. ERR_IO when libcurl is not installed. */
struct http *http_new(uint64_t seed, struct err *e);
void http_free(struct http *h);
AUTO_DEFINE(http)

/* Requests to this URL can be read and changed on their way: http to another machine than this one.
 */
bool http_is_exposed(const char *url);
/* ERR_USAGE for such a URL, unless is_allowed or TRADEWIND_INSECURE is 1. */
int http_check_exposed(const char *url, bool is_allowed, struct err *e);
/* Requests and downloads of this client may be exposed; else they fail as http_check_exposed says,
 * after a redirect, too. Before the first request. */
void http_allow_exposed(struct http *h);

struct http_options {
    uint64_t max_bytes;
    double timeout_s;    /* for one attempt; a transfer that stalls for 30 s ends earlier */
    unsigned attempts;   /* tries in all, at least 1 */
    double first_wait_s; /* before the second try; doubles each time, minus up to half at random */
    /* Called a few times a second; total_bytes 0 = unknown. NULL = not told. */
    void (*progress)(void *context, uint64_t got_bytes, uint64_t total_bytes);
    void *context;
};

/* The body of url into the file at path, which is replaced. Tries again after 429, 5xx, a cut
 * transfer, a time-out or a failed connection. ERR_NOTFOUND: 404, 410 or no such file; ERR_DENIED:
 * 401, 403; ERR_USAGE: no https, http or file URL, or more than max_bytes; ERR_RETRY: an error that
 * may pass; ERR_IO: the rest. On failure the file holds nothing useful. */
int http_download(struct http *h,
                  const char *url,
                  const char *path,
                  const struct http_options *options,
                  struct err *e);

/* One request whose answer is judged by the caller, whatever its status. */
struct http_request {
    const char *method;         /* "GET", "PUT", "POST", "HEAD", "DELETE" */
    const char *url;            /* sent as it is: no "." or ".." is resolved */
    const char *const *headers; /* "Name: value"; ends with NULL; "Name;" = empty value */
    /* The body: bytes, or pulled from a callback, which is asked for any range again when the body
     * has to be sent once more. */
    const void *body;
    uint64_t body_bytes;
    int (*pull)(void *context, uint64_t offset, void *bytes, size_t n, struct err *e);
    /* Redirects are followed, file URLs are read (status 0), and bodies of other answers than 2xx
     * are dropped. */
    bool download;
    /* The cloud's own services on this machine's link (169.254.0.0/16, fd00:ec2::/32: metadata,
     * credentials, the API of functions), which have no https, may be asked over http. */
    bool is_link_local;
    /* Never sent twice: libcurl sends a request again by itself when a connection that was used
     * before ends without an answer, so this one has a connection of its own. */
    bool is_once;
    /* The answer's body when its status is 2xx; NULL = into answer->body. */
    int (*sink)(void *context, const void *bytes, size_t n, struct err *e);
    /* Called a few times a second; total_bytes 0 = unknown. NULL = not told. */
    void (*progress)(void *context, uint64_t got_bytes, uint64_t total_bytes);
    void *context;
    size_t max_answer_bytes; /* of answer->body */
    double timeout_s;        /* for the whole request; one that stalls for stall_s ends earlier */
    double stall_s;          /* 0 = 30 s */
};

struct http_answer {
    int status;
    char *body; /* NUL-terminated; "" when it went to the sink */
    size_t body_bytes;
    struct http_header {
        char *name, *value; /* names in lower case */
    } * headers;
    size_t n_headers;
};
void http_answer_clear(struct http_answer *a);
/* The value of the first header of that lower-case name, or NULL. */
const char *http_answer_header(const struct http_answer *a, const char *name);

/* Sends it once, without following redirects. Any number of threads may send at once; connections
 * are kept and used again. 0 when there is an answer; else as http_download: ERR_RETRY when it may
 * work later; ERR_IO also when the answer has more than max_answer_bytes, 100 headers or 64 KB of
 * them. A sink or pull that fails gives its own error. On failure *out is empty. Messages show no
 * query. */
int http_send(struct http *h, const struct http_request *r, struct http_answer *out, struct err *e);

/* Waits before try number n (2, 3, ...): first_wait_s doubled each time, at most max_wait_s, less
 * up to half at random. Thread-safe. */
void http_wait(struct http *h, unsigned n, double first_wait_s, double max_wait_s);

#endif
