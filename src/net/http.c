#include "net/http.h"

#include "base/log.h"
#include "net/internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define REDIRECTS_MAX 5L
#define WAIT_MAX_S 3600.0

struct transfer {
    const struct curl_api *api;
    const struct http_options *options;
    FILE *file;
    char shown[NET_URL_SHOWN];
    uint64_t got_bytes;
    bool too_large;
};

static size_t receive(char *bytes, size_t size, size_t n, void *context)
{
    struct transfer *t = context;

    n *= size;
    if (n > t->options->max_bytes - t->got_bytes) {
        t->too_large = true;
        return 0;
    }
    t->got_bytes += n;
    return fwrite(bytes, 1, n, t->file);
}

static int report(
    void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
    const struct transfer *t = context;

    (void)up_total;
    (void)up_now;
    t->options->progress(t->options->context, (uint64_t)now, (uint64_t)total);
    return 0;
}

static void set_up(CURL *curl, struct transfer *t, const char *url)
{
    const struct curl_api *api = t->api;
    const struct http_options *o = t->options;

    api->easy_setopt(curl, CURLOPT_URL, url);
    api->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http,file");
    api->easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https,http");
    api->easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    api->easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    api->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    api->easy_setopt(curl, CURLOPT_USERAGENT, "tradewind/" TRADEWIND_VERSION);
    api->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, NET_CONNECT_TIMEOUT_S);
    api->easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, NET_STALL_BYTES_PER_S);
    api->easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)NET_STALL_S);
    api->easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(o->timeout_s * 1e3));
    api->easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    api->easy_setopt(curl, CURLOPT_WRITEDATA, (void *)t);
    net_trust(api, curl);
    if (o->progress) {
        api->easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        api->easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, report);
        api->easy_setopt(curl, CURLOPT_XFERINFODATA, (void *)t);
    }
}

static int judge_status(const char *url, long status, struct err *e)
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
    return err_set(e, kind, "%s: the server answers %ld", url, status);
}

static int perform(CURL *curl, const struct transfer *t, struct err *e)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;

    t->api->easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    CURLcode code = t->api->easy_perform(curl);
    if (t->too_large)
        return err_set(e, ERR_USAGE, "%s: larger than the limit of %llu bytes", t->shown,
                       (unsigned long long)t->options->max_bytes);
    if (code != CURLE_OK)
        return err_set(e, net_kind_of(code), "%s: %s", t->shown,
                       *why ? why : t->api->easy_strerror(code));
    t->api->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return judge_status(t->shown, status, e);
}

static int attempt(const struct curl_api *api,
                   const char *url,
                   const char *path,
                   const struct http_options *o,
                   struct err *e)
{
    struct transfer t = {.api = api, .options = o, .file = fopen(path, "wbe")};

    if (!t.file)
        return err_set(e, ERR_IO, "write %s: %s", path, strerror(errno));
    net_url_shown(url, t.shown);
    CURL *curl = api->easy_init();
    if (!curl) {
        fclose(t.file);
        return err_set(e, ERR_IO, "%s: cannot start a transfer", t.shown);
    }
    set_up(curl, &t, url);
    int result = perform(curl, &t, e);
    api->easy_cleanup(curl);
    if (fclose(t.file) != 0 && result == 0)
        return err_set(e, ERR_IO, "write %s: %s", path, strerror(errno));
    return result;
}

static bool has_scheme(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0 || strncasecmp(url, "http://", 7) == 0 ||
           strncasecmp(url, "file://", 7) == 0;
}

int http_download(struct http *h,
                  const char *url,
                  const char *path,
                  const struct http_options *options,
                  struct err *e)
{
    struct err why = {0};

    if (!has_scheme(url))
        return err_set(e, ERR_USAGE, "%s: not an https, http or file URL", url);
    for (unsigned i = 1;; i++) {
        if (attempt(&h->api, url, path, options, &why) == 0)
            return 0;
        if (why.kind != ERR_RETRY || i >= options->attempts)
            return err_set(e, why.kind, "%s", why.text);
        log_info("net", "%s; trying again", why.text);
        http_wait(h, i + 1, options->first_wait_s, WAIT_MAX_S);
    }
}
