/* Sends one HTTP request with libcurl and collects the answer within its limits. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/internal.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX 100
#define HEADER_BYTES_MAX ((size_t)64 << 10)
#define BUFFER_BYTES (256L << 10)
#define CONNECT_TIMEOUT_S 15L
#define STALL_S 30.0
#define STALL_BYTES_PER_S 100L
#define REDIRECTS_MAX 5L

/* One running request. */
struct exchange {
    const struct curl_api *api;
    bool may_be_exposed;
    CURL *curl;
    const struct http_request *request;
    char shown[NET_URL_SHOWN];
    uint64_t sent_bytes; /* of the body, since its last beginning */
    struct http_answer *answer;
    struct buf body;
    size_t header_bytes, headers_cap;
    bool head_ended, body_begun, to_sink;
    bool failed; /* one of our callbacks, as `why` says */
    struct err why;
};

void http_answer_clear(struct http_answer *a)
{
    for (size_t i = 0; i < a->n_headers; i++) {
        free(a->headers[i].name);
        free(a->headers[i].value);
    }
    free(a->headers);
    free(a->body);
    *a = (struct http_answer){0};
}

const char *http_answer_header(const struct http_answer *a, const char *name)
{
    for (size_t i = 0; i < a->n_headers; i++) {
        if (strcmp(a->headers[i].name, name) == 0)
            return a->headers[i].value;
    }
    return NULL;
}

static size_t give_body(char *bytes, size_t size, size_t n, void *context)
{
    struct exchange *x = context;
    const struct http_request *r = x->request;
    uint64_t left = r->body_bytes - x->sent_bytes;

    n *= size;
    if (n > left)
        n = (size_t)left;
    if (n == 0)
        return 0;
    if (!r->pull) {
        memcpy(bytes, (const char *)r->body + x->sent_bytes, n);
    } else if (r->pull(r->context, x->sent_bytes, bytes, n, &x->why) < 0) {
        x->failed = true;
        return CURL_READFUNC_ABORT;
    }
    x->sent_bytes += n;
    return n;
}

/* A kept connection may turn out to be closed after some of the body went into it. */
static int seek_body(void *context, curl_off_t offset, int origin)
{
    struct exchange *x = context;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->request->body_bytes)
        return CURL_SEEKFUNC_FAIL;
    x->sent_bytes = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* The text from begin to end without white space around it. */
static char *trimmed(const char *begin, const char *end)
{
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    size_t len = (size_t)(end - begin);
    char *text = mem_zero(len + 1, 1);
    memcpy(text, begin, len);
    return text;
}

