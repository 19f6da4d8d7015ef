/* Where a store in a bucket is: parses what URLs of all services have, and makes keys. The drivers
 * and the other files of remote.h call it. */
#include "base/mem.h"
#include "store/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BUCKET_MIN 3
#define BUCKET_MAX 63

bool remote_good_bucket(const char *text, size_t n, const char *chars)
{
    return n >= BUCKET_MIN && n <= BUCKET_MAX && strspn(text, chars) >= n &&
           !strchr(".-_", text[0]) && !strchr(".-_", text[n - 1]);
}

/* Empty segments and dots would be taken out of the way by some clients, and keys miss. */
static bool good_prefix(const char *text)
{
    if (strlen(text) > REMOTE_PREFIX_MAX)
        return false;
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    }
    for (const char *segment = text; *segment;) {
        size_t n = strcspn(segment, "/");
        if (n == 0 || (n == 1 && segment[0] == '.') || (n == 2 && strncmp(segment, "..", 2) == 0))
            return false;
        segment += n;
        segment += *segment == '/';
    }
    return true;
}

int remote_check_prefix(const char *url, const char *prefix, struct err *e)
{
    if (good_prefix(prefix))
        return 0;
    return err_set(e, ERR_USAGE,
                   "\"%.100s\": what follows the bucket has at most %d bytes, without control "
                   "characters and segments that are empty, \".\" or \"..\"",
                   url, REMOTE_PREFIX_MAX);
}

int remote_read_endpoint(struct remote *r, const char *endpoint, char **path_out, struct err *e)
{
    size_t scheme_n = strcspn(endpoint, ":");
    const char *authority = endpoint + scheme_n + 3;

    if ((strncasecmp(endpoint, "https://", 8) != 0 && strncasecmp(endpoint, "http://", 7) != 0) ||
        strlen(endpoint) > 300)
        return err_set(e, ERR_USAGE, "endpoint \"%.100s\": write https://HOST or http://HOST:PORT",
                       endpoint);
    size_t n = strcspn(authority, "/"), len = strlen(authority);
    while (len > n && authority[len - 1] == '/')
        len--;
    if (n == 0 || (!path_out && len > n) || strcspn(authority, "?#@ \\%\"<>\t\r\n") < len)
        return err_set(e, ERR_USAGE,
                       "endpoint \"%.100s\": only host and port can stand there, as in "
                       "https://s3.example.org:9000",
                       endpoint);
    r->scheme = strncasecmp(endpoint, "https", 5) == 0 ? mem_dup("https") : mem_dup("http");
    r->authority = mem_printf("%.*s", (int)n, authority);
    if (path_out)
        *path_out = mem_printf("%.*s", (int)(len - n), authority + n);
    return 0;
}

char *remote_plain_authority(const struct remote *r)
{
    const char *port = strcmp(r->scheme, "https") == 0 ? ":443" : ":80";
    size_t n = strlen(r->authority), port_n = strlen(port);

    if (n > port_n && strcmp(r->authority + n - port_n, port) == 0)
        n -= port_n;
    return mem_printf("%.*s", (int)n, r->authority);
}

void remote_set_prefix(struct remote *r, const char *prefix)
{
    size_t n = strlen(prefix);

    r->prefix = mem_printf("%.*s", (int)(n && prefix[n - 1] == '/' ? n - 1 : n), prefix);
}

const char *remote_room(const char *blob)
{
    const char *tail = blob + strspn(blob, "0123456789");

    if (strncmp(blob, "p-", 2) == 0 || strncmp(tail, "-p-", 3) == 0)
        return "packs";
    return strncmp(tail, "-t-", 3) == 0 ? "incoming" : "large";
}

const char *remote_key(const struct remote *r,
                       const char *project,
                       const char *blob,
                       char out[static REMOTE_KEY])
{
    const char *slash = *r->prefix ? "/" : "";

    if (blob)
        snprintf(out, REMOTE_KEY, "%s%s%s/%s/%s", r->prefix, slash, project, remote_room(blob),
                 blob);
    else
        snprintf(out, REMOTE_KEY, "%s%s%s/", r->prefix, slash, project);
    return out;
}

const char *remote_full_key(const struct remote *r, const char *key, char out[static REMOTE_KEY])
{
    snprintf(out, REMOTE_KEY, "%s%s%s", r->prefix, *r->prefix ? "/" : "", key);
    return out;
}
