/* What all requests of a client share: its connections, trusted certificates, retry delays.
 * request.c sends through it. */
#include "base/mem.h"
#include "net/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct http *http_new(uint64_t seed, struct err *e)
{
    struct http *h = mem_zero(1, sizeof *h);

    h->random = seed;
    if (net_curl_load(&h->api, e) < 0) {
        free(h);
        return NULL;
    }
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->n_idle; i++)
        h->api.easy_cleanup(h->idle[i]);
    pthread_mutex_destroy(&h->lock);
    net_curl_unload(&h->api);
    free(h);
}

CURL *net_handle_get(struct http *h)
{
    CURL *curl = NULL;

    /* The one used last: its connection is the least likely to have been closed meanwhile. */
    pthread_mutex_lock(&h->lock);
    if (h->n_idle)
        curl = h->idle[--h->n_idle];
    pthread_mutex_unlock(&h->lock);
    return curl ? curl : h->api.easy_init();
}

void net_handle_put(struct http *h, CURL *curl)
{
    bool kept = false;

    h->api.easy_reset(curl);
    pthread_mutex_lock(&h->lock);
    if (h->n_idle < NET_IDLE_MAX) {
        h->idle[h->n_idle++] = curl;
        kept = true;
    }
    pthread_mutex_unlock(&h->lock);
    if (!kept)
        h->api.easy_cleanup(curl);
}

enum err_kind net_kind_of(CURLcode code)
{
    static const struct {
        CURLcode code;
        enum err_kind kind;
    } kinds[] = {
        {CURLE_UNSUPPORTED_PROTOCOL, ERR_USAGE},
        {CURLE_URL_MALFORMAT, ERR_USAGE},
        {CURLE_FILE_COULDNT_READ_FILE, ERR_NOTFOUND},
        {CURLE_COULDNT_RESOLVE_HOST, ERR_RETRY},
        {CURLE_COULDNT_CONNECT, ERR_RETRY},
        {CURLE_SSL_CONNECT_ERROR, ERR_RETRY}, /* also a connection lost while it is made */
        {CURLE_PARTIAL_FILE, ERR_RETRY},
        {CURLE_OPERATION_TIMEDOUT, ERR_RETRY},
        {CURLE_GOT_NOTHING, ERR_RETRY},
        {CURLE_SEND_ERROR, ERR_RETRY},
        {CURLE_SEND_FAIL_REWIND, ERR_RETRY},
        {CURLE_RECV_ERROR, ERR_RETRY},
        {CURLE_HTTP2, ERR_RETRY},
        {CURLE_HTTP2_STREAM, ERR_RETRY},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].code == code)
            return kinds[i].kind;
    }
    return ERR_IO;
}

void net_trust(const struct curl_api *api, CURL *curl)
{
    const char *file = getenv("SSL_CERT_FILE");

    if (file && *file)
        api->easy_setopt(curl, CURLOPT_CAINFO, file);
}

/* Where host and port begin and how long they are: after "scheme://" and "user:password@". */
static const char *authority(const char *url, size_t *len_out)
{
    const char *begin = strstr(url, "://");

    begin = begin ? begin + 3 : url;
    size_t len = strcspn(begin, "/?#");
    const char *at = memrchr(begin, '@', len);
    if (at) {
        len -= (size_t)(at + 1 - begin);
        begin = at + 1;
    }
    *len_out = len;
    return begin;
}

const char *net_url_shown(const char *url, char out[static NET_URL_SHOWN])
{
    size_t len, scheme = 0;
    const char *host = authority(url, &len);
    const char *mark = strstr(url, "://");

    if (mark && mark < host)
        scheme = (size_t)(mark + 3 - url);
    len += strcspn(host + len, "?#");
    snprintf(out, NET_URL_SHOWN, "%.*s%.*s", (int)(scheme > 20 ? 20 : scheme), url,
             (int)(len > NET_URL_SHOWN ? NET_URL_SHOWN : len), host);
    return out;
}

bool net_url_is_near(const char *url)
{
    size_t len;
    const char *begin = authority(url, &len);
    char host[64];
    struct in_addr v4;
    struct in6_addr v6;

    if (len && *begin == '[') {
        begin++;
        len = strcspn(begin, "]");
    } else {
        const char *colon = memchr(begin, ':', len);
        len = colon ? (size_t)(colon - begin) : len;
    }
    if (len >= sizeof host)
        return false;
    memcpy(host, begin, len);
    host[len] = '\0';
    if (strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        uint32_t address = ntohl(v4.s_addr);
        return address >> 24 == 127 || address >> 16 == 0xA9FE;
    }
    /* fd00:ec2::/32 is where Amazon's metadata services have their version 6 addresses. */
    return inet_pton(AF_INET6, host, &v6) == 1 &&
           (IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6) ||
            memcmp(v6.s6_addr, "\xfd\x00\x0e\xc2", 4) == 0);
}

/* splitmix64: one step. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void wait_s(double s)
{
    struct timespec left = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

void http_wait(struct http *h, unsigned n, double first_wait_s, double max_wait_s)
{
    double wait = ldexp(first_wait_s, n < 2 ? 0 : n > 60 ? 58 : (int)n - 2);

    pthread_mutex_lock(&h->lock);
    uint64_t random = next_random(&h->random);
    pthread_mutex_unlock(&h->lock);
    wait_s(fmin(wait, max_wait_s) * (1 - 0.5 * (double)(random >> 11) * 0x1p-53));
}
