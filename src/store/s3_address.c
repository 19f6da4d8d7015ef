/* Where an S3 store is: parses s3://BUCKET/PREFIX and the endpoint, and makes keys and URLs. The
 * other s3 files call it. */
#include "base/mem.h"
#include "store/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BUCKET_MIN 3
#define BUCKET_MAX 63
static const char scheme[] = "s3://";
static const char bucket_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

static bool good_bucket(const char *text, size_t n)
{
    return n >= BUCKET_MIN && n <= BUCKET_MAX && strspn(text, bucket_chars) >= n &&
           text[0] != '.' && text[0] != '-' && text[n - 1] != '.' && text[n - 1] != '-';
}

/* Empty segments and dots would be taken out of the way by some clients, and keys miss. */
static bool good_prefix(const char *text)
{
    if (strlen(text) > S3_PREFIX_MAX)
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

int s3_check_url(const char *url, struct err *e)
{
    const char *bucket = url + strlen(scheme);
    size_t n = strcspn(bucket, "/");

    if (!good_bucket(bucket, n))
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": a bucket's name has %d to %d lower-case letters, digits, '.' "
                       "and '-', as in s3://my-bucket/lake",
                       url, BUCKET_MIN, BUCKET_MAX);
    if (bucket[n] && !good_prefix(bucket + n + 1))
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": what follows the bucket has at most %d bytes, without control "
                       "characters and segments that are empty, \".\" or \"..\"",
                       url, S3_PREFIX_MAX);
    return 0;
}

static char *dup_n(const char *text, size_t n)
{
    return mem_printf("%.*s", (int)n, text);
}

static int read_endpoint(struct s3 *s, const char *endpoint, struct err *e)
{
    size_t scheme_n = strcspn(endpoint, ":");
    const char *authority = endpoint + scheme_n + 3;

    if ((strncasecmp(endpoint, "https://", 8) != 0 && strncasecmp(endpoint, "http://", 7) != 0) ||
        strlen(endpoint) > 300)
        return err_set(e, ERR_USAGE, "endpoint \"%.100s\": write https://HOST or http://HOST:PORT",
                       endpoint);
    size_t n = strcspn(authority, "/");
    if (n == 0 || strspn(authority + n, "/") != strlen(authority + n) ||
        strcspn(authority, "?#@ \\%\"<>\t\r\n") < n)
        return err_set(e, ERR_USAGE,
                       "endpoint \"%.100s\": only host and port can stand there, as in "
                       "https://s3.example.org:9000",
                       endpoint);
    s->scheme = strncasecmp(endpoint, "https", 5) == 0 ? mem_dup("https") : mem_dup("http");
    s->authority = dup_n(authority, n);
    return 0;
}

int s3_read_address(struct s3 *s, const struct store_settings *settings, struct err *e)
{
    const char *bucket = settings->url + strlen(scheme);
    size_t n = strcspn(bucket, "/");
    const char *prefix = bucket[n] ? bucket + n + 1 : "";
    size_t prefix_n = strlen(prefix);

    s->bucket = dup_n(bucket, n);
    s->prefix = dup_n(prefix, prefix_n && prefix[prefix_n - 1] == '/' ? prefix_n - 1 : prefix_n);
    if (settings->endpoint && read_endpoint(s, settings->endpoint, e) < 0)
        return -1;
    if (!settings->endpoint)
        s->scheme = mem_dup("https");
    s->path_style = settings->path_style > 0;
    /* The certificate of *.s3.REGION.amazonaws.com does not cover names with more dots. */
    if (settings->path_style < 0)
        s->path_style = settings->endpoint || strchr(s->bucket, '.');
    return 0;
}

const char *s3_room(const char *blob)
{
    const char *tail = blob + strspn(blob, "0123456789");

    if (strncmp(blob, "p-", 2) == 0 || strncmp(tail, "-p-", 3) == 0)
        return "packs";
    return strncmp(tail, "-t-", 3) == 0 ? "incoming" : "large";
}

const char *s3_key(const struct s3 *s,
                   const char *project,
                   const char *blob,
                   char out[static S3_KEY])
{
    const char *slash = *s->prefix ? "/" : "";

    if (blob)
        snprintf(out, S3_KEY, "%s%s%s/%s/%s", s->prefix, slash, project, s3_room(blob), blob);
    else
        snprintf(out, S3_KEY, "%s%s%s/", s->prefix, slash, project);
    return out;
}

void s3_target_clear(struct s3_target *t)
{
    free(t->host);
    free(t->path);
    *t = (struct s3_target){0};
}

/* The port that goes without saying is left out, as every client does. */
static char *plain_authority(const struct s3 *s)
{
    const char *port = strcmp(s->scheme, "https") == 0 ? ":443" : ":80";
    size_t n = strlen(s->authority), port_n = strlen(port);

    if (n > port_n && strcmp(s->authority + n - port_n, port) == 0)
        n -= port_n;
    return dup_n(s->authority, n);
}

void s3_target_init(struct s3_target *t, const struct s3 *s, const char *region, const char *key)
{
    /* Amazon's Chinese regions have a domain of their own. */
    const char *suffix = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    AUTO_MEM char *base =
        s->authority ? plain_authority(s) : mem_printf("s3.%s.amazonaws.com%s", region, suffix);
    AUTO_MEM char *encoded = sigv4_encode(key ? key : "", true);

    if (s->path_style) {
        t->host = mem_dup(base);
        t->path = mem_printf("/%s%s%s", s->bucket, key ? "/" : "", encoded);
    } else {
        t->host = mem_printf("%s.%s", s->bucket, base);
        t->path = mem_printf("/%s", encoded);
    }
}
