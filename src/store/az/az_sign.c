/* Finds what requests to Azure are authorized with, and signs them: by an account's key
 * (SharedKey), a shared access signature (SAS) or a token. The driver lists the functions. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "store/az/az.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION "2021-08-06"
#define SIGNED_MAX ((size_t)64 << 10)

/* ---- SharedKey ---- */

static const char *value_of(const struct sigv4_pair *headers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(headers[i].name, name) == 0)
            return headers[i].value;
    return "";
}

static int by_name(const void *a, const void *b)
{
    const struct sigv4_pair *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* Those whose names begin so, each as "NAME:VALUE" on a line, before or after its line break. */
static void put_sorted(struct buf *b,
                       const struct sigv4_pair *pairs,
                       size_t n,
                       const char *beginning,
                       bool break_before)
{
    AUTO_MEM struct sigv4_pair *sorted = mem_zero(n + 1, sizeof *sorted);
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        if (strncmp(pairs[i].name, beginning, strlen(beginning)) == 0)
            sorted[used++] = pairs[i];
    qsort(sorted, used, sizeof *sorted, by_name);
    for (size_t i = 0; i < used; i++)
        buf_printf(b, break_before ? "\n%s:%s" : "%s:%s\n", sorted[i].name, sorted[i].value);
}

char *az_string_to_sign(const char *account,
                        const struct remote_call *c,
                        const char *path,
                        const struct sigv4_pair *headers,
                        size_t n)
{
    static const char *const names[] = {"content-md5",         "content-type", "date",
                                        "if-modified-since",   "if-match",     "if-none-match",
                                        "if-unmodified-since", "range"};
    struct buf b;

    buf_init(&b, SIGNED_MAX);
    buf_printf(&b, "%s\n%s\n%s\n", c->method, value_of(headers, n, "content-encoding"),
               value_of(headers, n, "content-language"));
    if (c->body_bytes)
        buf_printf(&b, "%" PRIu64, c->body_bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        buf_printf(&b, "\n%s", value_of(headers, n, names[i]));
    buf_puts(&b, "\n");
    put_sorted(&b, headers, n, "x-ms-", false);
    buf_printf(&b, "/%s%s", account, path);
    put_sorted(&b, c->query, c->n_query, "", true);
    char *text = mem_dup(buf_str(&b));
    buf_clear(&b);
    return text;
}

char *az_hmac(const unsigned char *key, size_t key_bytes, const char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    HMAC(EVP_sha256(), key, (int)key_bytes, (const unsigned char *)text, strlen(text), digest, &n);
    return base64_encode(digest, n);
}

/* ---- SAS ---- */

char *az_sas(const struct az *a,
             const char *container,
             const char *blob,
             const char *permissions,
             const char *until,
             bool only_https)
{
    const char *protocol = only_https ? "https" : "";
    /* Sixteen members: a stored policy, addresses, a snapshot, an encryption scope and the headers
     * of answers are not used. */
    AUTO_MEM char *text =
        mem_printf("%s\n\n%s\n/blob/%s/%s/%s\n\n\n%s\n%s\nb\n\n\n\n\n\n\n", permissions, until,
                   a->account, container, blob, protocol, VERSION);
    AUTO_MEM char *signature = az_hmac(a->key, a->key_bytes, text);
    AUTO_MEM char *encoded = sigv4_encode(signature, false);
    AUTO_MEM char *end = sigv4_encode(until, false);

    return mem_printf("sv=%s%s&se=%s&sr=b&sp=%s&sig=%s", VERSION, only_https ? "&spr=https" : "",
                      end, permissions, encoded);
}

/* ---- what there is ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int take_key(struct az *a, const char *text, const char *origin, struct err *e)
{
    a->key = base64_decode(text, &a->key_bytes);
    return a->key ? 0 : err_set(e, ERR_USAGE, "%s: the account's key is not base64", origin);
}

static void take_sas(struct az *a, const char *text)
{
    a->sas.hidden = mem_dup(text + (*text == '?'));
}

static void wipe(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

static int from_connection(struct az *a, const char *connection, struct err *e)
{
    static const char origin[] = "AZURE_STORAGE_CONNECTION_STRING";
    AUTO_MEM char *account = az_member(connection, "AccountName");
    int result = 0;

    /* One without name, of a SAS, says with its endpoint whose it is. */
    if (account && strcmp(account, a->account) != 0)
        return 0;
    char *key = az_member(connection, "AccountKey");
    char *sas = az_member(connection, "SharedAccessSignature");
    if (key && account)
        result = take_key(a, key, origin, e);
    else if (sas)
        take_sas(a, sas);
    wipe(key);
    wipe(sas);
    return result;
}

int az_find_keys(struct remote *r, struct err *e)
{
    struct az *a = r->own;
    const char *connection = variable("AZURE_STORAGE_CONNECTION_STRING");
    const char *account = variable("AZURE_STORAGE_ACCOUNT");
    bool is_ours = !account || strcmp(account, a->account) == 0;

    if (a->has_looked)
        return 0;
    if (connection && from_connection(a, connection, e) < 0)
        return -1;
    const char *key = is_ours ? variable("AZURE_STORAGE_KEY") : NULL;
    const char *sas = is_ours ? variable("AZURE_STORAGE_SAS_TOKEN") : NULL;
    if (!a->key && !a->sas.hidden && key && take_key(a, key, "AZURE_STORAGE_KEY", e) < 0)
        return -1;
    if (!a->key && !a->sas.hidden && sas)
        take_sas(a, sas);
    a->has_looked = true;
    return 0;
}

/* ---- requests ---- */

static const char *date_now(const struct az *a, char out[static 40])
{
    time_t now = (time_t)((time_epoch_ms() + a->skew_ms) / 1000);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(out, 40, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    return out;
}

static int authorize(struct remote *r,
                     const struct remote_call *c,
                     const char *path,
                     const struct sigv4_pair *headers,
                     size_t n,
                     struct remote_request *out,
                     struct err *e)
{
    struct az *a = r->own;
    const char *bearer = NULL;

    if (a->key) {
        AUTO_MEM char *text = az_string_to_sign(a->account, c, path, headers, n);
        AUTO_MEM char *signature = az_hmac(a->key, a->key_bytes, text);
        remote_request_add(out,
                           mem_printf("Authorization: SharedKey %s:%s", a->account, signature));
        return 0;
    }
    if (a->sas.hidden)
        return 0;
    if (token_cache_get(&a->tokens, r->http, &bearer, e) < 0)
        return err_wrap(e, "%s", r->shown);
    out->round = a->tokens.round;
    remote_request_add(out, mem_printf("Authorization: Bearer %s", bearer));
    return 0;
}

int az_prepare(struct remote *r,
               const struct remote_call *c,
               struct remote_request *out,
               struct err *e)
{
    struct az *a = r->own;
    struct sigv4_pair headers[REMOTE_HEADERS_MAX];
    char date[40];
    size_t n = 0;

    if (az_find_keys(r, e) < 0)
        return err_wrap(e, "%s", r->shown);
    headers[n++] = (struct sigv4_pair){"x-ms-version", VERSION};
    headers[n++] = (struct sigv4_pair){"x-ms-date", date_now(a, date)};
    for (size_t i = 0; i < c->n_headers; i++)
        headers[n++] = c->headers[i];
    AUTO_MEM char *path = az_path(r, c->key);
    AUTO_MEM char *query = remote_encode_query(c);
    const char *sas = a->sas.hidden ? a->sas.hidden : "";
    const char *host = strstr(a->base, "://") + 3;
    out->url = mem_printf("%.*s%s%s%s%s%s", (int)(host + strcspn(host, "/") - a->base), a->base,
                          path, *query || *sas ? "?" : "", query, *query && *sas ? "&" : "", sas);
    for (size_t i = 0; i < n; i++)
        remote_request_add(out, mem_printf("%s: %s", headers[i].name, headers[i].value));
    return authorize(r, c, path, headers, n, out, e);
}