static void add_header(struct exchange *x, const char *line, size_t n)
{
    struct http_answer *a = x->answer;
    const char *colon = memchr(line, ':', n);

    if (!colon || isspace((unsigned char)*line))
        return;
    a->headers = mem_room(a->headers, a->n_headers, &x->headers_cap, sizeof *a->headers);
    struct http_header *header = &a->headers[a->n_headers++];
    header->name = trimmed(line, colon);
    header->value = trimmed(colon + 1, line + n);
    for (char *c = header->name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

static size_t take_header(char *line, size_t size, size_t n, void *context)
{
    struct exchange *x = context;

    n *= size;
    /* An interim answer (100) came before this one: only the last one's headers count. */
    if (!x->body_begun && n > 5 && memcmp(line, "HTTP/", 5) == 0) {
        http_answer_clear(x->answer);
        x->header_bytes = x->headers_cap = 0;
        x->head_ended = false;
        return n;
    }
    if (n <= 2) {
        x->head_ended = true;
        return n;
    }
    x->header_bytes += n;
    if (x->header_bytes > HEADER_BYTES_MAX || x->answer->n_headers >= HEADERS_MAX) {
        x->failed = true;
        err_set(&x->why, ERR_IO, "%s: the answer has more than %d headers or %zu KB of them",
                x->shown, HEADERS_MAX, HEADER_BYTES_MAX >> 10);
        return 0;
    }
    add_header(x, line, n);
    return n;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *context)
{
    struct exchange *x = context;
    const struct http_request *r = x->request;
    long status = 0;

    n *= size;
    if (!x->body_begun) {
        x->body_begun = true;
        x->api->easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
        /* 0: a file URL */
        x->to_sink = r->sink && (status == 0 || (status >= 200 && status < 300));
    }
    if (x->to_sink) {
        x->failed = r->sink(r->context, bytes, n, &x->why) < 0;
        return x->failed ? 0 : n;
    }
    if (r->download || buf_add(&x->body, bytes, n) == 0)
        return n;
    x->failed = true;
    err_set(&x->why, ERR_IO, "%s: the answer is larger than the limit of %zu bytes", x->shown,
            r->max_answer_bytes);
    return 0;
}

static int report(
    void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
    const struct http_request *r = context;

    (void)up_total;
    (void)up_now;
    r->progress(r->context, (uint64_t)now, (uint64_t)total);
    return 0;
}

/* At least 1: libcurl takes 0 for its own default. */
static long whole(double value)
{
    return value >= 1e9 ? 1000000000L : value > 1 ? (long)ceil(value) : 1;
}

/* Certificates are those that SSL_CERT_FILE names, as OpenSSL has it; libcurl alone would take the
 * file of the system it was built for. */
static void set_limits(const struct exchange *x)
{
    const struct curl_api *api = x->api;
    const char *trusted = getenv("SSL_CERT_FILE");
    double stall_s = x->request->stall_s > 0 ? x->request->stall_s : STALL_S;

    api->easy_setopt(x->curl, CURLOPT_NOSIGNAL, 1L);
    api->easy_setopt(x->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    api->easy_setopt(x->curl, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_PER_S);
    api->easy_setopt(x->curl, CURLOPT_LOW_SPEED_TIME, whole(stall_s));
    api->easy_setopt(x->curl, CURLOPT_TIMEOUT_MS, whole(x->request->timeout_s * 1e3));
    api->easy_setopt(x->curl, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    api->easy_setopt(x->curl, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    api->easy_setopt(x->curl, CURLOPT_TCP_KEEPALIVE, 1L);
    if (trusted && *trusted)
        api->easy_setopt(x->curl, CURLOPT_CAINFO, trusted);
}

/* Called before each request of a download: where a redirect leads is judged as its URL was. */
static int judge_redirect(void *context, char *address, char *own_address, int port, int own_port)
{
    struct exchange *x = context;
    char *url = NULL;

    (void)address;
    (void)own_address;
    (void)port;
    (void)own_port;
    x->api->easy_getinfo(x->curl, CURLINFO_EFFECTIVE_URL, &url);
    if (!url || http_check_exposed(url, x->may_be_exposed, &x->why) == 0)
        return CURL_PREREQFUNC_OK;
    x->failed = true;
    return CURL_PREREQFUNC_ABORT;
}

/* A download may lead to other hosts, in newer versions of HTTP. */
static void set_reach(const struct exchange *x)
{
    const struct curl_api *api = x->api;

    if (x->request->download) {
        api->easy_setopt(x->curl, CURLOPT_PROTOCOLS_STR, "https,http,file");
        api->easy_setopt(x->curl, CURLOPT_REDIR_PROTOCOLS_STR, "https,http");
        api->easy_setopt(x->curl, CURLOPT_FOLLOWLOCATION, 1L);
        api->easy_setopt(x->curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
        api->easy_setopt(x->curl, CURLOPT_PREREQFUNCTION, judge_redirect);
        api->easy_setopt(x->curl, CURLOPT_PREREQDATA, (const void *)x);
        return;
    }
    api->easy_setopt(x->curl, CURLOPT_PROTOCOLS_STR, "https,http");
    api->easy_setopt(x->curl, CURLOPT_PATH_AS_IS, 1L);
    if (x->request->is_once)
        api->easy_setopt(x->curl, CURLOPT_FRESH_CONNECT, 1L);
    /* Many requests at once go over connections of their own, and the body can be sent again. */
    api->easy_setopt(x->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (net_url_is_near(x->request->url))
        api->easy_setopt(x->curl, CURLOPT_PROXY, "");
}

static void set_method(const struct exchange *x)
{
    const struct curl_api *api = x->api;
    const struct http_request *r = x->request;
    bool has_body =
        r->body_bytes > 0 || strcmp(r->method, "PUT") == 0 || strcmp(r->method, "POST") == 0;

    if (has_body) {
        /* Not CURLOPT_POST, which would claim a content type of its own. */
        api->easy_setopt(x->curl, CURLOPT_UPLOAD, 1L);
        api->easy_setopt(x->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_bytes);
    } else if (strcmp(r->method, "HEAD") == 0) {
        api->easy_setopt(x->curl, CURLOPT_NOBODY, 1L);
        return;
    }
    api->easy_setopt(x->curl, CURLOPT_CUSTOMREQUEST, r->method);
}

static void set_up(struct exchange *x, const struct curl_slist *headers)
{
    const struct curl_api *api = x->api;

    set_limits(x);
    set_reach(x);
    set_method(x);
    api->easy_setopt(x->curl, CURLOPT_URL, x->request->url);
    api->easy_setopt(x->curl, CURLOPT_USERAGENT, "tradewind/" TRADEWIND_VERSION);
    api->easy_setopt(x->curl, CURLOPT_HTTPHEADER, headers);
    api->easy_setopt(x->curl, CURLOPT_READFUNCTION, give_body);
    api->easy_setopt(x->curl, CURLOPT_READDATA, (void *)x);
    api->easy_setopt(x->curl, CURLOPT_SEEKFUNCTION, seek_body);
    api->easy_setopt(x->curl, CURLOPT_SEEKDATA, (void *)x);
    api->easy_setopt(x->curl, CURLOPT_HEADERFUNCTION, take_header);
    api->easy_setopt(x->curl, CURLOPT_HEADERDATA, (void *)x);
    api->easy_setopt(x->curl, CURLOPT_WRITEFUNCTION, take_body);
    api->easy_setopt(x->curl, CURLOPT_WRITEDATA, (void *)x);
    if (x->request->progress) {
        api->easy_setopt(x->curl, CURLOPT_NOPROGRESS, 0L);
        api->easy_setopt(x->curl, CURLOPT_XFERINFOFUNCTION, report);
        api->easy_setopt(x->curl, CURLOPT_XFERINFODATA, (const void *)x->request);
    }
}

/* What a failed transfer means for the caller. */
static enum err_kind kind_of(CURLcode code)
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

static int perform(struct exchange *x, struct err *e)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;

    x->api->easy_setopt(x->curl, CURLOPT_ERRORBUFFER, why);
    CURLcode code = x->api->easy_perform(x->curl);
    if (x->failed) {
        *e = x->why;
        return -1;
    }
    /* The scheme was checked: what libcurl does not support is what the server speaks. */
    if (code == CURLE_UNSUPPORTED_PROTOCOL && !x->request->download)
        return err_set(e, ERR_IO, "%s: no HTTP server answers there", x->shown);
    if (code != CURLE_OK)
        return err_set(e, kind_of(code), "%s: %s", x->shown,
                       *why ? why : x->api->easy_strerror(code));
    if (!x->head_ended && !x->request->download)
        return err_set(e, ERR_RETRY, "%s: the answer was cut among its headers", x->shown);
    x->api->easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
    x->answer->status = (int)status;
    x->answer->body_bytes = x->body.len;
    x->answer->body = x->body.data ? TAKE(x->body.data) : mem_dup("");
    log_debug("net", "%s %s: %ld", x->request->method, x->shown, status);
    return 0;
}

/* libcurl would send a line break on, and with it a forged header or request. */
static int check(const struct http_request *r,
                 bool may_be_exposed,
                 const char *shown,
                 struct err *e)
{
    if (strncasecmp(r->url, "https://", 8) != 0 && strncasecmp(r->url, "http://", 7) != 0 &&
        !(r->download && strncasecmp(r->url, "file://", 7) == 0))
        return err_set(e, ERR_USAGE, "%s: not an https%s URL", shown,
                       r->download ? ", http or file" : " or http");
    if (http_check_exposed(r->url, may_be_exposed || (r->is_link_local && net_url_is_near(r->url)),
                           e) < 0)
        return -1;
    for (const char *c = r->url; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return err_set(e, ERR_USAGE, "%s: a URL cannot hold spaces or control characters",
                           shown);
    }
    for (size_t i = 0; r->headers && r->headers[i]; i++) {
        if (strpbrk(r->headers[i], "\r\n"))
            return err_set(e, ERR_USAGE, "%s: header %.*s holds a line break", shown,
                           (int)strcspn(r->headers[i], ":;\r\n"), r->headers[i]);
    }
    return 0;
}

/* NULL when libcurl has no memory. */
static struct curl_slist *header_list(const struct curl_api *api, const char *const *headers)
{
    /* We never wait for a "100 Continue": servers that know it are rare, the wait is a second. */
    struct curl_slist *list = api->slist_append(NULL, "Expect:");

    for (size_t i = 0; list && headers && headers[i]; i++) {
        struct curl_slist *longer = api->slist_append(list, headers[i]);
        if (!longer)
            api->slist_free_all(list);
        list = longer;
    }
    return list;
}

int http_send(struct http *h, const struct http_request *r, struct http_answer *out, struct err *e)
{
    struct err ignored;
    struct exchange x = {
        .api = &h->api, .may_be_exposed = h->may_be_exposed, .request = r, .answer = out};

    assert(r->body_bytes == 0 || r->body || r->pull);
    if (!e)
        e = &ignored;
    *out = (struct http_answer){0};
    net_url_shown(r->url, x.shown);
    if (check(r, h->may_be_exposed, x.shown, e) < 0)
        return -1;
    struct curl_slist *headers = header_list(x.api, r->headers);
    x.curl = net_handle_get(h);
    if (!headers || !x.curl) {
        x.api->slist_free_all(headers);
        if (x.curl)
            net_handle_put(h, x.curl);
        return err_set(e, ERR_IO, "%s: cannot start a request", x.shown);
    }
    buf_init(&x.body, r->max_answer_bytes);
    set_up(&x, headers);
    int result = perform(&x, e);
    net_handle_put(h, x.curl);
    x.api->slist_free_all(headers);
    buf_clear(&x.body);
    if (result < 0)
        http_answer_clear(out);
    return result;
}
