/* Where an Azure store is: parses az://ACCOUNT/CONTAINER/PREFIX, endpoints and connection strings,
 * and makes paths. The driver lists the functions. */
#include "base/mem.h"
#include "net/credentials.h"
#include "store/az/az.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACCOUNT_MIN 3
#define ACCOUNT_MAX 24
static const char scheme[] = "az://";
static const char account_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char container_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

int az_check_url(const char *url, struct err *e)
{
    const char *account = url + strlen(scheme);
    size_t account_n = strcspn(account, "/");
    const char *container = account + account_n + (account[account_n] == '/');
    size_t n = strcspn(container, "/");

    if (account_n < ACCOUNT_MIN || account_n > ACCOUNT_MAX ||
        strspn(account, account_chars) != account_n)
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": a storage account's name has %d to %d lower-case letters and "
                       "digits, as in az://account/container/lake",
                       url, ACCOUNT_MIN, ACCOUNT_MAX);
    if (!remote_good_bucket(container, n, container_chars) || memmem(container, n, "--", 2))
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": a container's name has 3 to 63 lower-case letters, digits and "
                       "single '-', as in az://account/container/lake",
                       url);
    return container[n] ? remote_check_prefix(url, container + n + 1, e) : 0;
}

char *az_member(const char *connection, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = connection; *p; p += strcspn(p, ";"), p += *p == ';') {
        if (strncasecmp(p, name, n) == 0 && p[n] == '=')
            return mem_printf("%.*s", (int)strcspn(p + n + 1, ";"), p + n + 1);
    }
    return NULL;
}

/* The endpoint that AZURE_STORAGE_CONNECTION_STRING has for this account, as it stands in URLs;
 * NULL = none. New string. */
static char *connected_endpoint(const char *account)
{
    const char *connection = getenv("AZURE_STORAGE_CONNECTION_STRING");

    if (!connection)
        return NULL;
    AUTO_MEM char *name = az_member(connection, "AccountName");
    AUTO_MEM char *protocol = az_member(connection, "DefaultEndpointsProtocol");
    AUTO_MEM char *suffix = az_member(connection, "EndpointSuffix");
    if (!name || strcmp(name, account) != 0)
        return NULL;
    char *endpoint = az_member(connection, "BlobEndpoint");
    if (endpoint || !suffix)
        return endpoint;
    return mem_printf("%s://%s.blob.%s", protocol ? protocol : "https", account, suffix);
}

/* Fills scheme, authority and base. */
static int read_base(struct remote *r,
                     struct az *a,
                     const struct store_settings *settings,
                     struct err *e)
{
    AUTO_MEM char *connected = connected_endpoint(a->account);
    AUTO_MEM char *standard = mem_printf("https://%s.blob.core.windows.net", a->account);
    const char *named = getenv("AZURE_STORAGE_SERVICE_ENDPOINT");
    const char *endpoint = settings->endpoint ? settings->endpoint
                           : connected        ? connected
                           : named && *named  ? named
                                              : standard;
    AUTO_MEM char *path = NULL;

    if (remote_read_endpoint(r, endpoint, &path, e) < 0)
        return -1;
    /* Emulators have all accounts at one address. */
    bool in_path = endpoint == settings->endpoint && !*path && settings->path_style != 0;
    AUTO_MEM char *authority = remote_plain_authority(r);
    a->base = mem_printf("%s://%s%s%s%s", r->scheme, authority, path, in_path ? "/" : "",
                         in_path ? a->account : "");
    return 0;
}

int az_open(struct remote *r, const struct store_settings *settings, struct err *e)
{
    struct az *a = r->own = mem_zero(1, sizeof *a);
    const char *account = settings->url + strlen(scheme);
    size_t account_n = strcspn(account, "/");
    const char *container = account + account_n + 1;
    size_t n = strcspn(container, "/");

    a->account = mem_printf("%.*s", (int)account_n, account);
    a->tokens.find = token_find_azure;
    a->tokens.scope = TOKEN_SCOPE_AZURE_STORAGE;
    r->bucket = mem_printf("%.*s", (int)n, container);
    r->shown = mem_printf("az://%s/%s", a->account, r->bucket);
    remote_set_prefix(r, container[n] ? container + n + 1 : "");
    return read_base(r, a, settings, e);
}

void az_close(struct remote *r)
{
    struct az *a = r->own;

    if (!a)
        return;
    if (a->key)
        OPENSSL_cleanse(a->key, a->key_bytes);
    if (a->sas.hidden)
        OPENSSL_cleanse(a->sas.hidden, strlen(a->sas.hidden));
    free(a->key);
    free(a->sas.hidden);
    token_cache_clear(&a->tokens);
    free(a->account);
    free(a->base);
    free(a);
}

char *az_path(const struct remote *r, const char *key)
{
    const struct az *a = r->own;
    const char *host = strstr(a->base, "://") + 3;
    AUTO_MEM char *encoded = sigv4_encode(key ? key : "", true);

    return mem_printf("%s/%s%s%s", host + strcspn(host, "/"), r->bucket, key ? "/" : "", encoded);
}
