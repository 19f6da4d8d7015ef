/* internal: the HTTP client's connections and requests, for the files of src/net. */
#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include "net/curl.h"
#include "net/http.h"

#include <pthread.h>

#define NET_CONNECT_TIMEOUT_S 15L
#define NET_STALL_S 30.0
#define NET_STALL_BYTES_PER_S 100L
#define NET_IDLE_MAX 64
#define NET_URL_SHOWN 256

struct http {
    struct curl_api api;
    pthread_mutex_t lock; /* of all below */
    uint64_t random;
    CURL *idle[NET_IDLE_MAX]; /* used before: their connections may still be open */
    size_t n_idle;
};

/* A handle without options, to be released; NULL when libcurl has none. */
CURL *net_handle_get(struct http *h);
void net_handle_put(struct http *h, CURL *curl);

/* What a failed transfer means for the caller. */
enum err_kind net_kind_of(CURLcode code);
/* Certificates are those that SSL_CERT_FILE names, as OpenSSL has it; libcurl alone would take the
 * file of the system it was built for. */
void net_trust(const struct curl_api *api, CURL *curl);

/* The URL as messages may have it: user, password, query and fragment can be secrets and are left
 * out. Written into out and returned. */
const char *net_url_shown(const char *url, char out[static NET_URL_SHOWN]);

/* The URL's host is this machine or a link-local address: never asked through a proxy. */
bool net_url_is_near(const char *url);

#endif
