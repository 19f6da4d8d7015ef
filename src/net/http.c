#include "net/http.h"

#include "base/file.h"
#include "base/library.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/internal.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define WAIT_MAX_S 3600.0

static const char library[] = "libcurl.so.4";

/* ---- clients ---- */

static int load_curl(struct curl_api *api, struct err *e)
{
    const struct library_function functions[] = {
        {"curl_global_init", &api->global_init},
        {"curl_global_cleanup", &api->global_cleanup},
        {"curl_easy_init", &api->easy_init},
        {"curl_easy_setopt", &api->easy_setopt},
        {"curl_easy_perform", &api->easy_perform},
        {"curl_easy_getinfo", &api->easy_getinfo},
        {"curl_easy_strerror", &api->easy_strerror},
        {"curl_easy_cleanup", &api->easy_cleanup},
        {"curl_easy_reset", &api->easy_reset},
        {"curl_slist_append", &api->slist_append},
        {"curl_slist_free_all", &api->slist_free_all},
    };

    api->library = library_open(library, "the network needs libcurl (Debian package libcurl4)",
                                functions, sizeof functions / sizeof *functions, e);
    if (!api->library)
        return -1;
    if (api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    dlclose(api->library);
    api->library = NULL;
    return err_set(e, ERR_IO, "%s does not start", library);
}

struct http *http_new(uint64_t seed, struct err *e)
{
    struct http *h = mem_zero(1, sizeof *h);

    h->random = seed;
    if (load_curl(&h->api, e) < 0) {
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
    h->api.global_cleanup();
    dlclose(h->api.library);
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

/* ---- URLs ---- */

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

/* Where a URL leads. */
enum reach { FAR, ON_LINK, LOOPBACK };

static enum reach reach_of(const char *url)
{
    size_t len;
    const char *begin = authority(url, &len);
    char host[256];
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
        return FAR;
    memcpy(host, begin, len);
    host[len] = '\0';
    /* libcurl asks no resolver for either (RFC 6761). */
    static const char below[] = ".localhost";
    size_t tail = sizeof below - 1;
    if (strcasecmp(host, &below[1]) == 0 ||
        (len > tail && strcasecmp(host + len - tail, below) == 0))
        return LOOPBACK;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        uint32_t address = ntohl(v4.s_addr);
        return address >> 24 == 127 ? LOOPBACK : address >> 16 == 0xA9FE ? ON_LINK : FAR;
    }
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return FAR;
    if (IN6_IS_ADDR_LOOPBACK(&v6))
        return LOOPBACK;
    /* fd00:ec2::/32 is where Amazon's metadata services have their version 6 addresses. */
    return IN6_IS_ADDR_LINKLOCAL(&v6) || memcmp(v6.s6_addr, "\xfd\x00\x0e\xc2", 4) == 0 ? ON_LINK
                                                                                        : FAR;
}

bool net_url_is_near(const char *url)
{
    return reach_of(url) != FAR;
}

bool http_is_exposed(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 && reach_of(url) != LOOPBACK;
}

int http_check_exposed(const char *url, bool is_allowed, struct err *e)
{
    const char *allowed = getenv("TRADEWIND_INSECURE");
    char shown[NET_URL_SHOWN];

    if (is_allowed || !http_is_exposed(url) || (allowed && strcmp(allowed, "1") == 0))
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s: others can read and change on the way what goes over http://: write "
                   "https://, or allow it (--insecure, insecure: true in the configuration, or "
                   "TRADEWIND_INSECURE=1)",
                   net_url_shown(url, shown));
}

void http_allow_exposed(struct http *h)
{
    h->may_be_exposed = true;
}

/* ---- waiting ---- */

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

double net_random(struct http *h)
{
    pthread_mutex_lock(&h->lock);
    uint64_t random = next_random(&h->random);
    pthread_mutex_unlock(&h->lock);
    return (double)(random >> 11) * 0x1p-53;
}

void http_wait(struct http *h, unsigned n, double first_wait_s, double max_wait_s)
{
    double wait = ldexp(first_wait_s, n < 2 ? 0 : n > 60 ? 58 : (int)n - 2);

    wait_s(fmin(wait, max_wait_s) * (1 - 0.5 * net_random(h)));
}

/* ---- downloads ---- */

struct download {
    const struct http_options *options;
    const char *path;
    FILE *file;
    char shown[NET_URL_SHOWN];
    uint64_t got_bytes;
};

static int receive(void *context, const void *bytes, size_t n, struct err *e)
{
    struct download *d = context;

    if (n > d->options->max_bytes - d->got_bytes)
        return err_set(e, ERR_USAGE, "%s: larger than the limit of %llu bytes", d->shown,
                       (unsigned long long)d->options->max_bytes);
    d->got_bytes += n;
    return fwrite(bytes, 1, n, d->file) == n
               ? 0
               : err_set(e, ERR_IO, "write %s: %s", d->path, strerror(errno));
}

static void report(void *context, uint64_t got_bytes, uint64_t total_bytes)
{
    const struct download *d = context;

    d->options->progress(d->options->context, got_bytes, total_bytes);
}

static int judge_status(const char *url, int status, struct err *e)
{
    enum err_kind kind = ERR_IO;

    /* 0: a file URL */
    if (status == 0 || (status >= 200 && status < 300))
        return 0;
    if (status == 404 || status == 410)
        kind = ERR_NOTFOUND;
    else if (status == 401 || status == 403)
        kind = ERR_DENIED;
    else if (status == 429 || status >= 500)
        kind = ERR_RETRY;
    return err_set(e, kind, "%s: the server answers %d", url, status);
}

static int attempt(struct http *h, const char *url, struct download *d, struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    const struct http_request request = {
        .method = "GET",
        .url = url,
        .download = true,
        .sink = receive,
        .progress = d->options->progress ? report : NULL,
        .context = d,
        .timeout_s = d->options->timeout_s,
    };

    d->got_bytes = 0;
    int fd = file_open_own(d->path, O_WRONLY | O_TRUNC, FILE_OWN);
    d->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!d->file)
        return err_set(e, ERR_IO, "write %s: %s", d->path, strerror(errno));
    int result = http_send(h, &request, &answer, e);
    if (result == 0)
        result = judge_status(d->shown, answer.status, e);
    if (fclose(d->file) != 0 && result == 0)
        return err_set(e, ERR_IO, "write %s: %s", d->path, strerror(errno));
    return result;
}

int http_download(struct http *h,
                  const char *url,
                  const char *path,
                  const struct http_options *options,
                  struct err *e)
{
    struct download d = {.options = options, .path = path};
    struct err why = {0};

    net_url_shown(url, d.shown);
    for (unsigned i = 1;; i++) {
        if (attempt(h, url, &d, &why) == 0)
            return 0;
        if (why.kind != ERR_RETRY || i >= options->attempts)
            return err_set(e, why.kind, "%s", why.text);
        log_info("net", "%s; trying again", why.text);
        http_wait(h, i + 1, options->first_wait_s, WAIT_MAX_S);
    }
}
